//! Room on the disk.

use std::io;

use kinora_blob::Blob;

/// Room that sources leave on the disk, so that the database can go on writing: deletes and revocations above
/// all.
pub const RESERVED_BYTES: u64 = 64 << 20;
/// How much is written between two looks at the room.
pub const ROOM_EVERY_BYTES: u64 = 16 << 20;

/// Whether a disk, or a share of one, has no room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether `len` more bytes fit the store, and leave room for the database.
pub async fn has_room(blob: &Blob, len: u64) -> Result<bool, kinora_blob::Error> {
    let free = blob.free_space().await?;
    Ok(free.is_none_or(|free| free >= len.saturating_add(RESERVED_BYTES)))
}
