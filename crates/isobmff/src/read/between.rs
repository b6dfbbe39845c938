//! Edit lists that cut a video between keyframes: what they show, and what a decoder needs for it.
//! D-0048.
//!
//! Nobody can copy that. The samples of each piece are listed from the keyframe in front of it on, at their
//! natural times, and [`Joint`]s say which of them are shown. Whoever encodes decodes the others and drops
//! them.

use kinora_index::{Joint, Sample, SampleTableBuilder};

use super::{
    super::error::ReadError,
    edits::Piece,
    pieces::{Clocks, Times, repeats_too_much},
    samples::TrackSamples,
    tables::TRACK_SAMPLES_MAX,
};

/// Takes the pieces of a video out of the samples of its source, one behind the other.
pub(super) struct Stretches<'a> {
    source: &'a TrackSamples,
    clocks: Clocks,
    builder: SampleTableBuilder,
    len: u32,
    joints: Vec<Joint>,
    first_pts: Option<i64>,
    natural_end: i64,
    end_offset: u64,
}

/// What a piece takes of the samples.
struct Taken {
    /// The keyframe to begin at.
    key: u32,
    /// The number behind the last one that is shown.
    stop: u32,
    /// The natural time of the picture that is on display when the piece begins.
    on_display: Option<i64>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(source: &'a TrackSamples, clocks: Clocks) -> Self {
        Stretches {
            source,
            clocks,
            builder: SampleTableBuilder::default(),
            len: 0,
            joints: Vec::new(),
            first_pts: None,
            natural_end: 0,
            end_offset: 0,
        }
    }

    /// Adds the next piece. One that shows nothing is left out.
    pub(super) fn push(&mut self, piece: &Piece) -> Result<(), ReadError> {
        let times = Times::of(piece, self.source, self.clocks)?;
        // A rounding of the edit list shows no picture for less than it can tell.
        let late = if piece.duration > 0 { times.end - self.slack() } else { times.end };
        let Some(taken) = self.taken(piece, times, late) else { return Ok(()) };
        if self.len > 0 {
            self.joints.push(Joint { sample: self.len, pts: times.start, configuration: 0 });
        }
        for mut sample in self.source.table.range(taken.key..taken.stop) {
            let natural = sample.pts;
            sample.pts += times.shift;
            sample.dts += times.shift;
            sample.pts = match taken.on_display {
                Some(on_display) if natural < on_display => sample.pts.min(times.start - 1),
                Some(on_display) if natural == on_display => times.start,
                _ if late <= sample.pts => sample.pts.max(times.end),
                _ => sample.pts,
            };
            if (times.start..times.end).contains(&sample.pts) {
                self.first_pts = Some(self.first_pts.map_or(sample.pts, |first| first.min(sample.pts)));
                let end = (sample.pts + i64::from(sample.duration)).min(times.end);
                self.natural_end = self.natural_end.max(end);
            }
            self.add(sample)?;
        }
        Ok(())
    }

    /// The samples with what is needed of them, and where they jump. Errors: where nothing is shown at all.
    pub(super) fn finish(self) -> Result<(TrackSamples, Vec<Joint>), ReadError> {
        let first_pts =
            self.first_pts.ok_or_else(|| ReadError::damaged("its edit list presents no sample"))?;
        let samples = TrackSamples {
            table: self.builder.finish(),
            first_pts,
            natural_end: self.natural_end,
            end_offset: self.end_offset,
            meter: None,
        };
        Ok((samples, self.joints))
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

    /// What an edit list may miss by: a tick of the movie, but not a picture.
    fn slack(&self) -> i64 {
        self.clocks.tick().min(self.source.ticks_of_one() / 2)
    }

    /// The samples of a piece whose last picture is shown before `late`. `None` where it shows none.
    fn taken(&self, piece: &Piece, times: Times, late: i64) -> Option<Taken> {
        if times.end <= times.start {
            return None;
        }
        let begins = piece.media_time + self.slack();
        let table = &self.source.table;
        let key = self.source.key_before(begins + 1);
        let stop = self.stop_at(key, (late - times.shift).max(begins + 1));
        // It is in the group of the keyframe, or leads the next one.
        let mut keyframes = 0;
        let near = table.range(key..stop).take_while(|sample| {
            keyframes += u32::from(sample.is_sync);
            keyframes < 3
        });
        let on_display = near.map(|sample| sample.pts).filter(|pts| *pts <= begins).max();
        let is_shown = |sample: Sample| begins < sample.pts && sample.pts + times.shift < late;
        let shows_any = on_display.is_some() || table.range(key..stop).any(is_shown);
        shows_any.then_some(Taken { key, stop, on_display })
    }

    /// The number behind the last sample that is shown before a time of the media, from the keyframe `key`
    /// on.
    fn stop_at(&self, key: u32, media_end: i64) -> u32 {
        let table = &self.source.table;
        let Some(number) = table.first_at_or_after_pts(media_end) else { return table.len() };
        // Pictures that are shown before it follow it in its group, or lead the keyframe behind.
        let mut keyframes = 0;
        let behind = (number..).zip(table.range(number..table.len())).take_while(|(place, sample)| {
            keyframes += u32::from(sample.is_sync && number < *place);
            keyframes < 2
        });
        let last = behind.filter(|(_, sample)| sample.pts < media_end).last();
        last.map_or(number, |(last, _)| last + 1).max(key)
    }
}
