//! Audio from a separate file, cut to align with another source.

use super::{
    MediaTime, PlanError, SEGMENT_MIN_S, Segment, SegmentPlan, audio, audio_plan, encoded_audio, video_of,
};
use crate::index::{Index, Track, TrackMedia};

/// Why a file cannot provide the audio of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalAudioError {
    /// The file has no audio.
    #[error("the file has no audio")]
    NoAudio,
    /// The audio cannot be cut into segments.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The first audio track alone, cut where the audio of `media` is cut and ending where that source ends.
    ///
    /// Longer audio is trimmed. Shorter audio is silent from its end on, if the codec allows a silent
    /// packet. Players stall where one rendition ends before the others, so a gap of a second or more is
    /// filled. Without `media` the audio has its own cuts and end. Same arguments, same index. D-0079.
    pub fn plan_external_audio(self, media: Option<&Self>) -> Result<Self, ExternalAudioError> {
        let is_audio = |track: &Track| matches!(track.media, TrackMedia::Audio(_));
        let mut track = self.tracks.into_iter().find(is_audio).ok_or(ExternalAudioError::NoAudio)?;
        let plan = plan(&mut track, media)?;
        Ok(Self { tracks: vec![track], plan, ..self })
    }
}

fn plan(track: &mut Track, media: Option<&Index>) -> Result<SegmentPlan, PlanError> {
    let TrackMedia::Audio(audio) = track.media.clone() else {
        return Err(PlanError::Empty { track: "audio" });
    };
    if track.timescale == 0 {
        return Err(PlanError::NoTimescale { track: "audio" });
    }
    let video_segments = media.and_then(video_segments_of);
    let end = media.map(|media| rescaled(media_end(media), track.timescale));
    track.end = end.map_or(track.end, |end| track.end.min(end));
    let mut track_plan = audio_plan(track, &audio, video_segments)?;
    let gap_min = SEGMENT_MIN_S * i64::from(track.timescale);
    if let Some(end) = end.filter(|end| track.end.saturating_add(gap_min) <= *end) {
        let cuts = audio::Cuts::aligned_with(video_segments, track);
        let is_filled = track_plan.copy.is_empty()
            || audio::pad_with_silence(&mut track_plan.copy, track, &audio, &cuts, end);
        let padded_end = MediaTime { ticks: end, timescale: track.timescale };
        let encoded = encoded_audio::cuts(video_segments, padded_end);
        // Without either form no segment would be left.
        if is_filled && (encoded.is_some() || !track_plan.copy.is_empty()) {
            track.end = end;
            track_plan.encoded = encoded.unwrap_or_default();
        }
    }
    let mut plan = SegmentPlan::default();
    plan.push(track_plan);
    Ok(plan)
}

/// The segments that audio aligns with, and their ticks per second: those of the encoded video, else those
/// of its copy.
fn video_segments_of(media: &Index) -> Option<(u32, &[Segment])> {
    let track = video_of(&media.tracks)?;
    let segments =
        [&media.plan.encoded_video, &media.plan.video].into_iter().find(|cuts| !cuts.is_empty())?;
    Some((track.timescale, segments))
}

/// The end of the track that ends last.
fn media_end(media: &Index) -> MediaTime {
    let ends = media.tracks.iter().map(super::track_end);
    let later = |one: &MediaTime, other: &MediaTime| {
        let at = |this: &MediaTime, that: &MediaTime| i128::from(this.ticks) * i128::from(that.timescale);
        at(one, other).cmp(&at(other, one))
    };
    ends.max_by(later).unwrap_or(MediaTime { ticks: 0, timescale: 1 })
}

fn rescaled(at: MediaTime, timescale: u32) -> i64 {
    audio::rescaled_up(at.ticks, at.timescale.max(1), timescale)
}
