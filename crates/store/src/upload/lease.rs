//! Who receives an upload. Requests may reach any process, and one that was taken for dead may still be
//! alive: whoever takes an upload over counts its number up, and a number that is not the present one writes
//! nothing.

use kinora_domain::{MediaId, Timestamp, Upload};

use super::columns;
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx, WorkerId};

/// The right to write of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadLease {
    /// Which upload.
    pub upload: MediaId,
    /// Which one of all its leases; they count up.
    pub number: u32,
}

/// What the store of objects was told to keep of an upload, where it keeps a growing object in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadGrown {
    /// The id of the upload in parts.
    pub multipart: Option<String>,
    /// Its parts, from the start and without a gap.
    pub parts: Vec<UploadPart>,
}

/// A part that the store of objects has acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadPart {
    /// Its length in bytes.
    pub len: u64,
    /// What the store of objects calls it.
    pub id: String,
}

statements! {
    LEASE = "SELECT lease_number, lease_owner FROM upload WHERE id = $1";
    TAKE = "UPDATE upload SET lease_number = lease_number + 1, lease_owner = $2 WHERE id = $1";
    HELD = "SELECT id FROM upload WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    KEPT = "UPDATE upload SET kept = $3, state_at = $4, updated_at = $4, version = version + 1
        WHERE id = $1 AND lease_number = $2 AND state = 'uploading' AND kept <= $3";
    ALIVE = "UPDATE upload SET updated_at = $3, version = version + 1,
        state_at = CASE WHEN state = 'uploading' THEN $3 ELSE state_at END
        WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    BEGUN = "UPDATE upload SET multipart = $3 WHERE id = $1 AND lease_number = $2 AND state IN ('waiting', 'uploading')";
    PART = "INSERT INTO upload_part (upload_id, number, len, part_id) VALUES ($1, $2, $3, $4)";
    MULTIPART = "SELECT multipart FROM upload WHERE id = $1";
    PARTS = "SELECT len, part_id FROM upload_part WHERE upload_id = $1 ORDER BY number";
    FORGET = "UPDATE upload SET multipart = NULL WHERE id = $1";
    FORGET_PARTS = "DELETE FROM upload_part WHERE upload_id = $1";
}

impl Store {
    /// What the store of objects keeps of an upload. Whoever has just taken its lease reads all that will
    /// ever be of those before.
    pub async fn upload_grown(&self, id: MediaId) -> Result<UploadGrown, Error> {
        grown(&mut self.snapshot().await?, id).await
    }

    /// Writes down how far an upload has come, which renews it. [`Error::LeaseLost`] when somebody else
    /// receives it now, or it is settled.
    pub async fn note_upload_kept(&self, lease: UploadLease, kept: u64, now: Timestamp) -> Result<(), Error> {
        self.write_row_by_row(async move |tx: &mut Tx| {
            let values = values![lease.upload, lease.number, columns::bytes(kept), now];
            let rows = tx.session.execute(KEPT, values).await?;
            tx.held_upload(rows)
        })
        .await
    }
}

impl Store {
    /// Writes down that bytes of an upload are coming although none of them is kept yet. [`Error::LeaseLost`]
    /// as in [`Store::note_upload_kept`].
    pub async fn note_upload_alive(&self, lease: UploadLease, now: Timestamp) -> Result<(), Error> {
        self.write_row_by_row(async move |tx: &mut Tx| {
            let rows = tx.session.execute(ALIVE, values![lease.upload, lease.number, now]).await?;
            tx.held_upload(rows)
        })
        .await
    }
}

impl Tx {
    /// Takes an upload over, unless `owner` holds `known` and nobody has taken it since. `None` without such
    /// an upload.
    pub async fn lease_upload(
        &mut self,
        id: MediaId,
        owner: WorkerId,
        known: Option<u32>,
    ) -> Result<Option<(Upload, UploadLease)>, Error> {
        let Some(row) = self.session.first(LEASE, values![id]).await? else { return Ok(None) };
        let mut number: u32 = row.number("lease_number")?;
        let is_ours = row.text_or_none("lease_owner")? == Some(owner.to_string());
        let upload = self.upload_by_id(id).await?.ok_or_else(|| Error::internal("an upload vanished"))?;
        if !(upload.is_settled() || is_ours && known == Some(number)) {
            self.session.execute(TAKE, values![id, owner]).await?;
            number = number.checked_add(1).ok_or_else(|| Error::internal("an upload has no lease left"))?;
        }
        Ok(Some((upload, UploadLease { upload: id, number })))
    }

    /// The upload of a lease. [`Error::LeaseLost`] when somebody else receives it now, or it is settled; then
    /// nothing of the whole transaction is kept.
    pub async fn leased_upload(&mut self, lease: UploadLease) -> Result<Upload, Error> {
        let held = self.session.first(HELD, values![lease.upload, lease.number]).await?;
        self.held_upload(u64::from(held.is_some()))?;
        self.upload_by_id(lease.upload).await?.ok_or_else(|| Error::internal("an upload vanished"))
    }

    /// Writes down which upload in parts the store of objects has begun. [`Error::LeaseLost`] as in
    /// [`Tx::leased_upload`].
    pub async fn note_upload_begun(&mut self, lease: UploadLease, multipart: &str) -> Result<(), Error> {
        let rows = self.session.execute(BEGUN, values![lease.upload, lease.number, multipart]).await?;
        self.held_upload(rows)
    }

    /// Writes down a part. [`Error::LeaseLost`] as in [`Tx::leased_upload`].
    pub async fn add_upload_part(
        &mut self,
        lease: UploadLease,
        number: u32,
        part: &UploadPart,
    ) -> Result<(), Error> {
        let held = self.session.first(HELD, values![lease.upload, lease.number]).await?;
        self.held_upload(u64::from(held.is_some()))?;
        let values = values![lease.upload, number, columns::bytes(part.len), part.id.as_str()];
        self.session.execute(PART, values).await.map(drop)
    }

    /// Forgets what the store of objects kept; it was removed. May run twice.
    pub async fn forget_upload_grown(&mut self, id: MediaId) -> Result<(), Error> {
        self.session.execute(FORGET_PARTS, values![id]).await?;
        self.session.execute(FORGET, values![id]).await.map(drop)
    }

    fn held_upload(&mut self, rows: u64) -> Result<(), Error> {
        if rows == 0 { Err(self.session.refuse(Error::LeaseLost)) } else { Ok(()) }
    }
}

async fn grown(session: &mut Session, id: MediaId) -> Result<UploadGrown, Error> {
    let row = session.first(MULTIPART, values![id]).await?;
    let multipart = row.map(|row| row.text_or_none("multipart")).transpose()?.flatten();
    if multipart.is_none() {
        return Ok(UploadGrown::default());
    }
    let rows = session.all(PARTS, values![id]).await?;
    let part = |row: &Row| Ok(UploadPart { len: row.number("len")?, id: row.text("part_id")? });
    Ok(UploadGrown { multipart, parts: rows.iter().map(part).collect::<Result<_, Error>>()? })
}
