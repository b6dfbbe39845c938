//! The levelled audio of a media: its measurement, and the gains in force (C-192).

use super::{AudioGain, LoudnessTarget, Media, MediaLoudness, MediaState, TrackKind};
use crate::{Event, EventKind, SourceId, Timestamp};

/// The state of the audio levels of a media whose owner wants them levelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AudioLevels {
    /// The media has no audio.
    NoAudio,
    /// The audio is not measured yet.
    Pending,
    /// At least one track has a gain.
    Levelled,
    /// Each track is at the target already, or silent.
    Unchanged,
    /// A track could not be decoded, and no other one has a gain.
    NotMeasured,
}

impl AudioLevels {
    /// All states, in the order of the documentation.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Levelled, Self::Unchanged, Self::NoAudio, Self::NotMeasured];

    /// The word in responses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAudio => "no_audio",
            Self::Pending => "pending",
            Self::Levelled => "levelled",
            Self::Unchanged => "unchanged",
            Self::NotMeasured => "not_measured",
        }
    }
}

impl MediaLoudness {
    /// The gain of each track. `None`: the track stays as it is.
    pub fn gains(&self) -> Vec<Option<AudioGain>> {
        self.tracks.iter().map(|track| track.as_ref().and_then(|track| track.gain)).collect()
    }

    /// Whether each track was measured.
    pub fn is_complete(&self) -> bool {
        self.tracks.iter().all(Option::is_some)
    }
}

impl Media {
    /// The source whose audio must be measured for this target: the media is ready with audio, its owner
    /// wants it levelled, and it was not measured for this target, or not completely.
    pub fn needs_loudness(&self, target: LoudnessTarget) -> Option<SourceId> {
        let MediaState::Ready { source, .. } = &self.state else { return None };
        let is_measured =
            self.loudness.as_ref().is_some_and(|found| found.target == target && found.is_complete());
        (self.settings.optimize_audio && self.audio_track_count() > 0 && !is_measured).then_some(*source)
    }

    /// Sets the measured loudness of its audio, and so the gains. Returns the events: of the update, then
    /// that the audio is levelled, unless no track could be measured.
    ///
    /// `None`: nothing changes. The source is not its own any more, its owner no longer wants it levelled, or
    /// it has this loudness already.
    pub fn set_loudness(
        mut self,
        measured_source: SourceId,
        loudness: MediaLoudness,
        now: Timestamp,
    ) -> Option<(Self, Vec<Event>)> {
        let source = self.needs_loudness(loudness.target)?;
        if source != measured_source || self.loudness.as_ref() == Some(&loudness) {
            return None;
        }
        let is_measured = loudness.tracks.iter().any(Option::is_some);
        self.loudness = Some(loudness);
        let (media, updated) = self.with_update_event(now);
        let ready =
            is_measured.then(|| media.event(EventKind::OptimizeAudioReady(Box::new(media.clone())), now));
        let events = std::iter::once(updated).chain(ready).collect();
        Some((media, events))
    }

    /// The gain of each audio track in force. Empty while the audio plays as it is.
    pub fn gains(&self) -> Vec<Option<AudioGain>> {
        if self.settings.optimize_audio { self.measured_gains() } else { Vec::new() }
    }

    /// The measured gain of each audio track, also while it is not in force.
    pub fn measured_gains(&self) -> Vec<Option<AudioGain>> {
        self.loudness.as_ref().map_or_else(Vec::new, MediaLoudness::gains)
    }

    /// The state of its audio levels; `None` unless it is ready and its owner wants them levelled.
    pub fn audio_levels(&self) -> Option<AudioLevels> {
        if !self.is_ready() || !self.settings.optimize_audio {
            return None;
        }
        if self.audio_track_count() == 0 {
            return Some(AudioLevels::NoAudio);
        }
        Some(match &self.loudness {
            None => AudioLevels::Pending,
            Some(loudness) if loudness.gains().iter().any(Option::is_some) => AudioLevels::Levelled,
            Some(loudness) if loudness.is_complete() => AudioLevels::Unchanged,
            Some(_) => AudioLevels::NotMeasured,
        })
    }

    /// The number of audio tracks of its source.
    pub fn audio_track_count(&self) -> usize {
        let MediaState::Ready { facts, .. } = &self.state else { return 0 };
        facts.tracks.iter().filter(|track| matches!(track.kind, TrackKind::Audio { .. })).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::tests::{at, created, facts, finished, source};
    use crate::{Loudness, MediaChange, Track, TrackLoudness};

    const TARGET: LoudnessTarget = LoudnessTarget::DEFAULT;
    const GAIN: AudioGain = AudioGain { centibels: 1_131, is_limited: true };

    fn track(gain: Option<AudioGain>) -> Option<TrackLoudness> {
        let before = Loudness { integrated: Some(-2_731), range: 640, true_peak: -912 };
        let after = Loudness { integrated: Some(-1_600), range: 610, true_peak: -150 };
        Some(TrackLoudness { before, gain, after })
    }

    fn loudness(tracks: &[Option<TrackLoudness>]) -> MediaLoudness {
        MediaLoudness { target: TARGET, tracks: tracks.to_vec() }
    }

    /// A ready media with so many audio tracks.
    fn media(audio_tracks: usize, optimize_audio: bool) -> Media {
        let kind = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
        let id = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        let track = Track { id, kind, not_copied: None, is_encoded: false };
        let mut media = finished(crate::MediaFacts { tracks: vec![track; audio_tracks], ..facts(None) });
        media.settings.optimize_audio = optimize_audio;
        media
    }

    fn names(events: &[Event]) -> Vec<&'static str> {
        events.iter().map(|event| event.kind.name()).collect()
    }

    const UPDATED: &str = "video.media.updated";
    const READY: &str = "video.media.optimizeAudio.ready";

    #[test]
    fn measurement_emits_updated_and_ready_once() {
        let found = loudness(&[track(Some(GAIN)), track(None)]);
        let (levelled, events) = media(2, true).set_loudness(source(2), found.clone(), at(9)).unwrap();
        assert_eq!(names(&events), [UPDATED, READY]);
        assert_eq!((levelled.updated_at, events[1].at), (at(9), at(9)));
        assert_eq!(events[1].kind, EventKind::OptimizeAudioReady(Box::new(levelled.clone())));
        assert_eq!(levelled.gains(), [Some(GAIN), None]);
        assert_eq!(levelled.set_loudness(source(2), found, at(10)), None, "it is measured");
    }

    #[test]
    fn measurement_without_effect_changes_nothing() {
        let found = loudness(&[track(Some(GAIN))]);
        let check = |media: Media, measured: SourceId| {
            assert_eq!(media.clone().set_loudness(measured, found.clone(), at(9)), None, "{media:?}");
        };
        check(media(1, true), source(4));
        check(media(1, false), source(2));
        check(media(0, true), source(2));
        let mut downloading = created().start_download(source(2), at(2)).unwrap();
        downloading.settings.optimize_audio = true;
        check(downloading, source(2));
    }

    #[test]
    fn incomplete_measurement_is_repeated_and_emits_no_ready_event() {
        let (failed, events) = media(1, true).set_loudness(source(2), loudness(&[None]), at(9)).unwrap();
        assert_eq!((names(&events), failed.gains()), (vec![UPDATED], vec![None]));
        assert_eq!(failed.needs_loudness(TARGET), Some(source(2)));
        assert_eq!(failed.clone().set_loudness(source(2), loudness(&[None]), at(10)), None);
        let (levelled, events) = failed.set_loudness(source(2), loudness(&[track(None)]), at(11)).unwrap();
        assert_eq!((names(&events), levelled.needs_loudness(TARGET)), (vec![UPDATED, READY], None));
    }

    #[test]
    fn another_target_is_measured_again_while_old_gain_applies() {
        let (levelled, _) =
            media(1, true).set_loudness(source(2), loudness(&[track(Some(GAIN))]), at(9)).unwrap();
        let target = LoudnessTarget::new(-23).unwrap();
        assert_eq!(levelled.needs_loudness(target), Some(source(2)));
        assert_eq!(levelled.gains(), [Some(GAIN)]);
        let other = MediaLoudness { target, tracks: vec![track(None)] };
        let (levelled, events) = levelled.set_loudness(source(2), other, at(10)).unwrap();
        assert_eq!((levelled.gains(), names(&events)), (vec![None], vec![UPDATED, READY]));
    }

    #[test]
    fn gains_apply_while_setting_is_on() {
        let (levelled, _) =
            media(1, true).set_loudness(source(2), loudness(&[track(Some(GAIN))]), at(9)).unwrap();
        let switch = |media: Media, on: bool| {
            let change = MediaChange { optimize_audio: Some(on), ..MediaChange::default() };
            media.update(change, at(10))
        };
        let (off, event) = switch(levelled, false);
        assert!(event.is_some());
        assert_eq!((off.gains(), off.measured_gains()), (vec![], vec![Some(GAIN)]));
        assert_eq!(off.needs_loudness(TARGET), None);
        assert!(switch(off.clone(), false).1.is_none(), "nothing changes");
        let (on, event) = switch(off, true);
        assert!(event.is_some());
        assert_eq!((on.gains(), on.needs_loudness(TARGET)), (vec![Some(GAIN)], None));
    }

    #[test]
    fn levels_follow_tracks_and_measurement() {
        let check = |mut media: Media, found: Option<&[Option<TrackLoudness>]>, expected| {
            media.loudness = found.map(loudness);
            assert_eq!(media.audio_levels().map(AudioLevels::as_str), expected, "{found:?}");
        };
        check(media(1, false), None, None);
        check(created(), None, None);
        check(media(0, true), None, Some("no_audio"));
        check(media(1, true), None, Some("pending"));
        check(media(1, true), Some(&[track(Some(GAIN))]), Some("levelled"));
        check(media(2, true), Some(&[None, track(Some(GAIN))]), Some("levelled"));
        check(media(2, true), Some(&[track(None), track(None)]), Some("unchanged"));
        check(media(2, true), Some(&[None, track(None)]), Some("not_measured"));
    }
}
