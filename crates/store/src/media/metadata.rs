//! The entries of metadata as rows, for searches. Responses read the metadata of the media row.

use kinora_domain::Media;

use crate::Error;
use crate::sql::{Session, Statement, statements, values};

statements! {
    SAVE = "INSERT INTO media_metadata (media_id, media_version, workspace_id, key, value, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (media_id, key) DO UPDATE SET media_version = excluded.media_version, value = excluded.value";
    CLEAR_OLD = "DELETE FROM media_metadata WHERE media_id = $1 AND media_version <> $2";
}

/// Removes the entries of an earlier save.
pub(super) const CLEAR: Statement = CLEAR_OLD;

/// Writes the entries of a media with the version of this save.
pub(super) async fn save(session: &mut Session, media: &Media, version: i64) -> Result<(), Error> {
    for (key, value) in media.settings.metadata.iter().flatten() {
        let values =
            values![media.id, version, media.workspace, key.as_str(), value.as_str(), media.created_at];
        session.execute(SAVE, values).await?;
    }
    Ok(())
}
