//! A direct upload from its first request to its last, whose server stops at the n-th write, or cannot make
//! it, for every n.
//!
//! The client of the upload does what clients do: it asks where it stands, sends what is missing, and asks
//! again when nothing comes back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use kinora_testkit::fixture;
use serde_json::json;

use super::drain::{objects_but_pictures, objects_of};
use super::each_write::{self, nothing};
use super::events;
use super::life::{Life, answered};
use crate::support::{TestApp, text};

/// The writes of a life are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;
/// Chunks of a file.
const CHUNKS: usize = 3;

/// All that is told of an upload that goes well, and of its media.
const EVENTS: [&str; 5] = [
    "video.media.upload",
    "video.media.created",
    "video.upload.media_created",
    "video.media.ready",
    "video.media.deleted",
];

#[tokio::test]
async fn a_crash_at_any_write_costs_no_acknowledged_byte_and_makes_one_media() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, nothing, live).await;
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, nothing, live).await;
}

async fn live(life: &mut Life, (): ()) {
    let file = fixture::two_seconds();
    let body = json!({"corsOrigin": "*"});
    let upload = life
        .insist("the upload is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand/upload", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let id = text(&upload["uploadId"]);
    let path =
        text(&upload["url"]).strip_prefix(&life.app.url("")).expect("an address of this server").to_owned();
    let client = Client { path, file: file.clone(), acknowledged: Arc::default() };
    life.insist("the file is sent", async |app| client.send(app).await).await;
    life.insist("the media is ready", async |app| {
        let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
        (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
    })
    .await;
    life.settle().await;

    let accepted = life.accepted().await;
    assert_eq!(accepted, [id], "one upload, one media");
    let mut named = objects_of(&life.app, id).await;
    named.sort();
    assert_eq!(named.len(), 2, "a ready media names its source and its index");
    assert_eq!(objects_but_pictures(&life.app).await, named, "what is named is there, and nothing else");
    assert_eq!(kept_source(&life.app, id).await, file);

    life.insist("the media is deleted", async |app| {
        let answer = answered(app, "DELETE", &format!("/v1/on-demand/{id}"), None).await?;
        matches!(answer.status, 200 | 404).then_some(())
    })
    .await;
    life.settle().await;
    assert_eq!(life.app.objects().await, [""; 0], "nothing is left of what was deleted");

    let mut told = events::by_media(&life.app.receiver);
    let mut types = told.remove(id).expect("it was told of");
    types.sort_by_key(|event| EVENTS.iter().position(|known| known == event));
    assert_eq!(types, EVENTS);
    // A client whose request broke off asks again, and may have made another one that nobody uses.
    for types in told.into_values() {
        assert_eq!(types, ["video.media.upload"]);
    }
}

/// A client of tus with its file.
struct Client {
    path: String,
    file: Bytes,
    /// The most that was acknowledged.
    acknowledged: Arc<std::sync::atomic::AtomicUsize>,
}

impl Client {
    /// Asks where the upload stands and sends what is missing. `None` when the server did not answer as it
    /// should.
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

/// The bytes that a media is made from.
async fn kept_source(app: &TestApp, id: &str) -> Bytes {
    let id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database is there").expect("it is there");
    let source = kinora_blob::ObjectKey::Source(media.source().expect("it is ready"));
    app.ground.blob().await.get(source).await.expect("the objects are there").expect("it is kept")
}
