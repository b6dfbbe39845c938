//! The playback IDs of a media come, change and go (C-36).

use super::Media;
use crate::{Event, PlaybackHandle, PlaybackId, Restriction, Timestamp};

/// The media has as many playback IDs as it can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the media has {} playback IDs, and can have no more", Media::PLAYBACK_IDS_MAX)]
pub struct TooManyPlaybackIds;

/// A rule that takes the place of one that a playback ID has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewRestriction {
    /// By the page's host.
    Domains(Restriction),
    /// By the player's user agent.
    UserAgents(Restriction),
}

impl Media {
    /// Most playback IDs of one media: each request for one reads all of them (D-0067).
    pub const PLAYBACK_IDS_MAX: usize = 50;

    /// The playback ID with this id.
    pub fn playback(&self, id: PlaybackId) -> Option<&PlaybackHandle> {
        self.playback.iter().find(|handle| handle.id == id)
    }

    /// Adds a playback ID, as the youngest.
    pub fn add_playback(
        mut self,
        handle: PlaybackHandle,
        now: Timestamp,
    ) -> Result<(Self, Event), TooManyPlaybackIds> {
        if self.playback.len() >= Self::PLAYBACK_IDS_MAX {
            return Err(TooManyPlaybackIds);
        }
        self.playback.push(handle);
        Ok(self.changed(now))
    }

    /// Takes a playback ID away; it may be the last one. `None` when the media does not have it.
    pub fn remove_playback(mut self, id: PlaybackId, now: Timestamp) -> Option<(Self, Event)> {
        let at = self.playback.iter().position(|handle| handle.id == id)?;
        self.playback.remove(at);
        Some(self.changed(now))
    }

    /// Takes back everything that was handed out for a playback ID: whoever plays needs the manifest anew.
    /// Nothing that a client sees of the media changes, so nothing is told. `None` when the media does not
    /// have it.
    pub fn end_playback(mut self, id: PlaybackId) -> Option<Self> {
        let handle = self.playback.iter_mut().find(|handle| handle.id == id)?;
        handle.generation = handle.generation.wrapping_add(1);
        Some(self)
    }

    /// Replaces a rule of a playback ID. `None` when the media does not have it; without an event the rule
    /// was the same before.
    pub fn restrict_playback(
        mut self,
        id: PlaybackId,
        rule: NewRestriction,
        now: Timestamp,
    ) -> Option<(Self, Option<Event>)> {
        let handle = self.playback.iter_mut().find(|handle| handle.id == id)?;
        let (held, rule) = match rule {
            NewRestriction::Domains(rule) => (&mut handle.restrictions.domains, rule),
            NewRestriction::UserAgents(rule) => (&mut handle.restrictions.user_agents, rule),
        };
        if *held == rule {
            return Some((self, None));
        }
        *held = rule;
        let (media, event) = self.changed(now);
        Some((media, Some(event)))
    }
}
