//! The media a client owns, and the transitions of its life cycle.

mod added_tracks;
mod audio_edit;
mod clip;
mod duration;
mod facts;
mod loudness;
mod mp4_support;
mod optimize_audio;
mod playback_ids;
mod playback_report;
mod settings;
mod source_access;
mod state;
mod timeline_edit;
mod update;
mod watermark;

pub use added_tracks::{
    AddedTrack, AddedTrackKind, AddedTrackState, NewTrack, TrackEvents, TrackRejected, TrackUpdate,
};
pub use audio_edit::{AudioEdit, AudioOverlay};
pub use clip::{ClipOf, ClipRejected};
pub use duration::MediaDuration;
pub use facts::{AspectRatio, FrameRate, LeftOutTrack, MediaFacts, Track, TrackKind};
pub use loudness::{AudioGain, Centibels, Loudness, LoudnessTarget, MediaLoudness, TrackLoudness};
pub use mp4_support::{Mp4Rejected, Mp4Support};
pub use optimize_audio::AudioLevels;
pub use playback_ids::{RestrictionUpdate, TooManyPlaybackIds};
pub use playback_report::{NotCopied, NotCopiedReason, NotCopiedTrack, OfferedRendition, PlaybackReport};
pub use settings::{Input, MediaQuality, MediaSettings};
pub use state::{MediaState, WrongState};
pub use timeline_edit::{BaseRange, EditRejected, FileRole, Insert, InsertPoint, TimelineEdit, TimelinePart};
pub use update::{Change, MediaChange};
pub use watermark::{Watermark, WatermarkAlign, WatermarkLength, WatermarkPlacement, WatermarkSize};

use crate::{
    AccessPolicy, AccessRestrictions, EditKind, Encryption, Event, EventKind, Failure, InputId, MediaId,
    NewPlaybackId, PlaybackIdSettings, PresentationId, Random, SourceId, Timestamp, Upload, WorkspaceId,
};

/// One video or audio that a client owns.
#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    /// Its ID.
    pub id: MediaId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The client's settings.
    pub settings: MediaSettings,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// The media that it was cut from; `None` if it is no clip.
    pub clip_of: Option<ClipOf>,
    /// The source with the file of an edited media; `None` if it is [`Media::source`]. The own source of an
    /// edited media has only an index, and what is derived from it.
    pub original: Option<SourceId>,
    /// Where the ranges of its base play, in order; empty without an edit of the timeline. Snapshots in
    /// events have none.
    pub base_ranges: Vec<BaseRange>,
    /// The loudness of its audio; `None` until it is measured. Snapshots in events have none.
    pub loudness: Option<MediaLoudness>,
    /// Tracks in addition to those of its source, oldest first.
    pub added_tracks: Vec<AddedTrack>,
    /// Its playback IDs, oldest first.
    pub playback_ids: Vec<PlaybackIdSettings>,
    /// The position of the thumbnail, in milliseconds since the start; `None`: a frame near the middle.
    pub thumbnail_ms: Option<u64>,
    /// The BlurHash of the thumbnail. Filled when the media is read; a save ignores it.
    pub blur_hash: Option<String>,
    /// Its state, with the data of that state.
    pub state: MediaState,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Number of saves. The store rejects a save if the stored version has changed since the read.
    pub version: i64,
}

/// The arguments for a media from an address.
#[derive(Debug, Clone)]
pub struct NewMedia {
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The client's settings.
    pub settings: MediaSettings,
    /// Address of the video or audio file, with valid syntax.
    pub url: String,
    /// The media that it is cut from, instead of a file at the address; see [`Media::cut_from`].
    pub clip_of: Option<MediaId>,
    /// The access policy.
    pub policy: AccessPolicy,
    /// Restrictions by page and by player.
    pub restrictions: AccessRestrictions,
    /// The encryption of its files on the way to viewers.
    pub encryption: Encryption,
    /// Tracks in addition to those of the file: at most [`Media::ADDED_TRACKS_MAX`], with unique names per
    /// kind.
    pub tracks: Vec<NewTrack>,
}

impl Media {
    /// Registers a media to fetch from an address. Its playback ID is usable from now on. Added tracks have
    /// their own events, see [`Media::track_event`].
    pub fn create(new: NewMedia, now: Timestamp, random: &dyn Random) -> (Self, Event) {
        Self::register(MediaId::new(now, random), new, now, random)
    }

    /// Registers the media of a direct upload. `address` is the upload's address without its signature
    /// (C-6).
    pub(crate) fn of_upload(
        upload: &Upload,
        address: String,
        now: Timestamp,
        random: &dyn Random,
    ) -> (Self, Event) {
        let Upload { workspace, settings, policy, restrictions, encryption, tracks, .. } = upload.clone();
        let new = NewMedia {
            workspace,
            settings,
            url: address,
            clip_of: None,
            policy,
            restrictions,
            encryption,
            tracks,
        };
        Self::register(upload.id, new, now, random)
    }

    fn register(id: MediaId, new: NewMedia, now: Timestamp, random: &dyn Random) -> (Self, Event) {
        let NewMedia { policy, restrictions, encryption, .. } = new;
        let is_on_base = new.clip_of.is_some() || new.settings.timeline_edit.is_some();
        let added_track = |track| AddedTrack { is_on_base, ..AddedTrack::new(track, now, random) };
        let added_tracks = new.tracks.into_iter().map(added_track).collect();
        let playback = NewPlaybackId { policy, restrictions, resolution: None, encryption };
        let media = Self {
            id,
            workspace: new.workspace,
            settings: new.settings,
            inputs: vec![Input { id: InputId::new(now, random), url: new.url }],
            clip_of: None,
            original: None,
            base_ranges: Vec::new(),
            loudness: None,
            added_tracks,
            playback_ids: vec![PlaybackIdSettings::new(playback, now, random)],
            thumbnail_ms: None,
            blur_hash: None,
            state: MediaState::Created,
            created_at: now,
            updated_at: now,
            version: 0,
        };
        let event = media.created_event(now);
        (media, event)
    }

    /// The event that the media was registered.
    pub fn created_event(&self, now: Timestamp) -> Event {
        self.event(EventKind::MediaCreated(Box::new(self.clone())), now)
    }

    /// Begins a download attempt; its bytes are stored under `source`. An earlier unfinished attempt is
    /// abandoned.
    pub fn start_download(mut self, source: SourceId, now: Timestamp) -> Result<Self, WrongState> {
        match self.state {
            MediaState::Created | MediaState::Downloading { .. } => {
                self.state = MediaState::Downloading { started_at: now, source };
                self.original = None;
                self.updated_at = now.max(self.updated_at);
                Ok(self)
            }
            _ => Err(self.wrong_state("start the download of")),
        }
    }

    /// Begins an attempt to edit the timeline: the index of the edited media is stored under `source`, and
    /// refers to the files. `original` has the file of the base. An earlier unfinished attempt is abandoned.
    /// Errors: `WrongState` if the media is ready or failed.
    pub fn begin_edit(
        mut self,
        source: SourceId,
        original: SourceId,
        now: Timestamp,
    ) -> Result<Self, WrongState> {
        match self.state {
            MediaState::Created | MediaState::Downloading { .. } => {
                self.state = MediaState::Downloading { started_at: now, source };
                self.original = Some(original);
                self.updated_at = now.max(self.updated_at);
                Ok(self)
            }
            _ => Err(self.wrong_state("begin the edit of")),
        }
    }

    /// The events of its edits. They accompany the event that the media is ready (C-188). Audio alone has no
    /// watermark.
    pub fn edit_events(&self, now: Timestamp) -> Vec<Event> {
        let MediaState::Ready { facts, .. } = &self.state else { return Vec::new() };
        let is_shown = |kind: &EditKind| *kind != EditKind::Watermark || !facts.is_audio_only();
        let kinds = EditKind::ALL.into_iter().filter(|kind| kind.is_in(&self.settings)).filter(is_shown);
        kinds.map(|kind| self.event(EventKind::EditReady(kind, Box::new(self.clone())), now)).collect()
    }

    /// Makes the media ready. Only the current download attempt can do so.
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

    /// The event that the file of its direct upload is complete. The outcome is the next event.
    pub fn upload_completed_event(&self, now: Timestamp) -> Event {
        self.event(EventKind::UploadCompleted(Box::new(self.clone())), now)
    }

    /// Makes the media of a direct upload ready. The caller has verified that `source` is the upload's. For
    /// an edited media it is that of the current attempt.
    pub fn finish_upload(
        mut self,
        source: SourceId,
        facts: MediaFacts,
        now: Timestamp,
    ) -> Result<(Self, Event), WrongState> {
        match self.state {
            MediaState::Created => {}
            MediaState::Downloading { source: current, .. } if current == source => {}
            _ => return Err(self.wrong_state("finish")),
        }
        self.state = MediaState::Ready { ready_at: now, source, facts };
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaReady(Box::new(self.clone())), now);
        Ok((self, event))
    }

    /// Ends the processing with a failure.
    pub fn fail(mut self, failure: Failure, now: Timestamp) -> Result<(Self, Event), WrongState> {
        if self.is_ready_or_failed() {
            return Err(self.wrong_state("fail"));
        }
        self.state = MediaState::Failed { failed_at: now, failure };
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaFailed(Box::new(self.clone())), now);
        Ok((self, event))
    }

    /// Withdraws the copy of a source that does not decode; the media stays ready (C-36: updated).
    pub fn withdraw_copy(
        mut self,
        undecodable_source: SourceId,
        now: Timestamp,
    ) -> Result<(Self, Event), WrongState> {
        match &mut self.state {
            MediaState::Ready { source, facts, .. }
                if *source == undecodable_source && !facts.does_not_decode =>
            {
                facts.does_not_decode = true;
                Ok(self.with_update_event(now))
            }
            _ => Err(self.wrong_state("withdraw the copy of")),
        }
    }

    /// Replaces its facts by those of a new index of the same source. The media stays ready, its tracks keep
    /// their IDs, and a copy that does not decode stays withdrawn. `None`: nothing changed.
    pub fn reindex(
        mut self,
        indexed_source: SourceId,
        indexed_facts: MediaFacts,
        now: Timestamp,
    ) -> Result<Option<(Self, Event)>, WrongState> {
        match &mut self.state {
            MediaState::Ready { source, facts, .. } if *source == indexed_source => {
                let found = indexed_facts.carry_over_from(facts);
                if found == *facts {
                    return Ok(None);
                }
                *facts = found;
                Ok(Some(self.with_update_event(now)))
            }
            _ => Err(self.wrong_state("reindex")),
        }
    }

    /// The event that the media is deleted. The caller deletes its rows in the same commit and its objects
    /// after it.
    pub fn deleted_event(self, now: Timestamp) -> Event {
        let event = self.event(EventKind::MediaDeleted(self.id), now);
        drop(self);
        event
    }

    /// Whether its one ready or failed event was emitted.
    pub fn is_ready_or_failed(&self) -> bool {
        matches!(self.state, MediaState::Ready { .. } | MediaState::Failed { .. })
    }

    /// The download attempt that owns its objects now.
    pub fn source(&self) -> Option<SourceId> {
        match &self.state {
            MediaState::Downloading { source, .. } | MediaState::Ready { source, .. } => Some(*source),
            MediaState::Created | MediaState::Failed { .. } => None,
        }
    }

    /// The source with the file as the client sent it.
    pub fn original(&self) -> Option<SourceId> {
        self.original.or_else(|| self.source())
    }

    /// The URLs of all files it is made from, with the type of their input, in the order of C-129.
    pub fn input_urls(&self) -> Vec<(&'static str, &str)> {
        let edit = self.settings.timeline_edit.iter();
        let audio = self.settings.audio_edit.iter();
        let overlays = audio.clone().flat_map(|edit| &edit.overlays).map(|overlay| ("audio", &*overlay.url));
        let fetched = self.added_tracks.iter().filter(|track| track.cut_from.is_none());
        let tracks = fetched.map(|track| (track.spec.kind.as_str(), &*track.spec.url));
        let videos = self.inputs.iter().map(|input| ("video", &*input.url));
        videos
            .chain(edit.flat_map(TimelineEdit::files).map(|(url, _)| ("video", url)))
            .chain(self.settings.watermark.iter().map(|watermark| ("watermark", &*watermark.url)))
            .chain(audio.flat_map(|edit| &edit.swap_url).map(|url| ("audio", url.as_str())))
            .chain(overlays)
            .chain(tracks)
            .collect()
    }

    /// Whether this ready media shows an image over its video, its own or that of the media it was cut from.
    pub fn has_watermark(&self) -> bool {
        let MediaState::Ready { facts, .. } = &self.state else { return false };
        let reasons = facts.tracks.iter().filter_map(|track| track.not_copied.as_ref());
        let is_drawn = reasons.into_iter().any(|why| why.reason == NotCopiedReason::Watermark);
        is_drawn || (self.settings.watermark.is_some() && !facts.is_audio_only())
    }

    /// The presentation for players, if there is one yet.
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
