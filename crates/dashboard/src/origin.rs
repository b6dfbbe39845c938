//! The rule against cross-site requests (Fetch Standard, 3.2; Fetch Metadata, 2.3).
//!
//! Browsers name the relation of a page to this server in `Sec-Fetch-Site`, over HTTPS and on the loopback.
//! Elsewhere they name its origin in `Origin`. `Host` is never read, because proxies rewrite it.

use axum::http::{HeaderMap, HeaderName, Method, header};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The origins whose pages may change something.
#[derive(Debug, Clone)]
pub(crate) struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// The origins of these URLs.
    pub(crate) fn of<'a>(urls: impl IntoIterator<Item = &'a str>) -> Self {
        Self(urls.into_iter().filter_map(origin_of).collect())
    }

    /// Whether a request may be processed. Requests that change nothing always may.
    pub(crate) fn allow(&self, method: &Method, request: &HeaderMap) -> bool {
        matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS) || self.is_same_origin(request)
    }

    fn is_same_origin(&self, request: &HeaderMap) -> bool {
        let mut sites = request.get_all(SEC_FETCH_SITE).iter().peekable();
        if sites.peek().is_some() {
            return sites.all(|site| site == "same-origin");
        }
        let mut origins = request.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (Some(origin), None) => self.0.iter().any(|allowed| origin == allowed.as_str()),
            _ => false,
        }
    }
}

/// The origin of a URL as browsers write it, without the default port. `None` for a URL without one.
pub(crate) fn origin_of(url: &str) -> Option<String> {
    let origin = url::Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> HeaderMap {
        let pairs = headers.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, value.parse().unwrap())
        });
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, value);
        }
        map
    }

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: bool) {
        let origins = AllowedOrigins::of(["https://video.example.com:443/base", "http://10.0.0.7:8080"]);
        let headers = request(headers);
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(origins.allow(&method, &headers), expected, "{method} {headers:?}");
        }
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert!(origins.allow(&method, &headers), "{method} changes nothing");
        }
    }

    #[test]
    fn only_same_origin_of_sec_fetch_site_passes() {
        check(&[("sec-fetch-site", "same-origin")], true);
        // It decides alone: a proxy may change the public name, and so the origin.
        check(&[("sec-fetch-site", "same-origin"), ("origin", "https://other.example")], true);
        for site in ["same-site", "cross-site", "none", "", "Same-Origin", "same-origin,none"] {
            check(&[("sec-fetch-site", site)], false);
            check(&[("sec-fetch-site", site), ("origin", "https://video.example.com")], false);
        }
        check(&[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], false);
    }

    #[test]
    fn origin_decides_without_sec_fetch_site() {
        check(&[("origin", "https://video.example.com")], true);
        check(&[("origin", "http://10.0.0.7:8080")], true);
        for origin in [
            "null",
            "",
            "*",
            "https://video.example.com:443",
            "https://video.example.com/",
            "https://VIDEO.example.com",
            "http://video.example.com",
            "https://video.example.com:8443",
            "https://other.example.com",
            "https://example.com",
            "https://evil.video.example.com",
            "https://video.example.com.evil.example",
            "http://10.0.0.7",
        ] {
            check(&[("origin", origin)], false);
        }
        check(&[], false);
        check(&[("origin", "https://video.example.com"), ("origin", "https://video.example.com")], false);
    }

    #[test]
    fn host_and_referer_are_never_read() {
        check(&[("host", "video.example.com"), ("referer", "https://video.example.com/dashboard")], false);
        check(&[("host", "127.0.0.1:3000"), ("origin", "https://video.example.com")], true);
        check(&[("host", "video.example.com"), ("origin", "https://other.example")], false);
    }

    #[test]
    fn origins_have_no_default_port_and_no_path() {
        assert_eq!(origin_of("https://a.example:443/x/"), Some("https://a.example".to_owned()));
        assert_eq!(origin_of("http://a.example:8080"), Some("http://a.example:8080".to_owned()));
        assert_eq!(origin_of("http://[::1]:80/"), Some("http://[::1]".to_owned()));
        assert_eq!(origin_of("data:text/html,a"), None);
        assert_eq!(origin_of("a.example"), None);
    }
}
