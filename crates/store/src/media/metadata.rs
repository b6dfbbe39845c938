//! The entries of metadata, as rows that can be looked for. What is answered is in the media's own row.

use kinora_domain::{Media, Timestamp};

use super::{columns, filter::title_key};
use crate::Error;
use crate::sql::{Session, Statement, statements, values};

statements! {
    SAVE = "INSERT INTO media_metadata (media_id, media_version, workspace_id, key, value, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (media_id, key) DO UPDATE SET media_version = excluded.media_version, value = excluded.value";
    CLEAR_OLD = "DELETE FROM media_metadata WHERE media_id = $1 AND media_version <> $2";
    UNFILLED = "SELECT id, workspace_id, created_at, version, title, creator_id, metadata, max_resolution, quality, source_access,
        optimize_audio, mp4_support, sound_edit FROM media WHERE id > $1 ORDER BY id LIMIT $2";
    SET_TITLE = "UPDATE media SET title_key = $2 WHERE id = $1";
}

/// Removes what an older save wrote.
pub(super) const CLEAR: Statement = CLEAR_OLD;

/// Media of one step of [`fill`].
const BATCH: i64 = 500;

/// Writes the entries of a media, stamped with the version of this save.
pub(super) async fn save(session: &mut Session, media: &Media, version: i64) -> Result<(), Error> {
    for (key, value) in media.settings.metadata.iter().flatten() {
        let values =
            values![media.id, version, media.workspace, key.as_str(), value.as_str(), media.created_at];
        session.execute(SAVE, values).await?;
    }
    Ok(())
}

/// Writes what media that were there before are looked for by.
pub(crate) async fn fill(session: &mut Session) -> Result<(), Error> {
    let mut last = String::new();
    loop {
        let rows = session.all(UNFILLED, values![last.as_str(), BATCH]).await?;
        for row in &rows {
            last = row.text("id")?;
            let settings = columns::read_settings(row)?;
            if let Some(title) = &settings.title {
                session.execute(SET_TITLE, values![last.as_str(), title_key(title)]).await?;
            }
            let (workspace, version) = (row.text("workspace_id")?, row.int("version")?);
            let created_at: Timestamp = row.time("created_at")?;
            for (key, value) in settings.metadata.iter().flatten() {
                let workspace = workspace.as_str();
                let values =
                    values![last.as_str(), version, workspace, key.as_str(), value.as_str(), created_at];
                session.execute(SAVE, values).await?;
            }
        }
        if rows.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
}
