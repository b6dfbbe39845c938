//! The domain model and its rules: media, playback, access tokens, people, webhooks, events.
//!
//! Pure: no I/O, no clock, no randomness, no box of a file format, no SQL, no wire spelling. Time and random
//! bytes are arguments ([`Clock`], [`Random`]). A state owns its data. A transition consumes the old value
//! and returns the new one with its event, so that both can be committed together.
//!
//! Begin with [`Media`] and its transitions.

mod access;
mod access_token;
mod audit;
mod clock;
mod day;
mod error_chain;
mod event;
mod failure;
mod id;
mod language_code;
mod media;
mod name;
mod one_time_link;
mod password;
mod person;
mod playback;
mod playlist;
mod resolution;
mod session;
mod signing_key;
mod timestamp;
mod upload;
mod webhook;
mod workspace;

pub use access::Action;
pub use access_token::{AccessToken, Permission, Secret, SecretHash};
pub use audit::{Actor, AuditAction, AuditEntry, AuditObject, FailedSignIns, RequestOrigin, Who};
pub use clock::{Clock, Random};
pub use day::Day;
pub use error_chain::{error_chain, sentence_with_causes};
pub use event::{EditKind, Event, EventKind, EventSubject, TrackEvent, TrackEventKind};
pub use failure::{Failure, FailureCode};
pub use id::{
    AccessTokenId, AttemptId, AuditId, DeliveryId, DrmConfigurationId, EventId, InputId, JobId, MediaId,
    OneTimeLinkId, OrganisationId, ParseIdError, PersonId, PlaybackId, PlaylistId, PresentationId,
    RenditionId, SessionId, SigningKeyId, SourceId, TrackId, WebhookId, WorkspaceId,
};
pub use language_code::{LANGUAGE_CODE_MAX, is_language_code};
pub use media::{
    AddedTrack, AddedTrackKind, AddedTrackState, AspectRatio, AudioEdit, AudioGain, AudioLevels,
    AudioOverlay, BaseRange, Centibels, Change, ClipOf, ClipRejected, EditRejected, FileRole, FrameRate,
    Input, Insert, InsertPoint, LeftOutTrack, Loudness, LoudnessTarget, Media, MediaChange, MediaDuration,
    MediaFacts, MediaLoudness, MediaQuality, MediaSettings, MediaState, Mp4Rejected, Mp4Support, NewMedia,
    NewTrack, NotCopied, NotCopiedReason, NotCopiedTrack, OfferedRendition, PlaybackReport,
    RestrictionUpdate, TimelineEdit, TimelinePart, TooManyPlaybackIds, Track, TrackEvents, TrackKind,
    TrackLoudness, TrackRejected, TrackUpdate, Watermark, WatermarkAlign, WatermarkLength,
    WatermarkPlacement, WatermarkSize, WrongState,
};
pub use one_time_link::{LinkClosed, LinkKind, OneTimeLink};
pub use password::{Password, PasswordHash, PasswordRejected};
pub use person::{
    BadEmail, Email, LibraryView, Member, Person, PersonSettings, Role, SettingsChange, Theme, TimeZoneChoice,
};
pub use playback::{
    AccessPolicy, AccessProof, AccessRestrictions, ContentKey, DefaultPolicy, EmbeddingPage, Encryption,
    HostPattern, NewPlaybackId, Page, PageHost, PassClaims, PassError, PathBinding, PathClaims, PathError,
    PlaybackDenied, PlaybackGrant, PlaybackIdSettings, PlaybackPolicy, Restriction, SignedPath, TokenClaims,
    TokenError, Viewer, ViewerCredential,
};
pub use playlist::{
    DayRange, NewPlaylist, PlayOrder, Playlist, PlaylistContent, PlaylistItem, PlaylistRejected, SmartRules,
};
pub use resolution::Resolution;
pub use session::{PreviousSecret, Session};
pub use signing_key::{
    BadPublicKey, KeyMaker, KeyPair, KeyRef, PrivateKey, PublicKey, SigningKey, TokenAlgorithm,
};
pub use timestamp::Timestamp;
pub use upload::{
    BadUploadAddress, CorsOrigin, LengthRejected, NewUpload, Upload, UploadClaims, UploadState,
    UploadWrongState,
};
pub use webhook::{
    ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse, DELIVERY_TIMEOUT_S, DISABLED_PENDING_MAX_US,
    DeliveryVerdict, DisabledReason, ROTATION_GRACE_DEFAULT_S, Webhook, WebhookSecret, WebhookState, judge,
    retry_delay_us, signature,
};
pub use workspace::{DEVELOPMENT, Organisation, PRODUCTION, Workspace, WorkspaceContent};
