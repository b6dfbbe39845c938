//! Pictures that are being made or just were, and with how much memory.

use std::sync::Arc;
use std::time::Duration;

use kinora_index::IndexId;
use moka::future::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::made::{Name, Ready, Unmade};
use super::sheet::{Sheet, Storyboard};
use super::sought::Sought;
use super::turns::Turns;
use super::while_held::WhileHeld;
use crate::{Error, REQUEST_WAIT_MAX};

/// Memory for pictures that were just asked for. Of those that are kept none has more than 256 KiB here; one
/// that could not be kept may have 32 MiB, which is too much for this memory and held by those who read it.
const JUST_MADE_BYTES: u64 = 16 << 20;
/// How long a picture that could not be made is not tried again: as long as a segment.
const UNMADE_KNOWN_FOR: Duration = Duration::from_secs(60);
/// Pictures that are known not to be made, some 50 bytes each.
const UNMADE_MAX: u64 = 10_000;
/// Memory for where the tiles of sheets lie; of one sheet some 20 KiB.
const STORYBOARDS_BYTES: u64 = 16 << 20;

/// Memory for the samples of all pictures that are being made, in KiB: two of the largest at once, or many
/// usual ones.
const MEMORY_KIB: u32 = 192 << 10;

/// Pictures asked for now and just made.
pub(crate) struct Flights {
    pub(super) made: Cache<Name, Ready>,
    /// Those that could not be made a moment ago.
    pub(super) unmade: Cache<Name, Unmade>,
    /// `None` for what has none.
    pub(super) storyboards: Cache<(IndexId, Sheet), Option<Arc<Storyboard>>>,
    /// Those that somebody asks for and that are not in memory.
    pub(super) sought: WhileHeld<Name, Sought>,
    pub(super) turns: Turns,
    memory: Semaphore,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let made = Cache::builder()
            .max_capacity(JUST_MADE_BYTES)
            .weigher(|_, picture: &Ready| picture.weight())
            .build();
        let unmade = Cache::builder().max_capacity(UNMADE_MAX).time_to_live(UNMADE_KNOWN_FOR).build();
        let storyboards = Cache::builder()
            .max_capacity(STORYBOARDS_BYTES)
            .weigher(|_, storyboard: &Option<Arc<Storyboard>>| {
                storyboard.as_ref().map_or(1, |storyboard| storyboard.weight())
            })
            .build();
        let memory = Semaphore::new(MEMORY_KIB as usize);
        Self { made, unmade, storyboards, sought: WhileHeld::new(), turns: Turns::new(), memory }
    }

    /// Waits until so many bytes of samples may be read. [`Error::Busy`] where that takes too long.
    pub(super) async fn memory_for(&self, len: u64) -> Result<SemaphorePermit<'_>, Error> {
        // Twice: as they are read, and as they are packed for the decoder.
        let kib = (len >> 10).saturating_mul(2).saturating_add(1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
        let free = tokio::time::timeout(REQUEST_WAIT_MAX, self.memory.acquire_many(kib)).await;
        free.ok().and_then(Result::ok).ok_or(Error::Busy)
    }
}
