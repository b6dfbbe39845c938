//! What this process counts: in memory, added to the rows now and then.
//!
//! Whoever counts waits for nobody: each thread has a part of the memory nearly for itself.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use kinora_domain::{Day, Timestamp, WorkspaceId};

use super::Used;
use crate::WorkerId;

/// Parts of the memory. More than the threads that answer requests on most machines; where there are more,
/// some share one.
const SHARDS: usize = 32;
/// Workspaces, times days, that one part counts apart, of some 100 bytes each. More than that come together
/// only while the database is away.
const COUNTED_MAX: usize = 10_000;

/// What was counted and is not written yet.
pub(crate) struct Meter {
    shards: [Mutex<HashMap<(WorkspaceId, Day), Used>>; SHARDS],
    /// Something was not counted for want of room.
    is_full: AtomicBool,
    pub(super) writer: WorkerId,
    pub(super) writing: tokio::sync::Mutex<Queue>,
}

/// What is being written, batch by batch. As long as the first batch is not known to be written it stays as
/// it is, and so does its number.
#[derive(Default)]
pub(super) struct Queue {
    /// Of the first batch; counts up from 1.
    pub(super) number: i64,
    /// What is left, in the order of workspaces and days, so that processes that write at once never wait for
    /// each other in a circle. Nothing is added before all of it is written, so a batch has the same rows at
    /// every try.
    pub(super) used: VecDeque<(WorkspaceId, Day, Used)>,
    /// The sum of what is in the rows and was not told of yet.
    pub(super) written: Used,
}

impl Meter {
    /// `writer` is another one for each life of a process.
    pub(crate) fn new(writer: WorkerId) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            is_full: AtomicBool::new(false),
            writer,
            writing: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn count(&self, workspace: WorkspaceId, now: Timestamp, used: Used) {
        let mut counted = self.shards[shard_of_thread()].lock().unwrap_or_else(PoisonError::into_inner);
        let key = (workspace, Day::of(now));
        if let Some(sum) = counted.get_mut(&key) {
            sum.add(used);
        } else if counted.len() < COUNTED_MAX {
            counted.insert(key, used);
        } else {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }

    /// All that was counted since the last time.
    pub(super) fn take(&self) -> Vec<(WorkspaceId, Day, Used)> {
        if self.is_full.swap(false, Ordering::Relaxed) {
            tracing::warn!("some usage was not counted: the database has been away for too long");
        }
        let mut sums = HashMap::<_, Used>::new();
        for shard in &self.shards {
            let counted = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            for (key, used) in counted {
                sums.entry(key).or_default().add(used);
            }
        }
        let mut sums: Vec<_> =
            sums.into_iter().map(|((workspace, day), used)| (workspace, day, used)).collect();
        sums.sort_by_key(|(workspace, day, _)| (*workspace, *day));
        sums
    }
}

/// Which part this thread counts in.
fn shard_of_thread() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS);
    }
    SHARD.get()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn workspace(n: u128) -> WorkspaceId {
        WorkspaceId::from_uuid(Uuid::from_u128(n))
    }

    fn bytes(delivered_bytes: u64) -> Used {
        Used { delivered_bytes, ..Used::default() }
    }

    fn meter() -> Meter {
        struct Zero;
        impl kinora_domain::Random for Zero {
            fn fill(&self, _: &mut [u8]) {}
        }
        Meter::new(WorkerId::new(&Zero))
    }

    #[test]
    fn what_threads_count_comes_together_once_by_workspace_and_day() {
        let (meter, noon) = (meter(), Timestamp::from_micros(12 * 3600 * Timestamp::SECOND));
        let (today, tomorrow) = (Day::of(noon), Day::of(noon).next().unwrap());
        std::thread::scope(|scope| {
            for _ in 0..2 * SHARDS {
                scope.spawn(|| {
                    meter.count(workspace(2), noon, bytes(3));
                    meter.count(workspace(1), tomorrow.start(), bytes(1));
                    meter.count(workspace(1), tomorrow.start().plus_micros(-1), bytes(2));
                    let rest = Used { encoded_us: 5, delivered_us: 7, delivered_bytes: 0 };
                    meter.count(workspace(1), noon, rest);
                });
            }
        });
        let times = 2 * SHARDS as u64;
        assert_eq!(
            meter.take(),
            [
                (
                    workspace(1),
                    today,
                    Used { encoded_us: 5 * times, delivered_us: 7 * times, delivered_bytes: 2 * times }
                ),
                (workspace(1), tomorrow, bytes(times)),
                (workspace(2), today, bytes(3 * times)),
            ]
        );
        assert_eq!(meter.take(), []);
    }

    #[test]
    fn memory_is_bounded_and_what_is_known_goes_on() {
        let (meter, now) = (meter(), Timestamp::from_micros(0));
        for n in 0..=COUNTED_MAX as u128 {
            meter.count(workspace(n), now, bytes(1));
        }
        meter.count(workspace(0), now, bytes(1));
        let taken = meter.take();
        assert_eq!(taken.len(), COUNTED_MAX);
        assert_eq!(taken.first().unwrap().2, bytes(2));
        meter.count(workspace(COUNTED_MAX as u128), now, bytes(1));
        assert_eq!(meter.take().len(), 1, "there is room again");
    }
}
