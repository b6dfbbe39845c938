//! An ffmpeg that is missing for a while, as during an upgrade: viewers get `Retry-After`, jobs wait, and no
//! job fails.

use kinora_engine::{Engine, Settings};
use kinora_testkit::{RemovableFfmpeg, Source, fixture};

use crate::support::{TestApp, text, until};

#[tokio::test]
async fn missing_ffmpeg_breaks_no_rendition_or_media() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = RemovableFfmpeg::new(folder.path());
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    let engine = Engine::find(settings).await.expect("it is an ffmpeg");
    let app = TestApp::options().without_webhook().engine(engine).start().await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    let rung = async || {
        let listed = app.fetch(&manifest).await.text();
        let rung = listed.lines().find(|line| line.ends_with("/240p/playlist.m3u8")).map(str::to_owned);
        format!("/{}", rung.expect("it is offered").trim_end_matches("playlist.m3u8"))
    };
    let folder = rung().await;

    ffmpeg.remove();
    for number in [0, 1, 2, 2, 1, 0] {
        let answer = app.fetch(&format!("{folder}{number}.m4s")).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")), "{number}: {answer:?}");
    }
    let waiting = app.create(&app.serve("/b.webm", Source::of(fixture::vp9_webm()))).await;
    until("its index is kept", async || {
        let indexes = app.objects().await.iter().filter(|path| path.starts_with("index/")).count();
        (indexes == 2).then_some(())
    })
    .await;

    ffmpeg.restore();
    assert_eq!(rung().await, folder);
    for number in 0..3 {
        assert_eq!(app.fetch_made(&format!("{folder}{number}.m4s")).await.status, 200, "{number}");
    }
    assert_eq!(app.wait_settled(text(&waiting["id"])).await["status"], "Ready");
    let updated = app.get(text(&media["id"])).await.data();
    assert_eq!(updated["playbackReport"]["broken"], serde_json::Value::Null, "{updated}");
}
