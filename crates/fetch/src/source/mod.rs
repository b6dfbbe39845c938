//! Reading sources: [`open`](Fetcher::open) for one answer, [`download`](Fetcher::download) for a whole source with all that
//! can happen on the way.

mod answer;
mod content_range;
mod download;
mod validator;

use reqwest::header::{ACCEPT_ENCODING, DATE, HeaderMap, HeaderName, IF_RANGE, LOCATION, RANGE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use tokio::time::timeout;
use url::Url;

pub use answer::{SourceResponse, Start};
pub use download::{DownloadError, Downloaded, Sink};
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
        // No connection is kept: every attempt resolves its name anew, and the next source is on another server anyway.
        let client = client::build(network, limits.connect, |builder| builder.pool_max_idle_per_host(0))?;
        Ok(Self { client, guard: network.guard.clone(), limits })
    }

    /// Asks for a source once, following redirects, and hands back its answer with the body still to be read.
    ///
    /// With an `offset` above 0 and a `validator` it asks for the bytes from there on, provided the source is still the same;
    /// [`SourceResponse::start`] says whether the server did so or begins again. Without a validator it reads from the
    /// beginning: nothing else could prove that the bytes belong together.
    ///
    /// A redirect from https to http is refused: who asked for https would get, without a word, bytes anyone on the way could
    /// have replaced.
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
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(FetchError::Redirects);
            }
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
    let Some(location) = text(response.headers(), &LOCATION) else {
        return Err(FetchError::Url(UrlProblem::Syntax));
    };
    let next = from.join(&location).map_err(|_| FetchError::Url(UrlProblem::Syntax))?;
    Ok(Some(next))
}

/// Turns every status but 200, 206 and 416 into its error.
fn refuse(status: StatusCode, headers: &HeaderMap) -> FetchError {
    let status = status.as_u16();
    match status {
        // Contract decision 41.
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
