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

/// Lives at once: they wait more than they work, but on PostgreSQL, where a lease must last as long as a busy
/// machine takes.
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

/// What happens at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Crash,
    Failure,
}

/// The writes of a life that get a fault: one of each `step`, which is a power of two.
///
/// Which one follows from the seed, the life and the place, so writes before and after a commit are both
/// chosen. A smaller step chooses the same writes and others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample<'a> {
    name: &'a str,
    step: u64,
}

impl<'a> Sample<'a> {
    /// The sample of the life `name`. Each sample of `writes_min` writes has at least one write.
    fn of(fault: Fault, name: &'a str, writes_min: u64) -> Self {
        let lives = std::env::var(VARIABLE).unwrap_or_else(|_| "sample".to_owned());
        // After a failed write a server waits in real time.
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

    /// Whether each write gets a fault.
    fn is_whole(self) -> bool {
        self.step == 1
    }

    /// The chosen writes below `writes`, in order.
    fn points(self, writes: u64) -> impl Iterator<Item = u64> + use<'a> {
        let blocks = 0..writes.div_ceil(self.step);
        blocks.map(move |block| chosen(self.name, block, self.step)).filter(move |n| *n < writes)
    }
}

/// The write that is chosen of `step` writes, the `block`-th such group: of its halves one wins, and of that
/// again.
fn chosen(name: &str, block: u64, step: u64) -> u64 {
    if step == 1 {
        return block;
    }
    let hash = Sha256::digest(format!("{} {name} {step} {block}", SEED.trim()));
    chosen(name, 2 * block + u64::from(hash[0] & 1), step / 2)
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
        say(&fault_label("crash", n));
        live(&mut life, prepared).await;
        plan.writes()
    };
    live_through(Fault::Crash, live_and_crash_at, &format!("crash {name}"), writes_min).await;
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
        say(&fault_label("failure", n));
        live(&mut life, prepared).await;
        failing.plan.writes()
    };
    live_through(Fault::Failure, live_and_fail_at, &format!("failure {name}"), writes_min).await;
}

fn fault_label(fault: &str, n: u64) -> String {
    if n == NEVER { format!("no {fault}") } else { format!("{fault} at write {n}") }
}

/// A write that no life reaches.
const NEVER: u64 = u64::MAX;

/// Runs a life without a fault, which counts the writes, then one life for each write of the sample.
///
/// `live_until` runs a life with a fault at the n-th write, and returns how many writes it counted.
async fn live_through<L: Future<Output = u64>>(
    fault: Fault,
    live_until: impl Fn(u64) -> L,
    name: &str,
    writes_min: u64,
) {
    let writes = live_until(NEVER).await;
    assert!(writes >= writes_min, "{writes} writes were counted, {writes_min} or more were expected");
    let sample = Sample::of(fault, name, writes_min);
    let points: Vec<u64> = sample.points(writes).collect();
    say(&format!("{name}: {writes} writes, a fault at each of {points:?}"));
    let missed: Vec<u64> = stream::iter(&points)
        .map(|n| {
            let life = live_until(*n);
            async move { (life.await <= *n).then_some(*n) }
        })
        .buffer_unordered(at_once())
        .filter_map(ready)
        .collect()
        .await;
    // Transactions that come together are one commit, so a life may have fewer writes than the first one had,
    // on a busy machine many fewer (22 of 30). It has `writes_min` whatever comes together.
    let sure = writes_min.min(writes * 3 / 4);
    let may_be_missing = |n: &u64| *n >= sure && 2 * missed.len() <= points.len();
    assert!(missed.iter().all(may_be_missing), "no fault was reached at {missed:?} of {writes} writes");
    if sample.is_whole() {
        let mut n = writes;
        while live_until(n).await > n {
            n += 1;
        }
    }
}

#[test]
fn one_write_of_each_block_is_chosen_and_a_smaller_step_chooses_it_too() {
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
