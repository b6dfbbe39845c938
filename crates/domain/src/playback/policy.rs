//! The access decision for all requests below a playback ID.

use super::host::{EmbeddingPage, HostPattern, PageHost};
use super::signed_path::PathClaims;
use super::{AccessPolicy, DefaultPolicy, PlaybackIdSettings, Restriction};
use crate::{KeyRef, PlaybackId, Resolution, Timestamp};

/// The access rules of a playback ID, parsed once for many decisions.
#[derive(Debug, Clone)]
pub struct PlaybackPolicy {
    playback: PlaybackId,
    policy: AccessPolicy,
    generation: u32,
    domains: RestrictionRule<HostPattern>,
    user_agents: RestrictionRule<String>,
    resolution: Option<Resolution>,
}

/// The facts about a request that the decision needs.
#[derive(Debug, Clone)]
pub struct Viewer<'a> {
    /// The credential of the request.
    pub credential: ViewerCredential,
    /// The page that plays the media.
    pub page: Page,
    /// The page that embeds our player page, from the address of the request; `None` if the address does not
    /// name one.
    pub embedding_page: Option<EmbeddingPage>,
    /// The player's user agent, if the request has one.
    pub user_agent: Option<&'a str>,
}

/// The page that a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// The request does not name its page.
    Unknown,
    /// A page of this server.
    Own,
    /// A page of this host.
    Of(PageHost),
}

/// The credential of a viewer. Addresses for people take a token; addresses in a manifest have a signed
/// path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewerCredential {
    /// The workspace key that signed a token which is valid for this playback ID now, or the fault of the
    /// token.
    Token(Result<KeyRef, TokenError>),
    /// The claims of a path whose signature is valid and whose key exists, or the fault of the path.
    Path(Result<PathClaims, PathError>),
}

/// The rights of an admitted viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaybackGrant {
    /// The largest resolution that is played; `None`: only the media's own limit applies.
    pub resolution: Option<Resolution>,
    /// The binding of the signed addresses of a manifest; `None` if the addresses are the same for all
    /// viewers, forever.
    pub binding: Option<PathBinding>,
}

/// The facts that a path is signed for, except its expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathBinding {
    /// The generation of the playback ID.
    pub generation: u32,
    /// The key that signed the viewer's token; `None` if no token was needed.
    pub key: Option<KeyRef>,
    /// The page that embeds our player page, from the address of the manifest: later requests have the
    /// player page as their origin.
    pub embedding_page: Option<EmbeddingPage>,
}

/// The reason why a viewer is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybackDenied {
    /// The playback ID is private, and the token does not admit the viewer.
    Token(TokenError),
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
    /// It is longer than [`TokenClaims::TOKEN_BYTES_MAX`](super::TokenClaims::TOKEN_BYTES_MAX).
    TooLong,
    /// It is not a signed JWT, or the request has two tokens.
    Malformed,
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

#[derive(Debug, Clone)]
struct RestrictionRule<T> {
    default_policy: DefaultPolicy,
    /// The list of the other default has no effect (C-163, C-12).
    exceptions: Vec<T>,
    /// Derived from the stored rule, even if some of its entries cannot be parsed.
    is_restrictive: bool,
}

impl PlaybackPolicy {
    /// The policy of a playback ID.
    pub fn of(settings: &PlaybackIdSettings) -> Self {
        Self {
            playback: settings.id,
            policy: settings.policy,
            generation: settings.generation,
            // An invalid entry matches no page. New ones are rejected (D-0067); older ones in the store
            // still count as a rule.
            domains: RestrictionRule::of(&settings.restrictions.domains, HostPattern::parse),
            user_agents: RestrictionRule::of(&settings.restrictions.user_agents, |entry| {
                Some(entry.to_owned())
            }),
            resolution: settings.resolution,
        }
    }

    /// Its playback ID.
    pub fn playback(&self) -> PlaybackId {
        self.playback
    }

    /// Whether it requires a token.
    pub fn is_private(&self) -> bool {
        self.policy == AccessPolicy::Private
    }

    /// Whether any viewer can be rejected. Otherwise the responses are the same for all viewers, forever.
    pub fn is_restricted(&self) -> bool {
        self.is_private() || self.varies_on_page() || self.varies_on_user_agent()
    }

    /// Whether the decision depends on the page.
    pub fn varies_on_page(&self) -> bool {
        self.domains.is_restrictive
    }

    /// Whether the decision depends on the user agent.
    pub fn varies_on_user_agent(&self) -> bool {
        self.user_agents.is_restrictive
    }

    /// Number of its entries, for the size limit of a cache.
    pub fn entry_count(&self) -> usize {
        self.domains.exceptions.len() + self.user_agents.exceptions.len()
    }

    /// Decides whether this viewer may watch now, and with which rights.
    ///
    /// The credential is checked before the restrictions. A signed path must be valid even where none is
    /// required: one address has one meaning.
    pub fn decide(&self, viewer: &Viewer<'_>, now: Timestamp) -> Result<PlaybackGrant, PlaybackDenied> {
        let key = match &viewer.credential {
            ViewerCredential::Token(token) if self.is_private() => {
                Some(token.map_err(PlaybackDenied::Token)?)
            }
            ViewerCredential::Token(_) => None,
            ViewerCredential::Path(Err(PathError::Missing)) if !self.is_restricted() => None,
            ViewerCredential::Path(path) => {
                let checked = path.as_ref().map_err(|error| *error);
                checked.and_then(|claims| self.check_path(claims, now)).map_err(PlaybackDenied::Path)?
            }
        };
        let is_allowed = |host: Option<&PageHost>| {
            self.domains.allows(|pattern| host.is_some_and(|host| pattern.matches(host)))
        };
        let is_page_allowed = match &viewer.page {
            Page::Own => true,
            Page::Unknown => is_allowed(None),
            Page::Of(host) => is_allowed(Some(host)),
        };
        // The embedding page is checked in addition to the page, never instead of it: a forged one in an
        // address gains nothing.
        let is_embedding_page_allowed =
            viewer.embedding_page.as_ref().is_none_or(|EmbeddingPage(host)| is_allowed(host.as_ref()));
        if !is_page_allowed || !is_embedding_page_allowed {
            return Err(PlaybackDenied::Domain);
        }
        let user_agent = viewer.user_agent.unwrap_or_default();
        // Case-sensitive parts (C-12).
        if !self.user_agents.allows(|part| user_agent.contains(part.as_str())) {
            return Err(PlaybackDenied::UserAgent);
        }
        let binding = || PathBinding {
            generation: self.generation,
            key,
            embedding_page: viewer.embedding_page.clone(),
        };
        Ok(PlaybackGrant { resolution: self.resolution, binding: self.is_restricted().then(binding) })
    }

    fn check_path(&self, claims: &PathClaims, now: Timestamp) -> Result<Option<KeyRef>, PathError> {
        if claims.playback != self.playback || (self.is_private() && claims.binding.key.is_none()) {
            return Err(PathError::Forged);
        }
        if claims.binding.generation != self.generation {
            return Err(PathError::Revoked);
        }
        if claims.expires_at() <= now {
            return Err(PathError::Expired);
        }
        Ok(claims.binding.key)
    }

    /// The pages, other than our own, that may embed the content for this page, as source expressions of a
    /// content security policy; `None`: any page.
    ///
    /// Such a policy lists allowed pages only. Under the default `allow` any page may embed, and the rule is
    /// enforced where the page plays. Under `deny` the result has only the entries that match this page.
    /// Other entries would reveal the owner's list and lengthen the header; of two entries that match one
    /// page, one is a suffix of the other. The result is empty for a page without a match, and for an
    /// unknown page.
    ///
    /// If a page is allowed but no matching entry has a source expression, any page may embed: otherwise
    /// this page would be blocked. One entry with an expression is enough, because the expression covers all
    /// pages of the entry.
    pub fn frame_ancestors(&self, page: &Page) -> Option<Vec<String>> {
        if self.domains.default_policy == DefaultPolicy::Allow {
            return None;
        }
        let Page::Of(host) = page else { return Some(Vec::new()) };
        let matching: Vec<_> =
            self.domains.exceptions.iter().filter(|pattern| pattern.matches(host)).collect();
        let sources: Vec<_> =
            matching.iter().filter_map(|pattern| pattern.to_csp_sources()).flatten().collect();
        (matching.is_empty() || !sources.is_empty()).then_some(sources)
    }
}

impl<T> RestrictionRule<T> {
    fn of(restriction: &Restriction, parse: impl Fn(&str) -> Option<T>) -> Self {
        let exceptions = match restriction.default_policy {
            DefaultPolicy::Allow => &restriction.deny,
            DefaultPolicy::Deny => &restriction.allow,
        };
        let exceptions = exceptions.iter().filter_map(|entry| parse(entry)).collect();
        let is_restrictive = restriction.is_restrictive();
        Self { default_policy: restriction.default_policy, exceptions, is_restrictive }
    }

    fn allows(&self, is_named: impl Fn(&T) -> bool) -> bool {
        let is_exception = self.exceptions.iter().any(is_named);
        match self.default_policy {
            DefaultPolicy::Allow => !is_exception,
            DefaultPolicy::Deny => is_exception,
        }
    }
}

impl PlaybackDenied {
    /// Whether the cause is in the request alone: the same request through the same playback ID is always
    /// rejected again, regardless of other changes.
    ///
    /// This is so for a private playback ID, because its policy never changes, and for a key, because a
    /// [`KeyRef`] never means another key. A cache may confuse a key with a later one that has the same ID
    /// (D-0098).
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
                TokenError::UnknownKey
                | TokenError::WrongAudience
                | TokenError::NoExpiry
                | TokenError::Expired
                | TokenError::NotYetValid
                | TokenError::Revoked => false,
            },
            Self::Path(refusal) => refusal == PathError::Forged,
            Self::Domain | Self::UserAgent => false,
        }
    }

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token(error) => error.name(),
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
            Self::Malformed => "token_malformed",
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

#[cfg(test)]
mod tests;
