use super::*;

fn networks(texts: &[&str]) -> Vec<IpNet> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn check(ip: &str, expected: Option<&str>) {
    let found = Guard::default().check(ip.parse().unwrap()).err();
    assert_eq!(found.map(|forbidden| forbidden.kind), expected, "{ip}");
}

fn check_opened(allowed: &[&str], ip: &str, expected: bool) {
    let found = Guard::new(networks(allowed)).check(ip.parse().unwrap()).is_ok();
    assert_eq!(found, expected, "{ip} with {allowed:?}");
}

/// First and last address of every range, and its public neighbours if any.
#[test]
fn reserved_ipv4_ranges_are_rejected_at_both_ends() {
    for (first, last, kind) in [
        ("0.0.0.1", "0.255.255.255", "this network"),
        ("10.0.0.0", "10.255.255.255", "private network"),
        ("100.64.0.0", "100.127.255.255", "shared address space of a provider"),
        ("127.0.0.0", "127.255.255.255", "loopback"),
        ("169.254.0.0", "169.254.255.255", "link-local"),
        ("172.16.0.0", "172.31.255.255", "private network"),
        ("192.0.0.0", "192.0.0.255", "protocol assignments"),
        ("192.0.2.0", "192.0.2.255", "documentation"),
        ("192.88.99.0", "192.88.99.255", "6to4 relay anycast"),
        ("192.168.0.0", "192.168.255.255", "private network"),
        ("198.18.0.0", "198.19.255.255", "benchmarking"),
        ("198.51.100.0", "198.51.100.255", "documentation"),
        ("203.0.113.0", "203.0.113.255", "documentation"),
        ("224.0.0.0", "239.255.255.255", "multicast"),
        ("240.0.0.0", "255.255.255.255", "reserved or broadcast"),
    ] {
        check(first, Some(kind));
        check(last, Some(kind));
    }
    check("0.0.0.0", Some("unspecified address"));
}

#[test]
fn public_ipv4_addresses_pass_up_to_the_edges() {
    for ip in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "8.8.8.8",
    ] {
        check(ip, None);
    }
}

#[test]
fn reserved_ipv6_ranges_are_rejected_at_both_ends() {
    for (first, last, kind) in [
        ("::2", "::ffff:ffff", "IPv4-compatible address"),
        ("::ffff:0.0.0.0", "::ffff:255.255.255.255", "IPv4-mapped address"),
        ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local-use IPv4/IPv6 translation"),
        ("100::", "100::ffff:ffff:ffff:ffff", "discard-only"),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo tunnel"),
        ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "benchmarking"),
        ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "protocol assignments"),
        ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4 tunnel"),
        ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "segment routing"),
        ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique local address"),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
        ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
        ("::ffff:0:0:0", "63:ffff::", "not assigned"),
        ("4000::", "5eff:ffff::", "not assigned"),
        ("6000::", "fbff:ffff::", "not assigned"),
    ] {
        check(first, Some(kind));
        check(last, Some(kind));
    }
    check("::", Some("unspecified address"));
    check("::1", Some("loopback"));
    check("::ffff:8.8.8.8", Some("IPv4-mapped address"));
}

#[test]
fn public_ipv6_addresses_pass_up_to_the_edges() {
    for ip in [
        "2000::",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2001:ffff::",
        "2003::",
        "2606:4700:4700::1111",
        "3ffe:ffff::",
        "3fff:1000::",
        "3fff:ffff::",
    ] {
        check(ip, None);
    }
}

#[test]
fn nat64_address_is_judged_by_its_embedded_ipv4() {
    check("64:ff9b::8.8.8.8", None);
    check("64:ff9b::127.0.0.1", Some("loopback"));
    check("64:ff9b::10.1.2.3", Some("private network"));
    check("64:ff9b::192.168.0.1", Some("private network"));
    check("64:ff9b::169.254.169.254", Some("metadata service of a cloud"));
    check("64:ff9b:0:0:0:1:808:808", Some("not assigned"));
}

#[test]
fn cloud_metadata_addresses_are_rejected() {
    for ip in [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.42.42",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:42::42",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
    ] {
        check(ip, Some("metadata service of a cloud"));
    }
}

#[test]
fn allow_private_opens_exactly_the_given_ranges() {
    check_opened(&["127.0.0.0/8"], "127.0.0.1", true);
    check_opened(&["127.0.0.0/8"], "127.255.255.255", true);
    check_opened(&["127.0.0.0/8"], "10.0.0.1", false);
    check_opened(&["127.0.0.0/8"], "::1", false);
    check_opened(&["127.0.0.0/8"], "::ffff:127.0.0.1", false);
    check_opened(&["10.0.0.0/8"], "64:ff9b::10.0.0.1", false);
    check_opened(&["10.1.0.0/16", "fd00::/8"], "10.1.2.3", true);
    check_opened(&["10.1.0.0/16", "fd00::/8"], "fd12::1", true);
    check_opened(&["10.1.0.0/16", "fd00::/8"], "10.2.0.1", false);
    check_opened(&["10.1.2.3/8"], "10.200.0.1", true);
    check_opened(&["::1/128"], "::1", true);
    check_opened(&["127.0.0.0/8"], "8.8.8.8", true);
}

#[test]
fn cloud_metadata_is_opened_only_by_its_exact_address() {
    check_opened(&["169.254.0.0/16"], "169.254.1.1", true);
    check_opened(&["169.254.0.0/16"], "169.254.169.254", false);
    check_opened(&["169.254.169.254/32"], "169.254.169.254", true);
    check_opened(&["100.64.0.0/10"], "100.100.100.200", false);
    check_opened(&["fd00::/8"], "fd00:ec2::254", false);
    check_opened(&["fd00:ec2::254/128"], "fd00:ec2::254", true);
    check_opened(&["::ffff:0:0/96"], "::ffff:169.254.169.254", false);
    check_opened(&["0.0.0.0/0", "::/0"], "10.0.0.1", true);
    check_opened(&["0.0.0.0/0", "::/0"], "169.254.169.254", false);
}

fn check_url(url: &str, expected: Result<(), &str>) {
    let found = Guard::default().check_url(&Url::parse(url).unwrap()).map_err(|rejected| match rejected {
        UrlRejected::Url(problem) => problem.to_string(),
        UrlRejected::Address(forbidden) => forbidden.kind.to_owned(),
    });
    assert_eq!(found.as_ref().map(|_| ()).map_err(String::as_str), expected, "{url}");
}

#[test]
fn every_ip_literal_notation_is_checked() {
    for url in [
        "http://127.0.0.1/",
        "http://127.0.0.1:8080/",
        "http://127.0.0.1./",
        "http://127.1/",
        "http://127.0.1/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://0177.0.0.01/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://0x7F.1/",
        "http://%31%32%37.0.0.1/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http:127.0.0.1",
        "http:\\\\127.0.0.1\\",
    ] {
        check_url(url, Err("loopback"));
    }
    check_url("http://[::1]/", Err("loopback"));
    check_url("http://[0:0:0:0:0:0:0:1]/", Err("loopback"));
    check_url("http://[::ffff:127.0.0.1]/", Err("IPv4-mapped address"));
    check_url("http://[::ffff:7f00:1]/", Err("IPv4-mapped address"));
    check_url("http://[::127.0.0.1]/", Err("IPv4-compatible address"));
    check_url("http://[64:ff9b::7f00:1]/", Err("loopback"));
    check_url("http://0/", Err("unspecified address"));
    check_url("http://0xa9fea9fe/latest/meta-data/", Err("metadata service of a cloud"));
    check_url("https://[fd00:ec2::254]/", Err("metadata service of a cloud"));
    check_url("http://0300.0250.0.1/", Err("private network"));
}

#[test]
fn host_names_and_public_ip_literals_pass() {
    check_url("https://example.com/a.mp4", Ok(()));
    check_url("http://localhost/", Ok(()));
    check_url("http://8.8.8.8:1/", Ok(()));
    check_url("http://[2606:4700:4700::1111]/", Ok(()));
}

#[test]
fn invalid_url_is_rejected_before_its_address() {
    check_url("ftp://127.0.0.1/", Err("must start with http:// or https://"));
    check_url("file:///etc/passwd", Err("must start with http:// or https://"));
    check_url("http://a:b@127.0.0.1/", Err("must not contain a user name or a password"));
}
