//! Fair queues for images: a few run at once for each client and each source; the others wait in two queues
//! in sequence.
//!
//! A request in the queue of a source already has a permit of its client. So no client has more than a few
//! images there, and a client with a hundred requests has no advantage over one with two. D-0093.

use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use kinora_domain::PresentationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::weak_map::WeakMap;
use crate::{Error, PlaybackClient, REQUEST_TIMEOUT};

/// Images of one source and one kind that are made at once; the engine's queue has capacity for others.
const PER_SOURCE_MAX: usize = 4;
/// Images of one client that are made at once. Half of the permits of a source, so no client takes them all.
const PER_CLIENT_MAX: usize = 2;
/// Images that wait in one queue: all that a browser requests at once on an HTTP/2 connection, which has 100
/// streams or somewhat more (RFC 9113, 6.5.2).
const WAITING_MAX: usize = 100;
/// Images that wait in all queues of clients, and as many in those of sources, some KiB each: the output of
/// a dozen cores within the timeout.
const WAITING_TOTAL_MAX: usize = 1000;

/// Separate limits, so that slow images do not take the permits of fast ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ImageCost {
    /// A thumbnail, as a poster.
    Still,
    /// A clip or a sheet, of many frames.
    Long,
}

/// Images of one kind of one source.
type SourceKey = (PresentationId, ImageCost);

/// Key of a queue of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ClientKey {
    Client(IpAddr),
    /// All clients without a known address, for each source.
    Unknown(SourceKey),
}

/// The queues of all clients and all sources.
#[derive(Debug)]
pub(super) struct ImageQueues {
    by_client: KeyedQueues<ClientKey>,
    by_source: KeyedQueues<SourceKey>,
}

/// Permit to make an image, until it is dropped.
#[derive(Debug)]
pub(super) struct ImagePermit {
    _of_client: QueuePermit,
    _of_source: QueuePermit,
}

impl ImageQueues {
    pub(super) fn new() -> Self {
        Self { by_client: KeyedQueues::new(), by_source: KeyedQueues::new() }
    }

    /// Waits for a permit to make one more image of this source for this client. Dropping the future leaves
    /// the queues.
    ///
    /// [`Error::Busy`] at once if too many wait already, else after the timeout.
    pub(super) async fn acquire(
        &self,
        requester: PlaybackClient,
        presentation: PresentationId,
        cost: ImageCost,
    ) -> Result<ImagePermit, Error> {
        let source_key = (presentation, cost);
        let (client_key, permits_max) = match requester.address_block() {
            Some(address_block) => (ClientKey::Client(address_block), PER_CLIENT_MAX),
            None => (ClientKey::Unknown(source_key), PER_SOURCE_MAX),
        };
        let both = async {
            let of_client = self.by_client.acquire(client_key, permits_max).await?;
            let of_source = self.by_source.acquire(source_key, PER_SOURCE_MAX).await?;
            Ok(ImagePermit { _of_client: of_client, _of_source: of_source })
        };
        tokio::time::timeout(REQUEST_TIMEOUT, both).await.unwrap_or(Err(Error::Busy))
    }
}

/// A queue for each key.
#[derive(Debug)]
struct KeyedQueues<K> {
    queues: WeakMap<K, KeyQueue>,
    waiting: Semaphore,
}

#[derive(Debug)]
struct KeyQueue {
    slots: Arc<Semaphore>,
    waiting: Semaphore,
}

/// A permit of a queue, returned when dropped.
#[derive(Debug)]
struct QueuePermit {
    _slot: OwnedSemaphorePermit,
    /// Keeps the queue in the map while a permit is in use.
    _queue: Arc<KeyQueue>,
}

impl<K: Eq + Hash> KeyedQueues<K> {
    fn new() -> Self {
        Self { queues: WeakMap::new(), waiting: Semaphore::new(WAITING_TOTAL_MAX) }
    }

    /// Waits for one of `permits_max` permits, first in, first out.
    async fn acquire(&self, key: K, permits_max: usize) -> Result<QueuePermit, Error> {
        let new = || KeyQueue {
            slots: Arc::new(Semaphore::new(permits_max)),
            waiting: Semaphore::new(WAITING_MAX),
        };
        let queue = self.queues.get(key, new);
        let free = Arc::clone(&queue.slots).try_acquire_owned();
        let slot = match free {
            Ok(place) => place,
            // A returned permit goes to the first in the queue, so no request overtakes it above.
            Err(_) => {
                let _waiting = queue.waiting.try_acquire().map_err(|_| Error::Busy)?;
                let _in_all = self.waiting.try_acquire().map_err(|_| Error::Busy)?;
                Arc::clone(&queue.slots).acquire_owned().await.map_err(|_| Error::Busy)?
            }
        };
        Ok(QueuePermit { _slot: slot, _queue: queue })
    }
}

#[cfg(test)]
mod tests;
