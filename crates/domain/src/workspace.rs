//! Organisations and workspaces.

use crate::{OrganisationId, Timestamp, WorkspaceId, name};

/// The workspace for trial use that every installation starts with.
pub const DEVELOPMENT: &str = "Development";
/// The workspace for production use that every installation starts with.
pub const PRODUCTION: &str = "Production";

/// The organisation that runs this installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organisation {
    /// Its id.
    pub id: OrganisationId,
    /// Its name.
    pub name: String,
    /// Creation time.
    pub created_at: Timestamp,
}

impl Organisation {
    /// Longest name, in characters. Our own limit, equal to that of a person.
    pub const NAME_MAX: usize = name::MAX;

    /// The name without surrounding spaces. The error is a sentence for the client.
    pub fn parse_name(text: &str) -> Result<String, &'static str> {
        name::parse(text)
    }
}

/// An isolated tenant: tokens, media and webhooks of one workspace have no access to those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its organisation.
    pub organisation: OrganisationId,
    /// Its name, unique in the organisation.
    pub name: String,
    /// Creation time.
    pub created_at: Timestamp,
}

impl Workspace {
    /// Longest name, in characters. Our own limit, equal to that of a title (C-119).
    pub const NAME_MAX: usize = 255;

    /// Validates a name of a workspace. The error is a sentence for the client.
    pub fn check_name(name: &str) -> Result<(), &'static str> {
        if name.chars().count() > Self::NAME_MAX {
            return Err("must have at most 255 characters");
        }
        name::check(name)
    }
}

/// What makes a workspace not empty: it would be lost with the workspace, or is still needed by a client or a
/// job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkspaceContent {
    /// Media in any state.
    Media,
    /// Uploads that wait for their file or receive it, and ended ones whose bytes are still stored.
    Uploads,
    /// Playlists.
    Playlists,
    /// Events that are sent to an enabled webhook for the first time.
    FirstAttempts,
    /// Signing keys.
    SigningKeys,
    /// Access tokens that are not revoked.
    AccessTokens,
    /// Objects of deleted media that a job must still remove.
    DeletedFiles,
}

impl WorkspaceContent {
    /// The words for it in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Media => "media",
            Self::Uploads => "unfinished uploads",
            Self::Playlists => "playlists",
            Self::FirstAttempts => "events that are being delivered to a webhook for the first time",
            Self::SigningKeys => "signing keys",
            Self::AccessTokens => "active access tokens",
            Self::DeletedFiles => "files of deleted media, which are being removed",
        }
    }
}
