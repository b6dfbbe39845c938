//! Sound that takes the place of all the sound of a presentation: `swapTrackUrl` and `imposeTracks`.
//! D-0080.

use crate::index::SegmentPlan;
use crate::index::{Index, SampleObject, Track, TrackMedia};
use crate::plan::AlongError;

impl Index {
    /// This presentation with another sound in the place of all of its own, cut along its pictures as
    /// [`sound_along`](Self::sound_along) does; without pictures it ends by itself. The samples of that sound
    /// lie in `object`.
    ///
    /// Same arguments, same index.
    pub fn with_sound(self, sound: Self, object: SampleObject) -> Result<Self, AlongError> {
        let is_video = |track: &Track| matches!(track.media, TrackMedia::Video(_));
        let source_track =
            self.tracks.iter().map(|track| track.source_track).max().unwrap_or(0).wrapping_add(1);
        let sound = sound.sound_along(self.video().is_some().then_some(&self))?;
        let place = u8::try_from(self.objects.len()).unwrap_or(u8::MAX);
        let heard = sound.tracks.into_iter().map(|track| Track { source_track, ..track }.in_object(place));
        let tracks = self.tracks.into_iter().filter(is_video).chain(heard).collect();
        let SegmentPlan { video, encoded_video, .. } = self.plan;
        let SegmentPlan { audio, encoded_audio, .. } = sound.plan;
        let plan = SegmentPlan { video, audio, encoded_video, encoded_audio };
        let is_truncated = self.is_truncated || sound.is_truncated;
        let objects = self.objects.into_iter().chain([object]).collect();
        Ok(Self { tracks, plan, is_truncated, objects, ..self })
    }
}
