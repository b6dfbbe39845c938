//! Disk space checks.

use std::io;

use kinora_blob::Blob;

/// Disk space that sources leave free, so that the database can still write: most of all deletes and
/// revocations.
pub const RESERVED_BYTES: u64 = 64 << 20;
/// Number of bytes written between two checks of the disk space.
pub const SPACE_CHECK_EVERY_BYTES: u64 = 16 << 20;

/// Whether an error means that a disk or a quota is full.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether `len` more bytes fit the store, and leave disk space for the database.
pub async fn has_disk_space(blob: &Blob, len: u64) -> Result<bool, kinora_blob::Error> {
    let free = blob.free_space().await?;
    Ok(free.is_none_or(|free| free >= len.saturating_add(RESERVED_BYTES)))
}
