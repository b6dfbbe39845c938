//! Writes down what the store of objects keeps of an upload, under the lease that may.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_blob::{Grown, GrownPart, Ledger, LedgerError};
use kinora_store::{Store, UploadGrown, UploadLease, UploadPart};

pub(crate) struct StoreLedger {
    pub(crate) store: Store,
    pub(crate) lease: UploadLease,
}

impl Ledger for StoreLedger {
    fn begun(&self, multipart: String) -> BoxFuture<'_, Result<(), LedgerError>> {
        let lease = self.lease;
        async move {
            self.store
                .write(async move |tx| tx.note_upload_begun(lease, &multipart).await)
                .await
                .map_err(LedgerError::from)
        }
        .boxed()
    }

    fn part(&self, number: usize, part: GrownPart) -> BoxFuture<'_, Result<(), LedgerError>> {
        let lease = self.lease;
        let part = UploadPart { len: part.len, id: part.id };
        async move {
            let number = u32::try_from(number)?;
            self.store
                .write(async move |tx| tx.add_upload_part(lease, number, &part).await)
                .await
                .map_err(LedgerError::from)
        }
        .boxed()
    }
}

/// What was written down, as the store of objects wants it.
pub(crate) fn grown(written: UploadGrown) -> Grown {
    let part = |part: UploadPart| GrownPart { len: part.len, id: part.id };
    Grown { multipart: written.multipart, parts: written.parts.into_iter().map(part).collect() }
}
