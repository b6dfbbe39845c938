//! A crash at the n-th write, counted over everything that writes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinora_blob::{FaultAction, Faults};

/// Counts the writes of one process and lets it die before one of them.
///
/// Objects and database share a plan, so `n` runs over both in the order in which they really write. The
/// object store is wired by [`CrashPlan::blob_faults`]; whatever else writes asks [`CrashPlan::dies_now`]
/// first.
#[derive(Debug)]
pub struct CrashPlan {
    crash_at: Option<u64>,
    count: AtomicU64,
    is_paused: AtomicBool,
    crashed: AtomicBool,
    stores: Mutex<Vec<Arc<Faults>>>,
}

impl CrashPlan {
    /// Dies before the write with this number; the first is 0.
    pub fn at_write(n: u64) -> Arc<Self> {
        Self::new(Some(n))
    }

    /// Only counts.
    pub fn never() -> Arc<Self> {
        Self::new(None)
    }

    fn new(crash_at: Option<u64>) -> Arc<Self> {
        Arc::new(Self {
            crash_at,
            count: AtomicU64::new(0),
            is_paused: AtomicBool::new(false),
            crashed: AtomicBool::new(false),
            stores: Mutex::default(),
        })
    }

    /// Counts a write that is about to happen. `true`: it must not, and nothing after it either.
    pub fn dies_now(&self) -> bool {
        if self.has_crashed() {
            return true;
        }
        let n = self.count_write();
        if n.is_some() && self.crash_at == n {
            self.crashed.store(true, Ordering::SeqCst);
            for store in self.stores.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                store.stop();
            }
        }
        self.has_crashed()
    }

    /// Counts a write and answers its number; `None`: writes are not counted just now.
    pub fn count_write(&self) -> Option<u64> {
        let is_paused = self.is_paused.load(Ordering::SeqCst);
        (!is_paused).then(|| self.count.fetch_add(1, Ordering::SeqCst))
    }

    /// Counts no write, and dies at none, until it is told to count again.
    pub fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::SeqCst);
    }

    /// Whether the crash has happened.
    pub fn has_crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    /// Writes counted so far, with the one that crashed.
    pub fn writes(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The faults for an object store that lives and dies with this plan.
    pub fn blob_faults(self: &Arc<Self>) -> Arc<Faults> {
        let plan = Arc::clone(self);
        let faults =
            Arc::new(Faults::new(
                move |_| {
                    if plan.dies_now() { FaultAction::Stop } else { FaultAction::Proceed }
                },
            ));
        if self.has_crashed() {
            faults.stop();
        }
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&faults));
        faults
    }
}

#[cfg(test)]
mod tests {
    use kinora_blob::{Blob, Error, ObjectKey};

    use super::*;

    #[tokio::test]
    async fn a_crash_elsewhere_stops_the_objects_too() {
        let folder = tempfile::tempdir().unwrap();
        let plan = CrashPlan::at_write(2);
        let blob = Blob::open_folder(folder.path()).await.unwrap().with_faults(plan.blob_faults());

        assert!(!plan.dies_now());
        blob.put_once(ObjectKey::DemoClip, "bytes".into()).await.unwrap();
        assert!(!plan.has_crashed());
        assert!(plan.dies_now());
        assert!(plan.dies_now());
        assert!(matches!(blob.get(ObjectKey::DemoClip).await, Err(Error::Stopped)));
        assert_eq!(plan.writes(), 3);
    }

    #[test]
    fn what_happens_in_a_pause_does_not_count() {
        let plan = CrashPlan::at_write(1);
        assert!(!plan.dies_now());
        plan.pause(true);
        assert!(!plan.dies_now());
        plan.pause(false);
        assert!(plan.dies_now());
        assert_eq!(plan.writes(), 2);
    }

    #[tokio::test]
    async fn a_plan_without_a_crash_only_counts() {
        let folder = tempfile::tempdir().unwrap();
        let plan = CrashPlan::never();
        let blob = Blob::open_folder(folder.path()).await.unwrap().with_faults(plan.blob_faults());
        blob.put_once(ObjectKey::DemoClip, "bytes".into()).await.unwrap();
        blob.delete(ObjectKey::DemoClip).await.unwrap();
        assert_eq!((plan.writes(), plan.has_crashed()), (2, false));
    }
}
