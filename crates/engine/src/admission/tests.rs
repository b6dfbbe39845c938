//! Who gets a place, who waits, who gives way.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::priority::Priority::{Background, Prefetch, Prepare, Viewer};

const GIB: u64 = 1 << 30;

/// Whether a viewer would have to wait.
fn waits(admission: &Admission, memory_bytes: u64) -> bool {
    let mut entering = pin!(admission.enter(Viewer, memory_bytes));
    matches!(entering.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending)
}

/// A process that counts how often it is stopped now: 0 or 1.
#[derive(Debug, Default)]
struct Process(AtomicI32);

impl Brake for Process {
    fn pause(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn resume(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Somebody who asked, and perhaps has a place.
struct Asked {
    permit: Permit,
    admitted: oneshot::Receiver<()>,
    process: Arc<Process>,
}

impl Asked {
    fn new(admission: &Admission, priority: Priority, memory_bytes: u64) -> Self {
        let (permit, admitted) = admission.ask(priority, memory_bytes).unwrap();
        let process = Arc::new(Process::default());
        permit.attach(process.clone());
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
async fn no_more_processes_run_than_there_are_cores() {
    let admission = Admission::with(2, 64 * GIB);
    let first = admission.enter(Viewer, GIB).await.unwrap();
    let _second = admission.enter(Viewer, GIB).await.unwrap();
    assert!(waits(&admission, GIB));
    drop(first);
    assert!(!waits(&admission, GIB));
}

#[tokio::test]
async fn memory_bounds_the_number_of_processes_before_the_cores_do() {
    let admission = Admission::with(16, 2 * GIB);
    let _first = admission.enter(Viewer, GIB).await.unwrap();
    let second = admission.enter(Viewer, GIB).await.unwrap();
    assert!(waits(&admission, 1));
    drop(second);
    assert!(!waits(&admission, GIB));
}

#[tokio::test]
async fn a_process_larger_than_the_share_runs_alone() {
    let admission = Admission::with(4, GIB);
    let large = admission.enter(Viewer, 8 * GIB).await.unwrap();
    assert!(waits(&admission, 1));
    drop(large);
    assert!(!waits(&admission, 8 * GIB));
    assert!(!waits(&Admission::with(4, 0), GIB));
}

#[tokio::test]
async fn whoever_finds_the_queue_of_his_priority_full_is_told_at_once() {
    let admission = Admission::with(1, GIB);
    let _running = admission.enter(Viewer, 1).await.unwrap();
    let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| Asked::new(&admission, Background, 1)).collect();
    assert!(matches!(admission.enter(Background, 1).await, Err(EngineError::Busy)));
    assert!(waits(&admission, 1));
    drop(waiting.pop());
    Asked::new(&admission, Background, 1).leave();
}

#[test]
fn the_most_urgent_gets_the_next_place_and_then_the_first() {
    let admission = Admission::with(1, GIB);
    let mut running = Asked::new(&admission, Viewer, 1);
    let asked = [Background, Prepare, Prefetch, Viewer, Background, Viewer, Prefetch];
    let mut waiting: Vec<_> = asked.iter().map(|priority| Asked::new(&admission, *priority, 1)).collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        running.leave();
        let next = waiting.iter_mut().position(Asked::is_admitted).unwrap();
        running = waiting.remove(next);
        order.push(running.permit.key.0);
        assert!(!waiting.iter_mut().any(Asked::is_admitted), "one at a time");
    }
    assert_eq!(order, [Viewer, Viewer, Prefetch, Prefetch, Prepare, Background, Background]);
}

#[test]
fn whoever_leaves_the_queue_is_in_nobodys_way() {
    let admission = Admission::with(1, GIB);
    let running = Asked::new(&admission, Viewer, 1);
    let left = Asked::new(&admission, Viewer, 1);
    let mut next = Asked::new(&admission, Background, 1);
    left.leave();
    assert!(!next.is_admitted());
    running.leave();
    assert!(next.is_admitted());
}

#[test]
fn the_background_gets_half_of_the_cores_and_at_least_one() {
    for (cores, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (9, 4)] {
        let admission = Admission::with(cores, 64 * GIB);
        let mut asked: Vec<_> = (0..cores).map(|_| Asked::new(&admission, Background, 1)).collect();
        assert_eq!(asked.iter_mut().filter_map(|one| one.is_admitted().then_some(())).count(), expected);
        let expected = Load { places: cores, running: 0, waiting: 0, background: expected };
        assert_eq!(admission.load(), expected);
    }
}

#[test]
fn the_background_gives_way_and_goes_on_afterwards() {
    let admission = Admission::with(1, GIB);
    let mut background = Asked::new(&admission, Background, 1);
    assert!(background.is_admitted());
    for priority in [Viewer, Prefetch, Prepare] {
        let mut urgent = Asked::new(&admission, priority, 1);
        assert!(urgent.is_admitted() && background.is_paused(), "{priority:?}");
        let mut second = Asked::new(&admission, priority, 1);
        assert!(!second.is_admitted());
        // Checks of new sources are no load of viewers, however many wait.
        let waiting = usize::from(priority != Prepare);
        let expected = Load { places: 1, running: 1, waiting, background: 0 };
        assert_eq!(admission.load(), expected);
        assert!(admission.load().is_full());
        urgent.leave();
        assert!(second.is_admitted() && background.is_paused());
        second.leave();
        assert!(!background.is_paused());
    }
    assert_eq!(admission.load(), Load { places: 1, running: 0, waiting: 0, background: 1 });
    assert!(!admission.load().is_full());
}

#[test]
fn only_as_many_give_way_as_are_in_the_way_the_youngest_first() {
    let admission = Admission::with(4, 64 * GIB);
    let [old, young] = [(); 2].map(|()| Asked::new(&admission, Background, 1));
    let [_first, _second] = [(); 2].map(|()| Asked::new(&admission, Viewer, 1));
    assert!(!old.is_paused() && !young.is_paused());
    let third = Asked::new(&admission, Viewer, 1);
    assert!(!old.is_paused() && young.is_paused());
    let fourth = Asked::new(&admission, Viewer, 1);
    assert!(old.is_paused() && young.is_paused());
    assert!(waits(&admission, 1), "nobody is left to give way");
    third.leave();
    assert!(!old.is_paused() && young.is_paused());
    fourth.leave();
    assert!(!old.is_paused() && !young.is_paused());
}

#[test]
fn the_background_gives_way_where_memory_is_short_but_not_in_vain() {
    let admission = Admission::with(8, 4 * GIB);
    let background = Asked::new(&admission, Background, 2 * GIB);
    let mut too_much = Asked::new(&admission, Background, 1);
    assert!(!too_much.is_admitted(), "half of the memory is taken");
    let mut first = Asked::new(&admission, Viewer, 2 * GIB);
    assert!(first.is_admitted() && !background.is_paused());
    let mut second = Asked::new(&admission, Viewer, 2 * GIB);
    assert!(second.is_admitted() && background.is_paused());
    let mut third = Asked::new(&admission, Viewer, GIB);
    assert!(!third.is_admitted());
    first.leave();
    assert!(third.is_admitted() && background.is_paused(), "3 GiB and its own 2 are too much");
    third.leave();
    assert!(!background.is_paused());
    let huge = Asked::new(&admission, Viewer, 4 * GIB);
    assert!(!background.is_paused(), "it would have to wait all the same");
    drop((huge, second));
}

#[test]
fn a_process_that_starts_after_its_place_was_taken_is_stopped_at_once() {
    let admission = Admission::with(1, GIB);
    let (permit, mut admitted) = admission.ask(Background, 1).unwrap();
    assert!(admitted.try_recv().is_ok());
    let urgent = Asked::new(&admission, Viewer, 1);
    let process = Arc::new(Process::default());
    permit.attach(process.clone());
    assert_eq!(process.0.load(Ordering::Relaxed), 1);
    urgent.leave();
    assert_eq!(process.0.load(Ordering::Relaxed), 0);
}

#[test]
fn a_paused_process_that_ends_frees_nothing_twice() {
    let admission = Admission::with(1, GIB);
    let background = Asked::new(&admission, Background, 1);
    let urgent = Asked::new(&admission, Viewer, 1);
    background.leave();
    assert!(waits(&admission, 1));
    urgent.leave();
    assert_eq!(admission.load(), Load { places: 1, running: 0, waiting: 0, background: 0 });
}
