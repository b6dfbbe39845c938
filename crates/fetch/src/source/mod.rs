//! Reads sources: [`open`](Fetcher::open) for one response, [`download`](Fetcher::download) for a whole
//! source with retries.

mod content_range;
mod download;
mod response;
mod stall;
mod validator;

use reqwest::header::{ACCEPT_ENCODING, DATE, HeaderMap, HeaderName, IF_RANGE, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use tokio::time::timeout;
use url::Url;

pub use download::{DownloadError, Downloaded, NextAttempt, Pause, RetryBudget, Sink};
pub use response::{BodyStart, SourceResponse};
pub use validator::StrongValidator;

use crate::client;
use crate::error::{ClientBuildError, FetchError, TimeoutPhase};
use crate::guard::Guard;
use crate::limits::Limits;
use crate::resolve::Network;
use crate::retry_after;
use crate::url_rules::UrlProblem;

/// Reads sources. Cheap to clone; created once.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: Client,
    guard: Guard,
    limits: Limits,
}

/// The offset of a request, and the validator that must still match.
#[derive(Clone, Copy)]
struct Resume<'a> {
    offset: u64,
    validator: &'a StrongValidator,
}

impl Fetcher {
    /// A fetcher that connects through `network`.
    pub fn new(network: &Network, limits: Limits) -> Result<Self, ClientBuildError> {
        // No connection is reused: every attempt resolves its name again, and the next source usually is on
        // another server.
        let client =
            client::build(network, limits.connect_timeout, |builder| builder.pool_max_idle_per_host(0))?;
        Ok(Self { client, guard: network.guard.clone(), limits })
    }

    /// Requests a source once, follows redirects, and returns its response with the body unread.
    ///
    /// With an `offset` above 0 and a `validator` it requests the bytes from there on, if the source is
    /// still the same; [`SourceResponse::start`] reports whether the server did so or restarts. Without a
    /// validator it reads from the beginning, because no other header proves that the bytes belong together.
    ///
    /// A redirect from https to http is rejected: the client chose https, and an attacker on the network
    /// could replace the bytes unnoticed.
    pub async fn open(
        &self,
        url: &Url,
        offset: u64,
        validator: Option<&StrongValidator>,
    ) -> Result<SourceResponse, FetchError> {
        let resume = validator.filter(|_| 0 < offset).map(|validator| Resume { offset, validator });
        let response = self.follow(url, resume).await?;
        SourceResponse::accept(response, resume, &self.limits)
    }

    /// Requests `url` and follows its redirects. The response has any status except a redirect.
    async fn follow(&self, url: &Url, resume: Option<Resume<'_>>) -> Result<Response, FetchError> {
        let mut url = url.clone();
        for _ in 0..=self.limits.redirects_max {
            self.guard.check_url(&url)?;
            let response = self.request(&url, resume).await?;
            let Some(next) = redirect(&response, &url)? else { return Ok(response) };
            url = next;
        }
        Err(FetchError::Redirects)
    }

    async fn request(&self, url: &Url, resume: Option<Resume<'_>>) -> Result<Response, FetchError> {
        let mut request = self.client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if let Some(Resume { offset, validator }) = resume {
            request = request.header(RANGE, format!("bytes={offset}-")).header(IF_RANGE, validator.as_str());
        }
        match timeout(self.limits.headers_timeout, request.send()).await {
            Ok(answer) => answer.map_err(|error| client::transport_error(error).into()),
            Err(_) => Err(FetchError::Timeout(TimeoutPhase::Headers)),
        }
    }
}

/// The target of a redirect; `None` for another response.
fn redirect(response: &Response, from: &Url) -> Result<Option<Url>, FetchError> {
    // RFC 9110, 15.4: these five have a single redirect target. 300 and 304 do not.
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = header_text(response.headers(), &LOCATION).ok_or(FetchError::Url(UrlProblem::Syntax))?;
    next_hop(from, &location).map(Some)
}

/// The URL of a `Location`, which may be relative. Its form and address are checked when it is requested.
fn next_hop(from: &Url, location: &str) -> Result<Url, FetchError> {
    let next = from.join(location).map_err(|_| FetchError::Url(UrlProblem::Syntax))?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(FetchError::Redirects);
    }
    Ok(next)
}

/// Converts every status except 200, 206 and 416 to its error.
fn status_error(status: StatusCode, headers: &HeaderMap) -> FetchError {
    let status = status.as_u16();
    match status {
        // C-41.
        401 | 403 | 404 | 410 => FetchError::NotFound { status },
        _ => {
            let date = header_text(headers, &DATE);
            let retry_after = header_text(headers, &RETRY_AFTER)
                .and_then(|retry_after| retry_after::parse(&retry_after, date.as_deref()));
            FetchError::UnexpectedStatus { status, retry_after }
        }
    }
}

/// The single value of a field. Bytes that are not valid UTF-8 become replacement characters.
fn header_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, location: &str, expected: Result<&str, &str>) {
        let found = next_hop(&Url::parse(from).unwrap(), location).map_err(|error| error.to_string());
        assert_eq!(found.as_ref().map(Url::as_str).map_err(String::as_str), expected, "{from} to {location}");
    }

    #[test]
    fn redirect_location_resolves_against_its_base_url() {
        check("https://a.example/b/c?d", "e", Ok("https://a.example/b/e"));
        check("https://a.example/b/c?d", "/e?f", Ok("https://a.example/e?f"));
        check("https://a.example/b/c", "//b.example/", Ok("https://b.example/"));
        check("http://a.example/b", "https://b.example/", Ok("https://b.example/"));
        check("http://a.example/b", "http://b.example/", Ok("http://b.example/"));
    }

    #[test]
    fn redirect_from_https_to_http_is_rejected() {
        let refusal = "the source server redirects too often or from https to http; use the final URL";
        check("https://a.example/", "http://a.example/", Err(refusal));
        check("https://a.example/", "HTTP://b.example:443/", Err(refusal));
    }

    #[test]
    fn redirect_location_without_a_host_is_rejected() {
        let refusal = "the source URL, or one it redirects to, must be an absolute URL such as \
                       https://example.com/video.mp4";
        check("https://a.example/", "https://", Err(refusal));
        check("https://a.example/", "http://[::1", Err(refusal));
    }
}
