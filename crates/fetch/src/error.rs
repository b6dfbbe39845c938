//! Why a source could not be read: variants by what a caller can do, texts a client may read.

use std::error::Error;
use std::time::Duration;

use kinora_domain::{Failure, FailureCode};

use crate::guard::{Forbidden, Refused};
use crate::url_rules::UrlProblem;

/// Why a source was not read.
///
/// The text is for the client: it holds nothing but what the client or the server of the source said, so no
/// address a name resolves to and no URL. The cause below ([`Error::source`]) is for the log.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL, or one it redirects to, is of a form we do not request.
    #[error("the address of the source, or one it redirects to, {0}")]
    Url(UrlProblem),
    /// The address, or one it redirects to, lies in a network that must not be reached. Nothing was sent
    /// there.
    #[error("the source, or an address it redirects to, is not on the public internet")]
    ForbiddenAddress(#[source] Forbidden),
    /// The server will not give the source: 401, 403, 404 or 410.
    #[error("the server of the source answered {status}")]
    NotFound {
        /// The status.
        status: u16,
    },
    /// Another status that is no success.
    #[error("the server of the source answered {status}")]
    Refused {
        /// The status.
        status: u16,
        /// `Retry-After`, as sent: callers cap it.
        retry_after: Option<Duration>,
    },
    /// No answer, or none that can be used.
    #[error("{why}")]
    Unreachable {
        /// What happened.
        why: Unreachable,
        /// For the log.
        #[source]
        cause: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A limit of time was reached.
    #[error("{0}")]
    Timeout(Phase),
    /// The source is larger than allowed, or says so.
    #[error("the source is larger than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// More redirects than allowed, or one we do not follow.
    #[error("the server of the source redirects too often or from https to http")]
    Redirects,
    /// The server compressed the bytes although asked not to.
    #[error("the server of the source answered with a content coding although none was accepted")]
    Encoded,
    /// The bytes asked for no longer belong to what came before, or the server cannot say.
    #[error("the source changed while it was read, or its server does not answer ranges correctly")]
    Changed,
}

/// Why there was no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The name has no address.
    #[error("the name of the source's server does not resolve")]
    Name,
    /// Nobody accepts connections there.
    #[error("the server of the source does not accept connections")]
    Connect,
    /// No secure connection, as with a certificate that cannot be verified.
    #[error("no secure connection to the server of the source could be made")]
    Tls,
    /// What came is not HTTP, or has more or longer headers than allowed.
    #[error("the server of the source does not answer with correct HTTP")]
    Broken,
    /// The connection ended before the source did.
    #[error("the connection to the server of the source ended too early")]
    Cut,
}

/// Which limit of time was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Phase {
    /// No connection.
    #[error("the server of the source could not be connected to in time")]
    Connect,
    /// No headers.
    #[error("the server of the source did not answer in time")]
    Headers,
    /// Too few bytes.
    #[error("the server of the source sends too slowly")]
    Stalled,
    /// The whole download.
    #[error("the source could not be read in the time allowed for all attempts")]
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
            | Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::Redirects
            | Self::Encoded
            | Self::Changed => FailureCode::SourceUnreachable,
        }
    }

    /// Code and sentence, as the client gets them.
    pub fn failure(&self) -> Failure {
        Failure::new(self.code(), self.to_string())
    }

    /// Whether another attempt cannot help.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Url(_)
            | Self::ForbiddenAddress(_)
            | Self::NotFound { .. }
            | Self::Timeout(Phase::Total)
            | Self::TooLarge { .. }
            | Self::Redirects
            | Self::Encoded => true,
            Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::Timeout(Phase::Connect | Phase::Headers | Phase::Stalled)
            | Self::Changed => false,
        }
    }

    /// How long the server asked to wait before the next attempt.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    pub(crate) fn unreachable(why: Unreachable) -> Self {
        Self::Unreachable { why, cause: None }
    }
}

impl From<Refused> for FetchError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Url(problem) => Self::Url(problem),
            Refused::Address(forbidden) => Self::ForbiddenAddress(forbidden),
        }
    }
}

/// Why no client could be made when the program started: as a rule, the system has no certificates of
/// authorities.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up outbound HTTPS; is the package ca-certificates installed?")]
pub struct StartError(#[source] pub(crate) Box<dyn Error + Send + Sync>);
