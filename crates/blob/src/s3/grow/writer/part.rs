//! Sends one part, and records it.

use std::sync::Arc;

use bytes::Bytes;
use kinora_domain::SourceId;

use super::len_of;
use crate::s3::upload::MultipartUpload;
use crate::s3::{PartMemory, S3Store};
use crate::{Error, MultipartLog, ObjectKey, RecordedPart, Result, WriteKind};

/// A part to send, and the multipart log that records it.
pub(super) struct PartUpload {
    pub(super) store: S3Store,
    pub(super) source: SourceId,
    pub(super) multipart_log: Arc<dyn MultipartLog>,
    pub(super) number: usize,
    pub(super) bytes: Vec<Bytes>,
}

impl PartUpload {
    pub(super) async fn send(
        self,
        upload: Option<MultipartUpload>,
        memory: PartMemory,
    ) -> Result<(MultipartUpload, RecordedPart)> {
        let Self { store, source, multipart_log, number, bytes } = self;
        let upload = match upload {
            Some(upload) => upload,
            None => begin(&store, source, &*multipart_log).await?,
        };
        store.inject_write_fault(WriteKind::Append, ObjectKey::Growing(source))?;
        let len = len_of(&bytes);
        let sent = upload.try_upload_part(&store.shared, number, bytes.into_iter().collect()).await?;
        let id = sent.ok_or(Error::Gone(ObjectKey::Growing(source)))?.content_id;
        let part = RecordedPart { len, id };
        // Only recorded parts count, because the next writer must know them.
        multipart_log.record_part(number, part.clone()).await.map_err(Error::MultipartLog)?;
        drop(memory); // only now: the bytes were kept for further tries
        Ok((upload, part))
    }
}

async fn begin(
    store: &S3Store,
    source: SourceId,
    multipart_log: &dyn MultipartLog,
) -> Result<MultipartUpload> {
    store.inject_write_fault(WriteKind::Create, ObjectKey::Growing(source))?;
    let upload = MultipartUpload::begin_unmarked(&store.shared, ObjectKey::Source(source)).await?;
    // A failed record may have been stored or not. So the upload stays: it has no parts, and costs nothing.
    multipart_log.record_multipart_id(upload.id().to_owned()).await.map_err(Error::MultipartLog)?;
    Ok(upload)
}
