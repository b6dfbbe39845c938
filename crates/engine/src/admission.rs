//! Who may run now: at most one process a core, within a share of the memory, behind a short queue.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::EngineError;
use crate::memory;

/// Jobs that may wait for a free place. Whoever comes after them is told to come back.
const WAITING_MAX: usize = 64;

/// The part of the memory given to all children together; the rest is for the server and the page cache.
const MEMORY_SHARE: u64 = 2;

/// What is assumed where the system does not say how much memory there is.
const MEMORY_UNKNOWN_BYTES: u64 = 1 << 30;

/// Memory is counted in units of 1 MiB: a semaphore counts to a few hundred million at least.
const MEMORY_UNIT_BYTES: u64 = 1 << 20;

/// The places of one engine.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    queue: Arc<Semaphore>,
    cores: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_units: u32,
}

/// A place. It is given back when this is dropped: after the process is gone, not when its caller leaves.
#[derive(Debug)]
pub(crate) struct Permit {
    _queue: OwnedSemaphorePermit,
    _core: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

impl Admission {
    /// Places for `jobs_max` processes, or for as many as there are cores; both within what control groups allow.
    pub(crate) fn new(jobs_max: Option<NonZeroUsize>) -> Self {
        let jobs_max =
            jobs_max.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let jobs_max = jobs_max.min(Semaphore::MAX_PERMITS - WAITING_MAX);
        let memory = memory::available(Path::new("/")).unwrap_or(MEMORY_UNKNOWN_BYTES);
        Self::with(jobs_max, memory / MEMORY_SHARE)
    }

    fn with(jobs_max: usize, memory_bytes: u64) -> Self {
        let memory_units = units(memory_bytes);
        Self {
            queue: Arc::new(Semaphore::new(jobs_max + WAITING_MAX)),
            cores: Arc::new(Semaphore::new(jobs_max)),
            memory: Arc::new(Semaphore::new(memory_units as usize)),
            memory_units,
        }
    }

    /// Waits for a place for a process that may use `memory_bytes`, in the order of asking.
    ///
    /// A process that wants more than there is for all runs alone. Errors: [`EngineError::Busy`] when the queue is full.
    pub(crate) async fn enter(&self, memory_bytes: u64) -> Result<Permit, EngineError> {
        let queue = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| EngineError::Busy)?;
        let core = Arc::clone(&self.cores).acquire_owned().await.map_err(|_| EngineError::Busy)?;
        let memory = units(memory_bytes).min(self.memory_units);
        let memory =
            Arc::clone(&self.memory).acquire_many_owned(memory).await.map_err(|_| EngineError::Busy)?;
        Ok(Permit { _queue: queue, _core: core, _memory: memory })
    }
}

/// At least one, so that a tiny limit still runs one job at a time.
fn units(bytes: u64) -> u32 {
    u32::try_from(bytes / MEMORY_UNIT_BYTES).unwrap_or(u32::MAX / 8).clamp(1, u32::MAX / 8)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const GIB: u64 = 1 << 30;

    /// Whether `enter` would have to wait.
    fn waits(admission: &Admission, memory_bytes: u64) -> bool {
        let mut entering = pin!(admission.enter(memory_bytes));
        matches!(entering.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
    }

    #[tokio::test]
    async fn no_more_processes_run_than_there_are_cores() {
        let admission = Admission::with(2, 64 * GIB);
        let first = admission.enter(GIB).await.unwrap();
        let _second = admission.enter(GIB).await.unwrap();
        assert!(waits(&admission, GIB));
        drop(first);
        assert!(!waits(&admission, GIB));
    }

    #[tokio::test]
    async fn memory_bounds_the_number_of_processes_before_the_cores_do() {
        let admission = Admission::with(16, 2 * GIB);
        let _first = admission.enter(GIB).await.unwrap();
        let second = admission.enter(GIB).await.unwrap();
        assert!(waits(&admission, 1));
        drop(second);
        assert!(!waits(&admission, GIB));
    }

    #[tokio::test]
    async fn a_process_larger_than_the_share_runs_alone() {
        let admission = Admission::with(4, GIB);
        let large = admission.enter(8 * GIB).await.unwrap();
        assert!(waits(&admission, 1));
        drop(large);
        assert!(!waits(&admission, 8 * GIB));
        assert!(!waits(&Admission::with(4, 0), GIB));
    }

    #[tokio::test]
    async fn whoever_finds_the_queue_full_is_told_at_once() {
        let admission = Admission::with(1, GIB);
        let _running = admission.enter(1).await.unwrap();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Box::pin(admission.enter(1))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        assert!(matches!(admission.enter(1).await, Err(EngineError::Busy)));
        drop(waiting.pop());
        assert!(waits(&admission, 1));
    }
}
