//! A direct upload: bytes that a client's device sends to a signed address, and the media that they become.
//!
//! The id of an upload is the id of its media (C-7), and so it has one media at most,
//! whatever is sent again.

mod address;
mod origin;
mod state;

pub use address::{BadUploadAddress, UploadTicket};
pub use origin::CorsOrigin;
pub use state::{UploadState, UploadWrongState};

use crate::{
    AccessPolicy, AccessRestrictions, Encryption, Event, EventKind, Failure, Media, MediaId, MediaSettings,
    NewTrack, Random, SourceId, Timestamp, WorkspaceId,
};

/// A direct upload.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    /// Its id, and that of the media it becomes.
    pub id: MediaId,
    /// Whose it is.
    pub workspace: WorkspaceId,
    /// What the client wants of the media.
    pub settings: MediaSettings,
    /// Who may watch the media.
    pub policy: AccessPolicy,
    /// Where and in what.
    pub restrictions: AccessRestrictions,
    /// How what plays is encrypted on its way.
    pub encryption: Encryption,
    /// What is added to what the file holds.
    pub tracks: Vec<NewTrack>,
    /// From which pages browsers may send.
    pub origin: CorsOrigin,
    /// Seconds until the first byte must be kept, and then until the next one.
    pub timeout_s: u32,
    /// The most bytes; `None` without a limit.
    pub size_max: Option<u64>,
    /// Where its bytes go. One source for the whole life of an upload, so nothing else ever lies under it.
    pub source: SourceId,
    /// Bytes of the whole file, once a client said so. It never changes after that.
    pub length: Option<u64>,
    /// Where it stands.
    pub state: UploadState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts the saves; the store refuses to save over a version that moved meanwhile.
    pub version: i64,
}

/// What it takes to create an upload.
#[derive(Debug, Clone)]
pub struct NewUpload {
    /// Whose it will be.
    pub workspace: WorkspaceId,
    /// What the client wants of the media.
    pub settings: MediaSettings,
    /// Who may watch the media.
    pub policy: AccessPolicy,
    /// Where and in what.
    pub restrictions: AccessRestrictions,
    /// How what plays is encrypted on its way.
    pub encryption: Encryption,
    /// What is added to what the file holds, bounded as for [`NewMedia`](crate::NewMedia).
    pub tracks: Vec<NewTrack>,
    /// From which pages browsers may send.
    pub origin: CorsOrigin,
    /// Seconds until the first byte must be kept, and then until the next one.
    pub timeout_s: u32,
    /// The most bytes; `None` without a limit.
    pub size_max: Option<u64>,
}

/// Why a length of the whole file cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LengthProblem {
    /// Another one was said before.
    #[error("the upload was announced with {announced} bytes and cannot change its length")]
    Changed {
        /// What was said before.
        announced: u64,
    },
    /// More than may come.
    #[error("the file is larger than the {max} bytes that this address takes")]
    TooLarge {
        /// The most bytes.
        max: u64,
    },
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// More has been kept already.
    #[error("{kept} bytes are here already, which is more than the length")]
    BelowKept {
        /// Bytes that are here.
        kept: u64,
    },
}

impl Upload {
    /// How long an address is valid when nobody asks for another time, in seconds: the sample of the
    /// specification.
    pub const TIMEOUT_DEFAULT_S: u32 = 14_400;
    /// The shortest time that can be asked for, in seconds: somebody must find the file first.
    pub const TIMEOUT_MIN_S: u32 = 60;
    /// How long an upload lives at most, however often it is renewed, in seconds; also the longest timeout
    /// (C-7).
    pub const LIFE_MAX_S: u32 = 7 * 24 * 60 * 60;
    /// The most bytes of an upload through the deprecated path (C-145).
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

    /// What its signed address says.
    pub fn ticket(&self) -> UploadTicket {
        UploadTicket {
            upload: self.id,
            workspace: self.workspace,
            expires_at: self.created_at.plus_seconds(i64::from(Self::LIFE_MAX_S)),
            size_max: self.size_max,
            origin: self.origin.clone(),
        }
    }

    /// Until when something must have come: the next byte, within the life of the upload. `None` once it is
    /// settled.
    pub fn deadline(&self) -> Option<Timestamp> {
        let end = self.created_at.plus_seconds(i64::from(Self::LIFE_MAX_S));
        let timeout = i64::from(self.timeout_s);
        match self.state {
            UploadState::Waiting => Some(self.created_at.plus_seconds(timeout).min(end)),
            UploadState::Uploading { kept_at, .. } => Some(kept_at.plus_seconds(timeout).min(end)),
            _ => None,
        }
    }

    /// Bytes from the start that were kept when this was last written down. Where they lie may know of more.
    pub fn kept(&self) -> u64 {
        match self.state {
            UploadState::Uploading { kept, .. } => kept,
            UploadState::Completed { .. } => self.length.unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether `length` can be that of the whole file while `kept` bytes are here.
    pub fn check_length(&self, length: u64, kept: u64) -> Result<(), LengthProblem> {
        if let Some(announced) = self.length.filter(|announced| *announced != length) {
            return Err(LengthProblem::Changed { announced });
        }
        if let Some(max) = self.size_max.filter(|max| length > *max) {
            return Err(LengthProblem::TooLarge { max });
        }
        if length == 0 {
            return Err(LengthProblem::Empty);
        }
        if length < kept { Err(LengthProblem::BelowKept { kept }) } else { Ok(()) }
    }

    /// Says how long the whole file is. Saying it again changes nothing.
    pub fn announce(mut self, length: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("announce the length of"));
        }
        if self.length.is_none() {
            self.length = Some(length);
            self.updated_at = now;
        }
        Ok(self)
    }

    /// The first bytes are kept: from now on there is a media (C-6). `address` is the
    /// upload's without its signature.
    pub fn begin(
        mut self,
        kept: u64,
        address: String,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<(Self, Media, Event), UploadWrongState> {
        let UploadState::Waiting = self.state else { return Err(self.wrong_state("begin")) };
        let told_at = self.later(now);
        self.state = UploadState::Uploading { kept, kept_at: now };
        self.updated_at = now;
        let (media, event) = Media::of_upload(&self, address, told_at, random);
        Ok((self, media, event))
    }

    /// More bytes are kept, which renews it.
    pub fn renew(mut self, kept: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        let UploadState::Uploading { .. } = self.state else { return Err(self.wrong_state("renew")) };
        self.state = UploadState::Uploading { kept, kept_at: now };
        self.updated_at = now;
        Ok(self)
    }

    /// The whole file is kept. Its objects are the upload's until [`Upload::hand_over`].
    pub fn complete(mut self, length: u64, now: Timestamp) -> Result<Self, UploadWrongState> {
        let UploadState::Uploading { .. } = self.state else { return Err(self.wrong_state("complete")) };
        self.length = Some(length);
        self.state = UploadState::Completed { at: now, is_handed_over: false };
        self.updated_at = now;
        Ok(self)
    }

    /// The media has taken the file over, or it was given up.
    pub fn hand_over(mut self, now: Timestamp) -> Result<Self, UploadWrongState> {
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

    /// The client wants it no more. The event tells the state it was in; the caller removes the media, if
    /// there is one.
    pub fn cancel(mut self, now: Timestamp) -> Result<(Self, Event), UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("cancel"));
        }
        let told_at = self.later(now);
        let event = self.event(EventKind::UploadCancelled(Box::new(self.clone())), told_at);
        self.state = UploadState::Cancelled { at: now };
        self.updated_at = now;
        Ok((self, event))
    }

    /// Nothing came in time. The caller fails the media, if there is one.
    pub fn time_out(mut self, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("time out"));
        }
        self.state = UploadState::TimedOut { at: now };
        self.updated_at = now;
        Ok(self)
    }

    /// What came so far can never become a media. The caller fails the media, if there is one.
    pub fn fail(mut self, failure: Failure, now: Timestamp) -> Result<Self, UploadWrongState> {
        if self.is_settled() {
            return Err(self.wrong_state("fail"));
        }
        self.state = UploadState::Failed { at: now, failure };
        self.updated_at = now;
        Ok(self)
    }

    /// Whether nothing more can come.
    pub fn is_settled(&self) -> bool {
        !matches!(self.state, UploadState::Waiting | UploadState::Uploading { .. })
    }

    fn event(&self, kind: EventKind, at: Timestamp) -> Event {
        Event { workspace: self.workspace, kind, at }
    }

    /// When something is told that happens now: after what was told of it before, whatever a clock says.
    fn later(&self, now: Timestamp) -> Timestamp {
        now.max(self.updated_at.plus_micros(1))
    }

    fn wrong_state(&self, action: &'static str) -> UploadWrongState {
        UploadWrongState { action, found: self.state.name() }
    }
}

#[cfg(test)]
mod tests;
