//! Ownership of the objects by one database.
//!
//! Objects without a row are swept. Two databases that share one bucket and prefix, for example production
//! and a test copy, would sweep each other's objects. So the first sweep records the owning database. No
//! other database serves or sweeps these objects. A database is identified by the id of its organisation,
//! which is created once and never changes.

use bytes::Bytes;
use kinora_blob::{Blob, ObjectKey};
use kinora_store::Store;

use crate::error::JobError;

/// The objects belong to another database.
#[derive(Debug, thiserror::Error)]
#[error(
    "the objects belong to the database of organisation {owner}, and this one is {ours}: give each database a bucket, prefix or \
     folder of its own (or remove the object owner/database, if these objects are to be swept)"
)]
pub struct ForeignObjects {
    /// The organisation recorded with the objects.
    pub owner: String,
    /// The organisation of this database.
    pub ours: String,
}

/// Why the check failed.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// The objects belong to another database; an operator must decide.
    #[error(transparent)]
    Foreign(#[from] ForeignObjects),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] kinora_store::Error),
    /// The objects cannot be read or written.
    #[error(transparent)]
    Blob(#[from] kinora_blob::Error),
}

/// Rejects objects of another database. Objects without an owner pass. Writes nothing.
pub async fn check(store: &Store, blob: &Blob) -> Result<(), OwnershipError> {
    let Some(owner) = blob.get(ObjectKey::Owner).await? else { return Ok(()) };
    let ours = organisation_id(store).await?;
    if owner == ours.as_bytes() {
        return Ok(());
    }
    let owner = String::from_utf8_lossy(&owner).into_owned();
    Err(ForeignObjects { owner, ours }.into())
}

/// Claims objects without an owner, and rejects those of another database. May run twice.
pub(crate) async fn claim(store: &Store, blob: &Blob) -> Result<(), OwnershipError> {
    let ours = organisation_id(store).await?;
    blob.put_once(ObjectKey::Owner, Bytes::from(ours)).await?;
    check(store, blob).await
}

async fn organisation_id(store: &Store) -> Result<String, kinora_store::Error> {
    // The first start creates it before anything else.
    Ok(store.organisation().await?.map(|organisation| organisation.id.to_string()).unwrap_or_default())
}

impl From<OwnershipError> for JobError {
    fn from(error: OwnershipError) -> Self {
        match error {
            OwnershipError::Foreign(foreign) => Self::Retry(Box::new(foreign)),
            OwnershipError::Store(error) => error.into(),
            OwnershipError::Blob(error) => error.into(),
        }
    }
}
