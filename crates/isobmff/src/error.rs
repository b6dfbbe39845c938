//! Why a source cannot be read.

use serde::{Deserialize, Serialize};

/// Why a source cannot become an index. Every variant is final: reading the same bytes again ends the same
/// way.
///
/// The message is a sentence for the client: it says what was found, and holds no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ReadError {
    /// Not a file with video or audio in it. Holds the whole sentence, which says what was found.
    #[error("{0}")]
    NotMedia(String),
    /// An MP4 or QuickTime file that contradicts itself. Holds where.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// The file ends before anything playable.
    #[error("the file ends too early: {0}")]
    Truncated(String),
    /// Media that we do not play. Holds the whole sentence.
    #[error("{0}")]
    Unsupported(String),
    /// What our reader does not follow, but the demuxer of a media engine may: whoever has one copies the
    /// packets into a file of its making and reads that. Holds the whole sentence, for where that ends the
    /// same way.
    #[error("{0}")]
    NeedsRemux(String),
}

/// The stable code a client sees for a [`ReadError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFailureCode {
    /// `not_media`
    NotMedia,
    /// `truncated`
    Truncated,
    /// `codec_unsupported`
    CodecUnsupported,
}

impl ReadError {
    /// The stable code of this failure.
    pub fn code(&self) -> ReadFailureCode {
        match self {
            ReadError::NotMedia(_) | ReadError::Damaged(_) => ReadFailureCode::NotMedia,
            ReadError::Truncated(_) => ReadFailureCode::Truncated,
            ReadError::Unsupported(_) | ReadError::NeedsRemux(_) => ReadFailureCode::CodecUnsupported,
        }
    }

    pub(crate) fn not_media(sentence: impl Into<String>) -> Self {
        ReadError::NotMedia(sentence.into())
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        ReadError::Damaged(what.into())
    }

    pub(crate) fn unsupported(sentence: impl Into<String>) -> Self {
        ReadError::Unsupported(sentence.into())
    }

    pub(crate) fn needs_remux(sentence: impl Into<String>) -> Self {
        ReadError::NeedsRemux(sentence.into())
    }
}
