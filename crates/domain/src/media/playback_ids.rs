//! Adds, changes and removes the playback IDs of a media (C-36).

use super::Media;
use crate::{Event, PlaybackId, PlaybackIdSettings, Restriction, Timestamp};

/// The media has the maximum number of playback IDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the media has {} playback IDs, the maximum", Media::PLAYBACK_IDS_MAX)]
pub struct TooManyPlaybackIds;

/// A client's replacement for one restriction of a playback ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestrictionUpdate {
    /// By the host of the page.
    Domains(Restriction),
    /// By the player's user agent.
    UserAgents(Restriction),
}

impl Media {
    /// Most playback IDs of one media: each request through one of them reads all of them (D-0067).
    pub const PLAYBACK_IDS_MAX: usize = 50;

    /// The settings of the playback ID with this id.
    pub fn playback_id(&self, id: PlaybackId) -> Option<&PlaybackIdSettings> {
        self.playback_ids.iter().find(|settings| settings.id == id)
    }

    /// Appends a playback ID.
    pub fn add_playback_id(
        mut self,
        settings: PlaybackIdSettings,
        now: Timestamp,
    ) -> Result<(Self, Event), TooManyPlaybackIds> {
        if self.playback_ids.len() >= Self::PLAYBACK_IDS_MAX {
            return Err(TooManyPlaybackIds);
        }
        self.playback_ids.push(settings);
        Ok(self.with_update_event(now))
    }

    /// Removes a playback ID, which may be the last one. `None` if the media does not have it.
    pub fn remove_playback_id(mut self, id: PlaybackId, now: Timestamp) -> Option<(Self, Event)> {
        let index = self.playback_ids.iter().position(|settings| settings.id == id)?;
        self.playback_ids.remove(index);
        Some(self.with_update_event(now))
    }

    /// Revokes all signed paths of a playback ID: players must load the manifest again. Emits no event,
    /// because clients see no change of the media. `None` if the media does not have the playback ID.
    pub fn revoke_signed_paths(mut self, id: PlaybackId) -> Option<Self> {
        let settings = self.playback_ids.iter_mut().find(|handle| handle.id == id)?;
        settings.generation = settings.generation.wrapping_add(1);
        Some(self)
    }

    /// Replaces a restriction of a playback ID. `None` if the media does not have the ID; no event if the
    /// restriction is unchanged.
    pub fn set_restriction(
        mut self,
        id: PlaybackId,
        update: RestrictionUpdate,
        now: Timestamp,
    ) -> Option<(Self, Option<Event>)> {
        let settings = self.playback_ids.iter_mut().find(|handle| handle.id == id)?;
        let (current, restriction) = match update {
            RestrictionUpdate::Domains(rule) => (&mut settings.restrictions.domains, rule),
            RestrictionUpdate::UserAgents(rule) => (&mut settings.restrictions.user_agents, rule),
        };
        if *current == restriction {
            return Some((self, None));
        }
        *current = restriction;
        let (media, event) = self.with_update_event(now);
        Some((media, Some(event)))
    }
}
