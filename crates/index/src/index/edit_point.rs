//! Discontinuities of a track: edit list jumps and part boundaries, and the ranges between them.
//!
//! An edit list that cuts between keyframes needs samples that it does not present. They stay in the table
//! at their natural times, which overlap with those of the samples presented around the jump. So times are
//! comparable only inside one edit span.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Index, Segment, Track, TrackMedia};

/// Most edit points of one track; a stored index with more is damaged.
pub const EDIT_POINTS_MAX: usize = 1000;

/// A point where an edit list jumps, or where another part of a presentation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditPoint {
    /// The first sample after the edit point, in decode order: decoding starts there. A part of a
    /// presentation without samples has the first sample of the next part, or the number of samples.
    pub sample: u32,
    /// Presentation time from which the samples after the edit point are shown, in ticks of the source,
    /// before [`Track::shift`].
    pub pts: i64,
    /// The configuration number of the track after the edit point.
    #[serde(skip)]
    pub configuration: u8,
}

/// The samples between two edit points, and the range of them that is presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditSpan {
    /// Its samples, in decode order. Their times increase as in any track.
    pub samples: Range<u32>,
    /// Presentation times, in ticks of the source, that are shown; other samples are only decoded. Unbounded
    /// at a side without an edit point.
    pub shown: Range<i64>,
}

impl Track {
    /// All samples, split at the edit points: one span if no edit list jumps.
    pub fn edit_spans(&self) -> impl Iterator<Item = EditSpan> + '_ {
        let begins = |point: Option<&EditPoint>| {
            point.copied().unwrap_or(EditPoint { sample: 0, pts: i64::MIN, configuration: 0 })
        };
        let ends = |edit_point: Option<&EditPoint>| {
            let end = EditPoint { sample: self.samples.len(), pts: i64::MAX, configuration: 0 };
            edit_point.copied().unwrap_or(end)
        };
        (0..=self.edit_points.len()).map(move |number| {
            let from = begins(number.checked_sub(1).and_then(|before| self.edit_points.get(before)));
            let to = ends(self.edit_points.get(number));
            EditSpan { samples: from.sample..to.sample, shown: from.pts..to.pts }
        })
    }

    /// The configuration number of a sample.
    pub fn configuration_at(&self, sample: u32) -> u8 {
        let points_before = self.edit_points.partition_point(|point| point.sample <= sample);
        points_before
            .checked_sub(1)
            .and_then(|index| self.edit_points.get(index))
            .map_or(0, |edit_point| edit_point.configuration)
    }

    /// The media of a configuration; that of configuration 0 for an unknown number.
    pub fn configuration(&self, number: u8) -> &TrackMedia {
        let additional = usize::from(number).checked_sub(1).and_then(|index| self.configurations.get(index));
        additional.unwrap_or(&self.media)
    }

    /// The media of the track at a sample.
    pub fn media_at(&self, sample: u32) -> &TrackMedia {
        self.configuration(self.configuration_at(sample))
    }

    /// The indexes of the segments of the copy that begin another edit span, with the configuration from
    /// there on. Playlists have a discontinuity before each of them.
    pub fn part_starts(&self, segments: &[Segment]) -> Vec<(u32, u8)> {
        let span_of = |segment: &Segment| {
            self.edit_points.partition_point(|point| point.sample <= segment.samples.start)
        };
        let pairs = (1..).zip(segments.windows(2));
        let parts = pairs.filter_map(|(number, pair)| match pair {
            [before, segment] if span_of(before) != span_of(segment) => {
                Some((number, self.configuration_at(segment.samples.start)))
            }
            _ => None,
        });
        if self.edit_points.is_empty() { Vec::new() } else { parts.collect() }
    }

    /// The edit span presented at a time of the source, in ticks before [`Track::shift`].
    pub fn edit_span_at(&self, pts: i64) -> EditSpan {
        let all = EditSpan { samples: 0..self.samples.len(), shown: i64::MIN..i64::MAX };
        self.edit_spans().find(|span| pts < span.shown.end).unwrap_or(all)
    }
}

impl Index {
    /// Groups segments of the encoded plan into runs for one decoder: split wherever the video jumps. Covers
    /// all of these numbers, in order.
    pub fn encoded_runs(&self, numbers: Range<u32>) -> Vec<Range<u32>> {
        let edit_points = self.video().map_or(&[][..], |(track, _)| &track.edit_points);
        let span_of = |number: u32| {
            let segment = self.plan.encoded_video.get(number as usize);
            segment.map(|segment| edit_points.partition_point(|point| point.sample <= segment.samples.start))
        };
        let mut runs: Vec<Range<u32>> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some(run) if span_of(run.start) == span_of(number) => run.end = number + 1,
                _ => runs.push(number..number + 1),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{AudioTrack, Sample, SampleEntry, TrackLabel};

    #[test]
    fn edit_spans_cover_all_samples_and_times() {
        let sample =
            |n: i64| Sample { dts: n, pts: n, duration: 1, object: 0, offset: 0, size: 1, is_sync: true };
        let audio = AudioTrack {
            sample_entry: SampleEntry::Iso(Vec::new()),
            codec: String::new(),
            not_copied: None,
            sample_rate: 1,
            channels: 1,
            packet_samples: 1,
        };
        let mut track = Track {
            source_track: 1,
            timescale: 1,
            language: String::new(),
            label: TrackLabel::default(),
            media: TrackMedia::Audio(audio),
            samples: (0..10).map(sample).collect(),
            configurations: Vec::new(),
            edit_points: Vec::new(),
            shift: 0,
            end: 10,
            bitrate_average: 0,
            bitrate_peak: 0,
        };
        let all = EditSpan { samples: 0..10, shown: i64::MIN..i64::MAX };
        assert_eq!(track.edit_spans().collect::<Vec<_>>(), std::slice::from_ref(&all));
        assert_eq!(track.edit_span_at(i64::MAX), all);

        track.edit_points = vec![
            EditPoint { sample: 4, pts: 3, configuration: 1 },
            EditPoint { sample: 8, pts: 5, configuration: 0 },
        ];
        let span = |samples, shown| EditSpan { samples, shown };
        let expected = [span(0..4, i64::MIN..3), span(4..8, 3..5), span(8..10, 5..i64::MAX)];
        assert_eq!(track.edit_spans().collect::<Vec<_>>(), expected);
        for (pts, index) in [(-7, 0), (2, 0), (3, 1), (4, 1), (5, 2), (99, 2)] {
            assert_eq!(track.edit_span_at(pts), expected[index], "{pts}");
        }
    }
}
