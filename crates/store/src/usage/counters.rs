//! The usage counters of this process: in memory, added to the rows periodically.
//!
//! Counting does not block: each thread mostly has a shard for itself.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use kinora_domain::{Day, Timestamp, WorkspaceId};

use super::UsageCounts;
use crate::WorkerId;

/// The shards. More than the threads that serve requests on most machines; where there are more, some share
/// one.
const SHARDS: usize = 32;
/// The most workspaces, times days, of one shard, of some 100 bytes each. Reached only while the database
/// is unreachable.
const COUNTED_MAX: usize = 10_000;

/// Counts that are not written yet.
pub(crate) struct UsageCounters {
    shards: [Mutex<HashMap<(WorkspaceId, Day), UsageCounts>>; SHARDS],
    /// Whether a count was dropped since the last [`UsageCounters::drain`], because its shard was full.
    has_dropped_counts: AtomicBool,
    pub(super) writer: WorkerId,
    pub(super) queue: tokio::sync::Mutex<Queue>,
}

/// The counts being written, batch by batch. The first batch and its number stay the same until its write
/// is confirmed.
#[derive(Default)]
pub(super) struct Queue {
    /// The number of the first batch; starts at 1.
    pub(super) number: i64,
    /// The remaining counts, ordered by workspace and day, so that concurrent processes cannot deadlock.
    /// New counts are added only after all of them are written, so a batch has the same rows at every try.
    pub(super) remaining: VecDeque<(WorkspaceId, Day, UsageCounts)>,
    /// The sum of written counts that was not returned yet.
    pub(super) written: UsageCounts,
}

impl UsageCounters {
    /// `writer` is a new id for each start of a process.
    pub(crate) fn new(writer: WorkerId) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            has_dropped_counts: AtomicBool::new(false),
            writer,
            queue: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn count(&self, workspace: WorkspaceId, now: Timestamp, used: UsageCounts) {
        let mut counted = self.shards[shard_of_thread()].lock().unwrap_or_else(PoisonError::into_inner);
        let key = (workspace, Day::of(now));
        if let Some(sum) = counted.get_mut(&key) {
            sum.add(used);
        } else if counted.len() < COUNTED_MAX {
            counted.insert(key, used);
        } else {
            self.has_dropped_counts.store(true, Ordering::Relaxed);
        }
    }

    /// Removes and returns all counts.
    pub(super) fn drain(&self) -> Vec<(WorkspaceId, Day, UsageCounts)> {
        if self.has_dropped_counts.swap(false, Ordering::Relaxed) {
            tracing::warn!("some usage was not counted: the database did not respond for too long");
        }
        let mut sums = HashMap::<_, UsageCounts>::new();
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

/// The shard of this thread.
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

    fn bytes(delivered_bytes: u64) -> UsageCounts {
        UsageCounts { delivered_bytes, ..UsageCounts::default() }
    }

    fn counters() -> UsageCounters {
        struct Zero;
        impl kinora_domain::Random for Zero {
            fn fill(&self, _: &mut [u8]) {}
        }
        UsageCounters::new(WorkerId::new(&Zero))
    }

    #[test]
    fn thread_counters_merge_by_workspace_and_day() {
        let (counters, noon) = (counters(), Timestamp::from_micros(12 * 3600 * Timestamp::SECOND));
        let (today, tomorrow) = (Day::of(noon), Day::of(noon).next().unwrap());
        std::thread::scope(|scope| {
            for _ in 0..2 * SHARDS {
                scope.spawn(|| {
                    counters.count(workspace(2), noon, bytes(3));
                    counters.count(workspace(1), tomorrow.start(), bytes(1));
                    counters.count(workspace(1), tomorrow.start().plus_micros(-1), bytes(2));
                    let rest = UsageCounts { encoded_us: 5, delivered_us: 7, delivered_bytes: 0 };
                    counters.count(workspace(1), noon, rest);
                });
            }
        });
        let times = 2 * SHARDS as u64;
        assert_eq!(
            counters.drain(),
            [
                (
                    workspace(1),
                    today,
                    UsageCounts {
                        encoded_us: 5 * times,
                        delivered_us: 7 * times,
                        delivered_bytes: 2 * times
                    }
                ),
                (workspace(1), tomorrow, bytes(times)),
                (workspace(2), today, bytes(3 * times)),
            ]
        );
        assert_eq!(counters.drain(), []);
    }

    #[test]
    fn full_counters_still_count_known_workspaces() {
        let (counters, now) = (counters(), Timestamp::from_micros(0));
        for n in 0..=COUNTED_MAX as u128 {
            counters.count(workspace(n), now, bytes(1));
        }
        counters.count(workspace(0), now, bytes(1));
        let counts = counters.drain();
        assert_eq!(counts.len(), COUNTED_MAX);
        assert_eq!(counts.first().unwrap().2, bytes(2));
        counters.count(workspace(COUNTED_MAX as u128), now, bytes(1));
        assert_eq!(counters.drain().len(), 1, "there is room again");
    }
}
