use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, timeout};

/// How long a test waits for what must come. It detects a hang and judges no test: the machine may be busy.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// How often a condition is looked at that cannot tell when it changes. Most looks ask a server that asks its
/// database: more of them would keep the machine from what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Looks until `look` finds what it is looking for, and answers it.
///
/// Panics when [`DEADLINE`] passes first; `what` says what was waited for.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut ticks = interval(LOOK_EVERY);
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
