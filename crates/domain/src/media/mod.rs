//! The media a client owns, and the moves of its life.

mod added;
mod change;
mod facts;
mod files;
mod mp4_support;
mod playback;
mod report;
mod settings;
mod sound;
mod state;

pub use added::{
    AddedTrack, AddedTrackKind, AddedTrackState, NewTrack, TrackEvents, TrackRefused, TrackUpdate,
};
pub use change::{Change, MediaChange};
pub use facts::{AspectRatio, FrameRate, LeftOutTrack, MediaDuration, MediaFacts, Track, TrackKind};
pub use mp4_support::{Mp4Refusal, Mp4Support};
pub use playback::{NewRestriction, TooManyPlaybackIds};
pub use report::{NotCopied, NotCopiedReason, OfferedRendition, PlaybackReport, WithheldTrack};
pub use settings::{Input, MediaQuality, MediaSettings};
pub use sound::{SoundEdit, SoundOverlay};
pub use state::{MediaState, WrongState};

use crate::{
    AccessPolicy, AccessRestrictions, Encryption, Event, EventKind, Failure, InputId, MediaId, NewPlayback,
    PlaybackHandle, PresentationId, Random, SourceId, Timestamp, Upload, WorkspaceId,
};

/// One video or audio that a client owns.
#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    /// Its id.
    pub id: MediaId,
    /// Whose it is.
    pub workspace: WorkspaceId,
    /// What the client asked for.
    pub settings: MediaSettings,
    /// Where it comes from.
    pub inputs: Vec<Input>,
    /// Tracks that were added beside those of its source, oldest first.
    pub added: Vec<AddedTrack>,
    /// Through what it is watched, oldest first.
    pub playback: Vec<PlaybackHandle>,
    /// The moment whose picture stands for it, in milliseconds since its start; `None`: a picture near its
    /// middle does.
    pub thumbnail_ms: Option<u64>,
    /// What that picture looks like from afar, as BlurHash. Known of a media that was read, not part of it:
    /// saving changes nothing.
    pub blur_hash: Option<String>,
    /// Where it stands, with what belongs to that.
    pub state: MediaState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the saves; the store refuses to save over a version that moved meanwhile.
    pub version: i64,
}

/// What it takes to create a media from an address.
#[derive(Debug, Clone)]
pub struct NewMedia {
    /// Whose it will be.
    pub workspace: WorkspaceId,
    /// What the client asked for.
    pub settings: MediaSettings,
    /// Address of the video or audio, checked for its syntax.
    pub url: String,
    /// Who may watch.
    pub policy: AccessPolicy,
    /// Where and in what.
    pub restrictions: AccessRestrictions,
    /// How what plays is encrypted on its way.
    pub encryption: Encryption,
    /// What is added to what the file holds: at most [`Media::ADDED_TRACKS_MAX`], no two of one kind with the
    /// same name.
    pub tracks: Vec<NewTrack>,
}

impl Media {
    /// Registers a media that will be fetched from an address. Its playback ID is usable from now on. What is
    /// added to it is told of by events of its own, [`Media::track_event`].
    pub fn create(new: NewMedia, now: Timestamp, random: &dyn Random) -> (Self, Event) {
        Self::register(MediaId::new(now, random), new, now, random)
    }

    /// Registers the media that a direct upload becomes. `address` is the upload's without its signature
    /// (C-6).
    pub(crate) fn of_upload(
        upload: &Upload,
        address: String,
        now: Timestamp,
        random: &dyn Random,
    ) -> (Self, Event) {
        let Upload { workspace, settings, policy, restrictions, encryption, tracks, .. } = upload.clone();
        let new = NewMedia { workspace, settings, url: address, policy, restrictions, encryption, tracks };
        Self::register(upload.id, new, now, random)
    }

    fn register(id: MediaId, new: NewMedia, now: Timestamp, random: &dyn Random) -> (Self, Event) {
        let NewMedia { policy, restrictions, encryption, .. } = new;
        let playback = NewPlayback { policy, restrictions, resolution: None, encryption };
        let media = Self {
            id,
            workspace: new.workspace,
            settings: new.settings,
            inputs: vec![Input { id: InputId::new(now, random), url: new.url }],
            added: new.tracks.into_iter().map(|track| AddedTrack::new(track, now, random)).collect(),
            playback: vec![PlaybackHandle::new(playback, now, random)],
            thumbnail_ms: None,
            blur_hash: None,
            state: MediaState::Created,
            created_at: now,
            updated_at: now,
            version: 0,
        };
        let event = media.event(EventKind::MediaCreated(Box::new(media.clone())), now);
        (media, event)
    }

    /// An attempt to fetch begins; its bytes go under `source`. An earlier attempt that broke off is left
    /// behind.
    pub fn start_download(mut self, source: SourceId, now: Timestamp) -> Result<Self, WrongState> {
        match self.state {
            MediaState::Created | MediaState::Downloading { .. } => {
                self.state = MediaState::Downloading { started_at: now, source };
                self.updated_at = now.max(self.updated_at);
                Ok(self)
            }
            _ => Err(self.wrong_state("start the download of")),
        }
    }

    /// Ends the processing well. Only the attempt that is under way can end it.
    pub fn finish(
        mut self,
        source: SourceId,
        facts: MediaFacts,
        now: Timestamp,
    ) -> Result<(Self, Event), WrongState> {
        match self.state {
            MediaState::Downloading { source: current, .. } if current == source => {
                self.state = MediaState::Ready { ready_at: now, source, facts };
                self.updated_at = now.max(self.updated_at);
                let event = self.event(EventKind::MediaReady(Box::new(self.clone())), now);
                Ok((self, event))
            }
            _ => Err(self.wrong_state("finish")),
        }
    }

    /// The file of its direct upload is whole. What it is will be told by the next event.
    pub fn uploaded(&self, now: Timestamp) -> Event {
        self.event(EventKind::UploadCompleted(Box::new(self.clone())), now)
    }

    /// Ends the processing of a direct upload well. The caller has made sure that `source` is the upload's.
    pub fn finish_upload(
        mut self,
        source: SourceId,
        facts: MediaFacts,
        now: Timestamp,
    ) -> Result<(Self, Event), WrongState> {
        let MediaState::Created = self.state else { return Err(self.wrong_state("finish")) };
        self.state = MediaState::Ready { ready_at: now, source, facts };
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaReady(Box::new(self.clone())), now);
        Ok((self, event))
    }

    /// Ends the processing with a reason.
    pub fn fail(mut self, failure: Failure, now: Timestamp) -> Result<(Self, Event), WrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("fail"));
        }
        self.state = MediaState::Failed { failed_at: now, failure };
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaFailed(Box::new(self.clone())), now);
        Ok((self, event))
    }

    /// Takes back the copy of a source that turned out not to decode; the media stays ready
    /// (C-36: updated).
    pub fn withdraw_copy(mut self, tried: SourceId, now: Timestamp) -> Result<(Self, Event), WrongState> {
        match &mut self.state {
            MediaState::Ready { source, facts, .. } if *source == tried && !facts.does_not_decode => {
                facts.does_not_decode = true;
                Ok(self.changed(now))
            }
            _ => Err(self.wrong_state("withdraw the copy of")),
        }
    }

    /// Takes the facts of an index that was made anew from the same source. The media stays ready, its tracks
    /// keep their ids, and a copy that does not decode stays withdrawn. `None`: nothing changed.
    pub fn reindex(
        mut self,
        read: SourceId,
        found: MediaFacts,
        now: Timestamp,
    ) -> Result<Option<(Self, Event)>, WrongState> {
        match &mut self.state {
            MediaState::Ready { source, facts, .. } if *source == read => {
                let found = found.in_place_of(facts);
                if found == *facts {
                    return Ok(None);
                }
                *facts = found;
                Ok(Some(self.changed(now)))
            }
            _ => Err(self.wrong_state("reindex")),
        }
    }

    /// Says that the media is gone. The caller removes its rows in the same commit and its objects after it.
    pub fn delete(self, now: Timestamp) -> Event {
        let event = self.event(EventKind::MediaDeleted(self.id), now);
        drop(self);
        event
    }

    /// Whether its one ready or failed event has been written.
    pub fn is_settled(&self) -> bool {
        matches!(self.state, MediaState::Ready { .. } | MediaState::Failed { .. })
    }

    /// The attempt whose objects belong to it now.
    pub fn source(&self) -> Option<SourceId> {
        match &self.state {
            MediaState::Downloading { source, .. } | MediaState::Ready { source, .. } => Some(*source),
            MediaState::Created | MediaState::Failed { .. } => None,
        }
    }

    /// What players are shown of it, once there is something.
    pub fn presentation(&self) -> Option<PresentationId> {
        self.source().map(PresentationId::of)
    }

    fn event(&self, kind: EventKind, at: Timestamp) -> Event {
        Event { workspace: self.workspace, kind, at }
    }

    fn wrong_state(&self, action: &'static str) -> WrongState {
        WrongState { action, found: self.state.name() }
    }
}

#[cfg(test)]
pub(crate) mod tests;
