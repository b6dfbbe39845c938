//! Errors of reading a source.

use serde::{Deserialize, Serialize};

/// Why a source cannot become an index. Every variant is final: reading the same bytes again gives the same
/// error.
///
/// The message is a sentence for the client. It states the finding and contains no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ReadError {
    /// The file contains no video or audio. The string is the whole sentence, which states the detected
    /// content.
    #[error("{0}")]
    NotMedia(String),
    /// An MP4 or QuickTime file that contradicts itself. The string is the location of the contradiction.
    #[error("the file is damaged: {0}")]
    Damaged(String),
    /// The file ends before anything playable.
    #[error("the file ends too early: {0}")]
    Truncated(String),
    /// Media that Kinora does not support. The string is the whole sentence.
    #[error("{0}")]
    Unsupported(String),
    /// This reader does not support the structure of the file, but the demuxer of ffmpeg may. With ffmpeg,
    /// the caller remuxes the packets into a new file and reads that one. Without ffmpeg, or if the remux
    /// fails in the same way, the error is final. The string is the whole sentence.
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
