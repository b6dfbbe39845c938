use uuid::Uuid;

use super::*;
use crate::{Day, MediaId};

struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

fn media(number: u128) -> MediaId {
    MediaId::from_uuid(Uuid::from_u128(number))
}

fn ids(numbers: &[u128]) -> Vec<MediaId> {
    numbers.iter().copied().map(media).collect()
}

fn playlist(limit: u32, smart: Option<SmartRules>) -> Playlist {
    let new = NewPlaylist {
        workspace: WorkspaceId::from_uuid(Uuid::nil()),
        name: "A".to_owned(),
        reference_id: "a".to_owned(),
        description: String::new(),
        limit,
        smart,
    };
    Playlist::create(new, at(1), &Zeros)
}

fn media_of(playlist: &Playlist) -> Vec<MediaId> {
    assert!(playlist.items().is_sorted_by(|a, b| a.position < b.position), "{playlist:?}");
    playlist.items().iter().map(|item| item.media).collect()
}

#[test]
fn append_preserves_order_and_ignores_duplicates() {
    let one = playlist(1000, None).append(&ids(&[3, 1, 2]), at(2)).unwrap();
    assert_eq!((media_of(&one), one.updated_at), (ids(&[3, 1, 2]), at(2)));
    let two = one.clone().append(&ids(&[1, 4, 4, 3]), at(3)).unwrap();
    assert_eq!((media_of(&two), two.updated_at), (ids(&[3, 1, 2, 4]), at(3)));
    assert_eq!(two.clone().append(&ids(&[4, 1]), at(4)).unwrap(), two, "nothing is another");
}

#[test]
fn append_over_the_limit_is_rejected() {
    let full = playlist(3, None).append(&ids(&[1, 2, 3]), at(2)).unwrap();
    assert_eq!(full.clone().append(&ids(&[2]), at(3)).unwrap(), full);
    assert_eq!(
        full.append(&ids(&[2, 4, 5]), at(3)).unwrap_err(),
        PlaylistRejected::Full { count: 5, limit: 3 }
    );
}

#[test]
fn reorder_must_list_each_media_exactly_once() {
    let before = playlist(9, None).append(&ids(&[1, 2, 3, 4]), at(2)).unwrap();
    let before = before.remove(&ids(&[2]), at(3)).unwrap();
    let after = before.clone().reorder(&ids(&[4, 3, 1]), at(4)).unwrap();
    assert_eq!((media_of(&after), after.updated_at), (ids(&[4, 3, 1]), at(4)));
    assert_eq!(after.items()[1], before.items()[1], "what stays where it was is written as it was");
    assert_eq!(before.clone().reorder(&ids(&[1, 3, 4]), at(4)).unwrap(), before);
    assert_eq!(
        before.clone().reorder(&ids(&[4, 1]), at(4)).unwrap_err(),
        PlaylistRejected::Incomplete { missing: media(3) }
    );
    assert_eq!(
        before.reorder(&ids(&[4, 1, 2, 3]), at(4)).unwrap_err(),
        PlaylistRejected::NotAMember { index: 2 }
    );
    let empty = playlist(9, None);
    assert_eq!(empty.clone().reorder(&[], at(2)).unwrap(), empty);
}

#[test]
fn remove_of_an_unlisted_media_is_rejected() {
    let before = playlist(9, None).append(&ids(&[1, 2, 3]), at(2)).unwrap();
    let after = before.clone().remove(&ids(&[3, 1]), at(3)).unwrap();
    assert_eq!((media_of(&after), after.updated_at), (ids(&[2]), at(3)));
    assert_eq!(before.remove(&ids(&[1, 7]), at(3)).unwrap_err(), PlaylistRejected::NotAMember { index: 1 });
    let again = after.append(&ids(&[1]), at(4)).unwrap();
    assert_eq!(media_of(&again), ids(&[2, 1]));
}

#[test]
fn smart_playlist_items_cannot_be_edited() {
    let day = Day::from_text("2025-11-03");
    let rules = SmartRules {
        order: PlayOrder::NewestFirst,
        created: DayRange { first: day, last: day },
        updated: DayRange::default(),
    };
    let smart = playlist(9, Some(rules));
    assert_eq!(smart.content.kind(), "smart");
    assert_eq!(smart.clone().append(&ids(&[1]), at(2)), Err(PlaylistRejected::NotManual));
    assert_eq!(smart.clone().reorder(&[], at(2)), Err(PlaylistRejected::NotManual));
    assert_eq!(smart.remove(&ids(&[1]), at(2)), Err(PlaylistRejected::NotManual));
}

#[test]
fn rename_to_the_same_name_is_a_noop() {
    let before = playlist(9, None);
    assert_eq!(before.clone().rename("A".to_owned(), String::new(), at(2)), before);
    let after = before.rename("B".to_owned(), "About B".to_owned(), at(2));
    assert_eq!((after.name.as_str(), after.description.as_str(), after.updated_at), ("B", "About B", at(2)));
}

#[test]
fn day_range_covers_whole_days_and_play_order_round_trips() {
    let range = DayRange { first: Day::from_text("2025-11-03"), last: Day::from_text("2025-11-04") };
    let (from, to) = range.instants();
    assert_eq!(from.to_string(), "2025-11-03T00:00:00.000000Z");
    assert_eq!(to.to_string(), "2025-11-05T00:00:00.000000Z");
    let (from, to) = DayRange::default().instants();
    assert!(from < at(0) && at(0) < to && DayRange::default().is_unbounded());
    for order in PlayOrder::ALL {
        assert_eq!(PlayOrder::from_text(order.as_str()), Some(order));
    }
    assert_eq!(PlayOrder::from_text("createdDate"), None);
}
