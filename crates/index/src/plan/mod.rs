//! The segment plan: start and end of every segment.
//!
//! The plan is made once, from the sample tables alone, and stored with the index. Playlists, segments and
//! URLs follow the stored plan, so they stay valid when this code changes. It reads no sample data and no
//! playlist.
//!
//! Begin with [`plan`]. Copied video is cut at sync samples (`video.rs`), copied audio on its packet grid at
//! the video's cuts (`audio.rs`). Encoded renditions are cut anywhere near the targets (`encoded.rs`,
//! `encoded_audio.rs`). Audio from a separate file is cut to align with another source (`external_audio.rs`).

mod audio;
mod encoded;
mod encoded_audio;
mod external_audio;
mod silence;
#[cfg(test)]
mod tests;
mod video;

pub use audio::packets;
pub(crate) use encoded::segments as encoded_segments;
pub use encoded::{FEED_BYTES_MAX, FEED_SAMPLES_MAX};
pub(crate) use encoded::{PresentedFrame, presented_frames};
use encoded_audio::MediaTime;
pub use external_audio::ExternalAudioError;
pub use silence::{leading_silent_packets, silent_packet, silent_stereo_aac_packet};
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
    /// The video track has no sync sample, so no decoder can start.
    #[error("video track has no sync sample to begin at")]
    NoSyncSample,
    /// Two keyframes are too far apart for one segment.
    #[error("keyframes are {seconds} s apart at {at_seconds} s, at most 20 s can be one segment")]
    GopTooLong {
        /// Start of the long segment, in whole seconds.
        at_seconds: i64,
        /// Its duration, rounded up to whole seconds.
        seconds: i64,
    },
    /// One segment would hold more samples than [`SEGMENT_SAMPLES_MAX`].
    #[error("{track} segment {number} has {samples} samples")]
    TooManySamples {
        /// `video` or `audio`.
        track: &'static str,
        /// Number of the segment.
        number: usize,
        /// Number of its samples.
        samples: u32,
    },
    /// A video segment has more frames than ticks, so some would have a duration of 0.
    #[error("video segment {number} has {samples} frames in {ticks} ticks")]
    TooShort {
        /// Number of the segment.
        number: usize,
        /// Number of its frames.
        samples: u32,
        /// Number of its ticks in the output timescale.
        ticks: u64,
    },
    /// The audio pauses for more ticks than the duration of a packet can express.
    #[error("the audio pauses for {ticks} ticks; at most {} are supported", u32::MAX)]
    PauseTooLong {
        /// Length of the pause in ticks.
        ticks: i64,
    },
    /// Keyframes are so far apart that one segment of an encoded rendition would need too much decoding.
    #[error(
        "the segment at {at_seconds} s needs {samples} frames ({bytes} bytes) from the keyframe before it on, at most {FEED_SAMPLES_MAX} \
         ({FEED_BYTES_MAX} bytes) can be decoded for one"
    )]
    FeedTooLong {
        /// Start of the segment, in whole seconds.
        at_seconds: i64,
        /// Number of samples that a decoder would need.
        samples: u32,
        /// Size of those samples in bytes.
        bytes: u64,
    },
    /// An audio track that needs encoding declares a duration of days.
    #[error("the audio track lasts {seconds} s")]
    TooLong {
        /// The declared duration in seconds.
        seconds: i64,
    },
    /// The timescale is zero.
    #[error("{track} track has timescale 0")]
    NoTimescale {
        /// `video` or `audio`.
        track: &'static str,
    },
}

/// Target duration of a segment. M-15: 4 s halves the startup delay against 6 s.
pub const SEGMENT_TARGET_S: i64 = 4;
/// Target duration of each of the first two segments, for a fast start.
pub const SEGMENT_FIRST_TARGET_S: i64 = 2;
/// Shortest segment that is worth a request: a shorter tail joins the segment before it.
pub const SEGMENT_MIN_S: i64 = 1;
/// Longest segment, if a keyframe allows a cut.
pub const SEGMENT_MAX_S: i64 = 8;
/// Longest GOP with a copy rendition.
pub const GOP_MAX_S: i64 = 20;
/// 20 s at 600 frames per second are 12,000; more is damage or an attack on the server's memory.
pub const SEGMENT_SAMPLES_MAX: u32 = 1 << 16;

/// Most segments of an audio track: three days of 4 s. A track that declares more is damaged. D-0036.
const AUDIO_SEGMENTS_MAX: usize = 1 << 16;
/// Sync samples that are all stored: 36 h of GOPs of 2 s. Bounds the memory for recordings in which every
/// frame is a sync sample.
const SYNC_SAMPLES_EXACT_MAX: usize = 1 << 16;
/// Sync samples per second that are stored beyond those: cuts are at least a second apart.
const SYNC_SAMPLES_PER_SECOND_MAX: i64 = 4;

/// Cuts the chosen tracks into segments.
///
/// Uses at most one video track, the first. The ranges of a copied track cover all samples that are needed
/// to present `0..track.end`, in decode order. Each video segment begins at a sync sample. No earlier sample
/// is presented after it, and no later sample before it, except leading pictures of codecs that have them:
/// those belong to its segment. Every audio track is cut at the encoded video. Without video, and where its
/// segments are very long, audio has a grid of its own.
///
/// Marks a track that cannot be copied in `tracks`, with the reason. Same tracks, same plan. Errors: that of
/// the first track that cannot be encoded either.
pub fn plan(tracks: &mut [Track]) -> Result<SegmentPlan, PlanError> {
    let mut plan = video_plan(tracks)?;
    for track_plan in audio_plans(tracks, &plan.encoded_video) {
        plan.push(track_plan?);
    }
    Ok(plan)
}

/// As [`plan`], but removes audio tracks that cannot be cut from `tracks` while another track can be cut.
///
/// Errors: those of the video, and that of the first audio track if no track can be cut.
pub fn plan_playable(tracks: &mut Vec<Track>) -> Result<SegmentPlan, PlanError> {
    let mut plan = video_plan(tracks)?;
    let track_plans = audio_plans(tracks, &plan.encoded_video);
    if let Some(Err(error)) = track_plans.first()
        && track_plans.iter().all(Result::is_err)
        && !tracks.iter().any(is_video)
    {
        return Err(error.clone());
    }
    let mut is_planned = track_plans.iter().map(Result::is_ok);
    tracks.retain(|track| is_video(track) || is_planned.next().unwrap_or(false));
    track_plans.into_iter().flatten().for_each(|track_plan| plan.push(track_plan));
    Ok(plan)
}

/// The cuts of audio at these segments of the video, in its ticks: their ends, and additional cuts in those
/// that last longer than the longest GOP. Those are slide shows; without the cuts, a viewer would wait for
/// half an hour of audio. D-0054.
fn cuts_aligned_with(timescale: u32, segments: &[Segment]) -> Vec<i64> {
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
            let count_left = AUDIO_SEGMENTS_MAX.saturating_sub(cuts.len());
            let within = within
                .map(|at| at.saturating_mul(second))
                .take_while(|at| *at <= len - SEGMENT_MIN_S * second);
            cuts.extend(within.take(count_left).map(|at| segment.start + at));
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

fn track_end(track: &Track) -> MediaTime {
    MediaTime { ticks: track.end, timescale: track.timescale }
}

/// The plan with the segments of the video alone.
fn video_plan(tracks: &mut [Track]) -> Result<SegmentPlan, PlanError> {
    let Some(track) = tracks.iter_mut().find(|track| is_video(track)) else {
        return Ok(SegmentPlan::default());
    };
    let video = copy_segments("video", track, video::segments)?;
    let encoded_video = match encoded::segments(track, &video) {
        Err(_) if !video.is_empty() => Vec::new(),
        segments => segments?,
    };
    Ok(SegmentPlan { video, encoded_video, ..SegmentPlan::default() })
}

/// The segments of every audio track, in order.
fn audio_plans(tracks: &mut [Track], video: &[Segment]) -> Vec<Result<AudioPlan, PlanError>> {
    let video_segments = video_of(tracks).map(|track| (track.timescale, video));
    let audio = tracks.iter_mut().filter_map(|track| match track.media.clone() {
        TrackMedia::Audio(audio) => Some(audio_plan(track, &audio, video_segments)),
        TrackMedia::Video(_) => None,
    });
    audio.collect()
}

fn audio_plan(
    track: &mut Track,
    audio: &AudioTrack,
    video_segments: Option<(u32, &[Segment])>,
) -> Result<AudioPlan, PlanError> {
    let copy = copy_segments("audio", track, |track| {
        audio::segments(track, audio, audio::Cuts::aligned_with(video_segments, track))
    })?;
    if track.end <= 0 || track.samples.is_empty() {
        return Err(PlanError::Empty { track: "audio" });
    }
    let encoded = match encoded_audio::cuts(video_segments, track_end(track)) {
        None if copy.is_empty() => {
            return Err(PlanError::TooLong { seconds: track.end / i64::from(track.timescale) });
        }
        cuts => cuts.unwrap_or_default(),
    };
    Ok(AudioPlan { copy, encoded })
}

/// The cuts of the encoded rendition of an audio track, at these segments of the video.
pub(crate) fn encoded_audio_cuts(
    track: &Track,
    video_segments: Option<(u32, &[Segment])>,
) -> Result<Vec<u64>, PlanError> {
    encoded_audio::cuts(video_segments, track_end(track))
        .ok_or(PlanError::TooLong { seconds: track.end / i64::from(track.timescale.max(1)) })
}

/// The segments of the copy of a track. Empty, with the reason set in the track, if it cannot be copied.
///
/// Rejects a track with timescale 0 before it is cut. Segments that are too heavy to build prevent the copy.
fn copy_segments(
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
    match segments(track).and_then(|segments| within_sample_limit(name, segments)) {
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

/// The segments, or an error if one has too many samples.
fn within_sample_limit(track: &'static str, segments: Vec<Segment>) -> Result<Vec<Segment>, PlanError> {
    let counts = segments.iter().map(|segment| segment.samples.end.saturating_sub(segment.samples.start));
    match counts.enumerate().find(|(_, samples)| SEGMENT_SAMPLES_MAX < *samples) {
        Some((number, samples)) => Err(PlanError::TooManySamples { track, number, samples }),
        None => Ok(segments),
    }
}

/// The reason, for an error of the copy that still allows encoding.
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
        PlanError::PauseTooLong { .. } => NotCopied::new(Timing, "the audio pauses too long"),
        PlanError::Empty { .. }
        | PlanError::TooManySamples { .. }
        | PlanError::TooShort { .. }
        | PlanError::FeedTooLong { .. }
        | PlanError::TooLong { .. }
        | PlanError::NoTimescale { .. } => return None,
    })
}

/// Presentation time of a sample on the common timeline, in the track's ticks.
///
/// Saturates: such a time is damage, and gives a cut that is never reached.
pub fn presented_at(track: &Track, sample: &Sample) -> i64 {
    sample.pts.saturating_add(track.shift)
}
