//! Reads ranges of objects.

use std::ops::Range;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, ObjectStore};
use tokio_util::task::AbortOnDropHandle;

use super::error::{classify, is_absent, is_out_of_range};
use super::{ObjectInfo, S3Store, unavailable};
use crate::{Error, ObjectKey, Result, coalesce};

const ACTION: &str = "read an object";

/// The most bytes of one chunk of a stream.
const CHUNK_LEN_MAX: usize = 256 << 10;

/// The bytes of one request of a stream. The first request is shorter, because a viewer waits for it.
///
/// Amazon S3, "Performance guidelines": a first byte takes some 100 ms, and one connection transfers some
/// 85 MB/s. 4 MiB take half as long as their first byte. So one request in flight while the previous one is
/// forwarded is fast enough for any player.
const WINDOW_LEN: u64 = 4 << 20;
const FIRST_WINDOW_LEN: u64 = 1 << 20;

/// The most concurrent requests of one `read_many`. A segment is one or two merged ranges; in a badly
/// interleaved source it is ten.
const READS_CONCURRENT_MAX: usize = 8;

/// Reads one object of a bucket.
#[derive(Debug, Clone)]
pub struct S3Reader {
    store: S3Store,
    key: ObjectKey,
    info: ObjectInfo,
}

impl S3Reader {
    pub(super) fn new(store: S3Store, key: ObjectKey, info: ObjectInfo) -> Self {
        Self { store, key, info }
    }

    pub(crate) fn len(&self) -> u64 {
        self.info.len
    }

    pub(crate) async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        self.store.inject_read_fault()?;
        coalesce::check(&range, self.info.len)?;
        coalesce::len_in_memory(&range)?;
        if range.is_empty() {
            return Ok(Bytes::new()); // HTTP has no words for it
        }
        let shared = &self.store.shared;
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let answer = match shared.client.get_opts(&shared.path(self.key), options).await {
            Ok(answer) => answer,
            Err(error) if is_absent(&error) || is_out_of_range(&error) => return Err(self.gone()),
            Err(error) => return Err(classify(ACTION, error)),
        };
        if ObjectInfo::from(&answer.meta) != self.info {
            return Err(self.gone());
        }
        let bytes = answer.bytes().await.map_err(|error| classify(ACTION, error))?;
        check_len(ACTION, &bytes, range.end - range.start)?;
        Ok(bytes)
    }

    pub(crate) async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store.inject_read_fault()?;
        let merged_ranges = coalesce::coalesce(ranges, self.info.len)?;
        let read: Vec<_> = stream::iter(merged_ranges)
            .map(|merged| async move {
                let bytes = self.read_at(merged.bytes.clone()).await?;
                Ok::<_, Error>((merged, bytes))
            })
            .buffered(READS_CONCURRENT_MAX)
            .try_collect()
            .await?;
        Ok(read.iter().flat_map(|(run, bytes)| run.split(bytes, ranges)).collect())
    }

    pub(crate) fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        coalesce::check(&range, self.info.len)?;
        let ahead = ReadAhead {
            reader: self.clone(),
            unrequested: range,
            window_len: FIRST_WINDOW_LEN,
            pending_window: None,
        };
        let windows = stream::try_unfold(ahead, |mut ahead| async move {
            Ok::<_, Error>(ahead.next_window().await?.map(|bytes| (bytes, ahead)))
        });
        let chunks = windows.map_ok(|window| {
            let ends = (0..window.len()).step_by(CHUNK_LEN_MAX);
            stream::iter(ends.map(move |at| Ok(window.slice(at..window.len().min(at + CHUNK_LEN_MAX)))))
        });
        Ok(Box::pin(chunks.try_flatten()))
    }

    /// The error that the object is not the one of this reader any more. Removes its cached length and tag.
    fn gone(&self) -> Error {
        self.store.shared.info_cache.invalidate(&self.key);
        Error::Gone(self.key)
    }
}

/// Reads the windows of a stream, one window ahead of the consumer.
struct ReadAhead {
    reader: S3Reader,
    /// The bytes that are not requested yet.
    unrequested: Range<u64>,
    window_len: u64,
    pending_window: Option<AbortOnDropHandle<Result<Bytes>>>,
}

impl ReadAhead {
    async fn next_window(&mut self) -> Result<Option<Bytes>> {
        let Some(current) = self.pending_window.take().or_else(|| self.request_window()) else {
            return Ok(None);
        };
        let bytes = match current.await {
            Ok(read) => read?,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Error::Stopped), // the runtime is going down
            },
        };
        self.pending_window = self.request_window();
        Ok(Some(bytes))
    }

    /// Requests the next window on a separate task, so that it continues while the previous one is sent.
    fn request_window(&mut self) -> Option<AbortOnDropHandle<Result<Bytes>>> {
        if self.unrequested.is_empty() {
            return None;
        }
        let end = self.unrequested.end.min(self.unrequested.start.saturating_add(self.window_len));
        let range = self.unrequested.start..end;
        self.unrequested.start = end;
        self.window_len = WINDOW_LEN;
        let reader = self.reader.clone();
        Some(AbortOnDropHandle::new(tokio::spawn(async move { reader.read_at(range).await })))
    }
}

/// Checks the length of a response, because the library trusts the length that a store announces.
pub(super) fn check_len(action: &'static str, bytes: &Bytes, expected: u64) -> Result<()> {
    if bytes.len() as u64 == expected {
        return Ok(());
    }
    Err(unavailable(action, format!("{} bytes came of {expected}", bytes.len())))
}
