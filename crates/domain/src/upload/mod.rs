//! A direct upload: bytes that a client's device sends to a signed address, and the resulting media.
//!
//! An upload and its media have the same ID (C-7), so an upload has at most one media, even after retries.

mod origin;
mod state;
mod upload_claims;

pub use origin::CorsOrigin;
pub use state::{UploadState, UploadWrongState};
pub use upload_claims::{BadUploadAddress, UploadClaims};

use crate::{
    AccessPolicy, AccessRestrictions, Encryption, Event, EventKind, Failure, Media, MediaId, MediaSettings,
    NewTrack, Random, SourceId, Timestamp, WorkspaceId,
};

/// A direct upload.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    /// Its ID, and that of its media.
    pub id: MediaId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The settings of the media.
    pub settings: MediaSettings,
    /// The access policy of the media.
    pub policy: AccessPolicy,
    /// The restrictions by page and by player.
    pub restrictions: AccessRestrictions,
    /// The encryption of the media's files on the way to viewers.
    pub encryption: Encryption,
    /// Tracks in addition to those of the file.
    pub tracks: Vec<NewTrack>,
    /// The pages from which browsers may send.
    pub origin: CorsOrigin,
    /// Timeout in seconds until the first byte is stored, and then until the next one.
    pub timeout_s: u32,
    /// Size limit in bytes; `None`: no limit.
    pub size_max: Option<u64>,
    /// The source ID of its bytes. It stays the same for the whole life of an upload, so no other objects
    /// are stored under it.
    pub source: SourceId,
    /// Size of the whole file in bytes, once a client has announced it. It never changes after that.
    pub length: Option<u64>,
    /// Its state.
    pub state: UploadState,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Number of saves. The store rejects a save if the stored version has changed since the read.
    pub version: i64,
}

/// The arguments for a new upload.
#[derive(Debug, Clone)]
pub struct NewUpload {
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The settings of the media.
    pub settings: MediaSettings,
    /// The access policy of the media.
    pub policy: AccessPolicy,
    /// The restrictions by page and by player.
    pub restrictions: AccessRestrictions,
    /// The encryption of the media's files on the way to viewers.
    pub encryption: Encryption,
    /// Tracks in addition to those of the file, with the limits of [`NewMedia`](crate::NewMedia).
    pub tracks: Vec<NewTrack>,
    /// The pages from which browsers may send.
    pub origin: CorsOrigin,
    /// Timeout in seconds until the first byte is stored, and then until the next one.
    pub timeout_s: u32,
    /// Size limit in bytes; `None`: no limit.
    pub size_max: Option<u64>,
}

/// The reason why a length of the whole file is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LengthRejected {
    /// A different length was announced before.
    #[error("the upload was announced with {announced} bytes and cannot change its length")]
    Changed {
        /// The earlier length, in bytes.
        announced: u64,
    },
    /// The length is above the size limit.
    #[error("the file is larger than {max} bytes, the limit of this upload URL")]
    TooLarge {
        /// Size limit in bytes.
        max: u64,
    },
    /// The length is 0.
    #[error("the file is empty")]
    Empty,
    /// More bytes are already stored.
    #[error("{kept} bytes are stored already, more than the length")]
    BelowOffset {
        /// Number of stored bytes.
        kept: u64,
    },
}

impl Upload {
    /// Default timeout, in seconds: the sample value of the specification.
    pub const TIMEOUT_DEFAULT_S: u32 = 14_400;
    /// Shortest timeout that a client can set, in seconds: a user must select the file first.
    pub const TIMEOUT_MIN_S: u32 = 60;
    /// Longest life of an upload, in seconds, regardless of renewals; also the longest timeout (C-7).
    pub const LIFE_MAX_S: u32 = 7 * 24 * 60 * 60;
    /// Size limit of an upload through the deprecated path, in bytes (C-145).
    pub const DEPRECATED_SIZE_MAX: u64 = 500_000_000;

    /// Registers an upload that waits for its first byte.
    pub fn create(new: NewUpload, now: Timestamp, random: &dyn Random) -> (Self, Event) {
        let upload = Self {
            id: MediaId::new(now, random),
            workspace: new.workspace,
            settings: new.settings,
            policy: new.policy,
            restrictions: new.restrictions,
            encryption: new.encryption,
            tracks: new.tracks,
            origin: new.origin,
            timeout_s: new.timeout_s,
            size_max: new.size_max,
            source: SourceId::new(now, random),
            length: None,
            state: UploadState::Waiting,
            created_at: now,
            updated_at: now,
            version: 0,
        };
        let event = upload.event(EventKind::UploadRegistered(Box::new(upload.clone())), now);
        (upload, event)
    }

    /// The claims in its signed address.
    pub fn claims(&self) -> UploadClaims {
        UploadClaims {
            upload: self.id,
            workspace: self.workspace,
            expires_at: self.created_at.plus_seconds(i64::from(Self::LIFE_MAX_S)),
            size_max: self.size_max,
            origin: self.origin.clone(),
        }
    }

    /// The deadline for the next byte, within the life of the upload. `None` once it is settled.
    pub fn deadline(&self) -> Option<Timestamp> {
        let end = self.created_at.plus_seconds(i64::from(Self::LIFE_MAX_S));
        let timeout = i64::from(self.timeout_s);
        match self.state {
            UploadState::Waiting => Some(self.created_at.plus_seconds(timeout).min(end)),
            UploadState::Uploading { stored_at, .. } => Some(stored_at.plus_seconds(timeout).min(end)),
            _ => None,
        }
    }

    /// Number of bytes from the start that were stored at the last save. The object store may have more.
    pub fn offset(&self) -> u64 {
        match self.state {
            UploadState::Uploading { stored, .. } => stored,
            UploadState::Completed { .. } => self.length.unwrap_or(0),
            _ => 0,
        }
    }

    /// Checks whether `length` can be the size of the whole file while `stored` bytes are stored.
    pub fn check_length(&self, length: u64, stored: u64) -> Result<(), LengthRejected> {
        if let Some(announced) = self.length.filter(|announced| *announced != length) {
            return Err(LengthRejected::Changed { announced });
        }
        if let Some(max) = self.size_max.filter(|max| length > *max) {
            return Err(LengthRejected::TooLarge { max });
        }
        if length == 0 {
            return Err(LengthRejected::Empty);
        }
        if length < stored { Err(LengthRejected::BelowOffset { kept: stored }) } else { Ok(()) }
    }

    /// Announces the size of the whole file, in bytes. A repeated call changes nothing.
    pub fn set_length(mut self, length: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("announce the length of"));
        }
        if self.length.is_none() {
            self.length = Some(length);
            self.updated_at = now;
        }
        Ok(self)
    }

    /// The first bytes are stored, and the media is registered (C-6). `address` is the upload's address
    /// without its signature.
    pub fn begin(
        mut self,
        stored: u64,
        address: String,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(Self, Media, Event), UploadWrongState> {
        let UploadState::Waiting = self.state else { return Err(self.wrong_state("begin")) };
        let event_at = self.event_time(now);
        self.state = UploadState::Uploading { stored, stored_at: now };
        self.updated_at = now;
        let (media, event) = Media::of_upload(&self, address, event_at, random);
        Ok((self, media, event))
    }

    /// More bytes are stored, which renews the timeout.
    pub fn renew(mut self, stored: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        let UploadState::Uploading { .. } = self.state else { return Err(self.wrong_state("renew")) };
        self.state = UploadState::Uploading { stored, stored_at: now };
        self.updated_at = now;
        Ok(self)
    }

    /// The whole file is stored. Its objects belong to the upload until [`Upload::release_source`].
    pub fn complete(mut self, length: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        let UploadState::Uploading { .. } = self.state else { return Err(self.wrong_state("complete")) };
        self.length = Some(length);
        self.state = UploadState::Completed { at: now, is_handed_over: false };
        self.updated_at = now;
        Ok(self)
    }

    /// The media has taken over the file, or the file was abandoned.
    pub fn release_source(mut self, now: Timestamp) -> Result<Self, UploadWrongState> {
        let UploadState::Completed { at, is_handed_over: false } = self.state else {
            return Err(self.wrong_state("hand over"));
        };
        self.state = UploadState::Completed { at, is_handed_over: true };
        self.updated_at = now;
        Ok(self)
    }

    /// Whether the objects of its source belong to it.
    pub fn holds_source(&self) -> bool {
        !self.is_settled() || matches!(self.state, UploadState::Completed { is_handed_over: false, .. })
    }

    /// Cancels the upload. The event has the state before; the caller removes the media, if there is one.
    pub fn cancel(mut self, now: Timestamp) -> Result<(Self, Event), UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("cancel"));
        }
        let event_at = self.event_time(now);
        let event = self.event(EventKind::UploadCancelled(Box::new(self.clone())), event_at);
        self.state = UploadState::Cancelled { at: now };
        self.updated_at = now;
        Ok((self, event))
    }

    /// The timeout has passed. The caller fails the media, if there is one.
    pub fn time_out(mut self, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("time out"));
        }
        self.state = UploadState::TimedOut { at: now };
        self.updated_at = now;
        Ok(self)
    }

    /// The stored bytes can never become a media. The caller fails the media, if there is one.
    pub fn fail(mut self, failure: Failure, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("fail"));
        }
        self.state = UploadState::Failed { at: now, failure };
        self.updated_at = now;
        Ok(self)
    }

    /// Whether no more bytes are accepted.
    pub fn is_settled(&self) -> bool {
        !matches!(self.state, UploadState::Waiting | UploadState::Uploading { .. })
    }

    fn event(&self, kind: EventKind, at: Timestamp) -> Event {
        Event { workspace: self.workspace, kind, at }
    }

    /// The time of an event that is emitted now: later than its predecessor, even if the clock went back.
    fn event_time(&self, now: Timestamp) -> Timestamp {
        now.max(self.updated_at.plus_micros(1))
    }

    fn wrong_state(&self, action: &'static str) -> UploadWrongState {
        UploadWrongState { action, found: self.state.name() }
    }
}

#[cfg(test)]
mod tests;
