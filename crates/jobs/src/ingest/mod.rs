//! From a source that is whole to a media that plays, however it came: what is not read where it lies is
//! brought into another container, and what does not play as a copy is begun. Its sound may be another one by
//! then.

pub(crate) mod first;
pub(crate) mod remux;
pub(crate) mod sink;
pub(crate) mod sound;

use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, SourceId, WorkspaceId};
use kinora_index::Index;
use kinora_intake::{Scan, Whole, has_room};
use kinora_packager::key_of;

use crate::Context;
use crate::error::JobError;

/// Whether `len` more bytes fit the store, and leave room for the database.
pub(crate) async fn check_room(context: &Context, len: u64) -> Result<(), JobError> {
    if has_room(&context.blob, len).await? { Ok(()) } else { Err(JobError::Full) }
}

/// Reads a stored source from its first byte to its last.
///
/// Errors: `LeaseLost` where the source was deleted, those of the store and of the scan.
pub(crate) async fn scanned_again(
    context: &Context,
    source: SourceId,
    workspace: WorkspaceId,
) -> Result<Whole, JobError> {
    let reader = context.blob.reader(ObjectKey::Source(source)).await?.ok_or(JobError::LeaseLost)?;
    let mut bytes = reader.stream(0..reader.len())?;
    let scan = Scan::begin(&context.scans, Some(workspace));
    while let Some(bytes) = bytes.next().await {
        if scan.push(bytes?).await.is_err() {
            break; // its end says why
        }
    }
    Ok(scan.finish().await?)
}

/// Whether the bytes lie in the store that an index speaks of.
pub(crate) async fn has_its_bytes(
    context: &Context,
    source: SourceId,
    index: &Index,
) -> Result<bool, JobError> {
    for object in &index.objects {
        let key = key_of(object, PresentationId::of(source));
        // What the client sent is there for as long as the upload is.
        if key == ObjectKey::Source(source) {
            continue;
        }
        let reader = context.blob.reader(key).await?;
        if reader.is_none_or(|reader| reader.len() != object.len) {
            return Ok(false);
        }
    }
    Ok(true)
}
