//! Maps the common timeline to the output times of one track.

use crate::index::{Index, Track, TrackMedia};
use crate::plan::{factor, packets, presented_at};

/// From the common timeline to the media times of the output track: `time * factor + media_time`.
///
/// The edit list subtracts `media_time` again. For video it is in the composition offsets (the constant D),
/// so that a segment's `tfdt` is its start. Audio has no composition offsets, so `media_time` is in `tfdt`:
/// the duration of the packets before 0 (the encoder's priming), because a `tfdt` cannot be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// Output ticks per second.
    pub timescale: u32,
    /// Output ticks per source tick; more than 1 only where an edit skips frames of a coarse clock.
    pub factor: u32,
    /// Media time of 0 on the common timeline, in output ticks.
    pub media_time: i64,
}

impl Timeline {
    /// The timeline of a track of this index, for configuration 0.
    pub fn of(index: &Index, track: &Track) -> Self {
        Self::of_configuration(index, track, 0)
    }

    /// The timeline of one configuration of the track: each has an init segment with its own edit list.
    pub fn of_configuration(index: &Index, track: &Track, configuration: u8) -> Self {
        let same = Self { timescale: track.timescale, factor: 1, media_time: 0 };
        let mut segments = index.segments(track).iter();
        let first = segments.find(|segment| track.configuration_at(segment.samples.start) == configuration);
        match track.configuration(configuration) {
            TrackMedia::Video(video) => {
                let factor = factor(track, first);
                // A factor above 1 comes with a timescale below the minimum: the product is below twice
                // that.
                let timescale = track.timescale.saturating_mul(factor);
                Self {
                    timescale,
                    factor,
                    media_time: video.composition_shift.saturating_mul(i64::from(factor)),
                }
            }
            TrackMedia::Audio(audio) => {
                let first = first.map_or(0..0, |segment| segment.samples.clone());
                let first =
                    packets(track, audio, first).next().map(|(_, packet)| presented_at(track, &packet));
                Self { media_time: first.unwrap_or(0).min(0).saturating_neg(), ..same }
            }
        }
    }

    /// A time of the track in output ticks, without the shift of the edit list.
    pub fn scaled(&self, ticks: i64) -> i64 {
        ticks.saturating_mul(i64::from(self.factor))
    }
}
