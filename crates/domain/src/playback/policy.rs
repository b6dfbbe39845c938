//! The access decision for all requests below a playback ID.

mod denied;

use super::host::{EmbeddingPage, HostPattern, PageHost};
use super::pass::PassClaims;
use super::signed_path::PathClaims;
use super::{AccessPolicy, DefaultPolicy, PlaybackIdSettings, Restriction};
use crate::{KeyRef, PlaybackId, Resolution, Timestamp};

pub use denied::{PassError, PathError, PlaybackDenied, TokenError};

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
    /// The claims of a pass whose signature is valid, or the fault of the pass.
    Pass(Result<PassClaims, PassError>),
    /// The claims of a path whose signature is valid and whose key exists, or the fault of the path.
    Path(Result<PathClaims, PathError>),
}

/// The proof that admitted a viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessProof {
    /// None was needed.
    None,
    /// A token that this workspace key signed.
    Token(KeyRef),
    /// A pass of the dashboard. The restrictions by page and by player do not apply.
    Pass,
}

impl AccessProof {
    /// The key that signed the viewer's token.
    pub fn key(self) -> Option<KeyRef> {
        match self {
            Self::Token(key) => Some(key),
            Self::None | Self::Pass => None,
        }
    }
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
    /// The proof that admitted the viewer of the manifest.
    pub proof: AccessProof,
    /// The page that embeds our player page, from the address of the manifest: later requests have the
    /// player page as their origin. `None` with a pass, whose viewers come from any page.
    pub embedding_page: Option<EmbeddingPage>,
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
    /// required: one address has one meaning. A token is read only where one is required, a pass only where
    /// a viewer can be rejected: all other viewers share their addresses. There two tokens are rejected too,
    /// since one of them may be a pass.
    pub fn decide(&self, viewer: &Viewer<'_>, now: Timestamp) -> Result<PlaybackGrant, PlaybackDenied> {
        let proof = self.check_credential(&viewer.credential, now)?;
        let embedding_page = match proof {
            AccessProof::Pass => None,
            AccessProof::None | AccessProof::Token(_) => {
                self.check_restrictions(&viewer.page, viewer.embedding_page.as_ref(), viewer.user_agent)?;
                viewer.embedding_page.clone()
            }
        };
        let binding = || PathBinding { generation: self.generation, proof, embedding_page };
        Ok(PlaybackGrant { resolution: self.resolution, binding: self.is_restricted().then(binding) })
    }

    fn check_credential(
        &self,
        credential: &ViewerCredential,
        now: Timestamp,
    ) -> Result<AccessProof, PlaybackDenied> {
        match credential {
            ViewerCredential::Token(token) if self.is_private() => {
                token.map(AccessProof::Token).map_err(PlaybackDenied::Token)
            }
            ViewerCredential::Token(Err(error @ TokenError::Repeated)) if self.is_restricted() => {
                Err(PlaybackDenied::Token(*error))
            }
            ViewerCredential::Token(_) => Ok(AccessProof::None),
            ViewerCredential::Pass(_) if !self.is_restricted() => Ok(AccessProof::None),
            ViewerCredential::Pass(pass) => {
                let checked = pass.as_ref().map_err(|error| *error);
                checked.and_then(|claims| self.check_pass(claims, now)).map_err(PlaybackDenied::Pass)
            }
            ViewerCredential::Path(Err(PathError::Missing)) if !self.is_restricted() => Ok(AccessProof::None),
            ViewerCredential::Path(path) => {
                let checked = path.as_ref().map_err(|error| *error);
                checked.and_then(|claims| self.check_path(claims, now)).map_err(PlaybackDenied::Path)
            }
        }
    }

    /// Whether the restrictions admit a viewer with a valid credential other than a pass.
    ///
    /// The embedding page is checked in addition to the page, never instead of it: a forged one in an
    /// address gains nothing.
    pub fn check_restrictions(
        &self,
        page: &Page,
        embedding_page: Option<&EmbeddingPage>,
        user_agent: Option<&str>,
    ) -> Result<(), PlaybackDenied> {
        let is_allowed = |host: Option<&PageHost>| {
            self.domains.allows(|pattern| host.is_some_and(|host| pattern.matches(host)))
        };
        let is_page_allowed = match page {
            Page::Own => true,
            Page::Unknown => is_allowed(None),
            Page::Of(host) => is_allowed(Some(host)),
        };
        if !is_page_allowed || !embedding_page.is_none_or(|EmbeddingPage(host)| is_allowed(host.as_ref())) {
            return Err(PlaybackDenied::Domain);
        }
        let user_agent = user_agent.unwrap_or_default();
        // Case-sensitive parts (C-12).
        if !self.user_agents.allows(|part| user_agent.contains(part.as_str())) {
            return Err(PlaybackDenied::UserAgent);
        }
        Ok(())
    }

    fn check_pass(&self, claims: &PassClaims, now: Timestamp) -> Result<AccessProof, PassError> {
        if claims.playback != self.playback {
            return Err(PassError::Forged);
        }
        if claims.generation != self.generation {
            return Err(PassError::Revoked);
        }
        if claims.expires_at() <= now {
            return Err(PassError::Expired);
        }
        if !claims.is_plausible(now) {
            return Err(PassError::NotYetValid);
        }
        Ok(AccessProof::Pass)
    }

    fn check_path(&self, claims: &PathClaims, now: Timestamp) -> Result<AccessProof, PathError> {
        let proof = claims.binding.proof;
        if claims.playback != self.playback || (self.is_private() && proof == AccessProof::None) {
            return Err(PathError::Forged);
        }
        if claims.binding.generation != self.generation {
            return Err(PathError::Revoked);
        }
        if claims.expires_at() <= now {
            return Err(PathError::Expired);
        }
        Ok(proof)
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

#[cfg(test)]
mod tests;
