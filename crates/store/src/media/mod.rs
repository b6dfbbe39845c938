//! Media with their inputs, tracks and playback IDs.

pub(crate) mod columns;
mod lifecycle;
mod load;
mod restrictions;

use kinora_domain::{Media, MediaId, MediaState, PlaybackId, Resolution, SourceId, WorkspaceId};

#[cfg(test)]
pub(crate) use load::STATEMENTS as SELECTIONS;
pub(crate) use restrictions::RestrictionsJson;

use crate::sql::{Session, statements, values};
use crate::{Error, Store, Tx};

/// Which part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Most entries of a page.
    pub limit: u32,
    /// Which page; the first one is 1, and so is what 0 is taken for.
    pub number: u32,
    /// Which end comes first, by creation time.
    pub newest_first: bool,
}

/// A part of the list of media.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaPage {
    /// In the order that was asked for.
    pub media: Vec<Media>,
    /// How many media there are on all pages, at the same instant.
    pub total: u64,
}

statements! {
    INSERT = "INSERT INTO media
        (id, workspace_id, created_at, version, title, creator_id, metadata, max_resolution, quality, source_access,
         optimize_audio, state, state_at, source_id, failure_code, failure_message, duration_us, source_resolution,
         aspect_width, aspect_height, is_truncated, does_not_decode, container, rungs, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
         $24, $25)";
    SAVE = "UPDATE media SET version = version + 1, title = $3, creator_id = $4, metadata = $5, max_resolution = $6,
        quality = $7, source_access = $8, optimize_audio = $9, state = $10, state_at = $11, source_id = $12,
        failure_code = $13, failure_message = $14, duration_us = $15, source_resolution = $16, aspect_width = $17,
        aspect_height = $18, is_truncated = $19, does_not_decode = $20, container = $21, rungs = $22,
        updated_at = $23
        WHERE id = $1 AND version = $2";
    DELETE = "DELETE FROM media WHERE id = $1 RETURNING workspace_id";
    COUNT = "UPDATE workspace SET media_count = media_count + $2 WHERE id = $1";
    KEYS_NEWEST = "SELECT created_at, id FROM media WHERE workspace_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";
    KEYS_OLDEST = "SELECT created_at, id FROM media WHERE workspace_id = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3";
    TOTAL = "SELECT media_count FROM workspace WHERE id = $1";
    INPUT_SAVE = "INSERT INTO input (id, media_id, media_version, position, url) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET media_version = excluded.media_version, position = excluded.position,
        url = excluded.url";
    INPUT_CLEAR = "DELETE FROM input WHERE media_id = $1 AND media_version <> $2";
    PLAYBACK_SAVE = "INSERT INTO playback_id
        (id, media_id, media_version, position, policy, restrictions, resolution, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (id) DO UPDATE SET media_version = excluded.media_version, position = excluded.position,
        policy = excluded.policy, restrictions = excluded.restrictions, resolution = excluded.resolution";
    PLAYBACK_CLEAR = "DELETE FROM playback_id WHERE media_id = $1 AND media_version <> $2";
    TRACK_SAVE = "INSERT INTO track
        (id, media_id, media_version, position, kind, width, height, frame_rate_numerator, frame_rate_denominator,
         language_code, language_name, not_copied_reason, not_copied_detail, is_encoded)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
        ON CONFLICT (id) DO UPDATE SET media_version = excluded.media_version, position = excluded.position,
        kind = excluded.kind, width = excluded.width, height = excluded.height,
        frame_rate_numerator = excluded.frame_rate_numerator, frame_rate_denominator = excluded.frame_rate_denominator,
        language_code = excluded.language_code, language_name = excluded.language_name,
        not_copied_reason = excluded.not_copied_reason, not_copied_detail = excluded.not_copied_detail,
        is_encoded = excluded.is_encoded";
    TRACK_CLEAR = "DELETE FROM track WHERE media_id = $1 AND media_version <> $2";
}

impl Store {
    /// One media of a workspace.
    pub async fn media(&self, workspace: WorkspaceId, id: MediaId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::IN_WORKSPACE, values![id, workspace]).await
    }

    /// One media of any workspace, for those who act for no client.
    pub async fn media_by_id(&self, id: MediaId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_ID, values![id]).await
    }

    /// The media that a playback ID leads to.
    pub async fn media_of_playback(&self, id: PlaybackId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_PLAYBACK, values![id]).await
    }

    /// The media that the objects of a source belong to; without one they can be swept, unless they are still arriving.
    pub async fn media_of_source(&self, id: SourceId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_SOURCE, values![id]).await
    }

    /// A part of a workspace's media. A page behind the last one is empty.
    pub async fn media_page(&self, workspace: WorkspaceId, page: Page) -> Result<MediaPage, Error> {
        let mut snapshot = self.snapshot().await?;
        let total = match snapshot.first(TOTAL, values![workspace]).await? {
            Some(row) => row.number("media_count")?,
            None => 0,
        };
        let Some(part) = Part::of(page, total) else { return Ok(MediaPage { media: Vec::new(), total }) };
        let keys = if part.is_from_newest { KEYS_NEWEST } else { KEYS_OLDEST };
        let mut keys = snapshot.all(keys, values![workspace, part.count, part.skip]).await?;
        if part.is_from_newest {
            keys.reverse();
        }
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(MediaPage { media: Vec::new(), total });
        };
        let range = values![
            workspace,
            first.time("created_at")?,
            first.text("id")?,
            last.time("created_at")?,
            last.text("id")?,
        ];
        let mut media = load::many(&mut snapshot, load::RANGE, range).await?;
        if page.newest_first {
            media.reverse();
        }
        Ok(MediaPage { media, total })
    }
}

/// Where a page lies, counted from the end that is nearer: whoever asks by number has the rows before it passed over, in the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) is_from_newest: bool,
    pub(crate) skip: i64,
    pub(crate) count: i64,
}

impl Part {
    /// `None` for a page without rows.
    pub(crate) fn of(page: Page, total: u64) -> Option<Self> {
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        let skip = i64::from(page.number.saturating_sub(1)).saturating_mul(i64::from(page.limit));
        let count = i64::from(page.limit).min(total.saturating_sub(skip));
        if count <= 0 {
            return None;
        }
        let behind = total - skip - count;
        Some(if behind < skip {
            Self { is_from_newest: !page.newest_first, skip: behind, count }
        } else {
            Self { is_from_newest: page.newest_first, skip, count }
        })
    }
}

impl Tx {
    /// One media of a workspace.
    pub async fn media(&mut self, workspace: WorkspaceId, id: MediaId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::IN_WORKSPACE, values![id, workspace]).await
    }

    /// One media of any workspace.
    pub async fn media_by_id(&mut self, id: MediaId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::BY_ID, values![id]).await
    }

    /// The media that a playback ID leads to.
    pub async fn media_of_playback(&mut self, id: PlaybackId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::BY_PLAYBACK, values![id]).await
    }

    /// The media that the objects of a source belong to.
    pub async fn media_of_source(&mut self, id: SourceId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::BY_SOURCE, values![id]).await
    }

    /// Adds a media.
    pub async fn insert_media(&mut self, media: &Media) -> Result<(), Error> {
        self.effects.rows = true;
        let mut values = values![media.id, media.workspace, media.created_at, media.version];
        values.extend(columns::changing(media));
        self.session.execute(INSERT, values).await?;
        self.session.execute(COUNT, values![media.workspace, 1_i64]).await?;
        save_parts(&mut self.session, media, media.version).await
    }

    /// Saves a changed media over the version it was read as, which the row then is one ahead of. [`Error::Conflict`] when it
    /// moved, or is gone: the closure runs again.
    pub async fn save_media(&mut self, media: &Media) -> Result<(), Error> {
        self.effects.rows = true;
        let mut values = values![media.id, media.version];
        values.extend(columns::changing(media));
        if self.session.execute(SAVE, values).await? == 0 {
            return Err(self.session.refuse(Error::Conflict));
        }
        let version = media.version + 1;
        save_parts(&mut self.session, media, version).await?;
        for statement in [INPUT_CLEAR, PLAYBACK_CLEAR, TRACK_CLEAR] {
            self.session.execute(statement, values![media.id, version]).await?;
        }
        Ok(())
    }

    /// Removes a media with its inputs, tracks and playback IDs. Its events and their deliveries stay. `false` when it is gone
    /// already.
    pub async fn delete_media(&mut self, id: MediaId) -> Result<bool, Error> {
        self.effects.rows = true;
        let rows = self.session.change(DELETE, values![id]).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let workspace: WorkspaceId = row.id("workspace_id")?;
        self.session.execute(COUNT, values![workspace, -1_i64]).await?;
        Ok(true)
    }
}

/// Writes the rows beside the media's own, stamped with the version of this save.
async fn save_parts(session: &mut Session, media: &Media, version: i64) -> Result<(), Error> {
    for (position, input) in (0_i64..).zip(&media.inputs) {
        let values = values![input.id, media.id, version, position, input.url.as_str()];
        session.execute(INPUT_SAVE, values).await?;
    }
    for (position, handle) in (0_i64..).zip(&media.playback) {
        let restrictions = RestrictionsJson::from(&handle.restrictions).to_text();
        let mut values =
            values![handle.id, media.id, version, position, handle.policy.as_str(), restrictions];
        values.extend(values![handle.resolution.map(Resolution::as_str), handle.created_at]);
        session.execute(PLAYBACK_SAVE, values).await?;
    }
    if let MediaState::Ready { facts, .. } = &media.state {
        for (position, track) in (0_i64..).zip(&facts.tracks) {
            let mut values = values![track.id, media.id, version, position];
            values.extend(columns::track(track));
            session.execute(TRACK_SAVE, values).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_from_the_nearer_end() {
        let check = |number, newest_first, total, expected: Option<(bool, i64, i64)>| {
            let part = Part::of(Page { limit: 10, number, newest_first }, total);
            let expected = expected.map(|(is_from_newest, skip, count)| Part { is_from_newest, skip, count });
            assert_eq!(part, expected, "{number} {newest_first} {total}");
        };
        check(1, true, 0, None);
        check(1, true, 3, Some((true, 0, 3)));
        check(0, true, 95, Some((true, 0, 10)));
        check(1, false, 95, Some((false, 0, 10)));
        check(5, true, 95, Some((true, 40, 10)));
        check(6, true, 95, Some((false, 35, 10)));
        check(10, true, 95, Some((false, 0, 5)));
        check(10, false, 95, Some((true, 0, 5)));
        check(11, true, 95, None);
        check(u32::MAX, true, 95, None);
        check(2, true, u64::MAX, Some((true, 10, 10)));
    }
}
