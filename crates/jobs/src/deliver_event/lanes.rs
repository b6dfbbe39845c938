//! How many posts each webhook may have under way.
//!
//! A lane begins narrow, doubles with each delivery that arrives, and falls to one post after one that does
//! not. So receivers that are dead hold one place each, and all of them together at most half of the places:
//! the others are never waited for. The places are shared out by workspace (`kinora_fair`): many webhooks
//! give a workspace no more of them.

use std::collections::{BTreeSet, HashMap};

use kinora_domain::{WebhookId, WorkspaceId};
use kinora_fair::{Due, Places};
use kinora_store::DueWebhook;

/// Posts to one webhook at once, when it answers.
const WIDTH_MAX: usize = 16;
/// Posts to one webhook that nothing is known of.
const WIDTH_FIRST: usize = 2;
/// Posts at once in all; a post holds some KiB and a connection.
const POSTS_MAX: usize = 1024;
/// Of these, for webhooks that failed last.
const FAILING_POSTS_MAX: usize = POSTS_MAX / 2;

/// The lanes of all webhooks that have, or lately had, something under way.
pub(super) struct Lanes {
    lanes: HashMap<WebhookId, Lane>,
    places: Places<WorkspaceId>,
    /// Those of webhooks that failed last, which are counted above too.
    failing: Places<WorkspaceId>,
}

#[derive(Debug, Clone, Copy)]
struct Lane {
    workspace: WorkspaceId,
    held: usize,
    width: usize,
    is_failing: bool,
}

impl Lane {
    fn new(workspace: WorkspaceId) -> Self {
        Self { workspace, held: 0, width: WIDTH_FIRST, is_failing: false }
    }
}

impl Lanes {
    pub(super) fn new() -> Self {
        let (places, failing) = (Places::new(POSTS_MAX), Places::new(FAILING_POSTS_MAX));
        Self { lanes: HashMap::new(), places, failing }
    }

    /// How many more posts each of these webhooks may have, one at least; first those of workspaces that have
    /// fewest under way. Ask again when one of them had less to post.
    pub(super) fn share_out(&mut self, due: &[DueWebhook]) -> Vec<(DueWebhook, usize)> {
        let lanes: Vec<(DueWebhook, Lane)> = due
            .iter()
            .map(|due| (*due, self.lanes.get(&due.id).copied().unwrap_or(Lane::new(due.workspace))))
            .filter(|(_, lane)| lane.held < lane.width)
            .collect();
        let mut left = share_among(&mut self.places, lanes.iter());
        let mut left_to_failing =
            share_among(&mut self.failing, lanes.iter().filter(|(_, lane)| lane.is_failing));
        let mut rooms = Vec::new();
        for (webhook, lane) in lanes {
            let left = left.entry(lane.workspace).or_default();
            let mut room = (lane.width - lane.held).min(*left);
            if lane.is_failing {
                let left = left_to_failing.entry(lane.workspace).or_default();
                room = room.min(*left);
                *left -= room;
            }
            *left -= room;
            if room > 0 {
                rooms.push((webhook, room));
            }
        }
        rooms.sort_by_key(|(webhook, _)| self.places.held(&webhook.workspace));
        rooms
    }

    /// A post begins.
    pub(super) fn enter(&mut self, webhook: DueWebhook) {
        let workspace = webhook.workspace;
        let lane = self.lanes.entry(webhook.id).or_insert(Lane::new(webhook.workspace));
        lane.held += 1;
        self.places.enter(workspace);
        if lane.is_failing {
            self.failing.enter(workspace);
        }
    }

    /// A post ended.
    pub(super) fn leave(&mut self, webhook: WebhookId, arrived: bool) {
        let Some(lane) = self.lanes.get_mut(&webhook) else { return };
        let workspace = lane.workspace;
        self.places.leave(workspace);
        if lane.is_failing {
            (0..lane.held).for_each(|_| self.failing.leave(workspace));
        }
        lane.held -= 1;
        lane.is_failing = !arrived;
        lane.width = if arrived { (lane.width * 2).min(WIDTH_MAX) } else { 1 };
        if lane.is_failing {
            (0..lane.held).for_each(|_| self.failing.enter(workspace));
        }
        if lane.held == 0 && arrived && lane.width == WIDTH_MAX {
            self.lanes.remove(&webhook); // nothing worth remembering: it widens again at once
        }
    }
}

/// The free places, shared out among the workspaces of these webhooks.
fn share_among<'a>(
    places: &mut Places<WorkspaceId>,
    lanes: impl Iterator<Item = &'a (DueWebhook, Lane)>,
) -> HashMap<WorkspaceId, usize> {
    let workspaces: BTreeSet<WorkspaceId> = lanes.map(|(_, lane)| lane.workspace).collect();
    let due: Vec<_> = workspaces.into_iter().map(|claimant| Due { claimant, rank: 0 }).collect();
    places.forget_idle(&due);
    places.share_out(&due).into_iter().map(|share| (share.claimant, share.places)).collect()
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

    /// Takes all room there is, and answers it for each webhook.
    fn fill(lanes: &mut Lanes, due: &[DueWebhook]) -> Vec<usize> {
        let rooms: HashMap<_, _> =
            lanes.share_out(due).into_iter().map(|(due, room)| (due.id, room)).collect();
        let rooms: Vec<_> = due.iter().map(|due| rooms.get(&due.id).copied().unwrap_or_default()).collect();
        for (due, room) in due.iter().zip(&rooms) {
            (0..*room).for_each(|_| lanes.enter(*due));
        }
        rooms
    }

    fn leave_all(lanes: &mut Lanes, arrived: bool) {
        let held: Vec<_> = lanes.lanes.iter().map(|(webhook, lane)| (*webhook, lane.held)).collect();
        for (webhook, held) in held {
            (0..held).for_each(|_| lanes.leave(webhook, arrived));
        }
    }

    #[test]
    fn a_lane_widens_while_posts_arrive_and_narrows_to_one_when_one_does_not() {
        let (mut lanes, one) = (Lanes::new(), webhook(1, 1));
        let mut widths = Vec::new();
        for arrived in [true, true, true, true, false, true] {
            widths.push(lanes.share_out(&[one]).first().map_or(0, |(_, room)| *room));
            lanes.enter(one);
            lanes.leave(one.id, arrived);
        }
        assert_eq!(widths, [2, 4, 8, 2, 4, 1], "a wide lane that is empty begins anew");
        assert_eq!((lanes.places.free(), lanes.failing.free()), (POSTS_MAX, FAILING_POSTS_MAX));
    }

    #[test]
    fn however_many_dead_receivers_there_are_a_healthy_one_has_room() {
        let mut lanes = Lanes::new();
        let dead: Vec<_> = (0..600).map(|n| webhook(n, n % 3)).collect();
        for round in 0..4 {
            fill(&mut lanes, &dead);
            if round > 0 {
                assert_eq!(lanes.share_out(&[webhook(9999, 1)]).len(), 1, "round {round}");
                assert_eq!(lanes.failing.free(), 0);
            }
            leave_all(&mut lanes, false);
            assert_eq!((lanes.places.free(), lanes.failing.free()), (POSTS_MAX, FAILING_POSTS_MAX));
        }
    }

    #[test]
    fn many_slow_webhooks_of_one_workspace_leave_a_place_to_another_one() {
        let mut lanes = Lanes::new();
        let slow: Vec<_> = (0..600).map(|n| webhook(n, 1)).collect();
        let taken: usize = fill(&mut lanes, &slow).iter().sum();
        assert_eq!(taken, POSTS_MAX - 1);
        let other = webhook(9999, 2);
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [0, 1]);
        // Two that become free go to the one that holds fewer.
        (0..2).for_each(|n| lanes.leave(slow[n].id, true));
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [0, 1]);
        assert_eq!(fill(&mut lanes, &[slow[0], other]), [1, 0], "what the other one has no use for");
    }

    #[test]
    fn many_dead_webhooks_of_one_workspace_leave_a_retry_of_another_one_its_place() {
        let mut lanes = Lanes::new();
        let dead: Vec<_> = (0..600).map(|n| webhook(n, 1)).collect();
        let other = webhook(9999, 2);
        // At first not all of them have a place.
        for due in [&dead[..], &dead[..], &[other]] {
            fill(&mut lanes, due);
            leave_all(&mut lanes, false);
        }
        assert_eq!(fill(&mut lanes, &dead).iter().sum::<usize>(), FAILING_POSTS_MAX - 1);
        assert_eq!(fill(&mut lanes, &[dead[599], other]), [0, 1]);
    }
}
