//! The samples of a video track, GOP by GOP: repairs harmless defects, and marks tracks whose copy would
//! show broken frames.

use std::collections::VecDeque;

use kinora_index::{
    NotCopied, NotCopiedReason, Sample, SampleTableBuilder, checkpoint::is_valid_time,
    plan::SEGMENT_SAMPLES_MAX,
};
use serde::{Deserialize, Serialize};

use super::{
    super::error::ReadError,
    rates::RateMeter,
    samples::{self, SampleNormalizer, TrackSamples},
    tables::RawSample,
};

/// A last frame that lasts an hour is damage, or a number that was meant to be negative.
const LAST_FRAME_S_MAX: i64 = 3600;
/// Divisor of a second: the quotient is the maximum composition shift. hls.js 1.7.4 in Chromium misplaces
/// segments if the shift is about as long as they are, and a pause would cause such a shift. Measured with
/// segments of 6 s: a shift of about 6 s left gaps in the buffered ranges, and playback never ended; a
/// shift of 3 s played.
const COMPOSITION_SHIFT_MAX_DIVISOR: i64 = 2;
/// Maximum number of consecutive B-frames that our encoders write. M-11: fixes the composition shift at
/// index time.
const ENCODED_B_FRAMES_MAX: usize = 3;

/// Collects the samples of a video track.
///
/// Leaves out empty samples (the previous frame stays on display), moves equal times apart by a tick, and
/// finds the composition shift.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VideoSamples {
    normalizer: SampleNormalizer,
    gops: Gops,
}

impl VideoSamples {
    /// `timescale` is in ticks per second.
    pub(super) fn new(timescale: u32, open_gops: OpenGops) -> Self {
        let gops = Gops {
            timescale,
            open_gops,
            gop: Vec::new(),
            gop_start: None,
            recent_pts: VecDeque::new(),
            interval: 0,
            composition_shift: 0,
            builder: SampleTableBuilder::default(),
            meter: RateMeter::new(timescale),
            first_pts: 0,
            end_pts: 0,
            end_offset: 0,
            not_copied: None,
        };
        VideoSamples { normalizer: SampleNormalizer::default(), gops }
    }

    /// Adds the next sample in decode order.
    ///
    /// Errors: `NeedsRemux` for times that run back, `Unsupported` for a GOP with more samples than the
    /// limit.
    pub(super) fn push(&mut self, row: RawSample) -> Result<(), ReadError> {
        self.normalizer.push(row)?.map_or(Ok(()), |sample| self.gops.push(sample))
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        let Gops { builder, meter, gop, .. } = &self.gops;
        builder.memory_len() + meter.memory_len() + gop.capacity() * size_of::<Sample>()
    }

    /// Whether a state that was read from a checkpoint is valid; `timescale` is in ticks per second.
    pub(super) fn is_valid(&self, timescale: u32) -> bool {
        self.normalizer.is_valid() && self.gops.timescale == timescale && self.gops.is_valid()
    }

    /// Ends the track. Errors: as [`VideoSamples::push`].
    pub(super) fn finish(mut self) -> Result<VideoSampleTable, ReadError> {
        let mut gops = self.gops;
        let longest = i64::from(gops.timescale) * LAST_FRAME_S_MAX;
        if let Some(sample) = self.normalizer.finish(u32::try_from(longest).unwrap_or(u32::MAX)) {
            gops.push(sample)?;
        }
        gops.close_gop()?;
        let samples = TrackSamples {
            table: gops.builder.finish(),
            first_pts: gops.first_pts,
            end_pts: gops.end_pts,
            end_offset: gops.end_offset,
            meter: Some(gops.meter),
        };
        Ok(VideoSampleTable {
            samples,
            composition_shift: gops.composition_shift,
            not_copied: gops.not_copied,
        })
    }
}

/// The result for a video track.
#[derive(Debug)]
pub(super) struct VideoSampleTable {
    pub(super) samples: TrackSamples,
    /// See [`kinora_index::VideoTrack::composition_shift`].
    pub(super) composition_shift: i64,
    /// Why a copy would show broken frames.
    pub(super) not_copied: Option<NotCopied>,
}

/// The treatment of open GOPs: frames follow the keyframe and are presented before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum OpenGops {
    /// They are cut like others: a decoder of this codec that begins at the keyframe skips frames whose
    /// references are missing.
    Copied,
    /// They are not copied: a decoder would show broken frames. M-7.
    NotCopied,
}

#[derive(Debug, Serialize, Deserialize)]
struct Gops {
    timescale: u32,
    open_gops: OpenGops,
    /// The current GOP, in decode order.
    gop: Vec<Sample>,
    /// Presentation time of the last sync sample.
    gop_start: Option<i64>,
    /// The last presentation times, in order.
    recent_pts: VecDeque<i64>,
    /// Interval between the last two presentation times.
    interval: i64,
    composition_shift: i64,
    builder: SampleTableBuilder,
    meter: RateMeter,
    first_pts: i64,
    end_pts: i64,
    end_offset: u64,
    not_copied: Option<NotCopied>,
}

impl Gops {
    fn is_valid(&self) -> bool {
        let mut times = [self.interval, self.composition_shift, self.first_pts, self.end_pts]
            .into_iter()
            .chain(self.gop_start)
            .chain(self.recent_pts.iter().copied());
        times.all(is_valid_time)
            && self.recent_pts.len() <= ENCODED_B_FRAMES_MAX
            && self.gop.len() <= SEGMENT_SAMPLES_MAX as usize
            && self.gop.iter().all(samples::is_valid)
            && self.builder.is_valid(samples::is_valid)
            && self.meter.is_valid(self.timescale)
    }

    fn push(&mut self, sample: Sample) -> Result<(), ReadError> {
        if sample.is_sync && !self.gop.is_empty() {
            self.close_gop()?;
        }
        if self.gop_start.is_none() && self.gop.is_empty() && !sample.is_sync {
            self.record_not_copied(NotCopiedReason::LongGop, || "does not begin with a keyframe".into());
        }
        if self.gop.len() >= SEGMENT_SAMPLES_MAX as usize {
            return Err(ReadError::unsupported(format!(
                "the video has more than {SEGMENT_SAMPLES_MAX} frames between two keyframes"
            )));
        }
        self.gop.push(sample);
        Ok(())
    }

    /// Moves the current GOP to the table.
    fn close_gop(&mut self) -> Result<(), ReadError> {
        let mut gop = std::mem::take(&mut self.gop);
        let mut presented: Vec<usize> = (0..gop.len()).collect();
        presented.sort_by_key(|&n| gop[n].pts);
        let Some(&first) = presented.first() else { return Ok(()) };
        // A frame that follows the keyframe and is presented before it may need the previous GOP.
        if gop[first].pts < gop[0].pts && self.open_gops == OpenGops::NotCopied {
            self.record_not_copied(NotCopiedReason::OpenGop, || "open GOP".into());
        }
        self.make_pts_rising(&mut gop, &presented)?;
        if self.gop_start.is_none() {
            // Leading frames of the very first keyframe have no references: decoders skip them.
            self.first_pts = gop[if gop[0].is_sync { 0 } else { first }].pts;
        }
        self.gop_start = Some(gop[first].pts);

        let shift_max = i64::from(self.timescale) / COMPOSITION_SHIFT_MAX_DIVISOR;
        for (n, &decode_index) in presented.iter().enumerate() {
            let pts = gop[decode_index].pts;
            // After the shift, the n-th decoded frame is not presented before the n-th presentation time...
            let earliest = self.recent_pts.front().map_or(gop[n].pts, |&earliest| earliest.min(gop[n].pts));
            // ...but each frame must have its own tick before it is presented.
            let positions = i64::try_from(decode_index.saturating_sub(n)).unwrap_or(i64::MAX);
            self.composition_shift =
                self.composition_shift.max((pts - earliest).min(shift_max)).max(positions);
            if let Some(&before) = self.recent_pts.back() {
                self.interval = pts - before;
            }
            if self.recent_pts.len() == ENCODED_B_FRAMES_MAX {
                self.recent_pts.pop_front();
            }
            self.recent_pts.push_back(pts);
        }
        for &sample in &gop {
            self.end_pts = self.end_pts.max(sample.pts + i64::from(sample.duration));
            self.end_offset = self.end_offset.max(sample.offset + u64::from(sample.size));
            self.meter.push(&sample);
            self.builder.push(sample);
        }
        Ok(())
    }

    /// Makes presentation times strictly rising, across GOPs too.
    ///
    /// Joined files have keyframes that come a fraction of a frame early. More than a frame is rejected.
    fn make_pts_rising(&self, gop: &mut [Sample], presented: &[usize]) -> Result<(), ReadError> {
        let mut last = self.recent_pts.back().copied();
        if let Some(last) = last
            && gop[presented[0]].pts < last - self.interval
        {
            return Err(ReadError::needs_remux(format!(
                "the video jumps back in time at a keyframe, {} s after its beginning",
                (last - self.first_pts) / i64::from(self.timescale)
            )));
        }
        for &n in presented {
            if let Some(last) = last {
                gop[n].pts = gop[n].pts.max(last + 1);
            }
            last = Some(gop[n].pts);
        }
        Ok(())
    }

    /// Records why the track is not copied; the first reason stays.
    fn record_not_copied(&mut self, reason: NotCopiedReason, detail: impl FnOnce() -> String) {
        self.not_copied.get_or_insert_with(|| NotCopied::new(reason, detail()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of 1 byte, 100 ticks apart; (sync, composition offset).
    fn rows(rows: &[(bool, i32)]) -> Vec<RawSample> {
        let row = |(n, &(is_sync, composition)): (usize, &(bool, i32))| RawSample {
            dts: n as i64 * 100,
            delta: 100,
            composition_offset: composition,
            offset: n as u64,
            size: 1,
            is_sync,
        };
        rows.iter().enumerate().map(row).collect()
    }

    fn video_samples(
        mut rows: impl Iterator<Item = RawSample>,
        timescale: u32,
        open_gops: OpenGops,
    ) -> Result<VideoSampleTable, ReadError> {
        let mut samples = VideoSamples::new(timescale, open_gops);
        rows.try_for_each(|row| samples.push(row))?;
        samples.finish()
    }

    fn read(rows: Vec<RawSample>) -> Result<(Vec<i64>, i64), String> {
        read_with(OpenGops::NotCopied, rows)
    }

    fn read_with(open_gops: OpenGops, rows: Vec<RawSample>) -> Result<(Vec<i64>, i64), String> {
        let video = video_samples(rows.into_iter(), 1000, open_gops).map_err(|error| error.to_string())?;
        assert_eq!(video.not_copied, None);
        let times = video.samples.table.iter().map(|sample| sample.pts).collect();
        Ok((times, video.composition_shift))
    }

    #[test]
    fn composition_shift_covers_source_and_encoded_reordering() {
        fn check(name: &str, input: &[(bool, i32)], expected: i64) {
            assert_eq!(read(rows(input)).unwrap().1, expected, "{name}");
        }
        check("one picture", &[(true, 0)], 0);
        check("two pictures", &[(true, 0), (false, 0)], 100);
        // Our three B-frames: the distance over four frames.
        check("no B-frames", &[(true, 0); 10], 300);
        check("across keyframes", &[(true, 0), (true, 0), (true, 0), (true, 0)], 300);
        // Decoded as I0 P6 B5 B4 B3 B2 B1: B1 is presented first of them and decoded last, five frames late.
        check(
            "five B-frames in reverse",
            &[(true, 500), (false, 1000), (false, 800), (false, 600), (false, 400), (false, 200), (false, 0)],
            500,
        );
    }

    #[test]
    fn composition_shift_is_half_a_second_at_most() {
        // I P B B, the P presented after a pause of 10 s: without a limit the shift would be as long.
        let paused = [(true, 0), (false, 10_000), (false, 0), (false, 0)];
        assert_eq!(read(rows(&paused)).map(|read| read.1), Ok(500));
        // One tick for each frame that is decoded ahead of its presentation order is the minimum: at one
        // tick per second, half a second is 0 ticks.
        let video = video_samples(rows(&paused).into_iter(), 1, OpenGops::NotCopied).unwrap();
        assert_eq!(video.composition_shift, 1);
    }

    #[test]
    fn open_gops_are_not_copied() {
        let check = |input: &[(bool, i32)], reason: NotCopiedReason, detail: &str, first_pts: i64| {
            let rows = rows(input);
            let video = video_samples(rows.into_iter(), 1000, OpenGops::NotCopied).unwrap();
            assert_eq!(video.not_copied, Some(NotCopied::new(reason, detail)));
            assert_eq!(video.samples.table.len() as usize, input.len());
            assert_eq!(video.samples.first_pts, first_pts);
        };
        let open = [(true, 100), (false, 0), (true, 200), (false, 0)];
        check(&open, NotCopiedReason::OpenGop, "open GOP", 100);
        let inside = [(false, 0), (true, 0)];
        check(&inside, NotCopiedReason::LongGop, "does not begin with a keyframe", 0);
        check(&[(false, 100), (false, -100)], NotCopiedReason::LongGop, "does not begin with a keyframe", 0);
    }

    #[test]
    fn open_gops_are_copied_if_the_codec_allows() {
        let read_copied = |input: &[(bool, i32)]| read_with(OpenGops::Copied, rows(input));
        // I0 P3 B1 B2, then I6 B4 B5 P7.
        let open = [
            (true, 100),
            (false, 300),
            (false, 0),
            (false, 0),
            (true, 300),
            (false, 0),
            (false, 0),
            (false, 100),
        ];
        assert_eq!(read_copied(&open), Ok((vec![100, 400, 200, 300, 700, 500, 600, 800], 300)));
        let jump = "the video jumps back in time at a keyframe, 0 s after its beginning";
        let back = [(true, 100), (false, 100), (false, 100), (true, 100), (false, -201)];
        assert_eq!(
            read_copied(&back),
            Err(jump.into()),
            "a picture that leads into the middle of the GOP before"
        );
    }

    #[test]
    fn slightly_early_keyframe_is_moved() {
        let joined =
            |early: i32| rows(&[(true, 100), (false, 100), (false, 100), (true, 100 - early), (false, 100)]);
        assert_eq!(read(joined(99)).unwrap().0, [100, 200, 300, 301, 500]);
        assert_eq!(read(joined(100)).unwrap().0, [100, 200, 300, 301, 500]);
        assert_eq!(read(joined(200)).unwrap().0, [100, 200, 300, 301, 500]);
        assert_eq!(
            read(joined(201)),
            Err("the video jumps back in time at a keyframe, 0 s after its beginning".into())
        );
    }

    #[test]
    fn equal_pts_are_separated_in_decode_order() {
        assert_eq!(
            read(rows(&[(true, 100), (false, 0), (false, -100), (false, 0)])).unwrap().0,
            [100, 101, 102, 300]
        );
    }

    #[test]
    fn gop_over_sample_limit_is_rejected_early() {
        let row =
            |n| RawSample { dts: n, delta: 1, composition_offset: 0, offset: 0, size: 1, is_sync: n == 0 };
        let endless = (0..).map(row);
        let error = video_samples(endless, 10_000_000, OpenGops::NotCopied).unwrap_err();
        assert_eq!(error.to_string(), "the video has more than 65536 frames between two keyframes");
    }
}
