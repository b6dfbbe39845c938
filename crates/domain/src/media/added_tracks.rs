//! Tracks that a client adds to a media, in addition to those of its source (C-155, D-0071, D-0079).

use super::{Media, MediaState};
use crate::{Event, EventKind, Failure, Random, SourceId, Timestamp, TrackEvent, TrackEventKind, TrackId};

/// A track that is fetched from its own address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedTrack {
    /// Its ID, unchanged for its whole life.
    pub id: TrackId,
    /// Its settings, from the client.
    pub spec: NewTrack,
    /// Its state.
    pub state: AddedTrackState,
    /// Whether the times in its file are those of the unedited base: the request with the edit of the
    /// timeline has this track too (C-127).
    pub is_on_base: bool,
    /// The stored subtitles of the origin that the file is cut from, until that is done: the track of a clip
    /// has no file to fetch then. Snapshots in events have none.
    pub cut_from: Option<SourceId>,
}

/// The settings of an added track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrack {
    /// Its kind.
    pub kind: AddedTrackKind,
    /// The address to fetch, with valid syntax.
    pub url: String,
    /// BCP 47 tag, as the client wrote it.
    pub language_code: String,
    /// The label that players show.
    pub language_name: String,
}

/// The kind of an added track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddedTrackKind {
    /// Audio that a viewer may choose instead of the source's own.
    Audio,
    /// Subtitles.
    Subtitle,
}

/// The state of an added track (C-160).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedTrackState {
    /// It is being fetched; players are not offered it yet.
    Preparing {
        /// The source ID of the fetch. Each address gets its own, so that a late result of an older address
        /// is recognised.
        source: SourceId,
    },
    /// Players are offered it.
    Available {
        /// The source ID of its bytes.
        source: SourceId,
    },
    /// It could not be fetched, or its content is unusable. The media is unchanged.
    Failed {
        /// The reason.
        failure: Failure,
    },
}

/// A client's changes to a track. `None`: the field is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrackUpdate {
    /// The address to fetch. The file is fetched again even if the address is the same.
    pub url: Option<String>,
    /// BCP 47 tag.
    pub language_code: Option<String>,
    /// The label that players show.
    pub language_name: Option<String>,
}

/// The events of a change of one track.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackEvents {
    /// The changed or deleted track.
    pub track: TrackId,
    /// The events of the track, then the update event of its media (C-36), in order of emission.
    pub events: Vec<Event>,
}

/// The reason why a media rejects a change of its tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrackRejected {
    /// The media has the maximum number of added tracks.
    #[error("the media has {} added tracks, the maximum", Media::ADDED_TRACKS_MAX)]
    TooMany,
    /// Another track of this kind has the name.
    #[error("another track of this kind has the language name")]
    NameTaken,
    /// The track is one of the source's own.
    #[error("the track is part of the source and cannot be changed")]
    PartOfSource,
    /// The media has no such track.
    #[error("the media has no such track")]
    Unknown,
}

impl AddedTrackKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Audio, Self::Subtitle];

    /// The name in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Subtitle => "subtitle",
        }
    }

    /// The kind with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl AddedTrackState {
    /// The names of all states.
    pub const NAMES: [&'static str; 3] = ["preparing", "available", "failed"];

    /// The name in responses and rows (C-160).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Preparing { .. } => "preparing",
            Self::Available { .. } => "available",
            Self::Failed { .. } => "failed",
        }
    }
}

impl AddedTrack {
    /// A track that is not fetched yet.
    pub fn new(spec: NewTrack, now: Timestamp, random: &dyn Random) -> Self {
        let source = SourceId::new(now, random);
        Self {
            id: TrackId::new(now, random),
            spec,
            state: AddedTrackState::Preparing { source },
            is_on_base: false,
            cut_from: None,
        }
    }

    /// The source ID of its bytes, present or still being fetched.
    pub fn source(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Preparing { source } | AddedTrackState::Available { source } => Some(source),
            AddedTrackState::Failed { .. } => None,
        }
    }

    /// The source ID of its bytes, if players are offered the track.
    pub fn available(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Available { source } => Some(source),
            _ => None,
        }
    }

    /// The source ID of its fetch, while that is in progress.
    pub fn preparing(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Preparing { source } => Some(source),
            _ => None,
        }
    }
}

impl Media {
    /// Most tracks that are added to one media: each read of the media loads all of them, and each is a line
    /// of its manifest (D-0071).
    pub const ADDED_TRACKS_MAX: usize = 100;

    /// The added track with this id.
    pub fn added_track(&self, id: TrackId) -> Option<&AddedTrack> {
        self.added_tracks.iter().find(|track| track.id == id)
    }

    /// Whether a subtitle track is available.
    pub fn has_subtitles(&self) -> bool {
        let is_shown =
            |track: &AddedTrack| track.spec.kind == AddedTrackKind::Subtitle && track.available().is_some();
        self.added_tracks.iter().any(is_shown)
    }

    /// Appends a track that is not fetched yet.
    pub fn add_track(
        mut self,
        track: AddedTrack,
        now: Timestamp,
    ) -> Result<(Self, TrackEvents), TrackRejected> {
        if self.added_tracks.len() >= Self::ADDED_TRACKS_MAX {
            return Err(TrackRejected::TooMany);
        }
        let NewTrack { kind, language_name, .. } = &track.spec;
        if self.is_name_taken(*kind, language_name, None) {
            return Err(TrackRejected::NameTaken);
        }
        let id = track.id;
        self.added_tracks.push(track);
        Ok(self.track_events(&[TrackEventKind::Created], id, now))
    }

    /// Changes a track. A new address starts another fetch under a source ID from `random`, and the previous
    /// file is no longer offered. Without an address, an available track emits `ready` at once: a client
    /// that waits for that event would otherwise wait forever (C-156). `None` for the events: nothing
    /// changed. The times of the new file are those of the previous one: a track whose file has the times of
    /// the unedited base keeps them (C-127).
    pub fn update_track(
        mut self,
        id: TrackId,
        update: TrackUpdate,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(Self, Option<TrackEvents>), TrackRejected> {
        let index = self.track_index(id)?;
        let before = self.added_tracks[index].clone();
        let TrackUpdate { url, language_code, language_name } = update;
        let track = &mut self.added_tracks[index];
        track.spec.language_code = language_code.unwrap_or_else(|| before.spec.language_code.clone());
        track.spec.language_name = language_name.unwrap_or_else(|| before.spec.language_name.clone());
        if let Some(url) = url {
            track.spec.url = url;
            track.state = AddedTrackState::Preparing { source: SourceId::new(now, random) };
            track.cut_from = None;
        }
        if *track == before {
            return Ok((self, None));
        }
        let NewTrack { kind, language_name, .. } = &self.added_tracks[index].spec;
        if self.is_name_taken(*kind, language_name, Some(id)) {
            return Err(TrackRejected::NameTaken);
        }
        let kinds: &[_] = match self.added_tracks[index].available() {
            Some(_) => &[TrackEventKind::Updated, TrackEventKind::Ready],
            None => &[TrackEventKind::Updated],
        };
        let (media, events) = self.track_events(kinds, id, now);
        Ok((media, Some(events)))
    }

    /// Removes a track.
    pub fn remove_track(
        mut self,
        id: TrackId,
        now: Timestamp,
    ) -> Result<(Self, AddedTrack, TrackEvents), TrackRejected> {
        let index = self.track_index(id)?;
        let track = self.added_tracks.remove(index);
        let (media, events) = self.track_events(&[TrackEventKind::Deleted], id, now);
        Ok((media, track, events))
    }

    /// Begins another attempt to fetch a track, under its own source ID. `None` unless the track is being
    /// fetched under `previous_source`. Emits no event: clients see no change.
    pub fn begin_track_attempt(
        mut self,
        id: TrackId,
        previous_source: SourceId,
        source: SourceId,
    ) -> Option<Self> {
        self.preparing_track_mut(id, previous_source)?.state = AddedTrackState::Preparing { source };
        Some(self)
    }

    /// Marks a track as available after its fetch. `None` unless the track is being fetched under `source`.
    pub fn finish_track(
        mut self,
        id: TrackId,
        source: SourceId,
        now: Timestamp,
    ) -> Option<(Self, TrackEvents)> {
        let track = self.preparing_track_mut(id, source)?;
        (track.state, track.cut_from) = (AddedTrackState::Available { source }, None);
        Some(self.track_events(&[TrackEventKind::Ready], id, now))
    }

    /// Marks a track as failed after its last fetch. `None` as in [`Media::finish_track`].
    pub fn fail_track(
        mut self,
        id: TrackId,
        source: SourceId,
        failure: Failure,
        now: Timestamp,
    ) -> Option<(Self, TrackEvents)> {
        let track = self.preparing_track_mut(id, source)?;
        (track.state, track.cut_from) = (AddedTrackState::Failed { failure }, None);
        Some(self.track_events(&[TrackEventKind::Failed], id, now))
    }

    /// The event of a change of one of its tracks, with a snapshot of the media.
    pub fn track_event(&self, kind: TrackEventKind, track: TrackId, now: Timestamp) -> Event {
        self.event(EventKind::Track(Box::new(TrackEvent { kind, track, media: self.clone() })), now)
    }

    fn track_events(self, kinds: &[TrackEventKind], track: TrackId, now: Timestamp) -> (Self, TrackEvents) {
        let (media, updated) = self.with_update_event(now);
        let events = kinds.iter().map(|what| media.track_event(*what, track, now));
        let events = events.chain([updated]).collect();
        (media, TrackEvents { track, events })
    }

    fn preparing_track_mut(&mut self, id: TrackId, source: SourceId) -> Option<&mut AddedTrack> {
        self.added_tracks.iter_mut().find(|track| track.id == id && track.preparing() == Some(source))
    }

    fn track_index(&self, id: TrackId) -> Result<usize, TrackRejected> {
        let index = self.added_tracks.iter().position(|track| track.id == id);
        index.ok_or_else(|| {
            let is_own = match &self.state {
                MediaState::Ready { facts, .. } => facts.tracks.iter().any(|track| track.id == id),
                _ => false,
            };
            if is_own { TrackRejected::PartOfSource } else { TrackRejected::Unknown }
        })
    }

    /// Whether a track of this kind, other than `except`, has the name (C-158).
    fn is_name_taken(&self, kind: AddedTrackKind, name: &str, except: Option<TrackId>) -> bool {
        let others =
            self.added_tracks.iter().filter(|track| Some(track.id) != except && track.spec.kind == kind);
        others.map(|track| track.spec.language_name.as_str()).any(|used| used == name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, created, source};
    use super::*;
    use crate::FailureCode;

    struct Counting(std::sync::atomic::AtomicU8);

    impl Random for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        }
    }

    fn random() -> Counting {
        Counting(0.into())
    }

    fn new_track(name: &str) -> NewTrack {
        NewTrack {
            kind: AddedTrackKind::Subtitle,
            url: "https://example.com/a.srt".into(),
            language_code: "en".into(),
            language_name: name.into(),
        }
    }

    fn update(url: Option<&str>, name: &str) -> TrackUpdate {
        TrackUpdate {
            url: url.map(str::to_owned),
            language_code: Some("en".into()),
            language_name: Some(name.into()),
        }
    }

    fn names(events: &TrackEvents) -> Vec<&'static str> {
        events.events.iter().map(|event| event.kind.name()).collect()
    }

    #[test]
    fn track_lifecycle_emits_track_then_media_events() {
        let random = random();
        let track = AddedTrack::new(new_track("English"), at(2), &random);
        let (id, source) = (track.id, track.preparing().unwrap());
        let (media, events) = created().add_track(track, at(2)).unwrap();
        assert_eq!(names(&events), ["video.media.track.created", "video.media.updated"]);
        assert_eq!((media.updated_at, media.has_subtitles()), (at(2), false));
        let (media, events) = media.finish_track(id, source, at(3)).unwrap();
        assert_eq!(names(&events), ["video.media.track.ready", "video.media.updated"]);
        assert_eq!(
            (events.track, &events.events[0]),
            (id, &media.track_event(TrackEventKind::Ready, id, at(3)))
        );
        assert_eq!((media.has_subtitles(), media.added_tracks[0].available()), (true, Some(source)));
        assert!(media.clone().finish_track(id, source, at(4)).is_none(), "it waits for nothing");
        let (media, track, events) = media.remove_track(id, at(5)).unwrap();
        assert_eq!(names(&events), ["video.media.track.deleted", "video.media.updated"]);
        assert_eq!((media.added_tracks.len(), track.id), (0, id));
        assert_eq!(media.remove_track(id, at(6)).unwrap_err(), TrackRejected::Unknown);
    }

    #[test]
    fn settled_or_replaced_track_is_cut_from_nothing() {
        let random = random();
        let track =
            AddedTrack { cut_from: Some(source(9)), ..AddedTrack::new(new_track("English"), at(2), &random) };
        let (id, own) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0;
        let failure = Failure::new(FailureCode::NotSubtitles, "a page");
        let change = |change| media.clone().update_track(id, change, at(3), &random).unwrap().0;
        for changed in [
            media.clone().finish_track(id, own, at(3)).unwrap().0,
            media.clone().fail_track(id, own, failure, at(3)).unwrap().0,
            change(update(Some("https://b.example/"), "English")),
        ] {
            assert_eq!(changed.added_tracks[0].cut_from, None);
        }
        assert_eq!(change(update(None, "Englisch")).added_tracks[0].cut_from, Some(source(9)));
    }

    #[test]
    fn new_track_attempt_supersedes_the_previous() {
        let random = random();
        let track =
            AddedTrack::new(NewTrack { kind: AddedTrackKind::Audio, ..new_track("English") }, at(2), &random);
        let (id, first) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0;
        assert!(media.clone().begin_track_attempt(id, source(9), source(8)).is_none());
        let media = media.begin_track_attempt(id, first, source(8)).unwrap();
        assert_eq!((media.added_tracks[0].preparing(), media.updated_at), (Some(source(8)), at(2)));
        assert!(media.clone().finish_track(id, first, at(3)).is_none());
        let media = media.finish_track(id, source(8), at(3)).unwrap().0;
        assert_eq!((media.has_subtitles(), media.added_tracks[0].available()), (false, Some(source(8))));
        assert!(media.begin_track_attempt(id, source(8), source(9)).is_none(), "it waits for nothing");
    }

    #[test]
    fn only_current_source_completes_track() {
        let random = random();
        let track = AddedTrack::new(new_track("English"), at(2), &random);
        let (id, first) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0;
        let failure = Failure::new(FailureCode::SourceNotFound, "gone");
        assert!(media.clone().finish_track(id, source(9), at(3)).is_none());
        assert!(
            media.clone().fail_track(TrackId::new(at(9), &random), first, failure.clone(), at(3)).is_none()
        );
        // With another address, the track waits for that one only.
        let (media, events) =
            media.update_track(id, update(Some("https://b.example/"), "B"), at(4), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        let second = media.added_tracks[0].preparing().unwrap();
        assert_ne!(first, second);
        assert!(media.clone().finish_track(id, first, at(5)).is_none());
        let (media, events) = media.fail_track(id, second, failure.clone(), at(5)).unwrap();
        assert_eq!(names(&events), ["video.media.track.failed", "video.media.updated"]);
        assert_eq!(
            (media.added_tracks[0].source(), &media.added_tracks[0].state),
            (None, &AddedTrackState::Failed { failure })
        );
        assert!(media.finish_track(id, second, at(6)).is_none());
    }

    #[test]
    fn track_update_without_url_keeps_file_noop_emits_none() {
        let random = random();
        let track = AddedTrack::new(new_track("English"), at(2), &random);
        let (id, source) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0.finish_track(id, source, at(3)).unwrap().0;
        let (same, events) = media.clone().update_track(id, update(None, "English"), at(4), &random).unwrap();
        assert_eq!((same, events), (media.clone(), None));
        let (media, events) = media.update_track(id, update(None, "Englisch"), at(4), &random).unwrap();
        let events = events.unwrap();
        assert_eq!(
            names(&events),
            ["video.media.track.updated", "video.media.track.ready", "video.media.updated"]
        );
        assert_eq!(events.events[1], media.track_event(TrackEventKind::Ready, id, at(4)), "as it is now");
        assert_eq!(
            (media.added_tracks[0].available(), &*media.added_tracks[0].spec.language_name),
            (Some(source), "Englisch")
        );
        // The same address is fetched again: its content may have changed.
        let (media, events) = media
            .update_track(id, update(Some("https://example.com/a.srt"), "Englisch"), at(5), &random)
            .unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        // While it is fetched, or after that failed, the track is not ready.
        let second = media.added_tracks[0].preparing().unwrap();
        let (media, events) = media.update_track(id, update(None, "English"), at(6), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        assert_eq!(media.added_tracks[0].preparing(), Some(second), "it is fetched on");
        let failure = Failure::new(FailureCode::SourceNotFound, "gone");
        let media = media.fail_track(id, second, failure, at(7)).unwrap().0;
        let (_, events) = media.update_track(id, update(None, "Englisch"), at(8), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
    }

    #[test]
    fn omitted_track_fields_are_unchanged() {
        let random = random();
        let track = AddedTrack::new(new_track("English"), at(2), &random);
        let id = track.id;
        let media = created().add_track(track, at(2)).unwrap().0;
        let change = |update| media.clone().update_track(id, update, at(3), &random).unwrap();
        let (same, events) = change(TrackUpdate::default());
        assert_eq!((&same, events), (&media, None));
        let expect = |update, code: &str, name: &str| {
            let (changed, events) = change(update);
            let expected =
                NewTrack { language_code: code.into(), language_name: name.into(), ..new_track("English") };
            assert_eq!((&changed.added_tracks[0].spec, events.is_some()), (&expected, true));
            assert_eq!(changed.added_tracks[0].state, media.added_tracks[0].state);
        };
        expect(TrackUpdate { language_code: Some("de".into()), ..TrackUpdate::default() }, "de", "English");
        expect(TrackUpdate { language_name: Some("B".into()), ..TrackUpdate::default() }, "en", "B");
        let url = "https://b.example/".to_owned();
        let fetched = change(TrackUpdate { url: Some(url.clone()), ..TrackUpdate::default() }).0;
        assert_eq!(fetched.added_tracks[0].spec, NewTrack { url, ..new_track("English") });
    }

    #[test]
    fn track_names_are_unique_and_limited() {
        let random = random();
        let mut media = created();
        for number in 0..Media::ADDED_TRACKS_MAX {
            let name = number.to_string();
            let duplicate = AddedTrack::new(new_track("0"), at(2), &random);
            if number > 0 {
                assert_eq!(media.clone().add_track(duplicate, at(2)).unwrap_err(), TrackRejected::NameTaken);
            }
            media = media.add_track(AddedTrack::new(new_track(&name), at(2), &random), at(2)).unwrap().0;
        }
        let more = AddedTrack::new(new_track("more"), at(2), &random);
        assert_eq!(media.clone().add_track(more, at(2)).unwrap_err(), TrackRejected::TooMany);
        let id = media.added_tracks[1].id;
        assert_eq!(
            media.clone().update_track(id, update(None, "0"), at(3), &random).unwrap_err(),
            TrackRejected::NameTaken
        );
        assert!(media.update_track(id, update(None, "1"), at(3), &random).is_ok(), "its own");
    }
}
