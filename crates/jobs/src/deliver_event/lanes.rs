//! How many posts each webhook may have under way.
//!
//! A lane begins narrow, doubles with each delivery that arrives, and falls to one post after one that does not. So receivers that
//! are dead hold one place each, and all of them together at most half of the places: the others are never waited for.

use std::collections::HashMap;

use kinora_domain::WebhookId;

/// Posts to one webhook at once, when it answers.
const WIDTH_MAX: usize = 16;
/// Posts to one webhook that nothing is known of.
const WIDTH_FIRST: usize = 2;
/// Posts at once in all; a post holds some KiB and a connection.
const POSTS_MAX: usize = 1024;
/// Of these, for webhooks that failed last.
const FAILING_POSTS_MAX: usize = POSTS_MAX / 2;

/// The lanes of all webhooks that have, or lately had, something under way.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: HashMap<WebhookId, Lane>,
    held: usize,
    held_failing: usize,
}

#[derive(Debug, Clone, Copy)]
struct Lane {
    held: usize,
    width: usize,
    is_failing: bool,
}

const NEW: Lane = Lane { held: 0, width: WIDTH_FIRST, is_failing: false };

impl Lanes {
    /// How many more posts this webhook may have.
    pub(super) fn room(&self, webhook: WebhookId) -> usize {
        let lane = self.lanes.get(&webhook).copied().unwrap_or(NEW);
        let room = lane.width.saturating_sub(lane.held).min(POSTS_MAX.saturating_sub(self.held));
        if lane.is_failing { room.min(FAILING_POSTS_MAX.saturating_sub(self.held_failing)) } else { room }
    }

    /// A post begins.
    pub(super) fn enter(&mut self, webhook: WebhookId) {
        let lane = self.lanes.entry(webhook).or_insert(NEW);
        lane.held += 1;
        self.held += 1;
        self.held_failing += usize::from(lane.is_failing);
    }

    /// A post ended.
    pub(super) fn leave(&mut self, webhook: WebhookId, arrived: bool) {
        let Some(lane) = self.lanes.get_mut(&webhook) else { return };
        self.held -= 1;
        self.held_failing -= if lane.is_failing { lane.held } else { 0 };
        lane.held -= 1;
        lane.is_failing = !arrived;
        lane.width = if arrived { (lane.width * 2).min(WIDTH_MAX) } else { 1 };
        self.held_failing += if lane.is_failing { lane.held } else { 0 };
        if lane.held == 0 && arrived && lane.width == WIDTH_MAX {
            self.lanes.remove(&webhook); // nothing worth remembering: it widens again at once
        }
    }
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

    fn webhook(n: i64) -> WebhookId {
        WebhookId::new(Timestamp::from_micros(n * 1000), &Zeros)
    }

    fn fill(lanes: &mut Lanes, webhook: WebhookId) -> usize {
        let room = lanes.room(webhook);
        (0..room).for_each(|_| lanes.enter(webhook));
        room
    }

    #[test]
    fn a_lane_widens_while_posts_arrive_and_narrows_to_one_when_one_does_not() {
        let (mut lanes, one) = (Lanes::default(), webhook(1));
        let mut widths = Vec::new();
        for arrived in [true, true, true, true, false, true] {
            widths.push(lanes.room(one));
            lanes.enter(one);
            lanes.leave(one, arrived);
        }
        assert_eq!(widths, [2, 4, 8, 2, 4, 1], "a wide lane that is empty begins anew");
        assert_eq!((lanes.held, lanes.held_failing), (0, 0));
    }

    #[test]
    fn however_many_dead_receivers_there_are_a_healthy_one_has_room() {
        let mut lanes = Lanes::default();
        for round in 0..4 {
            for n in 0..600 {
                fill(&mut lanes, webhook(n));
            }
            let healthy = webhook(9999);
            if round > 0 {
                assert!(lanes.room(healthy) > 0, "round {round}: {} held", lanes.held);
                assert!(lanes.held_failing <= FAILING_POSTS_MAX);
            }
            // All of them time out.
            let held: Vec<_> = lanes.lanes.iter().map(|(webhook, lane)| (*webhook, lane.held)).collect();
            for (webhook, held) in held {
                (0..held).for_each(|_| lanes.leave(webhook, false));
            }
            assert_eq!((lanes.held, lanes.held_failing), (0, 0));
        }
    }
}
