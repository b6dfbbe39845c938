//! Bit rates of a rendition, as a multivariant playlist announces them.

use kinora_index::{AudioTrack, Index, Segment, Track, plan::presented_at};
use kinora_isobmff::write::segment_len_max;

/// Bits a second of one rendition, container included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bandwidth {
    /// The highest rate of a segment.
    pub peak: u64,
    /// Average of all segments.
    pub average: u64,
}

/// Rates of the copied tracks of a source; zero for a missing track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyBandwidths {
    /// Rate of the video.
    pub video: Bandwidth,
    /// Rate of the heaviest audio track: a variant announces its rate with any track of its group. RFC 8216,
    /// 4.3.4.2.
    pub audio: Bandwidth,
    /// Rate of the heaviest AAC track.
    pub aac: Bandwidth,
    /// Some segment of the video begins with frames that need the segment before.
    pub has_open_segments: bool,
}

impl CopyBandwidths {
    /// Reads every sample once, which takes milliseconds, while the playlists take microseconds: store the
    /// result.
    pub fn of(index: &Index) -> Self {
        let heaviest = |is_wanted: fn(&AudioTrack) -> bool| {
            let tracks = index.audio_tracks().filter(|(_, audio)| is_wanted(audio));
            tracks
                .map(|(track, _)| Bandwidth::of(track, index.segments(track)))
                .fold(Bandwidth::default(), Bandwidth::heavier)
        };
        Self {
            video: index
                .video()
                .map(|(track, _)| Bandwidth::of(track, &index.plan.video))
                .unwrap_or_default(),
            audio: heaviest(|_| true),
            aac: heaviest(is_aac),
            has_open_segments: has_open_segments(index),
        }
    }
}

/// Whether the codec is AAC, which every player supports.
pub(crate) fn is_aac(audio: &AudioTrack) -> bool {
    audio.codec.starts_with("mp4a.")
}

/// Ignores the first segment, because no segment is before it.
fn has_open_segments(index: &Index) -> bool {
    let Some((track, _)) = index.video().filter(|(_, video)| video.has_leading_samples()) else {
        return false;
    };
    let begins_late = |segment: &Segment| {
        let keyframe = track.samples.get(segment.samples.start);
        keyframe.is_some_and(|keyframe| segment.start < presented_at(track, &keyframe))
    };
    index.plan.video.iter().skip(1).any(begins_late)
}

impl Bandwidth {
    /// Rates of an encoded audio track: AAC-LC of 128 kb/s and its container. M-38.
    ///
    /// The rate of the encoder stays within a fifth over each second; a test measures it on noise.
    pub const ENCODED_AUDIO: Self = Self { peak: 160_000, average: 134_000 };

    /// Rates of a copied track, from an upper bound of the length of each segment. Reads every sample once.
    pub fn of(track: &Track, segments: &[Segment]) -> Self {
        let timescale = u64::from(track.timescale.max(1));
        let (mut peak, mut bytes_sum, mut ticks_sum) = (0, 0_u64, 0_u64);
        for segment in segments {
            let bytes = segment_len_max(track, segment);
            peak = bits_a_second(bytes, segment.duration(), timescale).max(peak);
            bytes_sum = bytes_sum.saturating_add(bytes);
            ticks_sum = ticks_sum.saturating_add(segment.duration());
        }
        Self { peak, average: bits_a_second(bytes_sum, ticks_sum, timescale) }
    }

    /// Rates that neither of two alternative renditions exceeds.
    pub fn heavier(self, other: Self) -> Self {
        Self { peak: self.peak.max(other.peak), average: self.average.max(other.average) }
    }

    /// Rates of two renditions that play together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            peak: self.peak.saturating_add(other.peak),
            average: self.average.saturating_add(other.average),
        }
    }
}

/// Rounded up; a duration of 0 counts as one tick.
fn bits_a_second(bytes: u64, ticks: u64, timescale: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * u128::from(timescale);
    u64::try_from(bits.div_ceil(u128::from(ticks.max(1)))).unwrap_or(u64::MAX)
}
