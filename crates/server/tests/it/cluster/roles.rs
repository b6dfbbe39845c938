//! Processes with a single role each.

use std::sync::Arc;

use kinora_domain::{Actor, DEVELOPMENT, Email, PasswordHash, RequestOrigin, Role};
use kinora_server::{Roles, SystemClock, SystemRandom};
use kinora_service::{NewPerson, Service, SignIn};
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::support::{Answer, TestApp, text};

const NONE: Roles = Roles { api: false, delivery: false, worker: false };
const API: Roles = Roles { api: true, ..NONE };
const DELIVERY: Roles = Roles { delivery: true, ..NONE };
const WORKER: Roles = Roles { worker: true, ..NONE };

/// A process for the API with a client and a receiver, and one process for each other role.
async fn three() -> (TestApp, TestApp, TestApp) {
    let api = TestApp::options().roles(API).start().await;
    let delivery = TestApp::on_data_of(&api, TestApp::options().roles(DELIVERY)).await;
    let worker = TestApp::on_data_of(&api, TestApp::options().roles(WORKER)).await;
    (api, delivery, worker)
}

#[tokio::test]
async fn api_worker_and_delivery_roles_cooperate() {
    let (api, delivery, _worker) = three().await;
    let media = api.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    assert_eq!(delivery.fetch(&format!("/{playback}.m3u8")).await.status, 200);
    assert_eq!(delivery.fetch(&format!("/{playback}/thumbnail.jpg")).await.status, 200);
    assert_eq!(delivery.fetch(&format!("/embed/{playback}")).await.status, 200);
    assert_eq!(api.event("video.media.ready").await["object"]["id"], media["id"]);
}

/// The secret of the session of a new person.
async fn session(app: &TestApp) -> String {
    let service = Service::new(app.store.clone(), Arc::new(SystemClock), Arc::new(SystemRandom));
    let password = PasswordHash::of("correct horse battery", [7; 16]);
    let new = NewPerson {
        email: Email::parse("ada@example.com").unwrap(),
        name: None,
        role: Role::Viewer,
        password: Some(password.clone()),
    };
    let person = service.create_person(&Actor::command_line(), new).await.unwrap().member.person.id;
    let sign_in = SignIn { person, verified: password, rehash: None, origin: RequestOrigin::default() };
    service.sign_in(sign_in).await.unwrap().secret.reveal().to_owned()
}

/// The process for the API makes still images for the dashboard, and passes that the others take.
#[tokio::test]
async fn api_process_serves_images_and_passes_of_the_dashboard() {
    let (api, delivery, _worker) = three().await;
    let media = api.ready_with("/a.mp4", fixture::two_seconds(), json!({"accessPolicy": "private"})).await;
    let (cookie, development) =
        (session(&api).await, api.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id);
    let call = |method: &str, path: &str| {
        let path = format!("/dashboard/api/workspaces/{development}/media/{}{path}", text(&media["id"]));
        let request = api.request(method, &path).header("Sec-Fetch-Site", "same-origin");
        request.header("Cookie", &format!("kinora={cookie}"))
    };
    let image = call("GET", "/picture.jpg").send().await;
    assert_eq!((image.status, image.header("content-type")), (200, Some("image/jpeg")), "{image:?}");
    let pass = call("POST", "/pass").json(&json!({})).send().await.data();
    let manifest = format!("/{}.m3u8?token={}", text(&pass["playbackId"]), text(&pass["token"]));
    assert_eq!(delivery.fetch(&manifest).await.status, 200);
    assert_eq!(api.fetch(&manifest).await.status, 404, "served by the other role");
}

#[tokio::test]
async fn media_waits_until_a_worker_starts() {
    let api = TestApp::options().roles(API).start().await;
    let url = api.serve("/a.mp4", kinora_testkit::Source::of(fixture::two_seconds()));
    let media = api.create(&url).await;
    assert_eq!(api.sources.requests("/a.mp4").len(), 0);
    assert_eq!(api.receiver.posted().len(), 0, "no process delivers events");
    let _worker = TestApp::on_data_of(&api, TestApp::options().roles(WORKER)).await;
    assert_eq!(api.wait_settled(text(&media["id"])).await["status"], "Ready");
    api.event("video.media.ready").await;
}

#[tokio::test]
async fn path_of_another_role_names_its_role() {
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
        "/",
        "/dashboard",
        "/dashboard/",
        "/dashboard/sign-in",
        "/dashboard/api/session",
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
    // Both have pages, with scripts and styles of the same build.
    let player = "/assets/player.js";
    for app in [&api, &delivery] {
        refused(app.fetch(player).await, "this path does not exist");
    }
    let sentence = "this path is served by processes with the role delivery; this one has worker";
    refused(worker.fetch(player).await, sentence);
    // Unknown paths below the API belong to no other role.
    for path in ["/v1", "/v1/", "/v1/x", "/v1/on-demand/a/b", "/on-demand/a/b/c", "/iam/x", "/data/x"] {
        refused(api.call("GET", path).send().await, "this path does not exist");
    }
    assert_eq!(api.call("GET", "/v1/on-demand").send().await.status, 200);
    assert_eq!(
        delivery.fetch(&of_delivery[0]).await.json()["error"]["message"],
        "Media/PlaybackId not Found"
    );
}

#[tokio::test]
async fn readyz_lists_roles_and_checks_of_each_process() {
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
