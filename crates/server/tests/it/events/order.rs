//! Receivers and the order of events; no receiver delays another one.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::{Answer, MovableClock, fixture};
use serde_json::json;

use super::{events_of, nowhere};
use crate::support::{DEADLINE, HOOK, TestApp, text};

#[tokio::test]
async fn hanging_receiver_delays_no_other_webhook() {
    let app = TestApp::start().await;
    app.receiver.answer_always("/dead", Answer::ok().delayed());
    app.new_hook(DEVELOPMENT, &app.receiver.url("/dead")).await;
    app.new_hook(DEVELOPMENT, &app.receiver.url("/other")).await;
    const MEDIA: usize = 40;
    for _ in 0..MEDIA {
        app.create(&nowhere(&app)).await;
    }
    // All of it arrives while the first posts to the dead receiver are pending: they time out after 15 s.
    for path in [HOOK, "/other"] {
        let posted = app.posts(path, MEDIA * 2).await;
        assert_eq!(posted.len(), MEDIA * 2);
        assert!(posted.iter().all(|post| post.json()["attempts"] == json!([])), "a first attempt each");
    }
    assert!(app.posts("/dead", 1).await.len() <= 16, "one receiver holds a bounded number of connections");
}

#[tokio::test]
async fn events_of_one_media_are_sent_in_order() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).start().await;
    app.new_hook(DEVELOPMENT, &app.receiver.url("/other")).await;
    app.receiver.answer_always(HOOK, Answer::ok().delayed());
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let of_media = |kind: &str| (kind.to_owned(), text(&media["id"]).to_owned());
    let both = [of_media("video.media.created"), of_media("video.media.ready")];
    assert_eq!(events_of(&app.posts("/other", 2).await), both);

    // The first post has no response, and no time has passed.
    assert_eq!(events_of(&app.posts(HOOK, 1).await), both[..1]);
    clock.advance_seconds(1);
    assert_eq!(events_of(&app.posts(HOOK, 2).await), both, "after a second the next one goes anyway");
}

#[tokio::test]
async fn next_event_follows_any_response() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock).start().await;
    app.receiver.answer_next(HOOK, [Answer::status(500)]);
    app.ready("/a.mp4", fixture::two_seconds()).await;
    let posted = app.posts(HOOK, 2).await;
    assert_eq!(
        [posted[0].event_type(), posted[1].event_type()],
        ["video.media.created", "video.media.ready"]
    );
}

#[tokio::test]
async fn event_reaches_every_webhook_of_only_its_workspace() {
    let app = TestApp::start().await;
    app.new_hook(DEVELOPMENT, &app.receiver.url("/second")).await;
    app.new_hook(PRODUCTION, &app.receiver.url("/production")).await;
    let media = app.create(&nowhere(&app)).await;
    let (first, second) = (app.posts(HOOK, 2).await, app.posts("/second", 2).await);
    assert_eq!(first[0].event_id(), second[0].event_id(), "one event, delivered twice");
    assert_ne!(first[0].header("service-signature"), second[0].header("service-signature"));

    let token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let body = json!({"inputs": [{"type": "video", "url": nowhere(&app)}]});
    let created = app.request("POST", "/on-demand").token(&token).json(&body).send().await.data();
    let posted = app.posts("/production", 2).await;
    assert!(
        events_of(&posted).iter().all(|(_, object)| object == text(&created["id"])),
        "{:?}",
        events_of(&posted)
    );
    assert_eq!(posted[0].json()["workspace"]["name"], PRODUCTION);
    for path in [HOOK, "/second"] {
        let posted = app.posts(path, 2).await;
        assert!(events_of(&posted).iter().all(|(_, object)| object == text(&media["id"])), "{path}");
    }
}

#[tokio::test]
async fn new_webhook_gets_no_past_events() {
    let app = TestApp::options().without_webhook().start().await;
    let before = app.create(&nowhere(&app)).await;
    app.wait_settled(text(&before["id"])).await;
    app.new_hook(DEVELOPMENT, &app.receiver.url(HOOK)).await;
    let after = app.create(&nowhere(&app)).await;
    app.receiver.wait_for_event("video.media.failed", DEADLINE).await;
    let posted = app.receiver.posted();
    assert!(
        events_of(&posted).iter().all(|(_, object)| object == text(&after["id"])),
        "{:?}",
        events_of(&posted)
    );
}
