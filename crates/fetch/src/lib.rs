//! HTTP to the outside: sources come in, webhooks go out, and nothing in between may be reached.
//!
//! The only crate that names an HTTP client. Begin with [`Guard`], the rule which addresses may be reached;
//! [`Network`] joins it with the resolution of names; [`Fetcher`] reads sources and [`Poster`] posts webhooks
//! through it.
//!
//! It does not know what is downloaded or posted, where bytes are stored, or what a row looks like, and it
//! writes no log. It reads no clock but tokio's timers, so tests can shrink every limit. No proxy, cookie or
//! credential is ever taken from the environment or carried from one host to another.

mod client;
mod error;
mod guard;
mod limits;
mod post;
mod resolve;
mod retry_after;
mod source;
mod url_rules;

pub use error::{FetchError, Phase, StartError, Unreachable};
pub use guard::{Forbidden, Guard, Refused};
pub use limits::{Limits, PostLimits};
pub use post::{PostError, PostResponse, Poster};
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
pub use resolve::{Network, Resolve, Resolving, SystemResolver};
pub use source::{
    DownloadError, Downloaded, Fetcher, NextAttempt, Pause, Sink, SourceResponse, Start, StrongValidator,
    Tries,
};
pub use url_rules::{URL_BYTES_MAX, UrlProblem, parse_source_url, parse_webhook_url};

/// How we name ourselves to servers.
const USER_AGENT: &str = concat!("Kinora/", env!("CARGO_PKG_VERSION"));
