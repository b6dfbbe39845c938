//! Sends one part, and has it written down.

use std::sync::Arc;

use bytes::Bytes;
use kinora_domain::SourceId;

use super::len_of;
use crate::s3::upload::Upload;
use crate::s3::{PartMemory, S3Store};
use crate::{Error, GrownPart, Ledger, ObjectKey, Result, WriteKind};

/// A part to send, and whom to tell of it.
pub(super) struct Part {
    pub(super) store: S3Store,
    pub(super) source: SourceId,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) number: usize,
    pub(super) bytes: Vec<Bytes>,
}

impl Part {
    pub(super) async fn send(
        self,
        upload: Option<Upload>,
        memory: PartMemory,
    ) -> Result<(Upload, GrownPart)> {
        let Self { store, source, ledger, number, bytes } = self;
        let upload = match upload {
            Some(upload) => upload,
            None => begin(&store, source, &*ledger).await?,
        };
        store.before_write(WriteKind::Append, ObjectKey::Growing(source))?;
        let len = len_of(&bytes);
        let sent = upload.part_if_there(&store.shared, number, bytes.into_iter().collect()).await?;
        let id = sent.ok_or(Error::Gone(ObjectKey::Growing(source)))?.content_id;
        let part = GrownPart { len, id };
        // Only what is written down counts: the next writer must know it.
        ledger.part(number, part.clone()).await.map_err(Error::Ledger)?;
        drop(memory); // only now: the bytes were kept for further tries
        Ok((upload, part))
    }
}

async fn begin(store: &S3Store, source: SourceId, ledger: &dyn Ledger) -> Result<Upload> {
    store.before_write(WriteKind::Create, ObjectKey::Growing(source))?;
    let upload = Upload::begin_unnoted(&store.shared, ObjectKey::Source(source)).await?;
    // Whether a write that failed was done, nobody can say. So the upload stays: it has no parts, and nobody
    // pays for it.
    ledger.begun(upload.id().to_owned()).await.map_err(Error::Ledger)?;
    Ok(upload)
}
