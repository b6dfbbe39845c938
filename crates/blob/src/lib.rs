//! Objects: named bytes that are written once, in a local folder or in a bucket of a store that speaks S3.
//!
//! Knows object keys and the paths they stand for; nobody else does. Knows no media, no database and no
//! route: what an object means, and which row names it, is the business of the caller. A media's source is a
//! gigabyte and its init segment half a kilobyte; both are objects.
//!
//! Three promises:
//! - An object appears whole or not at all, and never changes. The first writer of a key wins. (A *growing*
//!   object has no name before it is whole; what it consists of until then is written again and again:
//!   [`GrowingObject`].)
//! - When a write has been answered, its bytes and its name outlive a power cut.
//! - What a crash leaves behind has no key. [`Blob::sweep_temporary`] removes it.
//!
//! [`check`](check()) tries whether a store keeps them.
//!
//! Begin with [`Blob`] and [`ObjectKey`].

mod blob;
mod check;
mod checkpoint;
mod error;
mod fault;
mod folder;
mod grow;
mod key;
mod runs;
mod s3;

pub use blob::{Blob, Entry, LEFTOVER_AGE_MIN_S, ObjectReader, ObjectWriter, PutOutcome, READ_MAX};
pub use check::{CheckOutcome, CheckStep, CheckedStep, check};
pub use error::{Error, Result};
pub use fault::{FaultAction, Faults, WriteKind, WriteOp};
pub use folder::{FolderReader, FolderStore, FolderWriter};
pub use grow::{GrowingObject, Grown, GrownPart, Ledger, LedgerError};
pub use key::{CheckId, ObjectKey, ObjectKind, ParseKeyError, PictureHash, PieceName, Prefix};
pub use s3::{Parked, S3Limits, S3Reader, S3Store, S3Writer, StorageUrl, StorageUrlError};
