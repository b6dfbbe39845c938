//! What can go wrong with objects.

use std::io;
use std::ops::Range;

use rustix::io::Errno;

use crate::{LedgerError, ObjectKey, READ_MAX};

/// What an operation of this crate answers.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on an object failed. An object that is not there is not an error: look-ups answer
/// `Ok(None)`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No space is left, or a quota is used up. Nothing was written; worth another try once there is room.
    #[error("no space is left in the object store")]
    Full,

    /// The store does nothing more: the process is going down, or a test has simulated that it did.
    #[error("the object store has stopped")]
    Stopped,

    /// A streamed object was finished under a key that is taken. The object that was there first stays.
    #[error("object {0} is there already")]
    AlreadyThere(ObjectKey),

    /// The range does not lie inside the object.
    #[error("bytes {}..{} do not lie in an object of {len} bytes", range.start, range.end)]
    OutOfRange {
        /// What was asked for, in bytes from the start of the object.
        range: Range<u64>,
        /// The length of the object in bytes.
        len: u64,
    },

    /// More than [`READ_MAX`] bytes were asked for in one piece. Longer ranges are streamed.
    #[error("{len} bytes are more than the {READ_MAX} that one read may hold")]
    TooLong {
        /// The bytes asked for.
        len: u64,
    },

    /// The object was there when its reader was opened, and is not any more: somebody deleted it. Of a
    /// growing object: what was kept of it is no longer there, and it must begin anew.
    #[error("object {0} is gone")]
    Gone(ObjectKey),

    /// Somebody else writes to the growing object at this moment: another process, or another writer of this
    /// one.
    #[error("{0} is being written by somebody else")]
    HeldElsewhere(ObjectKey),

    /// What a growing object consists of could not be written down ([`crate::Ledger`]). The writer is lost;
    /// what was kept before stays kept.
    #[error("could not write down what a growing object consists of")]
    Ledger(#[source] LedgerError),

    /// The store does not answer, or says that it is too busy, and did so at every try. Worth another try
    /// later; whether a write was done, nobody can say.
    #[error("the object store is not available: could not {action}")]
    Unavailable {
        /// What was being done, as a verb with its object.
        action: &'static str,
        /// What the last try came to. Names no secret.
        #[source]
        source: io::Error,
    },

    /// The store refuses us, and will until a person has done something: credentials, rights, the bucket, the
    /// address.
    #[error("the object store refused to {action}; {remedy}")]
    Refused {
        /// What was being done, as a verb with its object.
        action: &'static str,
        /// What a person can do about it.
        remedy: &'static str,
        /// What the store answered. Names no secret.
        #[source]
        source: io::Error,
    },

    /// Anything else: broken hardware, missing rights, an exhausted file table.
    #[error("could not {action}")]
    Internal {
        /// What was being done, as a verb with its object.
        action: &'static str,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Sorts an error of the operating system: what a caller can act on, or the rest.
    pub(crate) fn from_io(action: &'static str, source: io::Error) -> Self {
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT) => Self::Full,
            _ => Self::Internal { action, source },
        }
    }
}
