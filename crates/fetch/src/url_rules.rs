//! The allowed form of URLs: syntax only, without any check of IP addresses.

use url::Url;

/// Longest accepted URL in bytes. RFC 9110, 4.1 recommends support for at least 8000.
pub const URL_BYTES_MAX: usize = 8000;

/// The error of a URL, as a sentence about its field: `url` + this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// Longer than [`URL_BYTES_MAX`].
    #[error("must have at most {URL_BYTES_MAX} bytes")]
    TooLong,
    /// Not an absolute URL.
    #[error("must be an absolute URL such as https://example.com/video.mp4")]
    Syntax,
    /// Neither http nor https.
    #[error("must start with http:// or https://")]
    Scheme,
    /// No host to connect to.
    #[error("must name a host")]
    NoHost,
    /// A user name or a password before the host. They would appear in logs and API responses.
    #[error("must not contain a user name or a password")]
    Credentials,
}

/// Parses the URL of a source. The guard checks the host later, when it is requested.
pub fn parse_source_url(text: &str) -> Result<Url, UrlProblem> {
    parse(text)
}

/// Parses the URL of a webhook. http is allowed; the guard checks the host at every delivery.
pub fn parse_webhook_url(text: &str) -> Result<Url, UrlProblem> {
    parse(text)
}

fn parse(text: &str) -> Result<Url, UrlProblem> {
    if URL_BYTES_MAX < text.len() {
        return Err(UrlProblem::TooLong);
    }
    // The parser would drop line breaks and tabs silently; they are always a mistake.
    if text.contains(|c: char| c.is_control()) {
        return Err(UrlProblem::Syntax);
    }
    let url = Url::parse(text).map_err(|problem| match problem {
        url::ParseError::EmptyHost => UrlProblem::NoHost,
        _ => UrlProblem::Syntax,
    })?;
    check(&url)?;
    Ok(url)
}

/// Checks a parsed URL: a redirect target, or a URL from a row.
pub(crate) fn check(url: &Url) -> Result<(), UrlProblem> {
    if URL_BYTES_MAX < url.as_str().len() {
        return Err(UrlProblem::TooLong);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlProblem::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlProblem::Credentials);
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(UrlProblem::NoHost);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, UrlProblem>) {
        for parse in [parse_source_url, parse_webhook_url] {
            let found = parse(text);
            assert_eq!(found.as_ref().map(Url::as_str).map_err(|problem| *problem), expected, "{text}");
        }
    }

    #[test]
    fn http_and_https_are_accepted_with_any_port_and_query() {
        check("https://example.com/a.mp4", Ok("https://example.com/a.mp4"));
        check("http://example.com:8080/a?b=c&d", Ok("http://example.com:8080/a?b=c&d"));
        check("HTTPS://EXAMPLE.com", Ok("https://example.com/"));
        check("https://bücher.example/ä b", Ok("https://xn--bcher-kva.example/%C3%A4%20b"));
        check("http://127.0.0.1/x", Ok("http://127.0.0.1/x"));
        check("http://[::1]:81/x", Ok("http://[::1]:81/x"));
    }

    #[test]
    fn invalid_url_is_rejected_with_reason() {
        check("", Err(UrlProblem::Syntax));
        check("video.mp4", Err(UrlProblem::Syntax));
        check("//example.com/video.mp4", Err(UrlProblem::Syntax));
        check("https://", Err(UrlProblem::NoHost));
        check("https://exa mple.com/", Err(UrlProblem::Syntax));
        check("https://exam\nple.com/", Err(UrlProblem::Syntax));
        check("https://example.com:99999/", Err(UrlProblem::Syntax));
        check("http://[fe80::1%25eth0]/", Err(UrlProblem::Syntax));
        check("http://256.1.1.1/", Err(UrlProblem::Syntax));
        check("ftp://example.com/a", Err(UrlProblem::Scheme));
        check("file:///etc/passwd", Err(UrlProblem::Scheme));
        check("data:text/plain,x", Err(UrlProblem::Scheme));
        check("concat:https://example.com", Err(UrlProblem::Scheme));
        check("https://user@example.com/", Err(UrlProblem::Credentials));
        check("https://user:secret@example.com/", Err(UrlProblem::Credentials));
        check("https://:secret@example.com/", Err(UrlProblem::Credentials));
    }

    #[test]
    fn url_length_limit_counts_percent_encoding() {
        let head = "https://example.com/";
        let longest = format!("{head}{}", "a".repeat(URL_BYTES_MAX - head.len()));
        check(&longest, Ok(&longest));
        check(&format!("{longest}a"), Err(UrlProblem::TooLong));
        // One character with six bytes in percent-encoding.
        check(&format!("{head}{}", "ä".repeat(URL_BYTES_MAX / 4)), Err(UrlProblem::TooLong));
    }
}
