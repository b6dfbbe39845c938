//! Where segments begin and end.
//!
//! The plan is made once, from the sample tables alone, and stored with the index: playlists, segments and
//! addresses all follow it, so they outlive a change of this code. It knows no bytes and no playlist.
//!
//! Begin with [`plan`]. Copied video is cut at sync samples (`video.rs`), copied audio on its packet grid at
//! the video's cuts (`audio.rs`); encoded renditions are cut anywhere near the targets (`encoded.rs`,
//! `encoded_audio.rs`); sound from a file of its own is cut along another source (`along.rs`).

mod along;
mod audio;
mod encoded;
mod encoded_audio;
mod silence;
#[cfg(test)]
mod tests;
mod video;

pub use along::AlongError;
pub use audio::packets;
pub(crate) use encoded::segments as encoded_segments;
pub use encoded::{FEED_BYTES_MAX, FEED_SAMPLES_MAX};
use encoded_audio::Instant;
pub use silence::{packets_before, silent_packet, silent_stereo};
pub(crate) use video::factor;

use crate::index::{AudioTrack, NotCopied, NotCopiedReason, Sample, Segment, SegmentPlan, Track, TrackMedia};

/// Why a track cannot be cut: it has no copy rendition, or cannot be played at all.
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
    /// Keyframes lie so far apart that too much would have to be decoded for one segment of an encoded
    /// rendition.
    #[error(
        "the segment at {at_seconds} s needs {samples} frames ({bytes} bytes) from the keyframe before it on, at most {FEED_SAMPLES_MAX} \
         ({FEED_BYTES_MAX} bytes) can be decoded for one"
    )]
    FeedTooLong {
        /// Where the segment begins, in whole seconds.
        at_seconds: i64,
        /// How many samples a decoder would need.
        samples: u32,
        /// How many bytes those take.
        bytes: u64,
    },
    /// An audio track that would have to be encoded says that it lasts for days.
    #[error("the audio track lasts {seconds} s")]
    TooLong {
        /// How long.
        seconds: i64,
    },
    /// A timescale of zero gives no time at all.
    #[error("{track} track has timescale 0")]
    NoTimescale {
        /// `video` or `audio`.
        track: &'static str,
    },
}

/// What a segment should last. M-15: 4 s halves the cold wait against 6 s.
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

/// The most segments of a track of sound: three days of 4 s. One that says it lasts longer is damaged.
/// D-0036.
const AUDIO_SEGMENTS_MAX: usize = 1 << 16;
/// Entries that are all kept: 36 h of GOPs of 2 s. Bounds the memory of recordings in which every picture is
/// a sync sample.
const ENTRIES_EXACT_MAX: usize = 1 << 16;
/// Entries that are kept of each second beyond those: cuts are at least a second apart.
const ENTRIES_A_SECOND_MAX: i64 = 4;

/// Cuts the chosen tracks into segments.
///
/// At most one video track is looked at, the first. The ranges of a copied track cover all samples that are
/// needed to present `0..track.end`, in decode order. Each video segment begins at a sync sample: nothing
/// before it is shown after it, and nothing after it before it, but for pictures that lead it where the codec
/// has such: those belong to its segment. Every audio track is cut beside the encoded video, or on a grid of
/// its own without one and where its segments are very long.
///
/// A track that cannot be copied is marked in `tracks`, with the reason. Same tracks, same plan. Errors: for
/// tracks that cannot be encoded either, the first of them.
pub fn plan(tracks: &mut [Track]) -> Result<SegmentPlan, PlanError> {
    let mut plan = video_plan(tracks)?;
    for cut in audio_plans(tracks, &plan.encoded_video) {
        plan.push(cut?);
    }
    Ok(plan)
}

/// As [`plan`], less the audio tracks that cannot be cut while another track can: they are taken out of
/// `tracks`.
///
/// Errors: those of the video, and that of the first audio track where nothing can be cut.
pub fn plan_playable(tracks: &mut Vec<Track>) -> Result<SegmentPlan, PlanError> {
    let mut plan = video_plan(tracks)?;
    let cut = audio_plans(tracks, &plan.encoded_video);
    if let Some(Err(error)) = cut.first()
        && cut.iter().all(Result::is_err)
        && !tracks.iter().any(is_video)
    {
        return Err(error.clone());
    }
    let mut is_cut = cut.iter().map(Result::is_ok);
    tracks.retain(|track| is_video(track) || is_cut.next().unwrap_or(false));
    cut.into_iter().flatten().for_each(|cut| plan.push(cut));
    Ok(plan)
}

/// Where sound is cut beside these segments of the video, in its ticks: where they end, and on the way
/// through those that last longer than a GOP may. Those are rare pictures, and nobody waits for half an hour
/// of sound that is cut along them. D-0054.
fn cuts_beside(timescale: u32, segments: &[Segment]) -> Vec<i64> {
    let second = i64::from(timescale);
    let mut cuts = Vec::with_capacity(segments.len());
    for segment in segments {
        let len = segment.end.saturating_sub(segment.start);
        if 0 < second && GOP_MAX_S * second < len {
            let firsts = if segment.start == 0 {
                vec![SEGMENT_FIRST_TARGET_S, 2 * SEGMENT_FIRST_TARGET_S]
            } else {
                vec![]
            };
            let grid = (1..).map(|n| n * SEGMENT_TARGET_S);
            let within = firsts.iter().copied().chain(grid.skip_while(|at| firsts.contains(at)));
            let room = AUDIO_SEGMENTS_MAX.saturating_sub(cuts.len());
            let within = within
                .map(|at| at.saturating_mul(second))
                .take_while(|at| *at <= len - SEGMENT_MIN_S * second);
            cuts.extend(within.take(room).map(|at| segment.start + at));
        }
        cuts.push(segment.end);
    }
    cuts
}

/// The cuts of one audio track: of its copy, and of its encoded rendition.
struct AudioPlan {
    copy: Vec<Segment>,
    encoded: Vec<u64>,
}

impl SegmentPlan {
    fn push(&mut self, audio: AudioPlan) {
        self.audio.push(audio.copy);
        self.encoded_audio.push(audio.encoded);
    }
}

fn is_video(track: &Track) -> bool {
    matches!(track.media, TrackMedia::Video(_))
}

fn video_of(tracks: &[Track]) -> Option<&Track> {
    tracks.iter().find(|track| is_video(track))
}

fn end(track: &Track) -> Instant {
    Instant { ticks: track.end, timescale: track.timescale }
}

/// The plan with the cuts of the video alone.
fn video_plan(tracks: &mut [Track]) -> Result<SegmentPlan, PlanError> {
    let Some(track) = tracks.iter_mut().find(|track| is_video(track)) else {
        return Ok(SegmentPlan::default());
    };
    let video = copied("video", track, video::segments)?;
    let encoded_video = match encoded::segments(track, &video) {
        Err(_) if !video.is_empty() => Vec::new(),
        segments => segments?,
    };
    Ok(SegmentPlan { video, encoded_video, ..SegmentPlan::default() })
}

/// The cuts of every audio track, in order.
fn audio_plans(tracks: &mut [Track], video: &[Segment]) -> Vec<Result<AudioPlan, PlanError>> {
    let beside = video_of(tracks).map(|track| (track.timescale, video));
    let audio = tracks.iter_mut().filter_map(|track| match track.media.clone() {
        TrackMedia::Audio(audio) => Some(audio_plan(track, &audio, beside)),
        TrackMedia::Video(_) => None,
    });
    audio.collect()
}

fn audio_plan(
    track: &mut Track,
    audio: &AudioTrack,
    beside: Option<(u32, &[Segment])>,
) -> Result<AudioPlan, PlanError> {
    let copy =
        copied("audio", track, |track| audio::segments(track, audio, audio::Cuts::beside(beside, track)))?;
    if track.end <= 0 || track.samples.is_empty() {
        return Err(PlanError::Empty { track: "audio" });
    }
    let encoded = match encoded_audio::cuts(beside, end(track)) {
        None if copy.is_empty() => {
            return Err(PlanError::TooLong { seconds: track.end / i64::from(track.timescale) });
        }
        cuts => cuts.unwrap_or_default(),
    };
    Ok(AudioPlan { copy, encoded })
}

/// The segments of the copy of a track. None, and a mark in the track, where it cannot be copied.
///
/// Refuses a track without a clock before it is cut. Segments too heavy to be built are a reason not to copy
/// it.
fn copied(
    name: &'static str,
    track: &mut Track,
    segments: impl FnOnce(&Track) -> Result<Vec<Segment>, PlanError>,
) -> Result<Vec<Segment>, PlanError> {
    if track.timescale == 0 {
        return Err(PlanError::NoTimescale { track: name });
    }
    if track.media.not_copied().is_some() {
        return Ok(Vec::new());
    }
    match segments(track).and_then(|segments| light(name, segments)) {
        Ok(segments) => Ok(segments),
        Err(error) => {
            let not_copied = reason(&error).ok_or(error)?;
            match &mut track.media {
                TrackMedia::Video(video) => video.not_copied = Some(not_copied),
                TrackMedia::Audio(audio) => audio.not_copied = Some(not_copied),
            }
            Ok(Vec::new())
        }
    }
}

/// The segments, unless one has too many samples.
fn light(track: &'static str, segments: Vec<Segment>) -> Result<Vec<Segment>, PlanError> {
    let counts = segments.iter().map(|segment| segment.samples.end.saturating_sub(segment.samples.start));
    match counts.enumerate().find(|(_, samples)| SEGMENT_SAMPLES_MAX < *samples) {
        Some((number, samples)) => Err(PlanError::TooManySamples { track, number, samples }),
        None => Ok(segments),
    }
}

/// Why the copy that an error refuses is not made, where the track may be encoded.
fn reason(error: &PlanError) -> Option<NotCopied> {
    use NotCopiedReason::{LongGop, Timing};
    Some(match error {
        PlanError::NoSyncSample => NotCopied::new(LongGop, "no keyframes"),
        PlanError::GopTooLong { at_seconds, seconds } => {
            NotCopied::new(LongGop, format!("{seconds} s without a keyframe, from second {at_seconds} on"))
        }
        PlanError::TooManySamples { track: "audio", samples, .. } => {
            NotCopied::new(Timing, format!("{samples} packets in one segment"))
        }
        PlanError::PauseTooLong { .. } => NotCopied::new(Timing, "the sound pauses too long"),
        PlanError::Empty { .. }
        | PlanError::TooManySamples { .. }
        | PlanError::TooShort { .. }
        | PlanError::FeedTooLong { .. }
        | PlanError::TooLong { .. }
        | PlanError::NoTimescale { .. } => return None,
    })
}

/// When a sample is presented on the common timeline, in the track's ticks.
///
/// Saturates: a time that far off is damage, and it ends as a cut that is never reached.
pub fn presented_at(track: &Track, sample: &Sample) -> i64 {
    sample.pts.saturating_add(track.shift)
}
