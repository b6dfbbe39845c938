//! Reading sources: [`open`](Fetcher::open) for one answer, [`download`](Fetcher::download) for a whole
//! source with all that can happen on the way.

mod answer;
mod content_range;
mod download;
mod stall;
mod validator;

use reqwest::header::{ACCEPT_ENCODING, DATE, HeaderMap, HeaderName, IF_RANGE, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use tokio::time::timeout;
use url::Url;

pub use answer::{SourceResponse, Start};
pub use download::{DownloadError, Downloaded, NextAttempt, Pause, Sink, Tries};
pub use validator::StrongValidator;

use crate::client;
use crate::error::{FetchError, Phase, StartError};
use crate::guard::Guard;
use crate::limits::Limits;
use crate::resolve::Network;
use crate::retry_after;
use crate::url_rules::UrlProblem;

/// Reads sources. Cheap to clone; made once.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: Client,
    guard: Guard,
    limits: Limits,
}

/// From where on a source is wanted, and what must not have changed since the bytes before.
#[derive(Clone, Copy)]
struct Resume<'a> {
    offset: u64,
    validator: &'a StrongValidator,
}

impl Fetcher {
    /// A fetcher that sees the outside through `network`.
    pub fn new(network: &Network, limits: Limits) -> Result<Self, StartError> {
        // No connection is kept: every attempt resolves its name anew, and the next source is on another
        // server anyway.
        let client = client::build(network, limits.connect, |builder| builder.pool_max_idle_per_host(0))?;
        Ok(Self { client, guard: network.guard.clone(), limits })
    }

    /// Asks for a source once, following redirects, and hands back its answer with the body still to be read.
    ///
    /// With an `offset` above 0 and a `validator` it asks for the bytes from there on, provided the source is
    /// still the same; [`SourceResponse::start`] says whether the server did so or begins again. Without a
    /// validator it reads from the beginning: nothing else could prove that the bytes belong together.
    ///
    /// A redirect from https to http is refused: who asked for https would get, without a word, bytes anyone
    /// on the way could have replaced.
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

    /// Requests `url` and what it redirects to. The answer has any status but a redirect.
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
        match timeout(self.limits.headers, request.send()).await {
            Ok(answer) => answer.map_err(|error| client::trouble(error).into()),
            Err(_) => Err(FetchError::Timeout(Phase::Headers)),
        }
    }
}

/// Where an answer sends us; `None` if it is not a redirect.
fn redirect(response: &Response, from: &Url) -> Result<Option<Url>, FetchError> {
    // RFC 9110, 15.4: these five name one place to go to instead. 300 and 304 do not.
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = text(response.headers(), &LOCATION).ok_or(FetchError::Url(UrlProblem::Syntax))?;
    next_hop(from, &location).map(Some)
}

/// The URL a `Location` names, which may be relative. Its form and address are checked when it is requested.
fn next_hop(from: &Url, location: &str) -> Result<Url, FetchError> {
    let next = from.join(location).map_err(|_| FetchError::Url(UrlProblem::Syntax))?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(FetchError::Redirects);
    }
    Ok(next)
}

/// Turns every status but 200, 206 and 416 into its error.
fn refuse(status: StatusCode, headers: &HeaderMap) -> FetchError {
    let status = status.as_u16();
    match status {
        // C-41.
        401 | 403 | 404 | 410 => FetchError::NotFound { status },
        _ => {
            let date = text(headers, &DATE);
            let retry_after = text(headers, &RETRY_AFTER)
                .and_then(|retry_after| retry_after::parse(&retry_after, date.as_deref()));
            FetchError::Refused { status, retry_after }
        }
    }
}

/// The one value of a field. Bytes that are no UTF-8 become replacement characters.
fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
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
    fn a_location_is_read_relative_to_where_it_came_from() {
        check("https://a.example/b/c?d", "e", Ok("https://a.example/b/e"));
        check("https://a.example/b/c?d", "/e?f", Ok("https://a.example/e?f"));
        check("https://a.example/b/c", "//b.example/", Ok("https://b.example/"));
        check("http://a.example/b", "https://b.example/", Ok("https://b.example/"));
        check("http://a.example/b", "http://b.example/", Ok("http://b.example/"));
    }

    #[test]
    fn a_redirect_never_gives_up_the_secure_connection() {
        let refusal = "the server of the source redirects too often or from https to http";
        check("https://a.example/", "http://a.example/", Err(refusal));
        check("https://a.example/", "HTTP://b.example:443/", Err(refusal));
    }

    #[test]
    fn a_location_that_is_no_url_is_refused() {
        let refusal = "the address of the source, or one it redirects to, must be an absolute URL such as \
                       https://example.com/video.mp4";
        check("https://a.example/", "https://", Err(refusal));
        check("https://a.example/", "http://[::1", Err(refusal));
    }
}
