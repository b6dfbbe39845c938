//! Who is at work on which upload in this process: one at a time, and the newest goes first.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kinora_domain::MediaId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::session::Session;

/// How long a request waits for the one before it to let go. That one keeps what it has, which takes a sync
/// or the sending of a part.
const ENTER_MAX: Duration = Duration::from_secs(20);

/// The uploads that are received, or were a moment ago.
#[derive(Default)]
pub(crate) struct Slots(Arc<Mutex<HashMap<MediaId, Arc<Slot>>>>);

pub(crate) struct Slot {
    /// What the last request left: where it writes and what it has read.
    session: Arc<AsyncMutex<Option<Session>>>,
    /// Ends the request that is inside, or waits to be.
    interrupt: Mutex<CancellationToken>,
}

/// The right to receive an upload, among the requests of this process. Dropped, the next one enters, and
/// nothing is remembered: the client went away in the middle, and nobody would ever let go of what the
/// session holds.
pub(crate) struct Entered {
    pub(crate) session: Held,
    /// Cancelled when somebody else wants in.
    pub(crate) interrupted: CancellationToken,
    /// Behind the session: it looks whether that is free.
    _leave: Leave,
}

/// The session of an upload, which is forgotten unless it is left on purpose.
pub(crate) struct Held {
    session: OwnedMutexGuard<Option<Session>>,
    is_left: bool,
}

impl Deref for Held {
    type Target = Option<Session>;

    fn deref(&self) -> &Option<Session> {
        &self.session
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Option<Session> {
        &mut self.session
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_left {
            *self.session = None;
        }
    }
}

/// Takes the slot out of the map when nobody needs it.
struct Leave {
    slots: Weak<Mutex<HashMap<MediaId, Arc<Slot>>>>,
    id: MediaId,
}

/// Why a request did not get in.
pub(crate) enum NotEntered {
    /// A newer one came.
    Interrupted,
    /// The one inside does not let go.
    Busy,
}

impl Slots {
    /// Ends the request that receives this upload, and waits until it is gone.
    pub(crate) async fn enter(&self, id: MediaId) -> Result<Entered, NotEntered> {
        let slot = Arc::clone(lock(&self.0).entry(id).or_insert_with(|| {
            Arc::new(Slot { session: Arc::default(), interrupt: Mutex::new(CancellationToken::new()) })
        }));
        let leave = Leave { slots: Arc::downgrade(&self.0), id };
        let interrupted = CancellationToken::new();
        std::mem::replace(&mut *lock(&slot.interrupt), interrupted.clone()).cancel();
        let enter = timeout(ENTER_MAX, Arc::clone(&slot.session).lock_owned());
        let entered = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Err(NotEntered::Interrupted),
            entered = enter => entered,
        };
        drop(slot);
        let session = Held { session: entered.map_err(|_| NotEntered::Busy)?, is_left: false };
        Ok(Entered { session, interrupted, _leave: leave })
    }

    /// Ends the request that receives this upload, without waiting for it.
    pub(crate) fn interrupt(&self, id: MediaId) {
        if let Some(slot) = lock(&self.0).get(&id) {
            lock(&slot.interrupt).cancel();
        }
    }

    /// Enters if nobody is inside, interrupting nobody.
    pub(crate) fn enter_if_idle(&self, id: MediaId) -> Option<OwnedMutexGuard<Option<Session>>> {
        let slot = Arc::clone(lock(&self.0).get(&id)?);
        Arc::clone(&slot.session).try_lock_owned().ok()
    }

    /// Whether a request of this process receives this upload now.
    pub(crate) fn is_at_work(&self, id: MediaId) -> bool {
        let slot = lock(&self.0).get(&id).map(Arc::clone);
        slot.is_some_and(|slot| slot.session.try_lock().is_err())
    }

    /// Forgets an upload that nobody works on and of which nothing is remembered.
    fn tidy(slots: &Mutex<HashMap<MediaId, Arc<Slot>>>, id: MediaId) {
        let mut slots = lock(slots);
        let is_free = slots.get(&id).is_some_and(|slot| {
            // Ours in the map is the only handle, so nobody can come in meanwhile.
            Arc::strong_count(slot) == 1
                && Arc::strong_count(&slot.session) == 1
                && slot.session.try_lock().is_ok_and(|session| session.is_none())
        });
        if is_free {
            slots.remove(&id);
        }
    }

    /// For whoever drops what a slot remembers.
    pub(crate) fn forget(&self, id: MediaId) {
        Self::tidy(&self.0, id);
    }
}

impl Entered {
    /// Lets the next one in, with what the session remembers.
    pub(crate) fn leave(mut self) {
        self.session.is_left = true;
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.upgrade() {
            Slots::tidy(&slots, self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> MediaId {
        "019a492c-41f3-7001-8203-040506070809".parse().unwrap()
    }

    #[tokio::test]
    async fn a_newer_request_ends_the_one_inside_and_enters_after_it() {
        let slots = Slots::default();
        let Ok(first) = slots.enter(id()).await else { panic!("nobody is inside") };
        assert!(!first.interrupted.is_cancelled() && slots.is_at_work(id()));
        let second = slots.enter(id());
        let leaving = async {
            first.interrupted.cancelled().await;
            first.leave();
        };
        let (second, ()) = tokio::join!(second, leaving);
        let Ok(second) = second else { panic!("the first has left") };
        assert!(!second.interrupted.is_cancelled());
        second.leave();
        assert!(lock(&slots.0).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_let_go_is_waited_for_only_so_long() {
        let slots = Slots::default();
        let Ok(first) = slots.enter(id()).await else { panic!("nobody is inside") };
        assert!(matches!(slots.enter(id()).await, Err(NotEntered::Busy)));
        first.leave();
        assert!(slots.enter(id()).await.is_ok());
        assert!(lock(&slots.0).is_empty());
    }

    #[tokio::test]
    async fn of_those_that_wait_only_the_newest_enters() {
        let slots = Slots::default();
        let Ok(first) = slots.enter(id()).await else { panic!("nobody is inside") };
        let order = async {
            first.interrupted.cancelled().await;
            first.leave();
        };
        let (second, third, ()) = tokio::join!(biased; slots.enter(id()), slots.enter(id()), order);
        assert!(matches!(second, Err(NotEntered::Interrupted)));
        assert!(third.is_ok());
    }
}
