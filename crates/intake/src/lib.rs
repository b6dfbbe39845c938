//! Receives direct uploads, across any number of requests, interrupted connections, killed processes and
//! nodes.
//!
//! Independent of the protocol: a route parses a request into an [`Append`] and formats the response. Three
//! guarantees (D-0059):
//! - Durability: acknowledged bytes survive `kill -9` and a power loss, in every later process.
//! - One upload becomes one media, also if bytes are sent again.
//! - One request at a time receives an upload. A new request interrupts the current one, in this process and
//!   in any other, because a client that sends again has given up the old connection.
//!
//! Begin with [`Intake`].

mod append;
mod body;
mod checksum;
mod complete;
mod disk_space;
mod error;
mod facts;
#[cfg(test)]
mod fixture;
mod intake;
mod maintenance;
mod multipart_log;
mod receive;
mod required_encodes;
mod scan;
mod session;
mod stall;
mod upload_lock;

pub use append::{Append, UploadProgress};
pub use checksum::{CHECKED_BYTES_MAX, Checksum};
pub use complete::{ReadyMedia, complete_media, fail_uploaded_media};
pub use disk_space::{RESERVED_BYTES, SPACE_CHECK_EVERY_BYTES, has_disk_space, is_disk_full};
pub use error::{IntakeError, failure_of};
pub use facts::facts_of_index;
pub use intake::{Intake, IntakeOptions};
pub use maintenance::MaintenanceOutcome;
pub use required_encodes::RequiredEncodes;
pub use scan::{Checkpoint, Scan, ScanEnded, ScanError, ScanLimits, ScanPermit, ScanResult, SpilledIndex};
pub use stall::StallLimit;
