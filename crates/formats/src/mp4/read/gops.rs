//! The samples of a video track, GOP by GOP: repaired where that is harmless, refused where cutting would show broken pictures.

use std::collections::VecDeque;

use super::{
    super::error::ReadError,
    samples::{InOrder, TrackSamples},
    tables::RawSample,
};
use crate::{
    index::{Sample, SampleTableBuilder},
    plan::{GOP_MAX_S, SEGMENT_SAMPLES_MAX},
};

/// B-frames between two others in what our encoders make. Pipeline, 5: fixes the composition shift at index time.
const ENCODED_B_FRAMES_MAX: usize = 3;

/// Reads all samples of a video track.
///
/// Leaves out empty samples (the picture before stays), moves equal times apart by a tick, and finds the composition shift.
/// Errors: `Unsupported` for open GOPs, GOPs of more than 20 s, a beginning that is no keyframe, and times that run back.
pub(super) fn video_samples(
    raw: impl Iterator<Item = Result<RawSample, ReadError>>,
    timescale: u32,
) -> Result<(TrackSamples, i64), ReadError> {
    let mut gops = Gops {
        timescale,
        gop_ticks_max: GOP_MAX_S * i64::from(timescale),
        gop: Vec::new(),
        gop_start: None,
        recent: VecDeque::new(),
        interval: 0,
        composition_shift: 0,
        builder: SampleTableBuilder::default(),
        first_pts: 0,
        natural_end: 0,
        end_offset: 0,
    };
    for sample in InOrder::new(raw) {
        let sample = sample?;
        if sample.is_sync && !gops.gop.is_empty() {
            gops.close()?;
        }
        if gops.gop.is_empty() && !sample.is_sync {
            return Err(ReadError::unsupported("the video does not begin with a keyframe"));
        }
        if gops.gop.len() >= SEGMENT_SAMPLES_MAX as usize {
            return Err(ReadError::unsupported(format!(
                "the video has more than {SEGMENT_SAMPLES_MAX} frames between two keyframes"
            )));
        }
        gops.gop.push(sample);
    }
    gops.close()?;
    gops.check_length(gops.natural_end)?;
    let samples = TrackSamples {
        table: gops.builder.finish(),
        first_pts: gops.first_pts,
        natural_end: gops.natural_end,
        end_offset: gops.end_offset,
    };
    Ok((samples, gops.composition_shift))
}

struct Gops {
    timescale: u32,
    gop_ticks_max: i64,
    /// The current GOP, in decode order.
    gop: Vec<Sample>,
    /// Presentation time of the last sync sample.
    gop_start: Option<i64>,
    /// The last presentation times, in order.
    recent: VecDeque<i64>,
    /// Between the last two presentation times.
    interval: i64,
    composition_shift: i64,
    builder: SampleTableBuilder,
    first_pts: i64,
    natural_end: i64,
    end_offset: u64,
}

impl Gops {
    /// Takes the current GOP into the table.
    fn close(&mut self) -> Result<(), ReadError> {
        let mut gop = std::mem::take(&mut self.gop);
        let mut presented: Vec<usize> = (0..gop.len()).collect();
        presented.sort_by_key(|&n| gop[n].pts);
        let Some(&first) = presented.first() else { return Ok(()) };
        // A picture behind the keyframe that is shown before it needs the GOP before: cutting here would break it.
        if gop[first].pts < gop[0].pts {
            return Err(ReadError::unsupported(
                "the video has open GOPs; only closed GOPs are supported so far",
            ));
        }
        self.separate(&mut gop, &presented)?;
        self.check_length(gop[0].pts)?;
        if self.gop_start.is_none() {
            self.first_pts = gop[0].pts;
        }
        self.gop_start = Some(gop[0].pts);

        for (n, &shown) in presented.iter().enumerate() {
            let pts = gop[shown].pts;
            // The n-th decoded picture must not be shown before the n-th presentation time, after the shift.
            self.composition_shift = self.composition_shift.max(pts - gop[n].pts);
            if let Some(&earliest) = self.recent.front() {
                self.composition_shift = self.composition_shift.max(pts - earliest);
            }
            if let Some(&before) = self.recent.back() {
                self.interval = pts - before;
            }
            if self.recent.len() == ENCODED_B_FRAMES_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back(pts);
        }
        for &sample in &gop {
            self.natural_end = self.natural_end.max(sample.pts + i64::from(sample.duration));
            self.end_offset = self.end_offset.max(sample.offset + u64::from(sample.size));
            self.builder.push(sample);
        }
        Ok(())
    }

    /// Makes presentation times strictly rising, across GOPs too.
    ///
    /// Joined files have keyframes that come a fraction of a frame early. More than a frame is another matter: refused.
    fn separate(&self, gop: &mut [Sample], presented: &[usize]) -> Result<(), ReadError> {
        let mut last = self.recent.back().copied();
        if let Some(last) = last
            && gop[0].pts < last - self.interval
        {
            return Err(ReadError::unsupported(format!(
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

    /// Refuses a GOP that lasted too long when the next one begins, or the track ends, at `end`.
    fn check_length(&self, end: i64) -> Result<(), ReadError> {
        let Some(start) = self.gop_start.filter(|start| end - start > self.gop_ticks_max) else {
            return Ok(());
        };
        let seconds = |ticks: i64| ticks as u64 / u64::from(self.timescale);
        Err(ReadError::unsupported(format!(
            "the video has {} s without a keyframe, from second {} on; at most {GOP_MAX_S} s are supported so far",
            seconds(end - start),
            seconds(start - self.first_pts)
        )))
    }
}
