//! The address of the client of a request, also through proxies. D-0100.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

/// Each proxy appends the address of its client.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Entries that are read, from the end: more than the proxies in a row of any deployment. A client that
/// sends a thousand entries makes the server read only these.
const ENTRIES_MAX: usize = 16;

/// Networks of proxies that report their clients correctly. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl From<Vec<IpNet>> for TrustedProxies {
    fn from(networks: Vec<IpNet>) -> Self {
        Self(networks.into_iter().map(canonical).collect())
    }
}

/// Networks of IPv4 written as those of IPv6 (`::ffff:10.0.0.0/104`) become networks of IPv4, as addresses
/// do.
fn canonical(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let mapped = match network {
        IpNet::V6(network) => network.addr().to_ipv4_mapped(),
        IpNet::V4(_) => None,
    };
    let bits = network.prefix_len().checked_sub(MAPPED_BITS);
    let ipv4_network = mapped.zip(bits).and_then(|(address, bits)| Ipv4Net::new(address, bits).ok());
    ipv4_network.map_or(network, IpNet::V4)
}

impl TrustedProxies {
    /// Whether this address, in its canonical form, is that of a trusted proxy.
    fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// The address of the client; `None`: this machine, with no client reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub Option<IpAddr>);

impl ClientAddress {
    /// The address to count a client by. For IPv6 it is the first address of the network of 64 bits: a client
    /// with one address has all of that network (RFC 6177).
    pub fn network(self) -> Option<IpAddr> {
        const HOST_BITS: u32 = 64;
        Some(match self.0? {
            address @ IpAddr::V4(_) => address,
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> HOST_BITS << HOST_BITS).into(),
        })
    }
}

/// The peer of a connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    address: IpAddr,
    /// The trusted proxies, if this peer is one of them.
    proxies: Option<TrustedProxies>,
}

impl Peer {
    pub(super) fn of(address: IpAddr, proxies: &TrustedProxies) -> Self {
        let address = address.to_canonical();
        Self { address, proxies: proxies.contains(address).then(|| proxies.clone()) }
    }

    /// The address whose connections are counted. `None` for loopback and for a proxy, whose connections
    /// belong to many clients.
    pub(super) fn counted_address(&self) -> Option<IpAddr> {
        if self.proxies.is_some() { None } else { self.non_loopback_address().network() }
    }

    /// The client of a request from this peer. With a proxy each request may have another client; from other
    /// peers no header is read.
    pub(super) fn client(&self, headers: &HeaderMap) -> ClientAddress {
        let forwarded = self.proxies.as_ref().and_then(|proxies| self.forwarded_for(proxies, headers));
        forwarded.map_or_else(|| self.non_loopback_address(), |address| ClientAddress(Some(address)))
    }

    /// The last address before the trusted proxies. Entries before it may be forged. If an entry is no
    /// address, the proxy after it counts as the client. `None` without the header.
    fn forwarded_for(&self, proxies: &TrustedProxies, headers: &HeaderMap) -> Option<IpAddr> {
        let mut lines = headers.get_all(FORWARDED_FOR).iter().rev().peekable();
        lines.peek()?;
        // Bytes, because one line has entries of a proxy and of a client, which may not be UTF-8.
        let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        let mut hop = self.address;
        for entry in entries.take(ENTRIES_MAX) {
            let Some(address) = parse_address(entry) else { break };
            hop = address;
            if !proxies.contains(address) {
                break;
            }
        }
        Some(hop)
    }

    /// `None` for loopback: a local proxy without the header stands for all its clients, and a local client
    /// has no limit either.
    fn non_loopback_address(&self) -> ClientAddress {
        ClientAddress((!self.address.is_loopback()).then_some(self.address))
    }
}

/// `203.0.113.1`, `2001:db8::1`, each also with a port, as some proxies write it (RFC 7239, 6, has the same
/// forms).
fn parse_address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim_matches([' ', '\t']);
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn proxies() -> TrustedProxies {
        let networks = ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"];
        networks.map(|network| network.parse().unwrap()).to_vec().into()
    }

    fn client_of(peer: &str, lines: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap());
        }
        let ClientAddress(address) = Peer::of(peer.parse().unwrap(), &proxies()).client(&headers);
        address.map(|address| address.to_string())
    }

    #[test]
    fn client_is_last_untrusted_forwarded_address() {
        let check = |peer: &str, lines: &[&str], client: Option<&str>| {
            let bytes: Vec<_> = lines.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(client_of(peer, &bytes).as_deref(), client, "{peer} {lines:?}");
        };
        // A client that is no trusted proxy may send any header.
        check("198.51.100.7", &[], Some("198.51.100.7"));
        check("198.51.100.7", &["203.0.113.1"], Some("198.51.100.7"));
        check("::ffff:198.51.100.7", &["203.0.113.1"], Some("198.51.100.7"));
        check("127.0.0.2", &["203.0.113.1"], None);
        check("::1", &["203.0.113.1"], None);
        // One proxy, after the entries that its client sent.
        check("10.0.0.1", &["203.0.113.1"], Some("203.0.113.1"));
        check("::ffff:10.0.0.1", &["203.0.113.1"], Some("203.0.113.1"));
        check("127.0.0.1", &["203.0.113.1"], Some("203.0.113.1"));
        check("10.0.0.1", &["192.0.2.9, 10.0.0.5, 203.0.113.1"], Some("203.0.113.1"));
        check("10.0.0.1", &["192.0.2.9", "203.0.113.1"], Some("203.0.113.1"));
        check("10.0.0.1", &["203.0.113.1,192.0.2.9\t"], Some("192.0.2.9"));
        // Several.
        check("10.0.0.1", &["192.0.2.9, 203.0.113.1, fd00::2, 10.9.9.9"], Some("203.0.113.1"));
        check("10.0.0.1", &["192.0.2.9,203.0.113.1", "10.0.0.3", "10.0.0.2"], Some("203.0.113.1"));
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], Some("10.0.0.3"));
        // No header: the proxy itself, or all clients of the local one.
        check("10.0.0.1", &[], Some("10.0.0.1"));
        check("127.0.0.1", &[], None);
        // A local client of the local proxy counts as one client, and no header removes its limit.
        check("127.0.0.1", &["127.0.0.1"], Some("127.0.0.1"));
        check("10.0.0.1", &["127.0.0.9"], Some("127.0.0.9"));
        check("10.0.0.1", &["::1"], Some("::1"));
    }

    #[test]
    fn ipv4_mapped_proxy_networks_match() {
        let check = |network: &str, address: &str, is_trusted: bool| {
            let proxies = TrustedProxies::from(vec![network.parse().unwrap()]);
            let peer = Peer::of(address.parse().unwrap(), &proxies);
            assert_eq!(peer.proxies.is_some(), is_trusted, "{address} of {network}");
        };
        for address in ["10.0.0.1", "::ffff:10.0.0.1"] {
            check("::ffff:10.0.0.0/104", address, true);
            check("::ffff:10.0.0.1/128", address, true);
            check("::ffff:0.0.0.0/96", address, true);
            check("::ffff:10.0.0.2/128", address, false);
            check("::ffff:11.0.0.0/104", address, false);
        }
        check("::ffff:10.0.0.0/104", "fd00::1", false);
        check("::/0", "fd00::1", true);
    }

    #[test]
    fn invalid_forwarded_entry_yields_the_proxy_that_sent_it() {
        for bad in
            ["", "unknown", "_hidden", "203.0.113.1.5", "203.0.113.1:99999", "[203.0.113.1", "a b", "[]:1"]
        {
            let check = |line: String, client: &str| {
                assert_eq!(client_of("10.0.0.1", &[line.as_bytes()]).as_deref(), Some(client), "{line:?}");
            };
            check(bad.to_owned(), "10.0.0.1");
            check(format!("203.0.113.1, {bad}"), "10.0.0.1");
            check(format!("203.0.113.1, {bad}, 10.0.0.2"), "10.0.0.2");
            check(format!("{bad}, 203.0.113.1"), "203.0.113.1");
            assert_eq!(
                client_of("127.0.0.1", &[bad.as_bytes()]).as_deref(),
                Some("127.0.0.1"),
                "{bad:?}: no client is exempt"
            );
        }
        // The bytes of a client may not be UTF-8; they do not hide entries that were appended.
        assert_eq!(client_of("10.0.0.1", &[b"\xff\xfe, 203.0.113.1"]).as_deref(), Some("203.0.113.1"));
        assert_eq!(client_of("10.0.0.1", &[b"203.0.113.1, \xff"]).as_deref(), Some("10.0.0.1"));
    }

    #[test]
    fn forwarded_address_may_have_port_or_ipv4_mapping() {
        let check = |entry: &str, address: &str| {
            assert_eq!(client_of("10.0.0.1", &[entry.as_bytes()]).as_deref(), Some(address), "{entry}");
        };
        check("203.0.113.1:5678", "203.0.113.1");
        check("2001:db8::1", "2001:db8::1");
        check("[2001:db8::1]:443", "2001:db8::1");
        check("[2001:db8::1]", "2001:db8::1");
        check("::ffff:203.0.113.1", "203.0.113.1");
        check("[::ffff:203.0.113.1]:443", "203.0.113.1");
        check("203.0.113.1, ::ffff:10.0.0.2", "203.0.113.1");
        check("203.0.113.1, 10.0.0.2:8080, [fd00::2]:80", "203.0.113.1");
    }

    #[test]
    fn forwarded_entries_are_bounded() {
        let behind = |proxies: usize| format!("203.0.113.1{}", ", 10.0.0.2".repeat(proxies));
        let check = |proxies: usize, client: &str| {
            let line = behind(proxies);
            assert_eq!(client_of("10.0.0.1", &[line.as_bytes()]).as_deref(), Some(client), "{proxies}");
        };
        check(ENTRIES_MAX - 1, "203.0.113.1");
        check(ENTRIES_MAX, "10.0.0.2");
        check(1000, "10.0.0.2");
    }

    #[test]
    fn connections_of_proxies_are_not_counted() {
        let check = |peer: &str, counted: Option<&str>| {
            let address = Peer::of(peer.parse().unwrap(), &proxies()).counted_address();
            assert_eq!(address.map(|address| address.to_string()).as_deref(), counted, "{peer}");
        };
        check("198.51.100.7", Some("198.51.100.7"));
        check("::ffff:198.51.100.7", Some("198.51.100.7"));
        check("2001:db8::1", Some("2001:db8::"));
        check("2001:db8:0:1:2:3:4:5", Some("2001:db8:0:1::"));
        check("10.0.0.1", None);
        check("::ffff:10.0.0.1", None);
        check("fd00::1", None);
        check("127.0.0.1", None);
        check("127.0.0.2", None);
        check("::1", None);
        let untrusted = Peer::of([10, 0, 0, 1].into(), &TrustedProxies::default());
        assert_eq!(untrusted.counted_address(), Some([10, 0, 0, 1].into()));
    }
}
