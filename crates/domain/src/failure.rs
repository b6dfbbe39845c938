//! Why a media failed, for the person who reads it.

/// The stable, documented list of reasons (C-31). Codes are never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// The address did not answer, or broke off too often.
    SourceUnreachable,
    /// The address answered 404, 410, 401 or 403.
    SourceNotFound,
    /// The address, or one it redirects to, lies in a network that must not be reached.
    SourceForbiddenAddress,
    /// More bytes than allowed.
    SourceTooLarge,
    /// Slower than allowed.
    SourceTimeout,
    /// The bytes are no media file.
    NotMedia,
    /// What should be subtitles is something else.
    NotSubtitles,
    /// What should be sound has none.
    NoAudio,
    /// Bytes are missing and what is there does not play.
    Truncated,
    /// A codec, or a use of one, that is not supported.
    CodecUnsupported,
    /// The source is larger than the media's `maxResolution`. Of media that failed before such sources were
    /// encoded.
    ResolutionAboveMax,
    /// A direct upload did not end in time.
    UploadTimedOut,
    /// Our own fault.
    Internal,
}

impl FailureCode {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 13] = [
        Self::SourceUnreachable,
        Self::SourceNotFound,
        Self::SourceForbiddenAddress,
        Self::SourceTooLarge,
        Self::SourceTimeout,
        Self::NotMedia,
        Self::NotSubtitles,
        Self::NoAudio,
        Self::Truncated,
        Self::CodecUnsupported,
        Self::ResolutionAboveMax,
        Self::UploadTimedOut,
        Self::Internal,
    ];

    /// The code as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceUnreachable => "source_unreachable",
            Self::SourceNotFound => "source_not_found",
            Self::SourceForbiddenAddress => "source_forbidden_address",
            Self::SourceTooLarge => "source_too_large",
            Self::SourceTimeout => "source_timeout",
            Self::NotMedia => "not_media",
            Self::NotSubtitles => "not_subtitles",
            Self::NoAudio => "no_audio",
            Self::Truncated => "truncated",
            Self::CodecUnsupported => "codec_unsupported",
            Self::ResolutionAboveMax => "resolution_above_max",
            Self::UploadTimedOut => "upload_timed_out",
            Self::Internal => "internal",
        }
    }

    /// The code with this text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

/// A reason with its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What programs compare.
    pub code: FailureCode,
    /// What people read: no path, no command line, no text of a tool.
    pub message: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back_from_its_text() {
        for code in FailureCode::ALL {
            assert_eq!(FailureCode::from_text(code.as_str()), Some(code));
        }
        assert_eq!(FailureCode::from_text("unknown"), None);
    }
}
