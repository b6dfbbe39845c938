//! A budget of units, for example MiB of memory, fair between claimants.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A fixed number of units. Clones share state.
///
/// Free units go to the claimant that holds the fewest; requests of one claimant are served in order. A
/// single claimant cannot take the reserve. A request that does not fit yet blocks later claimants, except
/// those that hold nothing: up to [`OVERTAKEN_MAX`] of their requests may be granted before it.
#[derive(Debug)]
pub struct Budget<K: Copy + Eq + Hash>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K> {
    capacity: u64,
    /// The part of the capacity that a single claimant cannot take.
    reserve: u64,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    free: u64,
    in_use: HashMap<K, u64>,
    waiting: VecDeque<QueuedRequest<K>>,
}

#[derive(Debug)]
struct QueuedRequest<K> {
    claimant: K,
    units: u64,
    /// Later requests that were granted before this one, for which too few units were free.
    overtaken_by: u32,
    grant: oneshot::Sender<()>,
}

/// Later requests that are granted before one that does not fit yet. Then it is served next.
const OVERTAKEN_MAX: u32 = 64;

/// Granted units. Dropping this releases them.
#[derive(Debug)]
pub struct UnitsPermit<K: Copy + Eq + Hash> {
    shared: Arc<Shared<K>>,
    claimant: K,
    units: u64,
}

impl<K: Copy + Eq + Hash> Clone for Budget<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Copy + Eq + Hash> Budget<K> {
    /// `capacity` units. A single claimant can hold at most `capacity - reserve` of them.
    pub fn new(capacity: u64, reserve: u64) -> Self {
        let state = State { free: capacity, in_use: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Shared { capacity, reserve: reserve.min(capacity), state: Mutex::new(state) }))
    }

    /// Units that are granted now.
    pub fn in_use(&self) -> u64 {
        self.0.capacity - self.0.lock().free
    }

    /// Waits for `units`, at most the capacity. Cancel safe.
    pub async fn acquire(&self, claimant: K, units: u64) -> UnitsPermit<K> {
        let units = units.min(self.0.capacity);
        let (grant, granted) = oneshot::channel();
        self.0.lock().waiting.push_back(QueuedRequest { claimant, units, overtaken_by: 0, grant });
        self.0.grant();
        let mut wait = WaitGuard { shared: Arc::clone(&self.0), claimant, units, granted };
        (&mut wait.granted).await.expect("those who wait are granted or leave");
        UnitsPermit { shared: Arc::clone(&self.0), claimant, units }
    }
}

impl<K: Copy + Eq + Hash> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants free units to waiting requests.
    fn grant(&self) {
        let mut state = self.lock();
        state.waiting.retain(|waiting| !waiting.grant.is_closed());
        while let Some(next) = state.next(self.capacity - self.reserve) {
            let Some(waiting) = state.waiting.remove(next) else { break };
            // A cancelled request takes nothing.
            if waiting.grant.send(()).is_ok() {
                state.count_overtaken(next);
                state.free -= waiting.units;
                *state.in_use.entry(waiting.claimant).or_default() += waiting.units;
            }
        }
    }

    fn release(&self, claimant: K, units: u64) {
        let mut state = self.lock();
        state.free += units;
        if let Some(units_in_use) = state.in_use.get_mut(&claimant) {
            *units_in_use -= units;
            if *units_in_use == 0 {
                state.in_use.remove(&claimant);
            }
        }
        drop(state);
        self.grant();
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    /// The next request to grant: the first one of the claimant that holds the fewest units. Requests above
    /// `max_per_claimant` are skipped, unless the claimant holds nothing.
    fn next(&self, max_per_claimant: u64) -> Option<usize> {
        let mut seen = HashSet::new();
        let first = self.waiting.iter().enumerate().filter(|(_, waiting)| seen.insert(waiting.claimant));
        let in_use_by = |claimant: &K| self.in_use.get(claimant).copied().unwrap_or_default();
        let mut candidates: Vec<_> = first
            .map(|(n, waiting)| (in_use_by(&waiting.claimant), n, waiting.units))
            .filter(|(in_use, _, units)| *in_use == 0 || in_use + units <= max_per_claimant)
            .collect();
        candidates.sort_unstable();
        let does_not_fit = |(held, _, units): &&(u64, usize, u64)| *held == 0 && *units > self.free;
        let blocks_holders = candidates.iter().any(|candidate| does_not_fit(&candidate));
        let is_overtaken_too_often =
            |turn: &&(u64, usize, u64)| self.waiting[turn.1].overtaken_by >= OVERTAKEN_MAX;
        if candidates.iter().filter(does_not_fit).any(|turn| is_overtaken_too_often(&turn)) {
            return None;
        }
        let next = candidates
            .iter()
            .find(|turn| !does_not_fit(turn))
            .filter(|(held, ..)| !blocks_holders || *held == 0)?;
        (next.2 <= self.free).then_some(next.1)
    }

    /// Counts a grant for the earlier requests that were too large for the free units.
    fn count_overtaken(&mut self, index: usize) {
        let free = self.free;
        for waiting in self.waiting.iter_mut().take(index).filter(|waiting| waiting.units > free) {
            waiting.overtaken_by += 1;
        }
    }
}

/// A waiting request. Dropping it releases units that were granted in the meantime.
struct WaitGuard<K: Copy + Eq + Hash> {
    shared: Arc<Shared<K>>,
    claimant: K,
    units: u64,
    granted: oneshot::Receiver<()>,
}

impl<K: Copy + Eq + Hash> Drop for WaitGuard<K> {
    fn drop(&mut self) {
        self.granted.close();
        if self.granted.try_recv().is_ok() {
            self.shared.release(self.claimant, self.units);
        }
    }
}

impl<K: Copy + Eq + Hash> Drop for UnitsPermit<K> {
    fn drop(&mut self) {
        self.shared.release(self.claimant, self.units);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Acquires without waiting.
    fn take(budget: &Budget<u8>, claimant: u8, units: u64) -> Option<UnitsPermit<u8>> {
        budget.acquire(claimant, units).now_or_never()
    }

    #[test]
    fn single_claimant_cannot_take_the_reserve() {
        let budget = Budget::new(64, 8);
        let permits: Vec<_> = (0..7).map(|_| take(&budget, 1, 8).expect("56 of 64")).collect();
        assert!(take(&budget, 1, 8).is_none());
        assert!(take(&budget, 1, 1).is_none());
        let other = take(&budget, 2, 8).expect("the reserve");
        assert_eq!(budget.in_use(), 64);
        drop((permits, other));
        assert_eq!(budget.in_use(), 0);
    }

    #[test]
    fn claimant_with_fewest_units_gets_the_released_units() {
        let budget = Budget::new(64, 8);
        let mut permits: Vec<_> = (0..7).map(|_| take(&budget, 1, 8).unwrap()).collect();
        let _other = take(&budget, 2, 8).unwrap();
        let mut first = Box::pin(budget.acquire(1, 8));
        let mut second = Box::pin(budget.acquire(2, 8));
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        permits.pop();
        let second = second.now_or_never();
        assert!(second.is_some() && (&mut first).now_or_never().is_none());
        permits.pop();
        assert!(first.now_or_never().is_some());
    }

    #[test]
    fn large_request_is_overtaken_a_limited_number_of_times() {
        let budget = Budget::new(64, 8);
        let permit = take(&budget, 1, 40).unwrap();
        let mut large = Box::pin(budget.acquire(2, 32));
        assert!((&mut large).now_or_never().is_none());
        // Each claimant holds nothing.
        for passed in 0..OVERTAKEN_MAX {
            assert!(take(&budget, 3, 8).is_some(), "{passed}");
        }
        assert!(take(&budget, 3, 8).is_none());
        drop(permit);
        assert!(large.now_or_never().is_some());
        assert!(take(&budget, 3, 8).is_some());
    }

    #[test]
    fn busier_claimant_does_not_overtake_large_request() {
        let budget = Budget::new(10, 0);
        let small: Vec<_> = (0..5).map(|_| take(&budget, 1, 2).unwrap()).collect();
        let mut large = Box::pin(budget.acquire(2, 9));
        let mut next = Box::pin(budget.acquire(1, 2));
        let mut small = small.into_iter();
        for _ in 0..4 {
            drop(small.next());
            assert!((&mut large).now_or_never().is_none() && (&mut next).now_or_never().is_none());
        }
        drop(small.next());
        let large = large.now_or_never().expect("all is free");
        assert!((&mut next).now_or_never().is_none());
        drop(large);
        assert!(next.now_or_never().is_some());
    }

    #[test]
    fn idle_claimant_overtakes_request_that_does_not_fit() {
        let budget = Budget::new(64, 8);
        let _held: Vec<_> = (0..7).map(|_| take(&budget, 1, 8).unwrap()).collect();
        let mut large = Box::pin(budget.acquire(2, 30));
        assert!((&mut large).now_or_never().is_none());
        assert!(take(&budget, 3, 8).is_some());
        assert!(large.now_or_never().is_none());
    }

    #[test]
    fn request_above_capacity_takes_whole_capacity() {
        let budget = Budget::new(10, 8);
        assert!(take(&budget, 1, 20).is_some_and(|all| all.units == 10));
    }

    #[test]
    fn cancelled_wait_takes_no_units() {
        let budget = Budget::new(1, 0);
        let first = take(&budget, 1, 1).unwrap();
        let mut leaves = Box::pin(budget.acquire(1, 1));
        let mut granted = Box::pin(budget.acquire(1, 1));
        let mut last = Box::pin(budget.acquire(1, 1));
        for waits in [&mut leaves, &mut granted, &mut last] {
            assert!(waits.now_or_never().is_none());
        }
        drop(leaves);
        drop(first); // grants the second, which is not polled any more
        assert!((&mut last).now_or_never().is_none());
        drop(granted);
        assert!(last.now_or_never().is_some());
        assert_eq!(budget.in_use(), 0);
    }
}
