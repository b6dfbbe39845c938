//! Processes that do one thing each.

use kinora_server::Roles;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::support::{Answer, TestApp, text};

const NONE: Roles = Roles { api: false, delivery: false, worker: false };
const API: Roles = Roles { api: true, ..NONE };
const DELIVERY: Roles = Roles { delivery: true, ..NONE };
const WORKER: Roles = Roles { worker: true, ..NONE };

/// A process for the API with a client and a receiver, and one for each other role.
async fn three() -> (TestApp, TestApp, TestApp) {
    let api = TestApp::options().roles(API).start().await;
    let delivery = TestApp::beside(&api, TestApp::options().roles(DELIVERY)).await;
    let worker = TestApp::beside(&api, TestApp::options().roles(WORKER)).await;
    (api, delivery, worker)
}

#[tokio::test]
async fn a_media_is_made_by_one_process_fetched_by_another_and_played_by_a_third() {
    let (api, delivery, _worker) = three().await;
    let media = api.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    assert_eq!(delivery.fetch(&format!("/{playback}.m3u8")).await.status, 200);
    assert_eq!(delivery.fetch(&format!("/{playback}/thumbnail.jpg")).await.status, 200);
    assert_eq!(delivery.fetch(&format!("/embed/{playback}")).await.status, 200);
    assert_eq!(api.event("video.media.ready").await["object"]["id"], media["id"]);
}

#[tokio::test]
async fn without_a_worker_a_media_waits_and_is_fetched_when_one_comes() {
    let api = TestApp::options().roles(API).start().await;
    let url = api.serve("/a.mp4", kinora_testkit::Source::of(fixture::two_seconds()));
    let media = api.create(&url).await;
    assert_eq!(api.sources.requests("/a.mp4").len(), 0);
    assert_eq!(api.receiver.posted().len(), 0, "nobody delivers");
    let _worker = TestApp::beside(&api, TestApp::options().roles(WORKER)).await;
    assert_eq!(api.wait_settled(text(&media["id"])).await["status"], "Ready");
    api.event("video.media.ready").await;
}

#[tokio::test]
async fn a_path_of_another_role_says_which_role_serves_it() {
    let (api, delivery, worker) = three().await;
    let playback = "0b8c7a34-5f0e-4a6e-9d7c-2f3b1c0d9e8f";
    let of_api = [
        "/v1/on-demand",
        "/on-demand",
        "/v1/on-demand/019a492c-41f3-7001-8203-040506070809",
        "/on-demand/upload",
        "/v1/on-demand/uploads",
        "/v1/on-demand/upload/019a492c-41f3-7001-8203-040506070809/cancel",
        "/upload/signed",
        "/v1/iam/signing-keys",
        "/iam/signing-keys/019a492c-41f3-7001-8203-040506070809",
        "/v1/data/viewlist",
        "/data/errors",
        "/openapi.json",
        "/docs",
    ];
    let of_delivery = [
        format!("/{playback}.m3u8"),
        format!("/{playback}/thumbnail.jpg"),
        format!("/{playback}/x/video/init.mp4"),
        format!("/embed/{playback}"),
        "/demo/clip.mp4".to_owned(),
    ];
    let refused = |answer: Answer, sentence: &str| {
        let error = &answer.json()["error"];
        assert_eq!((answer.status, text(&error["description"])), (404, sentence), "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    };
    for (app, has) in [(&delivery, "delivery"), (&worker, "worker")] {
        for path in of_api {
            let sentence = format!("this path is served by processes with the role api; this one has {has}");
            refused(app.call("GET", path).send().await, &sentence);
            refused(app.call("POST", path).json(&json!({})).send().await, &sentence);
        }
    }
    for (app, has) in [(&api, "api"), (&worker, "worker")] {
        for path in &of_delivery {
            let sentence =
                format!("this path is served by processes with the role delivery; this one has {has}");
            refused(app.fetch(path).await, &sentence);
        }
    }
    // Both have pages, with scripts and styles of one build.
    let player = "/assets/player.js";
    for app in [&api, &delivery] {
        refused(app.fetch(player).await, "there is nothing at this path");
    }
    let sentence = "this path is served by processes with the role delivery; this one has worker";
    refused(worker.fetch(player).await, sentence);
    // What lies where the API is belongs to no other role.
    for path in ["/v1", "/v1/", "/v1/x", "/v1/on-demand/a/b", "/on-demand/a/b/c", "/iam/x", "/data/x"] {
        refused(api.call("GET", path).send().await, "there is nothing at this path");
    }
    assert_eq!(api.call("GET", "/v1/on-demand").send().await.status, 200);
    assert_eq!(
        delivery.fetch(&of_delivery[0]).await.json()["error"]["message"],
        "Media/PlaybackId not Found"
    );
}

#[tokio::test]
async fn every_process_tells_what_it_does_and_how_it_is() {
    let (api, delivery, worker) = three().await;
    for (app, roles) in
        [(&api, json!(["api"])), (&delivery, json!(["delivery"])), (&worker, json!(["worker"]))]
    {
        let ready = app.fetch("/readyz").await;
        assert_eq!((ready.status, &ready.json()["roles"]), (200, &roles), "{ready:?}");
        let checks: Vec<Value> = ready.json()["checks"].as_array().expect("a list").clone();
        assert!(checks.iter().all(|check| check["ok"] == true), "{ready:?}");
        assert_eq!(app.fetch("/healthz").await.status, 200);
        assert_eq!(app.fetch("/metrics").await.status, 200);
    }
}
