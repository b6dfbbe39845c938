//! Edit lists of several pieces: the samples of each, one behind the other, as if the file held them so.
//! D-0032.
//!
//! Pieces that follow one another in the media are one. What is left are cuts: a part taken out, moved or
//! repeated. Where video is cut at keyframes only, a copy shows exactly what the edits say; elsewhere
//! [`between`](super::between) takes over. Sound is cut on its packets, each at its true time.

use kinora_index::{JOINTS_MAX, Joint, NotCopied, NotCopiedReason, Sample, SampleTableBuilder};

use super::{
    super::error::ReadError,
    between::Stretches,
    edits::{Edit, EditList, Piece},
    samples::TrackSamples,
    tables::TRACK_SAMPLES_MAX,
    timeline::TIMESCALE_MAX,
};

/// Pieces of one track that do not follow one another. Each costs a search in its samples.
const PIECES_MAX: usize = JOINTS_MAX;
/// Packets in front of the first that sounds, for the decoder to settle in.
const LEAD_PACKETS: u32 = 3;

/// Ticks a second of the movie and of one track; neither is 0.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Of the movie.
    pub movie: u32,
    /// Of the track.
    pub own: u32,
}

impl Clocks {
    /// Whether times can be reckoned in both.
    pub fn is_sound(self) -> bool {
        [self.movie, self.own].iter().all(|timescale| (1..=TIMESCALE_MAX).contains(timescale))
    }

    /// Ticks of the movie in ticks of the track, to the nearest. Saturates.
    pub(super) fn own(&self, movie: u64) -> i64 {
        let unit = i128::from(self.movie);
        let ticks = (2 * i128::from(movie) * i128::from(self.own) + unit) / (2 * unit);
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }

    /// What a tick of the movie takes, rounded up: writers cannot say times more exactly.
    pub(super) fn tick(&self) -> i64 {
        i64::from(self.own.div_ceil(self.movie))
    }
}

/// What an edit list presents.
#[derive(Debug)]
pub(super) struct Presented {
    pub(super) samples: TrackSamples,
    /// Where they lie.
    pub(super) edit: Edit,
    /// Where they jump between keyframes.
    pub(super) joints: Vec<Joint>,
    /// Why a copy would show what was cut out.
    pub(super) not_copied: Option<NotCopied>,
}

/// The samples that the edit list presents, and where they lie.
///
/// One piece leaves the samples as they are, unless it begins inside a group of pictures or ends between
/// B-frames. Errors: `Unsupported` for pauses between pieces, and for too many cuts.
pub(super) fn presented(
    samples: TrackSamples,
    list: &EditList,
    clocks: Clocks,
    is_video: bool,
) -> Result<Presented, ReadError> {
    let pieces = joined(list, clocks, if is_video { samples.ticks_of_one() / 2 } else { 0 })?;
    let copied = |samples, edit| Presented { samples, edit, joints: Vec::new(), not_copied: None };
    let Some(last) = pieces.last() else {
        return Ok(copied(samples, Edit { empty: list.empty, ..Edit::default() }));
    };
    let is_cut = pieces.len() > 1;
    if samples.table.is_empty() && is_cut {
        return Ok(copied(samples, Edit::default()));
    }
    let duration = (last.duration > 0).then(|| last.at.saturating_add(last.duration));
    let edit = Edit { empty: list.empty, media_time: 0, duration };
    let is_copied = !is_cut && (!is_video || !hides_pictures(&samples, last, clocks));
    if is_copied {
        return Ok(copied(samples, Edit { media_time: last.media_time, ..edit }));
    }
    if is_cut && let Some(samples) = Joiner::new(&samples, clocks).all(&pieces, is_video)? {
        return Ok(copied(samples, edit));
    }
    let mut stretches = Stretches::new(&samples, clocks);
    pieces.iter().try_for_each(|piece| stretches.push(piece))?;
    let (presented, joints) = stretches.finish()?;
    // Pictures that are on display when a piece begins are shown for less than their time, and make no higher
    // rate.
    let samples = TrackSamples { meter: samples.meter, ..presented };
    let not_copied = NotCopied::new(NotCopiedReason::Edits, "edits between keyframes");
    Ok(Presented { samples, edit, joints, not_copied: Some(not_copied) })
}

/// Whether a video of one piece needs pictures that the piece does not show.
fn hides_pictures(samples: &TrackSamples, piece: &Piece, clocks: Clocks) -> bool {
    let begin = piece.media_time;
    if samples.hides_pictures(samples.key_before(begin.saturating_add(1)), begin) {
        return true;
    }
    // What the timeline takes for the rounding of a writer is no trim. Nor is the length of all samples one,
    // where a writer forgot that they are shown later than they are decoded.
    let length = clocks.own(piece.duration).saturating_add(clocks.tick().max(samples.ticks_of_one()));
    let end = begin.saturating_add(clocks.own(piece.duration));
    let is_trim = begin.saturating_add(length) < samples.natural_end && length < samples.decode_ticks();
    piece.duration > 0 && is_trim && samples.hides_behind(end)
}

/// The pieces with those made one that follow one another, within a tick of the movie and `slack` ticks of
/// the track.
fn joined(list: &EditList, clocks: Clocks, slack: i64) -> Result<Vec<Piece>, ReadError> {
    let slack = slack.max(clocks.tick());
    let mut pieces: Vec<Piece> = Vec::new();
    for &piece in &list.pieces {
        if let Some(run) = pieces.last_mut() {
            let run_end = run.at.saturating_add(run.duration);
            if clocks.own(piece.at.saturating_sub(run_end)) > slack {
                return Err(ReadError::unsupported(
                    "a track pauses between two edits; only edits without a pause are supported",
                ));
            }
            // Measured from the first of the run, so that roundings do not add up.
            let expected = run.media_time.saturating_add(clocks.own(piece.at - run.at));
            if expected.abs_diff(piece.media_time) <= slack.unsigned_abs() {
                let goes_on = piece.duration > 0;
                run.duration = if goes_on { (piece.at - run.at).saturating_add(piece.duration) } else { 0 };
                continue;
            }
        }
        if pieces.len() == PIECES_MAX {
            return Err(ReadError::unsupported(format!(
                "a track is cut more than {PIECES_MAX} times, which is not supported"
            )));
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

#[derive(Debug, Clone, Copy)]
struct Place {
    is_first: bool,
    is_last: bool,
}

/// When a piece is presented, and what is added to the times of the source for that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) shift: i64,
}

impl Times {
    pub(super) fn of(piece: &Piece, source: &TrackSamples, clocks: Clocks) -> Result<Self, ReadError> {
        let start = clocks.own(piece.at);
        let end = match piece.duration {
            0 => start.saturating_add(source.natural_end.saturating_sub(piece.media_time).max(0)),
            duration => clocks.own(piece.at.saturating_add(duration)),
        };
        // Half the range: the sums of whoever uses them stay in it.
        if end > i64::MAX / 2 || piece.media_time > i64::MAX / 2 {
            return Err(ReadError::damaged("its edit list leaves the range of times"));
        }
        Ok(Times { start, end, shift: start - piece.media_time })
    }
}

/// Takes pieces out of the samples of the source.
struct Joiner<'a> {
    source: &'a TrackSamples,
    clocks: Clocks,
    joined: Joined,
}

impl<'a> Joiner<'a> {
    fn new(source: &'a TrackSamples, clocks: Clocks) -> Self {
        Joiner { source, clocks, joined: Joined::default() }
    }

    /// The samples of all pieces. `None` where a copy of them would show what was cut out.
    fn all(mut self, pieces: &[Piece], is_video: bool) -> Result<Option<TrackSamples>, ReadError> {
        for (n, piece) in pieces.iter().enumerate() {
            let place = Place { is_first: n == 0, is_last: n + 1 == pieces.len() };
            if !is_video {
                self.audio(piece, place)?;
            } else if !self.video(piece, place)? {
                return Ok(None);
            }
        }
        self.joined.finish().map(Some)
    }

    /// A piece of video: from the keyframe that is shown first to the last picture that is shown. Whether no
    /// other one is seen.
    fn video(&mut self, piece: &Piece, place: Place) -> Result<bool, ReadError> {
        let Times { start, end, shift } = Times::of(piece, self.source, self.clocks)?;
        let media_end = piece.media_time + (end - start);
        let key =
            self.source.key_before(piece.media_time.saturating_add(self.clocks.tick()).saturating_add(1));
        let stop = self.stop_at(media_end);
        let hides = if place.is_first {
            self.source.hides_pictures(key, piece.media_time)
        } else {
            self.leads_in(key, piece.media_time)
        };
        if hides || self.leaves_out_leading(stop, media_end) {
            return Ok(false);
        }
        let last_key = self.source.table.sync_at_or_before(stop.saturating_sub(1)).unwrap_or(0).max(key);
        let mut tail: Vec<Sample> = Vec::new();
        for (number, mut sample) in (key..).zip(self.source.table.range(key..stop)) {
            sample.pts += shift;
            sample.dts += shift;
            if number == key && !place.is_first {
                sample.pts = start;
            }
            if number < last_key {
                self.joined.push(sample)?;
            } else {
                tail.push(sample);
            }
        }
        // Behind the last piece nothing covers them: they would stay on the screen.
        let hides_any = tail.iter().any(|sample| end <= sample.pts);
        if hides_any && (place.is_last || !hide_behind(&mut tail, end)) {
            return Ok(false);
        }
        tail.into_iter().try_for_each(|sample| self.joined.push(sample))?;
        Ok(true)
    }

    /// A piece of sound: the packets that begin in it, each where it sounds, none under the one before.
    fn audio(&mut self, piece: &Piece, place: Place) -> Result<(), ReadError> {
        let Times { start, end, shift } = Times::of(piece, self.source, self.clocks)?;
        let half = |packet: &Sample| i64::from(packet.duration / 2);
        // Under what is there already nothing sounds, so the way over it is a search.
        let free = self.joined.end().map_or(i64::MIN, |end| end.saturating_sub(shift));
        let from = self.source.table.first_at_or_after_pts(piece.media_time.max(free));
        let lead = if place.is_first { LEAD_PACKETS } else { 1 };
        let count = self.source.table.len();
        for mut packet in self.source.table.range(from.unwrap_or(count).saturating_sub(lead)..count) {
            packet.pts += shift;
            packet.dts += shift;
            let ends = if place.is_last { packet.pts >= end } else { packet.pts + half(&packet) >= end };
            if ends {
                break;
            }
            let is_under = self.joined.end().is_some_and(|end| packet.pts + half(&packet) < end)
                || !place.is_first && packet.pts + half(&packet) < start;
            if is_under {
                self.joined.count_one()?;
            } else {
                self.joined.push(packet)?;
            }
        }
        Ok(())
    }

    /// The number behind the last sample that is shown before a time of the media.
    fn stop_at(&self, media_end: i64) -> u32 {
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

    /// Whether other pictures than the keyframe of a group are shown at a time of the media, or before.
    fn leads_in(&self, key: u32, media_time: i64) -> bool {
        let others = self.source.table.range(key.saturating_add(1)..self.source.table.len());
        others.take_while(|sample| !sample.is_sync).any(|sample| sample.pts <= media_time)
    }

    /// Whether pictures that lead the keyframe behind a piece are shown in it. Where groups are closed there
    /// are none.
    fn leaves_out_leading(&self, stop: u32, media_end: i64) -> bool {
        let mut behind = self.source.table.range(stop..self.source.table.len());
        behind.next().is_some_and(|keyframe| keyframe.is_sync)
            && behind.take_while(|sample| !sample.is_sync).any(|sample| sample.pts < media_end)
    }
}

/// Gives the pictures that are needed, but not shown, the last ticks before `end`. Whether no shown one has
/// to move for that.
fn hide_behind(group: &mut [Sample], end: i64) -> bool {
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

/// Samples one behind the other, with strictly rising decode times.
#[derive(Default)]
struct Joined {
    builder: SampleTableBuilder,
    /// Samples that were taken or passed over.
    count: u32,
    /// Not in the builder before the next one says how long it lasts.
    held: Option<Sample>,
    first_pts: Option<i64>,
    natural_end: i64,
    end_offset: u64,
}

impl Joined {
    /// When the last sample so far is over.
    fn end(&self) -> Option<i64> {
        self.held.map(|held| held.pts + i64::from(held.duration))
    }

    /// Counts a sample, which bounds the work that many pieces of many samples are.
    fn count_one(&mut self) -> Result<(), ReadError> {
        self.count += 1;
        if self.count > TRACK_SAMPLES_MAX {
            return Err(repeats_too_much());
        }
        Ok(())
    }

    fn push(&mut self, mut sample: Sample) -> Result<(), ReadError> {
        self.count_one()?;
        // The delay of decoding makes the last of a piece and the first of the next lie over one another.
        if let Some(mut held) = self.held {
            sample.dts = sample.dts.max(held.dts + 1);
            held.duration = u32::try_from(sample.dts - held.dts)
                .map_err(|_| ReadError::damaged("one sample lasts more than 2^32 ticks"))?;
            self.builder.push(held);
        }
        self.first_pts = Some(self.first_pts.map_or(sample.pts, |first| first.min(sample.pts)));
        self.natural_end = self.natural_end.max(sample.pts + i64::from(sample.duration));
        self.end_offset = self.end_offset.max(sample.offset + u64::from(sample.size));
        self.held = Some(sample);
        Ok(())
    }

    fn finish(mut self) -> Result<TrackSamples, ReadError> {
        let Some(last) = self.held else {
            return Err(ReadError::damaged("its edit list presents no sample"));
        };
        self.builder.push(last);
        Ok(TrackSamples {
            table: self.builder.finish(),
            first_pts: self.first_pts.unwrap_or(0),
            natural_end: self.natural_end,
            end_offset: self.end_offset,
            meter: None,
        })
    }
}

#[cfg(test)]
mod tests;
