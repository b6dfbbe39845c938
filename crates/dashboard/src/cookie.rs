//! The cookie of a session.

use axum::http::{HeaderMap, HeaderValue, header};
use kinora_domain::Secret;

/// The name over HTTPS. Browsers accept the prefix only with `Secure` and `Path=/` and without `Domain`, so
/// no other host of the domain can set it.
const SECURE_NAME: &str = "__Host-kinora";
/// The name over plain HTTP, where browsers accept neither the prefix nor `Secure`.
const PLAIN_NAME: &str = "kinora";
/// Characters of a secret: Base64 of 32 bytes. Other values are not looked up.
const SECRET_LEN: usize = 43;

/// The form of the cookie of this server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionCookie {
    is_secure: bool,
}

impl SessionCookie {
    /// The form for a server with this public URL.
    ///
    /// The public URL decides, not the request: TLS usually ends at a proxy, and a header with the scheme
    /// can be forged.
    pub(crate) fn of_public_url(public_url: &str) -> Self {
        let scheme = public_url.split(':').next().unwrap_or_default();
        Self { is_secure: scheme.eq_ignore_ascii_case("https") }
    }

    fn name(self) -> &'static str {
        if self.is_secure { SECURE_NAME } else { PLAIN_NAME }
    }

    /// The secret in the cookies of a request. Of several cookies with this name it is the first one that
    /// can be a secret: another program on the same host may use the name too.
    pub(crate) fn secret(self, request: &HeaderMap) -> Option<&str> {
        let lines = request.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter(|(name, _)| *name == self.name()).map(|(_, value)| value);
        values.find(|value| can_be_secret(value))
    }

    /// Sets the secret, for this many seconds.
    pub(crate) fn set(self, secret: &Secret, max_age_s: i64) -> HeaderValue {
        self.value(secret.reveal(), max_age_s)
    }

    /// Removes the cookie.
    pub(crate) fn remove(self) -> HeaderValue {
        self.value("", 0)
    }

    fn value(self, secret: &str, max_age_s: i64) -> HeaderValue {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = self.name();
        let text = format!("{name}={secret}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{secure}");
        let mut value = HeaderValue::from_str(&text).expect("Base64 and numbers are header characters");
        value.set_sensitive(true);
        value
    }
}

fn can_be_secret(value: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    value.len() == SECRET_LEN && value.bytes().all(is_base64)
}

#[cfg(test)]
mod tests {
    use kinora_domain::Random;

    use super::*;

    struct Sevens;

    impl Random for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn cookie_is_host_only_and_secure_over_https() {
        let secret = Secret::new(&Sevens);
        let secret_text = secret.reveal();
        let check = |url: &str, expected: String, removed: &str| {
            let cookie = SessionCookie::of_public_url(url);
            assert_eq!(cookie.set(&secret, 60).to_str().unwrap(), expected, "{url}");
            assert_eq!(cookie.remove().to_str().unwrap(), removed, "{url}");
        };
        let secure =
            format!("__Host-kinora={secret_text}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure");
        let removed = "__Host-kinora=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure";
        check("https://video.example.com", secure.clone(), removed);
        check("HTTPS://video.example.com", secure, removed);
        let plain = format!("kinora={secret_text}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
        check("http://127.0.0.1:8080", plain, "kinora=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    }

    #[test]
    fn secret_is_read_from_its_own_cookie_alone() {
        let secret = Secret::new(&Sevens);
        let secret = secret.reveal();
        let check = |url: &str, lines: &[String], expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().unwrap());
            }
            assert_eq!(SessionCookie::of_public_url(url).secret(&headers), expected, "{url} {lines:?}");
        };
        let (http, https) = ("http://k", "https://k");
        check(http, &[format!("kinora={secret}")], Some(secret));
        check(http, &[format!("a=b; kinora={secret};c=d")], Some(secret));
        check(http, &["a=b".to_owned(), format!("kinora={secret}")], Some(secret));
        check(https, &[format!("__Host-kinora={secret}")], Some(secret));
        check(http, &[format!("kinora=other; kinora={secret}")], Some(secret));
        // A sibling host could set the plain name for the whole domain.
        check(https, &[format!("kinora={secret}")], None);
        check(http, &[format!("__Host-kinora={secret}")], None);
        check(http, &[format!("Kinora={secret}")], None);
        check(http, &[format!("kinora={secret}a")], None);
        check(http, &[format!("kinora={}", &secret[1..])], None);
        check(http, &[format!("kinora=+{}", &secret[1..])], None);
        check(http, &["kinora=".to_owned()], None);
        check(http, &[], None);
    }
}
