//! Direct uploads: their settings, their progress, and the process that receives them.

mod columns;
mod lease;
mod lifecycle;

use kinora_domain::{MediaId, SourceId, Timestamp, Upload, UploadState, WorkspaceId};

#[cfg(test)]
pub(crate) use lease::STATEMENTS as LEASE;
pub use lease::{UploadLease, UploadMultipart, UploadPart};
pub use lifecycle::UploadCancelled;

use crate::keyring::Purpose;
use crate::list::{self, ListStatements, list_statements};
use crate::media::added_tracks::NewTrackJson;
use crate::media::columns::settings_values;
use crate::media::{AudioEditJson, TimelineEditJson, WatermarkJson};
use crate::sql::{statements, values};
use crate::{Error, List, ListPage, Store, Tx};

/// The list of a workspace's uploads without a complete file.
pub(crate) const PAGE: ListStatements = list_statements!(
    "id, workspace_id, title, creator_id, metadata, max_resolution, quality, source_access, optimize_audio,
        tracks, mp4_support, sound_edit, edit, watermark, policy, restrictions, encryption, cors_origin, timeout_s, size_max, source_id, length, state, state_at, kept, failure_code, failure_message,
        holds_source, created_at, updated_at, version",
    "upload WHERE workspace_id = $1 AND state <> 'completed'",
    "$7"
);

statements! {
    INSERT = "INSERT INTO upload
        (id, workspace_id, created_at, version, policy, cors_origin, timeout_s, size_max, source_id,
         title, creator_id, metadata, max_resolution, quality, source_access, optimize_audio, mp4_support,
         tracks, restrictions, length, state, state_at, kept, failure_code, failure_message, holds_source, updated_at, sound_edit, encryption, edit, watermark)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
         $26, $27, $28, $29, $30, $31)";
    SAVE = "UPDATE upload SET version = version + 1, length = $3, state = $4, state_at = $5, kept = $6,
        failure_code = $7, failure_message = $8, holds_source = $9, updated_at = $10
        WHERE id = $1 AND version = $2";
    BY_ID = "SELECT id, workspace_id, title, creator_id, metadata, max_resolution, quality, source_access, optimize_audio,
        tracks, mp4_support, sound_edit, edit, watermark, policy, restrictions, encryption, cors_origin, timeout_s, size_max, source_id, length, state, state_at, kept, failure_code, failure_message,
        holds_source, created_at, updated_at, version FROM upload WHERE id = $1";
    IN_WORKSPACE = "SELECT id, workspace_id, title, creator_id, metadata, max_resolution, quality, source_access, optimize_audio,
        tracks, mp4_support, sound_edit, edit, watermark, policy, restrictions, encryption, cors_origin, timeout_s, size_max, source_id, length, state, state_at, kept, failure_code, failure_message,
        holds_source, created_at, updated_at, version FROM upload WHERE id = $1 AND workspace_id = $2";
    HOLDS = "SELECT id FROM upload WHERE source_id = $1 AND holds_source = 1";
    TOTAL = "SELECT upload_count AS total FROM workspace WHERE id = $1";
    COUNT = "UPDATE workspace SET upload_count = upload_count + $2 WHERE id = $1";
    /// Runs before the row becomes complete: from then on the upload is used.
    COUNT_USED = "UPDATE workspace SET upload_count = upload_count - 1
        WHERE id = (SELECT workspace_id FROM upload WHERE id = $1 AND version = $2 AND state <> 'completed')";
}

impl Store {
    /// One upload of a workspace.
    pub async fn upload(&self, workspace: WorkspaceId, id: MediaId) -> Result<Option<Upload>, Error> {
        let row = self.reader().await?.first(IN_WORKSPACE, values![id, workspace]).await?;
        row.as_ref().map(columns::read).transpose()
    }

    /// One upload of any workspace, for internal callers.
    pub async fn upload_by_id(&self, id: MediaId) -> Result<Option<Upload>, Error> {
        let row = self.reader().await?.first(BY_ID, values![id]).await?;
        row.as_ref().map(columns::read).transpose()
    }

    /// Whether an upload owns the objects of a source: a sweep must not remove them.
    pub async fn is_source_of_upload(&self, source: SourceId) -> Result<bool, Error> {
        Ok(self.reader().await?.first(HOLDS, values![source]).await?.is_some())
    }

    /// A page of a workspace's uploads without a complete file. A page after the last one is empty.
    pub async fn upload_page(
        &self,
        workspace: WorkspaceId,
        page: impl Into<ListPage>,
    ) -> Result<List<Upload>, Error> {
        let mut snapshot = self.snapshot().await?;
        let list = list::page(&mut snapshot, workspace, TOTAL, PAGE, page.into()).await?;
        list.read(columns::read)
    }

    /// The path of an upload URL, without the server's own address: its claims and a signature, in bytes.
    pub fn sign_upload(&self, upload: &Upload) -> Vec<u8> {
        let claims = upload.claims();
        claims.with_signature(self.shared().keyring.sign(Purpose::UploadAddress, &[&claims.to_bytes()]))
    }

    /// Whether this server, or one with the same keys, signed the bytes of these claims.
    pub fn has_signed_upload(&self, claims: &[u8], signature: &[u8; 32]) -> bool {
        self.shared().keyring.has_signed(Purpose::UploadAddress, &[claims], signature)
    }
}

impl Tx {
    /// One upload of a workspace.
    pub async fn upload(&mut self, workspace: WorkspaceId, id: MediaId) -> Result<Option<Upload>, Error> {
        let row = self.session.first(IN_WORKSPACE, values![id, workspace]).await?;
        row.as_ref().map(columns::read).transpose()
    }

    /// One upload of any workspace.
    pub async fn upload_by_id(&mut self, id: MediaId) -> Result<Option<Upload>, Error> {
        let row = self.session.first(BY_ID, values![id]).await?;
        row.as_ref().map(columns::read).transpose()
    }

    /// Adds an upload.
    pub async fn insert_upload(&mut self, upload: &Upload) -> Result<(), Error> {
        let mut values = values![
            upload.id,
            upload.workspace,
            upload.created_at,
            upload.version,
            upload.policy.as_str(),
            upload.origin.as_str(),
            upload.timeout_s,
            upload.size_max.map(columns::saturated_i64),
            upload.source,
        ];
        values.extend(settings_values(&upload.settings));
        values.extend(values![NewTrackJson::list(&upload.tracks), columns::restrictions_json(upload)]);
        values.extend(columns::updated_values(upload));
        let audio_edit = AudioEditJson::text(upload.settings.audio_edit.as_ref());
        let timeline_edit = TimelineEditJson::text(upload.settings.timeline_edit.as_ref());
        let watermark = WatermarkJson::text(upload.settings.watermark.as_ref());
        values.extend(values![audio_edit, upload.encryption.as_str(), timeline_edit, watermark]);
        self.session.execute(INSERT, values).await?;
        self.add_upload_count(upload.workspace, 1).await
    }

    /// Adds to the number of unused uploads of a workspace; `more` may be negative.
    pub(crate) async fn add_upload_count(&mut self, workspace: WorkspaceId, more: i64) -> Result<(), Error> {
        self.session.execute(COUNT, values![workspace, more]).await.map(drop)
    }

    /// Saves a changed upload over the version that was read, and increments the version.
    /// [`Error::Conflict`] when the row changed: the closure is retried.
    pub async fn save_upload(&mut self, upload: &Upload) -> Result<(), Error> {
        if matches!(upload.state, UploadState::Completed { .. }) {
            self.session.execute(COUNT_USED, values![upload.id, upload.version]).await?;
        }
        let mut values = values![upload.id, upload.version];
        values.extend(columns::updated_values(upload));
        if self.session.execute(SAVE, values).await? == 0 {
            return Err(self.session.fail_with(Error::Conflict));
        }
        Ok(())
    }
}

/// How long the rows of uploads are stored, in microseconds: a day after their URLs have expired.
pub(crate) fn retention_us() -> i64 {
    (i64::from(Upload::LIFE_MAX_S) + 24 * 60 * 60) * Timestamp::SECOND
}
