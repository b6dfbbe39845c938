//! Clips: media that are cut from another media of the workspace, and share its bytes (C-197).

use std::time::Duration;

use super::{AddedTrack, AddedTrackKind, EditRejected, Media, MediaState, NewTrack};
use crate::{AccessPolicy, Encryption, MediaId, Random, SourceId, Timestamp};

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
    /// Both have a watermark. A media has one at most (C-200).
    #[error("the media it is cut from has a watermark already")]
    Watermark,
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
        if self.settings.watermark.is_some() && origin.has_watermark() {
            return Err(ClipRejected::Watermark);
        }
        if let Some(edit) = &self.settings.timeline_edit {
            let duration = Duration::from_micros(facts.duration.as_micros());
            edit.parts(Some(duration)).map_err(ClipRejected::Edit)?;
        }
        self.clip_of = Some(ClipOf { media: origin.id, source: *source });
        self.original = origin.original();
        Ok(self)
    }

    /// Adds the available subtitles of its origin to this new clip, as tracks of its own that are cut like
    /// the video (D-0136). Subtitles of the request replace those of the same name or language. Those
    /// beyond [`Media::ADDED_TRACKS_MAX`] are left out.
    pub fn inherit_subtitles(mut self, origin: &Self, now: Timestamp, random: &dyn Random) -> Self {
        let is_replaced = |inherited: &NewTrack| {
            let of_request =
                self.added_tracks.iter().map(|track| &track.spec).filter(|spec| spec.kind == inherited.kind);
            of_request.into_iter().any(|spec| {
                spec.language_name == inherited.language_name
                    || spec.language_code.eq_ignore_ascii_case(&inherited.language_code)
            })
        };
        let subtitles = origin
            .added_tracks
            .iter()
            .filter(|track| track.spec.kind == AddedTrackKind::Subtitle && !is_replaced(&track.spec));
        let inherited = subtitles.filter_map(|track| {
            let cut_from = Some(track.available()?);
            Some(AddedTrack {
                cut_from,
                is_on_base: true,
                ..AddedTrack::new(track.spec.clone(), now, random)
            })
        });
        let free = Self::ADDED_TRACKS_MAX.saturating_sub(self.added_tracks.len());
        let inherited: Vec<_> = inherited.take(free).collect();
        self.added_tracks.extend(inherited);
        self
    }

    /// The stored subtitles of its origin that its own will be cut from.
    pub fn subtitles_to_cut(&self) -> impl Iterator<Item = SourceId> {
        self.added_tracks.iter().filter_map(|track| track.cut_from)
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
    use super::super::tests::{at, created, facts, finished, source, watermark};
    use super::*;
    use crate::{
        AddedTrackState, Failure, FailureCode, MediaDuration, MediaFacts, MediaSettings, NotCopied,
        NotCopiedReason, TimelineEdit, Track, TrackId, TrackKind,
    };

    struct Zeros;

    impl Random for Zeros {
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

    fn track(kind: AddedTrackKind, code: &str, name: &str, state: AddedTrackState) -> AddedTrack {
        let url = "https://example.com/a".to_owned();
        let spec = NewTrack { kind, url, language_code: code.into(), language_name: name.into() };
        AddedTrack { state, ..AddedTrack::new(spec, at(3), &Zeros) }
    }

    fn subtitle(code: &str, name: &str, number: i64) -> AddedTrack {
        track(AddedTrackKind::Subtitle, code, name, AddedTrackState::Available { source: source(number) })
    }

    fn inherited(origin: &Media, clip: Media) -> Vec<(String, Option<SourceId>)> {
        let of_request = clip.added_tracks.len();
        let clip = clip.inherit_subtitles(origin, at(50), &Zeros);
        assert!(clip.added_tracks[of_request..].iter().all(|track| {
            track.is_on_base && track.preparing().is_some_and(|own| Some(own) != track.cut_from)
        }));
        assert_eq!(clip.input_urls().len(), clip.inputs.len() + of_request, "they are no inputs");
        let all = clip.added_tracks.into_iter().skip(of_request);
        all.map(|track| (track.spec.language_name, track.cut_from)).collect()
    }

    #[test]
    fn clip_inherits_available_subtitles() {
        let failure = Failure::new(FailureCode::NotSubtitles, "a page");
        let audio = track(AddedTrackKind::Audio, "es", "Spanish", subtitle("es", "", 6).state);
        let failed = track(AddedTrackKind::Subtitle, "fr", "French", AddedTrackState::Failed { failure });
        let preparing = AddedTrackState::Preparing { source: source(7) };
        let preparing = track(AddedTrackKind::Subtitle, "it", "Italian", preparing);
        let mut origin = film();
        origin.added_tracks =
            vec![subtitle("en", "English", 4), audio, failed, preparing, subtitle("de", "Deutsch", 5)];
        let all = [("English".to_owned(), Some(source(4))), ("Deutsch".to_owned(), Some(source(5)))];
        assert_eq!(inherited(&origin, created()), all);

        let with_track = |track| Media { added_tracks: vec![track], ..created() };
        for (code, name) in [("en", "Corrected"), ("EN", "Other"), ("en-GB", "English")] {
            assert_eq!(inherited(&origin, with_track(subtitle(code, name, 8))), all[1..], "{code}, {name}");
        }
        assert_eq!(inherited(&origin, with_track(subtitle("en-GB", "British", 8))), all);
        let audio = track(AddedTrackKind::Audio, "en", "English", subtitle("en", "", 8).state);
        assert_eq!(inherited(&origin, with_track(audio)), all, "audio replaces no subtitles");
    }

    #[test]
    fn inherited_subtitles_are_limited() {
        let mut origin = film();
        origin.added_tracks = vec![subtitle("en", "English", 4), subtitle("de", "Deutsch", 5)];
        let mut clip = created();
        clip.added_tracks =
            (1..Media::ADDED_TRACKS_MAX).map(|number| subtitle("und", &number.to_string(), 6)).collect();
        assert_eq!(inherited(&origin, clip), [("English".to_owned(), Some(source(4)))]);
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
    fn clip_has_one_watermark_at_most() {
        let settings = || MediaSettings { watermark: Some(watermark()), ..MediaSettings::default() };
        assert!(with(settings()).cut_from(&film()).is_ok());
        let drawn = Media { settings: settings(), ..film() };
        assert!(created().cut_from(&drawn).is_ok());
        assert_eq!(with(settings()).cut_from(&drawn), Err(ClipRejected::Watermark));
        // A clip of it, which has no setting of its own.
        let mut clip = film();
        let MediaState::Ready { facts, .. } = &mut clip.state else { panic!("it is ready") };
        let detail = "watermark".to_owned();
        facts.tracks[0].not_copied = Some(NotCopied { reason: NotCopiedReason::Watermark, detail });
        assert_eq!(with(settings()).cut_from(&clip), Err(ClipRejected::Watermark));
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
