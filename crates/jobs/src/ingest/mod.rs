//! From a complete source to a playable media, for downloads and uploads. Unsupported containers are
//! remuxed, and media without a copy rendition get their first encoded segments. The audio may be edited
//! before, and the video may get a watermark.

pub(crate) mod audio_edit;
pub(crate) mod first_segments;
mod image_file;
pub(crate) mod remux;
pub(crate) mod sink;
pub(crate) mod timeline_edit;
pub(crate) mod watermark;

use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, SourceId, WorkspaceId};
use kinora_index::Index;
use kinora_intake::{Scan, ScanResult, has_disk_space};
use kinora_packager::object_key;

use crate::Context;
use crate::error::JobError;

/// Fails with `DiskFull` unless `len` more bytes fit the store and leave disk space for the database.
pub(crate) async fn check_disk_space(context: &Context, len: u64) -> Result<(), JobError> {
    if has_disk_space(&context.blob, len).await? { Ok(()) } else { Err(JobError::DiskFull) }
}

/// Scans a stored source again from its first byte to its last.
///
/// Errors: `LeaseLost` where the source was deleted, those of the store and of the scan.
pub(crate) async fn rescan(
    context: &Context,
    source: SourceId,
    workspace: WorkspaceId,
) -> Result<ScanResult, JobError> {
    let reader = context.blob.reader(ObjectKey::Source(source)).await?.ok_or(JobError::LeaseLost)?;
    let mut bytes = reader.stream(0..reader.len())?;
    let scan = Scan::begin(&context.scan_limits, Some(workspace));
    while let Some(bytes) = bytes.next().await {
        if scan.push(bytes?).await.is_err() {
            break; // `finish` returns the error
        }
    }
    Ok(scan.finish().await?)
}

/// Whether the store contains all objects that an index refers to, and the image of its watermark.
pub(crate) async fn has_sample_bytes(
    context: &Context,
    source: SourceId,
    index: &Index,
) -> Result<bool, JobError> {
    for object in &index.objects {
        let key = object_key(object, PresentationId::of(source));
        // The source object is stored as long as the upload exists.
        if key == ObjectKey::Source(source) {
            continue;
        }
        let reader = context.blob.reader(key).await?;
        if reader.is_none_or(|reader| reader.len() != object.len) {
            return Ok(false);
        }
    }
    if let Some(overlay) = &index.overlay {
        let image = ObjectKey::Source(watermark::image_source(overlay));
        return Ok(context.blob.reader(image).await?.is_some());
    }
    Ok(true)
}
