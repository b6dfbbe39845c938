//! Upload slots of this process: one request per upload at a time, and the newest one takes precedence.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kinora_domain::MediaId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::session::Session;

/// Timeout of a request for the one before to leave. That one first stores its bytes, which takes a sync or
/// the upload of a part.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The uploads that are being received, or were until a short time ago.
#[derive(Default)]
pub(crate) struct UploadLocks(Arc<Mutex<HashMap<MediaId, Arc<UploadLock>>>>);

pub(crate) struct UploadLock {
    /// The session of the last request: its writer and its scan.
    session: Arc<AsyncMutex<Option<Session>>>,
    /// Interrupts the request that is inside, or waits to enter.
    interrupt: Mutex<CancellationToken>,
}

/// The permit to receive an upload, among the requests of this process. If it is dropped, the next request
/// enters without a cached session: the client disconnected, and the session would never release its
/// resources.
pub(crate) struct UploadGuard {
    pub(crate) session: SessionGuard,
    /// Cancelled when another request wants to enter.
    pub(crate) interrupted: CancellationToken,
    /// Must be dropped after the session: it checks whether that is free.
    _cleanup: RemoveIfUnused,
}

/// The session of an upload, which is dropped unless the request leaves it on purpose.
pub(crate) struct SessionGuard {
    session: OwnedMutexGuard<Option<Session>>,
    keeps_session: bool,
}

impl Deref for SessionGuard {
    type Target = Option<Session>;

    fn deref(&self) -> &Option<Session> {
        &self.session
    }
}

impl DerefMut for SessionGuard {
    fn deref_mut(&mut self) -> &mut Option<Session> {
        &mut self.session
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        if !self.keeps_session {
            *self.session = None;
        }
    }
}

/// Removes an unused slot from the map.
struct RemoveIfUnused {
    slots: Weak<Mutex<HashMap<MediaId, Arc<UploadLock>>>>,
    id: MediaId,
}

/// Why a request did not enter.
pub(crate) enum LockError {
    /// A newer request arrived.
    Interrupted,
    /// The current request did not leave in time.
    Busy,
}

impl UploadLocks {
    /// Interrupts the request that receives this upload, and waits until it has left.
    pub(crate) async fn acquire(&self, id: MediaId) -> Result<UploadGuard, LockError> {
        let slot = Arc::clone(lock(&self.0).entry(id).or_insert_with(|| {
            Arc::new(UploadLock { session: Arc::default(), interrupt: Mutex::new(CancellationToken::new()) })
        }));
        let cleanup = RemoveIfUnused { slots: Arc::downgrade(&self.0), id };
        let interrupted = CancellationToken::new();
        std::mem::replace(&mut *lock(&slot.interrupt), interrupted.clone()).cancel();
        let enter = timeout(LOCK_TIMEOUT, Arc::clone(&slot.session).lock_owned());
        let entered = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Err(LockError::Interrupted),
            entered = enter => entered,
        };
        drop(slot);
        let session = SessionGuard { session: entered.map_err(|_| LockError::Busy)?, keeps_session: false };
        Ok(UploadGuard { session, interrupted, _cleanup: cleanup })
    }

    /// Interrupts the request that receives this upload, without waiting for it.
    pub(crate) fn interrupt(&self, id: MediaId) {
        if let Some(slot) = lock(&self.0).get(&id) {
            lock(&slot.interrupt).cancel();
        }
    }

    /// Enters if no request is inside, without interrupting any.
    pub(crate) fn try_acquire(&self, id: MediaId) -> Option<OwnedMutexGuard<Option<Session>>> {
        let slot = Arc::clone(lock(&self.0).get(&id)?);
        Arc::clone(&slot.session).try_lock_owned().ok()
    }

    /// Whether a request of this process receives this upload now.
    pub(crate) fn is_receiving(&self, id: MediaId) -> bool {
        let slot = lock(&self.0).get(&id).map(Arc::clone);
        slot.is_some_and(|slot| slot.session.try_lock().is_err())
    }

    /// Removes the slot of an upload without a request and without a cached session.
    fn remove_if_unused(slots: &Mutex<HashMap<MediaId, Arc<UploadLock>>>, id: MediaId) {
        let mut slots = lock(slots);
        let is_free = slots.get(&id).is_some_and(|slot| {
            // The handle in the map is the only one, so no request can enter in the meantime.
            Arc::strong_count(slot) == 1
                && Arc::strong_count(&slot.session) == 1
                && slot.session.try_lock().is_ok_and(|session| session.is_none())
        });
        if is_free {
            slots.remove(&id);
        }
    }

    /// Called after the cached session of a slot was dropped.
    pub(crate) fn remove(&self, id: MediaId) {
        Self::remove_if_unused(&self.0, id);
    }
}

impl UploadGuard {
    /// Lets the next request enter, with the cached session.
    pub(crate) fn release(mut self) {
        self.session.keeps_session = true;
    }
}

impl Drop for RemoveIfUnused {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.upgrade() {
            UploadLocks::remove_if_unused(&slots, self.id);
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
    async fn newer_request_interrupts_and_acquires_lock() {
        let slots = UploadLocks::default();
        let Ok(first) = slots.acquire(id()).await else { panic!("nobody is inside") };
        assert!(!first.interrupted.is_cancelled() && slots.is_receiving(id()));
        let second = slots.acquire(id());
        let release_first = async {
            first.interrupted.cancelled().await;
            first.release();
        };
        let (second, ()) = tokio::join!(second, release_first);
        let Ok(second) = second else { panic!("the first has left") };
        assert!(!second.interrupted.is_cancelled());
        second.release();
        assert!(lock(&slots.0).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn lock_times_out_as_busy() {
        let slots = UploadLocks::default();
        let Ok(first) = slots.acquire(id()).await else { panic!("nobody is inside") };
        assert!(matches!(slots.acquire(id()).await, Err(LockError::Busy)));
        first.release();
        assert!(slots.acquire(id()).await.is_ok());
        assert!(lock(&slots.0).is_empty());
    }

    #[tokio::test]
    async fn only_newest_waiting_request_acquires_lock() {
        let slots = UploadLocks::default();
        let Ok(first) = slots.acquire(id()).await else { panic!("nobody is inside") };
        let release_first = async {
            first.interrupted.cancelled().await;
            first.release();
        };
        let (second, third, ()) =
            tokio::join!(biased; slots.acquire(id()), slots.acquire(id()), release_first);
        assert!(matches!(second, Err(LockError::Interrupted)));
        assert!(third.is_ok());
    }
}
