//! The handle: what uploads are received with.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use kinora_blob::Blob;
use kinora_domain::{Clock, MediaId, Random, Upload};
use kinora_store::{Store, WorkerId};
use tokio::sync::Semaphore;

use crate::receive::Asking;
use crate::slot::Slots;
use crate::{Append, IntakeError, PaceMin, ScanTurns, Standing};

/// Bodies that wait in memory for their checksum; others wait for their turn. Half of the memory that an
/// upload may take (60 MB) holds one.
const CHECKED_AT_ONCE: usize = 4;

/// Receives uploads; clones share it.
#[derive(Clone)]
pub struct Intake(pub(crate) Arc<Parts>);

/// What an [`Intake`] is made of.
pub struct IntakeOptions {
    /// Rows.
    pub store: Store,
    /// Objects.
    pub blob: Blob,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws randomness.
    pub random: Arc<dyn Random>,
    /// Names this process in leases.
    pub worker: WorkerId,
    /// Base of addresses, without a slash at the end.
    pub public_url: Arc<str>,
    /// How slowly bytes may come.
    pub pace_min: PaceMin,
    /// Where and in whose turn large parts of sources are read.
    pub scans: ScanTurns,
}

pub(crate) struct Parts {
    pub(crate) options: IntakeOptions,
    pub(crate) slots: Slots,
    /// Places for bodies that wait in memory for their checksum.
    pub(crate) checked: Semaphore,
}

impl Intake {
    /// Puts the parts together.
    pub fn new(options: IntakeOptions) -> Self {
        Self(Arc::new(Parts { options, slots: Slots::default(), checked: Semaphore::new(CHECKED_AT_ONCE) }))
    }

    /// Where an upload stands. A request that receives it is ended first: whoever asks wants to go on from
    /// there.
    ///
    /// A file that is whole, and of which nobody was told, is completed. Errors: `NotFound`, `Busy`, `Away`,
    /// `Full`, `Internal`; an upload that has ended is no error, its state says so.
    pub async fn standing(&self, id: MediaId) -> Result<Standing, IntakeError> {
        let found = self.find_standing(id, Asking::Client).await;
        self.end_if_lost(id, found).await
    }

    /// Says how long the whole file of an upload is; no byte comes with it. May run twice.
    pub async fn announce(&self, id: MediaId, length: u64) -> Result<Standing, IntakeError> {
        self.announce_length(id, length).await
    }

    /// Receives the bytes of one request, and completes the upload with the last one. Answers when all that
    /// came is kept.
    ///
    /// May run twice: bytes that are kept are refused or passed over, as [`Append::may_overlap`] says, and a
    /// complete upload is answered as such. Once the last byte is kept the upload is completed even if this
    /// future is dropped.
    pub async fn receive<B, E>(&self, id: MediaId, append: Append<B>) -> Result<Standing, IntakeError>
    where
        B: Stream<Item = Result<Bytes, E>> + Unpin + Send,
        E: std::error::Error + Send + Sync + 'static,
    {
        let received = self.receive_body(id, append).await;
        self.end_if_lost(id, received).await
    }

    /// Cancels an upload; its media goes with it. A request that receives it ends.
    ///
    /// Errors: `Ended` or `Complete` when it cannot be cancelled any more.
    pub async fn cancel(&self, id: MediaId) -> Result<Upload, IntakeError> {
        self.cancel_upload(id).await
    }

    /// The address of an upload without its signature, as events and answers about its media have it
    /// (C-6).
    pub fn unsigned_address(&self, id: MediaId) -> String {
        format!("{}/upload/{id}", self.0.options.public_url)
    }
}
