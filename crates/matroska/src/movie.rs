//! From the chosen tracks of a file to what can be played: what becomes of their frames.

use kinora_index::TrackMedia;
use kinora_isobmff::{
    ReadError,
    read::{Clocks, EditList, Movie, OpenHead, OpenTrack, Piece, Playable},
};

use crate::{
    chosen::{ChosenTrack, MOVIE_TIMESCALE, NO_TRACK, Unreadable},
    collect::{RowTable, Rows},
    packets::{Packets, RowCodec},
    rounding::{SECOND_NS, nearest, samples_ns},
    times::{PacketClock, PictureClock, Units},
    walk::Walked,
};

impl ChosenTrack {
    /// The track with its frames on the clock that was meant.
    fn open(self, rows: &RowTable, units: Units) -> Result<OpenTrack, ReadError> {
        let head = OpenHead { id: self.source_track, language: self.language, label: self.label };
        let clocks = |own| Clocks { movie: MOVIE_TIMESCALE, own };
        match self.media {
            TrackMedia::Video(_) => {
                let clock = PictureClock::of(rows, units, self.default_duration_ns);
                let mut track =
                    OpenTrack::new(self.media, head, EditList::default(), clocks(clock.timescale));
                clock.each(rows, units, |row| track.push(row))?;
                Ok(track)
            }
            TrackMedia::Audio(ref audio) => {
                let clock = PacketClock {
                    rate: audio.sample_rate,
                    has_lengths: !matches!(self.row_codec, RowCodec::Audio(Packets::Unknown)),
                    default_duration_ns: self.default_duration_ns,
                };
                let clock = clock.checked(rows, units);
                let edits = priming(clock.first(rows, units), clock.rate, self.delay_ns, self.skipped_ns);
                let mut track = OpenTrack::new(self.media, head, edits, clocks(clock.rate));
                clock.each(rows, units, |row| track.push(row))?;
                Ok(track)
            }
        }
    }
}

/// Hides what comes out of a decoder first: a list of one edit, which begins with the first packet's time
/// less the delay, plus what is skipped.
///
/// Written times are those of the decoder's output, ahead by the delay. RFC 9559, 5.1.4.1.25.
fn priming(first: i64, rate: u32, delay_ns: u64, skipped_ns: u64) -> EditList {
    if skipped_ns == 0 {
        return EditList::default();
    }
    let skipped = nearest(i128::from(skipped_ns) * i128::from(rate), SECOND_NS) as i64;
    let begins_ns = samples_ns(first, rate) - i128::from(delay_ns) + i128::from(skipped_ns);
    let empty = nearest(begins_ns * i128::from(MOVIE_TIMESCALE), SECOND_NS);
    let piece = Piece { at: 0, media_time: first.saturating_add(skipped), duration: 0 };
    EditList { empty: u64::try_from(empty).unwrap_or(0), pieces: vec![piece] }
}

/// What can be played of a file of `len` bytes.
///
/// Errors: `Foreign` where elements make no sense; `Truncated` when the file ends before anything can be
/// played.
pub(crate) fn playable(walked: Walked, len: u64) -> Result<Playable, Unreadable> {
    let Walked { chosen, collector, scale_ns, is_cut_off, is_lost } = walked;
    if is_lost {
        return Err(Unreadable::Foreign);
    }
    let Some(chosen) = chosen else {
        return Err(match is_cut_off {
            true => ReadError::Truncated("its list of tracks is missing".into()),
            false => ReadError::NotMedia("the file has no list of tracks".into()),
        }
        .into());
    };
    let rows = collector.into_tracks().into_iter().map(|rows: Rows| rows.finish(scale_ns));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let has_sound = !chosen.audio.is_empty();
    let is_played = |(track, rows): &(ChosenTrack, RowTable)| {
        // One picture beside sound is its cover.
        rows.len() > 0 && !(track.is_picture && has_sound && rows.len() == 1)
    };
    let tracks: Vec<_> = chosen.video.into_iter().chain(chosen.audio).zip(rows).filter(is_played).collect();
    let Some(base) = tracks.iter().map(|(_, rows)| rows.times.0).min() else {
        return Err(match is_cut_off {
            true => ReadError::Truncated("less than a second of it can be played".into()),
            false => ReadError::NotMedia(NO_TRACK.into()),
        }
        .into());
    };
    let (units, left_out) = (Units { scale_ns, base }, chosen.left_out);
    let finished = tracks.into_iter().map(|(track, rows)| track.open(&rows, units)?.finish());
    let movie = Movie::of(finished.collect::<Result<_, _>>()?, MOVIE_TIMESCALE)?;
    Ok(movie.without(left_out).cut_off(is_cut_off).within(len)?)
}
