//! Usage of renditions: collected in memory and written in batches, never with one write for one request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kinora_domain::{RenditionId, Timestamp};
use kinora_store::RenditionUsage;

/// Usage since the last batch; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageBuffer(Arc<Mutex<HashMap<RenditionId, RenditionUsage>>>);

impl UsageBuffer {
    /// Notes that a segment was served.
    pub(super) fn record_watched(&self, id: RenditionId, now: Timestamp) {
        let mut usages = self.lock();
        let usage = entry_of(&mut usages, id);
        usage.watched_at = usage.watched_at.max(Some(now));
    }

    /// Notes that a segment of this many bytes was encoded and stored.
    pub(super) fn record_stored(&self, id: RenditionId, bytes: u64) {
        let mut usages = self.lock();
        let usage = entry_of(&mut usages, id);
        usage.bytes = usage.bytes.saturating_add(bytes);
        usage.segments = usage.segments.saturating_add(1);
    }

    pub(super) fn drain(&self) -> Vec<RenditionUsage> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    /// Returns a batch that could not be written.
    pub(super) fn restore(&self, uses: Vec<RenditionUsage>) {
        let mut usages = self.lock();
        for RenditionUsage { id, bytes, segments, watched_at } in uses {
            let usage = entry_of(&mut usages, id);
            usage.bytes = usage.bytes.saturating_add(bytes);
            usage.segments = usage.segments.saturating_add(segments);
            usage.watched_at = usage.watched_at.max(watched_at);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RenditionId, RenditionUsage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry_of(usages: &mut HashMap<RenditionId, RenditionUsage>, id: RenditionId) -> &mut RenditionUsage {
    usages.entry(id).or_insert(RenditionUsage { id, bytes: 0, segments: 0, watched_at: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_summed_and_taken_once() {
        let (notes, id) = (UsageBuffer::default(), RenditionId::of_hash([1; 16]));
        notes.record_stored(id, 10);
        notes.record_watched(id, Timestamp::from_micros(7));
        notes.record_watched(id, Timestamp::from_micros(5));
        notes.record_stored(id, 30);
        let watched_at = Some(Timestamp::from_micros(7));
        assert_eq!(notes.drain(), [RenditionUsage { id, bytes: 40, segments: 2, watched_at }]);
        assert_eq!(notes.drain(), []);
        // A batch that could not be written is not lost, and adds to later usage.
        notes.record_stored(id, 2);
        notes.restore(vec![RenditionUsage { id, bytes: 40, segments: 2, watched_at }]);
        assert_eq!(notes.drain(), [RenditionUsage { id, bytes: 42, segments: 3, watched_at }]);
    }
}
