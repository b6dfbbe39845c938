//! Locks of uploads in this process: one request per upload at a time, and the newest one takes precedence.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kinora_domain::MediaId;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::session::Session;

/// Timeout of a request that waits for the one before to release the lock. That one first stores its bytes,
/// which takes a sync or the upload of a part.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The uploads that are being received, or were until a short time ago.
#[derive(Default)]
pub(crate) struct UploadLocks(Arc<Mutex<HashMap<MediaId, Arc<UploadLock>>>>);

pub(crate) struct UploadLock {
    /// The session of the last request: its writer and its scan.
    session: Arc<AsyncMutex<Option<Session>>>,
    /// Interrupts the request that has the lock or waits for it.
    interrupt: Mutex<CancellationToken>,
}

/// The permit to receive an upload, among the requests of this process. If it is dropped, the next request
/// gets no cached session: the client disconnected, and the session would never release its resources.
pub(crate) struct UploadGuard {
    pub(crate) session: SessionGuard,
    /// Cancelled when another request wants the lock.
    pub(crate) interrupted: CancellationToken,
    /// Must be dropped after the session: it checks whether that is free.
    _cleanup: RemoveIfUnused,
}

/// The session of an upload, which is dropped unless [`UploadGuard::release`] leaves it to the next request.
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

/// Removes an unused lock from the map.
struct RemoveIfUnused {
    locks: Weak<Mutex<HashMap<MediaId, Arc<UploadLock>>>>,
    id: MediaId,
}

/// Why a request did not get the lock.
pub(crate) enum LockError {
    /// A newer request arrived.
    Interrupted,
    /// The current request did not release the lock in time.
    Busy,
}

impl UploadLocks {
    /// Interrupts the request that receives this upload, and waits for its lock.
    pub(crate) async fn acquire(&self, id: MediaId) -> Result<UploadGuard, LockError> {
        let upload_lock = Arc::clone(lock(&self.0).entry(id).or_insert_with(|| {
            Arc::new(UploadLock { session: Arc::default(), interrupt: Mutex::new(CancellationToken::new()) })
        }));
        let cleanup = RemoveIfUnused { locks: Arc::downgrade(&self.0), id };
        let interrupted = CancellationToken::new();
        std::mem::replace(&mut *lock(&upload_lock.interrupt), interrupted.clone()).cancel();
        let enter = timeout(LOCK_TIMEOUT, Arc::clone(&upload_lock.session).lock_owned());
        let entered = tokio::select! {
            biased;
            () = interrupted.cancelled() => return Err(LockError::Interrupted),
            entered = enter => entered,
        };
        drop(upload_lock);
        let session = SessionGuard { session: entered.map_err(|_| LockError::Busy)?, keeps_session: false };
        Ok(UploadGuard { session, interrupted, _cleanup: cleanup })
    }

    /// Interrupts the request that receives this upload, without waiting for it.
    pub(crate) fn interrupt(&self, id: MediaId) {
        if let Some(upload_lock) = lock(&self.0).get(&id) {
            lock(&upload_lock.interrupt).cancel();
        }
    }

    /// Acquires the lock if no request has it, without interrupting any.
    pub(crate) fn try_acquire(&self, id: MediaId) -> Option<OwnedMutexGuard<Option<Session>>> {
        let upload_lock = Arc::clone(lock(&self.0).get(&id)?);
        Arc::clone(&upload_lock.session).try_lock_owned().ok()
    }

    /// Whether a request of this process receives this upload now.
    pub(crate) fn is_receiving(&self, id: MediaId) -> bool {
        let upload_lock = lock(&self.0).get(&id).map(Arc::clone);
        upload_lock.is_some_and(|slot| slot.session.try_lock().is_err())
    }

    /// Removes the lock of an upload without a request and without a cached session.
    fn remove_if_unused(locks: &Mutex<HashMap<MediaId, Arc<UploadLock>>>, id: MediaId) {
        let mut slots = lock(locks);
        let is_free = slots.get(&id).is_some_and(|upload_lock| {
            // The handle in the map is the only one, so no request can acquire the lock in the meantime.
            Arc::strong_count(upload_lock) == 1
                && Arc::strong_count(&upload_lock.session) == 1
                && upload_lock.session.try_lock().is_ok_and(|session| session.is_none())
        });
        if is_free {
            slots.remove(&id);
        }
    }

    /// Called after the cached session of an upload was dropped.
    pub(crate) fn remove(&self, id: MediaId) {
        Self::remove_if_unused(&self.0, id);
    }
}

impl UploadGuard {
    /// Releases the lock, and leaves the session to the next request.
    pub(crate) fn release(mut self) {
        self.session.keeps_session = true;
    }
}

impl Drop for RemoveIfUnused {
    fn drop(&mut self) {
        if let Some(locks) = self.locks.upgrade() {
            UploadLocks::remove_if_unused(&locks, self.id);
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
        let Ok(first) = slots.acquire(id()).await else { panic!("no request holds it") };
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
        let Ok(first) = slots.acquire(id()).await else { panic!("no request holds it") };
        assert!(matches!(slots.acquire(id()).await, Err(LockError::Busy)));
        first.release();
        assert!(slots.acquire(id()).await.is_ok());
        assert!(lock(&slots.0).is_empty());
    }

    #[tokio::test]
    async fn only_newest_waiting_request_acquires_lock() {
        let slots = UploadLocks::default();
        let Ok(first) = slots.acquire(id()).await else { panic!("no request holds it") };
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
