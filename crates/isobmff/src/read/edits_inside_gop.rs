//! Edit lists that cut a video between keyframes: the presented samples, and those needed to decode them.
//! D-0048.
//!
//! Such a track cannot be copied. The samples of each piece are listed from the preceding keyframe on, at
//! their times in the source plus one shift, and [`EditPoint`]s mark which of them are presented. The encoder
//! decodes the other ones and drops their frames.

use kinora_index::{EditPoint, Sample, SampleTableBuilder};

use super::{
    super::error::ReadError,
    apply_edits::{EditTimes, Timescales, repeats_too_much},
    edits::EditEntry,
    samples::TrackSamples,
    tables::TRACK_SAMPLES_MAX,
};

/// Selects the samples for the pieces of a video, in the order of the edit list.
pub(super) struct EditSpanBuilder<'a> {
    source: &'a TrackSamples,
    timescales: Timescales,
    builder: SampleTableBuilder,
    len: u32,
    edit_points: Vec<EditPoint>,
    first_pts: Option<i64>,
    end_pts: i64,
    end_offset: u64,
}

/// The samples that a piece needs.
struct SampleSelection {
    /// The keyframe at which decoding begins.
    key: u32,
    /// The number after the last sample that is presented.
    stop: u32,
    /// Presentation time in the source of the frame that is on display when the piece begins.
    displayed_pts: Option<i64>,
}

impl<'a> EditSpanBuilder<'a> {
    pub(super) fn new(source: &'a TrackSamples, timescales: Timescales) -> Self {
        EditSpanBuilder {
            source,
            timescales,
            builder: SampleTableBuilder::default(),
            len: 0,
            edit_points: Vec::new(),
            first_pts: None,
            end_pts: 0,
            end_offset: 0,
        }
    }

    /// Adds the next piece. A piece that presents no frame is left out.
    pub(super) fn push(&mut self, entry: &EditEntry) -> Result<(), ReadError> {
        let times = EditTimes::of(entry, self.source, self.timescales)?;
        // A frame that would be presented for less than the rounding error of the edit list is left out.
        let pts_limit = if entry.duration > 0 { times.end - self.slack() } else { times.end };
        let Some(selection) = self.select(entry, times, pts_limit) else { return Ok(()) };
        if self.len > 0 {
            self.edit_points.push(EditPoint { sample: self.len, pts: times.start, configuration: 0 });
        }
        for mut sample in self.source.table.range(selection.key..selection.stop) {
            let source_pts = sample.pts;
            sample.pts += times.shift;
            sample.dts += times.shift;
            sample.pts = match selection.displayed_pts {
                Some(displayed_pts) if source_pts < displayed_pts => sample.pts.min(times.start - 1),
                Some(on_display) if source_pts == on_display => times.start,
                _ if pts_limit <= sample.pts => sample.pts.max(times.end),
                _ => sample.pts,
            };
            if (times.start..times.end).contains(&sample.pts) {
                self.first_pts = Some(self.first_pts.map_or(sample.pts, |first| first.min(sample.pts)));
                let end = (sample.pts + i64::from(sample.duration)).min(times.end);
                self.end_pts = self.end_pts.max(end);
            }
            self.add(sample)?;
        }
        Ok(())
    }

    /// The samples with those needed to decode them, and the discontinuities. Errors: no frame is presented
    /// at all.
    pub(super) fn finish(self) -> Result<(TrackSamples, Vec<EditPoint>), ReadError> {
        let first_pts =
            self.first_pts.ok_or_else(|| ReadError::damaged("its edit list presents no sample"))?;
        let samples = TrackSamples {
            table: self.builder.finish(),
            first_pts,
            end_pts: self.end_pts,
            end_offset: self.end_offset,
            meter: None,
        };
        Ok((samples, self.edit_points))
    }

    fn add(&mut self, sample: Sample) -> Result<(), ReadError> {
        if self.len == TRACK_SAMPLES_MAX {
            return Err(repeats_too_much());
        }
        self.len += 1;
        self.end_offset = self.end_offset.max(sample.offset + u64::from(sample.size));
        self.builder.push(sample);
        Ok(())
    }

    /// The tolerance for times of an edit list: a tick of the movie, at most half a frame.
    fn slack(&self) -> i64 {
        self.timescales.movie_tick().min(self.source.mean_sample_duration() / 2)
    }

    /// The samples of a piece whose last frame is presented before `pts_limit`. `None` if no frame is
    /// presented.
    fn select(&self, entry: &EditEntry, times: EditTimes, pts_limit: i64) -> Option<SampleSelection> {
        if times.end <= times.start {
            return None;
        }
        let begins = entry.media_time + self.slack();
        let table = &self.source.table;
        let key = self.source.gop_keyframe_before(begins + 1);
        let stop = self.end_sample(key, (pts_limit - times.shift).max(begins + 1));
        // The frame is in the GOP of the keyframe, or is a leading frame of the next keyframe.
        let mut keyframes = 0;
        let near = table.range(key..stop).take_while(|sample| {
            keyframes += u32::from(sample.is_sync);
            keyframes < 3
        });
        let displayed_pts = near.map(|sample| sample.pts).filter(|pts| *pts <= begins).max();
        let is_shown = |sample: Sample| begins < sample.pts && sample.pts + times.shift < pts_limit;
        let shows_any = displayed_pts.is_some() || table.range(key..stop).any(is_shown);
        shows_any.then_some(SampleSelection { key, stop, displayed_pts })
    }

    /// The number after the last sample, from the keyframe `key` on, that is presented before this media
    /// time.
    fn end_sample(&self, key: u32, media_end: i64) -> u32 {
        let table = &self.source.table;
        let Some(number) = table.first_at_or_after_pts(media_end) else { return table.len() };
        // Frames that are presented earlier follow in its GOP, or lead the next keyframe.
        let mut keyframes = 0;
        let following = (number..).zip(table.range(number..table.len())).take_while(|(index, sample)| {
            keyframes += u32::from(sample.is_sync && number < *index);
            keyframes < 2
        });
        let last = following.filter(|(_, sample)| sample.pts < media_end).last();
        last.map_or(number, |(last, _)| last + 1).max(key)
    }
}
