//! Adds, changes and removes the playback IDs of a media (C-36).

use super::Media;
use crate::{Event, PlaybackHandle, PlaybackId, Restriction, Timestamp};

/// The media has the maximum number of playback IDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the media has {} playback IDs, the maximum", Media::PLAYBACK_IDS_MAX)]
pub struct TooManyPlaybackIds;

/// A restriction that replaces one of a playback ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewRestriction {
    /// By the host of the page.
    Domains(Restriction),
    /// By the player's user agent.
    UserAgents(Restriction),
}

impl Media {
    /// Most playback IDs of one media: each request through one of them reads all of them (D-0067).
    pub const PLAYBACK_IDS_MAX: usize = 50;

    /// The playback ID with this id.
    pub fn playback(&self, id: PlaybackId) -> Option<&PlaybackHandle> {
        self.playback.iter().find(|handle| handle.id == id)
    }

    /// Appends a playback ID.
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

    /// Removes a playback ID, which may be the last one. `None` if the media does not have it.
    pub fn remove_playback(mut self, id: PlaybackId, now: Timestamp) -> Option<(Self, Event)> {
        let at = self.playback.iter().position(|handle| handle.id == id)?;
        self.playback.remove(at);
        Some(self.changed(now))
    }

    /// Revokes all signed paths of a playback ID: players must load the manifest again. Emits no event,
    /// because clients see no change of the media. `None` if the media does not have the playback ID.
    pub fn revoke_playback(mut self, id: PlaybackId) -> Option<Self> {
        let handle = self.playback.iter_mut().find(|handle| handle.id == id)?;
        handle.generation = handle.generation.wrapping_add(1);
        Some(self)
    }

    /// Replaces a restriction of a playback ID. `None` if the media does not have the ID; no event if the
    /// restriction is unchanged.
    pub fn restrict_playback(
        mut self,
        id: PlaybackId,
        rule: NewRestriction,
        now: Timestamp,
    ) -> Option<(Self, Option<Event>)> {
        let handle = self.playback.iter_mut().find(|handle| handle.id == id)?;
        let (current, rule) = match rule {
            NewRestriction::Domains(rule) => (&mut handle.restrictions.domains, rule),
            NewRestriction::UserAgents(rule) => (&mut handle.restrictions.user_agents, rule),
        };
        if *current == rule {
            return Some((self, None));
        }
        *current = rule;
        let (media, event) = self.changed(now);
        Some((media, Some(event)))
    }
}
