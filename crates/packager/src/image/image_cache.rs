//! Images in progress, recent images, and their memory limits.

use std::sync::Arc;
use std::time::Duration;

use kinora_index::IndexId;
use moka::future::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::in_flight::InFlight;
use super::queue::ImageQueues;
use super::single_flight::{CachedFailure, ImageContent, ImageKey};
use super::sprite_sheet::{SpriteSheet, Storyboard};
use super::weak_map::WeakMap;
use crate::{Error, REQUEST_TIMEOUT};

/// Memory for recent images, in bytes. A stored image has at most 256 KiB here. One that could not be stored
/// may have 32 MiB, which exceeds this cache, and stays in memory only while it is read.
const IMAGE_CACHE_BYTES: u64 = 16 << 20;
/// How long an image that could not be made is not tried again: as long as a segment.
const FAILURE_CACHE_TTL: Duration = Duration::from_secs(60);
/// Images that are cached as impossible, some 50 bytes each.
const FAILURE_CACHE_MAX: u64 = 10_000;
/// Memory for sheet layouts, in bytes; some 20 KiB for one sheet.
const STORYBOARDS_BYTES: u64 = 16 << 20;

/// Memory for the samples of all images in progress, in KiB: two of the largest at once, or many usual ones.
const MEMORY_KIB: u32 = 192 << 10;

/// Requested images in progress and recent results.
pub(crate) struct ImageCache {
    pub(super) contents: Cache<ImageKey, ImageContent>,
    /// Images that could not be made recently.
    pub(super) failures: Cache<ImageKey, CachedFailure>,
    /// `None` for a media without a storyboard.
    pub(super) storyboards: Cache<(IndexId, SpriteSheet), Option<Arc<Storyboard>>>,
    /// Requested images that are not in memory.
    pub(super) in_flight: WeakMap<ImageKey, InFlight>,
    pub(super) queues: ImageQueues,
    memory: Semaphore,
}

impl ImageCache {
    pub(crate) fn new() -> Self {
        let contents = Cache::builder()
            .max_capacity(IMAGE_CACHE_BYTES)
            .weigher(|_, content: &ImageContent| content.weight())
            .build();
        let failures =
            Cache::builder().max_capacity(FAILURE_CACHE_MAX).time_to_live(FAILURE_CACHE_TTL).build();
        let storyboards = Cache::builder()
            .max_capacity(STORYBOARDS_BYTES)
            .weigher(|_, storyboard: &Option<Arc<Storyboard>>| {
                storyboard.as_ref().map_or(1, |storyboard| storyboard.weight())
            })
            .build();
        let memory = Semaphore::new(MEMORY_KIB as usize);
        Self {
            contents,
            failures,
            storyboards,
            in_flight: WeakMap::new(),
            queues: ImageQueues::new(),
            memory,
        }
    }

    /// Waits until this many bytes of samples may be read. [`Error::Busy`] after the timeout.
    pub(super) async fn reserve_memory(&self, len: u64) -> Result<SemaphorePermit<'_>, Error> {
        // Twice: once as read, and once as packed for the decoder.
        let kib = (len >> 10).saturating_mul(2).saturating_add(1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
        let free = tokio::time::timeout(REQUEST_TIMEOUT, self.memory.acquire_many(kib)).await;
        free.ok().and_then(Result::ok).ok_or(Error::Busy)
    }
}
