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

/// Chooses the sample: a clean clone crashes at the writes its author crashed at.
const SEED: &str = include_str!("../../../../../.config/sample-seed");

/// How many lives go wrong: `sample` (the default, for each change), `most` or `each`.
const VARIABLE: &str = "KINORA_TEST_LIVES";

/// Which writes of a life go wrong: one in `step`, from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    first: u64,
    step: u64,
}

impl Sample {
    /// The sample of the life `name`, of at least `writes_min` writes. Each life begins at another write,
    /// and at least one goes wrong.
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

    /// Whether each write goes wrong.
    fn is_whole(self) -> bool {
        self.step == 1
    }
}

/// A number that is as good as random and the same in each run.
fn seeded(name: &str) -> u64 {
    let hash = Sha256::digest(format!("{} {name}", SEED.trim()));
    u64::from_be_bytes(hash[..8].try_into().expect("a SHA-256 is longer"))
}

/// Nothing comes before this life.
pub(super) async fn nothing(_: &TestApp) {}

/// Lives what comes after `prepare` again and again, with a server that stops at a write of it, for each
/// write of the sample.
///
/// `name` is the life's own: `module_path!()`. Fewer writes than `writes_min` would mean that they are not
/// counted.
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
        say(&format!("crash at write {n}"));
        live(&mut life, prepared).await;
        plan.writes()
    };
    live_through(live_and_crash_at, &format!("crash {name}"), writes_min).await;
}

/// The same with a write that cannot be made while nobody dies: the disk was full just then, or a response
/// was lost.
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
        say(&format!("failure at write {n}"));
        live(&mut life, prepared).await;
        failing.plan.writes()
    };
    live_through(live_and_fail_at, &format!("failure {name}"), writes_min).await;
}

/// First a life in which nothing goes wrong, which says how many writes there are; then one for each write
/// of the sample.
///
/// `live_until` lives a life whose n-th write goes wrong, and returns how many writes were counted.
async fn live_through<L: Future<Output = u64>>(live_until: impl Fn(u64) -> L, name: &str, writes_min: u64) {
    let writes = live_until(u64::MAX).await;
    assert!(writes >= writes_min, "{writes} writes were counted, {writes_min} or more were expected");
    let sample = Sample::of(name, writes_min);
    let points = (sample.first..writes).step_by(usize::try_from(sample.step).expect("it is small"));
    say(&format!("{name}: {writes} writes, of which {} go wrong", points.clone().count()));
    stream::iter(points).map(&live_until).buffer_unordered(at_once()).for_each(|_| ready(())).await;
    if sample.is_whole() {
        // Lives differ by a write or two.
        let mut n = writes;
        while live_until(n).await > n {
            n += 1;
        }
    }
}
