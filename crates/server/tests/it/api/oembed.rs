//! oEmbed for other sites (oembed.com), and its errors.

use kinora_testkit::{Source, fixture};
use serde_json::json;

use crate::private::watched::oembed;
use crate::support::{Answer, TestApp, text};

#[tokio::test]
async fn oembed_returns_embed_html() {
    let app = TestApp::options().without_webhook().start().await;
    let title = "Tom & Jerry <b>\"'\u{2028}";
    let wide = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": title})).await;
    let rotated = app.ready("/b.mp4", fixture::rotated()).await;
    let audio = app.ready_with("/a.m4a", fixture::audio_only(), json!({"title": "Sound"})).await;
    let mut transcript = String::new();
    let mut golden = app.golden();
    for (media, bounds) in [
        (&wide, ""),
        (&wide, "&maxwidth=500"),
        (&wide, "&maxheight=45&format=json"),
        (&wide, "&maxwidth=4294967295&maxheight=100000&strange=x"),
        (&wide, "&maxwidth=1&maxheight=1"),
        (&rotated, ""),
        (&rotated, "&maxwidth=1000&maxheight=80"),
        (&audio, ""),
        (&audio, "&maxwidth=200&maxheight=100"),
    ] {
        let playback = text(&media["playbackIds"][0]["id"]);
        let answer = app.fetch(&format!("{}{bounds}", oembed(&app, playback, ""))).await;
        transcript += &format!("{bounds}\n{}\n", golden.answer(&answer));
        // The thumbnail has exactly the announced size.
        if let Some(address) = answer.json()["thumbnail_url"].as_str() {
            let thumbnail = app.fetch(&address.replace(&app.url(""), "")).await;
            let (width, height) = super::images::size(&thumbnail.body);
            assert_eq!(
                json!([width, height]),
                json!([answer.json()["thumbnail_width"], answer.json()["thumbnail_height"]])
            );
        }
    }
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn stream_url_is_accepted_and_page_links_its_oembed() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let address = oembed(&app, playback, "");
    let by_page = app.fetch(&address).await;
    let stream = address.replace("embed%2F", "").replacen(playback, &format!("{playback}.m3u8"), 1);
    assert_ne!(stream, address);
    assert_eq!(app.fetch(&stream).await.body, by_page.body);
    let strange = oembed(&app, playback, "?token=abc&autoplay=1");
    assert_eq!(app.fetch(&strange).await.body, by_page.body, "unknown query parameters are not forwarded");

    let revalidated =
        app.request("GET", &address).header("If-None-Match", by_page.header("etag").unwrap()).send().await;
    assert_eq!((revalidated.status, revalidated.body.len()), (304, 0));
    let page = app.fetch(&format!("/embed/{playback}")).await.text();
    let element =
        format!(r#"<link rel="alternate" type="application/json+oembed" href="{}">"#, app.url(&address));
    assert!(page.contains(&element), "{page}");
}

#[tokio::test]
async fn oembed_of_unknown_media_is_404() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let failed = app.create(&app.serve("/none.mp4", Source::of("no media"))).await;
    let failed = app.wait_settled(text(&failed["id"])).await;
    let good = oembed(&app, playback, "");
    let foreign = |pasted: &str| format!("/oembed?url={pasted}");
    let mut transcript = String::new();
    let mut golden = app.golden();
    golden.name(&app.url("").replace(':', "%3A").replace('/', "%2F"), "SERVER");
    for address in [
        "/oembed".to_owned(),
        foreign(""),
        foreign("embed"),
        format!("{good}&maxwidth=0&maxheight=x"),
        format!("{good}&format=xml"),
        format!("{good}&format="),
        foreign("https://video.example/embed/019a492c-41f3-7001-8203-040506070809"),
        foreign(&app.url(&format!("/{playback}/thumbnail.jpg"))),
        oembed(&app, "019a492c-41f3-7001-8203-040506070809", ""),
        oembed(&app, text(&failed["playbackIds"][0]["id"]), ""),
    ] {
        let answer: Answer = app.fetch(&address).await;
        assert_eq!(answer.refusal().0, answer.status);
        let address = address.split('?').nth(1).unwrap_or_default();
        transcript += &format!("{address}: {} {}\n", answer.status, answer.json()["error"]);
    }
    insta::assert_snapshot!(golden.text(&transcript));
    assert_eq!(app.request("POST", &good).send().await.refusal().0, 405);
}

#[tokio::test]
async fn oembed_of_unready_media_has_no_thumbnail() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create_with(&url, json!({"title": "Soon"})).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let answer = app.fetch(&oembed(&app, playback, "")).await.json();
    let fields = ["type", "title", "width", "height", "cache_age", "thumbnail_url"].map(|name| &answer[name]);
    assert_eq!(json!(fields), json!(["video", "Soon", 640, 360, 60, null]));
}
