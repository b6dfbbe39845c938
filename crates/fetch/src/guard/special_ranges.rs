//! IP ranges outside the public internet: the registries of special addresses, and cloud metadata services.
//!
//! Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries, IANA IPv6 Address Space; each range names
//! its document. The order matters only for the text: the first range that contains an address names it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::Forbidden;

/// Metadata services, which give cloud machines their credentials. Some have ordinary public or private
/// addresses.
const METADATA: [(IpAddr, &str); 11] = [
    (v4(169, 254, 169, 254), "Amazon EC2, Azure, Google Cloud and most others"),
    (v4(169, 254, 170, 2), "Amazon ECS task credentials"),
    (v4(169, 254, 170, 23), "Amazon EKS Pod Identity"),
    (v4(169, 254, 42, 42), "Scaleway"),
    (v4(168, 63, 129, 16), "Azure WireServer"),
    (v4(100, 100, 100, 200), "Alibaba Cloud"),
    (v4(192, 0, 0, 192), "Oracle Cloud Classic"),
    (v6(0xfd00, 0xec2, 0x254), "Amazon EC2"),
    (v6(0xfd00, 0xec2, 0x23), "Amazon EKS Pod Identity"),
    (v6(0xfd20, 0xce, 0x254), "Google Cloud"),
    (v6(0xfd00, 0x42, 0x42), "Scaleway"),
];

const SPECIAL_V4: [(Ipv4Net, &str, &str); 16] = [
    (net4([0, 0, 0, 0], 32), "unspecified address", "RFC 1122, 3.2.1.3"),
    (net4([0, 0, 0, 0], 8), "this network", "RFC 791, 3.2"),
    (net4([10, 0, 0, 0], 8), "private network", "RFC 1918"),
    (net4([100, 64, 0, 0], 10), "shared address space of a provider", "RFC 6598"),
    (net4([127, 0, 0, 0], 8), "loopback", "RFC 1122, 3.2.1.3"),
    (net4([169, 254, 0, 0], 16), "link-local", "RFC 3927"),
    (net4([172, 16, 0, 0], 12), "private network", "RFC 1918"),
    (net4([192, 0, 0, 0], 24), "protocol assignments", "RFC 6890"),
    (net4([192, 0, 2, 0], 24), "documentation", "RFC 5737"),
    (net4([192, 88, 99, 0], 24), "6to4 relay anycast", "RFC 7526"),
    (net4([192, 168, 0, 0], 16), "private network", "RFC 1918"),
    (net4([198, 18, 0, 0], 15), "benchmarking", "RFC 2544"),
    (net4([198, 51, 100, 0], 24), "documentation", "RFC 5737"),
    (net4([203, 0, 113, 0], 24), "documentation", "RFC 5737"),
    (net4([224, 0, 0, 0], 4), "multicast", "RFC 1112"),
    // Contains 255.255.255.255, the limited broadcast (RFC 919, 7), as well.
    (net4([240, 0, 0, 0], 4), "reserved or broadcast", "RFC 1112; RFC 919"),
];

const SPECIAL_V6: [(Ipv6Net, &str, &str); 17] = [
    (net6([0; 8], 128), "unspecified address", "RFC 4291, 2.5.2"),
    (net6([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback", "RFC 4291, 2.5.3"),
    (net6([0; 8], 96), "IPv4-compatible address", "RFC 4291, 2.5.5.1"),
    (net6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "IPv4-mapped address", "RFC 4291, 2.5.5.2"),
    // Each network chooses how to embed the IPv4 address in this prefix, so it cannot be checked.
    (net6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "local-use IPv4/IPv6 translation", "RFC 8215"),
    (net6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard-only", "RFC 6666"),
    (net6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "Teredo tunnel", "RFC 4380"),
    (net6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), "benchmarking", "RFC 5180"),
    (net6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "protocol assignments", "RFC 2928"),
    (net6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation", "RFC 3849"),
    (net6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4 tunnel", "RFC 3056"),
    (net6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation", "RFC 9637"),
    (net6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing", "RFC 9602"),
    (net6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "unique local address", "RFC 4193"),
    (net6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link-local", "RFC 4291, 2.5.6"),
    (net6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site-local", "RFC 3879"),
    (net6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast", "RFC 4291, 2.7"),
];

/// All IPv6 addresses that are allocated for the public internet. IANA IPv6 Address Space.
const GLOBAL_UNICAST: Ipv6Net = net6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The prefix of public IPv4 addresses in an IPv6-only network: the last 32 bits are the IPv4 address. RFC
/// 6052, 2.1.
const NAT64: Ipv6Net = net6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

const MAPPED_OR_COMPATIBLE: [Ipv6Net; 2] =
    [net6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), net6([0, 0, 0, 0, 0, 0, 0, 0], 96)];

/// Why an address is not on the public internet; `None` if it is.
pub(super) fn forbidden(ip: IpAddr) -> Option<Forbidden> {
    if is_metadata(ip) {
        return Some(Forbidden {
            kind: "metadata service of a cloud",
            source_text: "the cloud's documentation",
        });
    }
    match ip {
        IpAddr::V4(ip) => forbidden_v4(ip),
        IpAddr::V6(ip) if NAT64.contains(&ip) => forbidden_v4(last_32_bits(ip)),
        IpAddr::V6(ip) => forbidden_v6(ip),
    }
}

/// Whether the address is a cloud metadata service, also if the IPv4 address is embedded in an IPv6 one.
pub(super) fn is_metadata(ip: IpAddr) -> bool {
    let plain = match ip {
        IpAddr::V6(ip) if NAT64.contains(&ip) || MAPPED_OR_COMPATIBLE.iter().any(|net| net.contains(&ip)) => {
            IpAddr::V4(last_32_bits(ip))
        }
        other => other,
    };
    METADATA.iter().any(|(metadata, _)| *metadata == plain)
}

fn forbidden_v4(ip: Ipv4Addr) -> Option<Forbidden> {
    let (_, kind, source_text) = SPECIAL_V4.iter().find(|(net, _, _)| net.contains(&ip))?;
    Some(Forbidden { kind, source_text })
}

fn forbidden_v6(ip: Ipv6Addr) -> Option<Forbidden> {
    if let Some((_, kind, source_text)) = SPECIAL_V6.iter().find(|(net, _, _)| net.contains(&ip)) {
        return Some(Forbidden { kind, source_text });
    }
    let public = GLOBAL_UNICAST.contains(&ip);
    (!public).then_some(Forbidden { kind: "not assigned", source_text: "IANA IPv6 Address Space" })
}

fn last_32_bits(ip: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = ip.octets();
    Ipv4Addr::new(a, b, c, d)
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// `first:second::last`, the form all metadata addresses have.
const fn v6(first: u16, second: u16, last: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, last))
}

const fn net4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn net6([a, b, c, d, e, f, g, h]: [u16; 8], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}
