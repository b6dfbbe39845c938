//! Takes in what clients send: the bytes of direct uploads, over any number of requests, cut lines, killed
//! processes and nodes.
//!
//! Knows no protocol: a request has been read into an [`Append`] before it comes here, and what is answered
//! is put into words by whoever asked. Three promises (D-0059):
//! - What was answered as kept is kept: it outlives `kill -9` and a power cut, whichever process is next.
//! - One upload becomes one media, whatever is sent again.
//! - One request at a time receives an upload. A new one goes before one that is under way, in this process
//!   and in any other: a client that sends again has given the old line up.
//!
//! Begin with [`Intake`].

mod append;
mod body;
mod checksum;
mod complete;
mod error;
mod facts;
#[cfg(test)]
mod fixture;
mod intake;
mod ledger;
mod missing;
mod pace;
mod receive;
mod room;
mod scan;
mod session;
mod slot;
mod tend;

pub use append::{Append, Standing};
pub use checksum::{CHECKED_BYTES_MAX, Checksum};
pub use complete::{give_up, take_over};
pub use error::{IntakeError, failure_of};
pub use facts::of_index;
pub use intake::{Intake, IntakeOptions};
pub use missing::Missing;
pub use pace::PaceMin;
pub use room::{RESERVED_BYTES, ROOM_EVERY_BYTES, has_room, is_full};
pub use scan::{Checkpoint, Hopeless, Scan, ScanError, ScanTurn, ScanTurns, StoredIndex, Whole};
pub use tend::Tended;
