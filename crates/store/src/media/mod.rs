//! Media with their inputs, tracks and playback IDs.

pub(crate) mod added_tracks;
mod audio_edit;
pub(crate) mod columns;
mod filter;
mod left_out;
mod lifecycle;
mod list;
pub(crate) mod load;
mod loudness;
mod metadata;
mod restrictions;
mod source_use;
mod timeline_edit;
mod watermark;

use kinora_domain::{Media, MediaId, MediaState, PlaybackId, Resolution, SourceId, WorkspaceId};

pub(crate) use audio_edit::AudioEditJson;
pub use filter::MediaFilter;
pub(crate) use left_out::LeftOutJson;
#[cfg(test)]
pub(crate) use list::{FILTER_INDEXES, STATEMENTS as FIND};
#[cfg(test)]
pub(crate) use load::STATEMENTS as SELECTIONS;
#[cfg(test)]
pub(crate) use metadata::STATEMENTS as METADATA;
pub(crate) use restrictions::RestrictionsJson;
#[cfg(test)]
pub(crate) use source_use::STATEMENTS as SOURCE_USE;
pub(crate) use timeline_edit::TimelineEditJson;
pub(crate) use watermark::WatermarkJson;

use crate::sql::{Session, statements, values};
use crate::{Error, Store, Tx};

statements! {
    INSERT = "INSERT INTO media
        (id, workspace_id, created_at, version, title, creator_id, metadata, max_resolution, quality, source_access,
         optimize_audio, mp4_support, state, state_at, source_id, failure_code, failure_message, duration_us, source_resolution,
         aspect_width, aspect_height, is_truncated, does_not_decode, container, rungs, updated_at, title_key, thumbnail_ms, left_out, original_id, base_ranges, loudness, sound_edit, edit,
         watermark, clip_of_id, clip_of_source_id, told_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
         $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $3)";
    SAVE = "UPDATE media SET version = version + 1, title = $3, creator_id = $4, metadata = $5, max_resolution = $6,
        quality = $7, source_access = $8, optimize_audio = $9, mp4_support = $10, state = $11, state_at = $12, source_id = $13,
        failure_code = $14, failure_message = $15, duration_us = $16, source_resolution = $17, aspect_width = $18,
        aspect_height = $19, is_truncated = $20, does_not_decode = $21, container = $22, rungs = $23,
        updated_at = $24, title_key = $25, thumbnail_ms = $26, left_out = $27, original_id = $28, base_ranges = $29, loudness = $30
        WHERE id = $1 AND version = $2";
    /// Not a change of the media: its version does not change.
    SAVE_BLUR_HASH = "UPDATE media SET blur_hash = $4, blur_hash_source_id = $2, blur_hash_ms = $3 WHERE id = $1 AND source_id = $2";
    CLIPS_WITH_SOURCE = "SELECT id FROM media WHERE workspace_id = $1 AND clip_of_id = $2 AND source_access = 1 ORDER BY created_at, id";
    CLIPS_WITH_ORIGINAL = "SELECT id FROM media WHERE original_id = $2 AND workspace_id = $1 AND clip_of_id IS NOT NULL AND source_access = 1 ORDER BY created_at, id";
    DELETE = "DELETE FROM media WHERE id = $1 RETURNING workspace_id";
    COUNT = "UPDATE workspace SET media_count = media_count + $2 WHERE id = $1";
    INPUT_SAVE = "INSERT INTO input (id, media_id, media_version, position, url) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (id) DO UPDATE SET media_version = excluded.media_version, position = excluded.position,
        url = excluded.url";
    INPUT_CLEAR = "DELETE FROM input WHERE media_id = $1 AND media_version <> $2";
    PLAYBACK_SAVE = "INSERT INTO playback_id
        (id, media_id, media_version, position, policy, restrictions, resolution, encryption, generation, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        ON CONFLICT (id) DO UPDATE SET media_version = excluded.media_version, position = excluded.position,
        policy = excluded.policy, restrictions = excluded.restrictions, resolution = excluded.resolution,
        generation = excluded.generation";
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

    /// One media of any workspace, for internal callers.
    pub async fn media_by_id(&self, id: MediaId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_ID, values![id]).await
    }

    /// The media of a playback ID.
    pub async fn media_of_playback(&self, id: PlaybackId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_PLAYBACK, values![id]).await
    }

    /// The media that owns the objects of a source. Objects without a media can be swept, unless their
    /// upload or download still runs.
    pub async fn media_of_source(&self, id: SourceId) -> Result<Option<Media>, Error> {
        load::one(&mut self.snapshot().await?, load::BY_SOURCE, values![id]).await
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

    /// The media of a playback ID.
    pub async fn media_of_playback(&mut self, id: PlaybackId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::BY_PLAYBACK, values![id]).await
    }

    /// The media that owns the objects of a source.
    pub async fn media_of_source(&mut self, id: SourceId) -> Result<Option<Media>, Error> {
        load::one(&mut self.session, load::BY_SOURCE, values![id]).await
    }

    /// Adds a media.
    pub async fn insert_media(&mut self, media: &Media) -> Result<(), Error> {
        self.signals.rows = true;
        let mut values = values![media.id, media.workspace, media.created_at, media.version];
        values.extend(columns::updated_values(media));
        values.extend(columns::inserted_values(media));
        self.session.execute(INSERT, values).await?;
        self.session.execute(COUNT, values![media.workspace, 1_i64]).await?;
        save_parts(&mut self.session, media, media.version).await?;
        self.create_content_keys(media).await?;
        self.insert_added_tracks(media).await
    }

    /// Saves a changed media over the version that was read, and increments the version.
    /// [`Error::Conflict`] when the row changed or is gone: the closure is retried. Added tracks are not
    /// saved: [`Tx::save_tracks`] writes those.
    pub async fn save_media(&mut self, media: &Media) -> Result<(), Error> {
        self.signals.rows = true;
        let mut values = values![media.id, media.version];
        values.extend(columns::updated_values(media));
        if self.session.execute(SAVE, values).await? == 0 {
            return Err(self.session.fail_with(Error::Conflict));
        }
        let version = media.version + 1;
        save_parts(&mut self.session, media, version).await?;
        self.create_content_keys(media).await?;
        for statement in [INPUT_CLEAR, PLAYBACK_CLEAR, TRACK_CLEAR, metadata::CLEAR] {
            self.session.execute(statement, values![media.id, version]).await?;
        }
        Ok(())
    }

    /// Saves the BlurHash of a frame, named by its source and its time. The media shows it while this frame
    /// is its thumbnail. Does nothing when the media is gone or has another source.
    pub async fn save_blur_hash(
        &mut self,
        id: MediaId,
        source: SourceId,
        thumbnail_ms: Option<u64>,
        hash: &str,
    ) -> Result<(), Error> {
        self.signals.rows = true;
        let thumbnail_time = thumbnail_ms.map(|time_ms| i64::try_from(time_ms).unwrap_or(i64::MAX));
        self.session.execute(SAVE_BLUR_HASH, values![id, source, thumbnail_time, hash]).await.map(drop)
    }

    /// The clips of a media whose source is downloadable, oldest first.
    pub async fn clips_with_source_access(
        &mut self,
        workspace: WorkspaceId,
        origin: MediaId,
    ) -> Result<Vec<MediaId>, Error> {
        let rows = self.session.all(CLIPS_WITH_SOURCE, values![workspace, origin]).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// The clips with this original whose source is downloadable, oldest first.
    pub async fn clips_with_original(
        &mut self,
        workspace: WorkspaceId,
        original: SourceId,
    ) -> Result<Vec<MediaId>, Error> {
        let rows = self.session.all(CLIPS_WITH_ORIGINAL, values![workspace, original]).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }

    /// Removes a media with its inputs, tracks and playback IDs. Its events and their deliveries stay.
    /// `false` when it is gone already.
    pub async fn delete_media(&mut self, id: MediaId) -> Result<bool, Error> {
        self.signals.rows = true;
        let rows = self.session.execute_returning(DELETE, values![id]).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let workspace: WorkspaceId = row.id("workspace_id")?;
        self.session.execute(COUNT, values![workspace, -1_i64]).await?;
        Ok(true)
    }
}

/// Writes the further rows of a media with the version of this save.
async fn save_parts(session: &mut Session, media: &Media, version: i64) -> Result<(), Error> {
    for (position, input) in (0_i64..).zip(&media.inputs) {
        let values = values![input.id, media.id, version, position, input.url.as_str()];
        session.execute(INPUT_SAVE, values).await?;
    }
    for (position, playback_id) in (0_i64..).zip(&media.playback_ids) {
        let restrictions = RestrictionsJson::from(&playback_id.restrictions).to_text();
        let mut values =
            values![playback_id.id, media.id, version, position, playback_id.policy.as_str(), restrictions];
        let resolution = playback_id.resolution.map(Resolution::as_str);
        let encryption = playback_id.encryption.as_str();
        values.extend(values![resolution, encryption, playback_id.generation, playback_id.created_at]);
        session.execute(PLAYBACK_SAVE, values).await?;
    }
    metadata::save(session, media, version).await?;
    if let MediaState::Ready { facts, .. } = &media.state {
        for (position, track) in (0_i64..).zip(&facts.tracks) {
            let mut values = values![track.id, media.id, version, position];
            values.extend(columns::track_values(track));
            session.execute(TRACK_SAVE, values).await?;
        }
    }
    Ok(())
}
