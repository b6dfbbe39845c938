//! A direct upload from its first request to its last, with a crash or a failure at the n-th write, for
//! every n.
//!
//! The client behaves as real ones: it requests the offset, sends the missing bytes, and retries when there
//! is no response.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use kinora_testkit::fixture;
use serde_json::json;

use super::crash_scenario::{CrashScenario, answered};
use super::drain::{objects_of, objects_without_images};
use super::each_write::{self, nothing};
use super::events;
use crate::support::{TestApp, text};

/// The writes of a scenario are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;
/// Chunks of a file.
const CHUNKS: usize = 3;

/// All events of a successful upload and of its media.
const EVENTS: [&str; 5] = [
    "video.media.upload",
    "video.media.created",
    "video.upload.media_created",
    "video.media.ready",
    "video.media.deleted",
];

#[tokio::test]
async fn upload_survives_crash_at_any_write() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let file = fixture::two_seconds();
    let body = json!({"corsOrigin": "*"});
    let upload = scenario
        .retry_until("the upload is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand/upload", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let id = text(&upload["uploadId"]);
    let path = text(&upload["url"])
        .strip_prefix(&scenario.app.url(""))
        .expect("an address of this server")
        .to_owned();
    let client = Client { path, file: file.clone(), acknowledged: Arc::default() };
    scenario.retry_until("the file is sent", async |app| client.send(app).await).await;
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
    scenario.settle().await;

    let accepted = scenario.accepted().await;
    assert_eq!(accepted, [id], "one upload, one media");
    let mut named = objects_of(&scenario.app, id).await;
    named.sort();
    assert_eq!(named.len(), 2, "a ready media names its source and its index");
    assert_eq!(
        objects_without_images(&scenario.app).await,
        named,
        "the objects that the database names exist, and no others"
    );
    assert_eq!(stored_source(&scenario.app, id).await, file);

    scenario
        .retry_until("the media is deleted", async |app| {
            let answer = answered(app, "DELETE", &format!("/v1/on-demand/{id}"), None).await?;
            matches!(answer.status, 200 | 404).then_some(())
        })
        .await;
    scenario.settle().await;
    assert_eq!(scenario.app.objects().await, [""; 0], "no object of a deleted media remains");

    let mut events_by_media = events::by_media(&scenario.app.receiver);
    let mut types = events_by_media.remove(id).expect("it has events");
    types.sort_by_key(|event| EVENTS.iter().position(|event_type| event_type == event));
    assert_eq!(types, EVENTS);
    // A client whose connection broke retries, and may have created another upload that stays unused.
    for types in events_by_media.into_values() {
        assert_eq!(types, ["video.media.upload"]);
    }
}

/// A tus client with its file.
struct Client {
    path: String,
    file: Bytes,
    /// The highest acknowledged offset.
    acknowledged: Arc<std::sync::atomic::AtomicUsize>,
}

impl Client {
    /// Requests the offset and sends the missing bytes. `None` when a response is not the expected one.
    async fn send(&self, app: &TestApp) -> Option<()> {
        let mut at = self.offset(app).await?;
        while at < self.file.len() {
            let end = self.file.len().min(at + self.file.len().div_ceil(CHUNKS));
            let request = app.request("PATCH", &self.path).header("Tus-Resumable", "1.0.0");
            let request = request.header("Content-Type", "application/offset+octet-stream");
            let request = request.header("Upload-Offset", &at.to_string()).body(self.file.slice(at..end));
            let answer = request.try_send().await.ok()?;
            if answer.status != 204 {
                return None;
            }
            at = self.acknowledge(answer.header("upload-offset"))?;
        }
        Some(())
    }

    async fn offset(&self, app: &TestApp) -> Option<usize> {
        let length = self.file.len().to_string();
        let tus = |method| app.request(method, &self.path).header("Tus-Resumable", "1.0.0");
        let announced = tus("POST").header("Upload-Length", &length).try_send().await.ok()?;
        if announced.status != 201 && announced.status != 200 {
            return None;
        }
        let answer = tus("HEAD").try_send().await.ok()?;
        if answer.status != 200 {
            return None;
        }
        self.acknowledge(answer.header("upload-offset"))
    }

    fn acknowledge(&self, offset: Option<&str>) -> Option<usize> {
        let offset = offset?.parse().expect("a number of bytes");
        let before = self.acknowledged.fetch_max(offset, Ordering::SeqCst);
        assert!(offset >= before, "{before} bytes were acknowledged, and {offset} are there");
        Some(offset)
    }
}

/// The stored source of a media.
async fn stored_source(app: &TestApp, id: &str) -> Bytes {
    let id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database is there").expect("it is there");
    let source = kinora_blob::ObjectKey::Source(media.source().expect("it is ready"));
    app.ground.blob().await.get(source).await.expect("the objects are there").expect("it is kept")
}
