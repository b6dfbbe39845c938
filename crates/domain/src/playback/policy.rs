//! The one rule of who may watch: asked for whatever lies below a playback ID.

use super::host::{Frame, HostPattern, PageHost};
use super::path::PathTicket;
use super::{AccessPolicy, DefaultPolicy, PlaybackHandle, Restriction};
use crate::{KeyMark, PlaybackId, Resolution, Timestamp};

/// What decides who may watch through a playback ID, made ready to be asked often.
#[derive(Debug, Clone)]
pub struct PlaybackPolicy {
    playback: PlaybackId,
    policy: AccessPolicy,
    generation: u32,
    domains: Rule<HostPattern>,
    user_agents: Rule<String>,
    resolution: Option<Resolution>,
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Viewer<'a> {
    /// What the request proved of itself.
    pub admission: Admission,
    /// The page that plays it.
    pub page: Page,
    /// The page that our own player page stands on, as the address that it was given says; `None` where that
    /// says nothing.
    pub frame: Option<Frame>,
    /// The player's user agent, where it tells.
    pub user_agent: Option<&'a str>,
}

/// The page that a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// The request does not tell.
    Unknown,
    /// One of our own.
    Own,
    /// A page of this host.
    Of(PageHost),
}

/// By what a viewer is let in. There are two kinds of addresses: those that people are given take a token;
/// those that a manifest lists have a path that is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// The key of the workspace with which a token was signed that holds for this playback ID now, or what is
    /// wrong with it.
    Token(Result<KeyMark, TokenRefusal>),
    /// What a signed path says, when its signature holds and its key is there, or what is wrong with it.
    Path(Result<PathTicket, PathRefusal>),
}

/// What whoever is let in may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Nothing larger is played; `None`: the media's own bound alone.
    pub resolution: Option<Resolution>,
    /// What the addresses that a manifest lists must say; `None` where they are the same for everybody, for
    /// ever.
    pub ticket: Option<TicketFacts>,
}

/// What a path is signed for, but for its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketFacts {
    /// The generation of the playback ID.
    pub generation: u32,
    /// The key that signed the token of whoever was let in; `None` where none was needed.
    pub key: Option<KeyMark>,
    /// The page that our own player page stands on, as the address of the manifest said: what it asks for
    /// later comes from itself.
    pub frame: Option<Frame>,
}

/// Why somebody may not watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybackRefusal {
    /// The playback ID is private, and the token does not open it.
    Token(TokenRefusal),
    /// The address is none of those that a manifest lists now.
    Path(PathRefusal),
    /// The rule on hosts of pages keeps this one out.
    Domain,
    /// The rule on user agents keeps this one out.
    UserAgent,
}

/// What is wrong with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// None came.
    Missing,
    /// It is longer than [`TokenClaims::TOKEN_BYTES_MAX`](super::TokenClaims::TOKEN_BYTES_MAX).
    TooLong,
    /// It is no signed JWT, or came twice.
    Malformed,
    /// What its header says has not the form that it must have, or asks for what is not known here.
    BadHeader,
    /// The same of a claim.
    BadClaim,
    /// It names no key of the workspace.
    UnknownKey,
    /// It was not signed with the algorithm of its key.
    WrongAlgorithm,
    /// The signature is not that of its key.
    BadSignature,
    /// It is for something else.
    WrongAudience,
    /// It does not say when it ends.
    NoExpiry,
    /// It has ended.
    Expired,
    /// It has not begun.
    NotYetValid,
    /// It was taken back.
    Revoked,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRefusal {
    /// It has no signature.
    Missing,
    /// The signature is not ours, or not for this playback ID.
    Forged,
    /// It has ended.
    Expired,
    /// All paths of its time were taken back.
    Old,
    /// The key that let its viewer in was deleted.
    KeyGone,
    /// It ends later than any that is handed out: the clock was ahead.
    Future,
}

#[derive(Debug, Clone)]
struct Rule<T> {
    default_policy: DefaultPolicy,
    /// The list of the other default has no effect (C-163, C-12).
    exceptions: Vec<T>,
    /// As the rule was set, whether or not all of it could be read.
    refuses_somebody: bool,
}

impl PlaybackPolicy {
    /// That of a playback ID.
    pub fn of(handle: &PlaybackHandle) -> Self {
        Self {
            playback: handle.id,
            policy: handle.policy,
            generation: handle.generation,
            // What is no host names nobody. It is not taken (D-0067); what lies there from before
            // still counts as a rule.
            domains: Rule::of(&handle.restrictions.domains, HostPattern::parse),
            user_agents: Rule::of(&handle.restrictions.user_agents, |entry| Some(entry.to_owned())),
            resolution: handle.resolution,
        }
    }

    /// Whose it is.
    pub fn playback(&self) -> PlaybackId {
        self.playback
    }

    /// Whether it asks for a token.
    pub fn is_private(&self) -> bool {
        self.policy == AccessPolicy::Private
    }

    /// Whether anybody could be refused. Otherwise what is played is the same for everybody, for ever.
    pub fn is_restricted(&self) -> bool {
        self.is_private() || self.asks_for_page() || self.asks_for_user_agent()
    }

    /// Whether a rule asks on which page somebody watches.
    pub fn asks_for_page(&self) -> bool {
        self.domains.refuses_somebody
    }

    /// Whether a rule asks in which player somebody watches.
    pub fn asks_for_user_agent(&self) -> bool {
        self.user_agents.refuses_somebody
    }

    /// How many entries it holds, for whoever remembers it.
    pub fn entries(&self) -> usize {
        self.domains.exceptions.len() + self.user_agents.exceptions.len()
    }

    /// Whether this viewer may watch now, and what of it.
    ///
    /// Who somebody is comes before what the rules say of them. A path that is signed must hold also where
    /// none is needed: one address means one thing.
    pub fn decide(&self, viewer: &Viewer<'_>, now: Timestamp) -> Result<Allowed, PlaybackRefusal> {
        let key = match &viewer.admission {
            Admission::Token(token) if self.is_private() => Some(token.map_err(PlaybackRefusal::Token)?),
            Admission::Token(_) => None,
            Admission::Path(Err(PathRefusal::Missing)) if !self.is_restricted() => None,
            Admission::Path(path) => {
                let checked = path.as_ref().map_err(|refusal| *refusal);
                checked.and_then(|ticket| self.check_path(ticket, now)).map_err(PlaybackRefusal::Path)?
            }
        };
        let lets_in = |host: Option<&PageHost>| {
            self.domains.lets_in(|pattern| host.is_some_and(|host| pattern.matches(host)))
        };
        let is_page_welcome = match &viewer.page {
            Page::Own => true,
            Page::Unknown => lets_in(None),
            Page::Of(host) => lets_in(Some(host)),
        };
        // Beside the page and never instead of it: whoever adds a frame to an address gains nothing.
        let is_frame_welcome = viewer.frame.as_ref().is_none_or(|Frame(host)| lets_in(host.as_ref()));
        if !is_page_welcome || !is_frame_welcome {
            return Err(PlaybackRefusal::Domain);
        }
        let user_agent = viewer.user_agent.unwrap_or_default();
        // Case-sensitive parts (C-12).
        if !self.user_agents.lets_in(|part| user_agent.contains(part.as_str())) {
            return Err(PlaybackRefusal::UserAgent);
        }
        let facts = || TicketFacts { generation: self.generation, key, frame: viewer.frame.clone() };
        Ok(Allowed { resolution: self.resolution, ticket: self.is_restricted().then(facts) })
    }

    fn check_path(&self, ticket: &PathTicket, now: Timestamp) -> Result<Option<KeyMark>, PathRefusal> {
        if ticket.playback != self.playback || (self.is_private() && ticket.facts.key.is_none()) {
            return Err(PathRefusal::Forged);
        }
        if ticket.facts.generation != self.generation {
            return Err(PathRefusal::Old);
        }
        if ticket.expires_at() <= now {
            return Err(PathRefusal::Expired);
        }
        Ok(ticket.facts.key)
    }

    /// The pages beside our own that may show to this page what it asks for in a frame, as source expressions
    /// of a content security policy; `None`: any page.
    ///
    /// A policy can name those who may and not those who may not: under the default `allow` any page may, and
    /// the rule is kept where the page plays. Under `deny` those entries are named that let this page in. The
    /// others are nobody's business but their owner's, and would make a long header of a long list; of those
    /// that let one page in each is the end of the next. Whoever is on no entry, or does not tell, hears of
    /// none.
    ///
    /// Where the page is let in and no entry can name it, any page may, for it would be kept out otherwise.
    /// One that can is enough: it names all that it lets in.
    pub fn frame_ancestors(&self, page: &Page) -> Option<Vec<String>> {
        if self.domains.default_policy == DefaultPolicy::Allow {
            return None;
        }
        let Page::Of(host) = page else { return Some(Vec::new()) };
        let letting_in: Vec<_> =
            self.domains.exceptions.iter().filter(|pattern| pattern.matches(host)).collect();
        let named: Vec<_> = letting_in.iter().filter_map(|pattern| pattern.to_sources()).flatten().collect();
        (letting_in.is_empty() || !named.is_empty()).then_some(named)
    }
}

impl<T> Rule<T> {
    fn of(restriction: &Restriction, read: impl Fn(&str) -> Option<T>) -> Self {
        let exceptions = match restriction.default_policy {
            DefaultPolicy::Allow => &restriction.deny,
            DefaultPolicy::Deny => &restriction.allow,
        };
        let exceptions = exceptions.iter().filter_map(|entry| read(entry)).collect();
        let refuses_somebody = restriction.refuses_somebody();
        Self { default_policy: restriction.default_policy, exceptions, refuses_somebody }
    }

    fn lets_in(&self, is_named: impl Fn(&T) -> bool) -> bool {
        let is_exception = self.exceptions.iter().any(is_named);
        match self.default_policy {
            DefaultPolicy::Allow => !is_exception,
            DefaultPolicy::Deny => is_exception,
        }
    }
}

impl PlaybackRefusal {
    /// Whether its cause lies in the request alone: whatever is changed elsewhere, the same request through
    /// the same playback ID is refused again.
    ///
    /// So it is for a private playback ID, for that stays what it is, and for a key, which is never another
    /// one under its mark. Another one under its id may be taken for it by whoever remembers the first
    /// (D-0098).
    pub fn is_of_request(self) -> bool {
        match self {
            Self::Token(refusal) => match refusal {
                TokenRefusal::Missing
                | TokenRefusal::TooLong
                | TokenRefusal::Malformed
                | TokenRefusal::BadHeader
                | TokenRefusal::BadClaim
                | TokenRefusal::WrongAlgorithm
                | TokenRefusal::BadSignature => true,
                TokenRefusal::UnknownKey
                | TokenRefusal::WrongAudience
                | TokenRefusal::NoExpiry
                | TokenRefusal::Expired
                | TokenRefusal::NotYetValid
                | TokenRefusal::Revoked => false,
            },
            Self::Path(refusal) => refusal == PathRefusal::Forged,
            Self::Domain | Self::UserAgent => false,
        }
    }

    /// Its name, as counters have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token(refusal) => refusal.name(),
            Self::Path(refusal) => refusal.name(),
            Self::Domain => "domain",
            Self::UserAgent => "user_agent",
        }
    }
}

impl TokenRefusal {
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

impl PathRefusal {
    fn name(self) -> &'static str {
        match self {
            Self::Missing => "path_missing",
            Self::Forged => "path_forged",
            Self::Expired => "path_expired",
            Self::Old => "path_old",
            Self::KeyGone => "path_key_gone",
            Self::Future => "path_future",
        }
    }
}

#[cfg(test)]
mod tests;
