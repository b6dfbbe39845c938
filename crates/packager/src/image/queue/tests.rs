//! Tests which requests wait, are rejected, or overtake others.

use std::pin::Pin;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_domain::{PlaybackId, Timestamp};
use kinora_testkit::SeededRandom;
use tokio::time::{Instant, advance};

use super::*;

/// A request without a result yet.
type PendingPermit<'a> = BoxFuture<'a, Result<ImagePermit, Error>>;

fn source(number: i64) -> PresentationId {
    PresentationId::new(Timestamp::from_micros(number * 1_000_000), &SeededRandom::default())
}

fn on_demand_client(address: Option<&str>) -> PlaybackClient {
    let playback = PlaybackId::new(&SeededRandom::default());
    PlaybackClient { playback, address: address.map(|address| address.parse().unwrap()) }
}

impl ImageQueues {
    fn request<'a>(
        &'a self,
        address: Option<&str>,
        source: PresentationId,
        kind: ImageCost,
    ) -> PendingPermit<'a> {
        self.acquire(on_demand_client(address), source, kind).boxed()
    }

    /// The permits of many requests, and the requests that wait.
    fn request_many(
        &self,
        count: usize,
        address: Option<&str>,
        source: PresentationId,
    ) -> (Vec<ImagePermit>, Vec<PendingPermit<'_>>) {
        let (mut permits, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut pending = self.request(address, source, ImageCost::Still);
            match now(&mut pending) {
                Some(permit) => permits.push(permit.expect("there is room to wait")),
                None => waiting.push(pending),
            }
        }
        (permits, waiting)
    }
}

/// The result of a request, if there is one.
fn now(pending: &mut PendingPermit<'_>) -> Option<Result<ImagePermit, Error>> {
    Pin::new(pending).now_or_never()
}

fn is_refused(pending: &mut PendingPermit<'_>) -> bool {
    matches!(now(pending), Some(Err(Error::Busy)))
}

#[tokio::test]
async fn client_makes_two_images_at_once() {
    let queues = ImageQueues::new();
    let (mut permits, mut waiting) = queues.request_many(4, Some("2001:db8::1"), source(1));
    assert_eq!((permits.len(), waiting.len()), (2, 2));
    let (of_network, _) = queues.request_many(1, Some("2001:db8::ffff"), source(2));
    assert!(of_network.is_empty(), "whatever its address in this network, and of whatever source");
    assert_eq!(queues.request_many(3, Some("192.0.2.1"), source(1)).0.len(), 2);
    permits.pop();
    assert!(now(&mut waiting[1]).is_none(), "in the order of asking");
    assert!(now(&mut waiting[0]).unwrap().is_ok());
}

#[tokio::test]
async fn released_queues_are_removed() {
    let queues = ImageQueues::new();
    drop(queues.request_many(9, Some("192.0.2.1"), source(1)));
    drop(queues.request_many(9, None, source(2)));
    let _permit = queues.request(Some("192.0.2.2"), source(3), ImageCost::Still).await.unwrap();
    assert_eq!((queues.by_client.queues.len(), queues.by_source.queues.len()), (1, 1));
    assert_eq!(queues.by_client.waiting.available_permits(), WAITING_TOTAL_MAX);
}

#[tokio::test]
async fn clips_leave_slots_for_thumbnails() {
    let queues = ImageQueues::new();
    let request_one = |number, kind| queues.request(None, source(number), kind);
    let mut permits = Vec::new();
    for _ in 0..PER_SOURCE_MAX {
        permits.push(request_one(1, ImageCost::Long).await.unwrap());
    }
    let mut waiting = request_one(1, ImageCost::Long);
    assert!(now(&mut waiting).is_none());
    assert!(now(&mut request_one(1, ImageCost::Still)).unwrap().is_ok());
    assert!(now(&mut request_one(2, ImageCost::Long)).unwrap().is_ok());
    drop(permits);
    assert!(now(&mut waiting).unwrap().is_ok());
}

#[tokio::test]
async fn full_queue_is_busy() {
    for (address, at_once) in [(Some("192.0.2.1"), PER_CLIENT_MAX), (None, PER_SOURCE_MAX)] {
        let queues = ImageQueues::new();
        let (permits, mut waiting) = queues.request_many(at_once + WAITING_MAX, address, source(1));
        assert_eq!((permits.len(), waiting.len()), (at_once, WAITING_MAX));
        assert!(is_refused(&mut queues.request(address, source(1), ImageCost::Still)));
        // A dropped request frees its position in the queue.
        waiting.pop();
        assert!(now(&mut queues.request(address, source(1), ImageCost::Still)).is_none());
    }
}

#[tokio::test]
async fn total_queue_is_limited_except_first_image() {
    let queues = ImageQueues::new();
    let mut permits = Vec::new();
    for (client, number) in (1..=10).zip(1..) {
        permits.push(queues.request_many(
            PER_CLIENT_MAX + WAITING_MAX,
            Some(&format!("192.0.2.{client}")),
            source(number),
        ));
    }
    let (first, _) = queues.request_many(PER_CLIENT_MAX, Some("198.51.100.1"), source(20));
    assert_eq!(first.len(), PER_CLIENT_MAX);
    assert!(is_refused(&mut queues.request(Some("198.51.100.1"), source(20), ImageCost::Still)));
}

#[tokio::test]
async fn queued_images_give_no_client_priority() {
    for address in [Some("192.0.2.1"), None] {
        let queues = ImageQueues::new();
        let (mut permits, mut waiting) = queues.request_many(WAITING_MAX, address, source(1));
        // Requests of other clients take the rest, and wait in the queue of the source.
        let mut other = queues.request(Some("192.0.2.2"), source(1), ImageCost::Still);
        let is_immediate = now(&mut other).is_some();
        assert_eq!(is_immediate, address.is_some(), "two of four places are left by a client");
        if !is_immediate {
            permits.pop();
            assert!(now(&mut waiting[0]).is_none(), "it has its turn behind the other one");
            assert!(now(&mut other).unwrap().is_ok());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn queue_wait_times_out_after_60_seconds() {
    let queues = ImageQueues::new();
    let (mut permits, _) = queues.request_many(PER_CLIENT_MAX, Some("192.0.2.1"), source(1));
    let (of_others, _) = queues.request_many(PER_SOURCE_MAX, None, source(2));
    let started = Instant::now();
    let mut pending = queues.request(Some("192.0.2.1"), source(2), ImageCost::Still);
    assert!(now(&mut pending).is_none());
    advance(REQUEST_TIMEOUT / 2).await;
    permits.pop();
    assert!(now(&mut pending).is_none(), "its client has a turn, the source has none");
    assert!(matches!(pending.await, Err(Error::Busy)));
    assert_eq!(started.elapsed().as_secs(), REQUEST_TIMEOUT.as_secs());
    assert!(
        queues.request(Some("192.0.2.1"), source(3), ImageCost::Still).await.is_ok(),
        "nothing of it is left"
    );
    drop(of_others);
}
