//! Hosts of pages, and the entries of domain restrictions (C-12).

use std::fmt;

/// The host of a page, normalised for comparison: lower case, punycode, without the dot of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHost(url::Host<String>);

/// Longest scheme and authority that is parsed, in bytes. A host has at most 253; no real page has a longer
/// origin.
const ORIGIN_BYTES_MAX: usize = 512;

impl PageHost {
    /// The host of an address, or of the value of an `Origin` header; path, query and fragment are ignored.
    ///
    /// `None` for `null` (RFC 6454, 7.3) and for a text without a host.
    pub fn of_address(text: &str) -> Option<Self> {
        let authority = text.find("://")? + "://".len();
        // A backslash ends it too: browsers treat it as a slash (WHATWG URL, 4.4).
        let end = text[authority..].find(['/', '\\', '?', '#']).map_or(text.len(), |end| authority + end);
        if end > ORIGIN_BYTES_MAX {
            return None;
        }
        let address = url::Url::parse(&text[..end]).ok()?;
        Self::parse(address.host_str()?)
    }

    /// Parses a host in any spelling: IDNA-normalised (UTS 46). `None` if the name is too long.
    fn parse(text: &str) -> Option<Self> {
        let host = match url::Host::parse(text).ok()? {
            url::Host::Domain(name) => url::Host::Domain(name.strip_suffix('.').unwrap_or(&name).to_owned()),
            address => address,
        };
        let is_too_long = matches!(&host, url::Host::Domain(name) if name.len() > NAME_BYTES_MAX);
        (!is_too_long).then_some(Self(host))
    }
}

/// The page that embeds our player page: its host, if the request for the player page reported one.
///
/// Later requests of the player page have the player page as their origin. They carry this value, so that
/// each of them is checked against the restrictions too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingPage(pub Option<PageHost>);

impl EmbeddingPage {
    /// Longest text of an embedding page, in bytes.
    pub const LEN_MAX: usize = NAME_BYTES_MAX;

    /// Parses the text; an invalid one gives a page without a host.
    pub fn from_text(text: &str) -> Self {
        Self((text.len() <= Self::LEN_MAX).then(|| PageHost::parse(text)).flatten())
    }
}

/// The normalised host; empty if there is none.
impl fmt::Display for EmbeddingPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(PageHost(host)) => host.fmt(f),
            None => Ok(()),
        }
    }
}

/// An entry of a domain restriction: a host with its sub-domains, or only the sub-domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: url::Host<String>,
    subdomains_only: bool,
}

/// Longest name, and longest label of a name, in bytes (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

impl HostPattern {
    /// Parses `example.com` or `*.example.com`, in any alphabet, or an IP address. `None` for all other
    /// texts, because no page has such a host: a scheme, a port, a path, a second star, a list, an empty
    /// label, a star before an IP address.
    pub fn parse(entry: &str) -> Option<Self> {
        let (host, subdomains_only) = match entry.strip_prefix("*.") {
            Some(host) => (host, true),
            None => (entry, false),
        };
        // The parser below accepts a star as a letter and decodes percents; hosts of pages have neither.
        if host.contains(['*', '%']) {
            return None;
        }
        let PageHost(host) = PageHost::parse(host)?;
        let is_host = match &host {
            url::Host::Domain(name) => is_name(name),
            url::Host::Ipv4(_) | url::Host::Ipv6(_) => !subdomains_only,
        };
        is_host.then_some(Self { host, subdomains_only })
    }

    /// Whether it matches this host. An IP address has no sub-domains.
    pub fn matches(&self, PageHost(host): &PageHost) -> bool {
        if let (url::Host::Domain(pattern), url::Host::Domain(host)) = (&self.host, host)
            && host.strip_suffix(pattern.as_str()).is_some_and(|subdomain| subdomain.ends_with('.'))
        {
            return true;
        }
        !self.subdomains_only && self.host == *host
    }

    /// The source expressions of a content security policy, for any port and with or without TLS. `http:`
    /// matches `https:` too; without a scheme, only the scheme of the page with the policy matches (CSP 3,
    /// 6.7.2.8). No single expression matches both a host and its sub-domains. `None` if no expression can
    /// match the host: expressions have only letters, digits, `-` and dots (CSP 3, 2.3.1), so no `_` and no
    /// IPv6 address.
    pub fn to_csp_sources(&self) -> Option<Vec<String>> {
        let has_name = match &self.host {
            url::Host::Domain(name) => !name.contains('_'),
            url::Host::Ipv4(_) => true,
            url::Host::Ipv6(_) => false,
        };
        let subdomains =
            matches!(self.host, url::Host::Domain(_)).then(|| format!("http://*.{}:*", self.host));
        let itself = (!self.subdomains_only).then(|| format!("http://{}:*", self.host));
        has_name.then(|| itself.into_iter().chain(subdomains).collect())
    }
}

/// Whether a normalised name is a valid host name. `_` is accepted: hosts have it although they should not
/// (RFC 1123, 2.1).
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_label = |label: &str| (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(is_letter);
    name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_host_is_normalized() {
        let check = |address: &str, host: Option<&str>| {
            let found = PageHost::of_address(address).map(|PageHost(host)| host.to_string());
            assert_eq!(found.as_deref(), host, "{address}");
        };
        check("https://shop.example", Some("shop.example"));
        check("https://SHOP.Example.:8443", Some("shop.example"));
        check("http://Bücher.example/a?b#c", Some("xn--bcher-kva.example"));
        check("http://xn--bcher-kva.example", Some("xn--bcher-kva.example"));
        check("https://b\u{fc}cher\u{3002}example", Some("xn--bcher-kva.example"));
        check("https://evil.example\\@shop.example/", Some("evil.example"));
        check("https://shop.example@evil.example/", Some("evil.example"));
        check("https://evil.example?https://shop.example", Some("evil.example"));
        check("http://0x7f.1", Some("127.0.0.1"));
        check("http://[2001:DB8:0::1]:80", Some("[2001:db8::1]"));
        check("capacitor://LOCALHOST", Some("localhost"));
        for none in ["null", "", "shop.example", "https://", "file:///a", "data:text/html,x", "https://a b"] {
            check(none, None);
        }
        check(&format!("https://{}.example", "a".repeat(ORIGIN_BYTES_MAX)), None);
        check(&format!("https://shop.example/{}", "a".repeat(60_000)), Some("shop.example"));
    }

    #[test]
    fn host_pattern_matches_subdomains() {
        let check = |entry: &str, address: &str, matches: bool| {
            let host = PageHost::of_address(address).unwrap();
            assert_eq!(HostPattern::parse(entry).unwrap().matches(&host), matches, "{entry} {address}");
        };
        for address in ["https://example.com", "https://www.EXAMPLE.com:1", "https://a.b.example.com./"] {
            check("example.com", address, true);
            check("Example.COM.", address, true);
        }
        for other in
            ["https://notexample.com", "https://example.com.evil.org", "https://com", "https://1.2.3.4"]
        {
            check("example.com", other, false);
            check("*.example.com", other, false);
        }
        check("*.example.com", "https://example.com", false);
        check("*.example.com", "https://www.example.com", true);
        check("bücher.example", "https://www.xn--bcher-kva.example", true);
        check("xn--bcher-kva.example", "https://BÜCHER.example", true);
        check("192.0.2.7", "http://192.0.2.7:80", true);
        check("192.0.2.7", "http://1.192.0.2.7.example", false);
        check("[2001:db8::1]", "http://[2001:db8:0:0::1]", true);
        check("under_score.example", "https://under_score.example", true);
        for none in ["", "*", "*.", "*.*.a", "a.*.b", "https://a", "a/b", "a:1", "a%2eb", "u@a"] {
            assert_eq!(HostPattern::parse(none), None, "{none}");
        }
        let lists =
            ["a.example,b.example", "a.example;b.example", "a.example b.example", "'none'", "\"a.example\""];
        let empty = [".a.example", "*..a.example", "a..example", "a.example..", "."];
        let below_addresses = ["*.192.0.2.7", "*.[2001:db8::1]", "*.0x7f.1"];
        let others =
            ["a~b.example", "a!.example", "(a).example", "a&b", "a=b", "`a`", "{a}", "$a", "a+b.example"];
        let rejected = lists.into_iter().chain(empty).chain(below_addresses).chain(others);
        for none in rejected {
            assert_eq!(HostPattern::parse(none), None, "{none}");
        }
    }

    #[test]
    fn host_name_has_253_bytes_and_each_label_63() {
        let check = |entry: &str, is_host: bool| {
            assert_eq!(HostPattern::parse(entry).is_some(), is_host, "{entry}");
        };
        let label = "a".repeat(63);
        check(&format!("{label}.example"), true);
        check(&format!("a{label}.example"), false);
        let long = [&*label, &*label, &*label, &"b".repeat(61)].join(".");
        assert_eq!(long.len(), 253);
        check(&long, true);
        check(&format!("*.{long}."), true);
        check(&format!("{long}b"), false);
        // The limit applies to the encoded form: xn--bcher-kva and longer.
        check(&format!("{}.example", "ü".repeat(50)), true);
        check(&format!("{}.example", "ü".repeat(63)), false);
    }

    #[test]
    fn host_pattern_gives_csp_sources() {
        let check = |entry: &str, sources: &[&str]| {
            assert_eq!(HostPattern::parse(entry).unwrap().to_csp_sources().unwrap(), sources, "{entry}");
        };
        check("Bücher.example", &["http://xn--bcher-kva.example:*", "http://*.xn--bcher-kva.example:*"]);
        check("*.example.com", &["http://*.example.com:*"]);
        check("192.0.2.7", &["http://192.0.2.7:*"]);
        for none in ["under_score.example", "*.under_score.example", "[2001:db8::1]"] {
            assert_eq!(HostPattern::parse(none).unwrap().to_csp_sources(), None, "{none}");
        }
    }
}
