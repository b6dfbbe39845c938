//! Parses `corsOrigin`.

use kinora_domain::CorsOrigin;
use url::Url;

/// The error of a wrong origin.
pub(super) const MESSAGE: &str = "must be * or an origin such as https://shop.example: scheme, host and optional port, without path or query";

/// An origin in the form that browsers send, or any.
///
/// An HTTP origin is normalized as in browsers: host in lower case and ASCII (IDNA), no default port (RFC
/// 6454, 6.2). Other schemes, of applications with embedded pages, are stored as they are.
pub(super) fn parse(text: &str) -> Option<CorsOrigin> {
    if text == "*" {
        return Some(CorsOrigin::Any);
    }
    let (scheme, after_scheme) = text.split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let origin = if is_web {
        web_origin(text, after_scheme)
    } else {
        is_app_origin(scheme, after_scheme).then(|| text.to_owned())
    };
    origin.filter(|origin| origin.len() <= CorsOrigin::LEN_MAX).map(CorsOrigin::One)
}

fn web_origin(text: &str, after_scheme: &str) -> Option<String> {
    // A URL parser removes these characters, or reads them as the end of the host; it accepts a star in a
    // host.
    let is_forbidden_char = |c: char| c.is_whitespace() || c.is_control() || "/\\?#@*".contains(c);
    if after_scheme.contains(is_forbidden_char) {
        return None;
    }
    let origin = Url::parse(text).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
}

fn is_app_origin(scheme: &str, authority: &str) -> bool {
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_host =
        !authority.is_empty() && authority.chars().all(|c| c.is_ascii_alphanumeric() || "-._:[]".contains(c));
    is_scheme && is_host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cors_origins_are_normalized_as_browsers_send_them() {
        let check = |text: &str, origin: &str| {
            assert_eq!(parse(text).as_ref().map(CorsOrigin::as_str), Some(origin), "{text}");
        };
        assert_eq!(parse("*"), Some(CorsOrigin::Any));
        check("https://shop.example", "https://shop.example");
        check("HTTPS://Shop.Example:443", "https://shop.example");
        check("http://shop.example:80", "http://shop.example");
        check("http://shop.example:8080", "http://shop.example:8080");
        check("https://shop.example:80", "https://shop.example:80");
        check("https://bücher.example", "https://xn--bcher-kva.example");
        check("http://localhost:3000", "http://localhost:3000");
        check("http://127.0.0.1", "http://127.0.0.1");
        check("http://[::1]:8080", "http://[::1]:8080");
        check("capacitor://localhost", "capacitor://localhost");
        check("ionic://localhost:8100", "ionic://localhost:8100");
        check("chrome-extension://AbCdEf", "chrome-extension://AbCdEf");
    }

    #[test]
    fn invalid_cors_origins_are_rejected() {
        for text in [
            "",
            " ",
            "null",
            "**",
            "shop.example",
            "//shop.example",
            "https:",
            "https://",
            "https:shop.example",
            "https:/shop.example",
            "https://shop.example/",
            "https://shop.example/path",
            "https://shop.example?q",
            "https://shop.example#f",
            "https://user@shop.example",
            "https://user:pw@shop.example",
            "https://shop.example:99999",
            "https://shop.example:x",
            "https://*.shop.example",
            "https://shop example",
            " https://shop.example",
            "https://shop.example\t",
            "https://shop.example\\path",
            "https://sh\top.example",
            "https://a.example,https://b.example",
            "https://a.example https://b.example",
            "file://",
            "file:///",
            "capacitor://",
            "capacitor://local/host",
            "capacitor://a b",
            "1x://localhost",
            "ca pacitor://localhost",
            "x-app://a;script-src *",
            "data:text/html,x",
            "https://%",
            "https://a..\u{0}b",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        assert_eq!(parse(&format!("app://{}", "a".repeat(CorsOrigin::LEN_MAX))), None);
    }
}
