//! Playlists with the items of manual ones. `content.rs` reads their media.

mod content;

use std::collections::HashSet;

use kinora_domain::{
    Day, DayRange, PlayOrder, Playlist, PlaylistContent, PlaylistId, PlaylistItem, SmartRules, WorkspaceId,
};

pub use content::PlaylistVersion;
#[cfg(test)]
pub(crate) use content::{MEMBERS, STATEMENTS as CONTENT};

use crate::list::{self, ListStatements, list_statements};
use crate::sql::{Row, Session, Value, statements, values};
use crate::{Error, List, ListPage, Store, Tx};

/// A playlist in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPlaylist {
    /// The playlist without its items.
    pub playlist: Playlist,
    /// The number of its media.
    pub media_count: u64,
}

/// The list of a workspace's playlists.
pub(crate) const PAGE: ListStatements = list_statements!(
    "id, workspace_id, name, reference_id, description, kind, item_max, play_order, created_first, created_last,
        updated_first, updated_last, created_at, updated_at, version,
        (SELECT COUNT(*) FROM playlist_item WHERE playlist_id = playlist.id) AS items",
    "playlist WHERE workspace_id = $1",
    "$7"
);

statements! {
    COUNT_UP = "UPDATE workspace SET playlist_count = playlist_count + 1 WHERE id = $1 AND playlist_count < $2";
    COUNT_DOWN = "UPDATE workspace SET playlist_count = playlist_count - 1 WHERE id = $1";
    TOTAL = "SELECT playlist_count AS total FROM workspace WHERE id = $1";
    INSERT = "INSERT INTO playlist
        (id, workspace_id, reference_id, kind, created_at, version, name, description, item_max, play_order,
         created_first, created_last, updated_first, updated_last, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
        ON CONFLICT (workspace_id, reference_id) DO NOTHING";
    SAVE = "UPDATE playlist SET version = version + 1, name = $3, description = $4, item_max = $5, play_order = $6,
        created_first = $7, created_last = $8, updated_first = $9, updated_last = $10, updated_at = $11
        WHERE id = $1 AND version = $2";
    DELETE = "DELETE FROM playlist WHERE id = $1 AND workspace_id = $2";
    BY_ID = "SELECT id, workspace_id, name, reference_id, description, kind, item_max, play_order, created_first, created_last,
        updated_first, updated_last, created_at, updated_at, version FROM playlist WHERE id = $1";
    IN_WORKSPACE = "SELECT id, workspace_id, name, reference_id, description, kind, item_max, play_order, created_first,
        created_last, updated_first, updated_last, created_at, updated_at, version
        FROM playlist WHERE id = $1 AND workspace_id = $2";
    ITEMS = "SELECT media_id, position FROM playlist_item WHERE playlist_id = $1";
    ITEM_SAVE = "INSERT INTO playlist_item (playlist_id, media_id, position) VALUES ($1, $2, $3)
        ON CONFLICT (playlist_id, media_id) DO UPDATE SET position = excluded.position";
    ITEM_DELETE = "DELETE FROM playlist_item WHERE playlist_id = $1 AND media_id = $2";
}

impl Store {
    /// A page of a workspace's playlists. A page after the last one is empty.
    pub async fn playlist_page(
        &self,
        workspace: WorkspaceId,
        page: impl Into<ListPage>,
    ) -> Result<List<ListedPlaylist>, Error> {
        let mut snapshot = self.snapshot().await?;
        let list = list::page(&mut snapshot, workspace, TOTAL, PAGE, page.into()).await?;
        let mut playlists = Vec::with_capacity(list.items.len());
        for row in &list.items {
            let playlist = read(row)?;
            let media_count = match &playlist.content {
                PlaylistContent::Manual(_) => row.number("items")?,
                PlaylistContent::Smart(rules) => content::count(&mut snapshot, &playlist, *rules).await?,
            };
            playlists.push(ListedPlaylist { playlist, media_count });
        }
        Ok(list.replace_items(playlists))
    }
}

impl Tx {
    /// One playlist of a workspace.
    pub async fn playlist(
        &mut self,
        workspace: WorkspaceId,
        id: PlaylistId,
    ) -> Result<Option<Playlist>, Error> {
        in_workspace(&mut self.session, workspace, id).await
    }

    /// Adds a playlist. [`Error::AlreadyExists`] when the workspace has one with this reference,
    /// [`Error::LimitReached`] when its number of playlists is at the limit.
    pub async fn insert_playlist(&mut self, playlist: &Playlist) -> Result<(), Error> {
        self.signals.rows = true;
        let mut values = values![
            playlist.id,
            playlist.workspace,
            playlist.reference_id.as_str(),
            playlist.content.kind(),
            playlist.created_at,
            playlist.version,
        ];
        values.extend(updated_values(playlist));
        if self.session.execute(INSERT, values).await? == 0 {
            return Err(self.session.fail_with(Error::AlreadyExists { what: "playlist reference" }));
        }
        let max = i64::try_from(Playlist::PER_WORKSPACE_MAX).unwrap_or(i64::MAX);
        if self.session.execute(COUNT_UP, values![playlist.workspace, max]).await? == 0 {
            return Err(self.session.fail_with(Error::LimitReached { what: "playlists" }));
        }
        save_items(&mut self.session, playlist.id, &[], playlist.items()).await
    }

    /// Saves a changed playlist over the one that was read; writes only the changes. [`Error::Conflict`]
    /// when the row changed meanwhile.
    pub async fn save_playlist(&mut self, before: &Playlist, after: &Playlist) -> Result<(), Error> {
        if before == after {
            return Ok(());
        }
        self.signals.rows = true;
        let mut values = values![before.id, before.version];
        values.extend(updated_values(after));
        if self.session.execute(SAVE, values).await? == 0 {
            return Err(self.session.fail_with(Error::Conflict));
        }
        save_items(&mut self.session, before.id, before.items(), after.items()).await
    }

    /// Removes a playlist; its media stay. `false` when the workspace has no such playlist.
    pub async fn delete_playlist(&mut self, workspace: WorkspaceId, id: PlaylistId) -> Result<bool, Error> {
        self.signals.rows = true;
        if self.session.execute(DELETE, values![id, workspace]).await? == 0 {
            return Ok(false);
        }
        self.session.execute(COUNT_DOWN, values![workspace]).await?;
        Ok(true)
    }
}

/// Writes the changed rows.
async fn save_items(
    session: &mut Session,
    playlist: PlaylistId,
    before: &[PlaylistItem],
    after: &[PlaylistItem],
) -> Result<(), Error> {
    let remaining: HashSet<_> = after.iter().map(|item| item.media).collect();
    for item in before.iter().filter(|item| !remaining.contains(&item.media)) {
        session.execute(ITEM_DELETE, values![playlist, item.media]).await?;
    }
    let same: HashSet<_> = before.iter().collect();
    for item in after.iter().filter(|item| !same.contains(item)) {
        session.execute(ITEM_SAVE, values![playlist, item.media, item.position]).await?;
    }
    Ok(())
}

async fn in_workspace(
    session: &mut Session,
    workspace: WorkspaceId,
    id: PlaylistId,
) -> Result<Option<Playlist>, Error> {
    match session.first(IN_WORKSPACE, values![id, workspace]).await? {
        Some(row) => with_items(session, read(&row)?).await.map(Some),
        None => Ok(None),
    }
}

async fn by_id(session: &mut Session, id: PlaylistId) -> Result<Option<Playlist>, Error> {
    match session.first(BY_ID, values![id]).await? {
        Some(row) => with_items(session, read(&row)?).await.map(Some),
        None => Ok(None),
    }
}

async fn with_items(session: &mut Session, mut playlist: Playlist) -> Result<Playlist, Error> {
    if let PlaylistContent::Manual(items) = &mut playlist.content {
        let rows = session.all(ITEMS, values![playlist.id]).await?;
        let read =
            |row: &Row| Ok(PlaylistItem { media: row.id("media_id")?, position: row.int("position")? });
        *items = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
        items.sort_by_key(|item| item.position);
    }
    Ok(playlist)
}

/// The columns that a save may change, in the order of the statements: name to updated_at.
fn updated_values(playlist: &Playlist) -> Vec<Value> {
    let rules = match &playlist.content {
        PlaylistContent::Smart(rules) => Some(rules),
        PlaylistContent::Manual(_) => None,
    };
    let day = |pick: fn(&SmartRules) -> Option<Day>| rules.and_then(pick).map(|day: Day| day.to_string());
    values![
        playlist.name.as_str(),
        playlist.description.as_str(),
        playlist.limit,
        rules.map(|rules| rules.order.as_str()),
        day(|rules| rules.created.first),
        day(|rules| rules.created.last),
        day(|rules| rules.updated.first),
        day(|rules| rules.updated.last),
        playlist.updated_at,
    ]
}

/// A playlist without its items.
fn read(row: &Row) -> Result<Playlist, Error> {
    let content = match row.text("kind")?.as_str() {
        "manual" => PlaylistContent::Manual(Vec::new()),
        "smart" => PlaylistContent::Smart(SmartRules {
            order: row.parsed("play_order", PlayOrder::from_text)?,
            created: DayRange {
                first: row.parsed_or_none("created_first", Day::from_text)?,
                last: row.parsed_or_none("created_last", Day::from_text)?,
            },
            updated: DayRange {
                first: row.parsed_or_none("updated_first", Day::from_text)?,
                last: row.parsed_or_none("updated_last", Day::from_text)?,
            },
        }),
        _ => return Err(Row::invalid_column("kind")),
    };
    Ok(Playlist {
        id: row.id("id")?,
        workspace: row.id("workspace_id")?,
        name: row.text("name")?,
        reference_id: row.text("reference_id")?,
        description: row.text("description")?,
        limit: row.number("item_max")?,
        content,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        version: row.int("version")?,
    })
}
