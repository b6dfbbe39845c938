//! Who waits, who is refused, and who passes whom.

use std::pin::Pin;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_domain::{PlaybackId, Timestamp};
use kinora_testkit::SeededRandom;
use tokio::time::{Instant, advance};

use super::*;

/// What somebody asks for who has been told nothing yet.
type Asked<'a> = BoxFuture<'a, Result<Turn, Error>>;

fn source(number: i64) -> PresentationId {
    PresentationId::new(Timestamp::from_micros(number * 1_000_000), &SeededRandom::default())
}

fn asker(address: Option<&str>) -> Asker {
    let playback = PlaybackId::new(&SeededRandom::default());
    Asker { playback, address: address.map(|address| address.parse().unwrap()) }
}

impl Turns {
    fn ask<'a>(&'a self, address: Option<&str>, source: PresentationId, kind: Kind) -> Asked<'a> {
        self.take(asker(address), source, kind).boxed()
    }

    /// Those of many who have their turn, and those who wait.
    fn ask_many(
        &self,
        count: usize,
        address: Option<&str>,
        source: PresentationId,
    ) -> (Vec<Turn>, Vec<Asked<'_>>) {
        let (mut turns, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut asked = self.ask(address, source, Kind::Still);
            match now(&mut asked) {
                Some(turn) => turns.push(turn.expect("there is room to wait")),
                None => waiting.push(asked),
            }
        }
        (turns, waiting)
    }
}

/// What somebody has been told, if anything.
fn now(asked: &mut Asked<'_>) -> Option<Result<Turn, Error>> {
    Pin::new(asked).now_or_never()
}

fn is_refused(asked: &mut Asked<'_>) -> bool {
    matches!(now(asked), Some(Err(Error::Busy)))
}

#[tokio::test]
async fn a_client_has_two_pictures_made_at_once_and_another_one_its_own() {
    let turns = Turns::new();
    let (mut held, mut waiting) = turns.ask_many(4, Some("2001:db8::1"), source(1));
    assert_eq!((held.len(), waiting.len()), (2, 2));
    let (of_network, _) = turns.ask_many(1, Some("2001:db8::ffff"), source(2));
    assert!(of_network.is_empty(), "whatever its address in this network, and of whatever source");
    assert_eq!(turns.ask_many(3, Some("192.0.2.1"), source(1)).0.len(), 2);
    held.pop();
    assert!(now(&mut waiting[1]).is_none(), "in the order of asking");
    assert!(now(&mut waiting[0]).unwrap().is_ok());
}

#[tokio::test]
async fn what_is_given_back_takes_no_memory() {
    let turns = Turns::new();
    drop(turns.ask_many(9, Some("192.0.2.1"), source(1)));
    drop(turns.ask_many(9, None, source(2)));
    let _turn = turns.ask(Some("192.0.2.2"), source(3), Kind::Still).await.unwrap();
    assert_eq!((turns.of_clients.lines.len(), turns.of_sources.lines.len()), (1, 1));
    assert_eq!(turns.of_clients.waiting.available_permits(), WAITING_IN_ALL_MAX);
}

#[tokio::test]
async fn long_pictures_of_a_source_leave_places_for_its_stills_and_those_of_others() {
    let turns = Turns::new();
    let ask = |number, kind| turns.ask(None, source(number), kind);
    let mut held = Vec::new();
    for _ in 0..OF_SOURCE {
        held.push(ask(1, Kind::Long).await.unwrap());
    }
    let mut waiting = ask(1, Kind::Long);
    assert!(now(&mut waiting).is_none());
    assert!(now(&mut ask(1, Kind::Still)).unwrap().is_ok());
    assert!(now(&mut ask(2, Kind::Long)).unwrap().is_ok());
    drop(held);
    assert!(now(&mut waiting).unwrap().is_ok());
}

#[tokio::test]
async fn a_line_has_room_for_a_page_and_whoever_comes_after_that_is_refused_at_once() {
    for (address, at_once) in [(Some("192.0.2.1"), OF_CLIENT), (None, OF_SOURCE)] {
        let turns = Turns::new();
        let (held, mut waiting) = turns.ask_many(at_once + WAITING_MAX, address, source(1));
        assert_eq!((held.len(), waiting.len()), (at_once, WAITING_MAX));
        assert!(is_refused(&mut turns.ask(address, source(1), Kind::Still)));
        // Who leaves gives its place in the line back.
        waiting.pop();
        assert!(now(&mut turns.ask(address, source(1), Kind::Still)).is_none());
    }
}

#[tokio::test]
async fn however_many_clients_wait_there_is_an_end_but_not_for_the_first_picture_of_one() {
    let turns = Turns::new();
    let mut held = Vec::new();
    for (client, number) in (1..=10).zip(1..) {
        held.push(turns.ask_many(
            OF_CLIENT + WAITING_MAX,
            Some(&format!("192.0.2.{client}")),
            source(number),
        ));
    }
    let (first, _) = turns.ask_many(OF_CLIENT, Some("198.51.100.1"), source(20));
    assert_eq!(first.len(), OF_CLIENT);
    assert!(is_refused(&mut turns.ask(Some("198.51.100.1"), source(20), Kind::Still)));
}

#[tokio::test]
async fn a_client_with_a_hundred_pictures_is_no_further_ahead_than_with_two() {
    for address in [Some("192.0.2.1"), None] {
        let turns = Turns::new();
        let (mut held, mut waiting) = turns.ask_many(WAITING_MAX, address, source(1));
        // Those of others take what is left, and stand in the line of the source.
        let mut other = turns.ask(Some("192.0.2.2"), source(1), Kind::Still);
        let is_there_at_once = now(&mut other).is_some();
        assert_eq!(is_there_at_once, address.is_some(), "two of four places are left by a client");
        if !is_there_at_once {
            held.pop();
            assert!(now(&mut waiting[0]).is_none(), "it has its turn behind the other one");
            assert!(now(&mut other).unwrap().is_ok());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_a_minute_in_both_lines_is_refused() {
    let turns = Turns::new();
    let (mut held, _) = turns.ask_many(OF_CLIENT, Some("192.0.2.1"), source(1));
    let (of_others, _) = turns.ask_many(OF_SOURCE, None, source(2));
    let begun = Instant::now();
    let mut asked = turns.ask(Some("192.0.2.1"), source(2), Kind::Still);
    assert!(now(&mut asked).is_none());
    advance(REQUEST_WAIT_MAX / 2).await;
    held.pop();
    assert!(now(&mut asked).is_none(), "its client has a turn, the source has none");
    assert!(matches!(asked.await, Err(Error::Busy)));
    assert_eq!(begun.elapsed().as_secs(), REQUEST_WAIT_MAX.as_secs());
    assert!(turns.ask(Some("192.0.2.1"), source(3), Kind::Still).await.is_ok(), "nothing of it is left");
    drop(of_others);
}
