//! The admission rule: the next place goes to the claimant that holds the fewest.
//!
//! A single claimant gets all places but one. With fewer than [`RESERVES_FROM`] places it gets all of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// From this capacity on, one place is reserved for a claimant that holds none.
const RESERVES_FROM: usize = 4;

/// A claimant with work to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due<K> {
    /// Who.
    pub claimant: K,
    /// Breaks ties between claimants that hold equally many places: the lowest rank is first.
    pub rank: u8,
}

/// How many places a claimant may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share<K> {
    /// Who.
    pub claimant: K,
    /// At least one.
    pub places: usize,
}

/// The places that each claimant holds.
#[derive(Debug)]
pub struct Places<K> {
    capacity: usize,
    held: HashMap<K, usize>,
    /// The value of `given` when a claimant last got a place. Breaks ties: the claimant served longest ago is
    /// first.
    served: HashMap<K, u64>,
    given: u64,
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// `capacity` free places.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, held: HashMap::new(), served: HashMap::new(), given: 0 }
    }

    /// Places that the claimant holds.
    pub fn held(&self, claimant: &K) -> usize {
        self.held.get(claimant).copied().unwrap_or_default()
    }

    /// Free places.
    pub fn free(&self) -> usize {
        self.capacity.saturating_sub(self.held.values().sum())
    }

    /// Distributes the free places one at a time: to the claimant that holds the fewest, then by rank, then
    /// by the time it was last served. `due` has each claimant once. Call again if a claimant used fewer.
    pub fn share_out(&self, due: &[Due<K>]) -> Vec<Share<K>> {
        let most = self.most_of_one();
        let mut shares: Vec<_> = due.iter().map(|due| Share { claimant: due.claimant, places: 0 }).collect();
        let mut waiting: BinaryHeap<_> =
            due.iter().enumerate().map(|(n, due)| Reverse(self.turn(due, n))).collect();
        let mut given = self.given;
        for _ in 0..self.free() {
            let Some(Reverse(mut next)) = waiting.pop().filter(|next| next.0.held < most) else { break };
            given = given.saturating_add(1);
            (next.held, next.served) = (next.held + 1, given);
            shares[next.n].places += 1;
            waiting.push(Reverse(next));
        }
        shares.retain(|share| share.places > 0);
        shares
    }

    /// The claimant takes a place, even if none is free.
    pub fn enter(&mut self, claimant: K) {
        self.given = self.given.saturating_add(1);
        *self.held.entry(claimant).or_default() += 1;
        self.served.insert(claimant, self.given);
    }

    /// The claimant releases a place.
    pub fn leave(&mut self, claimant: K) {
        if let Some(held) = self.held.get_mut(&claimant) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(&claimant);
            }
        }
    }

    /// Removes claimants that hold no place and wait for none.
    pub fn forget_idle(&mut self, due: &[Due<K>]) {
        let held = &self.held;
        let is_due = |claimant: &K| due.iter().any(|due| due.claimant == *claimant);
        self.served.retain(|claimant, _| held.contains_key(claimant) || is_due(claimant));
    }

    /// The most places that one claimant can hold.
    fn most_of_one(&self) -> usize {
        if self.capacity < RESERVES_FROM { self.capacity } else { self.capacity - 1 }
    }

    fn turn(&self, due: &Due<K>, n: usize) -> Turn {
        let held = self.held.get(&due.claimant).copied().unwrap_or_default();
        let served = self.served.get(&due.claimant).copied().unwrap_or_default();
        Turn { held, rank: due.rank, served, n }
    }
}

/// Sort key of a claimant: the lowest is first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    held: usize,
    rank: u8,
    served: u64,
    /// Index into `due`.
    n: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(claimant: u8) -> Due<u8> {
        Due { claimant, rank: 1 }
    }

    /// Places for each claimant.
    fn shares(places: &Places<u8>, due: &[Due<u8>]) -> Vec<(u8, usize)> {
        places.share_out(due).into_iter().map(|share| (share.claimant, share.places)).collect()
    }

    /// Takes all distributed places.
    fn enter_all(places: &mut Places<u8>, due: &[Due<u8>]) {
        for share in places.share_out(due) {
            (0..share.places).for_each(|_| places.enter(share.claimant));
        }
    }

    #[test]
    fn a_lone_claimant_gets_all_places_but_one_and_all_of_a_small_lane() {
        let check = |capacity, expected| {
            let shares = shares(&Places::new(capacity), &[due(1)]);
            assert_eq!(shares.iter().map(|(_, share)| *share).sum::<usize>(), expected, "{capacity}");
        };
        check(0, 0);
        check(1, 1);
        check(3, 3);
        check(4, 3);
        check(1024, 1023);
    }

    #[test]
    fn the_first_place_of_another_claimant_is_free() {
        let mut places = Places::new(16);
        enter_all(&mut places, &[due(1)]);
        assert_eq!(shares(&places, &[due(1), due(2)]), [(2, 1)]);
        places.enter(2);
        assert_eq!(shares(&places, &[due(1), due(2)]), []);
    }

    #[test]
    fn a_free_place_goes_to_whoever_holds_fewest() {
        let mut places = Places::new(8);
        enter_all(&mut places, &[due(1)]);
        places.enter(2);
        // Seven to one: the second one gets three of the next four, until both hold four.
        for _ in 0..3 {
            places.leave(1);
            assert_eq!(shares(&places, &[due(1), due(2)]), [(2, 1)]);
            places.enter(2);
        }
        assert_eq!((places.held[&1], places.held[&2]), (4, 4));
        assert_eq!(places.free(), 0);
    }

    #[test]
    fn several_free_places_are_shared_out_evenly() {
        let places = Places::new(10);
        assert_eq!(shares(&places, &[due(1), due(2), due(3)]), [(1, 4), (2, 3), (3, 3)]);
    }

    #[test]
    fn of_those_that_hold_as_few_the_lowest_rank_goes_first() {
        let last = Due { rank: 2, ..due(1) };
        let first = Due { rank: 0, ..due(2) };
        let mut places = Places::new(1);
        assert_eq!(shares(&places, &[last, first]), [(2, 1)]);
        // Not when it holds more.
        places = Places::new(3);
        places.enter(2);
        assert_eq!(shares(&places, &[last, first]), [(1, 1), (2, 1)]);
    }

    #[test]
    fn one_place_goes_round() {
        let mut places = Places::new(1);
        let mut order = Vec::new();
        let waiting = [due(1), due(2), due(3)];
        for _ in 0..6 {
            let next = places.share_out(&waiting)[0].claimant;
            order.push(next);
            places.enter(next);
            places.leave(next);
            places.forget_idle(&waiting);
        }
        let round = [1, 2, 3];
        assert_eq!(order, [round, round].concat());
    }

    #[test]
    fn nothing_is_remembered_of_claimants_without_work() {
        let mut places = Places::new(4);
        (1..=3).for_each(|n| places.enter(n));
        (1..=2).for_each(|n| places.leave(n));
        places.forget_idle(&[due(1)]);
        let mut known: Vec<_> = places.served.keys().copied().collect();
        known.sort();
        assert_eq!((known, places.held.len()), (vec![1, 3], 1));
    }
}
