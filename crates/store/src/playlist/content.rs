//! Which media are in a playlist: the items of a manual one, what the rules of a smart one choose now.

use std::collections::HashMap;

use kinora_domain::{
    Media, MediaId, PlayOrder, Playlist, PlaylistContent, PlaylistId, SmartRules, WorkspaceId,
};

use super::{by_id, in_workspace};
use crate::media::load;
use crate::sql::{Session, Value, statements, values};
use crate::{Error, Store, Tx};

/// Ids that [`STATES`] asks for at once.
const STATES_AT_ONCE: usize = 20;

statements! {
    /// Where these media of a workspace stand; those that are not there have no row.
    STATES = "SELECT id, state FROM media WHERE workspace_id = $1 AND id IN
        ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)";
    COUNT_CREATED = "SELECT COUNT(*) AS total FROM (SELECT id FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND created_at >= $2 AND created_at < $3 AND +updated_at >= $4 AND +updated_at < $5 LIMIT $6) AS chosen";
    COUNT_UPDATED = "SELECT COUNT(*) AS total FROM (SELECT id FROM media WHERE workspace_id = $1 AND state = 'Ready'
        AND +created_at >= $2 AND +created_at < $3 AND updated_at >= $4 AND updated_at < $5 LIMIT $6) AS chosen";
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

    /// The same of any workspace, for those who act for no client.
    pub async fn playlist_by_id(&self, id: PlaylistId) -> Result<Option<(Playlist, Vec<Media>)>, Error> {
        let mut snapshot = self.snapshot().await?;
        match by_id(&mut snapshot, id).await? {
            Some(playlist) => with_media(&mut snapshot, playlist).await.map(Some),
            None => Ok(None),
        }
    }
}

impl Tx {
    /// The media of a playlist, in their order.
    pub async fn playlist_media(&mut self, playlist: &Playlist) -> Result<Vec<Media>, Error> {
        media(&mut self.session, playlist).await
    }

    /// The names of the states of these media, of those that are in the workspace.
    pub async fn media_states(
        &mut self,
        workspace: WorkspaceId,
        ids: &[MediaId],
    ) -> Result<HashMap<MediaId, String>, Error> {
        let mut states = HashMap::with_capacity(ids.len());
        for some in ids.chunks(STATES_AT_ONCE) {
            let mut values = values![workspace];
            // The statement has one length; the last id stands in all places that are left.
            let all = some.iter().chain(some.last().into_iter().cycle());
            values.extend(all.take(STATES_AT_ONCE).map(|id| Value::from(*id)));
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
    match &playlist.content {
        PlaylistContent::Manual(items) => {
            let all = load::many(session, load::IN_PLAYLIST, values![playlist.id]).await?;
            let mut by_id: HashMap<MediaId, Media> = all.into_iter().map(|media| (media.id, media)).collect();
            Ok(items.iter().filter_map(|item| by_id.remove(&item.media)).collect())
        }
        PlaylistContent::Smart(rules) => {
            let is_newest_first = rules.order == PlayOrder::NewestFirst;
            let selection = match (is_by_update(*rules), is_newest_first) {
                (false, false) => load::CREATED_BETWEEN_OLDEST,
                (false, true) => load::CREATED_BETWEEN_NEWEST,
                (true, false) => load::UPDATED_BETWEEN_OLDEST,
                (true, true) => load::UPDATED_BETWEEN_NEWEST,
            };
            let mut media = load::many(session, selection, chosen(playlist, *rules)).await?;
            if is_newest_first {
                media.reverse();
            }
            Ok(media)
        }
    }
}

/// How many media the rules of a playlist choose.
pub(super) async fn count(
    session: &mut Session,
    playlist: &Playlist,
    rules: SmartRules,
) -> Result<u64, Error> {
    let statement = if is_by_update(rules) { COUNT_UPDATED } else { COUNT_CREATED };
    let row = session.first(statement, chosen(playlist, rules)).await?;
    row.map_or(Ok(0), |row| row.number("total"))
}

/// Whether the dates of updates alone say which media are chosen: another index leads to those.
fn is_by_update(rules: SmartRules) -> bool {
    rules.created.is_everything() && !rules.updated.is_everything()
}

/// What the statements that choose media take.
fn chosen(playlist: &Playlist, rules: SmartRules) -> Vec<Value> {
    let (created_from, created_to) = rules.created.instants();
    let (updated_from, updated_to) = rules.updated.instants();
    values![playlist.workspace, created_from, created_to, updated_from, updated_to, playlist.limit]
}
