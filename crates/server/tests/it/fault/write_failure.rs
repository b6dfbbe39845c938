//! Failures of the n-th write, for every n.
//!
//! The process continues: the disk was full for a short time, or a response was lost.

use std::sync::Arc;

use kinora_testkit::CrashPlan;

use super::crash_scenario::EventOrder;
use super::each_write::{fail_at_each, nothing};
use crate::support::Faults;

const WRITES_MIN: u64 = 25;
/// A lease of 25 s ends after eight, just after its renewal; on a busy machine, jobs would lose a shorter
/// one again and again.
pub(super) const SPEED: u32 = 3;

#[tokio::test]
async fn failed_write_is_retried() {
    fail_at_each(module_path!(), WRITES_MIN, nothing, async |scenario, ()| {
        scenario.run(EventOrder::Loose).await
    })
    .await;
}

/// Fails one write, counted over database and objects.
pub(super) struct FailAt {
    n: u64,
    /// Counts writes without a crash.
    pub(super) plan: Arc<CrashPlan>,
}

impl FailAt {
    pub(super) fn write(n: u64) -> Arc<Self> {
        Arc::new(Self { n, plan: CrashPlan::never() })
    }

    pub(super) fn faults(self: &Arc<Self>) -> Faults {
        let objects = Arc::clone(self);
        let objects = kinora_blob::Faults::new(move |_| {
            if objects.fails_now() {
                kinora_blob::FaultAction::Fail
            } else {
                kinora_blob::FaultAction::Proceed
            }
        });
        Faults::new(Some(self.clone()), Some(Arc::new(objects)))
    }

    fn fails_now(&self) -> bool {
        self.plan.count_write() == Some(self.n)
    }
}

impl kinora_store::Faults for FailAt {
    fn at(&self, _: kinora_store::FaultPoint) -> kinora_store::FaultAction {
        if self.fails_now() { kinora_store::FaultAction::Fail } else { kinora_store::FaultAction::Continue }
    }
}
