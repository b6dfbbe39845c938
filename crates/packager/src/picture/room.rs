//! How many pictures of one source are kept (D-0022).

use kinora_blob::{Entry, ObjectKey};

/// Pictures of one source that are kept; further ones are made anew each time, so that nobody fills the disk
/// with sizes.
pub(super) const COUNT_MAX: usize = 1000;

/// Bytes of these pictures. A thousand thumbnails have some 20 MB, sheets and clips some MB each; a thousand
/// of the largest pictures would have 32 GB.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// Whether one more of this length is kept beside these.
pub(super) fn has_room(kept: &[Entry], len: u64) -> bool {
    kept.len() < COUNT_MAX && bytes_of(kept).saturating_add(len) <= BYTES_MAX
}

/// Which pictures of a source are let go, given all that are kept: none while there is room. Then the
/// largest, until half of the bytes are free, and of what is still too many the newest, until a quarter of
/// the places are.
///
/// Otherwise whoever fills the room once with what nobody else asks for would have everything else made anew
/// for ever. What was there before they came stays, for the most part; what is still asked for is made and
/// kept again.
pub fn surplus_pictures(mut kept: Vec<Entry>) -> Vec<ObjectKey> {
    let mut bytes = bytes_of(&kept);
    if kept.len() < COUNT_MAX && bytes < BYTES_MAX / 16 * 15 {
        return Vec::new();
    }
    let mut gone = Vec::new();
    kept.sort_by_key(|entry| (entry.len, entry.modified));
    while BYTES_MAX / 2 < bytes {
        let Some(largest) = kept.pop() else { break };
        bytes = bytes.saturating_sub(largest.len);
        gone.push(largest.key);
    }
    kept.sort_by_key(|entry| entry.modified);
    let newest = kept.drain(kept.len().min(COUNT_MAX / 4 * 3)..);
    gone.extend(newest.map(|entry| entry.key));
    gone
}

fn bytes_of(kept: &[Entry]) -> u64 {
    kept.iter().map(|entry| entry.len).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use kinora_blob::PictureHash;
    use kinora_domain::{PresentationId, Timestamp};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Pictures of these lengths, the oldest first.
    fn kept(lens: &[u64]) -> Vec<Entry> {
        let source: PresentationId = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        let entry = |(n, len): (u32, &u64)| Entry {
            key: ObjectKey::Picture(source, PictureHash(u128::from(n).to_be_bytes())),
            len: *len,
            modified: Timestamp::from_micros(i64::from(n)),
        };
        (0..).zip(lens).map(entry).collect()
    }

    /// Which of them are let go.
    fn let_go(lens: &[u64]) -> Vec<u128> {
        let number = |key| match key {
            ObjectKey::Picture(_, PictureHash(hash)) => u128::from_be_bytes(hash),
            other => panic!("{other:?} is no picture"),
        };
        let mut gone: Vec<_> = surplus_pictures(kept(lens)).into_iter().map(number).collect();
        gone.sort_unstable();
        gone
    }

    #[test]
    fn what_is_many_or_much_is_not_kept() {
        assert!(has_room(&[], BYTES_MAX) && !has_room(&[], BYTES_MAX + 1));
        assert!(has_room(&kept(&[1; COUNT_MAX - 1]), 1) && !has_room(&kept(&[1; COUNT_MAX]), 1));
        assert!(has_room(&kept(&[MIB; 63]), MIB) && !has_room(&kept(&[MIB; 63]), MIB + 1));
        assert!(!has_room(&kept(&[u64::MAX, u64::MAX]), 1));
    }

    #[test]
    fn the_largest_and_then_the_newest_go_where_no_room_is_left() {
        let numbers = |range: std::ops::Range<u128>| range.collect::<Vec<_>>();
        assert_eq!(let_go(&[]), []);
        assert_eq!(let_go(&[1; COUNT_MAX - 1]), []);
        assert_eq!(let_go(&[1; COUNT_MAX]), numbers(750..1000));
        assert_eq!(let_go(&[MIB; 59]), []);
        assert_eq!(let_go(&[MIB; 60]), numbers(32..60));
        // Whatever their age: what every page shows is small.
        assert_eq!(let_go(&[30 * MIB, 1, 20 * MIB, 1, 11 * MIB]), [0]);
        assert_eq!(let_go(&[1, 1, 64 * MIB]), [2]);
        let mut many_and_much = vec![1; COUNT_MAX];
        many_and_much[3] = 60 * MIB;
        assert_eq!(let_go(&many_and_much), [vec![3], numbers(751..1000)].concat());
    }
}
