//! The audit log: who did what to accounts, credentials and settings.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{AccessTokenId, AuditId, Member, OrganisationId, Person, PersonId, Timestamp, WorkspaceId};

/// Where a request came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The address of the client.
    pub address: Option<String>,
    /// Its `User-Agent`.
    pub client: Option<String>,
    /// The ID of the request in the log.
    pub request_id: Option<String>,
}

/// Who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Who acts.
    pub who: Who,
    /// From where.
    pub origin: RequestOrigin,
}

impl Actor {
    /// An operator on the machine of the database.
    pub fn command_line() -> Self {
        Self { who: Who::CommandLine, origin: RequestOrigin::default() }
    }

    /// A person who is signed in.
    pub fn person(member: &Member, origin: RequestOrigin) -> Self {
        Self { who: Who::of(member), origin }
    }
}

/// Who acts. Names stand beside IDs, because they outlive their objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A person.
    Person {
        /// Their ID.
        id: PersonId,
        /// Their name at that time, or their email address.
        name: String,
    },
    /// The holder of an access token.
    AccessToken {
        /// Its ID.
        id: AccessTokenId,
        /// Its name at that time; empty if it had none.
        name: String,
    },
    /// An operator on the machine of the database.
    CommandLine,
    /// The server itself.
    Server,
    /// A client that is not signed in.
    Anonymous,
}

impl Who {
    /// This person, with the present name.
    pub fn of(member: &Member) -> Self {
        Self::Person { id: member.person.id, name: member.person.display_name().to_owned() }
    }

    /// The name of its kind in rows.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::AccessToken { .. } => "access_token",
            Self::CommandLine => "command",
            Self::Server => "server",
            Self::Anonymous => "anonymous",
        }
    }

    /// The ID of a person or an access token.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Person { id, .. } => Some(id.to_string()),
            Self::AccessToken { id, .. } => Some(id.to_string()),
            Self::CommandLine | Self::Server | Self::Anonymous => None,
        }
    }

    /// The name at that time, if it had one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Person { name, .. } | Self::AccessToken { name, .. } => {
                Some(name.as_str()).filter(|name| !name.is_empty())
            }
            Self::CommandLine | Self::Server | Self::Anonymous => None,
        }
    }
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditObject {
    /// Its kind, such as `person`.
    pub kind: Cow<'static, str>,
    /// Its ID.
    pub id: String,
    /// Its name at that time; empty if it has none.
    pub name: String,
}

impl AuditObject {
    /// A person, with the email address: it is what tells people of one name apart.
    pub fn person(person: &Person) -> Self {
        Self { kind: "person".into(), id: person.id.to_string(), name: person.email.to_string() }
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident = $text:literal),* $(,)?) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum AuditAction {
            $($(#[$doc])* $variant),*
        }

        impl AuditAction {
            /// All actions.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in rows. It never changes.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The action with this name.
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

actions! {
    /// A person signed in by password.
    SignedIn = "person.signed_in",
    /// Sign-ins of a person failed; the row counts those of ten minutes.
    SignInFailed = "person.sign_in_failed",
    /// A person signed out.
    SignedOut = "person.signed_out",
    /// A person gave their password again, for an action that wants it.
    Confirmed = "person.confirmed",
    /// A person was created.
    PersonCreated = "person.created",
    /// A person changed their name.
    PersonRenamed = "person.renamed",
    /// A person was disabled.
    PersonDisabled = "person.disabled",
    /// A person was enabled.
    PersonEnabled = "person.enabled",
    /// A person was removed.
    PersonRemoved = "person.removed",
    /// A person has another role.
    RoleChanged = "person.role_changed",
    /// A person has another password.
    PasswordChanged = "person.password_changed",
    /// One or all sessions of a person were ended.
    SessionsEnded = "person.sessions_ended",
    /// A one-time link was created.
    LinkCreated = "link.created",
    /// A one-time link was used.
    LinkUsed = "link.used",
    /// An invitation was taken back.
    LinkRevoked = "link.revoked",
    /// An access token was created.
    AccessTokenCreated = "access_token.created",
    /// An access token has another name.
    AccessTokenRenamed = "access_token.renamed",
    /// An access token was revoked.
    AccessTokenRevoked = "access_token.revoked",
    /// A workspace was created.
    WorkspaceCreated = "workspace.created",
    /// A workspace has another name.
    WorkspaceRenamed = "workspace.renamed",
    /// A setting of a workspace was changed.
    WorkspaceChanged = "workspace.changed",
    /// A workspace was deleted.
    WorkspaceDeleted = "workspace.deleted",
    /// The organisation has another name.
    OrganisationRenamed = "organisation.renamed",
    /// A webhook was created.
    WebhookCreated = "webhook.created",
    /// The secret of a webhook was replaced.
    WebhookSecretRotated = "webhook.secret_rotated",
    /// A disabled webhook was enabled.
    WebhookEnabled = "webhook.enabled",
    /// A signing key was created, or its public half was added.
    SigningKeyCreated = "signing_key.created",
    /// A signing key was deleted.
    SigningKeyDeleted = "signing_key.deleted",
    /// A playback ID was added to a media.
    PlaybackIdCreated = "playback_id.created",
    /// A restriction of a playback ID was replaced.
    PlaybackIdChanged = "playback_id.changed",
    /// A playback ID was deleted.
    PlaybackIdDeleted = "playback_id.deleted",
    /// A playback token was revoked before its expiry.
    PlaybackTokenRevoked = "playback_token.revoked",
    /// A media was deleted.
    MediaDeleted = "media.deleted",
    /// An added track of a media was deleted.
    TrackDeleted = "track.deleted",
    /// A playlist was deleted.
    PlaylistDeleted = "playlist.deleted",
}

impl AuditAction {
    /// The action with this name, or all actions of a group: `access_token` selects `access_token.created`
    /// and the others that begin with `access_token.`. Empty for an unknown name.
    pub fn matching(text: &str) -> Vec<Self> {
        let is_selected = |action: &Self| {
            let name = action.as_str();
            name == text || name.split_once('.').is_some_and(|(group, _)| group == text)
        };
        Self::ALL.iter().copied().filter(is_selected).collect()
    }
}

/// One row of the audit log. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its ID.
    pub id: AuditId,
    /// The organisation.
    pub organisation: OrganisationId,
    /// The workspace of the object, if it is in one.
    pub workspace: Option<WorkspaceId>,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it, and from where.
    pub actor: Actor,
    /// What happened.
    pub action: AuditAction,
    /// To what.
    pub object: AuditObject,
    /// More facts, by name.
    pub details: BTreeMap<String, String>,
}

impl AuditEntry {
    /// Rows are removed after so long.
    pub const RETENTION_US: i64 = 400 * 24 * 60 * 60 * Timestamp::SECOND;
}

/// Failed sign-ins of one person, summed up. Refusals themselves write nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSignIns {
    /// The person whose address was given. Unknown addresses are not in the log: it would have no limit.
    pub person: PersonId,
    /// The number of refusals.
    pub count: u32,
    /// The first refusal.
    pub first_at: Timestamp,
    /// The last refusal.
    pub last_at: Timestamp,
    /// Where the last one came from.
    pub origin: RequestOrigin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn action_names_are_unique_and_read_back() {
        for action in AuditAction::ALL {
            assert_eq!(AuditAction::from_text(action.as_str()), Some(*action));
            assert_eq!(AuditAction::matching(action.as_str()), [*action]);
        }
        assert_eq!(AuditAction::from_text("access_token"), None);
    }

    #[test]
    fn group_selects_all_its_actions() {
        let names =
            |text| AuditAction::matching(text).into_iter().map(AuditAction::as_str).collect::<Vec<_>>();
        assert_eq!(
            names("access_token"),
            ["access_token.created", "access_token.renamed", "access_token.revoked"]
        );
        for unknown in ["", "access", "access_token.", "access_token.create", "created", "ACCESS_TOKEN"] {
            assert_eq!(names(unknown), Vec::<&str>::new(), "{unknown}");
        }
    }
}
