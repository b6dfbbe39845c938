//! The reasons why operations are rejected.

use kinora_domain::{
    Action, ClipRejected, LinkKind, MediaSettings, Mp4Rejected, Playlist, PlaylistRejected, Role, SigningKey,
    TooManyPlaybackIds, TrackRejected, WorkspaceContent,
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
    /// There is no such workspace.
    #[error("there is no such workspace")]
    WorkspaceNotFound,
    /// There is no such access token.
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
    /// The workspace has content, so it cannot be deleted.
    #[error("only an empty workspace can be deleted; this one has {}", list(.0))]
    WorkspaceNotEmpty(Vec<WorkspaceContent>),
    /// An installation has at least one workspace.
    #[error("the last workspace cannot be deleted; create another one first")]
    LastWorkspace,
    /// The name of an access token is invalid.
    #[error("the name of an access token {0}")]
    InvalidTokenName(&'static str),
    /// The name of the organisation is invalid.
    #[error("the name of the organisation {0}")]
    InvalidOrganisationName(&'static str),
    /// Another workspace has this name.
    #[error("another workspace has this name")]
    WorkspaceNameTaken,
    /// The database has no organisation that a workspace could belong to.
    #[error("the database has no organisation")]
    NoOrganisation,
    /// The person who acts may not do this any more: their role changed, or they were disabled, while the
    /// request was under way. Without a role they are disabled or removed.
    #[error("this person may not do this any more")]
    NotAllowed {
        /// What it needs.
        action: Action,
        /// Their role now.
        role: Option<Role>,
    },
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
    /// No invitation with this ID can still be used.
    #[error("there is no such invitation; it was used, has ended or was taken back")]
    InvitationNotFound,
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

/// The content of a workspace in a sentence.
fn list(content: &[WorkspaceContent]) -> String {
    let words: Vec<_> = content.iter().map(|content| content.as_str()).collect();
    match words.as_slice() {
        [] => "no content".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_not_empty_names_its_content() {
        use WorkspaceContent::{AccessTokens, Media, SigningKeys};
        let check = |content: &[WorkspaceContent], words: &str| {
            let sentence = Error::WorkspaceNotEmpty(content.to_vec()).to_string();
            assert_eq!(sentence, format!("only an empty workspace can be deleted; this one has {words}"));
        };
        check(&[Media], "media");
        check(&[Media, AccessTokens], "media and active access tokens");
        check(&[Media, SigningKeys, AccessTokens], "media, signing keys and active access tokens");
    }
}
