//! Stop at the n-th write, for every n. A write is a commit, before and after it is kept, or a step that
//! changes an object.

use super::each_write::{crash_at_each, nothing};
use super::life::Order;

/// The writes of a life are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;

#[tokio::test]
async fn a_crash_at_any_write_still_ends_in_one_ready_event_and_leaves_nothing_behind() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, async |life, ()| life.live(Order::Strict).await).await;
}
