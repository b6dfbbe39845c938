//! Access to the original file of a media.

use super::{Media, MediaState};
use crate::{Event, EventKind, Timestamp};

impl Media {
    /// Allows or forbids the download of the original, in any state of the media. Viewers need the same
    /// permission as for playback.
    ///
    /// Returns the events in order of emission. Without events nothing changed, and there is nothing to
    /// save. A media that is not ready emits only the update event: its original is not available yet.
    pub fn open_source(mut self, is_open: bool, now: Timestamp) -> (Self, Vec<Event>) {
        if self.settings.source_access == is_open {
            return (self, Vec::new());
        }
        self.settings.source_access = is_open;
        let (media, updated) = self.changed(now);
        let source_event = media.is_ready().then(|| {
            let facts = Box::new(media.clone());
            let kind = if is_open { EventKind::SourceReady(facts) } else { EventKind::SourceDeleted(facts) };
            media.event(kind, now)
        });
        (media, source_event.into_iter().chain([updated]).collect())
    }

    /// The event that the original is downloadable, if the client has allowed that. It accompanies the event
    /// that the media is ready.
    pub fn source_ready_event(&self, now: Timestamp) -> Option<Event> {
        let is_open = self.is_ready() && self.settings.source_access;
        is_open.then(|| self.event(EventKind::SourceReady(Box::new(self.clone())), now))
    }

    /// Whether the media is ready to play.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, MediaState::Ready { .. })
    }
}
