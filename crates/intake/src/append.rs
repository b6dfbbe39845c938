//! What a request brings, and where an upload stands after it.

use kinora_domain::{Timestamp, Upload};

use crate::Checksum;

/// Bytes to be put behind those that are kept, as a request announced them.
///
/// `B` is a stream of `Result<Bytes, E>`; it is read to its end, or to the first thing that forbids to go on.
#[derive(Debug)]
pub struct Append<B> {
    /// Where the first byte of the body belongs in the file.
    pub start: u64,
    /// Whether bytes that are kept already may come again: they are passed over. Otherwise `start` must be where the upload stands.
    pub may_overlap: bool,
    /// Bytes of the whole file, if the request says so.
    pub length: Option<u64>,
    /// Whether the file ends where the body ends.
    pub is_last: bool,
    /// Bytes of the body, if the request says so. A body of another length is refused or broken off.
    pub body_len: Option<u64>,
    /// What the bytes of the body must add up to; nothing of it is kept otherwise.
    pub checksum: Option<Checksum>,
    /// The bytes.
    pub body: B,
}

/// Where an upload stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The upload, as its row was just read or written.
    pub upload: Upload,
    /// Bytes from the start that are kept; the next one belongs there.
    pub offset: u64,
}

impl Standing {
    /// Whether the whole file is kept.
    pub fn is_complete(&self) -> bool {
        matches!(self.upload.state, kinora_domain::UploadState::Completed { .. })
    }

    /// Until when the next byte must be kept; `None` when nothing more can come.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.upload.deadline()
    }
}
