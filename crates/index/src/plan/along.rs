//! Sound from a file of its own, cut along a source that it is heard with.

use super::{
    Instant, PlanError, SEGMENT_MIN_S, Segment, SegmentPlan, audio, audio_plan, encoded_audio, video_of,
};
use crate::index::{Index, Track, TrackMedia};

/// Why nothing of a file is heard with a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlongError {
    /// It has no sound.
    #[error("the file has no audio")]
    NoAudio,
    /// Its sound cannot be cut.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The first audio track alone, cut where the sound of `media` is cut and ending where that source ends:
    /// what is longer is left out, what is shorter is silent from there on, as far as we can make silence of
    /// its kind. Players wait where one part ends before the others, so a pause of a second or more is
    /// filled. Without `media` it is cut and ends by itself.
    ///
    /// Same arguments, same index. D-0079.
    pub fn sound_along(self, media: Option<&Self>) -> Result<Self, AlongError> {
        let is_audio = |track: &Track| matches!(track.media, TrackMedia::Audio(_));
        let mut track = self.tracks.into_iter().find(is_audio).ok_or(AlongError::NoAudio)?;
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
    let beside = media.and_then(video);
    let end = media.map(|media| rescaled(end(media), track.timescale));
    track.end = end.map_or(track.end, |end| track.end.min(end));
    let mut cut = audio_plan(track, &audio, beside)?;
    let pause = SEGMENT_MIN_S * i64::from(track.timescale);
    if let Some(end) = end.filter(|end| track.end.saturating_add(pause) <= *end) {
        let cuts = audio::Cuts::beside(beside, track);
        let is_filled =
            cut.copy.is_empty() || audio::extend_silently(&mut cut.copy, track, &audio, &cuts, end);
        let filled = Instant { ticks: end, timescale: track.timescale };
        let encoded = encoded_audio::cuts(beside, filled);
        // Without either nothing would be left of it.
        if is_filled && (encoded.is_some() || !cut.copy.is_empty()) {
            track.end = end;
            cut.encoded = encoded.unwrap_or_default();
        }
    }
    let mut plan = SegmentPlan::default();
    plan.push(cut);
    Ok(plan)
}

/// What sound is cut along, with its ticks a second: the encoded video, or the copy where there is none.
fn video(media: &Index) -> Option<(u32, &[Segment])> {
    let track = video_of(&media.tracks)?;
    let segments =
        [&media.plan.encoded_video, &media.plan.video].into_iter().find(|cuts| !cuts.is_empty())?;
    Some((track.timescale, segments))
}

/// Where the track ends that ends last.
fn end(media: &Index) -> Instant {
    let ends = media.tracks.iter().map(super::end);
    let later = |one: &Instant, other: &Instant| {
        let at = |this: &Instant, that: &Instant| i128::from(this.ticks) * i128::from(that.timescale);
        at(one, other).cmp(&at(other, one))
    };
    ends.max_by(later).unwrap_or(Instant { ticks: 0, timescale: 1 })
}

fn rescaled(at: Instant, timescale: u32) -> i64 {
    audio::rescaled_up(at.ticks, at.timescale.max(1), timescale)
}
