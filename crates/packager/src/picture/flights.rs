//! Pictures that are being made: how many at once, with how much memory, and each once however many ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::PictureHash;
use kinora_domain::SourceId;
use moka::future::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::Error;

/// Pictures that have just been made and are still in memory; each has some 10 to 500 KiB.
const JUST_MADE_BYTES: u64 = 16 << 20;

/// Pictures of one source that are made or waited for at once; the engine's queue has room for others.
const AT_ONCE_MAX: usize = 4;
/// Memory for the samples of all pictures that are being made, in KiB: two of the largest at once, or many usual ones.
const MEMORY_KIB: u32 = 192 << 10;
/// How long a picture waits for memory before whoever asks is told to come back.
const MEMORY_WAIT_MAX: Duration = Duration::from_secs(8);

/// Pictures under way and just made: one flight a picture, however many ask for it.
#[derive(Clone)]
pub(crate) struct Flights {
    pub(super) made: Cache<(SourceId, PictureHash), Bytes>,
    under_way: Arc<Mutex<HashMap<SourceId, usize>>>,
    memory: Arc<Semaphore>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(JUST_MADE_BYTES)
            .weigher(|_, picture: &Bytes| u32::try_from(picture.len()).unwrap_or(u32::MAX))
            .build();
        let memory = Arc::new(Semaphore::new(MEMORY_KIB as usize));
        Self { made: cache, under_way: Arc::default(), memory }
    }
}

/// A place among the pictures of one source, given back when dropped.
pub(super) struct Place {
    under_way: Arc<Mutex<HashMap<SourceId, usize>>>,
    source: SourceId,
}

impl Flights {
    pub(super) fn enter(&self, source: SourceId) -> Result<Place, Error> {
        let mut under_way = lock(&self.under_way);
        let held = under_way.entry(source).or_default();
        if *held >= AT_ONCE_MAX {
            return Err(Error::Busy);
        }
        *held += 1;
        Ok(Place { under_way: self.under_way.clone(), source })
    }

    /// Waits until so many bytes of samples may be read. [`Error::Busy`] where that takes too long.
    pub(super) async fn memory_for(&self, len: u64) -> Result<SemaphorePermit<'_>, Error> {
        // Twice: as they are read, and as they are packed for the decoder.
        let kib = (len >> 10).saturating_mul(2).saturating_add(1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
        let free = tokio::time::timeout(MEMORY_WAIT_MAX, self.memory.acquire_many(kib)).await;
        free.ok().and_then(Result::ok).ok_or(Error::Busy)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        if let Some(held) = under_way.get_mut(&self.source) {
            *held -= 1;
            if *held == 0 {
                under_way.remove(&self.source);
            }
        }
    }
}

fn lock(under_way: &Mutex<HashMap<SourceId, usize>>) -> MutexGuard<'_, HashMap<SourceId, usize>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}
