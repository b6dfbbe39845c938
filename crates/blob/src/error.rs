//! The errors of the object store.

use std::io;
use std::ops::Range;

use rustix::io::Errno;

use crate::{MultipartLogError, ObjectKey, READ_MAX};

/// The result of the operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on an object failed. A missing object is not an error: look-ups return `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No disk space is left, or a quota is full. Nothing was written; a retry can succeed once space is
    /// free.
    #[error("no space is left in the object store")]
    Full,

    /// The store has stopped: the process is shutting down, or a test has simulated that.
    #[error("the object store has stopped")]
    Stopped,

    /// A streamed object was finished under an existing key. The first object stays.
    #[error("object {0} is there already")]
    AlreadyThere(ObjectKey),

    /// The range is not inside the object.
    #[error("bytes {}..{} do not lie in an object of {len} bytes", range.start, range.end)]
    OutOfRange {
        /// The requested range, in bytes from the start of the object.
        range: Range<u64>,
        /// The length of the object in bytes.
        len: u64,
    },

    /// More than [`READ_MAX`] bytes were requested in one buffer. Longer ranges are streamed.
    #[error("{len} bytes are more than the {READ_MAX} that one read may hold")]
    TooLong {
        /// The requested bytes.
        len: u64,
    },

    /// The object existed when its reader was opened, and was deleted since. For a growing object: its
    /// durable bytes are lost, and it must restart.
    #[error("object {0} is missing")]
    Gone(ObjectKey),

    /// Another writer, in this process or another one, writes to the growing object now.
    #[error("{0} is being written by another process")]
    LockedElsewhere(ObjectKey),

    /// The parts of a growing object could not be recorded ([`crate::MultipartLog`]). The writer is lost;
    /// bytes that were durable before stay durable.
    #[error("could not record the parts of a growing object")]
    MultipartLog(#[source] MultipartLogError),

    /// The store did not respond, or was too busy, at every try. A later retry can succeed. A write may
    /// have been done or not.
    #[error("the object store is not available: could not {action}")]
    Unavailable {
        /// The failed action, as a verb with its object.
        action: &'static str,
        /// The error of the last try. Names no secret.
        #[source]
        source: io::Error,
    },

    /// The store rejects us until a person changes something: credentials, rights, the bucket or the URL.
    #[error("the object store refused to {action}; {remedy}")]
    Rejected {
        /// The failed action, as a verb with its object.
        action: &'static str,
        /// The remedy for a person.
        remedy: &'static str,
        /// The response of the store. Names no secret.
        #[source]
        source: io::Error,
    },

    /// Any other error: broken hardware, missing rights, an exhausted file table.
    #[error("could not {action}")]
    Internal {
        /// The failed action, as a verb with its object.
        action: &'static str,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Maps an error of the operating system: one that a caller can act on, or the rest.
    pub(crate) fn from_io(action: &'static str, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT) => Self::Full,
            _ => Self::Internal { action, source },
        }
    }
}
