//! The access data of a request below a playback ID: token or signed path, page and player.

use std::borrow::Cow;

use axum::http::{HeaderMap, header};
use kinora_domain::{
    EmbeddingPage, Page, PageHost, PassClaims, PlaybackPolicy, TokenError, ViewerCredential,
};
use kinora_web::base_urls::BaseUrls;

/// The parameter that contains a token (C-164).
const TOKEN: &str = "token";
/// The parameter in which our player page names the page that embeds it (D-0084).
const PAGE: &str = "page";

/// The parts of a request that the policy of a playback ID depends on.
pub(super) struct PlaybackRequest<'a> {
    pub(super) credential: RequestCredential,
    /// Empty where the query of the address is not read.
    query: &'a str,
    headers: &'a HeaderMap,
}

/// The proof of access in a request.
pub(super) enum RequestCredential {
    /// The address is one that users share: the token in its query.
    Token(Result<String, TokenError>),
    /// The same, with a pass of the dashboard in place of the token.
    Pass(String),
    /// The address is one that a manifest lists: the signature in its path, where it has one.
    Path(Option<String>),
}

impl<'a> PlaybackRequest<'a> {
    /// A request to an address that takes a token in its query. Forwarded headers and credentials are
    /// ignored: neither contains a token.
    pub(super) fn by_token(query: &'a str, headers: &'a HeaderMap) -> Self {
        let credential = match token(query) {
            Ok(token) if token.starts_with(PassClaims::PREFIX) => RequestCredential::Pass(token),
            token => RequestCredential::Token(token),
        };
        Self { credential, query, headers }
    }

    /// A request to an address whose path may be signed.
    pub(super) fn by_path(signed: Option<String>, headers: &'a HeaderMap) -> Self {
        Self { credential: RequestCredential::Path(signed), query: "", headers }
    }

    /// The token or pass of an admitted viewer, to be passed on.
    ///
    /// `None` where this policy needs none: a token that was sent then was not verified, may be anything of
    /// any length, and is passed on to no address.
    pub(super) fn token_for(&self, policy: &PlaybackPolicy) -> Option<&str> {
        let is_verified = if self.has_pass() { policy.is_restricted() } else { policy.is_private() };
        self.token().filter(|_| is_verified)
    }

    /// The token or pass, where it can be read. It is not verified yet, and the policy may need none.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.credential {
            RequestCredential::Token(Ok(token)) | RequestCredential::Pass(token) => Some(token),
            RequestCredential::Token(Err(_)) | RequestCredential::Path(_) => None,
        }
    }

    /// Whether a pass was sent. It is not verified yet.
    pub(super) fn has_pass(&self) -> bool {
        matches!(self.credential, RequestCredential::Pass(_))
    }

    /// The page: that of `Origin`, else of `Referer` (C-12). `Referer` does not replace an `Origin` of
    /// `null`, since a sandboxed page hides its origin.
    pub(super) fn page(&self, base_urls: &BaseUrls) -> Page {
        let mut origins = self.headers.get_all(header::ORIGIN).iter();
        let address = match (origins.next(), origins.next()) {
            (Some(origin), None) => Some(origin),
            (Some(_), Some(_)) => return Page::Unknown,
            (None, _) => self.headers.get(header::REFERER),
        };
        // Not as ASCII alone: a `Referer` whose path contains unescaped letters beyond ASCII still names its
        // host.
        let address = address.and_then(|address| str::from_utf8(address.as_bytes()).ok());
        address.map_or(Page::Unknown, |address| page_of_address(address, base_urls))
    }

    /// The page that embeds our player page, which sent this request: as named in the query, or in the path
    /// that was admitted.
    pub(super) fn embedding_page(&self, credential: &ViewerCredential) -> Option<EmbeddingPage> {
        match credential {
            ViewerCredential::Token(_) => embedding_page(self.query),
            ViewerCredential::Path(Ok(claims)) => claims.binding.embedding_page.clone(),
            ViewerCredential::Pass(_) | ViewerCredential::Path(Err(_)) => None,
        }
    }

    /// The page that is about to embed our player page, which is requested here. Where that page is one of
    /// our own, the page that the query names.
    pub(super) fn next_embedding_page(&self, base_urls: &BaseUrls) -> Option<EmbeddingPage> {
        match self.page(base_urls) {
            Page::Own => embedding_page(self.query),
            Page::Unknown => Some(EmbeddingPage(None)),
            Page::Of(host) => Some(EmbeddingPage(Some(host))),
        }
    }

    pub(super) fn user_agent(&self) -> Option<Cow<'a, str>> {
        self.headers.get(header::USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()))
    }
}

/// The page of an address, as `Origin` or `Referer` has it. [`Page::Unknown`] where it names no host.
pub fn page_of_address(address: &str, base_urls: &BaseUrls) -> Page {
    let own = [&base_urls.public, &base_urls.stream, &base_urls.images];
    if own.into_iter().any(|base| has_origin(address, base)) {
        return Page::Own;
    }
    PageHost::of_address(address).map_or(Page::Unknown, Page::Of)
}

/// The query to pass on to addresses that take a token: with a leading `?`, or empty.
pub(super) fn forwarded_query(token: Option<&str>, embedding_page: Option<&EmbeddingPage>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Some(token) = token {
        query.append_pair(TOKEN, token);
    }
    if let Some(frame) = embedding_page {
        query.append_pair(PAGE, &frame.to_string());
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// The page that embeds our player page, as a query names it.
pub(super) fn embedding_page(query: &str) -> Option<EmbeddingPage> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == PAGE).map(|(_, host)| EmbeddingPage::from_text(&host))
}

/// The token in a query. An empty one counts as missing. Two are rejected: the client that added the first
/// one may not know of the second.
fn token(query: &str) -> Result<String, TokenError> {
    let mut tokens = query.split('&').filter_map(token_of);
    let token = tokens.next().unwrap_or_default();
    match (token.is_empty(), tokens.next()) {
        (_, Some(_)) => Err(TokenError::Repeated),
        (true, None) => Err(TokenError::Missing),
        (false, None) => Ok(token),
    }
}

/// The token in one parameter. Most are plain, and need no decoding.
fn token_of(parameter: &str) -> Option<String> {
    let is_plain = !parameter.bytes().any(|byte| matches!(byte, b'%' | b'+'));
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    if is_plain {
        return (name == TOKEN).then(|| value.to_owned());
    }
    let (name, value) = url::form_urlencoded::parse(parameter.as_bytes()).next()?;
    (name == TOKEN).then(|| value.into_owned())
}

/// Whether an address is that of a page below `base`: scheme, host and port are the same.
fn has_origin(address: &str, base: &str) -> bool {
    let origin_len = match address.split_once("://") {
        Some((_, rest)) => address.len() - rest.len() + rest.find('/').unwrap_or(rest.len()),
        None => return false,
    };
    let origin = |text: &str| url::Url::parse(text).ok().map(|url| url.origin()).filter(|it| it.is_tuple());
    let own = origin(base);
    own.is_some() && origin(&address[..origin_len]) == own
}

#[cfg(test)]
mod tests {
    use kinora_domain::PathError;

    use super::*;

    #[test]
    fn duplicate_token_parameter_is_rejected() {
        let check = |query: &str, expected: Result<&str, TokenError>| {
            assert_eq!(token(query), expected.map(str::to_owned), "{query}");
        };
        check("", Err(TokenError::Missing));
        check("token", Err(TokenError::Missing));
        check("token=", Err(TokenError::Missing));
        check("Token=a&tokens=b", Err(TokenError::Missing));
        check("time=1&token=a.b-c_d", Ok("a.b-c_d"));
        check("%74oken=a%2Eb", Ok("a.b"));
        check("token=a&token=a", Err(TokenError::Repeated));
        check("token=&token=a", Err(TokenError::Repeated));
    }

    #[test]
    fn pass_is_recognised_by_its_prefix_alone() {
        let headers = HeaderMap::new();
        let check = |query: &str, is_pass: bool| {
            assert_eq!(PlaybackRequest::by_token(query, &headers).has_pass(), is_pass, "{query}");
        };
        check("token=pass.AAAA", true);
        check("token=pass.", true);
        check("token=%70ass%2EAAAA", true);
        check("token=pass", false);
        check("token=Pass.AAAA", false);
        check("token=eyJhbGciOiJFUzI1NiJ9.e30.AAAA", false);
        check("token=pass.AAAA&token=pass.AAAA", false);
        check("pass=pass.AAAA", false);
        assert!(!PlaybackRequest::by_path(Some("pass.AAAA".to_owned()), &headers).has_pass());
    }

    #[test]
    fn player_page_passes_on_its_embedding_page() {
        let addresses = BaseUrls {
            public: "https://video.example".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        };
        let of = |referer: &str, query: &str| {
            let headers = HeaderMap::from_iter([(header::REFERER, referer.parse().unwrap())]);
            let playback_request = PlaybackRequest::by_token(query, &headers);
            let frame = playback_request.embedding_page(&ViewerCredential::Token(Err(TokenError::Missing)));
            assert_eq!(
                playback_request.embedding_page(&ViewerCredential::Path(Err(PathError::Missing))),
                None
            );
            [frame, playback_request.next_embedding_page(&addresses)]
                .map(|frame| forwarded_query(None, frame.as_ref()))
        };
        let check = |query: &str, frame: &str| {
            for own in
                ["https://video.example/embed/x", "https://stream.example/embed/x", "https://images.example/"]
            {
                assert_eq!(of(own, query), [frame, frame], "{query}");
            }
        };
        check("", "");
        check("token=a&page=shop.example", "?page=shop.example");
        check("page=B%C3%BCcher.example.", "?page=xn--bcher-kva.example");
        check("page=[2001:db8::1]", "?page=%5B2001%3Adb8%3A%3A1%5D");
        for invalid in [
            "page=",
            "page",
            "page=a%20b",
            "page=https://shop.example",
            &format!("page={}", "a.".repeat(200)),
        ] {
            check(invalid, "?page=");
        }
        assert_eq!(
            of("https://evil.example/", "page=shop.example"),
            ["?page=shop.example", "?page=evil.example"]
        );
        assert_eq!(of("null", ""), ["", "?page="]);
    }

    #[test]
    fn forwarded_query_is_encoded() {
        let frame = EmbeddingPage::from_text("shop.example");
        assert_eq!(forwarded_query(None, None), "");
        assert_eq!(forwarded_query(Some("a b&c"), None), "?token=a+b%26c");
        assert_eq!(forwarded_query(Some("e.f"), Some(&frame)), "?token=e.f&page=shop.example");
    }

    #[test]
    fn page_is_origin_else_referer() {
        let addresses = BaseUrls {
            public: "https://video.example:8443/kinora".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        };
        let check = |headers: &[(header::HeaderName, &str)], expected: Page| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name, value.parse().unwrap());
            }
            assert_eq!(PlaybackRequest::by_path(None, &map).page(&addresses), expected, "{headers:?}");
        };
        let of = |host: &str| Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap());
        let (origin, referer) = (header::ORIGIN, header::REFERER);
        check(&[], Page::Unknown);
        check(&[(origin.clone(), "https://A.example:1")], of("a.example"));
        check(&[(referer.clone(), "https://b.example/c?d")], of("b.example"));
        check(&[(referer.clone(), "https://b.example/straße?ü#ж")], of("b.example"));
        check(&[(origin.clone(), "https://bücher.example")], of("xn--bcher-kva.example"));
        check(&[(referer.clone(), "https://video.example:8443/straße")], Page::Own);
        for slash_or_at in ["https://b.example／.evil.example/", "https://b.example＠evil.example/"] {
            check(&[(referer.clone(), slash_or_at)], Page::Unknown);
        }
        check(
            &[(origin.clone(), "https://a.example"), (referer.clone(), "https://b.example/")],
            of("a.example"),
        );
        check(&[(origin.clone(), "null"), (referer.clone(), "https://b.example/")], Page::Unknown);
        check(&[(origin.clone(), "https://a.example"), (origin.clone(), "https://a.example")], Page::Unknown);
        check(&[(header::HOST, "a.example"), (header::FORWARDED, "host=a.example")], Page::Unknown);
        check(&[(origin.clone(), "https://video.example:8443")], Page::Own);
        check(&[(origin.clone(), "https://stream.example")], Page::Own);
        check(&[(referer.clone(), "https://images.example/x")], Page::Own);
        check(&[(referer.clone(), "https://VIDEO.example:8443/embed/x?token=y")], Page::Own);
        let latin_1 = header::HeaderValue::from_bytes(b"https://b.example/stra\xdfe").unwrap();
        let headers = HeaderMap::from_iter([(referer, latin_1)]);
        assert_eq!(PlaybackRequest::by_path(None, &headers).page(&addresses), Page::Unknown, "no text");
        for other in
            ["https://video.example", "http://video.example:8443", "https://video.example:8443@evil.example"]
        {
            let host = PageHost::of_address(other).unwrap();
            check(&[(origin.clone(), other)], Page::Of(host));
        }
    }
}
