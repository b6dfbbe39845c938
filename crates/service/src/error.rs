//! Why an operation was rejected.

use kinora_domain::{
    MediaSettings, Mp4Refusal, Playlist, PlaylistProblem, SigningKey, TooManyPlaybackIds, TrackRefused,
};
use kinora_fetch::UrlProblem;

/// Why an operation changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace of the caller has no such media.
    #[error("there is no such media")]
    MediaNotFound,
    /// The workspace of the caller has no media with this id and this playback ID.
    #[error("there is no such playback ID")]
    PlaybackNotFound,
    /// No media of the caller's workspace has this playback ID.
    #[error("there is no such playback ID in the workspace")]
    PlaybackIdNotFound,
    /// The workspace of the caller has no such playlist.
    #[error("there is no such playlist")]
    PlaylistNotFound,
    /// The workspace of the caller has no such webhook.
    #[error("there is no such webhook")]
    WebhookNotFound,
    /// The same of an access token.
    #[error("there is no such access token")]
    AccessTokenNotFound,
    /// The same of a signing key.
    #[error("there is no such signing key")]
    SigningKeyNotFound,
    /// The resource is not in the state that the caller named (`If-Match`).
    #[error("the resource changed since it was read")]
    ConditionFailed,
    /// The address of a source cannot be fetched.
    #[error("the address of a source {0}")]
    SourceUrl(UrlProblem),
    /// Nothing can be posted to the address of a webhook.
    #[error("the address of a webhook {0}")]
    WebhookUrl(UrlProblem),
    /// A title is too long.
    #[error("a title has at most {} characters", MediaSettings::TEXT_MAX)]
    TitleTooLong,
    /// A media cannot offer these files.
    #[error(transparent)]
    FilesRejected(Mp4Refusal),
    /// The media has as many playback IDs as it may have.
    #[error(transparent)]
    TooManyPlaybackIds(TooManyPlaybackIds),
    /// The media does not take this change of its added tracks.
    #[error(transparent)]
    TrackRejected(TrackRefused),
    /// Another playlist of the workspace has this reference.
    #[error("another playlist has the reference {0:?}")]
    PlaylistReferenceTaken(String),
    /// The workspace has as many playlists as it may have.
    #[error("the workspace has {} playlists, the most it may have", Playlist::PER_WORKSPACE_MAX)]
    TooManyPlaylists,
    /// The playlist does not take this change of its media.
    #[error("the list of media {0}")]
    PlaylistRejected(PlaylistProblem),
    /// Media that cannot be appended to a playlist: their positions in the input, counted from 0, and the
    /// names of their states; `None` of a media that the workspace does not have.
    #[error("only media that are ready can be in a playlist")]
    MediaNotReady(Vec<(usize, Option<String>)>),
    /// The workspace has as many signing keys as it may have.
    #[error("the workspace has {} signing keys, the most it may have", SigningKey::PER_WORKSPACE_MAX)]
    TooManySigningKeys,
    /// Another signing key of the workspace has this id.
    #[error("another signing key has this id")]
    SigningKeyTaken,
    /// The name of a workspace breaks a rule.
    #[error("the name of a workspace {0}")]
    WorkspaceName(&'static str),
    /// Another workspace has this name.
    #[error("another workspace has this name")]
    WorkspaceTaken,
    /// The database has no organisation that a workspace could belong to.
    #[error("the database has no organisation")]
    NoOrganisation,
    /// The database failed.
    #[error("the database cannot be used")]
    Store(#[from] kinora_store::Error),
}
