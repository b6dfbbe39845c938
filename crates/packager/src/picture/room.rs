//! How many pictures of one source are kept (decision 0022).

use std::cmp::Reverse;

use kinora_blob::{Entry, ObjectKey};

/// Pictures of one source that are kept; further ones are made anew each time, so that nobody fills the disk with sizes.
pub(super) const COUNT_MAX: usize = 1000;

/// Bytes of these pictures. A thousand thumbnails have some 20 MB, sheets and clips some MB each; a thousand of the largest pictures would
/// have 32 GB.
pub(super) const BYTES_MAX: u64 = 64 << 20;

/// Whether one more of this length is kept beside these.
pub(super) fn has_room(kept: &[Entry], len: u64) -> bool {
    kept.len() < COUNT_MAX && bytes_of(kept).saturating_add(len) <= BYTES_MAX
}

/// Which pictures of a source are let go, given all that are kept: the oldest, until half of the room is free, where hardly any is left.
///
/// Otherwise whoever fills the room once with what nobody else asks for would have everything else made anew for ever. What is still asked for is made
/// and kept again.
pub fn surplus_pictures(mut kept: Vec<Entry>) -> Vec<ObjectKey> {
    let is_nearly_full = COUNT_MAX / 4 * 3 <= kept.len() || BYTES_MAX / 4 * 3 <= bytes_of(&kept);
    if !is_nearly_full {
        return Vec::new();
    }
    kept.sort_by_key(|entry| Reverse(entry.modified));
    let (mut count, mut bytes) = (0, 0);
    let mut goes = |entry: &Entry| {
        let stays = count < COUNT_MAX / 2 && entry.len <= BYTES_MAX / 2 - bytes;
        if stays {
            (count, bytes) = (count + 1, bytes + entry.len);
        }
        !stays
    };
    kept.into_iter().filter(|entry| goes(entry)).map(|entry| entry.key).collect()
}

fn bytes_of(kept: &[Entry]) -> u64 {
    kept.iter().map(|entry| entry.len).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use kinora_blob::PictureHash;
    use kinora_domain::{SourceId, Timestamp};

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Pictures of these lengths, the oldest first.
    fn kept(lens: &[u64]) -> Vec<Entry> {
        let source: SourceId = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
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
    fn the_oldest_go_where_hardly_any_room_is_left() {
        let first = |count: u128| (0..count).collect::<Vec<_>>();
        assert_eq!(let_go(&[]), first(0));
        assert_eq!(let_go(&[1; 749]), first(0));
        assert_eq!(let_go(&[1; 750]), first(250));
        assert_eq!(let_go(&[1; 1000]), first(500));
        assert_eq!(let_go(&[MIB; 47]), first(0));
        assert_eq!(let_go(&[MIB; 48]), first(16));
        // What is too large gives way to what is small, however new.
        assert_eq!(let_go(&[1, 1, 48 * MIB]), [2]);
        assert_eq!(let_go(&[40 * MIB, 20 * MIB, 1, 30 * MIB]), [0, 1]);
    }
}
