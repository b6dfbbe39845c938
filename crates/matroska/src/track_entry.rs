//! Reads a `TrackEntry`, before its blocks. RFC 9559, 5.1.4.1.

use kinora_index::TrackLabel;
use kinora_isobmff::{
    ReadError,
    read::{language_tag, parse_title},
};

use crate::ebml::{Element, elements, id};

/// `TrackType`. RFC 9559, 5.1.4.1.3.
const VIDEO: u64 = 1;
const AUDIO: u64 = 2;
/// `ContentEncodingType` of encryption. RFC 9559, 5.1.4.1.31.4.
const ENCRYPTION: u64 = 1;
/// Maximum length of a `TrackEntry`: it is part of the index.
const ENTRY_LEN_MAX: usize = 256 << 10;
/// Maximum length of a `CodecID`.
const CODEC_ID_LEN_MAX: usize = 64;
/// Default language of a track. RFC 9559, 5.1.4.1.19.
const LANGUAGE_DEFAULT: &str = "eng";
const UNDETERMINED: &str = "und";
/// Maximum decoder delay and maximum duration of one frame in nanoseconds: more is damage.
const DELAY_NS_MAX: u64 = 10_000_000_000;
const FRAME_NS_MAX: u64 = 3600 * 1_000_000_000;

/// A track of video or audio.
#[derive(Debug, Clone)]
pub(crate) struct TrackEntry<'a> {
    /// The whole element.
    pub(crate) element: Element<'a>,
    pub(crate) number: u64,
    pub(crate) is_video: bool,
    pub(crate) is_enabled: bool,
    pub(crate) is_default: bool,
    pub(crate) codec_id: &'a str,
    pub(crate) private: &'a [u8],
    pub(crate) language: String,
    pub(crate) label: TrackLabel,
    /// Duration of a frame in nanoseconds.
    pub(crate) default_duration_ns: Option<u64>,
    /// Nanoseconds by which written times are ahead of the decoder's output.
    pub(crate) delay_ns: u64,
    pub(crate) content_encoding: ContentEncoding,
}

/// How the bytes of frames are encoded in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEncoding {
    Plain,
    /// Compressed, or without a common prefix that the header stores.
    Compressed,
    Encrypted,
}

impl<'a> TrackEntry<'a> {
    /// Reads a `TrackEntry`. `None` for tracks of other kinds.
    ///
    /// Errors: `Damaged` without a number or a codec.
    pub(crate) fn parse(element: Element<'a>) -> Result<Option<Self>, ReadError> {
        let is_video = match element.uint(id::TRACK_TYPE) {
            Some(VIDEO) => true,
            Some(AUDIO) => false,
            _ => return Ok(None),
        };
        let number = element.uint(id::TRACK_NUMBER).filter(|&number| number > 0);
        let codec_id = element.child(id::CODEC_ID).and_then(|codec| codec.as_text());
        let codec_id = codec_id.filter(|codec| (1..=CODEC_ID_LEN_MAX).contains(&codec.len()));
        let (Some(number), Some(codec_id)) = (number, codec_id) else {
            return Err(ReadError::Damaged("a track lacks its number or its codec".into()));
        };
        if element.whole.len() > ENTRY_LEN_MAX {
            return Err(ReadError::Damaged(format!(
                "a track is described by more than {ENTRY_LEN_MAX} bytes"
            )));
        }
        let flag = |id: u32, usual: bool| element.uint(id).map_or(usual, |value| value != 0);
        let (is_enabled, is_default) = (flag(id::FLAG_ENABLED, true), flag(id::FLAG_DEFAULT, true));
        Ok(Some(TrackEntry {
            element,
            number,
            is_video,
            is_enabled,
            is_default,
            codec_id,
            private: element.child(id::CODEC_PRIVATE).map_or(&[], |private| private.body),
            language: language(&element),
            label: TrackLabel {
                title: element.child(id::NAME).and_then(|name| parse_title(name.body)),
                is_enabled: is_enabled && is_default,
                describes_video: flag(id::FLAG_VISUAL_IMPAIRED, false),
            },
            default_duration_ns: element
                .uint(id::DEFAULT_DURATION)
                .filter(|duration| (1..=FRAME_NS_MAX).contains(duration)),
            delay_ns: element.uint(id::CODEC_DELAY).filter(|&delay| delay <= DELAY_NS_MAX).unwrap_or(0),
            content_encoding: content_encoding(&element),
        }))
    }

    /// `video` or `audio`.
    pub(crate) fn kind(&self) -> &'static str {
        if self.is_video { "video" } else { "audio" }
    }
}

/// The BCP 47 tag, else the ISO 639-2 code; `und` if neither is valid.
fn language(element: &Element<'_>) -> String {
    let text = |id| element.child(id).and_then(|language| language.as_text());
    let tag = text(id::LANGUAGE_BCP_47).or(text(id::LANGUAGE)).unwrap_or(LANGUAGE_DEFAULT);
    language_tag(tag).unwrap_or(UNDETERMINED).to_owned()
}

fn content_encoding(element: &Element<'_>) -> ContentEncoding {
    let encodings = element.child(id::CONTENT_ENCODINGS);
    let encodings = encodings.iter().flat_map(|encodings| elements(encodings.body));
    let mut found = ContentEncoding::Plain;
    for encoding in encodings.filter(|encoding| encoding.id == id::CONTENT_ENCODING) {
        if encoding.uint(id::CONTENT_ENCODING_TYPE) == Some(ENCRYPTION) {
            return ContentEncoding::Encrypted;
        }
        found = ContentEncoding::Compressed;
    }
    found
}
