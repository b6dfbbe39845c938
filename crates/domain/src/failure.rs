//! The reason of a media's failure, for clients and their users.

/// The stable, documented list of reasons (C-31). Codes are never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// The address did not respond, or the connection broke too often.
    SourceUnreachable,
    /// The address returned 404, 410, 401 or 403.
    SourceNotFound,
    /// The address, or a redirect target, is in a forbidden network.
    SourceForbiddenAddress,
    /// More bytes than the limit.
    SourceTooLarge,
    /// Slower than the limit.
    SourceTimeout,
    /// The bytes are not a media file.
    NotMedia,
    /// A subtitle file was expected.
    NotSubtitles,
    /// A file with audio was expected.
    NoAudio,
    /// A watermark is no image that can be decoded.
    WatermarkNotImage,
    /// A time of an edit is behind the end of the file.
    ClipOutsideMedia,
    /// Bytes are missing, and the part that is present does not play.
    Truncated,
    /// A codec, or a feature of one, that is not supported.
    CodecUnsupported,
    /// The source is larger than the media's `maxResolution`. Only of old media: such sources are now
    /// encoded.
    ResolutionAboveMax,
    /// A direct upload was not completed in time.
    UploadTimedOut,
    /// A fault of the server.
    Internal,
}

impl FailureCode {
    /// All codes, in the order of the documentation.
    pub const ALL: [Self; 15] = [
        Self::SourceUnreachable,
        Self::SourceNotFound,
        Self::SourceForbiddenAddress,
        Self::SourceTooLarge,
        Self::SourceTimeout,
        Self::NotMedia,
        Self::NotSubtitles,
        Self::NoAudio,
        Self::WatermarkNotImage,
        Self::ClipOutsideMedia,
        Self::Truncated,
        Self::CodecUnsupported,
        Self::ResolutionAboveMax,
        Self::UploadTimedOut,
        Self::Internal,
    ];

    /// The code in responses and rows.
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
            Self::WatermarkNotImage => "watermark_not_image",
            Self::ClipOutsideMedia => "clip_outside_media",
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
    /// The code, for programs.
    pub code: FailureCode,
    /// The sentence, for people: no path, no command line, no text of a tool.
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
    fn failure_codes_round_trip() {
        for code in FailureCode::ALL {
            assert_eq!(FailureCode::from_text(code.as_str()), Some(code));
        }
        assert_eq!(FailureCode::from_text("unknown"), None);
    }
}
