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
    AccessToken(AccessTokenId),
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
            Self::AccessToken(_) => "access_token",
            Self::CommandLine => "command",
            Self::Server => "server",
            Self::Anonymous => "anonymous",
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
    /// An access token was created.
    AccessTokenCreated = "access_token.created",
    /// An access token was revoked.
    AccessTokenRevoked = "access_token.revoked",
    /// A workspace was created.
    WorkspaceCreated = "workspace.created",
    /// A webhook was created.
    WebhookCreated = "webhook.created",
    /// The secret of a webhook was replaced.
    WebhookSecretRotated = "webhook.secret_rotated",
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
