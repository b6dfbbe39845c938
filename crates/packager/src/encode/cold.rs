//! How many segments and pictures are made at once because one viewer asks, or because of one playback ID.
//!
//! Only what has to be made counts, and only for the one who began it: whoever joins costs nothing. So one
//! script over public playback IDs does not take all cores. M-32.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::PlaybackId;
use tokio::sync::Notify;

/// Segments that one client address has being made at once: a household that seeks, not a script.
pub(super) const PER_ADDRESS_MAX: usize = 8;
/// Segments that are being made at once for one playback ID: a room of viewers who all seek.
pub(super) const PER_PLAYBACK_MAX: usize = 32;

/// For whom a segment or a picture is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// What is being watched.
    pub playback: PlaybackId,
    /// Whence; `None` where that is not known, or where a proxy stands.
    pub address: Option<IpAddr>,
}

impl Asker {
    /// Who counts as one: an address of IPv4, or a network of IPv6 of 64 bits, in which whoever has one
    /// address has all of them (RFC 4291, 2.5.4).
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// The bits of a network of IPv6.
const NETWORK: u128 = u128::MAX << 64;

/// The places that are taken; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Cold(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<Held>,
    /// Notified when a place is given back.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    addresses: HashMap<IpAddr, usize>,
    playbacks: HashMap<PlaybackId, usize>,
}

/// A place for one segment or picture that is made, given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    cold: Cold,
    client: Option<IpAddr>,
    playback: PlaybackId,
}

impl Cold {
    /// Waits for a place. Cancel safe.
    pub(super) async fn enter(&self, asker: Asker) -> Place {
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // From here on nothing that is given back is missed.
            freed.as_mut().enable();
            if let Some(place) = self.try_enter(asker) {
                return place;
            }
            freed.await;
        }
    }

    /// A place, if one is free.
    pub(super) fn try_enter(&self, asker: Asker) -> Option<Place> {
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { addresses, playbacks } = &mut *held;
        let client = asker.client();
        let of_address = client.and_then(|address| addresses.get(&address)).copied().unwrap_or(0);
        let of_playback = playbacks.get(&asker.playback).copied().unwrap_or(0);
        if of_address >= PER_ADDRESS_MAX || of_playback >= PER_PLAYBACK_MAX {
            return None;
        }
        if let Some(address) = client {
            addresses.insert(address, of_address + 1);
        }
        playbacks.insert(asker.playback, of_playback + 1);
        Some(Place { cold: self.clone(), client, playback: asker.playback })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.cold.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = self.client {
            give_back(&mut held.addresses, address);
        }
        give_back(&mut held.playbacks, self.playback);
        drop(held);
        self.cold.0.freed.notify_waiters();
    }
}

fn give_back<K: Hash + Eq>(held: &mut HashMap<K, usize>, key: K) {
    if let Some(count) = held.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            held.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn asker(playback: u8, address: Option<u8>) -> Asker {
        let playback = format!("019a4946-bdd3-4001-8203-0405060708{playback:02x}").parse().unwrap();
        Asker { playback, address: address.map(|last| IpAddr::from([192, 0, 2, last])) }
    }

    fn at_once(cold: &Cold, asker: Asker) -> Option<Place> {
        cold.enter(asker).now_or_never()
    }

    #[test]
    fn one_address_has_few_places_whatever_it_watches_and_waits_for_another() {
        let cold = Cold::default();
        let enter = |playback, address| at_once(&cold, asker(playback, Some(address)));
        let mut held: Vec<_> = (0..8).map(|playback| enter(playback, 1).unwrap()).collect();
        let mut waiting = pin!(cold.enter(asker(9, Some(1))));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(enter(9, 2).is_some(), "another one has its own");
        held.pop();
        assert!(waiting.now_or_never().is_some());
    }

    #[test]
    fn a_request_that_no_longer_waits_takes_no_place() {
        let cold = Cold::default();
        let held: Vec<_> = (0..8).map(|n| at_once(&cold, asker(n, Some(1))).unwrap()).collect();
        assert!(at_once(&cold, asker(9, Some(1))).is_none());
        drop(held);
        assert!(
            (0..8).map(|n| at_once(&cold, asker(n, Some(1)))).collect::<Vec<_>>().iter().all(Option::is_some)
        );
    }

    #[test]
    fn all_addresses_of_a_network_of_ipv6_are_one() {
        let of = |address: &str| Asker { address: Some(address.parse().unwrap()), ..asker(1, None) }.client();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(asker(1, None).client(), None);
    }

    #[test]
    fn one_playback_id_has_some_places_whoever_watches() {
        let cold = Cold::default();
        let held: Vec<_> = (0..32).map(|_| at_once(&cold, asker(1, None)).unwrap()).collect();
        assert!(at_once(&cold, asker(1, None)).is_none());
        assert!(at_once(&cold, asker(2, None)).is_some());
        drop(held);
        assert!(at_once(&cold, asker(1, None)).is_some());
        let left = cold.0.held.lock().unwrap();
        assert!(left.playbacks.is_empty() && left.addresses.is_empty());
    }
}
