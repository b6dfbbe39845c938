//! Changes that a client makes to the details of a media (C-36).

use std::collections::BTreeMap;

use super::Media;
use crate::{Event, EventKind, Timestamp};

/// The change of an optional field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// Unchanged.
    #[default]
    Keep,
    /// Cleared.
    Clear,
    /// Set to this value.
    Set(T),
}

/// A client's changes to a media.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaChange {
    /// The title that people see.
    pub title: Change<String>,
    /// The client's own ID of the creator; `None`: unchanged.
    pub creator_id: Option<String>,
    /// All of the client's own key-value pairs; `None`: unchanged.
    pub metadata: Option<BTreeMap<String, String>>,
    /// The position of the thumbnail, in milliseconds since the start.
    pub thumbnail_ms: Change<u64>,
    /// Whether its audio is levelled; `None`: unchanged.
    pub optimize_audio: Option<bool>,
}

impl Media {
    /// Applies a client's changes, in any state of the media. Without an event nothing changed and there is
    /// nothing to save: a repeated request emits one event only.
    pub fn update(mut self, change: MediaChange, now: Timestamp) -> (Self, Option<Event>) {
        let MediaChange { title, creator_id, metadata, thumbnail_ms, optimize_audio } = change;
        let before = (self.settings.clone(), self.thumbnail_ms);
        match title {
            Change::Keep => {}
            Change::Clear => self.settings.title = None,
            Change::Set(title) => self.settings.title = Some(title),
        }
        if creator_id.is_some() {
            self.settings.creator_id = creator_id;
        }
        if let Some(metadata) = metadata {
            // An absent map and an empty one look the same to clients (D-0011).
            let is_as_before =
                self.settings.metadata.as_ref().map_or(metadata.is_empty(), |stored| *stored == metadata);
            if !is_as_before {
                self.settings.metadata = Some(metadata);
            }
        }
        match thumbnail_ms {
            Change::Keep => {}
            Change::Clear => self.thumbnail_ms = None,
            Change::Set(time_ms) => self.thumbnail_ms = Some(time_ms),
        }
        if let Some(optimize_audio) = optimize_audio {
            self.settings.optimize_audio = optimize_audio;
        }
        if (&self.settings, self.thumbnail_ms) == (&before.0, before.1) {
            return (self, None);
        }
        // The BlurHash belongs to the old thumbnail.
        self.blur_hash = self.blur_hash.filter(|_| self.thumbnail_ms == before.1);
        let (media, event) = self.with_update_event(now);
        (media, Some(event))
    }

    /// Sets the update time and creates the update event.
    pub(super) fn with_update_event(mut self, now: Timestamp) -> (Self, Event) {
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaUpdated(self.id), now);
        (self, event)
    }
}
