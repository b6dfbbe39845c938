//! Stop at the n-th write, for every n. A write is a commit, before and after it is kept, or a step that changes an object.

use std::future::ready;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;

use super::clock::TestClock;
use super::life::{Life, Order, say};
use crate::support::Faults;

/// Lives at once: they wait more than they work.
const AT_ONCE: usize = 4;
/// The writes of a life are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: usize = 25;

#[tokio::test]
async fn a_crash_at_any_write_still_ends_in_one_ready_event_and_leaves_nothing_behind() {
    let crashed =
        stream::iter(0..).map(live_and_crash_at).buffered(AT_ONCE).take_while(|crashed| ready(*crashed));
    let crash_points = crashed.count().await;
    assert!(crash_points >= WRITES_MIN, "only {crash_points} writes were crash points");
}

/// One life with a crash. `false`: it had fewer writes than that, so all have been crash points.
async fn live_and_crash_at(n: u64) -> bool {
    let plan = CrashPlan::at_write(n);
    let mut life = Life::begin(TestClock::standing(), plan.clone(), Faults::of_plan(&plan)).await;
    say(&format!("crash at write {n}"));
    life.live(Order::Strict).await;
    plan.has_crashed()
}
