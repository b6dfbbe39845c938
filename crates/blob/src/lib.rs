//! Objects: named bytes that are written once, on a local folder.
//!
//! Knows object keys and the paths they stand for; nobody else does. Knows no media, no database and no route: what an object
//! means, and which row names it, is the business of the caller. A media's source is a gigabyte and its init segment half a
//! kilobyte; both are objects.
//!
//! Three promises:
//! - An object appears whole or not at all, and never changes. The first writer of a key wins.
//! - When a write has been answered, its bytes and its name outlive a power cut.
//! - What a crash leaves behind has no key. [`Blob::sweep_temporary`] removes it.
//!
//! Begin with [`Blob`] and [`ObjectKey`].

mod blob;
mod error;
mod fault;
mod folder;
mod key;

pub use blob::{Blob, Entry, ObjectReader, ObjectWriter, PutOutcome, READ_MAX};
pub use error::{Error, Result};
pub use fault::{FaultAction, Faults, WriteKind, WriteOp};
pub use folder::{FolderReader, FolderStore, FolderWriter};
pub use key::{ObjectKey, ObjectKind, ParseKeyError, PictureHash, Prefix};
