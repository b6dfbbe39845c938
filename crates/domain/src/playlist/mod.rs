//! Lists of media that play one after the other.

mod items;
mod smart;

pub use items::{PlaylistItem, PlaylistProblem};
pub use smart::{DayRange, PlayOrder, SmartRules};

use crate::{PlaylistId, Random, Timestamp, WorkspaceId};

/// A list of media of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Playlist {
    /// Its id; also what stands in its playback address.
    pub id: PlaylistId,
    /// Whose it is.
    pub workspace: WorkspaceId,
    /// Shown to people.
    pub name: String,
    /// The client's own id, of which a workspace has each once.
    pub reference_id: String,
    /// Shown to people; may be empty.
    pub description: String,
    /// Most media in it, 1 to [`Playlist::ITEMS_MAX`].
    pub limit: u32,
    /// Which media are in it.
    pub content: PlaylistContent,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed; media that are deleted leave it without a change.
    pub updated_at: Timestamp,
    /// Counts the saves; the store refuses to save over a version that moved meanwhile.
    pub version: i64,
}

/// Which media are in a playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaylistContent {
    /// Those that its client put there, in their order.
    Manual(Vec<PlaylistItem>),
    /// Those that rules choose whenever somebody looks.
    Smart(SmartRules),
}

/// What it takes to make a playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlaylist {
    /// Whose it will be.
    pub workspace: WorkspaceId,
    /// Shown to people.
    pub name: String,
    /// The client's own id.
    pub reference_id: String,
    /// Shown to people.
    pub description: String,
    /// Most media in it.
    pub limit: u32,
    /// The rules of a smart one; `None`: a manual one, empty.
    pub smart: Option<SmartRules>,
}

impl Playlist {
    /// Most playlists of one workspace (D-0072).
    pub const PER_WORKSPACE_MAX: u64 = 10_000;
    /// Most media of one playlist, and what `limit` is unless the client says less (C-171).
    pub const ITEMS_MAX: u32 = 1000;
    /// Longest name, reference and description, in characters: as long as a title (C-119).
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

    /// Replaces what people are shown. What is the same as before changes nothing.
    pub fn rename(self, name: String, description: String, now: Timestamp) -> Self {
        if (&self.name, &self.description) == (&name, &description) {
            return self;
        }
        Self { name, description, updated_at: now, ..self }
    }
}

impl PlaylistContent {
    /// The kind as clients and rows see it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Manual(_) => "manual",
            Self::Smart(_) => "smart",
        }
    }
}

#[cfg(test)]
mod tests;
