//! Crashes at the n-th write, for every n.
//!
//! A write is a commit, before and after it is durable, or a step that changes an object.

use super::crash_scenario::EventOrder;
use super::each_write::{crash_at_each, nothing};

/// The writes of a scenario are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;

#[tokio::test]
async fn crash_at_any_write_still_emits_one_ready_event() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, async |scenario, ()| {
        scenario.run(EventOrder::Strict).await
    })
    .await;
}
