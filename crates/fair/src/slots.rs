//! The admission rule: the next slot goes to the claimant that holds the fewest.
//!
//! A single claimant gets all slots but one. With fewer than [`RESERVES_FROM`] slots it gets all of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// From this capacity on, one slot is reserved for a claimant that holds none.
const RESERVES_FROM: usize = 4;

/// A claimant with work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueClaimant<K> {
    /// The claimant.
    pub claimant: K,
    /// Breaks ties between claimants that hold equally many slots: the lowest rank is first.
    pub rank: u8,
}

/// The number of slots that a claimant may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share<K> {
    /// The claimant.
    pub claimant: K,
    /// At least one.
    pub slots: usize,
}

/// The slots that each claimant holds.
#[derive(Debug)]
pub struct FairSlots<K> {
    capacity: usize,
    in_use: HashMap<K, usize>,
    /// The value of `grants` when a claimant last got a slot. Breaks ties: the claimant served longest ago
    /// is first.
    last_grant: HashMap<K, u64>,
    grants: u64,
}

impl<K: Copy + Eq + Hash> FairSlots<K> {
    /// `capacity` free slots.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, in_use: HashMap::new(), last_grant: HashMap::new(), grants: 0 }
    }

    /// The number of slots that the claimant holds.
    pub fn in_use(&self, claimant: &K) -> usize {
        self.in_use.get(claimant).copied().unwrap_or_default()
    }

    /// The number of free slots.
    pub fn free(&self) -> usize {
        self.capacity.saturating_sub(self.in_use.values().sum())
    }

    /// Distributes the free slots one at a time: to the claimant that holds the fewest, then by rank, then
    /// by the time it was last served. `due` has each claimant once. Call again if a claimant used fewer.
    pub fn distribute(&self, due: &[DueClaimant<K>]) -> Vec<Share<K>> {
        let max_per_claimant = self.max_per_claimant();
        let mut shares: Vec<_> = due.iter().map(|due| Share { claimant: due.claimant, slots: 0 }).collect();
        let mut waiting: BinaryHeap<_> =
            due.iter().enumerate().map(|(n, due)| Reverse(self.sort_key(due, n))).collect();
        let mut grants = self.grants;
        for _ in 0..self.free() {
            let Some(Reverse(mut next)) = waiting.pop().filter(|next| next.0.in_use < max_per_claimant)
            else {
                break;
            };
            grants = grants.saturating_add(1);
            (next.in_use, next.last_grant) = (next.in_use + 1, grants);
            shares[next.index].slots += 1;
            waiting.push(Reverse(next));
        }
        shares.retain(|share| share.slots > 0);
        shares
    }

    /// Gives the claimant a slot, even if none is free.
    pub fn grant(&mut self, claimant: K) {
        self.grants = self.grants.saturating_add(1);
        *self.in_use.entry(claimant).or_default() += 1;
        self.last_grant.insert(claimant, self.grants);
    }

    /// Releases a slot of the claimant.
    pub fn release(&mut self, claimant: K) {
        if let Some(slots) = self.in_use.get_mut(&claimant) {
            *slots = slots.saturating_sub(1);
            if *slots == 0 {
                self.in_use.remove(&claimant);
            }
        }
    }

    /// Removes claimants that hold no slot and wait for none.
    pub fn remove_idle(&mut self, due: &[DueClaimant<K>]) {
        let in_use = &self.in_use;
        let is_due = |claimant: &K| due.iter().any(|due| due.claimant == *claimant);
        self.last_grant.retain(|claimant, _| in_use.contains_key(claimant) || is_due(claimant));
    }

    /// The most slots that one claimant can hold.
    fn max_per_claimant(&self) -> usize {
        if self.capacity < RESERVES_FROM { self.capacity } else { self.capacity - 1 }
    }

    fn sort_key(&self, due: &DueClaimant<K>, index: usize) -> SortKey {
        let in_use = self.in_use.get(&due.claimant).copied().unwrap_or_default();
        let last_grant = self.last_grant.get(&due.claimant).copied().unwrap_or_default();
        SortKey { in_use, rank: due.rank, last_grant, index }
    }
}

/// Sort key of a claimant: the lowest is first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    in_use: usize,
    rank: u8,
    last_grant: u64,
    /// Index into `due`.
    index: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(claimant: u8) -> DueClaimant<u8> {
        DueClaimant { claimant, rank: 1 }
    }

    /// The slots of each claimant.
    fn shares(slots: &FairSlots<u8>, due: &[DueClaimant<u8>]) -> Vec<(u8, usize)> {
        slots.distribute(due).into_iter().map(|share| (share.claimant, share.slots)).collect()
    }

    /// Takes all distributed slots.
    fn take_all(slots: &mut FairSlots<u8>, due: &[DueClaimant<u8>]) {
        for share in slots.distribute(due) {
            (0..share.slots).for_each(|_| slots.grant(share.claimant));
        }
    }

    #[test]
    fn single_claimant_gets_all_slots_but_one() {
        let check = |capacity, expected| {
            let shares = shares(&FairSlots::new(capacity), &[due(1)]);
            assert_eq!(shares.iter().map(|(_, share)| *share).sum::<usize>(), expected, "{capacity}");
        };
        check(0, 0);
        check(1, 1);
        check(3, 3);
        check(4, 3);
        check(1024, 1023);
    }

    #[test]
    fn reserved_slot_serves_second_claimant() {
        let mut slots = FairSlots::new(16);
        take_all(&mut slots, &[due(1)]);
        assert_eq!(shares(&slots, &[due(1), due(2)]), [(2, 1)]);
        slots.grant(2);
        assert_eq!(shares(&slots, &[due(1), due(2)]), []);
    }

    #[test]
    fn claimant_with_fewest_slots_gets_the_free_slot() {
        let mut slots = FairSlots::new(8);
        take_all(&mut slots, &[due(1)]);
        slots.grant(2);
        // Seven to one: the second one gets three of the next four, until both hold four.
        for _ in 0..3 {
            slots.release(1);
            assert_eq!(shares(&slots, &[due(1), due(2)]), [(2, 1)]);
            slots.grant(2);
        }
        assert_eq!((slots.in_use[&1], slots.in_use[&2]), (4, 4));
        assert_eq!(slots.free(), 0);
    }

    #[test]
    fn free_slots_are_distributed_evenly() {
        let slots = FairSlots::new(10);
        assert_eq!(shares(&slots, &[due(1), due(2), due(3)]), [(1, 4), (2, 3), (3, 3)]);
    }

    #[test]
    fn lowest_rank_breaks_ties() {
        let last = DueClaimant { rank: 2, ..due(1) };
        let first = DueClaimant { rank: 0, ..due(2) };
        let mut slots = FairSlots::new(1);
        assert_eq!(shares(&slots, &[last, first]), [(2, 1)]);
        // Not when it holds more.
        slots = FairSlots::new(3);
        slots.grant(2);
        assert_eq!(shares(&slots, &[last, first]), [(1, 1), (2, 1)]);
    }

    #[test]
    fn single_slot_rotates_between_claimants() {
        let mut slots = FairSlots::new(1);
        let mut granted = Vec::new();
        let waiting = [due(1), due(2), due(3)];
        for _ in 0..6 {
            let next = slots.distribute(&waiting)[0].claimant;
            granted.push(next);
            slots.grant(next);
            slots.release(next);
            slots.remove_idle(&waiting);
        }
        let round = [1, 2, 3];
        assert_eq!(granted, [round, round].concat());
    }

    #[test]
    fn idle_claimants_are_removed() {
        let mut slots = FairSlots::new(4);
        (1..=3).for_each(|n| slots.grant(n));
        (1..=2).for_each(|n| slots.release(n));
        slots.remove_idle(&[due(1)]);
        let mut claimants: Vec<_> = slots.last_grant.keys().copied().collect();
        claimants.sort();
        assert_eq!((claimants, slots.in_use.len()), (vec![1, 3], 1));
    }
}
