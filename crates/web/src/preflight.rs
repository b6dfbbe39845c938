//! The request headers that a CORS preflight allows (Fetch Standard, CORS protocol).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Requested headers that one response allows; more are left out. Tracing, authorization and the headers of
/// an SDK are about ten.
const ECHOED_MAX: usize = 32;
/// The longest name that is allowed, in bytes.
const NAME_LEN_MAX: usize = 64;

/// Value of `Access-Control-Allow-Headers`: those in `allowed`, and all that the preflight requests.
///
/// Pages add headers that mean nothing here: `traceparent` and `sentry-trace` of monitoring, `authorization`
/// of an HTTP client. A browser sends the request only when each is allowed. They are ignored, and no cookie
/// is ever read, so rejecting them has no benefit.
pub fn allowed_headers(request: &HeaderMap, allowed: &'static str) -> HeaderValue {
    let mut names: Vec<HeaderName> = Vec::new();
    let values = request.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter();
    let requested = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    for name in requested.map(str::trim).filter(|name| name.len() <= NAME_LEN_MAX) {
        let Ok(name) = name.parse::<HeaderName>() else { continue };
        let is_known = allowed.split(", ").any(|entry| entry.eq_ignore_ascii_case(name.as_str()));
        if is_known || names.contains(&name) {
            continue;
        }
        names.push(name);
        if names.len() == ECHOED_MAX {
            break;
        }
    }
    if names.is_empty() {
        return HeaderValue::from_static(allowed);
    }
    let names: Vec<_> = std::iter::once(allowed).chain(names.iter().map(HeaderName::as_str)).collect();
    HeaderValue::from_str(&names.join(", ")).expect("names of headers are visible ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "Range, If-Range";

    fn allowed(requested: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in requested {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(header::ACCESS_CONTROL_REQUEST_HEADERS, value);
        }
        allowed_headers(&headers, KNOWN).to_str().unwrap().to_owned()
    }

    #[test]
    fn requested_headers_are_echoed_once() {
        assert_eq!(allowed(&[]), KNOWN);
        assert_eq!(allowed(&["range,if-range"]), KNOWN);
        assert_eq!(
            allowed(&["authorization, range,X-Custom", "traceparent,x-custom"]),
            "Range, If-Range, authorization, x-custom, traceparent"
        );
        assert_eq!(allowed(&["", " , ,", "a b", "a:b", "\u{e4}", "(x)", "*/*"]), KNOWN, "no names");
    }

    #[test]
    fn echoed_headers_are_bounded() {
        let longest = "x".repeat(NAME_LEN_MAX);
        assert_eq!(allowed(&[&longest]), format!("{KNOWN}, {longest}"));
        assert_eq!(allowed(&[&format!("{longest}x")]), KNOWN);
        let many: Vec<_> = (0..1000).map(|number| format!("x-{number}")).collect();
        let echoed = allowed(&[&many.join(",")]);
        assert_eq!(echoed.split(", ").count(), KNOWN.split(", ").count() + ECHOED_MAX);
    }
}
