//! Builds the playable tracks from the chosen tracks of a file and their frames.

use kinora_index::TrackMedia;
use kinora_isobmff::{
    ReadError,
    read::{EditEntry, EditList, Movie, Playable, Timescales, TrackBuilder, TrackBuilderHead},
};

use crate::{
    collect::{FrameTable, TrackFrames},
    packet_duration::{FrameCodec, PacketDuration},
    rounding::{SECOND_NS, div_rounded, samples_ns},
    selected_tracks::{MOVIE_TIMESCALE, NO_TRACK, SelectedTrack, Unreadable},
    times::{FrameClock, PacketClock, Units},
    walk::WalkResult,
};

impl SelectedTrack {
    /// The track with its frames on the corrected clock.
    fn into_track_builder(self, rows: &FrameTable, units: Units) -> Result<TrackBuilder, ReadError> {
        let head = TrackBuilderHead { id: self.source_track, language: self.language, label: self.label };
        let timescales = |track| Timescales { movie: MOVIE_TIMESCALE, track };
        match self.media {
            TrackMedia::Video(_) => {
                let clock = FrameClock::of(rows, units, self.default_duration_ns);
                let mut track =
                    TrackBuilder::new(self.media, head, EditList::default(), timescales(clock.timescale));
                clock.for_each_sample(rows, units, |row| track.push(row))?;
                Ok(track)
            }
            TrackMedia::Audio(ref audio) => {
                let clock = PacketClock {
                    rate: audio.sample_rate,
                    has_lengths: !matches!(self.row_codec, FrameCodec::Audio(PacketDuration::Unknown)),
                    default_duration_ns: self.default_duration_ns,
                };
                let clock = clock.checked(rows, units);
                let edits =
                    priming_edit(clock.first_start(rows, units), clock.rate, self.delay_ns, self.skipped_ns);
                let mut track = TrackBuilder::new(self.media, head, edits, timescales(clock.rate));
                clock.for_each_sample(rows, units, |row| track.push(row))?;
                Ok(track)
            }
        }
    }
}

/// Hides the first output of a decoder: a list of one edit, which begins with the first packet's time less
/// the delay, plus the skipped part.
///
/// Written times are those of the decoder's output, ahead by the delay. RFC 9559, 5.1.4.1.25.
fn priming_edit(first: i64, rate: u32, delay_ns: u64, skipped_ns: u64) -> EditList {
    if skipped_ns == 0 {
        return EditList::default();
    }
    let skipped = div_rounded(i128::from(skipped_ns) * i128::from(rate), SECOND_NS) as i64;
    let begins_ns = samples_ns(first, rate) - i128::from(delay_ns) + i128::from(skipped_ns);
    let empty = div_rounded(begins_ns * i128::from(MOVIE_TIMESCALE), SECOND_NS);
    let entry = EditEntry { movie_time: 0, media_time: first.saturating_add(skipped), duration: 0 };
    EditList { empty_duration: u64::try_from(empty).unwrap_or(0), entries: vec![entry] }
}

/// The playable tracks of a file of `len` bytes.
///
/// Errors: `NeedsRemux` if elements are invalid; `Truncated` if the file ends before any playable part.
pub(crate) fn playable(walked: WalkResult, len: u64) -> Result<Playable, Unreadable> {
    let WalkResult { chosen, collector, scale_ns, is_cut_off, has_invalid_elements: is_lost } = walked;
    if is_lost {
        return Err(Unreadable::NeedsRemux);
    }
    let Some(chosen) = chosen else {
        return Err(match is_cut_off {
            true => ReadError::Truncated("its list of tracks is missing".into()),
            false => ReadError::NotMedia("the file has no list of tracks".into()),
        }
        .into());
    };
    let rows = collector.into_tracks().into_iter().map(|rows: TrackFrames| rows.finish(scale_ns));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let has_audio = !chosen.audio.is_empty();
    let is_played = |(track, rows): &(SelectedTrack, FrameTable)| {
        // A single frame in a file with audio is its cover.
        rows.len() > 0 && !(track.is_still_codec && has_audio && rows.len() == 1)
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
    let finished = tracks.into_iter().map(|(track, rows)| track.into_track_builder(&rows, units)?.finish());
    let movie = Movie::of(finished.collect::<Result<_, _>>()?, MOVIE_TIMESCALE)?;
    Ok(movie.with_left_out(left_out).with_cut_off(is_cut_off).into_playable(len)?)
}
