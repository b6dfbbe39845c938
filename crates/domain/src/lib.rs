//! Kinora's nouns and rules: media, playback, access tokens, webhooks, events.
//!
//! Pure: no I/O, no clock, no randomness, no box of a file format, no SQL, no wire spelling. Time and random
//! bytes come in as arguments ([`Clock`], [`Random`]). A state owns its data; a move consumes the old value
//! and hands back the new one with its event, so that both can be committed together.
//!
//! Begin with [`Media`] and its moves.

mod access;
mod clock;
mod day;
mod error_chain;
mod event;
mod failure;
mod id;
mod media;
mod playback;
mod playlist;
mod resolution;
mod signing_key;
mod time;
mod upload;
mod webhook;
mod workspace;

pub use access::{AccessToken, Permission, Secret, SecretHash};
pub use clock::{Clock, Random};
pub use day::Day;
pub use error_chain::{error_chain, sentence_with_causes};
pub use event::{Event, EventKind, EventSubject, TrackEvent, TrackHappening};
pub use failure::{Failure, FailureCode};
pub use id::{
    AccessTokenId, AttemptId, DeliveryId, DrmConfigurationId, EventId, InputId, JobId, MediaId,
    OrganisationId, ParseIdError, PlaybackId, PlaylistId, PresentationId, RenditionId, SigningKeyId,
    SourceId, TrackId, WebhookId, WorkspaceId,
};
pub use media::{
    AddedTrack, AddedTrackKind, AddedTrackState, AspectRatio, Change, FrameRate, Input, LeftOutTrack, Media,
    MediaChange, MediaDuration, MediaFacts, MediaQuality, MediaSettings, MediaState, Mp4Refusal, Mp4Support,
    NewMedia, NewRestriction, NewTrack, NotCopied, NotCopiedReason, OfferedRendition, PlaybackReport,
    SoundEdit, SoundOverlay, TooManyPlaybackIds, Track, TrackEvents, TrackKind, TrackRefused, TrackUpdate,
    WithheldTrack, WrongState,
};
pub use playback::{
    AccessPolicy, AccessRestrictions, Admission, Allowed, ContentKey, DefaultPolicy, Encryption, Frame,
    HostPattern, NewPlayback, Page, PageHost, PathRefusal, PathTicket, PlaybackHandle, PlaybackPolicy,
    PlaybackRefusal, Restriction, SignedPart, TicketFacts, TokenClaims, TokenRefusal, Viewer,
};
pub use playlist::{
    DayRange, NewPlaylist, PlayOrder, Playlist, PlaylistContent, PlaylistItem, PlaylistProblem, SmartRules,
};
pub use resolution::Resolution;
pub use signing_key::{
    BadPublicKey, KeyMaker, KeyMark, KeyPair, PrivateKey, PublicKey, SigningKey, TokenAlgorithm,
};
pub use time::Timestamp;
pub use upload::{
    BadUploadAddress, CorsOrigin, LengthProblem, NewUpload, Upload, UploadState, UploadTicket,
    UploadWrongState,
};
pub use webhook::{
    ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse, DELIVERY_TIMEOUT_S, DISABLED_PENDING_MAX_US,
    DeliveryVerdict, DisabledReason, ROTATION_GRACE_DEFAULT_S, Webhook, WebhookSecret, WebhookState, judge,
    retry_delay_us, signature,
};
pub use workspace::{DEVELOPMENT, Organisation, PRODUCTION, Workspace};
