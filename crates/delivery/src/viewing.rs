//! What a request for something below a playback ID brings along: by what it would be let in, from which
//! page, with which player.

use std::borrow::Cow;

use axum::http::{HeaderMap, header};
use kinora_domain::{Admission, Frame, Page, PageHost, PlaybackPolicy, TokenRefusal};
use kinora_web::addresses::Addresses;

/// The parameter that holds a token (C-164).
const TOKEN: &str = "token";
/// The parameter by which our player page says on what page it stands (D-0084).
const PAGE: &str = "page";

/// A request, so far as the policy of a playback ID asks.
pub(super) struct Viewing<'a> {
    pub(super) pass: Pass,
    /// Empty where the address has none that is looked at.
    query: &'a str,
    headers: &'a HeaderMap,
}

/// By what it would be let in.
pub(super) enum Pass {
    /// The address is one that people are given: what stands in its query.
    Token(Result<String, TokenRefusal>),
    /// The address is one that a manifest lists: what its path is signed with, where it is.
    Path(Option<String>),
}

impl<'a> Viewing<'a> {
    /// Of an address that takes a token in its query. Forwarded headers and credentials are not looked at:
    /// neither is where a token stands.
    pub(super) fn by_token(query: &'a str, headers: &'a HeaderMap) -> Self {
        Self { pass: Pass::Token(token(query)), query, headers }
    }

    /// Of an address whose path is signed, or not.
    pub(super) fn by_path(signed: Option<String>, headers: &'a HeaderMap) -> Self {
        Self { pass: Pass::Path(signed), query: "", headers }
    }

    /// The token of a viewer who was let in, to be handed on. `None` where this policy asks for none: what
    /// came then was not looked at, may be anything of any length, and goes nowhere.
    pub(super) fn token_for(&self, policy: &PlaybackPolicy) -> Option<&str> {
        self.token().filter(|_| policy.is_private())
    }

    /// The token, where it can be read. Nothing says yet that it is valid, or that the policy asks for one.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.pass {
            Pass::Token(Ok(token)) => Some(token),
            Pass::Token(Err(_)) | Pass::Path(_) => None,
        }
    }

    /// The page: that of `Origin`, else of `Referer` (C-12). An `Origin` that names none,
    /// `null`, is not made up for by the other: a page in a sandbox hides whose it is.
    pub(super) fn page(&self, addresses: &Addresses) -> Page {
        let mut origins = self.headers.get_all(header::ORIGIN).iter();
        let told = match (origins.next(), origins.next()) {
            (Some(origin), None) => Some(origin),
            (Some(_), Some(_)) => return Page::Unknown,
            (None, _) => self.headers.get(header::REFERER),
        };
        // Not as ASCII alone: who writes the path of a page in letters, and sends it so, tells its host all
        // the same.
        let Some(told) = told.and_then(|told| str::from_utf8(told.as_bytes()).ok()) else {
            return Page::Unknown;
        };
        let own = [&addresses.public, &addresses.stream, &addresses.images];
        if own.into_iter().any(|base| is_of_origin(told, base)) {
            return Page::Own;
        }
        PageHost::of_address(told).map_or(Page::Unknown, Page::Of)
    }

    /// On what page our player page stands that this comes from, as its address says: the query, or the path
    /// that was admitted.
    pub(super) fn frame(&self, admission: &Admission) -> Option<Frame> {
        match admission {
            Admission::Token(_) => frame(self.query),
            Admission::Path(Ok(ticket)) => ticket.facts.frame.clone(),
            Admission::Path(Err(_)) => None,
        }
    }

    /// On what page our player page is about to stand, for whom this asks; on one of our own, what that page
    /// was told.
    pub(super) fn about_to_stand(&self, addresses: &Addresses) -> Option<Frame> {
        match self.page(addresses) {
            Page::Own => frame(self.query),
            Page::Unknown => Some(Frame(None)),
            Page::Of(host) => Some(Frame(Some(host))),
        }
    }

    pub(super) fn user_agent(&self) -> Option<Cow<'a, str>> {
        self.headers.get(header::USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()))
    }
}

/// What addresses that take a token are handed on: with a `?` in front, or nothing.
pub(super) fn handed_on(token: Option<&str>, frame: Option<&Frame>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Some(token) = token {
        query.append_pair(TOKEN, token);
    }
    if let Some(frame) = frame {
        query.append_pair(PAGE, &frame.to_string());
    }
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// On what page our player page stands, as a query says.
pub(super) fn frame(query: &str) -> Option<Frame> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == PAGE).map(|(_, host)| Frame::of_text(&host))
}

/// The token in a query. An empty one is none; two are one too many: whoever put the first one there may not
/// know of the other.
fn token(query: &str) -> Result<String, TokenRefusal> {
    let mut tokens = query.split('&').filter_map(token_of);
    let token = tokens.next().unwrap_or_default();
    match (token.is_empty(), tokens.next()) {
        (_, Some(_)) => Err(TokenRefusal::Malformed),
        (true, None) => Err(TokenRefusal::Missing),
        (false, None) => Ok(token),
    }
}

/// The token that a parameter is. Most are written plainly, and need not be decoded.
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
fn is_of_origin(address: &str, base: &str) -> bool {
    let rest = match address.split_once("://") {
        Some((_, rest)) => address.len() - rest.len() + rest.find('/').unwrap_or(rest.len()),
        None => return false,
    };
    let origin = |text: &str| url::Url::parse(text).ok().map(|url| url.origin()).filter(|it| it.is_tuple());
    let own = origin(base);
    own.is_some() && origin(&address[..rest]) == own
}

#[cfg(test)]
mod tests {
    use kinora_domain::PathRefusal;

    use super::*;

    #[test]
    fn a_token_stands_in_the_query_once() {
        let check = |query: &str, expected: Result<&str, TokenRefusal>| {
            assert_eq!(token(query), expected.map(str::to_owned), "{query}");
        };
        check("", Err(TokenRefusal::Missing));
        check("token", Err(TokenRefusal::Missing));
        check("token=", Err(TokenRefusal::Missing));
        check("Token=a&tokens=b", Err(TokenRefusal::Missing));
        check("time=1&token=a.b-c_d", Ok("a.b-c_d"));
        check("%74oken=a%2Eb", Ok("a.b"));
        check("token=a&token=a", Err(TokenRefusal::Malformed));
        check("token=&token=a", Err(TokenRefusal::Malformed));
    }

    #[test]
    fn our_own_page_says_on_what_page_it_stands() {
        let addresses = Addresses {
            public: "https://video.example".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        };
        let of = |referer: &str, query: &str| {
            let headers = HeaderMap::from_iter([(header::REFERER, referer.parse().unwrap())]);
            let viewing = Viewing::by_token(query, &headers);
            let frame = viewing.frame(&Admission::Token(Err(TokenRefusal::Missing)));
            assert_eq!(viewing.frame(&Admission::Path(Err(PathRefusal::Missing))), None);
            [frame, viewing.about_to_stand(&addresses)].map(|frame| handed_on(None, frame.as_ref()))
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
        for nobody in [
            "page=",
            "page",
            "page=a%20b",
            "page=https://shop.example",
            &format!("page={}", "a.".repeat(200)),
        ] {
            check(nobody, "?page=");
        }
        assert_eq!(
            of("https://evil.example/", "page=shop.example"),
            ["?page=shop.example", "?page=evil.example"]
        );
        assert_eq!(of("null", ""), ["", "?page="]);
    }

    #[test]
    fn what_is_handed_on_stands_behind_a_question_mark() {
        let frame = Frame::of_text("shop.example");
        assert_eq!(handed_on(None, None), "");
        assert_eq!(handed_on(Some("a b&c"), None), "?token=a+b%26c");
        assert_eq!(handed_on(Some("e.f"), Some(&frame)), "?token=e.f&page=shop.example");
    }

    #[test]
    fn the_page_is_that_of_origin_else_of_referer() {
        let addresses = Addresses {
            public: "https://video.example:8443/kinora".into(),
            stream: "https://stream.example".into(),
            images: "https://images.example".into(),
        };
        let check = |headers: &[(header::HeaderName, &str)], expected: Page| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name, value.parse().unwrap());
            }
            assert_eq!(Viewing::by_path(None, &map).page(&addresses), expected, "{headers:?}");
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
        assert_eq!(Viewing::by_path(None, &headers).page(&addresses), Page::Unknown, "no text");
        for other in
            ["https://video.example", "http://video.example:8443", "https://video.example:8443@evil.example"]
        {
            let host = PageHost::of_address(other).unwrap();
            check(&[(origin.clone(), other)], Page::Of(host));
        }
    }
}
