//! Facts about containers that this crate does not parse: whether the file is complete, and information that
//! a remuxed copy loses.
//!
//! Parses the few bytes with lengths and skips all others. Knows no codec except the header frame of MP3.

mod avi;
mod framing;
mod mp3;
mod mpeg_ts;

use kinora_index::{Container, Index, TrackMedia, plan::plan_playable};
use serde::{Deserialize, Serialize};

pub use avi::is_mpeg4_avi;
use framing::{Framing, FramingParser};
use mp3::Mp3;
use mpeg_ts::TransportStream;

/// Tolerance for the declared duration of a source, in microseconds: a smaller difference is a rounding
/// error of its writer.
const SLACK_US: u64 = 1_000_000;

/// The facts about a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemuxFacts {
    /// The file ends inside a chunk, or before its declared end.
    pub is_truncated: bool,
    /// Declared duration in microseconds; `None` if it is missing.
    pub duration_us: Option<u64>,
    /// The audible part of its audio; `None` for all of it.
    pub audible: Option<AudibleRange>,
}

/// The audible part of an audio track: without the padding of its encoder at both ends. In samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AudibleRange {
    /// Samples per second.
    pub rate: u32,
    /// Samples before the audible part.
    pub skipped: u32,
    /// Its length; not 0.
    pub len: u64,
}

impl RemuxFacts {
    /// Applies the facts about the source to the index of its copy.
    pub fn apply(&self, mut copy: Index) -> Index {
        if let Some(audible) = self.audible {
            audible.apply(&mut copy);
        }
        let is_short = self
            .duration_us
            .is_some_and(|declared_us| copy.facts().duration_us.saturating_add(SLACK_US) < declared_us);
        copy.is_truncated |= self.is_truncated || is_short;
        copy
    }
}

impl AudibleRange {
    /// Leaves the index unchanged if it contains anything but one audio track, or if the part does not fit
    /// that track.
    fn apply(self, index: &mut Index) {
        let [track] = index.tracks.as_slice() else { return };
        let TrackMedia::Audio(_) = track.media else { return };
        let ticks = |samples: u64| {
            let ticks = u128::from(samples) * u128::from(track.timescale) / u128::from(self.rate.max(1));
            i64::try_from(ticks).ok()
        };
        let Some((skipped, len)) = ticks(self.skipped.into()).zip(ticks(self.len)) else { return };
        let mut track = track.clone();
        track.shift = track.shift.saturating_sub(skipped);
        track.end = track.end.saturating_sub(skipped).min(len);
        if track.end <= 0 {
            return;
        }
        let mut tracks = vec![track];
        if let Ok(plan) = plan_playable(&mut tracks) {
            index.tracks = tracks;
            index.plan = plan;
        }
    }
}

/// Collects the facts about a source from its bytes, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RemuxFactsParser {
    Framing(FramingParser),
    Mp3(Mp3),
    Transport(TransportStream),
    /// The length of such files cannot be checked.
    Ignored,
}

impl RemuxFactsParser {
    /// A parser at the first byte of a source.
    pub(crate) fn new(container: Container) -> Self {
        let with_framing = |framing| Self::Framing(FramingParser::new(framing));
        match container {
            Container::Avi | Container::Wav => with_framing(Framing::Riff),
            Container::Flv => with_framing(Framing::Flv),
            Container::Mxf => with_framing(Framing::Mxf),
            Container::Ogg => with_framing(Framing::Ogg),
            Container::Asf => with_framing(Framing::Asf),
            Container::Adts => with_framing(Framing::Adts),
            Container::Flac => with_framing(Framing::Flac),
            Container::Mp3 => Self::Mp3(Mp3::default()),
            Container::MpegTs => Self::Transport(TransportStream::default()),
            _ => Self::Ignored,
        }
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub(crate) fn is_valid(&self, len: u64) -> bool {
        match self {
            Self::Framing(framing_parser) => framing_parser.is_valid(),
            Self::Mp3(mp3) => mp3.is_valid(len),
            Self::Transport(transport) => transport.is_valid(len),
            Self::Ignored => true,
        }
    }

    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Framing(framing_parser) => framing_parser.push(bytes),
            Self::Mp3(mp3) => mp3.push(bytes),
            Self::Transport(transport) => transport.push(bytes),
            Self::Ignored => {}
        }
    }

    /// The container, if it differs from that of the first bytes: another audio format after the tag of an
    /// MP3.
    pub(crate) fn container(&self) -> Option<Container> {
        if let Self::Mp3(mp3) = self { mp3.container_after_id3() } else { None }
    }

    /// The facts about a source of `len` bytes.
    pub(crate) fn finish(self, len: u64) -> RemuxFacts {
        match self {
            Self::Framing(framing_parser) => RemuxFacts {
                is_truncated: framing_parser.is_truncated(),
                duration_us: framing_parser.duration_us(),
                audible: None,
            },
            Self::Mp3(mp3) => mp3.finish(len),
            Self::Transport(transport) => {
                RemuxFacts { is_truncated: transport.is_truncated(), ..RemuxFacts::default() }
            }
            Self::Ignored => RemuxFacts::default(),
        }
    }
}

#[cfg(test)]
mod tests;
