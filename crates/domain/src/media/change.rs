//! Changes that a client makes to the details of a media (C-36).

use std::collections::BTreeMap;

use super::Media;
use crate::{Event, EventKind, Timestamp};

/// What becomes of a field that may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is empty from now on.
    Clear,
    /// It is this from now on.
    Set(T),
}

/// What a client wants to be another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaChange {
    /// Shown to people.
    pub title: Change<String>,
    /// The client's own id of who made it; `None`: it stays.
    pub creator_id: Option<String>,
    /// All of the client's own key and value pairs; `None`: they stay.
    pub metadata: Option<BTreeMap<String, String>>,
    /// The moment whose picture stands for it, in milliseconds since its start.
    pub thumbnail_ms: Change<u64>,
}

impl Media {
    /// Changes what a client told of the media, in whatever state it is. Without an event nothing is another
    /// than before, and there is nothing to save: whoever asks twice is told of once.
    pub fn update(mut self, change: MediaChange, now: Timestamp) -> (Self, Option<Event>) {
        let MediaChange { title, creator_id, metadata, thumbnail_ms } = change;
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
            // No pairs and none sent are the same to everybody outside (D-0011).
            let is_as_before =
                self.settings.metadata.as_ref().map_or(metadata.is_empty(), |held| *held == metadata);
            if !is_as_before {
                self.settings.metadata = Some(metadata);
            }
        }
        match thumbnail_ms {
            Change::Keep => {}
            Change::Clear => self.thumbnail_ms = None,
            Change::Set(time_ms) => self.thumbnail_ms = Some(time_ms),
        }
        if (&self.settings, self.thumbnail_ms) == (&before.0, before.1) {
            return (self, None);
        }
        // That of another picture.
        self.blur_hash = self.blur_hash.filter(|_| self.thumbnail_ms == before.1);
        let (media, event) = self.changed(now);
        (media, Some(event))
    }

    /// Says that something of it is another.
    pub(super) fn changed(mut self, now: Timestamp) -> (Self, Event) {
        self.updated_at = now.max(self.updated_at);
        let event = self.event(EventKind::MediaUpdated(self.id), now);
        (self, event)
    }
}
