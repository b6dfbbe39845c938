//! Reads ranges of objects.

use std::ops::Range;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetRange, ObjectStore};
use tokio_util::task::AbortOnDropHandle;

use super::error::{classify, is_absent, is_out_of_range};
use super::{ObjectInfo, S3Store, broken};
use crate::{Error, ObjectKey, Result, coalesce};

const ACTION: &str = "read an object";

/// The most bytes of one piece of a stream.
const PIECE: usize = 256 << 10;

/// The bytes of one request of a stream. The first request is shorter, because a viewer waits for it.
///
/// Amazon S3, "Performance guidelines": a first byte takes some 100 ms, and one connection transfers some
/// 85 MB/s. 4 MiB take half as long as their first byte. So one request in flight while the previous one is
/// forwarded is fast enough for any player.
const WINDOW: u64 = 4 << 20;
const WINDOW_FIRST: u64 = 1 << 20;

/// The most concurrent requests of one `read_many`. A segment needs a run or two; a badly
/// interleaved one needs ten.
const READS_CONCURRENT_MAX: usize = 8;

/// Reads one object of a bucket.
#[derive(Debug, Clone)]
pub struct S3Reader {
    store: S3Store,
    key: ObjectKey,
    facts: ObjectInfo,
}

impl S3Reader {
    pub(super) fn new(store: S3Store, key: ObjectKey, facts: ObjectInfo) -> Self {
        Self { store, key, facts }
    }

    pub(crate) fn len(&self) -> u64 {
        self.facts.len
    }

    pub(crate) async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        self.store.before_read()?;
        coalesce::check(&range, self.facts.len)?;
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
        if ObjectInfo::from(&answer.meta) != self.facts {
            return Err(self.gone());
        }
        let bytes = answer.bytes().await.map_err(|error| classify(ACTION, error))?;
        check_len(ACTION, &bytes, range.end - range.start)?;
        Ok(bytes)
    }

    pub(crate) async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store.before_read()?;
        let runs = coalesce::coalesce(ranges, self.facts.len)?;
        let read: Vec<_> = stream::iter(runs)
            .map(|run| async move {
                let bytes = self.read_at(run.bytes.clone()).await?;
                Ok::<_, Error>((run, bytes))
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
        coalesce::check(&range, self.facts.len)?;
        let ahead = ReadAhead { reader: self.clone(), rest: range, window: WINDOW_FIRST, next: None };
        let windows = stream::try_unfold(ahead, |mut ahead| async move {
            Ok::<_, Error>(ahead.window().await?.map(|bytes| (bytes, ahead)))
        });
        let chunks = windows.map_ok(|window| {
            let ends = (0..window.len()).step_by(PIECE);
            stream::iter(ends.map(move |at| Ok(window.slice(at..window.len().min(at + PIECE)))))
        });
        Ok(Box::pin(chunks.try_flatten()))
    }

    /// The object is not the one that this reader was opened for, so its cached facts are removed.
    fn gone(&self) -> Error {
        self.store.shared.facts.invalidate(&self.key);
        Error::Gone(self.key)
    }
}

/// Reads the windows of a stream, one window ahead of the consumer.
struct ReadAhead {
    reader: S3Reader,
    /// Not requested yet.
    rest: Range<u64>,
    window: u64,
    next: Option<AbortOnDropHandle<Result<Bytes>>>,
}

impl ReadAhead {
    async fn window(&mut self) -> Result<Option<Bytes>> {
        let Some(current) = self.next.take().or_else(|| self.ask()) else { return Ok(None) };
        let bytes = match current.await {
            Ok(read) => read?,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Error::Stopped), // the runtime is going down
            },
        };
        self.next = self.ask();
        Ok(Some(bytes))
    }

    /// Requests the next window on a separate task, so that it continues while the previous one is sent.
    fn ask(&mut self) -> Option<AbortOnDropHandle<Result<Bytes>>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.end.min(self.rest.start.saturating_add(self.window));
        let range = self.rest.start..end;
        self.rest.start = end;
        self.window = WINDOW;
        let reader = self.reader.clone();
        Some(AbortOnDropHandle::new(tokio::spawn(async move { reader.read_at(range).await })))
    }
}

/// Needed because the library trusts the length that a store announces.
pub(super) fn check_len(action: &'static str, bytes: &Bytes, expected: u64) -> Result<()> {
    if bytes.len() as u64 == expected {
        return Ok(());
    }
    Err(broken(action, format!("{} bytes came of {expected}", bytes.len())))
}
