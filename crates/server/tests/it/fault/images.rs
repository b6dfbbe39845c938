//! Images under faults: they are sent when they cannot be stored. ffmpeg starts neither for images that the
//! client has cached nor for images that do not exist.

use kinora_domain::PresentationId;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{FaultAction, ImageHash, ObjectKey};
use kinora_engine::{Engine, Settings};
use kinora_testkit::{RemovableFfmpeg, fixture};

use super::clock::TestClock;
use super::drain::sweep_once;
use crate::support::{Faults, TestApp, text, until};

/// A server whose ffmpeg can be removed.
async fn app_with_removable_ffmpeg(folder: &Path) -> (TestApp, RemovableFfmpeg) {
    let ffmpeg = RemovableFfmpeg::new(folder);
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    let engine = Engine::find(settings).await.expect("it is an ffmpeg");
    (TestApp::options().without_webhook().engine(engine).start().await, ffmpeg)
}

/// One of each kind.
const FILES: [&str; 3] = ["thumbnail.jpg?time=1", "clip.gif?end=1", "advanced-spritesheet.jpg?interval=5"];

#[tokio::test]
async fn image_is_sent_when_storing_fails() {
    for action in [FaultAction::Fail, FaultAction::Full] {
        let decide = move |write: kinora_blob::WriteOp| match write.key {
            ObjectKey::Image(..) => action,
            _ => FaultAction::Proceed,
        };
        let faults = Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))));
        let app = TestApp::options().without_webhook().faults(faults).start().await;
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let playback = text(&media["playbackIds"][0]["id"]);
        for file in FILES {
            let first = app.fetch(&format!("/{playback}/{file}")).await;
            let again = app.fetch(&format!("/{playback}/{file}")).await;
            assert_eq!((first.status, again.status), (200, 200), "{file}: {first:?}");
            assert_eq!(first.body, again.body, "{file}");
        }
        assert!(app.objects().await.iter().all(|path| !path.starts_with("picture/")));
    }
}

#[tokio::test]
async fn matching_etag_makes_no_thumbnail() {
    let folder = tempfile::tempdir().unwrap();
    let (app, ffmpeg) = app_with_removable_ffmpeg(folder.path()).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let mut others = Vec::new();
    // Another file with the tag that another process would have sent; this process never made it.
    let changes = [("time=1", "time=1.5", "-1000-", "-1500-"), ("end=1", "end=2", "-1000-", "-2000-")];
    let changes = changes.into_iter().chain([("interval=5", "interval=7", "sheet-5", "sheet-7")]);
    for (file, (query, other, in_tag, in_other)) in FILES.into_iter().zip(changes) {
        let answer = app.fetch(&format!("/{playback}/{file}")).await;
        let tag = answer.header("etag").expect("a tag");
        assert!(tag.contains(in_tag), "{file}: {tag}");
        others.push((file.replace(query, other), tag.replace(in_tag, in_other)));
    }
    ffmpeg.remove();
    let ask = async |file: &str, tag: &str| {
        let path = format!("/{playback}/{file}");
        app.request("GET", &path).header("if-none-match", tag).send().await
    };
    for (file, tag) in &others {
        let revalidated = ask(file, tag).await;
        assert_eq!((revalidated.status, revalidated.body.len()), (304, 0), "{file} {tag}");
        assert_eq!(revalidated.header("etag"), Some(tag.as_str()));
        let wrong = ask(file, "\"another\"").await;
        assert_eq!((wrong.status, wrong.header("retry-after")), (503, Some("5")), "{file}: {wrong:?}");
        assert_eq!(ask(file, "*").await.status, 503, "{file}: it is not known yet whether it is there");
    }
    for file in FILES {
        assert_eq!(ask(file, "*").await.status, 304, "{file} is there");
    }
}

#[tokio::test]
async fn images_of_undecodable_video_are_404_without_ffmpeg() {
    let folder = tempfile::tempdir().unwrap();
    let (app, ffmpeg) = app_with_removable_ffmpeg(folder.path()).await;
    let mut file = fixture::two_seconds().to_vec();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    let end = file.windows(4).position(|bytes| bytes == b"moov").expect("a header");
    let end = if end < samples { file.len() } else { end - 4 };
    file[samples..end].fill(0);
    let media = app.ready("/a.mp4", file).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    until("its copy is withdrawn", async || {
        app.get(id).await.text().contains("does_not_decode").then_some(())
    })
    .await;
    let answer = app.get(id).await;
    assert!(answer.data()["thumbnail"].is_null(), "none is announced");
    let page = app.fetch(&format!("/embed/{playback}")).await.text();
    assert!(!page.contains("thumbnail.jpg") && !page.contains("storyboard.vtt"), "{page}");
    ffmpeg.remove();
    let texts = ["spritesheet.json", "storyboard.vtt"];
    for file in FILES.into_iter().chain(texts) {
        let answer = app.fetch(&format!("/{playback}/{file}")).await;
        assert_eq!(answer.refusal(), (404, "not found".to_owned()), "{file}");
        assert!(answer.text().contains("this media has no video"), "{file}: {answer:?}");
    }
}

#[tokio::test]
async fn sweep_evicts_stored_images_at_limit() {
    const IMAGES: u128 = 1000;
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let media = app.store.media_by_id(text(&media["id"]).parse().unwrap()).await.unwrap().unwrap();
    let source = media.source().expect("it is ready");
    let blob = app.ground.blob().await;
    for number in 0..IMAGES {
        let key = ObjectKey::Image(PresentationId::of(source), ImageHash(number.to_be_bytes()));
        blob.put_once(key, Bytes::from_static(b"a picture")).await.unwrap();
    }
    let image_count = async || {
        let objects = app.objects().await;
        objects.iter().filter(|path| path.starts_with("picture/")).count()
    };
    assert!(image_count().await >= 1000);
    sweep_once(&app, &clock).await;
    assert_eq!(image_count().await, 750, "a quarter of the places is free");
    let requested = app.fetch(&format!("/{playback}/thumbnail.jpg?time=1&width=64")).await;
    assert_eq!(requested.status, 200, "{requested:?}");
    assert_eq!(image_count().await, 751, "and another one is kept");
    sweep_once(&app, &clock).await;
    assert_eq!(image_count().await, 751, "there is room enough");
}
