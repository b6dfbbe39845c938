//! Media with an image over their video.

use bytes::Bytes;
use kinora_testkit::fixture::{images, not_media};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::added_audio::manifest;
use crate::support::{Answer, HOOK, Program, TestApp, text, until};

/// The lower right quarter of the frame.
fn lower_right(url: &str) -> Value {
    let placement = json!({"xAlign": "right", "yAlign": "bottom"});
    json!({"type": "watermark", "url": url, "placement": placement, "width": "50%", "height": "50%"})
}

async fn post(app: &TestApp, inputs: Value) -> Answer {
    app.call("POST", "/v1/on-demand").json(&json!({"inputs": inputs})).send().await
}

async fn settled(app: &TestApp, inputs: Value) -> Value {
    let created = post(app, inputs).await;
    assert_eq!(created.status, 201, "{created:?}");
    app.wait_settled(text(&created.data()["id"])).await
}

async fn ready(app: &TestApp, inputs: Value) -> Value {
    let media = settled(app, inputs).await;
    assert_eq!(media["status"], "Ready", "{media}");
    media
}

/// Whether the middle of the upper left and of the lower right quarter is plain red, in the first frame of an
/// input of ffmpeg.
pub(super) async fn red_quarters(input: &str) -> [bool; 2] {
    let mut found = [false; 2];
    for (is_red, corner) in found.iter_mut().zip(["iw/8:ih/8", "iw*5/8:ih*5/8"]) {
        let filter = format!("crop=iw/4:ih/4:{corner},format=yuv444p,signalstats,metadata=mode=print:file=-");
        let run = Program::new("ffmpeg")
            .args(["-v", "error", "-nostdin", "-i", input, "-map", "0:v:0", "-frames:v", "1"])
            .args(["-vf", &filter, "-f", "null", "-"])
            .run()
            .await
            .ok();
        let value = |name: &str| {
            let name = format!("lavfi.signalstats.{name}=");
            let line = run.stdout.lines().find_map(|line| line.strip_prefix(&name));
            line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_else(|| panic!("{name}: {run:?}"))
        };
        // Red has the largest Cr and a small Cb; the test pattern of these quarters has other colours beside.
        *is_red = 220.0 < value("VMIN") && value("UMAX") < 115.0;
    }
    found
}

/// The same of the thumbnail.
async fn red_quarters_of_thumbnail(app: &TestApp, media: &Value) -> [bool; 2] {
    let id = text(&media["playbackIds"][0]["id"]);
    let image = app.fetch_made(&format!("/{id}/thumbnail.png")).await;
    assert_eq!(image.status, 200, "{image:?}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &image.body).unwrap();
    red_quarters(file.path().to_str().unwrap()).await
}

/// The kinds of all stored objects without those made for viewers, sorted.
async fn until_kinds(app: &TestApp, expected: &[&str]) {
    until("the objects to be those of the media", async || {
        let objects = app.objects().await;
        let mut kinds: Vec<_> = objects.iter().map(|path| path.split('/').next().unwrap()).collect();
        kinds.retain(|kind| !["picture", "segment", "init"].contains(kind));
        kinds.sort_unstable();
        (kinds == expected).then_some(())
    })
    .await;
}

async fn delete(app: &TestApp, media: &Value) {
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
}

fn red() -> Bytes {
    images::plain_png("red", 64, 36, "")
}

#[tokio::test]
async fn watermark_is_drawn_and_the_copy_is_not_offered() {
    let app = TestApp::start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let logo = app.serve("/logo.png", Source::of(red()));
    let media = ready(&app, json!([{"type": "video", "url": film}, lower_right(&logo)])).await;
    let why = &media["playbackReport"]["notCopied"][0];
    assert_eq!(why["reason"], "watermark", "{media}");
    let (manifest, played) = manifest(&app, &media).await;
    assert!(!manifest.variants.is_empty());
    assert!(manifest.variants.iter().all(|variant| !variant.uri.contains("/video/")), "{manifest:?}");
    assert_eq!(red_quarters(&played).await, [false, true]);
    assert_eq!(red_quarters_of_thumbnail(&app, &media).await, [false, true]);

    app.all_delivered().await;
    let names: Vec<_> = app.posts(HOOK, 3).await.iter().map(|post| post.event_type()).collect();
    assert_eq!(names, ["created", "ready", "watermark.ready"].map(|name| format!("video.media.{name}")));
    let mut golden = app.golden();
    let created = app.event("video.media.created").await;
    let drawn = app.event("video.media.watermark.ready").await;
    insta::assert_snapshot!("events", golden.json(&created) + &golden.json(&drawn));

    until_kinds(&app, &["index", "source", "source"]).await;
    delete(&app, &media).await;
    until_kinds(&app, &[]).await;
}

#[tokio::test]
async fn uncommon_images_are_drawn() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    for (name, image, is_red) in [
        ("pixel.png", images::pixel(), true),
        ("deep.png", images::plain_png("red", 64, 36, "-pix_fmt rgba64be"), true),
        ("interlaced.png", images::plain_png("red", 64, 36, "-flags +ildct"), true),
        ("large.png", images::plain_png("red", 5000, 4000, ""), true),
        ("animated.gif", images::animated_gif(), true),
        ("cmyk.jpg", images::cmyk_jpeg(), false),
        ("rotated.jpg", images::rotated_jpeg(), false),
        ("alpha.webp", images::logo("webp", "-vf colorchannelmixer=aa=0.5 -lossless 1"), false),
    ] {
        let url = app.serve(&format!("/{name}"), Source::of(image));
        let media = ready(&app, json!([{"type": "video", "url": film}, lower_right(&url)])).await;
        assert_eq!(red_quarters_of_thumbnail(&app, &media).await, [false, is_red], "{name}");
    }
}

#[tokio::test]
async fn file_that_is_no_image_fails_the_media() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let png = red();
    let mut bomb = images::tiny_gif().to_vec();
    bomb[6..10].fill(0xff);
    let mut damaged = png.to_vec();
    let at = damaged.windows(4).position(|name| name == b"IDAT").unwrap();
    damaged[at + 4..at + 8].fill(0xff);
    let not_image = "watermark_not_image";
    let cases = [
        ("/page", Source::of(not_media::html()), not_image, "the file is a web page, not an image"),
        (
            "/svg",
            Source::of(not_media::svg("x")),
            not_image,
            "the file is an SVG, which is not supported; use a PNG",
        ),
        ("/cut.png", Source::of(png.slice(..png.len() - 20)), not_image, "the file is truncated or damaged"),
        ("/damaged.png", Source::of(damaged), not_image, "the image does not decode"),
        (
            "/animated.webp",
            Source::of(images::animated_webp()),
            not_image,
            "the file is an animated WebP, which is not supported; use a GIF or a PNG",
        ),
        (
            "/bomb.gif",
            Source::of(bomb),
            not_image,
            "the file has 65535x65535 pixels, more than 50000000 in all",
        ),
        (
            "/film",
            Source::of(fixture::two_seconds()),
            not_image,
            "the file is not a PNG, JPEG, WebP or GIF image",
        ),
        (
            "/large.png",
            Source::of(vec![0; (10 << 20) + 1]),
            "source_too_large",
            "the image file is larger than 10485760 bytes",
        ),
    ];
    for (path, source, code, sentence) in cases {
        let url = app.serve(path, source);
        check_failure(&app, &film, &url, code, sentence).await;
    }
    let missing = app.sources.url("/missing.png");
    let not_found = "the source server responded with status 404";
    check_failure(&app, &film, &missing, "source_not_found", not_found).await;
    let private = "http://10.0.0.1/a.png";
    let forbidden = "the source URL, or one it redirects to, is not on the public internet";
    check_failure(&app, &film, private, "source_forbidden_address", forbidden).await;
    until_kinds(&app, &[]).await;
}

async fn check_failure(app: &TestApp, film: &str, url: &str, code: &str, sentence: &str) {
    let media = settled(app, json!([{"type": "video", "url": film}, lower_right(url)])).await;
    let message = format!("url of the watermark: {sentence}");
    assert_eq!(media["error"], json!({"code": code, "message": message}), "{url}: {media}");
}

#[tokio::test]
async fn audio_alone_plays_without_its_watermark() {
    let app = TestApp::start().await;
    let audio = app.serve("/audio.m4a", Source::of(fixture::audio_only()));
    let logo = app.serve("/logo.png", Source::of(red()));
    let media = ready(&app, json!([{"type": "video", "url": audio}, lower_right(&logo)])).await;
    assert_eq!(media["isAudioOnly"], true);
    assert!(app.sources.requests("/logo.png").is_empty(), "the image is not fetched");
    app.all_delivered().await;
    let names: Vec<_> = app.posts(HOOK, 2).await.iter().map(|post| post.event_type()).collect();
    assert_eq!(names, ["video.media.created", "video.media.ready"]);
    until_kinds(&app, &["index", "source"]).await;
}

#[tokio::test]
async fn upload_has_a_watermark() {
    let app = TestApp::options().without_webhook().start().await;
    let logo = app.serve("/logo.png", Source::of(red()));
    for extra in [json!({}), json!({"startTime": 1})] {
        let mut settings = json!({"inputs": [{"type": "video"}, lower_right(&logo)]});
        settings.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
        let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await;
        assert_eq!(upload.status, 201, "{upload:?}");
        let upload = upload.data();
        let path = text(&upload["url"]).strip_prefix(&app.url("")).unwrap().to_owned();
        let sent = app.request("PUT", &path).body(fixture::two_seconds()).send().await;
        assert_eq!(sent.status, 200, "{sent:?}");
        let media = app.wait_settled(text(&upload["uploadId"])).await;
        assert_eq!(media["status"], "Ready", "{media}");
        assert_eq!(red_quarters_of_thumbnail(&app, &media).await, [false, true], "{extra}");
        delete(&app, &media).await;
        until_kinds(&app, &[]).await;
    }
}

#[tokio::test]
async fn clip_keeps_the_watermark_of_its_origin() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let logo = app.serve("/logo.png", Source::of(red()));
    let origin = ready(&app, json!([{"type": "video", "url": film}, lower_right(&logo)])).await;
    let url = format!("fp_mediaId://{}", text(&origin["id"]));
    let clip = ready(&app, json!([{"type": "video", "url": url, "startTime": 1}])).await;
    delete(&app, &origin).await;
    until_kinds(&app, &["index", "index", "source", "source"]).await;
    assert_eq!(red_quarters_of_thumbnail(&app, &clip).await, [false, true]);

    let url = format!("fp_mediaId://{}", text(&clip["id"]));
    let second = post(&app, json!([{"type": "video", "url": url}, lower_right(&logo)])).await;
    assert_eq!(second.refusal(), (422, "payload validation failed".to_owned()));
    assert_eq!(second.json()["error"]["fields"][0]["field"], "inputs[1].type", "{second:?}");
    delete(&app, &clip).await;
    until_kinds(&app, &[]).await;
}

#[tokio::test]
async fn clip_and_edited_media_have_their_own_watermark() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.ready("/film.mp4", fixture::two_seconds()).await;
    let intro = app.serve("/intro.mp4", Source::of(fixture::two_seconds()));
    let logo = app.serve("/logo.png", Source::of(red()));
    let url = format!("fp_mediaId://{}", text(&film["id"]));
    for fields in [json!({}), json!({"introUrl": intro})] {
        let mut video = json!({"type": "video", "url": url});
        video.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let clip = ready(&app, json!([video, lower_right(&logo)])).await;
        assert_eq!(red_quarters_of_thumbnail(&app, &clip).await, [false, true], "{fields}");
        delete(&app, &clip).await;
    }
    until_kinds(&app, &["index", "source"]).await;
}

#[tokio::test]
async fn watermark_and_replaced_audio_combine() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let logo = app.serve("/logo.png", Source::of(red()));
    let audio =
        json!({"type": "audio", "swapTrackUrl": app.serve("/audio", Source::of(fixture::audio_only()))});
    let media = ready(&app, json!([{"type": "video", "url": film}, audio, lower_right(&logo)])).await;
    assert_eq!(red_quarters_of_thumbnail(&app, &media).await, [false, true]);
    until_kinds(&app, &["index", "sound", "source", "source"]).await;
    delete(&app, &media).await;
    until_kinds(&app, &[]).await;
}
