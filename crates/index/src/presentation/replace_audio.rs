//! Replaces all audio of a presentation: `swapTrackUrl` and `imposeTracks`. D-0080.

use crate::index::SegmentPlan;
use crate::index::{Index, SampleObject, Track, TrackMedia};
use crate::plan::ExternalAudioError;

impl Index {
    /// This presentation with all of its audio replaced, cut at its video as
    /// [`plan_external_audio`](Self::plan_external_audio) does; without video the audio ends by itself. The
    /// samples of the new audio are in `object`.
    ///
    /// Same arguments, same index.
    pub fn with_audio(self, audio_index: Self, object: SampleObject) -> Result<Self, ExternalAudioError> {
        let is_video = |track: &Track| matches!(track.media, TrackMedia::Video(_));
        let source_track =
            self.tracks.iter().map(|track| track.source_track).max().unwrap_or(0).wrapping_add(1);
        let planned_audio = audio_index.plan_external_audio(self.video().is_some().then_some(&self))?;
        let number = u8::try_from(self.objects.len()).unwrap_or(u8::MAX);
        let audio_tracks =
            planned_audio.tracks.into_iter().map(|track| Track { source_track, ..track }.in_object(number));
        let tracks = self.tracks.into_iter().filter(is_video).chain(audio_tracks).collect();
        let SegmentPlan { video, encoded_video, .. } = self.plan;
        let SegmentPlan { audio, encoded_audio, .. } = planned_audio.plan;
        let plan = SegmentPlan { video, audio, encoded_video, encoded_audio };
        let is_truncated = self.is_truncated || planned_audio.is_truncated;
        let objects = self.objects.into_iter().chain([object]).collect();
        Ok(Self { tracks, plan, is_truncated, objects, ..self })
    }
}
