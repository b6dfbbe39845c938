//! What a media gives away beside playback: its original.

use super::{Media, MediaState};
use crate::{Event, EventKind, Timestamp};

impl Media {
    /// Opens the original to those who may watch, or closes it again, in whatever state the media is.
    ///
    /// The events are those of the change, in the order they are told; without any nothing is another than
    /// before, and there is nothing to save. Of a media that is not ready only the change itself is told: its
    /// original is not there yet.
    pub fn open_source(mut self, is_open: bool, now: Timestamp) -> (Self, Vec<Event>) {
        if self.settings.source_access == is_open {
            return (self, Vec::new());
        }
        self.settings.source_access = is_open;
        let (media, updated) = self.changed(now);
        let told = media.is_ready().then(|| {
            let facts = Box::new(media.clone());
            let kind = if is_open { EventKind::SourceReady(facts) } else { EventKind::SourceDeleted(facts) };
            media.event(kind, now)
        });
        (media, told.into_iter().chain([updated]).collect())
    }

    /// What is told with the event that the media is ready: that its original can be fetched, where that was
    /// asked for.
    pub fn source_opened(&self, now: Timestamp) -> Option<Event> {
        let is_open = self.is_ready() && self.settings.source_access;
        is_open.then(|| self.event(EventKind::SourceReady(Box::new(self.clone())), now))
    }

    /// Whether it plays.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, MediaState::Ready { .. })
    }
}
