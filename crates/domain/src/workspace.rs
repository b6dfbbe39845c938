//! Organisations and workspaces.

use crate::{OrganisationId, Timestamp, WorkspaceId};

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
        if name.trim().is_empty() {
            Err("must not be empty")
        } else if name.chars().count() > Self::NAME_MAX {
            Err("must have at most 255 characters")
        } else if name.chars().any(char::is_control) {
            Err("must not contain control characters")
        } else {
            Ok(())
        }
    }
}
