//! Records the progress of an upload in the object store, guarded by its lease.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_blob::{MultipartLog, MultipartLogError, MultipartState, RecordedPart};
use kinora_store::{Store, UploadLease, UploadMultipart, UploadPart};

pub(crate) struct StoreMultipartLog {
    pub(crate) store: Store,
    pub(crate) lease: UploadLease,
}

impl MultipartLog for StoreMultipartLog {
    fn record_multipart_id(&self, multipart: String) -> BoxFuture<'_, Result<(), MultipartLogError>> {
        let lease = self.lease;
        async move {
            self.store
                .write(async move |tx| tx.save_upload_multipart(lease, &multipart).await)
                .await
                .map_err(MultipartLogError::from)
        }
        .boxed()
    }

    fn record_part(&self, number: usize, part: RecordedPart) -> BoxFuture<'_, Result<(), MultipartLogError>> {
        let lease = self.lease;
        let part = UploadPart { len: part.len, id: part.id };
        async move {
            let number = u32::try_from(number)?;
            self.store
                .write(async move |tx| tx.add_upload_part(lease, number, &part).await)
                .await
                .map_err(MultipartLogError::from)
        }
        .boxed()
    }
}

/// Converts the recorded progress to the type of the object store.
pub(crate) fn to_multipart_state(recorded: UploadMultipart) -> MultipartState {
    let part = |part: UploadPart| RecordedPart { len: part.len, id: part.id };
    MultipartState {
        multipart_id: recorded.multipart_id,
        parts: recorded.parts.into_iter().map(part).collect(),
    }
}
