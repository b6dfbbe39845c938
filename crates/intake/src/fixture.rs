//! Uploads for tests of rules.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, CorsOrigin, Encryption, MediaSettings, NewUpload, Random, Timestamp,
    Upload, WorkspaceId,
};

pub(crate) struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// An instant, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

/// An upload that was registered at 0 s. Each byte, the first included, must be stored within 1000 s.
pub(crate) fn waiting() -> Upload {
    let new = NewUpload {
        workspace: WorkspaceId::new(at(0), &Zeros),
        settings: MediaSettings::default(),
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
        origin: CorsOrigin::Any,
        timeout_s: 1000,
        size_max: None,
    };
    Upload::create(new, at(0), &Zeros).0
}

/// The same with `offset` bytes stored at an instant in seconds.
pub(crate) fn uploading(offset: u64, at_s: i64) -> Upload {
    waiting().begin(offset, String::new(), at(at_s), &Zeros).unwrap().0
}

/// An upload of `length` bytes that was completed at 9 s.
pub(crate) fn completed(length: u64) -> Upload {
    uploading(length, 9).complete(length, at(9)).unwrap()
}
