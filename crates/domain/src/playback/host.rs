//! Hosts of pages, and what a rule on them names (C-12).

use std::fmt;

/// The host of a page, in the one form in which it is compared: lower case, punycode, without the dot of the
/// root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHost(url::Host<String>);

/// Longest scheme and authority that is looked at, in bytes: a host has 253, and whoever sends more has
/// something else in mind than a page.
const ORIGIN_BYTES_MAX: usize = 512;

impl PageHost {
    /// The host of an address, or of the value of an `Origin` header; what stands behind it is not looked at.
    ///
    /// `None` for `null` (RFC 6454, 7.3) and for what has no host.
    pub fn of_address(text: &str) -> Option<Self> {
        let authority = text.find("://")? + "://".len();
        // A backslash ends it too, for browsers take it for a slash (WHATWG URL, 4.4).
        let end = text[authority..].find(['/', '\\', '?', '#']).map_or(text.len(), |end| authority + end);
        if end > ORIGIN_BYTES_MAX {
            return None;
        }
        let address = url::Url::parse(&text[..end]).ok()?;
        Self::parse(address.host_str()?)
    }

    /// A host in any spelling: IDNA-normalised (UTS 46). One that is longer than names can be is none.
    fn parse(text: &str) -> Option<Self> {
        let host = match url::Host::parse(text).ok()? {
            url::Host::Domain(name) => url::Host::Domain(name.strip_suffix('.').unwrap_or(&name).to_owned()),
            address => address,
        };
        let is_too_long = matches!(&host, url::Host::Domain(name) if name.len() > NAME_BYTES_MAX);
        (!is_too_long).then_some(Self(host))
    }
}

/// The page that our own player page stands on, as the request for it told: its host, where it told one.
///
/// The player page's own requests come from itself; this is what they carry to be held against the rule of
/// another moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame(pub Option<PageHost>);

impl Frame {
    /// The longest text of one, in bytes.
    pub const LEN_MAX: usize = NAME_BYTES_MAX;

    /// What its text says; what is none of ours names nobody.
    pub fn of_text(text: &str) -> Self {
        Self((text.len() <= Self::LEN_MAX).then(|| PageHost::parse(text)).flatten())
    }
}

/// The host in its one form; empty where none was told.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(PageHost(host)) => host.fmt(f),
            None => Ok(()),
        }
    }
}

/// What an entry of a rule names: a host with its sub-domains, or these alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: url::Host<String>,
    is_below_only: bool,
}

/// Longest name, and longest part of one between its dots, in bytes (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

impl HostPattern {
    /// `example.com` or `*.example.com`, in any alphabet, or an IP address. `None` for everything else, which
    /// no page could have: a scheme, a port, a path, a further star, a list, an empty part, an address with
    /// something below it.
    pub fn parse(entry: &str) -> Option<Self> {
        let (host, is_below_only) = match entry.strip_prefix("*.") {
            Some(host) => (host, true),
            None => (entry, false),
        };
        // A star is taken for a letter below, and percents are decoded: hosts of pages have neither.
        if host.contains(['*', '%']) {
            return None;
        }
        let PageHost(host) = PageHost::parse(host)?;
        let is_host = match &host {
            url::Host::Domain(name) => is_name(name),
            url::Host::Ipv4(_) | url::Host::Ipv6(_) => !is_below_only,
        };
        is_host.then_some(Self { host, is_below_only })
    }

    /// Whether it names this host. An IP address has no sub-domains.
    pub fn matches(&self, PageHost(host): &PageHost) -> bool {
        if let (url::Host::Domain(named), url::Host::Domain(host)) = (&self.host, host)
            && host.strip_suffix(named.as_str()).is_some_and(|below| below.ends_with('.'))
        {
            return true;
        }
        !self.is_below_only && self.host == *host
    }

    /// As source expressions of a content security policy, of any port and with or without TLS: `http:`
    /// matches `https:` too, and one without a scheme that of the page alone that has the policy (CSP 3,
    /// 6.7.2.8). There is none that names both a host and what is below it. `None` where none can name it:
    /// those have letters, digits, `-` and dots alone (CSP 3, 2.3.1), so no `_` and no IPv6 address.
    pub fn to_sources(&self) -> Option<Vec<String>> {
        let has_name = match &self.host {
            url::Host::Domain(name) => !name.contains('_'),
            url::Host::Ipv4(_) => true,
            url::Host::Ipv6(_) => false,
        };
        let below = matches!(self.host, url::Host::Domain(_)).then(|| format!("http://*.{}:*", self.host));
        let itself = (!self.is_below_only).then(|| format!("http://{}:*", self.host));
        has_name.then(|| itself.into_iter().chain(below).collect())
    }
}

/// Whether a name that was normalised is one that a host can have. With `_`, which names of hosts have though
/// they should not (RFC 1123, 2.1).
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_label = |label: &str| (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.bytes().all(is_letter);
    name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_page_has_one_form() {
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
    fn an_entry_names_a_host_with_what_is_below_it_or_that_alone() {
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
        let refused = lists.into_iter().chain(empty).chain(below_addresses).chain(others);
        for none in refused {
            assert_eq!(HostPattern::parse(none), None, "{none}");
        }
    }

    #[test]
    fn a_name_has_253_bytes_and_each_part_63() {
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
        // As they are written in the name system: xn--bcher-kva and more.
        check(&format!("{}.example", "ü".repeat(50)), true);
        check(&format!("{}.example", "ü".repeat(63)), false);
    }

    #[test]
    fn a_policy_of_a_page_names_both() {
        let check = |entry: &str, sources: &[&str]| {
            assert_eq!(HostPattern::parse(entry).unwrap().to_sources().unwrap(), sources, "{entry}");
        };
        check("Bücher.example", &["http://xn--bcher-kva.example:*", "http://*.xn--bcher-kva.example:*"]);
        check("*.example.com", &["http://*.example.com:*"]);
        check("192.0.2.7", &["http://192.0.2.7:*"]);
        for none in ["under_score.example", "*.under_score.example", "[2001:db8::1]"] {
            assert_eq!(HostPattern::parse(none).unwrap().to_sources(), None, "{none}");
        }
    }
}
