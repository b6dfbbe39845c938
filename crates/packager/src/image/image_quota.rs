//! Limits on the stored images of one source (D-0022).

use kinora_blob::{Entry, ObjectKey};

/// Stored images of one source. Further ones are made again on each request, so that no client fills the
/// disk with sizes.
pub(super) const IMAGES_PER_SOURCE_MAX: usize = 1000;

/// Bytes of these images. A thousand thumbnails have some 20 MB, sheets and clips some MB each; a thousand
/// of the largest thumbnails would have 32 GB.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// Whether one more image of this length fits.
pub(super) fn is_within_quota(stored: &[Entry], len: u64) -> bool {
    stored.len() < IMAGES_PER_SOURCE_MAX && bytes_of(stored).saturating_add(len) <= BYTES_MAX
}

/// The images of a source to evict, given all stored ones: none while there is capacity. Evicts the largest
/// until half of the bytes are free. If the count is still too high, evicts the newest until a quarter of it
/// is free.
///
/// Otherwise one client could fill the capacity with images that no other client requests, and all others
/// would be made again on each request. Earlier images mostly stay; images that are still requested are
/// stored again.
pub fn images_over_quota(mut stored: Vec<Entry>) -> Vec<ObjectKey> {
    let mut bytes = bytes_of(&stored);
    if stored.len() < IMAGES_PER_SOURCE_MAX && bytes < BYTES_MAX / 16 * 15 {
        return Vec::new();
    }
    let mut evicted = Vec::new();
    stored.sort_by_key(|entry| (entry.len, entry.modified));
    while BYTES_MAX / 2 < bytes {
        let Some(largest) = stored.pop() else { break };
        bytes = bytes.saturating_sub(largest.len);
        evicted.push(largest.key);
    }
    stored.sort_by_key(|entry| entry.modified);
    let newest = stored.drain(stored.len().min(IMAGES_PER_SOURCE_MAX / 4 * 3)..);
    evicted.extend(newest.map(|entry| entry.key));
    evicted
}

fn bytes_of(stored: &[Entry]) -> u64 {
    stored.iter().map(|entry| entry.len).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use kinora_blob::ImageHash;
    use kinora_domain::{PresentationId, Timestamp};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Entries of images of these lengths, the oldest first.
    fn stored(lens: &[u64]) -> Vec<Entry> {
        let source: PresentationId = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        let entry = |(n, len): (u32, &u64)| Entry {
            key: ObjectKey::Image(source, ImageHash(u128::from(n).to_be_bytes())),
            len: *len,
            modified: Timestamp::from_micros(i64::from(n)),
        };
        (0..).zip(lens).map(entry).collect()
    }

    /// The numbers of the evicted images.
    fn evicted_numbers(lens: &[u64]) -> Vec<u128> {
        let number = |key| match key {
            ObjectKey::Image(_, ImageHash(hash)) => u128::from_be_bytes(hash),
            other => panic!("{other:?} is no image"),
        };
        let mut evicted: Vec<_> = images_over_quota(stored(lens)).into_iter().map(number).collect();
        evicted.sort_unstable();
        evicted
    }

    #[test]
    fn image_quota_limits_count_and_bytes() {
        assert!(is_within_quota(&[], BYTES_MAX) && !is_within_quota(&[], BYTES_MAX + 1));
        assert!(
            is_within_quota(&stored(&[1; IMAGES_PER_SOURCE_MAX - 1]), 1)
                && !is_within_quota(&stored(&[1; IMAGES_PER_SOURCE_MAX]), 1)
        );
        assert!(is_within_quota(&stored(&[MIB; 63]), MIB) && !is_within_quota(&stored(&[MIB; 63]), MIB + 1));
        assert!(!is_within_quota(&stored(&[u64::MAX, u64::MAX]), 1));
    }

    #[test]
    fn over_quota_deletes_largest_then_newest() {
        let numbers = |range: std::ops::Range<u128>| range.collect::<Vec<_>>();
        assert_eq!(evicted_numbers(&[]), []);
        assert_eq!(evicted_numbers(&[1; IMAGES_PER_SOURCE_MAX - 1]), []);
        assert_eq!(evicted_numbers(&[1; IMAGES_PER_SOURCE_MAX]), numbers(750..1000));
        assert_eq!(evicted_numbers(&[MIB; 59]), []);
        assert_eq!(evicted_numbers(&[MIB; 60]), numbers(32..60));
        // Regardless of age, because the images that every page shows are small.
        assert_eq!(evicted_numbers(&[30 * MIB, 1, 20 * MIB, 1, 11 * MIB]), [0]);
        assert_eq!(evicted_numbers(&[1, 1, 64 * MIB]), [2]);
        let mut many_and_much = vec![1; IMAGES_PER_SOURCE_MAX];
        many_and_much[3] = 60 * MIB;
        assert_eq!(evicted_numbers(&many_and_much), [vec![3], numbers(751..1000)].concat());
    }
}
