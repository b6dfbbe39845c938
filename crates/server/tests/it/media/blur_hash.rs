//! BlurHash of a media: the hash of the pixels of its thumbnail.

use kinora_domain::Clock as _;
use kinora_server::SystemClock;
use kinora_store::JobQueue;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{Program, TestApp, text, until};

/// Longer than any delay or lease of another job.
const SWEEP_IS_LATER_S: i64 = 20 * 60;

/// The hash of a thumbnail of a media, computed from the served image.
pub(crate) async fn expected(app: &TestApp, playback: &str, query: &str) -> String {
    let answer = app.fetch(&format!("/{playback}/thumbnail.png?width=64&height=64{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let folder = tempfile::tempdir().unwrap();
    let [png, ppm] = ["a.png", "a.ppm"].map(|name| folder.path().join(name));
    std::fs::write(&png, &answer.body).unwrap();
    let arguments = ["-v".as_ref(), "error".as_ref(), "-i".as_ref(), png.as_os_str(), ppm.as_os_str()];
    Program::new("ffmpeg").args(arguments).run().await.ok();
    let ppm = std::fs::read(ppm).unwrap();
    let mut head = ppm.splitn(4, |byte| byte.is_ascii_whitespace());
    let mut next = || std::str::from_utf8(head.next().unwrap()).unwrap().to_owned();
    let [_, width, height] = [next(), next(), next()].map(|word| word.parse().unwrap_or(0));
    let rgb = head.next().unwrap().strip_prefix(b"255\n").unwrap();
    let rgba: Vec<u8> = rgb.chunks_exact(3).flat_map(|pixel| [pixel, &[255]].concat()).collect();
    let (along, down) = if width < height { (3, 4) } else { (4, 3) };
    blurhash::encode(along, down, width, height, &rgba).unwrap()
}

/// Waits for another hash than `before`.
async fn other_than(app: &TestApp, id: &str, before: &str) -> String {
    until("it has another hash", async || {
        let hash = app.get(id).await.data()["blurHash"].as_str()?.to_owned();
        (hash != before).then_some(hash)
    })
    .await
}

#[tokio::test]
async fn blur_hash_changes_with_poster() {
    let app = TestApp::options().blur_hash().start().await;
    let created = app.create(&app.serve("/a.mp4", Source::of(fixture::two_seconds()))).await;
    let (id, playback) = (text(&created["id"]), text(&created["playbackIds"][0]["id"]));
    let ready = app.wait_settled(id).await;
    let media = app.with_blur_hash(id).await;
    let path = format!("/v1/on-demand/{id}");
    let middle = expected(&app, playback, "").await;
    assert_eq!(media["blurHash"], middle);
    let list = app.call("GET", "/v1/on-demand").send().await.data();
    assert_eq!(list[0]["blurHash"], middle);
    assert_eq!(media["updatedAt"], ready["updatedAt"], "it is no change");

    let patch = async |body: Value| app.call("PATCH", &path).json(&body).send().await;
    let chosen = patch(json!({"thumbnail": {"time": 1.7}})).await;
    assert_eq!(chosen.data().get("blurHash"), None, "not that of the previous image");
    let later = other_than(&app, id, &middle).await;
    assert_eq!(later, expected(&app, playback, "&time=1.7").await);
    let updated = app.get(id).await;
    assert_ne!(updated.header("etag"), chosen.header("etag"), "the answer is another");
    assert_eq!(updated.data()["updatedAt"], chosen.data()["updatedAt"]);
    let titled = patch(json!({"title": "A title"})).await;
    assert_eq!(titled.data()["blurHash"], later);
    assert_eq!(patch(json!({"thumbnail": null})).await.data().get("blurHash"), None);
    assert_eq!(other_than(&app, id, &later).await, middle);
    app.all_delivered().await;
    assert_eq!(
        app.receiver.distinct_events("video.media.updated").len(),
        3,
        "only events of the client's requests are sent"
    );
}

#[tokio::test]
async fn portrait_video_has_portrait_blur_hash_audio_has_none() {
    let app = TestApp::options().without_webhook().blur_hash().start().await;
    let rotated = app.ready("/b.mp4", fixture::rotated()).await;
    let hash = text(&rotated["blurHash"]);
    assert_eq!(hash, expected(&app, text(&rotated["playbackIds"][0]["id"]), "").await);
    // The first character is the number of components: horizontal minus one, plus nine times vertical minus
    // one.
    assert_eq!(&hash[..1], "T");
    let audio = app.ready("/a.m4a", fixture::audio_only()).await;
    until("only the next sweep is left", async || {
        let due = app.store.next_job_due(JobQueue::Maintenance).await.unwrap()?;
        (SystemClock.now().plus_seconds(SWEEP_IS_LATER_S) < due).then_some(())
    })
    .await;
    assert_eq!(app.get(text(&audio["id"])).await.data().get("blurHash"), None);
}
