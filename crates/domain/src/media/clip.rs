//! Clips: media that are cut from another media of the workspace, and share its bytes (C-197).

use std::time::Duration;

use super::{EditRejected, Media, MediaState};
use crate::{AccessPolicy, Encryption, MediaId, SourceId};

/// The media that a clip was cut from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClipOf {
    /// The media. It may have been deleted since.
    pub media: MediaId,
    /// Its source when the clip was registered: the clip is cut from the index of this source.
    pub source: SourceId,
}

/// Why a media cannot be a clip of another one, its origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipRejected {
    /// The origin is not ready. Has the name of its state.
    #[error("the media is {0}; only a Ready one can be cut")]
    NotReady(&'static str),
    /// The origin has no video.
    #[error("the media has no video")]
    AudioOnly,
    /// The clip has `sourceAccess`, and the origin does not (C-198).
    #[error("the source of the media it is cut from is not downloadable")]
    SourceAccess,
    /// The edit does not fit the duration of the origin.
    #[error(transparent)]
    Edit(EditRejected),
}

impl Media {
    /// Makes this new media a clip of `origin`, a media of the same workspace. Errors: the origin, the source
    /// access or the edit does not permit it.
    pub fn cut_from(mut self, origin: &Self) -> Result<Self, ClipRejected> {
        let MediaState::Ready { source, facts, .. } = &origin.state else {
            return Err(ClipRejected::NotReady(origin.state.name()));
        };
        if facts.is_audio_only() {
            return Err(ClipRejected::AudioOnly);
        }
        if self.settings.source_access && !origin.offers_source() {
            return Err(ClipRejected::SourceAccess);
        }
        if let Some(edit) = &self.settings.timeline_edit {
            let duration = Duration::from_micros(facts.duration.as_micros());
            edit.parts(Some(duration)).map_err(ClipRejected::Edit)?;
        }
        self.clip_of = Some(ClipOf { media: origin.id, source: *source });
        self.original = origin.original();
        Ok(self)
    }

    /// Whether viewers may download its source through one of its playback IDs: not if all of them encrypt.
    pub fn offers_source(&self) -> bool {
        let is_plain = self.playback_ids.iter().any(|playback| playback.encryption == Encryption::None);
        self.settings.source_access && is_plain
    }

    /// Whether this clip has a public playback ID, and its origin has none.
    pub fn is_more_public_than(&self, origin: &Self) -> bool {
        let is_public =
            |media: &Self| media.playback_ids.iter().any(|playback| playback.policy == AccessPolicy::Public);
        is_public(self) && !is_public(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, created, facts, finished, source};
    use super::*;
    use crate::{
        Failure, FailureCode, MediaDuration, MediaFacts, MediaSettings, TimelineEdit, Track, TrackId,
        TrackKind,
    };

    struct Zeros;

    impl crate::Random for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn facts_of(kind: TrackKind) -> MediaFacts {
        let track = Track { id: TrackId::new(at(1), &Zeros), kind, not_copied: None, is_encoded: false };
        MediaFacts { tracks: vec![track], duration: MediaDuration::from_micros(9_500_000), ..facts(None) }
    }

    fn film() -> Media {
        finished(facts_of(TrackKind::Video { width: 96, height: 54, frame_rate: None }))
    }

    fn with(settings: MediaSettings) -> Media {
        Media { settings, ..created() }
    }

    #[test]
    fn clip_has_the_original_of_its_origin() {
        let film = film();
        let clip = created().cut_from(&film).unwrap();
        let of = |source| Some(ClipOf { media: film.id, source });
        assert_eq!((clip.clip_of, clip.original()), (of(source(2)), Some(source(2))));
        let clip = clip.begin_edit(source(5), source(2), at(5)).unwrap();
        let (clip, _) = clip.finish(source(5), film_facts(&film), at(6)).unwrap();
        assert_eq!((clip.source(), clip.original()), (Some(source(5)), Some(source(2))));
        let inner = created().cut_from(&clip).unwrap();
        assert_eq!((inner.clip_of, inner.original()), (of(source(5)), Some(source(2))));
    }

    fn film_facts(film: &Media) -> MediaFacts {
        let MediaState::Ready { facts, .. } = &film.state else { panic!("it is ready") };
        facts.clone()
    }

    #[test]
    fn only_a_ready_video_can_be_cut() {
        let check = |origin: &Media, expected| assert_eq!(created().cut_from(origin), Err(expected));
        check(&created(), ClipRejected::NotReady("Created"));
        check(&created().start_download(source(2), at(2)).unwrap(), ClipRejected::NotReady("Downloading"));
        let failed = created().fail(Failure::new(FailureCode::NotMedia, "no media"), at(2)).unwrap().0;
        check(&failed, ClipRejected::NotReady("Failed"));
        let audio = TrackKind::Audio { language_code: "en".into(), language_name: "English".into() };
        check(&finished(facts_of(audio)), ClipRejected::AudioOnly);
    }

    #[test]
    fn source_of_a_clip_needs_that_of_its_origin() {
        let open = || MediaSettings { source_access: true, ..MediaSettings::default() };
        assert_eq!(with(open()).cut_from(&film()), Err(ClipRejected::SourceAccess));
        let open_film = Media { settings: open(), ..film() };
        assert!(with(open()).cut_from(&open_film).is_ok());
        let mut encrypted = open_film;
        encrypted.playback_ids[0].encryption = Encryption::Aes128;
        assert_eq!(with(open()).cut_from(&encrypted), Err(ClipRejected::SourceAccess));
    }

    #[test]
    fn edit_must_fit_the_duration_of_the_origin() {
        let from = |start_ms| {
            let edit = TimelineEdit { start: Duration::from_millis(start_ms), ..TimelineEdit::default() };
            with(MediaSettings { timeline_edit: Some(edit), ..MediaSettings::default() })
        };
        assert!(from(9_499).cut_from(&film()).is_ok());
        let Err(ClipRejected::Edit(rejected)) = from(9_500).cut_from(&film()) else {
            panic!("it is outside")
        };
        assert_eq!(rejected.field, "startTime");
    }
}
