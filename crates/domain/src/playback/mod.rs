//! Access to playback.
//!
//! Begin with [`PlaybackPolicy::decide`].

mod encryption;
mod host;
mod pass;
mod policy;
mod signed_path;
mod token_claims;

pub use encryption::{ContentKey, Encryption};
pub use host::{EmbeddingPage, HostPattern, PageHost};
pub use pass::PassClaims;
pub use policy::{
    AccessProof, Page, PassError, PathBinding, PathError, PlaybackDenied, PlaybackGrant, PlaybackPolicy,
    TokenError, Viewer, ViewerCredential,
};
pub use signed_path::{PathClaims, SignedPath};
pub use token_claims::TokenClaims;

use crate::{PlaybackId, Random, Resolution, Timestamp};

/// The access policy of a playback ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPolicy {
    /// All viewers who have the playback ID.
    Public,
    /// Viewers who also have a playback token.
    Private,
}

impl AccessPolicy {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::Public, Self::Private];

    /// The name in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }

    /// The policy with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }
}

/// The decision for viewers on neither list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultPolicy {
    /// All viewers are allowed, except those on the deny list.
    #[default]
    Allow,
    /// No viewers are allowed, except those on the allow list.
    Deny,
}

impl DefaultPolicy {
    /// Both policies.
    pub const ALL: [Self; 2] = [Self::Allow, Self::Deny];

    /// The name in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The policy with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }
}

/// A default and its two lists of exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restriction {
    /// The decision for viewers on neither list.
    pub default_policy: DefaultPolicy,
    /// The exceptions to the default `deny`.
    pub allow: Vec<String>,
    /// The exceptions to the default `allow`.
    pub deny: Vec<String>,
}

impl Restriction {
    /// Most entries of a list (D-0067).
    pub const ENTRIES_MAX: usize = 100;
    /// Longest entry, in characters: a host name has 253 (RFC 1035, 2.3.4, without the dot of the root),
    /// plus a possible prefix `*.`.
    pub const ENTRY_CHARS_MAX: usize = 255;

    /// Whether it can reject a viewer. The list of the other default has no effect (C-163, C-12).
    pub fn is_restrictive(&self) -> bool {
        match self.default_policy {
            DefaultPolicy::Allow => !self.deny.is_empty(),
            DefaultPolicy::Deny => true,
        }
    }
}

/// The restrictions of a playback ID by page and by player.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessRestrictions {
    /// By the page's host.
    pub domains: Restriction,
    /// By the player's user agent.
    pub user_agents: Restriction,
}

/// The arguments for a new playback ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPlaybackId {
    /// The access policy.
    pub policy: AccessPolicy,
    /// The restrictions by page and by player.
    pub restrictions: AccessRestrictions,
    /// The largest resolution that is played; `None`: only the media's own limit applies.
    pub resolution: Option<Resolution>,
    /// The encryption of its files on the way to viewers.
    pub encryption: Encryption,
}

/// A playback ID and its settings: who may watch, up to which resolution, and how files are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaybackIdSettings {
    /// The ID in playback addresses.
    pub id: PlaybackId,
    /// The access policy.
    pub policy: AccessPolicy,
    /// The restrictions by page and by player.
    pub restrictions: AccessRestrictions,
    /// The largest resolution that is played; `None`: only the media's own limit applies.
    pub resolution: Option<Resolution>,
    /// The encryption of its files on the way to viewers. The store creates the key; no response contains it.
    pub encryption: Encryption,
    /// Number of times that all its signed paths were revoked (C-13).
    pub generation: u32,
    /// Creation time.
    pub created_at: Timestamp,
}

impl PlaybackIdSettings {
    /// The resolution limits that a client may set (C-161).
    pub const CAPS: [Resolution; 5] =
        [Resolution::P480, Resolution::P720, Resolution::P1080, Resolution::P1440, Resolution::P2160];

    /// A new playback ID.
    pub fn new(new: NewPlaybackId, now: Timestamp, random: &dyn Random) -> Self {
        let NewPlaybackId { policy, restrictions, resolution, encryption } = new;
        let id = PlaybackId::new(random);
        Self { id, policy, restrictions, resolution, encryption, generation: 0, created_at: now }
    }

    /// Whether all viewers with the ID may play all of it.
    pub fn is_unrestricted(&self) -> bool {
        let AccessRestrictions { domains, user_agents } = &self.restrictions;
        let is_restrictive = domains.is_restrictive() || user_agents.is_restrictive();
        self.policy == AccessPolicy::Public && !is_restrictive && self.resolution.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_rule_or_cap_is_a_restriction() {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let check = |default_policy, allow: &[&str], deny: &[&str], limits: bool| {
            let rule = Restriction { default_policy, allow: list(allow), deny: list(deny) };
            assert_eq!(rule.is_restrictive(), limits, "{rule:?}");
            let other = Restriction::default();
            for restrictions in [
                AccessRestrictions { domains: rule.clone(), user_agents: other.clone() },
                AccessRestrictions { domains: other, user_agents: rule },
            ] {
                assert_eq!(settings(AccessPolicy::Public, restrictions, None).is_unrestricted(), !limits);
            }
        };
        check(DefaultPolicy::Allow, &[], &[], false);
        check(DefaultPolicy::Allow, &["a.example"], &[], false);
        check(DefaultPolicy::Allow, &["a.example"], &["a.example"], true);
        check(DefaultPolicy::Deny, &[], &[], true);
        check(DefaultPolicy::Deny, &["a.example"], &[], true);
    }

    #[test]
    fn public_unrestricted_playback_is_for_everyone() {
        let open = |policy, resolution| {
            settings(policy, AccessRestrictions::default(), resolution).is_unrestricted()
        };
        assert!(open(AccessPolicy::Public, None));
        assert!(!open(AccessPolicy::Private, None));
        for resolution in PlaybackIdSettings::CAPS {
            assert!(!open(AccessPolicy::Public, Some(resolution)));
        }
    }

    fn settings(
        policy: AccessPolicy,
        restrictions: AccessRestrictions,
        resolution: Option<Resolution>,
    ) -> PlaybackIdSettings {
        struct Zeros;
        impl Random for Zeros {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(0);
            }
        }
        let new = NewPlaybackId { policy, restrictions, resolution, encryption: Encryption::None };
        PlaybackIdSettings::new(new, Timestamp::from_micros(0), &Zeros)
    }
}
