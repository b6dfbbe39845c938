//! Organisations and workspaces.

use crate::{OrganisationId, Timestamp, WorkspaceId};

/// The workspace every installation begins with for trials.
pub const DEVELOPMENT: &str = "Development";
/// The workspace every installation begins with for the real thing.
pub const PRODUCTION: &str = "Production";

/// Who runs this installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Organisation {
    /// Its id.
    pub id: OrganisationId,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A closed room: tokens, media and webhooks of one workspace never meet those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Whose it is.
    pub organisation: OrganisationId,
    /// Its name, unique in the organisation.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Workspace {
    /// Longest name, in characters. Our own limit: as long as a title (C-119).
    pub const NAME_MAX: usize = 255;

    /// Whether a workspace may be called so; otherwise the sentence that says why not.
    pub fn check_name(name: &str) -> Result<(), &'static str> {
        if name.trim().is_empty() {
            Err("must not be empty")
        } else if name.chars().count() > Self::NAME_MAX {
            Err("must have at most 255 characters")
        } else if name.chars().any(char::is_control) {
            Err("must not hold control characters")
        } else {
            Ok(())
        }
    }
}
