//! Fail at the n-th write, for every n. Nobody dies: the disk had no room just then, or an answer was lost.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;

use super::clock::TestClock;
use super::life::{Life, Order, say};
use crate::support::{Faults, Pair};

/// Lives at once: they wait more than they work, but on PostgreSQL, where a lease must last as long as a busy machine takes.
fn at_once() -> usize {
    match Pair::chosen() {
        Pair::SqliteAndFolder => 6,
        Pair::PostgresAndS3 => 4,
    }
}
const WRITES_MIN: usize = 25;
/// A lease of 25 s is over in eight, just after it is renewed; a shorter one would be lost by jobs of a busy machine, again and again.
pub(super) const SPEED: u32 = 3;

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    let failed =
        stream::iter(0..).map(live_and_fail_at).buffered(at_once()).take_while(|failed| ready(*failed));
    let points = failed.count().await;
    assert!(points >= WRITES_MIN, "only {points} writes could fail");
}

async fn live_and_fail_at(n: u64) -> bool {
    let failing = FailAt::write(n);
    let mut life = Life::begin(TestClock::running(SPEED), CrashPlan::never(), failing.faults()).await;
    say(&format!("failure at write {n}"));
    life.live(Order::Loose).await;
    failing.count.load(Ordering::SeqCst) > n
}

/// Fails one write, counted over database and objects.
pub(super) struct FailAt {
    n: u64,
    pub(super) count: AtomicU64,
}

impl FailAt {
    pub(super) fn write(n: u64) -> Arc<Self> {
        Arc::new(Self { n, count: AtomicU64::new(0) })
    }

    pub(super) fn faults(self: &Arc<Self>) -> Faults {
        let objects = Arc::clone(self);
        let objects = kinora_blob::Faults::new(move |_| {
            if objects.fails_now() {
                kinora_blob::FaultAction::Fail
            } else {
                kinora_blob::FaultAction::Proceed
            }
        });
        Faults::new(Some(self.clone()), Some(Arc::new(objects)))
    }

    fn fails_now(&self) -> bool {
        self.count.fetch_add(1, Ordering::SeqCst) == self.n
    }
}

impl kinora_store::Faults for FailAt {
    fn at(&self, _: kinora_store::FaultPoint) -> kinora_store::FaultAction {
        if self.fails_now() { kinora_store::FaultAction::Fail } else { kinora_store::FaultAction::Continue }
    }
}
