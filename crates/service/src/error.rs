//! The reasons why operations are rejected.

use kinora_domain::{
    ClipRejected, LinkKind, MediaSettings, Mp4Rejected, Playlist, PlaylistRejected, SigningKey,
    TooManyPlaybackIds, TrackRejected,
};
use kinora_fetch::UrlProblem;

/// The reason why an operation failed; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The workspace of the caller has no such media.
    #[error("there is no such media")]
    MediaNotFound,
    /// The workspace of the caller has no media with this id and this playback ID.
    #[error("there is no such playback ID")]
    MediaPlaybackIdNotFound,
    /// No media of the caller's workspace has this playback ID.
    #[error("there is no such playback ID in the workspace")]
    PlaybackIdNotFound,
    /// The workspace of the caller has no such playlist.
    #[error("there is no such playlist")]
    PlaylistNotFound,
    /// The workspace of the caller has no such webhook.
    #[error("there is no such webhook")]
    WebhookNotFound,
    /// The workspace of the caller has no such access token.
    #[error("there is no such access token")]
    AccessTokenNotFound,
    /// The workspace of the caller has no such signing key.
    #[error("there is no such signing key")]
    SigningKeyNotFound,
    /// The resource is not in the state that the caller named (`If-Match`).
    #[error("the resource changed since it was read")]
    ConditionFailed,
    /// The URL of a source cannot be fetched.
    #[error("the URL of a source {0}")]
    SourceUrl(UrlProblem),
    /// The workspace of the caller does not have the media that a clip is cut from.
    #[error("there is no media with this id in the workspace")]
    OriginNotFound,
    /// The origin or the edit of a clip is not valid.
    #[error(transparent)]
    ClipRejected(ClipRejected),
    /// `sourceAccess` of a clip cannot be switched on, because its origin has it off (C-198).
    #[error("the source of the media that it is cut from is not downloadable")]
    OriginSourceClosed,
    /// The URL of a webhook cannot receive posts.
    #[error("the URL of a webhook {0}")]
    WebhookUrl(UrlProblem),
    /// A title is too long.
    #[error("a title has at most {} characters", MediaSettings::TEXT_MAX)]
    TitleTooLong,
    /// A media cannot offer these files.
    #[error(transparent)]
    Mp4Rejected(Mp4Rejected),
    /// The media has the maximum number of playback IDs.
    #[error(transparent)]
    TooManyPlaybackIds(TooManyPlaybackIds),
    /// The media rejects this change of its added tracks.
    #[error(transparent)]
    TrackRejected(TrackRejected),
    /// Another playlist of the workspace has this reference.
    #[error("another playlist has the reference {0:?}")]
    PlaylistReferenceTaken(String),
    /// The workspace has the maximum number of playlists.
    #[error("the workspace has {} playlists, the maximum", Playlist::PER_WORKSPACE_MAX)]
    TooManyPlaylists,
    /// The playlist rejects this change of its media.
    #[error("the list of media {0}")]
    PlaylistRejected(PlaylistRejected),
    /// Media that cannot be appended to a playlist: their positions in the input, counted from 0, and the
    /// names of their states. `None` for a media that the workspace does not have.
    #[error("only media that are ready can be in a playlist")]
    MediaNotReady(Vec<(usize, Option<String>)>),
    /// The workspace has the maximum number of signing keys.
    #[error("the workspace has {} signing keys, the maximum", SigningKey::PER_WORKSPACE_MAX)]
    TooManySigningKeys,
    /// Another signing key of the workspace has this ID.
    #[error("another signing key has this id")]
    SigningKeyTaken,
    /// The name of a workspace is invalid.
    #[error("the name of a workspace {0}")]
    InvalidWorkspaceName(&'static str),
    /// Another workspace has this name.
    #[error("another workspace has this name")]
    WorkspaceNameTaken,
    /// The database has no organisation that a workspace could belong to.
    #[error("the database has no organisation")]
    NoOrganisation,
    /// There is no such person.
    #[error("there is no such person")]
    PersonNotFound,
    /// The person is disabled.
    #[error("the person is disabled")]
    PersonDisabled,
    /// Another person has this email address.
    #[error("another person has this email address")]
    EmailTaken,
    /// The name of a person is invalid.
    #[error("the name of a person {0}")]
    InvalidName(&'static str),
    /// The person has no name, and none was given.
    #[error("a name is needed")]
    NameRequired,
    /// The change would leave no administrator who can sign in or set a password.
    #[error("this is the last administrator who can sign in; make another person administrator first")]
    LastAdministrator,
    /// No one-time link has this secret.
    #[error("there is no such link; check that the whole address was copied")]
    LinkNotFound,
    /// The one-time link was used.
    #[error("this {} link was used already; {}", .0.as_str(), remedy(*.0, true))]
    LinkUsed(LinkKind),
    /// The one-time link has ended.
    #[error("this {} link has ended; {}", .0.as_str(), remedy(*.0, false))]
    LinkEnded(LinkKind),
    /// The person has no such session.
    #[error("there is no such session")]
    SessionNotFound,
    /// The session ended, the person was disabled, or the password changed since it was verified.
    #[error("the sign-in is outdated; sign in again")]
    SignInOutdated,
    /// The database failed.
    #[error("the database cannot be used")]
    Store(#[from] kinora_store::Error),
}

/// How to get in without a link that is closed.
fn remedy(kind: LinkKind, is_used: bool) -> &'static str {
    match (kind, is_used) {
        (LinkKind::Setup | LinkKind::Invitation, true) => "sign in with the password that was chosen then",
        (LinkKind::Invitation, false) => "an administrator can make another invitation",
        (LinkKind::Setup | LinkKind::Reset, _) => {
            "an administrator, or `kinora user reset` on the server, makes another"
        }
    }
}
