//! Outbound HTTP: downloads of sources and webhook posts, restricted to allowed addresses.
//!
//! The only crate that depends on an HTTP client. Begin with [`Guard`], which decides about IP addresses.
//! [`Network`] combines it with name resolution. [`Fetcher`] reads sources and [`WebhookClient`] posts
//! webhooks through it.
//!
//! Independent of the content of sources and posts, of storage and of database rows. It writes no log and
//! uses only the timers of tokio as a clock, so tests can shorten every limit. It takes no proxy, cookie or
//! credential from the environment, and carries none from one host to another.

mod client;
mod error;
mod guard;
mod limits;
mod resolve;
mod retry_after;
mod source;
mod url_rules;
mod webhook_client;

pub use error::{ClientBuildError, FetchError, TimeoutPhase, Unreachable};
pub use guard::{Forbidden, Guard, UrlRejected};
pub use limits::{Limits, PostLimits};
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use resolve::{Network, Resolve, ResolveFuture, SystemResolver};
pub use source::{
    BodyStart, DownloadError, Downloaded, Fetcher, NextAttempt, Pause, RetryBudget, Sink, SourceResponse,
    StrongValidator,
};
pub use url_rules::{URL_BYTES_MAX, UrlProblem, parse_source_url, parse_webhook_url};
pub use webhook_client::{PostError, PostResponse, WebhookClient};

/// The `User-Agent` of all requests.
const USER_AGENT: &str = concat!("Kinora/", env!("CARGO_PKG_VERSION"));
