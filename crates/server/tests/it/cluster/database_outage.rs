//! A database or an object store that is unreachable for a while: responses have `Retry-After`, and nothing
//! is lost.

use kinora_testkit::{Source, fixture};
use serde_json::json;

use crate::fault::events;
use crate::support::{Answer, DEADLINE, TestApp, text, until};

const PATH: &str = "/a.mp4";

#[track_caller]
fn check_refusal(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    // Unreachable or busy: that depends on the point at which the outage hits the request.
    assert!(matches!(answer.header("retry-after"), Some("1" | "5")), "{answer:?}");
    assert_eq!(answer.refusal().1, "service unavailable");
}

#[tokio::test]
async fn database_outage_is_503_then_recovers() {
    let app = TestApp::start().await;
    let ready = app.ready("/before.mp4", fixture::two_seconds()).await;
    let manifest = format!("/{}.m3u8", text(&ready["playbackIds"][0]["id"]));
    let body = json!({"inputs": [{"type": "video", "url": app.sources.url(PATH)}]});

    app.ground.database().stop().await;
    check_refusal(&app.call("POST", "/v1/on-demand").json(&body).send().await);
    check_refusal(&app.call("GET", "/v1/on-demand").send().await);
    check_refusal(&app.get(text(&ready["id"])).await);
    // Cached grants may still be valid.
    until("players are asked to come back too", async || {
        let answer = app.fetch(&manifest).await;
        (answer.status == 503).then(|| check_refusal(&answer))
    })
    .await;
    let not_ready = app.fetch("/readyz").await;
    let database = &not_ready.json()["checks"][0];
    assert_eq!(
        (not_ready.status, &database["name"], &database["ok"]),
        (503, &json!("database"), &json!(false))
    );
    assert_eq!(
        text(&database["reason"]),
        "the database does not respond; jobs wait and nothing is lost; check that the database runs and accepts \
         connections"
    );
    assert_eq!(app.fetch("/healthz").await.status, 200, "the process itself is well");

    app.ground.database().resume().await;
    until("it is ready again", async || (app.fetch("/readyz").await.status == 200).then_some(())).await;
    assert_eq!(app.fetch(&manifest).await.status, 200);
    assert_eq!(app.get(text(&ready["id"])).await.data(), ready);
    app.ready("/after.mp4", fixture::two_seconds()).await;
}

#[tokio::test]
async fn download_finished_during_database_outage_is_not_repeated() {
    let app = TestApp::start().await;
    let media = app.create(&app.serve(PATH, Source::of(fixture::two_seconds()).gate_last_byte())).await;
    let id = text(&media["id"]);
    app.sources.wait_until_held(PATH, DEADLINE).await;
    app.ground.database().stop().await;
    app.sources.release(PATH);
    // Bytes and index have their final names; only the row is missing.
    until("both objects are written", async || {
        let objects = app.objects().await;
        (objects.len() == 2 && objects.iter().all(|object| !object.contains("upload"))).then_some(())
    })
    .await;
    app.ground.database().resume().await;

    assert_eq!(app.wait_settled_through_503(id).await["status"], "Ready");
    assert_eq!(app.sources.requests(PATH).len(), 1, "no byte is fetched twice");
    app.event("video.media.ready").await;
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
}

#[tokio::test]
async fn event_during_database_outage_is_delivered_at_least_once() {
    let app = TestApp::start().await;
    app.receiver.answer_next(crate::support::HOOK, [kinora_testkit::Answer::ok().delayed()]);
    let media = app.create(&app.sources.url("/nowhere.mp4")).await;
    app.receiver.wait_for(DEADLINE, |posted| posted.len() == 1).await;
    app.ground.database().stop().await;
    app.receiver.release(crate::support::HOOK);
    app.ground.database().resume().await;
    app.wait_settled_through_503(text(&media["id"])).await;
    app.all_delivered().await;
    let events_by_media = events::by_media(&app.receiver);
    assert_eq!(events_by_media[text(&media["id"])], ["video.media.created", "video.media.failed"]);
}

#[tokio::test]
async fn broken_database_connections_are_replaced() {
    let app = TestApp::start().await;
    for attempt in 0..5 {
        app.ground.database().end_connections().await;
        let media = until("a media can be made", async || {
            let body = json!({"inputs": [{"type": "video", "url": app.sources.url("/nowhere.mp4")}]});
            let answer = app.call("POST", "/v1/on-demand").json(&body).send().await;
            assert!(matches!(answer.status, 201 | 503), "turn {attempt}: {answer:?}");
            (answer.status == 201).then(|| answer.data())
        })
        .await;
        assert_eq!(
            app.wait_settled_through_503(text(&media["id"])).await["status"],
            "Failed",
            "turn {attempt}"
        );
    }
    app.all_delivered().await;
}
