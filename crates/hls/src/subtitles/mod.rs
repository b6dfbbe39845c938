//! Subtitles: parses SRT and WebVTT in any encoding, and writes WebVTT, whole or in segments.
//!
//! Unreadable parts of a file are left out; the rest is stored in display order. Start reading at
//! [`Subtitles::read`].

mod alignment;
mod decode;
mod markup;
mod segments;
mod srt;
mod times;
mod timestamp_map;
mod vtt;

use std::ops::Range;

pub use segments::{SUBTITLE_SEGMENT_S, SubtitleSegments};

/// Most cues of one file: one a second of a media of 12 hours (C-138), and some.
pub const CUES_MAX: usize = 50_000;
/// Bytes of the longest text of a cue; a screen fits some hundred. Longer ones are no subtitles and are left
/// out.
const CUE_TEXT_BYTES_MAX: usize = 16 << 10;
/// Bytes of all style sheets and regions of a file together, which each segment repeats. Further ones are
/// left out.
const BLOCKS_BYTES_MAX: usize = 64 << 10;
/// Characters of the longest id of a cue; a longer one is left out.
const CUE_ID_CHARS_MAX: usize = 255;

/// The cues of a file with their styles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subtitles {
    /// Style sheets and regions in WebVTT, without empty lines.
    pub style_and_region_blocks: Vec<String>,
    /// In the order of their start times; they may overlap.
    pub cues: Vec<Cue>,
}

/// A text that is shown for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cue {
    /// Start, in milliseconds of the presentation.
    pub start_ms: u64,
    /// End, in milliseconds; after `start_ms`.
    pub end_ms: u64,
    /// Name of the cue for style sheets.
    pub id: Option<String>,
    /// WebVTT settings of its position; empty: at the bottom.
    pub settings: String,
    /// One or more lines of WebVTT markup, none of them empty.
    pub text: String,
}

/// Why a file has no subtitles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubtitlesError {
    /// It is another format.
    #[error("the file is neither WebVTT nor SRT: it has no cue times")]
    NotSubtitles,
    /// More than [`CUES_MAX`].
    #[error("the file has more than {CUES_MAX} cues")]
    TooManyCues,
}

impl Subtitles {
    /// Parses a file of any encoding: that of its byte order mark, else UTF-8 if it is valid, else a guess
    /// from its bytes.
    ///
    /// A WebVTT file may have no cue at all; in any other file at least one must be readable.
    pub fn read(bytes: &[u8]) -> Result<Self, SubtitlesError> {
        let text = decode::decode(bytes);
        let mut subtitles = if vtt::is_webvtt(&text) {
            vtt::read(&text)?
        } else {
            let cues = srt::read(&text)?;
            if cues.is_empty() {
                return Err(SubtitlesError::NotSubtitles);
            }
            Self { style_and_region_blocks: Vec::new(), cues }
        };
        // Stable: cues of the same time stay in the order of the file.
        subtitles.cues.sort_by_key(|cue| cue.start_ms);
        Ok(subtitles)
    }

    /// The cues of an edited timeline (C-127). Each of `ranges` is a range of the times of this file, and its
    /// start on the edited timeline, in milliseconds. Cues are cut at both ends of a range, so a cue that two
    /// ranges show becomes two.
    ///
    /// # Errors
    ///
    /// [`SubtitlesError::TooManyCues`]: cut cues count several times.
    pub fn edited(&self, ranges: &[(Range<u64>, u64)]) -> Result<Self, SubtitlesError> {
        let mut cues = Vec::new();
        for (range, at) in ranges {
            for cue in &self.cues {
                let (start, end) = (cue.start_ms.max(range.start), cue.end_ms.min(range.end));
                if start < end {
                    let shifted = |time: u64| at.saturating_add(time - range.start);
                    push(&mut cues, Cue { start_ms: shifted(start), end_ms: shifted(end), ..cue.clone() })?;
                }
            }
        }
        cues.sort_by_key(|cue| cue.start_ms);
        Ok(Self { style_and_region_blocks: self.style_and_region_blocks.clone(), cues })
    }

    /// All of it as a WebVTT file. Parsing it gives the same subtitles.
    pub fn to_webvtt(&self) -> String {
        let mut text = String::from("WEBVTT\n\n");
        vtt::write(&mut text, &self.style_and_region_blocks, self.cues.iter());
        text
    }
}

/// Adds a cue, unless there are too many.
fn push(cues: &mut Vec<Cue>, cue: Cue) -> Result<(), SubtitlesError> {
    if cues.len() >= CUES_MAX {
        return Err(SubtitlesError::TooManyCues);
    }
    cues.push(cue);
    Ok(())
}

#[cfg(test)]
mod tests;
