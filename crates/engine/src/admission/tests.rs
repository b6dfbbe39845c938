//! Tests which jobs are admitted, wait, or are preempted.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::priority::Priority::{Background, Prefetch, Prepare, Viewer};

const GIB: u64 = 1 << 30;

/// Whether a viewer would have to wait.
fn waits(admission: &Admission, memory_bytes: u64) -> bool {
    let mut pending = pin!(admission.acquire(Viewer, memory_bytes));
    matches!(pending.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// A process that counts how often it is stopped: 0 or 1.
#[derive(Debug, Default)]
struct Process(AtomicI32);

impl PauseControl for Process {
    fn pause(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn resume(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A job that requested a permit, and may have it.
struct PendingJob {
    permit: Permit,
    admitted: oneshot::Receiver<()>,
    process: Arc<Process>,
}

impl PendingJob {
    fn new(admission: &Admission, priority: Priority, memory_bytes: u64) -> Self {
        let (permit, admitted) = admission.enqueue(priority, memory_bytes).unwrap();
        let process = Arc::new(Process::default());
        permit.set_pause_control(process.clone());
        Self { permit, admitted, process }
    }

    fn is_admitted(&mut self) -> bool {
        self.admitted.try_recv() != Err(oneshot::error::TryRecvError::Empty)
    }

    fn is_paused(&self) -> bool {
        self.process.0.load(Ordering::Relaxed) == 1
    }

    fn leave(self) {
        drop(self.permit);
    }
}

#[tokio::test]
async fn running_processes_are_limited_to_the_core_count() {
    let admission = Admission::with_limits(2, 64 * GIB);
    let first = admission.acquire(Viewer, GIB).await.unwrap();
    let _second = admission.acquire(Viewer, GIB).await.unwrap();
    assert!(waits(&admission, GIB));
    drop(first);
    assert!(!waits(&admission, GIB));
}

#[tokio::test]
async fn memory_limit_applies_before_the_core_count() {
    let admission = Admission::with_limits(16, 2 * GIB);
    let _first = admission.acquire(Viewer, GIB).await.unwrap();
    let second = admission.acquire(Viewer, GIB).await.unwrap();
    assert!(waits(&admission, 1));
    drop(second);
    assert!(!waits(&admission, GIB));
}

#[tokio::test]
async fn process_larger_than_the_memory_limit_runs_alone() {
    let admission = Admission::with_limits(4, GIB);
    let large = admission.acquire(Viewer, 8 * GIB).await.unwrap();
    assert!(waits(&admission, 1));
    drop(large);
    assert!(!waits(&admission, 8 * GIB));
    assert!(!waits(&Admission::with_limits(4, 0), GIB));
}

#[tokio::test]
async fn full_priority_queue_is_busy() {
    let admission = Admission::with_limits(1, GIB);
    let _running = admission.acquire(Viewer, 1).await.unwrap();
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| PendingJob::new(&admission, Background, 1)).collect();
    assert!(matches!(admission.acquire(Background, 1).await, Err(EngineError::Busy)));
    assert!(waits(&admission, 1));
    drop(waiting.pop());
    PendingJob::new(&admission, Background, 1).leave();
}

#[test]
fn admission_orders_by_priority_then_arrival() {
    let admission = Admission::with_limits(1, GIB);
    let mut running = PendingJob::new(&admission, Viewer, 1);
    let priorities = [Background, Prepare, Prefetch, Viewer, Background, Viewer, Prefetch];
    let mut waiting: Vec<_> =
        priorities.iter().map(|priority| PendingJob::new(&admission, *priority, 1)).collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        running.leave();
        let next = waiting.iter_mut().position(PendingJob::is_admitted).unwrap();
        running = waiting.remove(next);
        order.push(running.permit.key.0);
        assert!(!waiting.iter_mut().any(PendingJob::is_admitted), "one at a time");
    }
    assert_eq!(order, [Viewer, Viewer, Prefetch, Prefetch, Prepare, Background, Background]);
}

#[test]
fn cancelled_wait_leaves_the_queue() {
    let admission = Admission::with_limits(1, GIB);
    let running = PendingJob::new(&admission, Viewer, 1);
    let left = PendingJob::new(&admission, Viewer, 1);
    let mut next = PendingJob::new(&admission, Background, 1);
    left.leave();
    assert!(!next.is_admitted());
    running.leave();
    assert!(next.is_admitted());
}

#[test]
fn background_gets_half_the_cores_and_at_least_one() {
    for (cores, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (9, 4)] {
        let admission = Admission::with_limits(cores, 64 * GIB);
        let mut pending_jobs: Vec<_> =
            (0..cores).map(|_| PendingJob::new(&admission, Background, 1)).collect();
        assert_eq!(
            pending_jobs.iter_mut().filter_map(|one| one.is_admitted().then_some(())).count(),
            expected
        );
        let expected = Load { slots: cores, running: 0, waiting: 0, background: expected };
        assert_eq!(admission.load(), expected);
    }
}

#[test]
fn background_run_is_paused_and_resumed() {
    let admission = Admission::with_limits(1, GIB);
    let mut background = PendingJob::new(&admission, Background, 1);
    assert!(background.is_admitted());
    for priority in [Viewer, Prefetch, Prepare] {
        let mut urgent = PendingJob::new(&admission, priority, 1);
        assert!(urgent.is_admitted() && background.is_paused(), "{priority:?}");
        let mut second = PendingJob::new(&admission, priority, 1);
        assert!(!second.is_admitted());
        // Checks of new sources are not load of viewers, however many wait.
        let waiting = usize::from(priority != Prepare);
        let expected = Load { slots: 1, running: 1, waiting, background: 0 };
        assert_eq!(admission.load(), expected);
        assert!(admission.load().is_full());
        urgent.leave();
        assert!(second.is_admitted() && background.is_paused());
        second.leave();
        assert!(!background.is_paused());
    }
    assert_eq!(admission.load(), Load { slots: 1, running: 0, waiting: 0, background: 1 });
    assert!(!admission.load().is_full());
}

#[test]
fn fewest_youngest_background_runs_are_paused() {
    let admission = Admission::with_limits(4, 64 * GIB);
    let [old, young] = [(); 2].map(|()| PendingJob::new(&admission, Background, 1));
    let [_first, _second] = [(); 2].map(|()| PendingJob::new(&admission, Viewer, 1));
    assert!(!old.is_paused() && !young.is_paused());
    let third = PendingJob::new(&admission, Viewer, 1);
    assert!(!old.is_paused() && young.is_paused());
    let fourth = PendingJob::new(&admission, Viewer, 1);
    assert!(old.is_paused() && young.is_paused());
    assert!(waits(&admission, 1), "no other client is left to yield");
    third.leave();
    assert!(!old.is_paused() && young.is_paused());
    fourth.leave();
    assert!(!old.is_paused() && !young.is_paused());
}

#[test]
fn background_is_paused_only_if_memory_then_suffices() {
    let admission = Admission::with_limits(8, 4 * GIB);
    let background = PendingJob::new(&admission, Background, 2 * GIB);
    let mut too_much = PendingJob::new(&admission, Background, 1);
    assert!(!too_much.is_admitted(), "half of the memory is taken");
    let mut first = PendingJob::new(&admission, Viewer, 2 * GIB);
    assert!(first.is_admitted() && !background.is_paused());
    let mut second = PendingJob::new(&admission, Viewer, 2 * GIB);
    assert!(second.is_admitted() && background.is_paused());
    let mut third = PendingJob::new(&admission, Viewer, GIB);
    assert!(!third.is_admitted());
    first.leave();
    assert!(third.is_admitted() && background.is_paused(), "3 GiB and its own 2 are too much");
    third.leave();
    assert!(!background.is_paused());
    let huge = PendingJob::new(&admission, Viewer, 4 * GIB);
    assert!(!background.is_paused(), "it would have to wait all the same");
    drop((huge, second));
}

#[test]
fn process_started_after_pause_is_stopped() {
    let admission = Admission::with_limits(1, GIB);
    let (permit, mut admitted) = admission.enqueue(Background, 1).unwrap();
    assert!(admitted.try_recv().is_ok());
    let urgent = PendingJob::new(&admission, Viewer, 1);
    let process = Arc::new(Process::default());
    permit.set_pause_control(process.clone());
    assert_eq!(process.0.load(Ordering::Relaxed), 1);
    urgent.leave();
    assert_eq!(process.0.load(Ordering::Relaxed), 0);
}

#[test]
fn paused_process_frees_its_slot_once() {
    let admission = Admission::with_limits(1, GIB);
    let background = PendingJob::new(&admission, Background, 1);
    let urgent = PendingJob::new(&admission, Viewer, 1);
    background.leave();
    assert!(waits(&admission, 1));
    urgent.leave();
    assert_eq!(admission.load(), Load { slots: 1, running: 0, waiting: 0, background: 0 });
}
