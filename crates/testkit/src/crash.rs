//! A crash at the n-th write, counted over all writers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinora_blob::{FaultAction, Faults};

/// Counts the writes of one process and simulates a crash before one of them.
///
/// Objects and database share a plan, so `n` counts both in the real order of their writes. The object store
/// is connected by [`CrashPlan::blob_faults`]; all other writers call [`CrashPlan::dies_now`] first.
#[derive(Debug)]
pub struct CrashPlan {
    crash_at: Option<u64>,
    count: AtomicU64,
    is_paused: AtomicBool,
    crashed: AtomicBool,
    stores: Mutex<Vec<Arc<Faults>>>,
}

impl CrashPlan {
    /// A plan that crashes before the write with this number, from 0.
    pub fn at_write(n: u64) -> Arc<Self> {
        Self::new(Some(n))
    }

    /// A plan that only counts.
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

    /// Counts a write before it happens. `true`: this write must not happen, nor any later one.
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

    /// Counts a write and returns its number; `None` while counting is paused.
    pub fn count_write(&self) -> Option<u64> {
        let is_paused = self.is_paused.load(Ordering::SeqCst);
        (!is_paused).then(|| self.count.fetch_add(1, Ordering::SeqCst))
    }

    /// Pauses or resumes counting. A paused plan does not crash.
    pub fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::SeqCst);
    }

    /// Whether the crash has happened.
    pub fn has_crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    /// Number of writes so far, including the one that crashed.
    pub fn writes(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// The faults of an object store that crashes with this plan.
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
    async fn crash_outside_the_blob_stops_the_blob() {
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
    fn paused_crash_plan_counts_no_writes() {
        let plan = CrashPlan::at_write(1);
        assert!(!plan.dies_now());
        plan.pause(true);
        assert!(!plan.dies_now());
        plan.pause(false);
        assert!(plan.dies_now());
        assert_eq!(plan.writes(), 2);
    }

    #[tokio::test]
    async fn plan_without_a_crash_only_counts_writes() {
        let folder = tempfile::tempdir().unwrap();
        let plan = CrashPlan::never();
        let blob = Blob::open_folder(folder.path()).await.unwrap().with_faults(plan.blob_faults());
        blob.put_once(ObjectKey::DemoClip, "bytes".into()).await.unwrap();
        blob.delete(ObjectKey::DemoClip).await.unwrap();
        assert_eq!((plan.writes(), plan.has_crashed()), (2, false));
    }
}
