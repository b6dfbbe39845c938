//! Async admission to a fixed number of places, fair between claimants.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::{Due, Places, Share};

/// A fixed number of places. Tasks wait in a queue; [`Places`] chooses the next claimant. Clones share state.
#[derive(Debug)]
pub struct Admission<K: Copy + Eq + Hash>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K: Copy + Eq + Hash> {
    state: Mutex<State<K>>,
    /// In led mode only [`Admission::admit`] grants places; otherwise a free place is granted at once.
    is_led: bool,
    /// Signalled when a task begins to wait or releases a place.
    changed: Notify,
}

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    places: Places<K>,
    waiting: VecDeque<Waiting<K>>,
}

#[derive(Debug)]
struct Waiting<K> {
    claimant: K,
    admit: oneshot::Sender<()>,
}

/// A granted place. Dropping it releases the place.
#[derive(Debug)]
pub struct Permit<K: Copy + Eq + Hash> {
    shared: Arc<Shared<K>>,
    claimant: K,
}

impl<K: Copy + Eq + Hash> Clone for Admission<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Copy + Eq + Hash> Admission<K> {
    /// Grants `capacity` places to waiting tasks as soon as they are free.
    pub fn new(capacity: usize) -> Self {
        Self::with(capacity, false)
    }

    /// Led mode: `capacity` places that [`Admission::admit`] shares between waiting tasks and jobs in a
    /// queue.
    pub fn led(capacity: usize) -> Self {
        Self::with(capacity, true)
    }

    fn with(capacity: usize, is_led: bool) -> Self {
        let state = Mutex::new(State { places: Places::new(capacity), waiting: VecDeque::new() });
        Self(Arc::new(Shared { state, is_led, changed: Notify::new() }))
    }

    /// Waits for a place. Cancel safe.
    pub async fn acquire(&self, claimant: K) -> Permit<K> {
        let (admit, admitted) = oneshot::channel();
        self.0.lock().waiting.push_back(Waiting { claimant, admit });
        let wait = Wait { shared: Arc::clone(&self.0), claimant, admitted };
        self.0.look();
        wait.admitted().await
    }

    /// Returns a place if this claimant can have one now.
    pub fn try_acquire(&self, claimant: K) -> Option<Permit<K>> {
        let due = Due { claimant, rank: u8::MAX };
        let mut state = self.0.lock();
        if state.admit(&[due]).is_empty() {
            return None;
        }
        state.places.enter(claimant);
        Some(Permit { shared: Arc::clone(&self.0), claimant })
    }

    /// Shares the free places between waiting tasks and the claimants in `due`. A waiting task is admitted
    /// before other work of its claimant. Returns the places left for `due`; [`Admission::enter`] takes them.
    pub fn admit(&self, due: &[Due<K>]) -> Vec<Share<K>> {
        self.0.lock().admit(due)
    }

    /// Takes a place, even if none is free.
    pub fn enter(&self, claimant: K) -> Permit<K> {
        self.0.lock().places.enter(claimant);
        Permit { shared: Arc::clone(&self.0), claimant }
    }

    /// Whether a place is free.
    pub fn has_free(&self) -> bool {
        self.0.lock().places.free() > 0
    }

    /// Waits until a task begins to wait or releases a place.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl<K: Copy + Eq + Hash> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits waiting tasks, or in led mode wakes the caller of [`Admission::changed`].
    fn look(&self) {
        if self.is_led {
            self.changed.notify_one();
        } else {
            self.lock().admit(&[]);
        }
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    fn admit(&mut self, due: &[Due<K>]) -> Vec<Share<K>> {
        self.waiting.retain(|waiting| !waiting.admit.is_closed());
        let mut wanted = due.to_vec();
        for waiting in &self.waiting {
            if !wanted.iter().any(|wanted| wanted.claimant == waiting.claimant) {
                wanted.push(Due { claimant: waiting.claimant, rank: 0 });
            }
        }
        self.places.forget_idle(&wanted);
        let mut shares = self.places.share_out(&wanted);
        let mut still_waiting = VecDeque::new();
        for waiting in self.waiting.drain(..) {
            let share =
                shares.iter_mut().find(|share| share.claimant == waiting.claimant && share.places > 0);
            let Some(share) = share else {
                still_waiting.push_back(waiting);
                continue;
            };
            // A cancelled task takes no place.
            if waiting.admit.send(()).is_ok() {
                share.places -= 1;
                self.places.enter(waiting.claimant);
            }
        }
        self.waiting = still_waiting;
        let is_due = |share: &Share<K>| due.iter().any(|due| due.claimant == share.claimant);
        shares.retain(|share| share.places > 0 && is_due(share));
        shares
    }
}

/// A task in the queue. Dropping it releases a place that was granted in the meantime.
struct Wait<K: Copy + Eq + Hash> {
    shared: Arc<Shared<K>>,
    claimant: K,
    admitted: oneshot::Receiver<()>,
}

impl<K: Copy + Eq + Hash> Wait<K> {
    async fn admitted(mut self) -> Permit<K> {
        (&mut self.admitted).await.expect("those who wait are admitted or leave");
        Permit { shared: Arc::clone(&self.shared), claimant: self.claimant }
    }
}

impl<K: Copy + Eq + Hash> Drop for Wait<K> {
    fn drop(&mut self) {
        self.admitted.close();
        if self.admitted.try_recv().is_ok() {
            drop(Permit { shared: Arc::clone(&self.shared), claimant: self.claimant });
        }
    }
}

impl<K: Copy + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        self.shared.lock().places.leave(self.claimant);
        self.shared.look();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn due(claimant: u8) -> Due<u8> {
        Due { claimant, rank: 1 }
    }

    #[test]
    fn a_place_that_is_given_back_goes_to_the_claimant_that_holds_fewest() {
        let places = Admission::new(4);
        let held: Vec<_> = (0..3).map(|_| places.acquire(1).now_or_never().expect("a free place")).collect();
        let other = places.acquire(2).now_or_never().expect("the last place is kept for another");
        let mut fourth = Box::pin(places.acquire(1));
        let mut second = Box::pin(places.acquire(2));
        assert!((&mut fourth).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(held);
        assert!((&mut fourth).now_or_never().is_some() && (&mut second).now_or_never().is_some());
        drop(other);
    }

    #[test]
    fn whoever_leaves_takes_no_place_and_gives_back_the_one_it_has_just_got() {
        let places = Admission::new(1);
        let first = places.acquire(1).now_or_never().unwrap();
        let mut leaves = Box::pin(places.acquire(1));
        let mut granted = Box::pin(places.acquire(1));
        let mut last = Box::pin(places.acquire(1));
        for waits in [&mut leaves, &mut granted, &mut last] {
            assert!(waits.now_or_never().is_none());
        }
        drop(leaves);
        drop(first); // admits the second, which is not polled any more
        assert!((&mut last).now_or_never().is_none());
        drop(granted);
        assert!((&mut last).now_or_never().is_some());
    }

    #[test]
    fn places_that_are_led_are_shared_out_between_those_who_wait_and_those_who_are_due() {
        let places = Admission::led(5);
        let held: Vec<_> = (0..3).map(|_| places.enter(1)).collect();
        let mut back = Box::pin(places.acquire(1));
        assert!((&mut back).now_or_never().is_none(), "nobody has given places out");
        assert_eq!(places.admit(&[due(2)]), [Share { claimant: 2, places: 2 }]);
        let _others = [places.enter(2), places.enter(2)];
        assert!((&mut back).now_or_never().is_none());
        assert!(!places.has_free());
        drop(held);
        let one = |claimant| Share { claimant, places: 1 };
        assert_eq!(places.admit(&[due(1), due(2)]), [one(1), one(2)]);
        assert!((&mut back).now_or_never().is_some(), "before the claimant's other work");
    }
}
