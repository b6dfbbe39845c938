//! What the bytes of a container say that is not read here: whether the file is whole, and what a copy in
//! another container cannot say.
//!
//! Looks at the few bytes that give lengths and lets all others pass. Knows no codec but what stands in front
//! of MP3.

mod avi;
mod lengths;
mod mp3;
mod transport;

use kinora_index::{Container, Index, TrackMedia, plan::plan_playable};
use serde::{Deserialize, Serialize};

pub use avi::is_mpeg4_avi;
use lengths::{Lengths, Steps};
use mp3::Mp3;
use transport::Transport;

/// A source that ends earlier than it says, by less than this, was rounded by its writer. In microseconds.
const SLACK_US: u64 = 1_000_000;

/// What was found in a source while it passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForeignFacts {
    /// The file ends inside something, or before where it says that it ends.
    pub is_cut_off: bool,
    /// How long it says that it lasts, in microseconds; `None` where it does not.
    pub duration_us: Option<u64>,
    /// Which part of its sound is meant to be heard; `None` for all of it.
    pub heard: Option<Heard>,
}

/// The part of a track of sound that is meant to be heard: without what its encoder put in front and behind.
/// In samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Samples a second.
    pub rate: u32,
    /// Samples in front of it.
    pub skipped: u32,
    /// Its length; not 0.
    pub len: u64,
}

impl ForeignFacts {
    /// Puts into the index of a copy what was found in its source.
    pub fn apply(&self, mut copy: Index) -> Index {
        if let Some(heard) = self.heard {
            heard.apply(&mut copy);
        }
        let is_short =
            self.duration_us.is_some_and(|said| copy.facts().duration_us.saturating_add(SLACK_US) < said);
        copy.is_truncated |= self.is_cut_off || is_short;
        copy
    }
}

impl Heard {
    /// Leaves the index as it is where it holds anything but one track of sound, or that one does not fit.
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

/// Takes the bytes of a source in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Observer {
    Lengths(Lengths),
    Mp3(Mp3),
    Transport(Transport),
    /// Nothing is known of how such files say their length.
    Blind,
}

impl Observer {
    /// For a source that begins now.
    pub(crate) fn new(container: Container) -> Self {
        let lengths = |steps| Self::Lengths(Lengths::new(steps));
        match container {
            Container::Avi | Container::Wav => lengths(Steps::Riff),
            Container::Flv => lengths(Steps::Flv),
            Container::Mxf => lengths(Steps::Mxf),
            Container::Ogg => lengths(Steps::Ogg),
            Container::Asf => lengths(Steps::Asf),
            Container::Adts => lengths(Steps::Adts),
            Container::Flac => lengths(Steps::Flac),
            Container::Mp3 => Self::Mp3(Mp3::default()),
            Container::MpegTs => Self::Transport(Transport::default()),
            _ => Self::Blind,
        }
    }

    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub(crate) fn is_sound(&self, len: u64) -> bool {
        match self {
            Self::Lengths(lengths) => lengths.is_sound(),
            Self::Mp3(mp3) => mp3.is_sound(len),
            Self::Transport(transport) => transport.is_sound(len),
            Self::Blind => true,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Lengths(lengths) => lengths.push(bytes),
            Self::Mp3(mp3) => mp3.push(bytes),
            Self::Transport(transport) => transport.push(bytes),
            Self::Blind => {}
        }
    }

    /// What the source is, where that is not what its first bytes say: other sound behind the tag of an MP3.
    pub(crate) fn container(&self) -> Option<Container> {
        if let Self::Mp3(mp3) = self { mp3.behind() } else { None }
    }

    /// What was found in a source of `len` bytes.
    pub(crate) fn finish(self, len: u64) -> ForeignFacts {
        match self {
            Self::Lengths(lengths) => ForeignFacts {
                is_cut_off: lengths.is_cut_off(),
                duration_us: lengths.duration_us(),
                heard: None,
            },
            Self::Mp3(mp3) => mp3.finish(len),
            Self::Transport(transport) => {
                ForeignFacts { is_cut_off: transport.is_cut_off(), ..ForeignFacts::default() }
            }
            Self::Blind => ForeignFacts::default(),
        }
    }
}

#[cfg(test)]
mod tests;
