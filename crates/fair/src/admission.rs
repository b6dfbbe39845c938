//! Async admission to a fixed number of slots, fair between claimants.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use crate::{DueClaimant, FairSlots, Share};

/// A fixed number of slots. Tasks wait in a queue; [`FairSlots`] chooses the next claimant. Clones share
/// state.
#[derive(Debug)]
pub struct Admission<K: Copy + Eq + Hash>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K: Copy + Eq + Hash> {
    state: Mutex<State<K>>,
    /// With manual grants only [`Admission::admit`] grants slots; otherwise a free slot is granted at once.
    is_manual: bool,
    /// Signalled when a task begins to wait or releases a slot.
    changed: Notify,
}

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    slots: FairSlots<K>,
    waiting: VecDeque<QueuedRequest<K>>,
}

#[derive(Debug)]
struct QueuedRequest<K> {
    claimant: K,
    admit: oneshot::Sender<()>,
}

/// A granted slot. Dropping it releases the slot.
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
    /// Grants `capacity` slots to waiting tasks as soon as they are free.
    pub fn new(capacity: usize) -> Self {
        Self::with(capacity, false)
    }

    /// Manual grants: `capacity` slots that [`Admission::admit`] shares between waiting tasks and queued
    /// jobs.
    pub fn with_manual_grants(capacity: usize) -> Self {
        Self::with(capacity, true)
    }

    fn with(capacity: usize, is_manual: bool) -> Self {
        let state = Mutex::new(State { slots: FairSlots::new(capacity), waiting: VecDeque::new() });
        Self(Arc::new(Shared { state, is_manual, changed: Notify::new() }))
    }

    /// Waits for a slot. Cancel safe.
    pub async fn acquire(&self, claimant: K) -> Permit<K> {
        let (admit, admitted) = oneshot::channel();
        self.0.lock().waiting.push_back(QueuedRequest { claimant, admit });
        let wait = WaitGuard { shared: Arc::clone(&self.0), claimant, admitted };
        self.0.wake_waiting();
        wait.wait_admitted().await
    }

    /// Returns a slot if this claimant can have one now.
    pub fn try_acquire(&self, claimant: K) -> Option<Permit<K>> {
        let due = DueClaimant { claimant, rank: u8::MAX };
        let mut state = self.0.lock();
        if state.admit(&[due]).is_empty() {
            return None;
        }
        state.slots.grant(claimant);
        Some(Permit { shared: Arc::clone(&self.0), claimant })
    }

    /// Shares the free slots between waiting tasks and the claimants in `due`. A waiting task is admitted
    /// before other work of its claimant. Returns the slots left for `due`; [`Admission::force_acquire`]
    /// takes them.
    pub fn admit(&self, due: &[DueClaimant<K>]) -> Vec<Share<K>> {
        self.0.lock().admit(due)
    }

    /// Takes a slot, even if none is free.
    pub fn force_acquire(&self, claimant: K) -> Permit<K> {
        self.0.lock().slots.grant(claimant);
        Permit { shared: Arc::clone(&self.0), claimant }
    }

    /// Whether a slot is free.
    pub fn has_free_slot(&self) -> bool {
        self.0.lock().slots.free() > 0
    }

    /// Waits until a task begins to wait or releases a slot.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl<K: Copy + Eq + Hash> Shared<K> {
    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits waiting tasks, or with manual grants wakes the caller of [`Admission::changed`].
    fn wake_waiting(&self) {
        if self.is_manual {
            self.changed.notify_one();
        } else {
            self.lock().admit(&[]);
        }
    }
}

impl<K: Copy + Eq + Hash> State<K> {
    fn admit(&mut self, due: &[DueClaimant<K>]) -> Vec<Share<K>> {
        self.waiting.retain(|waiting| !waiting.admit.is_closed());
        let mut all_due = due.to_vec();
        for waiting in &self.waiting {
            if !all_due.iter().any(|other| other.claimant == waiting.claimant) {
                all_due.push(DueClaimant { claimant: waiting.claimant, rank: 0 });
            }
        }
        self.slots.remove_idle(&all_due);
        let mut shares = self.slots.distribute(&all_due);
        let mut still_waiting = VecDeque::new();
        for waiting in self.waiting.drain(..) {
            let share = shares.iter_mut().find(|share| share.claimant == waiting.claimant && share.slots > 0);
            let Some(share) = share else {
                still_waiting.push_back(waiting);
                continue;
            };
            // A cancelled task takes no slot.
            if waiting.admit.send(()).is_ok() {
                share.slots -= 1;
                self.slots.grant(waiting.claimant);
            }
        }
        self.waiting = still_waiting;
        let is_due = |share: &Share<K>| due.iter().any(|due| due.claimant == share.claimant);
        shares.retain(|share| share.slots > 0 && is_due(share));
        shares
    }
}

/// A task in the queue. Dropping it releases a slot that was granted in the meantime.
struct WaitGuard<K: Copy + Eq + Hash> {
    shared: Arc<Shared<K>>,
    claimant: K,
    admitted: oneshot::Receiver<()>,
}

impl<K: Copy + Eq + Hash> WaitGuard<K> {
    async fn wait_admitted(mut self) -> Permit<K> {
        (&mut self.admitted).await.expect("those who wait are admitted or leave");
        Permit { shared: Arc::clone(&self.shared), claimant: self.claimant }
    }
}

impl<K: Copy + Eq + Hash> Drop for WaitGuard<K> {
    fn drop(&mut self) {
        self.admitted.close();
        if self.admitted.try_recv().is_ok() {
            drop(Permit { shared: Arc::clone(&self.shared), claimant: self.claimant });
        }
    }
}

impl<K: Copy + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        self.shared.lock().slots.release(self.claimant);
        self.shared.wake_waiting();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn due(claimant: u8) -> DueClaimant<u8> {
        DueClaimant { claimant, rank: 1 }
    }

    #[test]
    fn claimant_with_fewest_slots_gets_the_released_slot() {
        let admission = Admission::new(4);
        let permits: Vec<_> =
            (0..3).map(|_| admission.acquire(1).now_or_never().expect("a free place")).collect();
        let other = admission.acquire(2).now_or_never().expect("the last place is kept for another");
        let mut fourth = Box::pin(admission.acquire(1));
        let mut second = Box::pin(admission.acquire(2));
        assert!((&mut fourth).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(permits);
        assert!((&mut fourth).now_or_never().is_some() && (&mut second).now_or_never().is_some());
        drop(other);
    }

    #[test]
    fn cancelled_wait_takes_no_slot() {
        let admission = Admission::new(1);
        let first = admission.acquire(1).now_or_never().unwrap();
        let mut leaves = Box::pin(admission.acquire(1));
        let mut granted = Box::pin(admission.acquire(1));
        let mut last = Box::pin(admission.acquire(1));
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
    fn manual_grants_share_slots_between_waiting_and_due() {
        let admission = Admission::with_manual_grants(5);
        let permits: Vec<_> = (0..3).map(|_| admission.force_acquire(1)).collect();
        let mut back = Box::pin(admission.acquire(1));
        assert!((&mut back).now_or_never().is_none(), "no permit was released");
        assert_eq!(admission.admit(&[due(2)]), [Share { claimant: 2, slots: 2 }]);
        let _others = [admission.force_acquire(2), admission.force_acquire(2)];
        assert!((&mut back).now_or_never().is_none());
        assert!(!admission.has_free_slot());
        drop(permits);
        let one = |claimant| Share { claimant, slots: 1 };
        assert_eq!(admission.admit(&[due(1), due(2)]), [one(1), one(2)]);
        assert!((&mut back).now_or_never().is_some(), "before the claimant's other work");
    }
}
