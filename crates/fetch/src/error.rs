//! Errors of reading a source: variants by the possible reaction of a caller, texts for clients.

use std::error::Error;
use std::time::Duration;

use kinora_domain::{Failure, FailureCode};

use crate::guard::{Forbidden, UrlRejected};
use crate::url_rules::UrlProblem;

/// Why a source was not read.
///
/// The text is for the client: it contains only data from the client or from the server of the source. So it
/// has no resolved IP address and no URL. The cause ([`Error::source`]) is for the log.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL, or a redirect target, has a form that is not allowed.
    #[error("the source URL, or one it redirects to, {0}")]
    Url(UrlProblem),
    /// The address, or a redirect target, is in a forbidden network. No request was sent there.
    #[error("the source URL, or one it redirects to, is not on the public internet")]
    ForbiddenAddress(#[source] Forbidden),
    /// The server does not provide the source: 401, 403, 404 or 410.
    #[error("the source server responded with status {status}")]
    NotFound {
        /// The status.
        status: u16,
    },
    /// Another status without success.
    #[error("the source server responded with status {status}")]
    UnexpectedStatus {
        /// The status.
        status: u16,
        /// `Retry-After`, as sent: callers cap it.
        retry_after: Option<Duration>,
    },
    /// No response, or an unusable one.
    #[error("{why}")]
    Unreachable {
        /// The kind of failure.
        why: Unreachable,
        /// For the log.
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A timeout expired.
    #[error("{0}")]
    Timeout(TimeoutPhase),
    /// The source exceeds the size limit, or its server announces that.
    #[error("the source is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// More redirects than allowed, or a forbidden one.
    #[error("the source server redirects too often or from https to http; use the final URL")]
    Redirects,
    /// The server compressed the bytes although the request disallows it.
    #[error("the source server sent a Content-Encoding, although none was accepted")]
    Encoded,
    /// The requested bytes do not continue the bytes before, or the server cannot prove that they do.
    #[error(
        "the source changed during the download, or its server does not support range requests correctly"
    )]
    Changed,
}

/// Why there was no usable response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name has no address.
    #[error("the host name of the source does not resolve")]
    Name,
    /// The server accepts no connections.
    #[error("the source server does not accept connections")]
    Connect,
    /// The secure connection failed, for example because a certificate cannot be verified.
    #[error("the secure connection (TLS) to the source server failed")]
    Tls,
    /// The response is not HTTP, or has more or longer headers than allowed.
    #[error("the source server does not send valid HTTP")]
    Broken,
    /// The connection ended before the source did.
    #[error("the connection to the source server ended early")]
    Cut,
}

/// The timeout that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeoutPhase {
    /// The connection was not established.
    #[error("the connection to the source server timed out")]
    Connect,
    /// The headers did not arrive.
    #[error("the source server did not respond in time")]
    Headers,
    /// Too few bytes arrived.
    #[error("the source server sends too slowly")]
    Stalled,
    /// The whole download took too long.
    #[error("the source could not be downloaded within the time limit for all attempts")]
    Total,
}

impl FetchError {
    /// The stable code of the failure (C-31).
    pub fn code(&self) -> FailureCode {
        match self {
            Self::ForbiddenAddress(_) => FailureCode::SourceForbiddenAddress,
            Self::NotFound { .. } => FailureCode::SourceNotFound,
            Self::Timeout(_) => FailureCode::SourceTimeout,
            Self::TooLarge { .. } => FailureCode::SourceTooLarge,
            Self::Url(_)
            | Self::UnexpectedStatus { .. }
            | Self::Unreachable { .. }
            | Self::Redirects
            | Self::Encoded
            | Self::Changed => FailureCode::SourceUnreachable,
        }
    }

    /// Code and message for the client.
    pub fn failure(&self) -> Failure {
        Failure::new(self.code(), self.to_string())
    }

    /// Whether further attempts are useless.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Url(_)
            | Self::ForbiddenAddress(_)
            | Self::NotFound { .. }
            | Self::Timeout(TimeoutPhase::Total)
            | Self::TooLarge { .. }
            | Self::Redirects
            | Self::Encoded => true,
            Self::UnexpectedStatus { .. }
            | Self::Unreachable { .. }
            | Self::Timeout(TimeoutPhase::Connect | TimeoutPhase::Headers | TimeoutPhase::Stalled)
            | Self::Changed => false,
        }
    }

    /// The delay before the next attempt that the server requested.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::UnexpectedStatus { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    pub(crate) fn unreachable(why: Unreachable) -> Self {
        Self::Unreachable { why, cause: None }
    }
}

impl From<UrlRejected> for FetchError {
    fn from(rejected: UrlRejected) -> Self {
        match rejected {
            UrlRejected::Url(problem) => Self::Url(problem),
            UrlRejected::Address(forbidden) => Self::ForbiddenAddress(forbidden),
        }
    }
}

/// Why no client could be created at startup: usually the system has no CA certificates.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up outbound HTTPS; is the package ca-certificates installed?")]
pub struct ClientBuildError(#[source] pub(crate) Box<dyn Error + Send + Sync>);
