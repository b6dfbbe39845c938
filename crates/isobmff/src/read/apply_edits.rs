//! Edit lists of several pieces: joins the samples of all pieces, as if the file stored them so. D-0032.
//!
//! Pieces that follow one another in the media are merged. The remaining boundaries are cuts: a part was
//! removed, moved or repeated. If video is cut at keyframes only, a copy presents exactly the edits;
//! otherwise [`edits_inside_gop`](super::edits_inside_gop) applies. Audio is cut on packets, each at its
//! true time.

use kinora_index::{EDIT_POINTS_MAX, EditPoint, NotCopied, NotCopiedReason, Sample, SampleTableBuilder};

use super::{
    super::error::ReadError,
    edits::{Edit, EditEntry, EditList},
    edits_inside_gop::EditSpanBuilder,
    samples::TrackSamples,
    tables::TRACK_SAMPLES_MAX,
    timeline::TIMESCALE_MAX,
};

/// Maximum number of pieces of one track after merging. Each costs a search in its samples.
const EDIT_ENTRIES_MAX: usize = EDIT_POINTS_MAX;
/// Priming packets: the decoder needs them before the first audible one.
const PRIMING_PACKETS: u32 = 3;

/// Ticks per second of the movie and of one track; neither is 0.
#[derive(Debug, Clone, Copy)]
pub struct Timescales {
    /// Of the movie.
    pub movie: u32,
    /// Of the track.
    pub track: u32,
}

impl Timescales {
    /// Whether both timescales are in the supported range.
    pub fn is_valid(self) -> bool {
        [self.movie, self.track].iter().all(|timescale| (1..=TIMESCALE_MAX).contains(timescale))
    }

    /// Converts ticks of the movie to ticks of the track, to the nearest. Saturates.
    pub(super) fn track_ticks(&self, movie_ticks: u64) -> i64 {
        let movie_timescale = i128::from(self.movie);
        let ticks =
            (2 * i128::from(movie_ticks) * i128::from(self.track) + movie_timescale) / (2 * movie_timescale);
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }

    /// A tick of the movie in ticks of the track, rounded up: the precision of times in the file.
    pub(super) fn movie_tick(&self) -> i64 {
        i64::from(self.track.div_ceil(self.movie))
    }
}

/// The result of an edit list.
#[derive(Debug)]
pub(super) struct PresentedSamples {
    pub(super) samples: TrackSamples,
    /// Their position.
    pub(super) edit: Edit,
    /// Discontinuities between keyframes.
    pub(super) edit_points: Vec<EditPoint>,
    /// Why a copy would show removed frames.
    pub(super) not_copied: Option<NotCopied>,
}

/// The samples that the edit list presents, and their position.
///
/// One piece leaves the samples unchanged, unless it begins inside a GOP or ends between B-frames. Errors:
/// `Unsupported` for pauses between pieces, and for too many cuts.
pub(super) fn apply_edit_list(
    samples: TrackSamples,
    list: &EditList,
    timescales: Timescales,
    is_video: bool,
) -> Result<PresentedSamples, ReadError> {
    let entries =
        merge_consecutive(list, timescales, if is_video { samples.mean_sample_duration() / 2 } else { 0 })?;
    let copied =
        |samples, edit| PresentedSamples { samples, edit, edit_points: Vec::new(), not_copied: None };
    let Some(last) = entries.last() else {
        return Ok(copied(samples, Edit { empty_duration: list.empty_duration, ..Edit::default() }));
    };
    let is_cut = entries.len() > 1;
    if samples.table.is_empty() && is_cut {
        return Ok(copied(samples, Edit::default()));
    }
    let duration = (last.duration > 0).then(|| last.movie_time.saturating_add(last.duration));
    let edit = Edit { empty_duration: list.empty_duration, media_time: 0, duration };
    let is_copied = !is_cut && (!is_video || !needs_unpresented_frames(&samples, last, timescales));
    if is_copied {
        return Ok(copied(samples, Edit { media_time: last.media_time, ..edit }));
    }
    if is_cut && let Some(samples) = EditJoiner::new(&samples, timescales).join_all(&entries, is_video)? {
        return Ok(copied(samples, edit));
    }
    let mut spans = EditSpanBuilder::new(&samples, timescales);
    entries.iter().try_for_each(|entry| spans.push(entry))?;
    let (presented, edit_points) = spans.finish()?;
    // Frames that are on display when a piece begins are shown for less than their duration, which must not
    // raise the frame rate.
    let samples = TrackSamples { meter: samples.meter, ..presented };
    let not_copied = NotCopied::new(NotCopiedReason::Edits, "edits between keyframes");
    Ok(PresentedSamples { samples, edit, edit_points, not_copied: Some(not_copied) })
}

/// Whether a video of one piece needs frames that the piece does not present.
fn needs_unpresented_frames(samples: &TrackSamples, entry: &EditEntry, timescales: Timescales) -> bool {
    let begin = entry.media_time;
    if samples.needs_earlier_frames(samples.gop_keyframe_before(begin.saturating_add(1)), begin) {
        return true;
    }
    // A difference that the timeline treats as rounding is no trim. The duration of all samples is no trim
    // either: some writers forget the delay between decoding and presentation.
    let length = timescales
        .track_ticks(entry.duration)
        .saturating_add(timescales.movie_tick().max(samples.mean_sample_duration()));
    let end = begin.saturating_add(timescales.track_ticks(entry.duration));
    let is_trim = begin.saturating_add(length) < samples.end_pts && length < samples.decode_duration();
    entry.duration > 0 && is_trim && samples.needs_later_frames(end)
}

/// Merges consecutive pieces that follow one another, within a tick of the movie and `slack` ticks of the
/// track.
fn merge_consecutive(
    list: &EditList,
    timescales: Timescales,
    slack: i64,
) -> Result<Vec<EditEntry>, ReadError> {
    let slack = slack.max(timescales.movie_tick());
    let mut entries: Vec<EditEntry> = Vec::new();
    for &entry in &list.entries {
        if let Some(merged) = entries.last_mut() {
            let merged_end = merged.movie_time.saturating_add(merged.duration);
            if timescales.track_ticks(entry.movie_time.saturating_sub(merged_end)) > slack {
                return Err(ReadError::unsupported(
                    "a track pauses between two edits; only edits without a pause are supported",
                ));
            }
            // Measured from the first of the merged pieces, so that rounding errors do not add up.
            let expected = merged
                .media_time
                .saturating_add(timescales.track_ticks(entry.movie_time - merged.movie_time));
            if expected.abs_diff(entry.media_time) <= slack.unsigned_abs() {
                let goes_on = entry.duration > 0;
                merged.duration = if goes_on {
                    (entry.movie_time - merged.movie_time).saturating_add(entry.duration)
                } else {
                    0
                };
                continue;
            }
        }
        if entries.len() == EDIT_ENTRIES_MAX {
            return Err(ReadError::unsupported(format!(
                "a track is cut more than {EDIT_ENTRIES_MAX} times, which is not supported"
            )));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[derive(Debug, Clone, Copy)]
struct EditPosition {
    is_first: bool,
    is_last: bool,
}

/// When a piece is presented, and the shift from source times to those times.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditTimes {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) shift: i64,
}

impl EditTimes {
    pub(super) fn of(
        entry: &EditEntry,
        source: &TrackSamples,
        timescales: Timescales,
    ) -> Result<Self, ReadError> {
        let start = timescales.track_ticks(entry.movie_time);
        let end = match entry.duration {
            0 => start.saturating_add(source.end_pts.saturating_sub(entry.media_time).max(0)),
            duration => timescales.track_ticks(entry.movie_time.saturating_add(duration)),
        };
        // Half the range, so that later sums do not overflow.
        if end > i64::MAX / 2 || entry.media_time > i64::MAX / 2 {
            return Err(ReadError::damaged("its edit list leaves the range of times"));
        }
        Ok(EditTimes { start, end, shift: start - entry.media_time })
    }
}

/// Joins the samples that the pieces present.
struct EditJoiner<'a> {
    source: &'a TrackSamples,
    timescales: Timescales,
    joined: JoinedSamples,
}

impl<'a> EditJoiner<'a> {
    fn new(source: &'a TrackSamples, timescales: Timescales) -> Self {
        EditJoiner { source, timescales, joined: JoinedSamples::default() }
    }

    /// The samples of all pieces. `None` if a copy of them would show removed frames.
    fn join_all(mut self, entries: &[EditEntry], is_video: bool) -> Result<Option<TrackSamples>, ReadError> {
        for (n, entry) in entries.iter().enumerate() {
            let position = EditPosition { is_first: n == 0, is_last: n + 1 == entries.len() };
            if !is_video {
                self.push_audio(entry, position)?;
            } else if !self.push_video(entry, position)? {
                return Ok(None);
            }
        }
        self.joined.finish().map(Some)
    }

    /// Adds a piece of video, from its first presented keyframe to its last presented frame. Returns whether
    /// a copy shows no other frame.
    fn push_video(&mut self, entry: &EditEntry, position: EditPosition) -> Result<bool, ReadError> {
        let EditTimes { start, end, shift } = EditTimes::of(entry, self.source, self.timescales)?;
        let media_end = entry.media_time + (end - start);
        let key = self.source.gop_keyframe_before(
            entry.media_time.saturating_add(self.timescales.movie_tick()).saturating_add(1),
        );
        let stop = self.end_sample(media_end);
        let needs_other_frames = if position.is_first {
            self.source.needs_earlier_frames(key, entry.media_time)
        } else {
            self.has_frames_until(key, entry.media_time)
        };
        if needs_other_frames || self.drops_leading_frames(stop, media_end) {
            return Ok(false);
        }
        let last_key = self.source.table.sync_at_or_before(stop.saturating_sub(1)).unwrap_or(0).max(key);
        let mut tail: Vec<Sample> = Vec::new();
        for (number, mut sample) in (key..).zip(self.source.table.range(key..stop)) {
            sample.pts += shift;
            sample.dts += shift;
            if number == key && !position.is_first {
                sample.pts = start;
            }
            if number < last_key {
                self.joined.push(sample)?;
            } else {
                tail.push(sample);
            }
        }
        // After the last piece no frame replaces them: they would stay on the screen.
        let has_hidden = tail.iter().any(|sample| end <= sample.pts);
        if has_hidden && (position.is_last || !hide_after(&mut tail, end)) {
            return Ok(false);
        }
        tail.into_iter().try_for_each(|sample| self.joined.push(sample))?;
        Ok(true)
    }

    /// Adds a piece of audio: the packets that begin in it, each at its own time. Packets that overlap the
    /// previous one are left out.
    fn push_audio(&mut self, entry: &EditEntry, position: EditPosition) -> Result<(), ReadError> {
        let EditTimes { start, end, shift } = EditTimes::of(entry, self.source, self.timescales)?;
        let half = |packet: &Sample| i64::from(packet.duration / 2);
        // Packets before the end of the joined ones are inaudible, so a search skips them.
        let joined_end = self.joined.end().map_or(i64::MIN, |end| end.saturating_sub(shift));
        let from = self.source.table.first_at_or_after_pts(entry.media_time.max(joined_end));
        let priming = if position.is_first { PRIMING_PACKETS } else { 1 };
        let count = self.source.table.len();
        for mut packet in self.source.table.range(from.unwrap_or(count).saturating_sub(priming)..count) {
            packet.pts += shift;
            packet.dts += shift;
            let is_after_end =
                if position.is_last { packet.pts >= end } else { packet.pts + half(&packet) >= end };
            if is_after_end {
                break;
            }
            let is_overlapped = self.joined.end().is_some_and(|end| packet.pts + half(&packet) < end)
                || !position.is_first && packet.pts + half(&packet) < start;
            if is_overlapped {
                self.joined.count_one()?;
            } else {
                self.joined.push(packet)?;
            }
        }
        Ok(())
    }

    /// The number after the last sample that is presented before a media time.
    fn end_sample(&self, media_end: i64) -> u32 {
        let Some(number) = self.source.table.first_at_or_after_pts(media_end) else {
            return self.source.table.len();
        };
        if self.source.table.get(number).is_some_and(|sample| sample.is_sync) {
            return number;
        }
        let in_group = (number + 1..).zip(self.source.table.range(number + 1..self.source.table.len()));
        in_group
            .take_while(|(_, sample)| !sample.is_sync)
            .filter(|(_, sample)| sample.pts < media_end)
            .last()
            .map_or(number, |(last, _)| last + 1)
    }

    /// Whether a frame of a GOP, other than its keyframe, is presented at `media_time` or before.
    fn has_frames_until(&self, key: u32, media_time: i64) -> bool {
        let others = self.source.table.range(key.saturating_add(1)..self.source.table.len());
        others.take_while(|sample| !sample.is_sync).any(|sample| sample.pts <= media_time)
    }

    /// Whether leading frames of the keyframe after a piece are presented in that piece. Closed GOPs have
    /// none.
    fn drops_leading_frames(&self, stop: u32, media_end: i64) -> bool {
        let mut following = self.source.table.range(stop..self.source.table.len());
        following.next().is_some_and(|keyframe| keyframe.is_sync)
            && following.take_while(|sample| !sample.is_sync).any(|sample| sample.pts < media_end)
    }
}

/// Moves the frames that are needed but not presented to the last ticks before `end`. Returns whether no
/// presented frame has to move.
fn hide_after(group: &mut [Sample], end: i64) -> bool {
    let mut hidden: Vec<usize> = (0..group.len()).filter(|&n| group[n].pts >= end).collect();
    hidden.sort_by_key(|&n| group[n].pts);
    let first_tick = end - hidden.len() as i64;
    let shown_last = group.iter().map(|sample| sample.pts).filter(|&pts| pts < end).max();
    for (&n, tick) in hidden.iter().zip(first_tick..) {
        group[n].pts = tick;
    }
    hidden.is_empty() || shown_last.is_some_and(|shown| shown < first_tick)
}

pub(super) fn repeats_too_much() -> ReadError {
    ReadError::unsupported(format!(
        "the edits of a track repeat its samples; at most {TRACK_SAMPLES_MAX} are supported"
    ))
}

/// Consecutive samples with strictly rising decode times.
#[derive(Default)]
struct JoinedSamples {
    builder: SampleTableBuilder,
    /// Samples that were joined or skipped.
    count: u32,
    /// Added to the builder when the next sample defines its duration.
    pending: Option<Sample>,
    first_pts: Option<i64>,
    end_pts: i64,
    end_offset: u64,
}

impl JoinedSamples {
    /// The end of the last sample so far.
    fn end(&self) -> Option<i64> {
        self.pending.map(|pending| pending.pts + i64::from(pending.duration))
    }

    /// Counts a sample, which limits the work for many pieces of many samples.
    fn count_one(&mut self) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > TRACK_SAMPLES_MAX {
            return Err(repeats_too_much());
        }
        Ok(())
    }

    fn push(&mut self, mut sample: Sample) -> Result<(), ReadError> {
        self.count_one()?;
        // The decode delay makes the last sample of a piece and the first of the next overlap.
        if let Some(mut pending) = self.pending {
            sample.dts = sample.dts.max(pending.dts + 1);
            pending.duration = u32::try_from(sample.dts - pending.dts)
                .map_err(|_| ReadError::damaged("one sample lasts more than 2^32 ticks"))?;
            self.builder.push(pending);
        }
        self.first_pts = Some(self.first_pts.map_or(sample.pts, |first| first.min(sample.pts)));
        self.end_pts = self.end_pts.max(sample.pts + i64::from(sample.duration));
        self.end_offset = self.end_offset.max(sample.offset + u64::from(sample.size));
        self.pending = Some(sample);
        Ok(())
    }

    fn finish(mut self) -> Result<TrackSamples, ReadError> {
        let Some(last) = self.pending else {
            return Err(ReadError::damaged("its edit list presents no sample"));
        };
        self.builder.push(last);
        Ok(TrackSamples {
            table: self.builder.finish(),
            first_pts: self.first_pts.unwrap_or(0),
            end_pts: self.end_pts,
            end_offset: self.end_offset,
            meter: None,
        })
    }
}

#[cfg(test)]
mod tests;
