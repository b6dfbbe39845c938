//! Lists of media that play one after another.

mod items;
mod smart;

pub use items::{PlaylistItem, PlaylistRejected};
pub use smart::{DayRange, PlayOrder, SmartRules};

use crate::{PlaylistId, Random, Timestamp, WorkspaceId};

/// A list of media of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playlist {
    /// Its ID, also part of its playback address.
    pub id: PlaylistId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The name that people see.
    pub name: String,
    /// The client's own ID, unique in the workspace.
    pub reference_id: String,
    /// The description that people see; may be empty.
    pub description: String,
    /// Most media in it: 1 to [`Playlist::ITEMS_MAX`].
    pub limit: u32,
    /// Its media.
    pub content: PlaylistContent,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change; the deletion of a media does not count as one.
    pub updated_at: Timestamp,
    /// Number of saves. The store rejects a save if the stored version has changed since the read.
    pub version: i64,
}

/// The media of a playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaylistContent {
    /// The media that its client added, in their order.
    Manual(Vec<PlaylistItem>),
    /// The media that the rules select at each read.
    Smart(SmartRules),
}

/// The arguments for a new playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlaylist {
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The name that people see.
    pub name: String,
    /// The client's own ID.
    pub reference_id: String,
    /// The description that people see.
    pub description: String,
    /// Most media in it.
    pub limit: u32,
    /// The rules of a smart playlist; `None`: an empty manual one.
    pub smart: Option<SmartRules>,
}

impl Playlist {
    /// Most playlists of one workspace (D-0072).
    pub const PER_WORKSPACE_MAX: u64 = 10_000;
    /// Most media of one playlist, and the default of `limit` (C-171).
    pub const ITEMS_MAX: u32 = 1000;
    /// Longest name, reference and description, in characters; the same limit as for a title (C-119).
    pub const TEXT_MAX: usize = 255;

    /// A new playlist.
    pub fn create(new: NewPlaylist, now: Timestamp, random: &dyn Random) -> Self {
        let NewPlaylist { workspace, name, reference_id, description, limit, smart } = new;
        Self {
            id: PlaylistId::new(random),
            workspace,
            name,
            reference_id,
            description,
            limit,
            content: smart.map_or_else(|| PlaylistContent::Manual(Vec::new()), PlaylistContent::Smart),
            created_at: now,
            updated_at: now,
            version: 0,
        }
    }

    /// Replaces name and description. Equal values change nothing.
    pub fn rename(self, name: String, description: String, now: Timestamp) -> Self {
        if (&self.name, &self.description) == (&name, &description) {
            return self;
        }
        Self { name, description, updated_at: now, ..self }
    }
}

impl PlaylistContent {
    /// The kind in requests, responses and rows.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Manual(_) => "manual",
            Self::Smart(_) => "smart",
        }
    }
}

#[cfg(test)]
mod tests;
