//! Tracks that a client adds to a media, beside those of its source (C-155, D-0071, D-0079).

use super::{Media, MediaState};
use crate::{Event, EventKind, Failure, Random, SourceId, Timestamp, TrackEvent, TrackHappening, TrackId};

/// A track that comes from an address of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedTrack {
    /// Its id, the same for as long as it is there.
    pub id: TrackId,
    /// What the client wants it to be.
    pub wanted: NewTrack,
    /// Where it stands.
    pub state: AddedTrackState,
}

/// What it takes to add a track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrack {
    /// What it carries.
    pub kind: AddedTrackKind,
    /// The address it is fetched from, checked for its syntax.
    pub url: String,
    /// BCP 47 tag, as the client wrote it.
    pub language_code: String,
    /// What players show.
    pub language_name: String,
}

/// What an added track carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddedTrackKind {
    /// Sound that a viewer may choose in place of the source's own.
    Audio,
    /// Text that is shown.
    Subtitle,
}

/// Where an added track stands (C-160).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedTrackState {
    /// It is being fetched; nobody is offered it.
    Preparing {
        /// Where it will lie. One for each address that it was given, so that what an older one brings is
        /// told apart.
        source: SourceId,
    },
    /// Players are offered it.
    Available {
        /// Where it lies.
        source: SourceId,
    },
    /// It could not be fetched, or is of no use. The media is as it was.
    Failed {
        /// Why.
        failure: Failure,
    },
}

/// What a client wants to be another of a track. `None`: what is there stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrackUpdate {
    /// Fetched anew from here, even if it is the same.
    pub url: Option<String>,
    /// BCP 47 tag.
    pub language_code: Option<String>,
    /// What players show.
    pub language_name: Option<String>,
}

/// What is told of a change of one track.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackEvents {
    /// The one that is another, or gone.
    pub track: TrackId,
    /// What happened to it, and at last that its media is another (C-36), in the order in
    /// which it is told.
    pub told: Vec<Event>,
}

/// Why a media does not take a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrackRefused {
    /// It has as many as it can have.
    #[error("the media has {} tracks beside its own, and can have no more", Media::ADDED_TRACKS_MAX)]
    TooMany,
    /// Another track of this kind has the name.
    #[error("another track of this kind has the language name")]
    NameTaken,
    /// It is one of the source's own.
    #[error("the track is part of the media's file and cannot be changed")]
    OfSource,
    /// The media has no such track.
    #[error("the media has no such track")]
    Unknown,
}

impl AddedTrackKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Audio, Self::Subtitle];

    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Subtitle => "subtitle",
        }
    }

    /// The kind with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl AddedTrackState {
    /// All of their names.
    pub const NAMES: [&'static str; 3] = ["preparing", "available", "failed"];

    /// The state as clients and rows see it (C-160).
    pub fn name(&self) -> &'static str {
        match self {
            Self::Preparing { .. } => "preparing",
            Self::Available { .. } => "available",
            Self::Failed { .. } => "failed",
        }
    }
}

impl NewTrack {
    /// Characters of the longest language tag. RFC 5646, 4.4.1.
    pub const LANGUAGE_CODE_MAX: usize = 35;

    /// Whether a text has the form of a BCP 47 tag: `en`, `pt-BR`, `zh-Hant-TW`. Whether anybody speaks it is
    /// not looked up.
    ///
    /// It begins with two or three letters: longer languages are allowed by RFC 5646, 2.2.1, and none was
    /// ever registered; a name such as `English` is one by mistake.
    pub fn is_language_code(text: &str) -> bool {
        let mut subtags = text.split('-');
        let is_language = |primary: &str| {
            (2..=3).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        let is_subtag = |subtag: &str| {
            (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        text.len() <= Self::LANGUAGE_CODE_MAX
            && subtags.next().is_some_and(is_language)
            && subtags.all(is_subtag)
    }
}

impl AddedTrack {
    /// A track that is yet to be fetched.
    pub fn new(wanted: NewTrack, now: Timestamp, random: &dyn Random) -> Self {
        let source = SourceId::new(now, random);
        Self { id: TrackId::new(now, random), wanted, state: AddedTrackState::Preparing { source } }
    }

    /// Where its bytes lie, or will.
    pub fn source(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Preparing { source } | AddedTrackState::Available { source } => Some(source),
            AddedTrackState::Failed { .. } => None,
        }
    }

    /// Where its bytes lie, once players may have them.
    pub fn available(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Available { source } => Some(source),
            _ => None,
        }
    }

    /// Where its bytes will lie, while it is fetched.
    pub fn preparing(&self) -> Option<SourceId> {
        match self.state {
            AddedTrackState::Preparing { source } => Some(source),
            _ => None,
        }
    }
}

impl Media {
    /// Most tracks that are added to one media: whoever reads it reads all of them, and each is a line of its
    /// manifest (D-0071).
    pub const ADDED_TRACKS_MAX: usize = 100;

    /// The added track with this id.
    pub fn added_track(&self, id: TrackId) -> Option<&AddedTrack> {
        self.added.iter().find(|track| track.id == id)
    }

    /// Whether players are offered subtitles.
    pub fn has_subtitles(&self) -> bool {
        let is_shown =
            |track: &AddedTrack| track.wanted.kind == AddedTrackKind::Subtitle && track.available().is_some();
        self.added.iter().any(is_shown)
    }

    /// Adds a track that is yet to be fetched, as the last one.
    pub fn add_track(
        mut self,
        track: AddedTrack,
        now: Timestamp,
    ) -> Result<(Self, TrackEvents), TrackRefused> {
        if self.added.len() >= Self::ADDED_TRACKS_MAX {
            return Err(TrackRefused::TooMany);
        }
        let NewTrack { kind, language_name, .. } = &track.wanted;
        if self.is_name_taken(*kind, language_name, None) {
            return Err(TrackRefused::NameTaken);
        }
        let id = track.id;
        self.added.push(track);
        Ok(self.told(&[TrackHappening::Created], id, now))
    }

    /// Changes a track. With an address it is fetched anew, and what was shown of it is shown no more;
    /// `random` names where that will lie. Without one a track that players are offered is ready as it is,
    /// and that is told at once: whoever waits for it would wait for ever (C-156). Without events
    /// nothing is another than before.
    pub fn update_track(
        mut self,
        id: TrackId,
        update: TrackUpdate,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(Self, Option<TrackEvents>), TrackRefused> {
        let at = self.place_of(id)?;
        let before = self.added[at].clone();
        let TrackUpdate { url, language_code, language_name } = update;
        let track = &mut self.added[at];
        track.wanted.language_code = language_code.unwrap_or_else(|| before.wanted.language_code.clone());
        track.wanted.language_name = language_name.unwrap_or_else(|| before.wanted.language_name.clone());
        if let Some(url) = url {
            track.wanted.url = url;
            track.state = AddedTrackState::Preparing { source: SourceId::new(now, random) };
        }
        if *track == before {
            return Ok((self, None));
        }
        let NewTrack { kind, language_name, .. } = &self.added[at].wanted;
        if self.is_name_taken(*kind, language_name, Some(id)) {
            return Err(TrackRefused::NameTaken);
        }
        let happened: &[_] = match self.added[at].available() {
            Some(_) => &[TrackHappening::Updated, TrackHappening::Ready],
            None => &[TrackHappening::Updated],
        };
        let (media, events) = self.told(happened, id, now);
        Ok((media, Some(events)))
    }

    /// Takes a track away.
    pub fn remove_track(
        mut self,
        id: TrackId,
        now: Timestamp,
    ) -> Result<(Self, AddedTrack, TrackEvents), TrackRefused> {
        let at = self.place_of(id)?;
        let track = self.added.remove(at);
        let (media, events) = self.told(&[TrackHappening::Deleted], id, now);
        Ok((media, track, events))
    }

    /// Another attempt to fetch a track begins, and keeps what comes under a source id of its own. `None`
    /// when the track waits for nothing, or for another source than `before`. Nobody is told: what clients
    /// see stays as it is.
    pub fn track_attempt(mut self, id: TrackId, before: SourceId, source: SourceId) -> Option<Self> {
        self.waiting_for(id, before)?.state = AddedTrackState::Preparing { source };
        Some(self)
    }

    /// What a track waits for is there. `None` when it waits for nothing, or for something else.
    pub fn track_ready(
        mut self,
        id: TrackId,
        source: SourceId,
        now: Timestamp,
    ) -> Option<(Self, TrackEvents)> {
        self.waiting_for(id, source)?.state = AddedTrackState::Available { source };
        Some(self.told(&[TrackHappening::Ready], id, now))
    }

    /// What a track waits for will never be there. `None` as in [`Media::track_ready`].
    pub fn track_failed(
        mut self,
        id: TrackId,
        source: SourceId,
        failure: Failure,
        now: Timestamp,
    ) -> Option<(Self, TrackEvents)> {
        self.waiting_for(id, source)?.state = AddedTrackState::Failed { failure };
        Some(self.told(&[TrackHappening::Failed], id, now))
    }

    /// What happened to one of its tracks, with the media as it is now.
    pub fn track_event(&self, what: TrackHappening, track: TrackId, now: Timestamp) -> Event {
        self.event(EventKind::Track(Box::new(TrackEvent { what, track, media: self.clone() })), now)
    }

    fn told(self, happened: &[TrackHappening], track: TrackId, now: Timestamp) -> (Self, TrackEvents) {
        let (media, updated) = self.changed(now);
        let events = happened.iter().map(|what| media.track_event(*what, track, now));
        let told = events.chain([updated]).collect();
        (media, TrackEvents { track, told })
    }

    fn waiting_for(&mut self, id: TrackId, source: SourceId) -> Option<&mut AddedTrack> {
        self.added.iter_mut().find(|track| track.id == id && track.preparing() == Some(source))
    }

    fn place_of(&self, id: TrackId) -> Result<usize, TrackRefused> {
        let at = self.added.iter().position(|track| track.id == id);
        at.ok_or_else(|| {
            let is_own = match &self.state {
                MediaState::Ready { facts, .. } => facts.tracks.iter().any(|track| track.id == id),
                _ => false,
            };
            if is_own { TrackRefused::OfSource } else { TrackRefused::Unknown }
        })
    }

    /// Whether a track of this kind, other than `but`, has the name.
    fn is_name_taken(&self, kind: AddedTrackKind, name: &str, but: Option<TrackId>) -> bool {
        let others = self.added.iter().filter(|track| Some(track.id) != but && track.wanted.kind == kind);
        others.map(|track| track.wanted.language_name.as_str()).any(|taken| taken == name)
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

    fn wanted(name: &str) -> NewTrack {
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
        events.told.iter().map(|event| event.kind.name()).collect()
    }

    #[test]
    fn a_track_is_prepared_available_and_gone_and_each_is_told_with_the_media_behind_it() {
        let random = random();
        let track = AddedTrack::new(wanted("English"), at(2), &random);
        let (id, source) = (track.id, track.preparing().unwrap());
        let (media, events) = created().add_track(track, at(2)).unwrap();
        assert_eq!(names(&events), ["video.media.track.created", "video.media.updated"]);
        assert_eq!((media.updated_at, media.has_subtitles()), (at(2), false));
        let (media, events) = media.track_ready(id, source, at(3)).unwrap();
        assert_eq!(names(&events), ["video.media.track.ready", "video.media.updated"]);
        assert_eq!(
            (events.track, &events.told[0]),
            (id, &media.track_event(TrackHappening::Ready, id, at(3)))
        );
        assert_eq!((media.has_subtitles(), media.added[0].available()), (true, Some(source)));
        assert!(media.clone().track_ready(id, source, at(4)).is_none(), "it waits for nothing");
        let (media, track, events) = media.remove_track(id, at(5)).unwrap();
        assert_eq!(names(&events), ["video.media.track.deleted", "video.media.updated"]);
        assert_eq!((media.added.len(), track.id), (0, id));
        assert_eq!(media.remove_track(id, at(6)).unwrap_err(), TrackRefused::Unknown);
    }

    #[test]
    fn each_attempt_has_a_source_of_its_own_and_ends_the_one_before() {
        let random = random();
        let track =
            AddedTrack::new(NewTrack { kind: AddedTrackKind::Audio, ..wanted("English") }, at(2), &random);
        let (id, first) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0;
        assert!(media.clone().track_attempt(id, source(9), source(8)).is_none());
        let media = media.track_attempt(id, first, source(8)).unwrap();
        assert_eq!((media.added[0].preparing(), media.updated_at), (Some(source(8)), at(2)));
        assert!(media.clone().track_ready(id, first, at(3)).is_none());
        let media = media.track_ready(id, source(8), at(3)).unwrap().0;
        assert_eq!((media.has_subtitles(), media.added[0].available()), (false, Some(source(8))));
        assert!(media.track_attempt(id, source(8), source(9)).is_none(), "it waits for nothing");
    }

    #[test]
    fn only_what_a_track_waits_for_ends_its_waiting() {
        let random = random();
        let track = AddedTrack::new(wanted("English"), at(2), &random);
        let (id, first) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0;
        let failure = Failure::new(FailureCode::SourceNotFound, "gone");
        assert!(media.clone().track_ready(id, source(9), at(3)).is_none());
        assert!(
            media.clone().track_failed(TrackId::new(at(9), &random), first, failure.clone(), at(3)).is_none()
        );
        // Given another address it waits for that.
        let (media, events) =
            media.update_track(id, update(Some("https://b.example/"), "B"), at(4), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        let second = media.added[0].preparing().unwrap();
        assert_ne!(first, second);
        assert!(media.clone().track_ready(id, first, at(5)).is_none());
        let (media, events) = media.track_failed(id, second, failure.clone(), at(5)).unwrap();
        assert_eq!(names(&events), ["video.media.track.failed", "video.media.updated"]);
        assert_eq!(
            (media.added[0].source(), &media.added[0].state),
            (None, &AddedTrackState::Failed { failure })
        );
        assert!(media.track_ready(id, second, at(6)).is_none());
    }

    #[test]
    fn an_update_without_an_address_keeps_the_file_which_is_ready_and_one_that_changes_nothing_is_not_told() {
        let random = random();
        let track = AddedTrack::new(wanted("English"), at(2), &random);
        let (id, source) = (track.id, track.preparing().unwrap());
        let media = created().add_track(track, at(2)).unwrap().0.track_ready(id, source, at(3)).unwrap().0;
        let (same, events) = media.clone().update_track(id, update(None, "English"), at(4), &random).unwrap();
        assert_eq!((same, events), (media.clone(), None));
        let (media, events) = media.update_track(id, update(None, "Englisch"), at(4), &random).unwrap();
        let events = events.unwrap();
        assert_eq!(
            names(&events),
            ["video.media.track.updated", "video.media.track.ready", "video.media.updated"]
        );
        assert_eq!(events.told[1], media.track_event(TrackHappening::Ready, id, at(4)), "as it is now");
        assert_eq!(
            (media.added[0].available(), &*media.added[0].wanted.language_name),
            (Some(source), "Englisch")
        );
        // The same address is fetched again: what lies there may be another.
        let (media, events) = media
            .update_track(id, update(Some("https://example.com/a.srt"), "Englisch"), at(5), &random)
            .unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        // While it is fetched, and when it could not be, it is not ready.
        let second = media.added[0].preparing().unwrap();
        let (media, events) = media.update_track(id, update(None, "English"), at(6), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
        assert_eq!(media.added[0].preparing(), Some(second), "it is fetched on");
        let failure = Failure::new(FailureCode::SourceNotFound, "gone");
        let media = media.track_failed(id, second, failure, at(7)).unwrap().0;
        let (_, events) = media.update_track(id, update(None, "Englisch"), at(8), &random).unwrap();
        assert_eq!(names(&events.unwrap()), ["video.media.track.updated", "video.media.updated"]);
    }

    #[test]
    fn what_an_update_does_not_say_stays() {
        let random = random();
        let track = AddedTrack::new(wanted("English"), at(2), &random);
        let id = track.id;
        let media = created().add_track(track, at(2)).unwrap().0;
        let change = |update| media.clone().update_track(id, update, at(3), &random).unwrap();
        let (same, events) = change(TrackUpdate::default());
        assert_eq!((&same, events), (&media, None));
        let expect = |update, code: &str, name: &str| {
            let (changed, events) = change(update);
            let expected =
                NewTrack { language_code: code.into(), language_name: name.into(), ..wanted("English") };
            assert_eq!((&changed.added[0].wanted, events.is_some()), (&expected, true));
            assert_eq!(changed.added[0].state, media.added[0].state);
        };
        expect(TrackUpdate { language_code: Some("de".into()), ..TrackUpdate::default() }, "de", "English");
        expect(TrackUpdate { language_name: Some("B".into()), ..TrackUpdate::default() }, "en", "B");
        let url = "https://b.example/".to_owned();
        let fetched = change(TrackUpdate { url: Some(url.clone()), ..TrackUpdate::default() }).0;
        assert_eq!(fetched.added[0].wanted, NewTrack { url, ..wanted("English") });
    }

    #[test]
    fn a_name_belongs_to_one_track_and_there_are_so_many() {
        let random = random();
        let mut media = created();
        for number in 0..Media::ADDED_TRACKS_MAX {
            let name = number.to_string();
            let taken = AddedTrack::new(wanted("0"), at(2), &random);
            if number > 0 {
                assert_eq!(media.clone().add_track(taken, at(2)).unwrap_err(), TrackRefused::NameTaken);
            }
            media = media.add_track(AddedTrack::new(wanted(&name), at(2), &random), at(2)).unwrap().0;
        }
        let more = AddedTrack::new(wanted("more"), at(2), &random);
        assert_eq!(media.clone().add_track(more, at(2)).unwrap_err(), TrackRefused::TooMany);
        let id = media.added[1].id;
        assert_eq!(
            media.clone().update_track(id, update(None, "0"), at(3), &random).unwrap_err(),
            TrackRefused::NameTaken
        );
        assert!(media.update_track(id, update(None, "1"), at(3), &random).is_ok(), "its own");
    }

    #[test]
    fn a_language_code_has_the_form_of_a_tag() {
        for code in ["en", "deu", "pt-BR", "zh-Hant-TW", "es-419", "und", "de-CH-1996"] {
            assert!(NewTrack::is_language_code(code), "{code}");
        }
        let long = "en-".to_owned() + &"a-".repeat(16) + "b";
        for code in ["", "e", "en_US", "en-", "-en", "12", "en-toolongtag", "English", "é", "en US", &long] {
            assert!(!NewTrack::is_language_code(code), "{code}");
        }
    }
}
