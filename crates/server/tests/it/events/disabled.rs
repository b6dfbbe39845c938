//! A webhook that is disabled keeps what it was not told, and gets it once it is enabled.

use kinora_domain::{DisabledReason, Webhook, WebhookState};
use kinora_testkit::Answer;

use super::{nowhere, told};
use crate::support::{HOOK, TestApp, text, until};

/// Posts to one webhook at once.
const LANE: usize = 16;

async fn disabled_by(app: &TestApp) -> DisabledReason {
    let id = app.hook.as_ref().unwrap().id;
    until("the webhook is disabled", async || match app.store.webhook(id).await.unwrap().unwrap().state {
        WebhookState::Disabled { reason, .. } => Some(reason),
        WebhookState::Enabled => None,
    })
    .await
}

#[tokio::test]
async fn what_was_pending_goes_out_oldest_first_when_the_webhook_is_enabled() {
    let app = TestApp::start().await;
    let other = app.new_hook(kinora_domain::DEVELOPMENT, &app.receiver.url("/other")).await;
    app.receiver.answer_always(HOOK, Answer::status(410));
    let mut ids = Vec::new();
    for _ in 0..LANE + 4 {
        ids.push(text(&app.create(&nowhere(&app)).await["id"]).to_owned());
        if ids.len() == 1 {
            assert_eq!(disabled_by(&app).await, DisabledReason::Gone);
        }
    }
    // The other webhook of the workspace has been told all of it; this one only what disabled it.
    app.posts("/other", ids.len() * 2).await;
    let before = app.posts(HOOK, 1).await;
    assert_eq!(told(&before), [("video.media.created".to_owned(), ids[0].clone())]);

    app.receiver.answer_always(HOOK, Answer::ok().held());
    app.change_hook(app.hook.as_ref().unwrap().id, Webhook::enable).await;
    // What was answered 410 is pending too. A receiver that failed last is tried with one post before it gets
    // more.
    let first = told(&app.posts(HOOK, 2).await[1..]);
    assert_eq!(first, [("video.media.created".to_owned(), ids[0].clone())], "the oldest goes first");

    app.receiver.release(HOOK);
    let all = told(&app.posts(HOOK, 1 + ids.len() * 2).await[1..]);
    for id in &ids[1..] {
        let of_media: Vec<_> =
            all.iter().filter(|(_, object)| object == id).map(|(kind, _)| &**kind).collect();
        assert_eq!(of_media, ["video.media.created", "video.media.failed"], "{id}");
    }
    assert_eq!(app.store.webhook(other.id).await.unwrap().unwrap().state, WebhookState::Enabled);
}

#[tokio::test]
async fn a_receiver_may_ask_for_no_more() {
    let app = TestApp::start().await;
    app.receiver.answer_next(HOOK, [Answer::disable()]);
    app.create(&nowhere(&app)).await;
    assert_eq!(disabled_by(&app).await, DisabledReason::Asked);
    assert_eq!(app.receiver.posted().len(), 1);

    // The event that was answered so is pending too: nobody took it.
    app.change_hook(app.hook.as_ref().unwrap().id, Webhook::enable).await;
    let posted = app.posts(HOOK, 3).await;
    let again =
        posted[1..].iter().find(|post| post.event_id() == posted[0].event_id()).expect("it came again");
    assert_eq!(again.json()["attempts"][0]["responseStatusCode"], 200);
    assert_eq!(posted[1..].iter().filter(|post| post.event_type() == "video.media.failed").count(), 1);
}
