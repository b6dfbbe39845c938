//! Crash injection: a life that goes wrong at its n-th write, for a sample of n, or for every n.

use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;
use sha2::{Digest as _, Sha256};

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

/// Chooses the sample: a clean clone crashes at the same writes as its author's run.
const SEED: &str = include_str!("../../../../../.config/sample-seed");

/// How many writes get a fault: `sample` (the default, for each change), `most` or `each`.
const VARIABLE: &str = "KINORA_TEST_LIVES";

/// The writes of a life that get a fault: one in `step`, from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    first: u64,
    step: u64,
}

impl Sample {
    /// The sample of the life `name`, which has at least `writes_min` writes. Lives start at different
    /// writes. Each sample has at least one write.
    fn of(name: &str, writes_min: u64) -> Self {
        let lives = std::env::var(VARIABLE).unwrap_or_else(|_| "sample".to_owned());
        let step = match (lives.as_str(), Pair::chosen()) {
            ("sample", Pair::SqliteAndFolder) => 8,
            ("sample", Pair::PostgresAndS3) => 16,
            ("most", Pair::SqliteAndFolder) => 2,
            ("most", Pair::PostgresAndS3) => 4,
            ("each", _) => 1,
            (other, _) => panic!("{VARIABLE} is sample, most or each, not {other}"),
        };
        let step = writes_min.min(step);
        Self { first: seeded(name) % step, step }
    }

    /// Whether each write gets a fault.
    fn is_whole(self) -> bool {
        self.step == 1
    }
}

/// A pseudo-random number, the same in each run.
fn seeded(name: &str) -> u64 {
    let hash = Sha256::digest(format!("{} {name}", SEED.trim()));
    u64::from_be_bytes(hash[..8].try_into().expect("a SHA-256 is longer"))
}

/// Nothing comes before this life.
pub(super) async fn nothing(_: &TestApp) {}

/// Runs `live` once for each write of the sample, with a server that crashes at this write. `prepare` runs
/// before, without a crash.
///
/// `name` identifies the life: `module_path!()`. Panics when fewer than `writes_min` writes are counted.
pub(super) async fn crash_at_each<T>(
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    crash_where(Faults::of_plan, name, writes_min, prepare, live).await;
}

/// The same, where `faults` says which writes are counted.
pub(super) async fn crash_where<T>(
    faults: impl Fn(&Arc<CrashPlan>) -> Faults,
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    let (faults, prepare, live) = (&faults, &prepare, &live);
    let live_and_crash_at = |n| async move {
        let plan = CrashPlan::at_write(n);
        let (clock, faults) = (TestClock::standing(), faults(&plan));
        let (mut life, prepared) = Life::begin_after(clock, plan.clone(), faults, prepare).await;
        say(&said("crash", n));
        live(&mut life, prepared).await;
        plan.writes()
    };
    live_through(live_and_crash_at, &format!("crash {name}"), writes_min).await;
}

/// The same with a write that fails while the server goes on, as on a full disk or after a lost response.
pub(super) async fn fail_at_each<T>(
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    live: impl AsyncFn(&mut Life, T),
) {
    let (prepare, live) = (&prepare, &live);
    let live_and_fail_at = |n| async move {
        let failing = FailAt::write(n);
        let (clock, plan) = (TestClock::running(SPEED), failing.plan.clone());
        let (mut life, prepared) = Life::begin_after(clock, plan, failing.faults(), prepare).await;
        say(&said("failure", n));
        live(&mut life, prepared).await;
        failing.plan.writes()
    };
    live_through(live_and_fail_at, &format!("failure {name}"), writes_min).await;
}

fn said(fault: &str, n: u64) -> String {
    if n == NEVER { format!("no {fault}") } else { format!("{fault} at write {n}") }
}

/// A write that no life reaches.
const NEVER: u64 = u64::MAX;

/// Runs a life without a fault, which counts the writes, then one life for each write of the sample.
///
/// `live_until` runs a life with a fault at the n-th write, and returns how many writes it counted.
async fn live_through<L: Future<Output = u64>>(live_until: impl Fn(u64) -> L, name: &str, writes_min: u64) {
    let writes = live_until(NEVER).await;
    assert!(writes >= writes_min, "{writes} writes were counted, {writes_min} or more were expected");
    let sample = Sample::of(name, writes_min);
    let points = (sample.first..writes).step_by(usize::try_from(sample.step).expect("it is small"));
    let lives = points.clone().count();
    say(&format!("{name}: {writes} writes, {lives} lives with a fault"));
    let reached = stream::iter(points)
        .map(|n| {
            let life = live_until(n);
            async move { life.await > n }
        })
        .buffer_unordered(at_once());
    let reached = reached.filter(|is_reached| ready(*is_reached)).count().await;
    // Lives differ by a write or two, so the last write of a sample may be missing.
    assert!(lives <= 2 * reached, "only {reached} of {lives} lives reached their fault");
    if sample.is_whole() {
        let mut n = writes;
        while live_until(n).await > n {
            n += 1;
        }
    }
}
