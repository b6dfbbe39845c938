//! Why a viewer is rejected.

/// The reason why a viewer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybackDenied {
    /// The playback ID is private, and the token does not admit the viewer.
    Token(TokenError),
    /// The pass does not admit the viewer.
    Pass(PassError),
    /// The path is not valid for the current manifests.
    Path(PathError),
    /// The domain restriction rejects the page.
    Domain,
    /// The user agent restriction rejects the player.
    UserAgent,
}

/// The fault of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// The request has no token.
    Missing,
    /// It is longer than [`TokenClaims::TOKEN_BYTES_MAX`](crate::TokenClaims::TOKEN_BYTES_MAX).
    TooLong,
    /// It is not a signed JWT.
    Malformed,
    /// The request has two tokens.
    Repeated,
    /// A header field has a wrong form, or requires an unsupported feature.
    BadHeader,
    /// A claim has a wrong form, or requires an unsupported feature.
    BadClaim,
    /// Its key ID is not of the workspace.
    UnknownKey,
    /// It was not signed with the algorithm of its key.
    WrongAlgorithm,
    /// The signature does not match its key.
    BadSignature,
    /// It is for another audience.
    WrongAudience,
    /// It has no expiry.
    NoExpiry,
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// It was revoked.
    Revoked,
}

/// The fault of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassError {
    /// The signature is invalid, or for another playback ID.
    Forged,
    /// It has expired.
    Expired,
    /// All passes of its generation were revoked.
    Revoked,
    /// It expires later than any pass that is issued now: the issuing clock was ahead.
    NotYetValid,
}

/// The fault of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// It has no signature.
    Missing,
    /// The signature is invalid, or for another playback ID.
    Forged,
    /// It has expired.
    Expired,
    /// All paths of its generation were revoked.
    Revoked,
    /// The key of its viewer's token was deleted.
    KeyDeleted,
    /// It expires later than any path that is issued now: the issuing clock was ahead.
    NotYetValid,
}

impl PlaybackDenied {
    /// Whether the cause is in the request alone: the same request through the same playback ID is always
    /// rejected again, regardless of other changes.
    ///
    /// This is so for a private playback ID, because its policy never changes, and for a key, because a
    /// [`KeyRef`] never means another key. A cache may confuse a key with a later one that has the same ID
    /// (D-0098). A pass, and a second token, are not read once the playback ID has no restrictions.
    pub fn is_caused_by_request(self) -> bool {
        match self {
            Self::Token(error) => match error {
                TokenError::Missing
                | TokenError::TooLong
                | TokenError::Malformed
                | TokenError::BadHeader
                | TokenError::BadClaim
                | TokenError::WrongAlgorithm
                | TokenError::BadSignature => true,
                TokenError::Repeated
                | TokenError::UnknownKey
                | TokenError::WrongAudience
                | TokenError::NoExpiry
                | TokenError::Expired
                | TokenError::NotYetValid
                | TokenError::Revoked => false,
            },
            Self::Path(refusal) => refusal == PathError::Forged,
            Self::Pass(_) | Self::Domain | Self::UserAgent => false,
        }
    }

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token(error) => error.name(),
            Self::Pass(error) => error.name(),
            Self::Path(refusal) => refusal.name(),
            Self::Domain => "domain",
            Self::UserAgent => "user_agent",
        }
    }
}

impl TokenError {
    fn name(self) -> &'static str {
        match self {
            Self::Missing => "token_missing",
            Self::TooLong => "token_too_long",
            Self::Malformed | Self::Repeated => "token_malformed",
            Self::BadHeader => "token_bad_header",
            Self::BadClaim => "token_bad_claim",
            Self::UnknownKey => "token_unknown_key",
            Self::WrongAlgorithm => "token_wrong_algorithm",
            Self::BadSignature => "token_bad_signature",
            Self::WrongAudience => "token_wrong_audience",
            Self::NoExpiry => "token_no_expiry",
            Self::Expired => "token_expired",
            Self::NotYetValid => "token_not_yet_valid",
            Self::Revoked => "token_revoked",
        }
    }
}

impl PassError {
    fn name(self) -> &'static str {
        match self {
            Self::Forged => "pass_forged",
            Self::Expired => "pass_expired",
            Self::Revoked => "pass_old",
            Self::NotYetValid => "pass_future",
        }
    }
}

impl PathError {
    fn name(self) -> &'static str {
        match self {
            Self::Missing => "path_missing",
            Self::Forged => "path_forged",
            Self::Expired => "path_expired",
            Self::Revoked => "path_old",
            Self::KeyDeleted => "path_key_gone",
            Self::NotYetValid => "path_future",
        }
    }
}
