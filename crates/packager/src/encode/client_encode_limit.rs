//! Limits on concurrent encodes of segments and images, for each client address and each playback ID.
//!
//! Only an encode counts, and only for the request that started it: joining a run is free. So one script
//! over public playback IDs does not take all cores. M-32.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::PlaybackId;
use tokio::sync::Notify;

/// Segments encoded at once for one client address: enough for a household that seeks, not for a script.
pub(super) const PER_ADDRESS_MAX: usize = 8;
/// Segments encoded at once for one playback ID: enough for a group of viewers who all seek.
pub(super) const PER_PLAYBACK_ID_MAX: usize = 32;

/// The requester of a segment or image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaybackClient {
    /// The playback ID that is being watched.
    pub playback: PlaybackId,
    /// Client address; `None` if it is unknown, or is that of a proxy.
    pub address: Option<IpAddr>,
}

impl PlaybackClient {
    /// The unit of the limit: an IPv4 address, or an IPv6 network of 64 bits, because the owner of one
    /// address has the whole network (RFC 4291, 2.5.4).
    pub(crate) fn address_block(&self) -> Option<IpAddr> {
        self.address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Mask of the network bits of an IPv6 address.
const NETWORK: u128 = u128::MAX << 64;

/// The permits in use; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientEncodeLimit(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    in_use: Mutex<InUse>,
    /// Notified when a permit is returned.
    freed: Notify,
}

#[derive(Debug, Default)]
struct InUse {
    addresses: HashMap<IpAddr, usize>,
    playbacks: HashMap<PlaybackId, usize>,
}

/// A permit for one encode of a segment or image, returned when dropped.
#[derive(Debug)]
pub(crate) struct ClientEncodePermit {
    client_encode_limit: ClientEncodeLimit,
    address_block: Option<IpAddr>,
    playback: PlaybackId,
}

impl ClientEncodeLimit {
    /// Waits for a permit. Cancel safe.
    pub(super) async fn acquire(&self, client: PlaybackClient) -> ClientEncodePermit {
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // From here on no returned permit is missed.
            freed.as_mut().enable();
            if let Some(permit) = self.try_acquire(client) {
                return permit;
            }
            freed.await;
        }
    }

    /// A permit, if one is free.
    pub(super) fn try_acquire(&self, client: PlaybackClient) -> Option<ClientEncodePermit> {
        let mut in_use = self.0.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let InUse { addresses, playbacks } = &mut *in_use;
        let address_block = client.address_block();
        let address_count = address_block.and_then(|address| addresses.get(&address)).copied().unwrap_or(0);
        let playback_count = playbacks.get(&client.playback).copied().unwrap_or(0);
        if address_count >= PER_ADDRESS_MAX || playback_count >= PER_PLAYBACK_ID_MAX {
            return None;
        }
        if let Some(address) = address_block {
            addresses.insert(address, address_count + 1);
        }
        playbacks.insert(client.playback, playback_count + 1);
        Some(ClientEncodePermit {
            client_encode_limit: self.clone(),
            address_block,
            playback: client.playback,
        })
    }
}

impl Drop for ClientEncodePermit {
    fn drop(&mut self) {
        let mut in_use = self.client_encode_limit.0.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = self.address_block {
            release(&mut in_use.addresses, address);
        }
        release(&mut in_use.playbacks, self.playback);
        drop(in_use);
        self.client_encode_limit.0.freed.notify_waiters();
    }
}

fn release<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn on_demand_client(playback: u8, address: Option<u8>) -> PlaybackClient {
        let playback = format!("019a4946-bdd3-4001-8203-0405060708{playback:02x}").parse().unwrap();
        PlaybackClient { playback, address: address.map(|last| IpAddr::from([192, 0, 2, last])) }
    }

    fn at_once(limit: &ClientEncodeLimit, client: PlaybackClient) -> Option<ClientEncodePermit> {
        limit.acquire(client).now_or_never()
    }

    #[test]
    fn on_demand_limit_applies_per_address() {
        let limit = ClientEncodeLimit::default();
        let enter = |playback, address| at_once(&limit, on_demand_client(playback, Some(address)));
        let mut permits: Vec<_> = (0..8).map(|playback| enter(playback, 1).unwrap()).collect();
        let mut waiting = pin!(limit.acquire(on_demand_client(9, Some(1))));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(enter(9, 2).is_some(), "another one has its own");
        permits.pop();
        assert!(waiting.now_or_never().is_some());
    }

    #[test]
    fn cancelled_wait_takes_no_permit() {
        let limit = ClientEncodeLimit::default();
        let permits: Vec<_> =
            (0..8).map(|n| at_once(&limit, on_demand_client(n, Some(1))).unwrap()).collect();
        assert!(at_once(&limit, on_demand_client(9, Some(1))).is_none());
        drop(permits);
        assert!(
            (0..8)
                .map(|n| at_once(&limit, on_demand_client(n, Some(1))))
                .collect::<Vec<_>>()
                .iter()
                .all(Option::is_some)
        );
    }

    #[test]
    fn ipv6_64_network_counts_as_one_client() {
        let of = |address: &str| {
            PlaybackClient { address: Some(address.parse().unwrap()), ..on_demand_client(1, None) }
                .address_block()
        };
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(on_demand_client(1, None).address_block(), None);
    }

    #[test]
    fn on_demand_limit_applies_per_playback_id() {
        let limit = ClientEncodeLimit::default();
        let permits: Vec<_> = (0..32).map(|_| at_once(&limit, on_demand_client(1, None)).unwrap()).collect();
        assert!(at_once(&limit, on_demand_client(1, None)).is_none());
        assert!(at_once(&limit, on_demand_client(2, None)).is_some());
        drop(permits);
        assert!(at_once(&limit, on_demand_client(1, None)).is_some());
        let left = limit.0.in_use.lock().unwrap();
        assert!(left.playbacks.is_empty() && left.addresses.is_empty());
    }
}
