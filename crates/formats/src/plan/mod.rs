//! Where segments begin and end.
//!
//! The plan is made once, from the sample tables alone, and stored with the index: playlists, segments and addresses all
//! follow it, so they outlive a change of this code. It knows no bytes and no playlist.
//!
//! Begin with [`plan`]. Video is cut at sync samples (`video.rs`), audio on its packet grid at the video's cuts (`audio.rs`).

mod audio;
#[cfg(test)]
mod tests;
mod video;

use std::ops::Range;

pub(crate) use audio::packets;

use crate::index::{Sample, Track, TrackMedia};

/// The cuts of one source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentPlan {
    /// Segments of the copied video track; empty where it is not copied.
    pub video: Vec<Segment>,
    /// Segments of each copied audio track, in the order of the tracks; empty for those that are not copied.
    pub audio: Vec<Vec<Segment>>,
    /// Segments of every encoded rendition of the video track, in its ticks; empty without one.
    ///
    /// The same as `video` where that can be, so that players change between renditions at equal instants. Else a segment begins at any
    /// picture, and its samples are those that a decoder must be given to make its pictures: those of neighbours overlap.
    pub encoded_video: Vec<Segment>,
    /// For each audio track, in the order of the tracks, where its encoded rendition is cut: frames of [`ENCODED_AUDIO_FRAME`] samples at
    /// [`ENCODED_AUDIO_RATE`] on the common timeline. Rises from 0 to the end of the track; one more than there are segments.
    pub encoded_audio: Vec<Vec<u64>>,
}

/// Samples in a frame of encoded audio: AAC-LC. ISO/IEC 14496-3, 4.5.1.1.
pub const ENCODED_AUDIO_FRAME: u32 = 1024;
/// Samples a second of encoded audio.
pub const ENCODED_AUDIO_RATE: u32 = 48_000;

/// One segment of one track.
///
/// The segments of a track follow one another without gap or overlap, in samples and in time. The first one starts at 0
/// whatever its samples say, so that the playlists of one source line up: what lies before 0 is decoded and hidden. A video
/// that begins late shows its first picture from 0 on; audio that begins late is silent until then, and segments that have
/// no samples are silent throughout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its samples, in decode order; none in a silent one.
    pub samples: Range<u32>,
    /// First presented instant on the common timeline, in the track's ticks.
    pub start: i64,
    /// End on the common timeline: the start of the next segment, or the end of the track.
    pub end: i64,
}

impl Segment {
    /// Length in the track's ticks; never negative.
    pub fn duration(&self) -> u64 {
        u64::try_from(self.end.saturating_sub(self.start)).unwrap_or(0)
    }
}

/// Why a source cannot be cut, so that it has no copy rendition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The track presents nothing: no samples, or none between 0 and its end.
    #[error("{track} track presents no sample")]
    Empty {
        /// `video` or `audio`.
        track: &'static str,
    },
    /// No sample of the video track lets a decoder begin.
    #[error("video track has no sync sample to begin at")]
    NoSyncSample,
    /// Two keyframes lie too far apart to be one segment.
    #[error("keyframes are {seconds} s apart at {at_seconds} s, at most 20 s can be one segment")]
    GopTooLong {
        /// Where the long segment would begin, in whole seconds.
        at_seconds: i64,
        /// Its length, rounded up to whole seconds.
        seconds: i64,
    },
    /// One segment would hold more samples than [`SEGMENT_SAMPLES_MAX`].
    #[error("{track} segment {number} has {samples} samples")]
    TooManySamples {
        /// `video` or `audio`.
        track: &'static str,
        /// Which segment.
        number: usize,
        /// How many samples it would hold.
        samples: u32,
    },
    /// A video segment has more pictures than ticks, so that some would be shown at no time.
    #[error("video segment {number} has {samples} pictures in {ticks} ticks")]
    TooShort {
        /// Which segment.
        number: usize,
        /// How many pictures it holds.
        samples: u32,
        /// How many ticks we would write for it.
        ticks: u64,
    },
    /// The sound pauses for more ticks than a packet can be said to last.
    #[error("the sound pauses for {ticks} ticks, at most {} can be said", u32::MAX)]
    PauseTooLong {
        /// How long.
        ticks: i64,
    },
    /// A timescale of zero gives no time at all.
    #[error("{track} track has timescale 0")]
    NoTimescale {
        /// `video` or `audio`.
        track: &'static str,
    },
}

/// What a segment should last. Pipeline: 4 s halves the cold wait against 6 s.
pub const SEGMENT_TARGET_S: i64 = 4;
/// What each of the first two should last, for a fast start.
pub const SEGMENT_FIRST_TARGET_S: i64 = 2;
/// Below this a segment is not worth a request: a shorter tail joins the segment before it.
pub const SEGMENT_MIN_S: i64 = 1;
/// No segment is longer where a keyframe allows to cut it.
pub const SEGMENT_MAX_S: i64 = 8;
/// A longer GOP has no copy rendition.
pub const GOP_MAX_S: i64 = 20;
/// 20 s of 600 pictures a second are 12,000; more is damage or an attack on our memory.
pub const SEGMENT_SAMPLES_MAX: u32 = 1 << 16;

/// Cuts the chosen tracks into segments.
///
/// At most one video track is looked at, the first. The ranges of a track cover all samples that are needed to present
/// `0..track.end`, in decode order. Each video segment begins at a sync sample: nothing before it is shown after it, and nothing after
/// it before it, but for pictures that lead it where the codec has such: those belong to its segment. Every audio track is cut beside
/// the video, or on a grid of its own without one.
///
/// Same tracks, same plan.
pub fn plan(tracks: &[Track]) -> Result<SegmentPlan, PlanError> {
    let video = video_segments(tracks)?;
    let audio = tracks.iter().filter_map(|track| audio_segments(tracks, &video, track));
    let audio = audio.collect::<Result<Vec<_>, _>>()?;
    Ok(whole(video, audio))
}

/// As [`plan`], less the audio tracks that cannot be cut while another can: they are taken out of `tracks`.
///
/// Errors: those of the video, and that of the first audio track where none can be cut.
pub fn plan_playable(tracks: &mut Vec<Track>) -> Result<SegmentPlan, PlanError> {
    let video = video_segments(tracks)?;
    let cut: Vec<_> = tracks.iter().map(|track| audio_segments(tracks, &video, track)).collect();
    if !cut.iter().flatten().any(Result::is_ok)
        && let Some(error) = cut.iter().flatten().find_map(|result| result.as_ref().err())
    {
        return Err(error.clone());
    }
    let mut is_kept = cut.iter().map(|result| !matches!(result, Some(Err(_))));
    tracks.retain(|_| is_kept.next().unwrap_or(false));
    Ok(whole(video, cut.into_iter().flatten().flatten().collect()))
}

fn whole(video: Vec<Segment>, audio: Vec<Vec<Segment>>) -> SegmentPlan {
    let encoded_audio = vec![Vec::new(); audio.len()];
    SegmentPlan { encoded_video: video.clone(), video, audio, encoded_audio }
}

fn video_of(tracks: &[Track]) -> Option<&Track> {
    tracks.iter().find(|track| matches!(track.media, TrackMedia::Video(_)))
}

fn video_segments(tracks: &[Track]) -> Result<Vec<Segment>, PlanError> {
    video_of(tracks).map_or(Ok(Vec::new()), |track| checked("video", track, video::segments))
}

/// Cuts one of `tracks`, if it is audio.
fn audio_segments(
    tracks: &[Track],
    video: &[Segment],
    track: &Track,
) -> Option<Result<Vec<Segment>, PlanError>> {
    let TrackMedia::Audio(sound) = &track.media else { return None };
    let beside = video_of(tracks).map(|track| (track.timescale, video));
    let segments = |track: &_| audio::segments(track, sound, audio::Cuts::beside(beside, track));
    Some(checked("audio", track, segments))
}

/// Refuses a track without a clock before it is cut, and segments too heavy to be built after.
fn checked(
    name: &'static str,
    track: &Track,
    segments: impl FnOnce(&Track) -> Result<Vec<Segment>, PlanError>,
) -> Result<Vec<Segment>, PlanError> {
    if track.timescale == 0 {
        return Err(PlanError::NoTimescale { track: name });
    }
    let segments = segments(track)?;
    for (number, segment) in segments.iter().enumerate() {
        let samples = segment.samples.end - segment.samples.start;
        if SEGMENT_SAMPLES_MAX < samples {
            return Err(PlanError::TooManySamples { track: name, number, samples });
        }
    }
    Ok(segments)
}

/// When a sample is presented on the common timeline, in the track's ticks.
///
/// Saturates: a time that far off is damage, and it ends as a cut that is never reached.
pub fn presented_at(track: &Track, sample: &Sample) -> i64 {
    sample.pts.saturating_add(track.shift)
}
