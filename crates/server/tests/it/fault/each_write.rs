//! Bad days one after another: a life that goes wrong at its n-th write, for every n.

use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;

use super::clock::TestClock;
use super::failing::{FailAt, SPEED};
use super::life::{Life, say};
use crate::support::{Faults, Pair, TestApp};

/// Lives at once: they wait more than they work, but on PostgreSQL, where a lease must last as long as a busy machine takes.
fn at_once() -> usize {
    match Pair::chosen() {
        Pair::SqliteAndFolder => 6,
        Pair::PostgresAndS3 => 4,
    }
}

/// Which writes of a life go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Each.
    All,
    /// Every second one, and on PostgreSQL every fourth one of the others: what a crash does is met by the lives of which each write goes wrong.
    /// `make soak` takes each of these too.
    Most,
}

/// Set: each write of every life goes wrong.
const EACH_WRITE: &str = "KINORA_TEST_EACH_WRITE";

impl Which {
    /// The first one, and how many it is to the next one.
    fn writes(self) -> (u64, usize) {
        if self == Self::All || std::env::var_os(EACH_WRITE).is_some() {
            return (0, 1);
        }
        match Pair::chosen() {
            Pair::SqliteAndFolder => (0, 2),
            Pair::PostgresAndS3 => (1, 4),
        }
    }
}

/// Nothing comes before this life.
pub(super) async fn nothing(_: &TestApp) {}

/// Lives what comes after `prepare` again and again, with a server that stops at the n-th write of it. Fewer than `writes_min` lives that
/// went wrong would mean that writes are not counted.
pub(super) async fn crash_at_each<T>(
    which: Which,
    writes_min: usize,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    crash_where(Faults::of_plan, which, writes_min, prepare, live).await;
}

/// The same, where `faults` says which writes are counted.
pub(super) async fn crash_where<T>(
    faults: impl Fn(&Arc<CrashPlan>) -> Faults,
    which: Which,
    writes_min: usize,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    let (faults, prepare, live) = (&faults, &prepare, &live);
    let live_and_crash_at = |n| async move {
        let plan = CrashPlan::at_write(n);
        let (clock, faults) = (TestClock::standing(), faults(&plan));
        let (mut life, prepared) = Life::begin_after(clock, plan.clone(), faults, prepare).await;
        say(&format!("crash at write {n}"));
        live(&mut life, prepared).await;
        plan.has_crashed()
    };
    count_until_none(live_and_crash_at, which, writes_min).await;
}

/// The same with a write that cannot be made while nobody dies: the disk had no room just then, or an answer was lost.
pub(super) async fn fail_at_each<T>(
    which: Which,
    writes_min: usize,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    let (prepare, live) = (&prepare, &live);
    let live_and_fail_at = |n| async move {
        let failing = FailAt::write(n);
        let (clock, plan) = (TestClock::running(SPEED), failing.plan.clone());
        let (mut life, prepared) = Life::begin_after(clock, plan, failing.faults(), prepare).await;
        say(&format!("failure at write {n}"));
        live(&mut life, prepared).await;
        failing.plan.writes() > n
    };
    count_until_none(live_and_fail_at, which, writes_min).await;
}

/// Lives until a life had no such write any more.
async fn count_until_none<L: Future<Output = bool>>(
    went_wrong: impl Fn(u64) -> L,
    which: Which,
    writes_min: usize,
) {
    let (first, step) = which.writes();
    let lives = stream::iter((first..).step_by(step))
        .map(went_wrong)
        .buffered(at_once())
        .take_while(|wrong| ready(*wrong));
    let points = lives.count().await;
    let writes = first as usize + points * step;
    assert!(writes >= writes_min, "only {points} writes could go wrong, one in {step}");
}
