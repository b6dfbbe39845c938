//! Access to the original file of a media.

use super::{Media, MediaState};
use crate::{Event, EventKind, Timestamp};

impl Media {
    /// Allows or forbids the download of the original, in any state of the media (C-134). Viewers need the
    /// same permission as for playback.
    ///
    /// Returns the events in order of emission. Without events nothing changed, and there is nothing to
    /// save. A media that is not ready emits only the update event: its original is not available yet.
    pub fn set_source_access(mut self, is_allowed: bool, now: Timestamp) -> (Self, Vec<Event>) {
        if self.settings.source_access == is_allowed {
            return (self, Vec::new());
        }
        self.settings.source_access = is_allowed;
        let (media, updated) = self.with_update_event(now);
        let source_event = media.is_ready().then(|| {
            let snapshot = Box::new(media.clone());
            let kind = if is_allowed {
                EventKind::SourceReady(snapshot)
            } else {
                EventKind::SourceDeleted(snapshot)
            };
            media.event(kind, now)
        });
        (media, source_event.into_iter().chain([updated]).collect())
    }

    /// The event that the original is downloadable, if the client has allowed that. It accompanies the event
    /// that the media is ready (C-134).
    pub fn source_ready_event(&self, now: Timestamp) -> Option<Event> {
        let is_allowed = self.is_ready() && self.settings.source_access;
        is_allowed.then(|| self.event(EventKind::SourceReady(Box::new(self.clone())), now))
    }

    /// Whether the media is ready to play.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, MediaState::Ready { .. })
    }
}
