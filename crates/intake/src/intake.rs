//! The handle of the upload receiver, and its dependencies.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use kinora_blob::Blob;
use kinora_domain::{Clock, MediaId, Random, Upload};
use kinora_store::{Store, WorkerId};
use tokio::sync::Semaphore;

use crate::receive::Requester;
use crate::upload_lock::UploadLocks;
use crate::{Append, IntakeError, ScanLimits, StallLimit, UploadProgress};

/// Bodies buffered in memory for their checksum; further ones wait in a queue. Each uses half of the memory
/// limit of an upload (60 MB).
const CHECKSUM_BODIES_MAX: usize = 4;

/// Receives uploads; clones share state.
#[derive(Clone)]
pub struct Intake(pub(crate) Arc<Inner>);

/// The dependencies of an [`Intake`].
pub struct IntakeOptions {
    /// The database.
    pub store: Store,
    /// The object store.
    pub blob: Blob,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub random: Arc<dyn Random>,
    /// Identifies this process in leases.
    pub worker: WorkerId,
    /// Base of URLs, without a slash at the end.
    pub public_url: Arc<str>,
    /// Minimum rate of bodies.
    pub stall_limit: StallLimit,
    /// Limits and orders the scans of large sources.
    pub scan_limits: ScanLimits,
}

pub(crate) struct Inner {
    pub(crate) options: IntakeOptions,
    pub(crate) upload_locks: UploadLocks,
    /// Permits for bodies that are buffered for their checksum.
    pub(crate) checksum_permits: Semaphore,
}

impl Intake {
    /// Creates the receiver from its dependencies.
    pub fn new(options: IntakeOptions) -> Self {
        Self(Arc::new(Inner {
            options,
            upload_locks: UploadLocks::default(),
            checksum_permits: Semaphore::new(CHECKSUM_BODIES_MAX),
        }))
    }

    /// The state of an upload. Ends a request that receives it first, because the caller wants to resume
    /// from there.
    ///
    /// Completes a fully received file that was not completed yet. Errors: `NotFound`, `Busy`, `Unavailable`,
    /// `Full`, `Internal`; an upload that has ended is no error, its state says so.
    pub async fn progress(&self, id: MediaId) -> Result<UploadProgress, IntakeError> {
        let found = self.find_progress(id, Requester::Client).await;
        self.fail_if_lost(id, found).await
    }

    /// Sets the length of the whole file of an upload, without any bytes. May run twice.
    pub async fn announce(&self, id: MediaId, length: u64) -> Result<UploadProgress, IntakeError> {
        self.announce_length(id, length).await
    }

    /// Receives the bytes of one request, and completes the upload with the last one. Returns when all
    /// received bytes are stored.
    ///
    /// May run twice: stored bytes are rejected or skipped, see [`Append::may_overlap`], and a complete
    /// upload returns as complete. Once the last byte is stored, the upload is completed even if this future
    /// is dropped.
    pub async fn receive<B, E>(&self, id: MediaId, append: Append<B>) -> Result<UploadProgress, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let received = self.receive_body(id, append).await;
        self.fail_if_lost(id, received).await
    }

    /// Cancels an upload and deletes its media. A request that receives it ends.
    ///
    /// Errors: `Ended` or `Complete` when it cannot be cancelled any more.
    pub async fn cancel(&self, id: MediaId) -> Result<Upload, IntakeError> {
        self.cancel_upload(id).await
    }

    /// The URL of an upload without its signature, as in events and API responses about its media (C-6).
    pub fn unsigned_address(&self, id: MediaId) -> String {
        format!("{}/upload/{id}", self.0.options.public_url)
    }
}
