//! Pictures that are being made: how many at once, with how much memory, and each once however many ask.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kinora_domain::SourceId;
use kinora_formats::index::IndexId;
use moka::future::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::made::{Name, Ready, Unmade};
use super::sheet::{Sheet, Storyboard};
use crate::{Asker, Error};

/// Memory for pictures that were just asked for. Of those that are kept none has more than 256 KiB here; one that could not be kept may
/// have 32 MiB, which is too much for this memory and held by those who read it.
const JUST_MADE_BYTES: u64 = 16 << 20;
/// How long a picture that could not be made is not tried again: as long as a segment.
const UNMADE_KNOWN_FOR: Duration = Duration::from_secs(60);
/// Pictures that are known not to be made, some 50 bytes each.
const UNMADE_MAX: u64 = 10_000;
/// Memory for where the tiles of sheets lie; of one sheet some 20 KiB.
const STORYBOARDS_BYTES: u64 = 16 << 20;

/// Pictures of one source and one kind that are made or waited for at once; the engine's queue has room for others. Decision 0093.
const AT_ONCE_MAX: usize = 4;
/// Pictures of one client that are made at once; its others wait for their turn. Half of the places of a source: nobody takes them all.
const TURNS_OF_CLIENT: usize = 2;
/// Memory for the samples of all pictures that are being made, in KiB: two of the largest at once, or many usual ones.
const MEMORY_KIB: u32 = 192 << 10;
/// How long a picture waits for its turn, and then for memory, before whoever asks is told to come back.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// What waits long does not take the places of what is there in a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A thumbnail: a poster that somebody looks for.
    Still,
    /// A clip or a sheet, of many pictures.
    Long,
}

/// Pictures of one kind that are made of each source.
type UnderWay = Arc<Mutex<HashMap<(SourceId, Kind), usize>>>;

/// Pictures under way and just made: one flight a picture, however many ask for it.
pub(crate) struct Flights {
    pub(super) made: Cache<Name, Ready>,
    /// Those that could not be made a moment ago.
    pub(super) unmade: Cache<Name, Unmade>,
    /// `None` for what has none.
    pub(super) storyboards: Cache<(IndexId, Sheet), Option<Arc<Storyboard>>>,
    under_way: UnderWay,
    /// Of each client for whom something is made now.
    turns: Mutex<HashMap<IpAddr, Weak<Semaphore>>>,
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
        Self { made, unmade, storyboards, under_way: Arc::default(), turns: Mutex::default(), memory }
    }
}

/// A place among the pictures of one source and one kind, given back when dropped.
pub(super) struct Place {
    under_way: UnderWay,
    of: (SourceId, Kind),
}

impl Flights {
    /// Takes a place, or [`Error::Busy`].
    pub(super) fn enter(&self, source: SourceId, kind: Kind) -> Result<Place, Error> {
        let mut under_way = lock(&self.under_way);
        let held = under_way.entry((source, kind)).or_default();
        if *held >= AT_ONCE_MAX {
            return Err(Error::Busy);
        }
        *held += 1;
        Ok(Place { under_way: self.under_way.clone(), of: (source, kind) })
    }

    /// Waits until this client has fewer pictures made than it may, and takes a turn, which is given back when dropped. `None` where nobody
    /// knows which client it is. [`Error::Busy`] where it takes too long.
    pub(super) async fn turn(&self, asker: Asker) -> Result<Option<OwnedSemaphorePermit>, Error> {
        let Some(client) = asker.client() else { return Ok(None) };
        let of_client = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turns| 0 < turns.strong_count());
            let known = turns.get(&client).and_then(Weak::upgrade);
            let of_client = known.unwrap_or_else(|| Arc::new(Semaphore::new(TURNS_OF_CLIENT)));
            turns.insert(client, Arc::downgrade(&of_client));
            of_client
        };
        let turn = tokio::time::timeout(WAIT_MAX, of_client.acquire_owned()).await;
        turn.ok().and_then(Result::ok).map(Some).ok_or(Error::Busy)
    }

    /// Waits until so many bytes of samples may be read. [`Error::Busy`] where that takes too long.
    pub(super) async fn memory_for(&self, len: u64) -> Result<SemaphorePermit<'_>, Error> {
        // Twice: as they are read, and as they are packed for the decoder.
        let kib = (len >> 10).saturating_mul(2).saturating_add(1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(MEMORY_KIB);
        let free = tokio::time::timeout(WAIT_MAX, self.memory.acquire_many(kib)).await;
        free.ok().and_then(Result::ok).ok_or(Error::Busy)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        if let Some(held) = under_way.get_mut(&self.of) {
            *held -= 1;
            if *held == 0 {
                under_way.remove(&self.of);
            }
        }
    }
}

fn lock(under_way: &UnderWay) -> MutexGuard<'_, HashMap<(SourceId, Kind), usize>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use kinora_domain::{PlaybackId, Timestamp};
    use kinora_testkit::SeededRandom;

    use super::*;

    #[tokio::test]
    async fn a_client_has_two_pictures_made_at_once_and_another_one_its_own() {
        let flights = Flights::new();
        let playback = PlaybackId::new(&SeededRandom::default());
        let of = |address: Option<&str>| {
            flights.turn(Asker { playback, address: address.map(|address| address.parse().unwrap()) })
        };
        let one = Some("2001:db8::1");
        let mut held = vec![of(one).await.unwrap(), of(one).await.unwrap()];
        assert!(of(one).now_or_never().is_none(), "the third waits");
        assert!(of(Some("2001:db8::ffff")).now_or_never().is_none(), "whatever its address in this network");
        assert!(of(Some("192.0.2.1")).now_or_never().unwrap().unwrap().is_some());
        assert!(of(None).now_or_never().unwrap().unwrap().is_none());
        held.pop();
        assert!(of(one).now_or_never().unwrap().is_ok());
        drop(held);
        assert!(of(Some("192.0.2.2")).await.is_ok());
        assert_eq!(flights.turns.lock().unwrap().len(), 1, "who has nothing made takes no memory");
    }

    #[test]
    fn long_pictures_of_a_source_leave_places_for_its_stills_and_those_of_others() {
        let flights = Flights::new();
        let random = SeededRandom::default();
        let [one, other] = [1, 2].map(|at| SourceId::new(Timestamp::from_micros(at), &random));
        let held: Vec<_> = (0..AT_ONCE_MAX).map(|_| flights.enter(one, Kind::Long).unwrap()).collect();
        assert!(matches!(flights.enter(one, Kind::Long), Err(Error::Busy)));
        assert!(flights.enter(one, Kind::Still).is_ok());
        assert!(flights.enter(other, Kind::Long).is_ok());
        drop(held);
        assert!(flights.enter(one, Kind::Long).is_ok());
        assert!(lock(&flights.under_way).is_empty(), "what is given back takes no memory");
    }
}
