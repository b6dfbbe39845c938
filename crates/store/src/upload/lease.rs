//! The lease of the process that receives an upload. Requests may reach any process, and a process that
//! seemed dead may still be alive. So each takeover increments the lease number, and a process with an
//! earlier number writes nothing.

use kinora_domain::{MediaId, Timestamp, Upload};

use super::columns;
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx, WorkerId};

/// The right to write to an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadLease {
    /// The upload.
    pub upload: MediaId,
    /// The lease number; each takeover increments it.
    pub number: u32,
}

/// The records of the object store about an upload, where it stores a growing object in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadMultipart {
    /// The id of the multipart upload.
    pub multipart_id: Option<String>,
    /// Its parts, from the start and without a gap.
    pub parts: Vec<UploadPart>,
}

/// A part that the object store has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadPart {
    /// Its length in bytes.
    pub len: u64,
    /// The id of the part in the object store.
    pub id: String,
}

statements! {
    LEASE = "SELECT lease_number, lease_owner FROM upload WHERE id = $1";
    TAKE_OVER = "UPDATE upload SET lease_number = lease_number + 1, lease_owner = $2 WHERE id = $1";
    CHECK_LEASE = "SELECT id FROM upload WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    SAVE_OFFSET = "UPDATE upload SET kept = $3, state_at = $4, updated_at = $4, version = version + 1
        WHERE id = $1 AND lease_number = $2 AND state = 'uploading' AND kept <= $3";
    TOUCH = "UPDATE upload SET updated_at = $3, version = version + 1,
        state_at = CASE WHEN state = 'uploading' THEN $3 ELSE state_at END
        WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    SAVE_MULTIPART = "UPDATE upload SET multipart = $3 WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    INSERT_PART = "INSERT INTO upload_part (upload_id, number, len, part_id) VALUES ($1, $2, $3, $4)";
    MULTIPART = "SELECT multipart FROM upload WHERE id = $1";
    PARTS = "SELECT len, part_id FROM upload_part WHERE upload_id = $1 ORDER BY number";
    CLEAR_MULTIPART = "UPDATE upload SET multipart = NULL WHERE id = $1";
    DELETE_PARTS = "DELETE FROM upload_part WHERE upload_id = $1";
}

impl Store {
    /// The records of the object store about an upload. After a takeover of the lease no earlier process
    /// can add records.
    pub async fn upload_multipart(&self, id: MediaId) -> Result<UploadMultipart, Error> {
        multipart_state(&mut self.snapshot().await?, id).await
    }

    /// Records how many bytes of an upload are stored, which renews its deadline. [`Error::LeaseLost`] when
    /// another process receives it now, or it is settled.
    pub async fn save_upload_offset(
        &self,
        lease: UploadLease,
        stored: u64,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.write_read_committed(async move |tx: &mut Tx| {
            let values = values![lease.upload, lease.number, columns::saturated_i64(stored), now];
            let rows = tx.session.execute(SAVE_OFFSET, values).await?;
            tx.check_leased(rows)
        })
        .await
    }
}

impl Store {
    /// Records that bytes of an upload arrive although none of them is stored yet. [`Error::LeaseLost`] as
    /// in [`Store::save_upload_offset`].
    pub async fn touch_upload(&self, lease: UploadLease, now: Timestamp) -> Result<(), Error> {
        self.write_read_committed(async move |tx: &mut Tx| {
            let rows = tx.session.execute(TOUCH, values![lease.upload, lease.number, now]).await?;
            tx.check_leased(rows)
        })
        .await
    }
}

impl Tx {
    /// Takes over an upload, unless `owner` holds the lease `lease_number` and no process has taken it since.
    /// `None` when the upload does not exist.
    pub async fn lease_upload(
        &mut self,
        id: MediaId,
        owner: WorkerId,
        lease_number: Option<u32>,
    ) -> Result<Option<(Upload, UploadLease)>, Error> {
        let Some(row) = self.session.first(LEASE, values![id]).await? else { return Ok(None) };
        let mut number: u32 = row.number("lease_number")?;
        let is_ours = row.text_or_none("lease_owner")? == Some(owner.to_string());
        let upload = self.upload_by_id(id).await?.ok_or_else(|| Error::internal("an upload vanished"))?;
        if !(upload.is_settled() || is_ours && lease_number == Some(number)) {
            self.session.execute(TAKE_OVER, values![id, owner]).await?;
            number = number.checked_add(1).ok_or_else(|| Error::internal("an upload has no lease left"))?;
        }
        Ok(Some((upload, UploadLease { upload: id, number })))
    }

    /// The upload of a lease. [`Error::LeaseLost`] when another process receives it now, or it is settled;
    /// then the whole transaction is rolled back.
    pub async fn leased_upload(&mut self, lease: UploadLease) -> Result<Upload, Error> {
        let row = self.session.first(CHECK_LEASE, values![lease.upload, lease.number]).await?;
        self.check_leased(u64::from(row.is_some()))?;
        self.upload_by_id(lease.upload).await?.ok_or_else(|| Error::internal("an upload vanished"))
    }

    /// Records the id of the multipart upload that the object store has begun. [`Error::LeaseLost`] as in
    /// [`Tx::leased_upload`].
    pub async fn save_upload_multipart(
        &mut self,
        lease: UploadLease,
        multipart_id: &str,
    ) -> Result<(), Error> {
        let rows =
            self.session.execute(SAVE_MULTIPART, values![lease.upload, lease.number, multipart_id]).await?;
        self.check_leased(rows)
    }

    /// Records a part. [`Error::LeaseLost`] as in [`Tx::leased_upload`].
    pub async fn add_upload_part(
        &mut self,
        lease: UploadLease,
        number: u32,
        part: &UploadPart,
    ) -> Result<(), Error> {
        let row = self.session.first(CHECK_LEASE, values![lease.upload, lease.number]).await?;
        self.check_leased(u64::from(row.is_some()))?;
        let values = values![lease.upload, number, columns::saturated_i64(part.len), part.id.as_str()];
        self.session.execute(INSERT_PART, values).await.map(drop)
    }

    /// Deletes the records of the object store, after the removal of its parts. May run twice.
    pub async fn delete_upload_multipart(&mut self, id: MediaId) -> Result<(), Error> {
        self.session.execute(DELETE_PARTS, values![id]).await?;
        self.session.execute(CLEAR_MULTIPART, values![id]).await.map(drop)
    }

    fn check_leased(&mut self, rows: u64) -> Result<(), Error> {
        if rows == 0 { Err(self.session.fail_with(Error::LeaseLost)) } else { Ok(()) }
    }
}

async fn multipart_state(session: &mut Session, id: MediaId) -> Result<UploadMultipart, Error> {
    let row = session.first(MULTIPART, values![id]).await?;
    let multipart_id = row.map(|row| row.text_or_none("multipart")).transpose()?.flatten();
    if multipart_id.is_none() {
        return Ok(UploadMultipart::default());
    }
    let rows = session.all(PARTS, values![id]).await?;
    let part = |row: &Row| Ok(UploadPart { len: row.number("len")?, id: row.text("part_id")? });
    Ok(UploadMultipart { multipart_id, parts: rows.iter().map(part).collect::<Result<_, Error>>()? })
}
