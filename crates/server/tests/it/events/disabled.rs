//! A disabled webhook keeps its pending events, and gets them once it is enabled.

use kinora_domain::{DisabledReason, Webhook, WebhookState};
use kinora_testkit::Answer;

use super::{events_of, nowhere};
use crate::support::{HOOK, TestApp, text, until};

/// Concurrent posts to one webhook.
const CONCURRENT_POSTS: usize = 16;

async fn disabled_by(app: &TestApp) -> DisabledReason {
    let id = app.hook.as_ref().unwrap().id;
    until("the webhook is disabled", async || match app.store.webhook(id).await.unwrap().unwrap().state {
        WebhookState::Disabled { reason, .. } => Some(reason),
        WebhookState::Enabled => None,
    })
    .await
}

#[tokio::test]
async fn enabled_webhook_gets_pending_events_oldest_first() {
    let app = TestApp::start().await;
    let other = app.new_hook(kinora_domain::DEVELOPMENT, &app.receiver.url("/other")).await;
    app.receiver.answer_always(HOOK, Answer::status(410));
    let mut ids = Vec::new();
    for _ in 0..CONCURRENT_POSTS + 4 {
        ids.push(text(&app.create(&nowhere(&app)).await["id"]).to_owned());
        if ids.len() == 1 {
            assert_eq!(disabled_by(&app).await, DisabledReason::Gone);
        }
    }
    // The other webhook of the workspace has got all events; this one only the one that disabled it.
    app.posts("/other", ids.len() * 2).await;
    let before = app.posts(HOOK, 1).await;
    assert_eq!(events_of(&before), [("video.media.created".to_owned(), ids[0].clone())]);

    app.receiver.answer_always(HOOK, Answer::ok().delayed());
    app.change_hook(app.hook.as_ref().unwrap().id, Webhook::enable).await;
    // The event with the 410 is pending too. After a failure, a receiver gets one post first, and then more.
    let first = events_of(&app.posts(HOOK, 2).await[1..]);
    assert_eq!(first, [("video.media.created".to_owned(), ids[0].clone())], "the oldest goes first");

    app.receiver.release(HOOK);
    let all = events_of(&app.posts(HOOK, 1 + ids.len() * 2).await[1..]);
    for id in &ids[1..] {
        let of_media: Vec<_> =
            all.iter().filter(|(_, object)| object == id).map(|(kind, _)| &**kind).collect();
        assert_eq!(of_media, ["video.media.created", "video.media.failed"], "{id}");
    }
    assert_eq!(app.store.webhook(other.id).await.unwrap().unwrap().state, WebhookState::Enabled);
}

#[tokio::test]
async fn receiver_can_request_to_be_disabled() {
    let app = TestApp::start().await;
    app.receiver.answer_next(HOOK, [Answer::disable()]);
    app.create(&nowhere(&app)).await;
    assert_eq!(disabled_by(&app).await, DisabledReason::ByReceiver);
    assert_eq!(app.receiver.posted().len(), 1);

    // The event with this response is pending too: it was not delivered.
    app.change_hook(app.hook.as_ref().unwrap().id, Webhook::enable).await;
    let posted = app.posts(HOOK, 3).await;
    let again =
        posted[1..].iter().find(|post| post.event_id() == posted[0].event_id()).expect("it came again");
    assert_eq!(again.json()["attempts"][0]["responseStatusCode"], 200);
    assert_eq!(posted[1..].iter().filter(|post| post.event_type() == "video.media.failed").count(), 1);
}
