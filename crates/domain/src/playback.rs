//! Who may watch.

use crate::{PlaybackId, Timestamp};

/// Who may watch through a playback ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPolicy {
    /// Whoever has the playback ID.
    Public,
    /// Whoever has a playback token too. Until tokens exist: nobody.
    Private,
}

impl AccessPolicy {
    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }

    /// The policy with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Public, Self::Private].into_iter().find(|policy| policy.as_str() == text)
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
    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The policy with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Allow, Self::Deny].into_iter().find(|policy| policy.as_str() == text)
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

/// Where and in what a media may be watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessRestrictions {
    /// By the page's host.
    pub domains: Restriction,
    /// By the player's user agent.
    pub user_agents: Restriction,
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
    /// When it was made.
    pub created_at: Timestamp,
}
