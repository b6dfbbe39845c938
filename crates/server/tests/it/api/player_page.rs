//! The player page, its files, and the demonstration clip.

use kinora_blob::ObjectKey;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::support::{Answer, TestApp, text};

/// The values of the page, from their element.
pub(crate) fn values(page: &Answer) -> Value {
    let page = page.text();
    let from =
        page.find(r#"id="kinora">"#).expect("the page has a place for values") + r#"id="kinora">"#.len();
    let json = page[from..].split("</script>").next().expect("the element ends");
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Requested without a referrer, the page has an empty `page` parameter.
#[tokio::test]
async fn player_page_config_and_csp() {
    let app = TestApp::options().blur_hash().start().await;
    let title = "Tom & Jerry </script><script>alert('1')</script> \u{2028}";
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": title})).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let page = app.fetch(&format!("/embed/{playback}")).await;
    let expected = json!({
        "manifest": app.url(&format!("/{playback}.m3u8?page=")),
        "poster": app.url(&format!("/{playback}/thumbnail.jpg?page=")),
        "storyboard": app.url(&format!("/{playback}/storyboard.vtt?page=")),
        "title": title,
        "blurHash": media["blurHash"],
    });
    assert_eq!(values(&page), expected);
    assert!(!page.text().contains("<script>alert"), "a title ended its element");

    let headers: Vec<_> = page.headers().iter().filter(|(name, _)| name != "content-length").collect();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    let headers =
        headers.lines().filter(|line| !line.starts_with("date:") && !line.starts_with("x-request-id:"));
    insta::assert_snapshot!(app.golden().text(&headers.collect::<Vec<_>>().join("\n")));
}

#[tokio::test]
async fn audio_page_has_no_poster_and_private_page_no_title() {
    let app = TestApp::start().await;
    let audio = app.ready_with("/a.m4a", fixture::audio_only(), json!({"title": "Sound"})).await;
    let private = json!({"title": "Secret", "accessPolicy": "private"});
    let private = app.ready_with("/a.mp4", fixture::two_seconds(), private).await;
    for (media, status, title) in [(audio, 200, json!("Sound")), (private, 401, Value::Null)] {
        let page = app.fetch(&format!("/embed/{}", text(&media["playbackIds"][0]["id"]))).await;
        assert_eq!((page.status, &values(&page)["title"]), (status, &title));
        assert!(!page.text().contains("Secret"));
    }
}

#[tokio::test]
async fn token_is_dropped_for_public_playback() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let address = format!("/embed/{}", text(&media["playbackIds"][0]["id"]));
    let bare = app.fetch(&address).await;
    for token in ["abc".to_owned(), "~".repeat(60_000)] {
        let with_token = app.fetch(&format!("{address}?token={token}")).await;
        assert_eq!((with_token.status, with_token.body), (200, bare.body.clone()));
    }
}

#[tokio::test]
async fn unknown_playback_id_is_a_404_html_page() {
    let app = TestApp::start().await;
    let unknown = app.fetch("/embed/019a492c-41f3-7001-8203-040506070809").await;
    assert_eq!((unknown.status, unknown.header("content-type")), (404, Some("text/html; charset=utf-8")));
    for path in
        ["/embed/none", "/embed/", "/embed/%3Cscript%3E", "/assets/none.js", "/assets/..%2fembed.html"]
    {
        let answer = app.fetch(path).await;
        assert_eq!(answer.refusal().0, 404, "{path}");
        assert!(!answer.text().contains("<script"), "{path}");
    }
}

#[tokio::test]
async fn demo_clip_is_served_once_it_exists() {
    let app = TestApp::start().await;
    assert_eq!(app.fetch("/demo/clip.mp4").await.refusal().0, 404);

    // As `kinora demo` stores it while the server runs.
    let blob = app.ground.blob().await;
    let clip = fixture::two_seconds();
    blob.put_once(ObjectKey::DemoClip, clip.clone()).await.unwrap();
    let full = app.fetch("/demo/clip.mp4").await;
    assert_eq!((full.status, full.header("content-type")), (200, Some("video/mp4")));
    assert_eq!(full.body, clip);
    let part = app.request("GET", "/demo/clip.mp4").header("Range", "bytes=10-19").send().await;
    assert_eq!((part.status, part.body), (206, clip.slice(10..20)));
    assert_eq!(app.fetch("/demo/other.mp4").await.refusal().0, 404);
}
