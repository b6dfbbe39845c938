//! Failed deliveries are retried, and list their earlier attempts.

use kinora_domain::Clock as _;
use kinora_testkit::{Answer, MovableClock, ReceivedPost, Source, fixture};
use serde_json::{Value, json};

use super::{events_of, nowhere};
use crate::support::{DEADLINE, HOOK, TestApp, text, until};

/// The lease of an attempt: after it, another worker would repeat the attempt.
const LEASE_US: i64 = 25_000_000;

/// A server with a standing clock, and a media with one event until its source is released.
async fn one_event(clock: &MovableClock, answers: impl IntoIterator<Item = Answer>) -> TestApp {
    let app = TestApp::options().clock(clock.clone()).start().await;
    app.receiver.answer_next(HOOK, answers);
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    app.create(&url).await;
    app
}

/// Waits until the previous attempt is recorded, and moves the clock to the next one.
///
/// Returns the delay in seconds, and the post.
async fn next_attempt(app: &TestApp, clock: &MovableClock, made: usize) -> (f64, ReceivedPost) {
    let now = clock.now();
    let due = until("the attempt before is written down", async || {
        let due = app.store.next_delivery_due().await.unwrap()?;
        // While an attempt is in progress, its lease is the next to end.
        (due > now && due.micros_since(now) != LEASE_US).then_some(due)
    })
    .await;
    assert_eq!(app.receiver.posted().len(), made, "not before its time");
    clock.set(due);
    let post = app.posts(HOOK, made + 1).await.swap_remove(made);
    (due.micros_since(now) as f64 / 1e6, post)
}

#[tokio::test]
async fn retry_lists_first_attempt_and_is_signed_again() {
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
async fn failed_delivery_is_retried_with_attempts_listed() {
    let clock = MovableClock::default();
    let redirect_path = "/elsewhere";
    let app = TestApp::options().clock(clock.clone()).start().await;
    let long = "é".repeat(2000);
    let redirect = Answer::redirect(&app.receiver.url(redirect_path)).body(&long);
    // A new connection for the next post: a reused one would be replaced within the attempt.
    let not_found = Answer::status(404).header("connection", "close");
    app.receiver.answer_next(HOOK, [redirect, not_found, Answer::broken()]);
    app.create(&app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte())).await;
    app.posts(HOOK, 1).await;
    let mut last = Value::Null;
    for made in 1..=3 {
        let (waited_s, post) = next_attempt(&app, &clock, made).await;
        // C-9: 5 s, doubled each time, with 20 % jitter.
        let expected_s = f64::from(5 << (made - 1));
        assert!((0.8..=1.2).contains(&(waited_s / expected_s)), "attempt {}: {waited_s} s", made + 1);
        last = post.json();
    }
    let attempts = last["attempts"].as_array().unwrap();
    let statuses: Vec<_> = attempts.iter().map(|attempt| &attempt["responseStatusCode"]).collect();
    assert_eq!(statuses, [302, 404, 0]);
    let stored_body = text(&attempts[0]["responseBody"]);
    assert!(
        stored_body.len() <= 1024 && stored_body.len() > 1000 && long.starts_with(stored_body),
        "{} bytes: {stored_body}",
        stored_body.len()
    );
    assert!(text(&attempts[2]["responseBody"]).contains("does not send valid HTTP"), "{}", attempts[2]);
    let paths: Vec<_> = app.receiver.posted().iter().map(|post| post.request.path().to_owned()).collect();
    assert_eq!(paths, [HOOK; 4], "a redirect was followed");
}

#[tokio::test]
async fn webhook_to_private_network_is_blocked_and_recorded() {
    let clock = MovableClock::default();
    let mut app = TestApp::options().clock(clock.clone()).allow_loopback(false).start().await;
    app.create(&nowhere(&app)).await;
    // Between now and the end of a lease: a second attempt is scheduled, so the first one has ended.
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
    assert_eq!(attempts[0]["responseBody"], "the webhook URL is not on the public internet");
}

#[tokio::test]
async fn aborted_delivery_is_not_retried_next_event_is_sent() {
    let clock = MovableClock::default();
    let abort = Answer::status(500).header("webhook-delivery", "abort-message");
    let app = one_event(&clock, [abort]).await;
    let first = app.posts(HOOK, 1).await.remove(0);
    app.sources.release("/a.mp4");
    let posted = app.posts(HOOK, 2).await;
    assert_eq!(posted[1].event_type(), "video.media.ready");
    app.all_delivered().await;
    assert_eq!(app.receiver.posted().len(), 2, "{:?}", events_of(&app.receiver.posted()));
    assert_eq!(first.json()["attempts"], json!([]));
}
