//! What failed is tried again, and says what went before.

use kinora_domain::Clock as _;
use kinora_testkit::{Answer, MovableClock, Posted, Source, fixture};
use serde_json::{Value, json};

use super::{nowhere, told};
use crate::support::{DEADLINE, HOOK, TestApp, text, until};

/// How long an attempt may be under way before another worker would make it (a lease).
const LEASE_US: i64 = 25_000_000;

/// A server with a clock that stands, and a media that makes one event until its source is released.
async fn one_event(clock: &MovableClock, answers: impl IntoIterator<Item = Answer>) -> TestApp {
    let app = TestApp::options().clock(clock.clone()).start().await;
    app.receiver.answer_next(HOOK, answers);
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).hold_last_byte());
    app.create(&url).await;
    app
}

/// Waits until the attempt before has been written down, moves the clock to the time of the next one, and
/// answers what was waited for it, in seconds, and its post.
async fn next_attempt(app: &TestApp, clock: &MovableClock, made: usize) -> (f64, Posted) {
    let now = clock.now();
    let due = until("the attempt before is written down", async || {
        let due = app.store.next_delivery_due().await.unwrap()?;
        // While it is under way its lease is the next thing to end.
        (due > now && due.micros_since(now) != LEASE_US).then_some(due)
    })
    .await;
    assert_eq!(app.receiver.posted().len(), made, "not before its time");
    clock.set(due);
    let post = app.posts(HOOK, made + 1).await.swap_remove(made);
    (due.micros_since(now) as f64 / 1e6, post)
}

#[tokio::test]
async fn a_second_attempt_tells_of_the_first_and_is_signed_anew() {
    let clock = MovableClock::default();
    let first = Answer::status(500)
        .header("Content-Type", "text/plain")
        .header("Server", "receiver/1")
        .header("Date", "Mon, 03 Nov 2025 10:03:48 GMT")
        .header("Cache-Control", "no-store")
        .header("X-Other", "is not kept")
        .body("the receiver is tired");
    let app = one_event(&clock, [first]).await;
    let first = app.posts(HOOK, 1).await.remove(0);
    assert_eq!(first.json()["attempts"], json!([]));
    let (waited_s, second) = next_attempt(&app, &clock, 1).await;
    assert!((4.0..=6.0).contains(&waited_s), "5 s and a fifth: {waited_s}");
    insta::assert_snapshot!(app.golden().json(&second.json()));

    assert_eq!(second.event_id(), first.event_id(), "receivers know an event by its id");
    assert_eq!(second.json()["attempts"][0]["webhookId"], app.hook.as_ref().unwrap().id.to_string());
    let mut without_attempts = second.json();
    without_attempts["attempts"] = json!([]);
    assert_eq!(without_attempts, first.json(), "nothing else changes");
    assert_ne!(second.header("service-signature"), first.header("service-signature"));
    let now_s: i64 = second.header("webhook-timestamp").unwrap().parse().unwrap();
    assert!(second.is_signed_with(&app.hook.as_ref().unwrap().secret, now_s));
    assert!(now_s > first.header("webhook-timestamp").unwrap().parse().unwrap());
}

#[tokio::test]
async fn whatever_is_no_success_is_tried_again_and_told() {
    let clock = MovableClock::default();
    let elsewhere = "/elsewhere";
    let app = TestApp::options().clock(clock.clone()).start().await;
    let long = "é".repeat(2000);
    let redirect = Answer::redirect(&app.receiver.url(elsewhere)).body(&long);
    // A new connection for the next post: one that is used again would be replaced within the attempt.
    let not_found = Answer::status(404).header("connection", "close");
    app.receiver.answer_next(HOOK, [redirect, not_found, Answer::broken()]);
    app.create(&app.serve("/a.mp4", Source::of(fixture::two_seconds()).hold_last_byte())).await;
    app.posts(HOOK, 1).await;
    let mut last = Value::Null;
    for made in 1..=3 {
        let (waited_s, post) = next_attempt(&app, &clock, made).await;
        // C-9: 5 s, doubling, give or take a fifth.
        let expected_s = f64::from(5 << (made - 1));
        assert!((0.8..=1.2).contains(&(waited_s / expected_s)), "attempt {}: {waited_s} s", made + 1);
        last = post.json();
    }
    let attempts = last["attempts"].as_array().unwrap();
    let statuses: Vec<_> = attempts.iter().map(|attempt| &attempt["responseStatusCode"]).collect();
    assert_eq!(statuses, [302, 404, 0]);
    let kept = text(&attempts[0]["responseBody"]);
    assert!(
        kept.len() <= 1024 && kept.len() > 1000 && long.starts_with(kept),
        "{} bytes: {kept}",
        kept.len()
    );
    assert!(text(&attempts[2]["responseBody"]).contains("does not answer"), "{}", attempts[2]);
    let paths: Vec<_> = app.receiver.posted().iter().map(|post| post.request.path().to_owned()).collect();
    assert_eq!(paths, [HOOK; 4], "a redirect was followed");
}

#[tokio::test]
async fn a_receiver_in_a_private_network_gets_nothing_and_the_attempt_is_written_down() {
    let clock = MovableClock::default();
    let mut app = TestApp::options().clock(clock.clone()).allow_loopback(false).start().await;
    app.create(&nowhere(&app)).await;
    // Between now and the end of a lease: a second attempt waits for its time, so the first has ended.
    until("the first attempt has ended", async || {
        let due = app.store.next_delivery_due().await.unwrap()?;
        (1..LEASE_US).contains(&due.micros_since(clock.now())).then_some(())
    })
    .await;
    assert!(app.receiver.posted().is_empty(), "the guard let a post through");

    app.options = app.options.clone().allow_loopback(true);
    app.restart().await;
    clock.advance_seconds(60);
    let created = app.receiver.wait_for_event("video.media.created", DEADLINE).await.json();
    let attempts = created["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    assert_eq!(attempts[0]["responseStatusCode"], 0);
    assert_eq!(attempts[0]["responseBody"], "the webhook's address is not on the public internet");
}

#[tokio::test]
async fn what_a_receiver_wants_no_more_of_is_not_sent_again_and_the_next_event_is() {
    let clock = MovableClock::default();
    let abort = Answer::status(500).header("webhook-delivery", "abort-message");
    let app = one_event(&clock, [abort]).await;
    let first = app.posts(HOOK, 1).await.remove(0);
    app.sources.release("/a.mp4");
    let posted = app.posts(HOOK, 2).await;
    assert_eq!(posted[1].event_type(), "video.media.ready");
    app.all_delivered().await;
    assert_eq!(app.receiver.posted().len(), 2, "{:?}", told(&app.receiver.posted()));
    assert_eq!(first.json()["attempts"], json!([]));
}
