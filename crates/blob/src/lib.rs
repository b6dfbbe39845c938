//! Objects: named bytes that are written once, in a local folder or in a bucket of an S3-compatible store.
//!
//! Only this crate spells object keys and their paths. It contains no media, database or route: the caller
//! gives an object its meaning and stores the row that references it. The source of a media is a gigabyte
//! and its init segment half a kilobyte; both are objects.
//!
//! Three guarantees:
//! - An object appears whole or not at all, and never changes. The first writer of a key wins. (A *growing*
//!   object has no name before it is whole; until then its parts are written repeatedly:
//!   [`GrowingObject`].)
//! - Once a write has returned, its bytes and its name are durable.
//! - Objects that a crash leaves have no key. [`Blob::sweep_temporary`] removes them.
//!
//! [`check`](check()) verifies these guarantees on a store.
//!
//! Begin with [`Blob`] and [`ObjectKey`].

mod blob;
mod check;
mod checkpoint;
mod coalesce;
mod error;
mod fault;
mod folder;
mod grow;
mod key;
mod s3;

pub use blob::{Blob, DiskSpace, Entry, ORPHAN_AGE_MIN_S, ObjectReader, ObjectWriter, PutOutcome, READ_MAX};
pub use check::{CheckOutcome, CheckStep, CheckedStep, check};
pub use error::{Error, Result};
pub use fault::{FaultAction, Faults, WriteKind, WriteOp};
pub use folder::{FolderReader, FolderStore, FolderWriter};
pub use grow::{GrowingObject, MultipartLog, MultipartLogError, MultipartState, RecordedPart};
pub use key::{CheckId, ImageHash, ObjectKey, ObjectKind, ParseKeyError, PieceName, Prefix};
pub use s3::{IdlePermit, S3Limits, S3Reader, S3Store, S3Writer, StorageUrl, StorageUrlError};
