//! What is to be written down of renditions: gathered here, written now and then, never one write for one
//! request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kinora_domain::{RenditionId, Timestamp};
use kinora_store::RenditionUse;

/// What happened since it was last taken; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes(Arc<Mutex<HashMap<RenditionId, RenditionUse>>>);

impl Notes {
    /// Somebody was given a segment.
    pub(super) fn watched(&self, id: RenditionId, now: Timestamp) {
        let mut notes = self.lock();
        let note = of(&mut notes, id);
        note.watched_at = note.watched_at.max(Some(now));
    }

    /// A segment of so many bytes was made and kept.
    pub(super) fn made(&self, id: RenditionId, bytes: u64) {
        let mut notes = self.lock();
        let note = of(&mut notes, id);
        note.bytes = note.bytes.saturating_add(bytes);
        note.segments = note.segments.saturating_add(1);
    }

    pub(super) fn take(&self) -> Vec<RenditionUse> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    /// What was taken could not be written down: it is there again.
    pub(super) fn put_back(&self, uses: Vec<RenditionUse>) {
        let mut notes = self.lock();
        for RenditionUse { id, bytes, segments, watched_at } in uses {
            let note = of(&mut notes, id);
            note.bytes = note.bytes.saturating_add(bytes);
            note.segments = note.segments.saturating_add(segments);
            note.watched_at = note.watched_at.max(watched_at);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RenditionId, RenditionUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of(notes: &mut HashMap<RenditionId, RenditionUse>, id: RenditionId) -> &mut RenditionUse {
    notes.entry(id).or_insert(RenditionUse { id, bytes: 0, segments: 0, watched_at: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_add_up_and_are_taken_once() {
        let (notes, id) = (Notes::default(), RenditionId::of_hash([1; 16]));
        notes.made(id, 10);
        notes.watched(id, Timestamp::from_micros(7));
        notes.watched(id, Timestamp::from_micros(5));
        notes.made(id, 30);
        let watched_at = Some(Timestamp::from_micros(7));
        assert_eq!(notes.take(), [RenditionUse { id, bytes: 40, segments: 2, watched_at }]);
        assert_eq!(notes.take(), []);
        // What could not be written down is not lost, and adds to what came since.
        notes.made(id, 2);
        notes.put_back(vec![RenditionUse { id, bytes: 40, segments: 2, watched_at }]);
        assert_eq!(notes.take(), [RenditionUse { id, bytes: 42, segments: 3, watched_at }]);
    }
}
