//! Crash injection: a scenario with a fault at its n-th write, for a sample of n or for every n.

use std::future::ready;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;
use sha2::{Digest as _, Sha256};

use super::clock::TestClock;
use super::crash_scenario::{CrashScenario, say};
use super::write_failure::{FailAt, SPEED};
use crate::support::{Faults, Pair, TestApp};

/// The number of concurrent scenarios.
///
/// They mostly wait. On PostgreSQL a lease must outlast the work of a busy machine, so fewer run.
fn concurrency() -> usize {
    match Pair::chosen() {
        Pair::SqliteAndFolder => 6,
        Pair::PostgresAndS3 => 4,
    }
}

/// The seed of the sample: a clean clone crashes at the same writes as the author's run.
const SEED: &str = include_str!("../../../../../.config/sample-seed");

/// How many writes get a fault: `sample` (the default, for each change), `most` or `each`.
const VARIABLE: &str = "KINORA_TEST_LIVES";

/// The fault at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Crash,
    Failure,
}

/// The writes of a scenario that get a fault: one of each `step`, which is a power of two.
///
/// Seed, scenario name and position select it, so that writes before and after a commit are both selected. A
/// smaller step selects the same writes and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample<'a> {
    name: &'a str,
    step: u64,
}

impl<'a> Sample<'a> {
    /// The sample of the scenario `name`. Each sample of `writes_min` writes has at least one write.
    fn of(fault: Fault, name: &'a str, writes_min: u64) -> Self {
        let lives = std::env::var(VARIABLE).unwrap_or_else(|_| "sample".to_owned());
        // After a failed write the server waits in real time.
        let step = match (lives.as_str(), Pair::chosen(), fault) {
            ("sample", Pair::SqliteAndFolder, Fault::Crash) => 8,
            ("sample", ..) => 16,
            ("most", Pair::SqliteAndFolder, _) => 2,
            ("most", Pair::PostgresAndS3, _) => 4,
            ("each", ..) => 1,
            (other, ..) => panic!("{VARIABLE} is sample, most or each, not {other}"),
        };
        let most = 1 << writes_min.ilog2();
        Self { name, step: most.min(step) }
    }

    /// Whether every write gets a fault.
    fn is_whole(self) -> bool {
        self.step == 1
    }

    /// The selected writes below `writes`, in order.
    fn points(self, writes: u64) -> impl Iterator<Item = u64> + use<'a> {
        let blocks = 0..writes.div_ceil(self.step);
        blocks.map(move |block| chosen(self.name, block, self.step)).filter(move |n| *n < writes)
    }
}

/// The selected write of the `block`-th group of `step` writes: one half wins, then one half of that, and so
/// on.
fn chosen(name: &str, block: u64, step: u64) -> u64 {
    if step == 1 {
        return block;
    }
    let hash = Sha256::digest(format!("{} {name} {step} {block}", SEED.trim()));
    chosen(name, 2 * block + u64::from(hash[0] & 1), step / 2)
}

/// For scenarios without preparation.
pub(super) async fn nothing(_: &TestApp) {}

/// Runs `live` once for each write of the sample, with a server that crashes at this write.
///
/// `prepare` runs before, without a crash. `name` identifies the scenario: `module_path!()`. Panics when
/// fewer than `writes_min` writes are counted.
pub(super) async fn crash_at_each<T>(
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    run_scenario: impl AsyncFn(&mut CrashScenario, T),
) {
    crash_where(Faults::of_plan, name, writes_min, prepare, run_scenario).await;
}

/// The same, where `faults` selects the counted writes.
pub(super) async fn crash_where<T>(
    faults: impl Fn(&Arc<CrashPlan>) -> Faults,
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    run_scenario: impl AsyncFn(&mut CrashScenario, T),
) {
    let (faults, prepare, live) = (&faults, &prepare, &run_scenario);
    let crash_at = |n| async move {
        let plan = CrashPlan::at_write(n);
        let (clock, faults) = (TestClock::standing(), faults(&plan));
        let (mut scenario, prepared) = CrashScenario::begin_after(clock, plan.clone(), faults, prepare).await;
        say(&fault_label("crash", n));
        live(&mut scenario, prepared).await;
        plan.writes()
    };
    run_at_each(Fault::Crash, crash_at, &format!("crash {name}"), writes_min).await;
}

/// The same with a write that fails while the server continues, as on a full disk or after a lost response.
pub(super) async fn fail_at_each<T>(
    name: &str,
    writes_min: u64,
    prepare: impl AsyncFn(&TestApp) -> T,
    run_scenario: impl AsyncFn(&mut CrashScenario, T),
) {
    let (prepare, live) = (&prepare, &run_scenario);
    let fail_at = |n| async move {
        let failing = FailAt::write(n);
        let (clock, plan) = (TestClock::running(SPEED), failing.plan.clone());
        let (mut scenario, prepared) =
            CrashScenario::begin_after(clock, plan, failing.faults(), prepare).await;
        say(&fault_label("failure", n));
        live(&mut scenario, prepared).await;
        failing.plan.writes()
    };
    run_at_each(Fault::Failure, fail_at, &format!("failure {name}"), writes_min).await;
}

fn fault_label(fault: &str, n: u64) -> String {
    if n == NO_WRITE { format!("no {fault}") } else { format!("{fault} at write {n}") }
}

/// A write that no scenario reaches.
const NO_WRITE: u64 = u64::MAX;

/// Runs a scenario without a fault, which counts the writes, then one scenario for each write of the sample.
///
/// `live_until` runs a scenario with a fault at the n-th write, and returns how many writes it counted.
async fn run_at_each<L: Future<Output = u64>>(
    fault: Fault,
    run_until: impl Fn(u64) -> L,
    name: &str,
    writes_min: u64,
) {
    let writes = run_until(NO_WRITE).await;
    assert!(writes >= writes_min, "{writes} writes were counted, {writes_min} or more were expected");
    let sample = Sample::of(fault, name, writes_min);
    let points: Vec<u64> = sample.points(writes).collect();
    say(&format!("{name}: {writes} writes, a fault at each of {points:?}"));
    let missed: Vec<u64> = stream::iter(&points)
        .map(|n| {
            let run = run_until(*n);
            async move { (run.await <= *n).then_some(*n) }
        })
        .buffer_unordered(concurrency())
        .filter_map(ready)
        .collect()
        .await;
    // Transactions that arrive together share one commit, so a scenario may have fewer writes than the first
    // one. On a busy machine it has many fewer (22 of 30), but always at least `writes_min`.
    let sure = writes_min.min(writes * 3 / 4);
    let may_be_missing = |n: &u64| *n >= sure && 2 * missed.len() <= points.len();
    assert!(missed.iter().all(may_be_missing), "no fault was reached at {missed:?} of {writes} writes");
    if sample.is_whole() {
        let mut n = writes;
        while run_until(n).await > n {
            n += 1;
        }
    }
}

#[test]
fn sampling_chooses_one_write_per_block_at_every_step() {
    let points = |step| Sample { name: "a", step }.points(64).collect::<Vec<_>>();
    assert_eq!(points(1), (0..64).collect::<Vec<_>>());
    for step in [2, 4, 8, 16] {
        let chosen = points(step);
        let blocks: Vec<_> = chosen.iter().map(|n| n / step).collect();
        assert_eq!(blocks, (0..64 / step).collect::<Vec<_>>(), "{step}");
        assert!(chosen.iter().all(|n| points(step / 2).contains(n)), "{step}: {chosen:?}");
    }
    let odd = points(2).iter().filter(|n| *n % 2 == 1).count();
    assert!((8..=24).contains(&odd), "{odd} of 32 follow a commit");
}
