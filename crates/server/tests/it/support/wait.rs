use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// The deadline of every wait of a test. It detects a hang, so a slow machine fails no test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// The poll interval for conditions without a notification.
///
/// Most polls send a request that queries the database: shorter intervals would slow down the work they wait
/// for.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Polls until `look` returns a value, and returns it.
///
/// Panics when [`DEADLINE`] passes first; `what` names the awaited condition.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let looking = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    timeout(DEADLINE, looking).await.unwrap_or_else(|_| panic!("after {DEADLINE:?} still not: {what}"))
}
