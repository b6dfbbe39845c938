//! Limits the number of concurrent posts per webhook.
//!
//! The limit of a lane starts low, doubles with each delivered event, and falls to one after a failed post.
//! So each dead receiver uses one permit, and all of them together at most half of the permits: they never
//! delay the others. The permits are shared fairly among workspaces (`kinora_fair`): more webhooks do not
//! give a workspace more permits.

use std::collections::{BTreeSet, HashMap};

use kinora_domain::{WebhookId, WorkspaceId};
use kinora_fair::{DueClaimant, FairSlots};
use kinora_store::DueWebhook;

/// Most concurrent posts to one webhook that responds.
const IN_FLIGHT_MAX: usize = 16;
/// Concurrent posts to a webhook without history.
const IN_FLIGHT_INITIAL: usize = 2;
/// Concurrent posts in all; a post uses some KiB and a connection.
const POSTS_MAX: usize = 1024;
/// Share of them for webhooks whose last post failed.
const FAILING_POSTS_MAX: usize = POSTS_MAX / 2;

/// The lanes of all webhooks with posts in progress, now or recently.
pub(super) struct WebhookConcurrency {
    lanes: HashMap<WebhookId, WebhookLimit>,
    slots: FairSlots<WorkspaceId>,
    /// Permits of webhooks whose last post failed; `slots` counts them too.
    failing: FairSlots<WorkspaceId>,
}

#[derive(Debug, Clone, Copy)]
struct WebhookLimit {
    workspace: WorkspaceId,
    in_flight: usize,
    limit: usize,
    is_failing: bool,
}

impl WebhookLimit {
    fn new(workspace: WorkspaceId) -> Self {
        Self { workspace, in_flight: 0, limit: IN_FLIGHT_INITIAL, is_failing: false }
    }
}

impl WebhookConcurrency {
    pub(super) fn new() -> Self {
        let (slots, failing) = (FairSlots::new(POSTS_MAX), FairSlots::new(FAILING_POSTS_MAX));
        Self { lanes: HashMap::new(), slots, failing }
    }

    /// Number of further posts for each of these webhooks, at least one; workspaces with the fewest posts in
    /// progress come first. Call it again if a webhook had fewer deliveries.
    pub(super) fn distribute(&mut self, due: &[DueWebhook]) -> Vec<(DueWebhook, usize)> {
        let lanes: Vec<(DueWebhook, WebhookLimit)> = due
            .iter()
            .map(|due| (*due, self.lanes.get(&due.id).copied().unwrap_or(WebhookLimit::new(due.workspace))))
            .filter(|(_, lane)| lane.in_flight < lane.limit)
            .collect();
        let mut free_by_workspace = share_among(&mut self.slots, lanes.iter());
        let mut failing_free_by_workspace =
            share_among(&mut self.failing, lanes.iter().filter(|(_, lane)| lane.is_failing));
        let mut shares = Vec::new();
        for (webhook, lane) in lanes {
            let free = free_by_workspace.entry(lane.workspace).or_default();
            let mut share = (lane.limit - lane.in_flight).min(*free);
            if lane.is_failing {
                let failing_free = failing_free_by_workspace.entry(lane.workspace).or_default();
                share = share.min(*failing_free);
                *failing_free -= share;
            }
            *free -= share;
            if share > 0 {
                shares.push((webhook, share));
            }
        }
        shares.sort_by_key(|(webhook, _)| self.slots.in_use(&webhook.workspace));
        shares
    }

    /// Records the start of a post.
    pub(super) fn post_started(&mut self, webhook: DueWebhook) {
        let workspace = webhook.workspace;
        let lane = self.lanes.entry(webhook.id).or_insert(WebhookLimit::new(webhook.workspace));
        lane.in_flight += 1;
        self.slots.grant(workspace);
        if lane.is_failing {
            self.failing.grant(workspace);
        }
    }

    /// Records the end of a post.
    pub(super) fn post_ended(&mut self, webhook: WebhookId, is_delivered: bool) {
        let Some(lane) = self.lanes.get_mut(&webhook) else { return };
        let workspace = lane.workspace;
        self.slots.release(workspace);
        if lane.is_failing {
            (0..lane.in_flight).for_each(|_| self.failing.release(workspace));
        }
        lane.in_flight -= 1;
        lane.is_failing = !is_delivered;
        lane.limit = if is_delivered { (lane.limit * 2).min(IN_FLIGHT_MAX) } else { 1 };
        if lane.is_failing {
            (0..lane.in_flight).for_each(|_| self.failing.grant(workspace));
        }
        if lane.in_flight == 0 && is_delivered && lane.limit == IN_FLIGHT_MAX {
            self.lanes.remove(&webhook); // no failure to remember: a new limit doubles again
        }
    }
}

/// The free permits, shared among the workspaces of these webhooks.
fn share_among<'a>(
    slots: &mut FairSlots<WorkspaceId>,
    lanes: impl Iterator<Item = &'a (DueWebhook, WebhookLimit)>,
) -> HashMap<WorkspaceId, usize> {
    let workspaces: BTreeSet<WorkspaceId> = lanes.map(|(_, lane)| lane.workspace).collect();
    let due: Vec<_> = workspaces.into_iter().map(|claimant| DueClaimant { claimant, rank: 0 }).collect();
    slots.remove_idle(&due);
    slots.distribute(&due).into_iter().map(|share| (share.claimant, share.slots)).collect()
}

#[cfg(test)]
mod tests {
    use kinora_domain::{Random, Timestamp};

    use super::*;

    struct Zeros;

    impl Random for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn webhook(n: i64, workspace: i64) -> DueWebhook {
        let at = |n: i64| Timestamp::from_micros(n * 1000);
        DueWebhook { id: WebhookId::new(at(n), &Zeros), workspace: WorkspaceId::new(at(workspace), &Zeros) }
    }

    /// Takes all free permits, and returns their number for each webhook.
    fn fill(lanes: &mut WebhookConcurrency, due: &[DueWebhook]) -> Vec<usize> {
        let shares: HashMap<_, _> =
            lanes.distribute(due).into_iter().map(|(due, share)| (due.id, share)).collect();
        let rooms: Vec<_> = due.iter().map(|due| shares.get(&due.id).copied().unwrap_or_default()).collect();
        for (due, room) in due.iter().zip(&rooms) {
            (0..*room).for_each(|_| lanes.post_started(*due));
        }
        rooms
    }

    fn end_all_posts(lanes: &mut WebhookConcurrency, is_delivered: bool) {
        let counts: Vec<_> = lanes.lanes.iter().map(|(webhook, lane)| (*webhook, lane.in_flight)).collect();
        for (webhook, count) in counts {
            (0..count).for_each(|_| lanes.post_ended(webhook, is_delivered));
        }
    }

    #[test]
    fn webhook_limit_doubles_on_success_and_drops_on_failure() {
        let (mut lanes, one) = (WebhookConcurrency::new(), webhook(1, 1));
        let mut limits = Vec::new();
        for is_delivered in [true, true, true, true, false, true] {
            limits.push(lanes.distribute(&[one]).first().map_or(0, |(_, share)| *share));
            lanes.post_started(one);
            lanes.post_ended(one.id, is_delivered);
        }
        assert_eq!(limits, [2, 4, 8, 2, 4, 1], "a wide lane that is empty begins anew");
        assert_eq!((lanes.slots.free(), lanes.failing.free()), (POSTS_MAX, FAILING_POSTS_MAX));
    }

    #[test]
    fn failing_webhooks_never_block_a_healthy_one() {
        let mut lanes = WebhookConcurrency::new();
        let dead: Vec<_> = (0..600).map(|n| webhook(n, n % 3)).collect();
        for round in 0..4 {
            fill(&mut lanes, &dead);
            if round > 0 {
                assert_eq!(lanes.distribute(&[webhook(9999, 1)]).len(), 1, "round {round}");
                assert_eq!(lanes.failing.free(), 0);
            }
            end_all_posts(&mut lanes, false);
            assert_eq!((lanes.slots.free(), lanes.failing.free()), (POSTS_MAX, FAILING_POSTS_MAX));
        }
    }

    #[test]
    fn slow_webhooks_leave_slots_to_other_workspaces() {
        let mut lanes = WebhookConcurrency::new();
        let slow: Vec<_> = (0..600).map(|n| webhook(n, 1)).collect();
        let started: usize = fill(&mut lanes, &slow).iter().sum();
        assert_eq!(started, POSTS_MAX - 1);
        let other = webhook(9999, 2);
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [0, 1]);
        // Two freed permits go to the workspace with fewer posts.
        (0..2).for_each(|n| lanes.post_ended(slow[n].id, true));
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [0, 1]);
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [1, 0], "what the other one has no use for");
    }

    #[test]
    fn failing_webhooks_leave_retries_to_other_workspaces() {
        let mut lanes = WebhookConcurrency::new();
        let dead: Vec<_> = (0..600).map(|n| webhook(n, 1)).collect();
        let other = webhook(9999, 2);
        // Not all of them get a permit at first.
        for due in [&dead[..], &dead[..], &[other]] {
            fill(&mut lanes, due);
            end_all_posts(&mut lanes, false);
        }
        assert_eq!(fill(&mut lanes, &dead).iter().sum::<usize>(), FAILING_POSTS_MAX - 1);
        assert_eq!(fill(&mut lanes, &[dead[599], other]), [0, 1]);
    }
}
