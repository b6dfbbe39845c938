//! A feed of single samples: those decoded for thumbnails, each at a chosen time.

use std::sync::Arc;

use kinora_index::{Index, Sample, Timeline, Track};

use super::super::frame_times::SegmentRun;
use super::{Feed, FeedError, SAMPLE_LEN_MAX, header};

/// Ticks per second of such a feed: microseconds, as in a Matroska feed.
const TIMESCALE: u32 = 1_000_000;

impl Feed {
    /// Lead of such a feed before the first chosen time, in microseconds: for samples that are only decoded.
    pub const SINGLE_FRAMES_LEAD_US: u64 = 10_000_000;

    /// The feed of these samples of a track, in decode order, each with the output time of its frame in
    /// microseconds. Times count from [`SINGLE_FRAMES_LEAD_US`](Self::SINGLE_FRAMES_LEAD_US), and may be
    /// negative down to that lead. The caller must choose samples that can be decoded from the previous
    /// ones, are output in the order of their times, and all have this configuration of the track.
    ///
    /// Errors: [`FeedError::NoSuchSegments`] without a sample, [`FeedError::SampleEntry`],
    /// [`FeedError::Sample`] for one that is too large, or a time that no feed can represent.
    pub fn of_single_frames(
        index: &Index,
        track: &Track,
        configuration: u8,
        samples: impl IntoIterator<Item = (Sample, i64)>,
    ) -> Result<Self, FeedError> {
        let lead = i64::try_from(Self::SINGLE_FRAMES_LEAD_US).unwrap_or(i64::MAX);
        let mut samples: Vec<Sample> = samples
            .into_iter()
            .map(|(sample, time_us)| Sample { pts: time_us.saturating_add(lead), ..sample })
            .collect();
        let wrong =
            |number: usize, what| FeedError::Sample { number: number.try_into().unwrap_or(u32::MAX), what };
        // Each sample is decoded before it or a later one is presented, early enough that all decode times
        // differ.
        let (mut earliest_pts, mut next_dts) = (i64::MAX, None);
        let count = i64::try_from(samples.len()).unwrap_or(i64::MAX);
        for (number, sample) in samples.iter_mut().enumerate().rev() {
            if SAMPLE_LEN_MAX < sample.size {
                return Err(wrong(number, "it is larger than 64 MiB"));
            }
            earliest_pts = earliest_pts.min(sample.pts);
            let distance = count.saturating_sub(i64::try_from(number).unwrap_or(0));
            sample.dts = earliest_pts.saturating_sub(distance);
            if sample.dts < 0 {
                return Err(wrong(number, "it is shown before all others"));
            }
            let duration = next_dts.map_or(i64::from(TIMESCALE), |next: i64| next - sample.dts);
            sample.duration =
                u32::try_from(duration).map_err(|_| wrong(number, "the next one comes an hour later"))?;
            next_dts = Some(sample.dts);
        }
        let samples_len = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        if samples.is_empty() {
            return Err(FeedError::NoSuchSegments { numbers: 0..0 });
        }
        let track = Track {
            timescale: TIMESCALE,
            media: track.configuration(configuration).clone(),
            configurations: Vec::new(),
            samples: samples.into_iter().collect(),
            edit_points: Vec::new(),
            shift: 0,
            ..track.clone()
        };
        let (format, header) = header(&track, &track.media)?;
        let timeline = Timeline::of(index, &track);
        let run = SegmentRun {
            numbers: 0..0,
            cuts: vec![0],
            times: Vec::new(),
            timescale: TIMESCALE,
            timeline,
            lead_s: 0,
        };
        Ok(Self {
            run: Arc::new(run),
            table: track.samples,
            samples: 0..samples_len,
            track_shift: 0,
            decode_shift: 0,
            presentation_shift: 0,
            header: header.into(),
            format,
            writes_durations: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Index {
        let mut scanner = crate::Scanner::new(None);
        scanner.push(include_bytes!("../../../tests/fixtures/faststart.mp4")).expect("media");
        scanner.finish().expect("media").into_index().expect("an index")
    }

    fn sample(size: u32) -> Sample {
        Sample { dts: 0, pts: 0, duration: 1, object: 0, offset: 0, size, is_sync: true }
    }

    #[test]
    fn feed_rejects_invalid_samples() {
        let index = index();
        let (track, _) = index.video().unwrap();
        let of = |samples: Vec<(Sample, i64)>| Feed::of_single_frames(&index, track, 0, samples).map(drop);
        assert_eq!(of(Vec::new()), Err(FeedError::NoSuchSegments { numbers: 0..0 }));
        let large = FeedError::Sample { number: 1, what: "it is larger than 64 MiB" };
        assert_eq!(of(vec![(sample(1), 0), (sample((64 << 20) + 1), 1)]), Err(large));
        let early = FeedError::Sample { number: 0, what: "it is shown before all others" };
        assert_eq!(of(vec![(sample(1), -10_000_000)]), Err(early));
        let late = FeedError::Sample { number: 0, what: "the next one comes an hour later" };
        assert_eq!(of(vec![(sample(1), 0), (sample(1), 5_000_000_000)]), Err(late));
        assert_eq!(of(vec![(sample(1), -9_999_000), (sample(64 << 20), 4_000_000_000)]), Ok(()));
    }

    #[test]
    fn feed_decode_times_are_distinct_and_before_pts() {
        let index = index();
        let (track, _) = index.video().unwrap();
        let shown = [0, 300, 100, 200, 1_000_000, 1_000_000, 1_000_000];
        let feed = Feed::of_single_frames(&index, track, 0, shown.map(|time| (sample(7), time))).unwrap();
        let fed: Vec<_> = feed.table.iter().collect();
        assert!(fed.windows(2).all(|pair| pair[0].dts < pair[1].dts));
        assert!(fed.windows(2).all(|pair| pair[0].dts + i64::from(pair[0].duration) == pair[1].dts));
        assert!(fed.iter().all(|sample| 0 <= sample.dts && sample.dts < sample.pts));
        assert_eq!(fed.iter().map(|sample| sample.pts - 10_000_000).collect::<Vec<_>>(), shown);
        assert_eq!(feed.chunks().map(|chunk| chunk.len).sum::<u64>(), 49);
    }
}
