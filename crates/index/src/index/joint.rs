//! Where an edit list jumps or another part begins, and what lies between two of those places.
//!
//! A list that cuts between keyframes needs pictures that it does not show. They stay among the samples, at
//! their natural times, which overlap with those of what is shown around the jump: so times mean something
//! inside a stretch only.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Index, Segment, Track, TrackMedia};

/// Most joints of one track; a stored index with more is damaged.
pub const JOINTS_MAX: usize = 1000;

/// Where an edit list jumps to another place of the media, or another part of a presentation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joint {
    /// The first sample behind it, in decode order: what is behind it is decoded from there on.
    pub sample: u32,
    /// From when on what is behind it is shown, in ticks of the source, before [`Track::shift`].
    pub pts: i64,
    /// How what is behind it is decoded: the number of a configuration of the track.
    #[serde(skip)]
    pub configuration: u8,
}

/// The samples between two joints, and what of them is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Its samples, in decode order. Their times rise as those of any track.
    pub samples: Range<u32>,
    /// The samples with a presentation time in this range are shown, the others only decoded. In ticks of the
    /// source; without an end where no joint is.
    pub shown: Range<i64>,
}

impl Track {
    /// All samples, between their joints: one stretch where no edit list jumps.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> + '_ {
        let begins = |joint: Option<&Joint>| {
            joint.copied().unwrap_or(Joint { sample: 0, pts: i64::MIN, configuration: 0 })
        };
        let ends = |joint: Option<&Joint>| {
            let end = Joint { sample: self.samples.len(), pts: i64::MAX, configuration: 0 };
            joint.copied().unwrap_or(end)
        };
        (0..=self.joints.len()).map(move |number| {
            let from = begins(number.checked_sub(1).and_then(|before| self.joints.get(before)));
            let to = ends(self.joints.get(number));
            Stretch { samples: from.sample..to.sample, shown: from.pts..to.pts }
        })
    }

    /// How a sample is decoded: the number of a configuration.
    pub fn configuration_at(&self, sample: u32) -> u8 {
        let behind = self.joints.partition_point(|joint| joint.sample <= sample);
        behind.checked_sub(1).and_then(|place| self.joints.get(place)).map_or(0, |joint| joint.configuration)
    }

    /// What the track is in a configuration; in one that it does not have, what it is at first.
    pub fn configuration(&self, number: u8) -> &TrackMedia {
        let further = usize::from(number).checked_sub(1).and_then(|place| self.configurations.get(place));
        further.unwrap_or(&self.media)
    }

    /// What the track is where a sample lies.
    pub fn media_at(&self, sample: u32) -> &TrackMedia {
        self.configuration(self.configuration_at(sample))
    }

    /// Which of these segments of the copy begin another part, with the configuration that holds from there
    /// on.
    pub fn parts_begun(&self, segments: &[Segment]) -> Vec<(u32, u8)> {
        let stretch =
            |segment: &Segment| self.joints.partition_point(|joint| joint.sample <= segment.samples.start);
        let pairs = (1..).zip(segments.windows(2));
        let begun = pairs.filter_map(|(number, pair)| match pair {
            [before, segment] if stretch(before) != stretch(segment) => {
                Some((number, self.configuration_at(segment.samples.start)))
            }
            _ => None,
        });
        if self.joints.is_empty() { Vec::new() } else { begun.collect() }
    }

    /// The stretch that is shown at a time of the source, in ticks before [`Track::shift`].
    pub fn stretch_at(&self, pts: i64) -> Stretch {
        let all = Stretch { samples: 0..self.samples.len(), shown: i64::MIN..i64::MAX };
        self.stretches().find(|stretch| pts < stretch.shown.end).unwrap_or(all)
    }
}

impl Index {
    /// Segments of the encoded plan as runs that one decoder can make: split wherever the video jumps. All of
    /// these numbers, in order.
    pub fn encoded_runs(&self, numbers: Range<u32>) -> Vec<Range<u32>> {
        let joints = self.video().map_or(&[][..], |(track, _)| &track.joints);
        let stretch = |number: u32| {
            let segment = self.plan.encoded_video.get(number as usize);
            segment.map(|segment| joints.partition_point(|joint| joint.sample <= segment.samples.start))
        };
        let mut runs: Vec<Range<u32>> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some(run) if stretch(run.start) == stretch(number) => run.end = number + 1,
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
    fn stretches_cover_all_samples_and_all_times() {
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
            joints: Vec::new(),
            shift: 0,
            end: 10,
            bitrate_average: 0,
            bitrate_peak: 0,
        };
        let whole = Stretch { samples: 0..10, shown: i64::MIN..i64::MAX };
        assert_eq!(track.stretches().collect::<Vec<_>>(), std::slice::from_ref(&whole));
        assert_eq!(track.stretch_at(i64::MAX), whole);

        track.joints = vec![
            Joint { sample: 4, pts: 3, configuration: 1 },
            Joint { sample: 8, pts: 5, configuration: 0 },
        ];
        let stretch = |samples, shown| Stretch { samples, shown };
        let expected = [stretch(0..4, i64::MIN..3), stretch(4..8, 3..5), stretch(8..10, 5..i64::MAX)];
        assert_eq!(track.stretches().collect::<Vec<_>>(), expected);
        for (pts, place) in [(-7, 0), (2, 0), (3, 1), (4, 1), (5, 2), (99, 2)] {
            assert_eq!(track.stretch_at(pts), expected[place], "{pts}");
        }
    }
}
