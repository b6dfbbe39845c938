//! The media of a playlist: the items of a manual one, or the present matches of the rules of a smart one.

use std::collections::HashMap;

use kinora_domain::{
    Media, MediaId, PlayOrder, Playlist, PlaylistContent, PlaylistId, SmartRules, WorkspaceId,
};
use sha2::{Digest as _, Sha256};

use super::{by_id, in_workspace};
use crate::list;
use crate::media::load;
use crate::sql::{Row, Session, Statement, Value, statements, values};
use crate::{Error, Store, Tx};

/// The version of a playlist: a SHA-256 of its visible content. Playlists with equal versions play the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaylistVersion([u8; 32]);

/// A media in a playlist.
struct Member {
    id: MediaId,
    version: i64,
    /// The number of its encoded renditions that are broken.
    broken: u64,
}

/// The ids of one [`STATES`] statement.
const STATES_AT_ONCE: usize = 20;

statements! {
    /// The states of these media of a workspace; missing media have no row.
    STATES = "SELECT id, state FROM media WHERE workspace_id = $1 AND id IN
        ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";
    COUNT_CREATED = "SELECT COUNT(*) AS total FROM (SELECT id FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND created_at >= $2 AND created_at < $3 AND +updated_at >= $4 AND +updated_at < $5 LIMIT $6) AS chosen";
    COUNT_UPDATED = "SELECT COUNT(*) AS total FROM (SELECT id FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND +created_at >= $2 AND +created_at < $3 AND updated_at >= $4 AND updated_at < $5 LIMIT $6) AS chosen";
}

/// Declares the member statements by their subqueries of ids, which are limited to the length of a
/// playlist. The subqueries read only an index; rows are read of the selected media alone.
macro_rules! members {
    ($($(#[$doc:meta])* $name:ident = $chosen:literal, $order:literal;)*) => {
        $(
            $(#[$doc])*
            const $name: Statement = Statement::new(concat!(
                "SELECT media.id, media.version, (SELECT COUNT(*) FROM rendition
                 WHERE rendition.presentation_id = media.source_id AND broken_at IS NOT NULL) AS broken
                 FROM (", $chosen, ") AS chosen JOIN media ON media.id = chosen.id ORDER BY ", $order
            ));
        )*

        #[cfg(test)]
        pub(crate) const MEMBERS: &[Statement] = &[$($name),*];
    };
}

members! {
    ITEMS = "SELECT media_id AS id, position FROM playlist_item WHERE playlist_id = $1", "chosen.position";
    /// The media of smart playlists. The plus signs exclude the other dates from index lookups, because the
    /// index of these dates also gives the order.
    CREATED_OLDEST = "SELECT id, created_at FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND created_at >= $2 AND created_at < $3 AND +updated_at >= $4 AND +updated_at < $5 ORDER BY created_at, id LIMIT $6",
        "chosen.created_at, chosen.id";
    CREATED_NEWEST = "SELECT id, created_at FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND created_at >= $2 AND created_at < $3 AND +updated_at >= $4 AND +updated_at < $5
        ORDER BY created_at DESC, id DESC LIMIT $6",
        "chosen.created_at DESC, chosen.id DESC";
    UPDATED_OLDEST = "SELECT id, created_at FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND +created_at >= $2 AND +created_at < $3 AND updated_at >= $4 AND updated_at < $5 ORDER BY created_at, id LIMIT $6",
        "chosen.created_at, chosen.id";
    UPDATED_NEWEST = "SELECT id, created_at FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND +created_at >= $2 AND +created_at < $3 AND updated_at >= $4 AND updated_at < $5
        ORDER BY created_at DESC, id DESC LIMIT $6",
        "chosen.created_at DESC, chosen.id DESC";
}

impl Store {
    /// One playlist of a workspace with its media, in their order. All of them are ready.
    pub async fn playlist(
        &self,
        workspace: WorkspaceId,
        id: PlaylistId,
    ) -> Result<Option<(Playlist, Vec<Media>)>, Error> {
        let mut snapshot = self.snapshot().await?;
        match in_workspace(&mut snapshot, workspace, id).await? {
            Some(playlist) => with_media(&mut snapshot, playlist).await.map(Some),
            None => Ok(None),
        }
    }

    /// One playlist of any workspace with its media, for internal callers.
    pub async fn playlist_by_id(&self, id: PlaylistId) -> Result<Option<(Playlist, Vec<Media>)>, Error> {
        let mut snapshot = self.snapshot().await?;
        match by_id(&mut snapshot, id).await? {
            Some(playlist) => with_media(&mut snapshot, playlist).await.map(Some),
            None => Ok(None),
        }
    }

    /// The version of a playlist of any workspace: a cheap check whether
    /// [`playlist_by_id`](Store::playlist_by_id) would read the same again.
    pub async fn playlist_version(&self, id: PlaylistId) -> Result<Option<PlaylistVersion>, Error> {
        let mut snapshot = self.snapshot().await?;
        let Some(playlist) = by_id(&mut snapshot, id).await? else { return Ok(None) };
        let mut hasher = Sha256::new_with_prefix(playlist.version.to_be_bytes());
        for Member { id, version, broken } in members(&mut snapshot, &playlist).await? {
            hasher.update(id.to_string());
            hasher.update(version.to_be_bytes());
            hasher.update(broken.to_be_bytes());
        }
        Ok(Some(PlaylistVersion(hasher.finalize().into())))
    }

    /// The media that the rules of a smart playlist match now, in their order. The playlist need not be
    /// stored.
    pub async fn chosen_media(&self, playlist: &Playlist) -> Result<Vec<Media>, Error> {
        media(&mut self.snapshot().await?, playlist).await
    }

    /// The media that the rules of a stored playlist match now; `None` unless it is a smart one of the
    /// workspace.
    pub async fn chosen_media_of(
        &self,
        workspace: WorkspaceId,
        id: PlaylistId,
    ) -> Result<Option<Vec<Media>>, Error> {
        let mut snapshot = self.snapshot().await?;
        let playlist = in_workspace(&mut snapshot, workspace, id).await?;
        match playlist.filter(|playlist| matches!(playlist.content, PlaylistContent::Smart(_))) {
            Some(playlist) => media(&mut snapshot, &playlist).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Tx {
    /// The media of a playlist, in their order.
    pub async fn playlist_media(&mut self, playlist: &Playlist) -> Result<Vec<Media>, Error> {
        media(&mut self.session, playlist).await
    }

    /// The state names of these media, without those of other workspaces.
    pub async fn media_states(
        &mut self,
        workspace: WorkspaceId,
        ids: &[MediaId],
    ) -> Result<HashMap<MediaId, String>, Error> {
        let mut states = HashMap::with_capacity(ids.len());
        for chunk in ids.chunks(STATES_AT_ONCE) {
            let mut values = values![workspace];
            // The statement has a fixed number of values; the last id pads it.
            let padded = chunk.iter().chain(chunk.last().into_iter().cycle());
            values.extend(padded.take(STATES_AT_ONCE).map(|id| Value::from(*id)));
            for row in self.session.all(STATES, values).await? {
                states.insert(row.id("id")?, row.text("state")?);
            }
        }
        Ok(states)
    }
}

async fn with_media(session: &mut Session, playlist: Playlist) -> Result<(Playlist, Vec<Media>), Error> {
    let media = media(session, &playlist).await?;
    Ok((playlist, media))
}

async fn media(session: &mut Session, playlist: &Playlist) -> Result<Vec<Media>, Error> {
    let ids: Vec<MediaId> = members(session, playlist).await?.iter().map(|member| member.id).collect();
    load::by_ids(session, &ids).await
}

/// The members of a playlist, in its order, without reading their media.
async fn members(session: &mut Session, playlist: &Playlist) -> Result<Vec<Member>, Error> {
    let rows = match &playlist.content {
        PlaylistContent::Manual(_) => session.all(ITEMS, values![playlist.id]).await?,
        PlaylistContent::Smart(rules) => {
            let statement = match (is_by_update(*rules), rules.order) {
                (false, PlayOrder::OldestFirst) => CREATED_OLDEST,
                (false, PlayOrder::NewestFirst) => CREATED_NEWEST,
                (true, PlayOrder::OldestFirst) => UPDATED_OLDEST,
                (true, PlayOrder::NewestFirst) => UPDATED_NEWEST,
            };
            session.all(statement, smart_values(playlist, *rules)).await?
        }
    };
    let member = |row: &Row| {
        let (id, version) = (row.id("id")?, row.int("version")?);
        Ok(Member { id, version, broken: row.number("broken")? })
    };
    rows.iter().map(member).collect()
}

/// The number of media that the rules of a playlist match.
pub(super) async fn count(
    session: &mut Session,
    playlist: &Playlist,
    rules: SmartRules,
) -> Result<u64, Error> {
    let statement = if is_by_update(rules) { COUNT_UPDATED } else { COUNT_CREATED };
    list::count(session, statement, smart_values(playlist, rules)).await
}

/// Whether only the update dates limit the media: then another index is used.
fn is_by_update(rules: SmartRules) -> bool {
    rules.created.is_unbounded() && !rules.updated.is_unbounded()
}

/// The values for the statements of smart playlists.
fn smart_values(playlist: &Playlist, rules: SmartRules) -> Vec<Value> {
    let (created_from, created_to) = rules.created.instants();
    let (updated_from, updated_to) = rules.updated.instants();
    values![playlist.workspace, created_from, created_to, updated_from, updated_to, playlist.limit]
}
