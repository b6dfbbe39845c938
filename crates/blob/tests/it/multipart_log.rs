//! The database record of one growing object.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kinora_blob::{
    Blob, Error, GrowingObject, MultipartLog, MultipartLogError, MultipartState, RecordedPart,
};
use kinora_domain::SourceId;

/// The row of one upload.
#[derive(Default)]
pub(crate) struct FakeMultipartLog {
    row: Mutex<Row>,
    /// The number of writes before the process dies; `None` for no limit.
    writes_left: Mutex<Option<usize>>,
    refused: AtomicUsize,
}

#[derive(Default)]
struct Row {
    lease: u32,
    grown: MultipartState,
}

impl FakeMultipartLog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes the object over and opens it.
    pub(crate) async fn grow(
        self: &Arc<Self>,
        blob: &Blob,
        source: SourceId,
    ) -> Result<GrowingObject, Error> {
        let (lease, grown) = {
            let mut row = self.row.lock().unwrap();
            row.lease += 1;
            (row.lease, row.grown.clone())
        };
        blob.grow(source, lease, grown, Arc::new(Entry { book: Arc::clone(self), lease })).await
    }

    pub(crate) fn grown(&self) -> MultipartState {
        self.row.lock().unwrap().grown.clone()
    }

    /// The number of rejected writes.
    pub(crate) fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    /// After this many more writes nothing is written.
    pub(crate) fn die_after(&self, writes: Option<usize>) {
        *self.writes_left.lock().unwrap() = writes;
    }

    fn write(&self, lease: u32, change: impl FnOnce(&mut MultipartState)) -> Result<(), MultipartLogError> {
        let mut left = self.writes_left.lock().unwrap();
        let mut row = self.row.lock().unwrap();
        if row.lease != lease || *left == Some(0) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(format!("lease {lease} does not hold the object").into());
        }
        *left = left.map(|left| left - 1);
        change(&mut row.grown);
        Ok(())
    }
}

/// The access of one writer to the row.
struct Entry {
    book: Arc<FakeMultipartLog>,
    lease: u32,
}

impl MultipartLog for Entry {
    fn record_multipart_id(&self, multipart: String) -> BoxFuture<'_, Result<(), MultipartLogError>> {
        let written = self.book.write(self.lease, |grown| {
            assert_eq!(grown.multipart_id, None, "an upload in parts begins once");
            grown.multipart_id = Some(multipart);
        });
        std::future::ready(written).boxed()
    }

    fn record_part(&self, number: usize, part: RecordedPart) -> BoxFuture<'_, Result<(), MultipartLogError>> {
        let written = self.book.write(self.lease, |grown| {
            assert_eq!(grown.parts.len(), number, "parts are recorded in order");
            grown.parts.push(part);
        });
        std::future::ready(written).boxed()
    }
}
