//! Who may watch.
//!
//! Begin with [`PlaybackPolicy::decide`].

mod encryption;
mod host;
mod path;
mod policy;
mod token;

pub use encryption::{ContentKey, Encryption};
pub use host::{Frame, HostPattern, PageHost};
pub use path::{PathTicket, SignedPart};
pub use policy::{
    Admission, Allowed, Page, PathRefusal, PlaybackPolicy, PlaybackRefusal, TicketFacts, TokenRefusal, Viewer,
};
pub use token::TokenClaims;

use crate::{PlaybackId, Random, Resolution, Timestamp};

/// Who may watch through a playback ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Whoever has the playback ID.
    Public,
    /// Whoever has a playback token too.
    Private,
}

impl AccessPolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Public, Self::Private];

    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }

    /// The policy with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }
}

/// What holds for whoever is on neither list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultPolicy {
    /// Everybody but the deny list.
    #[default]
    Allow,
    /// Nobody but the allow list.
    Deny,
}

impl DefaultPolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Allow, Self::Deny];

    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The policy with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }
}

/// A default and its two lists of exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restriction {
    /// What holds for whoever is on neither list.
    pub default_policy: DefaultPolicy,
    /// Let in under the default `deny`.
    pub allow: Vec<String>,
    /// Kept out under the default `allow`.
    pub deny: Vec<String>,
}

impl Restriction {
    /// Most entries of a list (D-0067).
    pub const ENTRIES_MAX: usize = 100;
    /// Longest entry, in characters: a host name has 253 (RFC 1035, 2.3.4, without the dot of the root), and
    /// `*.` may stand before it.
    pub const ENTRY_CHARS_MAX: usize = 255;

    /// Whether it keeps anybody out. The list of the other default has no effect (C-163, C-12).
    pub fn refuses_somebody(&self) -> bool {
        match self.default_policy {
            DefaultPolicy::Allow => !self.deny.is_empty(),
            DefaultPolicy::Deny => true,
        }
    }
}

/// Where and in what a media may be watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessRestrictions {
    /// By the page's host.
    pub domains: Restriction,
    /// By the player's user agent.
    pub user_agents: Restriction,
}

/// What it takes to make a playback ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlayback {
    /// Who may watch.
    pub policy: AccessPolicy,
    /// Where and in what.
    pub restrictions: AccessRestrictions,
    /// Nothing larger is played; `None`: the media's own bound alone.
    pub resolution: Option<Resolution>,
    /// How what plays is encrypted on its way.
    pub encryption: Encryption,
}

/// A playback ID with its rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaybackHandle {
    /// What stands in playback addresses.
    pub id: PlaybackId,
    /// Who may watch.
    pub policy: AccessPolicy,
    /// Where and in what.
    pub restrictions: AccessRestrictions,
    /// Nothing larger is played; `None`: the media's own bound alone.
    pub resolution: Option<Resolution>,
    /// How what plays is encrypted on its way. Its key is made where it is kept, and is in no answer.
    pub encryption: Encryption,
    /// Counts how often everything that was handed out for it was taken back (C-13).
    pub generation: u32,
    /// When it was made.
    pub created_at: Timestamp,
}

impl PlaybackHandle {
    /// What a client may set as the largest that is played (C-161).
    pub const CAPS: [Resolution; 5] =
        [Resolution::P480, Resolution::P720, Resolution::P1080, Resolution::P1440, Resolution::P2160];

    /// A new playback ID.
    pub fn new(new: NewPlayback, now: Timestamp, random: &dyn Random) -> Self {
        let NewPlayback { policy, restrictions, resolution, encryption } = new;
        let id = PlaybackId::new(random);
        Self { id, policy, restrictions, resolution, encryption, generation: 0, created_at: now }
    }

    /// Whether all of it plays for whoever has it.
    pub fn is_for_everybody(&self) -> bool {
        let AccessRestrictions { domains, user_agents } = &self.restrictions;
        let refuses_somebody = domains.refuses_somebody() || user_agents.refuses_somebody();
        self.policy == AccessPolicy::Public && !refuses_somebody && self.resolution.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_keep_anybody_out_or_give_less_limits() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let check = |default_policy, allow: &[&str], deny: &[&str], limits: bool| {
            let rule = Restriction { default_policy, allow: list(allow), deny: list(deny) };
            assert_eq!(rule.refuses_somebody(), limits, "{rule:?}");
            let other = Restriction::default();
            for restrictions in [
                AccessRestrictions { domains: rule.clone(), user_agents: other.clone() },
                AccessRestrictions { domains: other, user_agents: rule },
            ] {
                assert_eq!(handle(AccessPolicy::Public, restrictions, None).is_for_everybody(), !limits);
            }
        };
        check(DefaultPolicy::Allow, &[], &[], false);
        check(DefaultPolicy::Allow, &["a.example"], &[], false);
        check(DefaultPolicy::Allow, &["a.example"], &["a.example"], true);
        check(DefaultPolicy::Deny, &[], &[], true);
        check(DefaultPolicy::Deny, &["a.example"], &[], true);
    }

    #[test]
    fn everybody_watches_what_is_public_and_not_limited() {
        let open =
            |policy, resolution| handle(policy, AccessRestrictions::default(), resolution).is_for_everybody();
        assert!(open(AccessPolicy::Public, None));
        assert!(!open(AccessPolicy::Private, None));
        for resolution in PlaybackHandle::CAPS {
            assert!(!open(AccessPolicy::Public, Some(resolution)));
        }
    }

    fn handle(
        policy: AccessPolicy,
        restrictions: AccessRestrictions,
        resolution: Option<Resolution>,
    ) -> PlaybackHandle {
        struct Zeros;
        impl Random for Zeros {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(0);
            }
        }
        let new = NewPlayback { policy, restrictions, resolution, encryption: Encryption::None };
        PlaybackHandle::new(new, Timestamp::from_micros(0), &Zeros)
    }
}
