//! One request for a segment of a rung.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use tokio::sync::oneshot;

use super::client_encode_limit::ClientEncodePermit;
use super::rendition_state::{self, RunStart, SegmentResult, StoredVersion};
use super::{ActiveRendition, PlaybackClient};
use crate::{Error, Packaged, Packager, REQUEST_TIMEOUT};

/// Tries of one request: the joined run, a run of its own, and one retry of that.
const TRIES_MAX: u32 = 3;

impl Packager {
    /// Encodes segment `n` of a rung, or waits for the run that encodes it. The segment was not stored at
    /// `stored_version`.
    ///
    /// Errors: [`Error::Busy`] for too many requests at once or after the timeout,
    /// [`Error::NoFrame`] and [`Error::EncodeFailed`] if the encode gives no segment.
    pub(crate) async fn encode_or_join(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        n: u32,
        stored_version: StoredVersion,
        client: Option<PlaybackClient>,
    ) -> Result<Bytes, Error> {
        with_request_timeout(self.encode_or_join_with_retries(packaged, rendition, n, stored_version, client))
            .await
    }

    async fn encode_or_join_with_retries(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
        n: u32,
        mut stored_version: StoredVersion,
        client: Option<PlaybackClient>,
    ) -> Result<Bytes, Error> {
        let mut last_error = Error::Busy;
        for _ in 0..TRIES_MAX {
            if rendition.is_broken() || rendition.state().is_given_up(n) {
                return Err(Error::NoFrame);
            }
            if let Some(pending) = self.join_or_start(rendition, n, stored_version, client).await? {
                let PendingRequest { receiver, start, permit } = pending;
                let guard = RequestGuard { rendition, n };
                if let Some(start) = start {
                    self.start_run(packaged, rendition, start, permit);
                }
                let result = receiver.await;
                drop(guard);
                match result {
                    Ok(Ok(bytes)) => return Ok(bytes),
                    Ok(Err(error)) if !error.root().is_run_failure() => return Err(Error::Shared(error)),
                    Ok(Err(error)) => last_error = Error::Shared(error),
                    // The run was cut short in favour of another one.
                    Err(_) => last_error = Error::Busy,
                }
            }
            // Another process may have stored it meanwhile.
            stored_version = rendition.stored_version();
            if let Some(bytes) = self.blob.get(rendition.key(n)).await? {
                return Ok(bytes);
            }
        }
        Err(last_error)
    }

    /// Joins a run, or returns the run that must be started. Without a permit it changes no current run.
    async fn join_or_start(
        &self,
        rendition: &ActiveRendition,
        n: u32,
        stored_version: StoredVersion,
        client: Option<PlaybackClient>,
    ) -> Result<Option<PendingRequest>, Error> {
        if let Some(rendition_state::PendingSegment { receiver, .. }) = rendition.state().join(n) {
            return Ok(Some(PendingRequest { receiver, start: None, permit: None }));
        }
        let permit = match client {
            Some(client_address) => Some(self.encoders.client_encode_limit.acquire(client_address).await),
            None => None,
        };
        let pending = rendition.state().request(n, stored_version);
        // A request that joined a run meanwhile needs no permit.
        Ok(pending.map(|rendition_state::PendingSegment { receiver: made, start }| PendingRequest {
            receiver: made,
            permit: permit.filter(|_| start.is_some()),
            start,
        }))
    }

    /// Starts the encode of the segments after `n` that a player requests next, unless they are there.
    pub(crate) fn start_prefetch(&self, packaged: &Arc<Packaged>, rendition: &Arc<ActiveRendition>, n: u32) {
        // Requests of viewers who wait without a segment come first.
        if rendition.is_broken() || self.engine.load().waiting > 0 {
            return;
        }
        let start = rendition.state().prefetch(n, rendition.target.segment_count(packaged));
        if let Some(start) = start {
            self.start_run(packaged, rendition, start, None);
        }
    }

    pub(crate) fn record_watched(&self, rendition: &ActiveRendition) {
        self.encoders.usage.record_watched(rendition.id, self.clock.now());
    }
}

/// The outcome of a request, and the permit that it owns.
struct PendingRequest {
    receiver: oneshot::Receiver<SegmentResult>,
    start: Option<RunStart>,
    permit: Option<ClientEncodePermit>,
}

/// Limits the total wait of a request to [`REQUEST_TIMEOUT`]; [`Error::Busy`] after that.
pub(super) async fn with_request_timeout<T>(
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(REQUEST_TIMEOUT, request).await.unwrap_or(Err(Error::Busy))
}

impl ActiveRendition {
    /// The version of the set of stored segments, to read before a lookup in the store.
    pub(crate) fn stored_version(&self) -> StoredVersion {
        self.state().stored_version()
    }

    /// The key of segment `n` in the store.
    pub(crate) fn key(&self, n: u32) -> ObjectKey {
        ObjectKey::Segment(self.id, n)
    }
}

/// Removes a waiting request when it ends, however it ends.
pub(super) struct RequestGuard<'a> {
    pub(super) rendition: &'a ActiveRendition,
    pub(super) n: u32,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.rendition.state().request_ended(self.n);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn request_times_out_after_60_seconds_including_retries() {
        let started = Instant::now();
        let tries = async {
            for _ in 0..TRIES_MAX {
                sleep(REQUEST_TIMEOUT / 2).await;
            }
            Ok(())
        };
        assert!(matches!(with_request_timeout(tries).await, Err(Error::Busy)));
        assert_eq!(started.elapsed(), REQUEST_TIMEOUT);
        let soon = async {
            sleep(REQUEST_TIMEOUT / 2).await;
            Ok(())
        };
        assert!(with_request_timeout(soon).await.is_ok());
    }
}
