//! Thumbnails: pictures of a moment, in three formats and any size.

use kinora_testkit::fixture;

use crate::support::{Answer, TestApp, text};

/// Width and height of a picture, read from its bytes.
fn size(bytes: &[u8]) -> (u32, u32) {
    let be16 = |at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let le14 = |at: usize| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]) & 0x3fff);
    match bytes {
        // PNG, 11.2.2: IHDR is first.
        [0x89, b'P', b'N', b'G', ..] => (be16(18), be16(22)),
        // RFC 9649, 2.5: a lossy frame begins with its tag and 9d 01 2a.
        [b'R', b'I', b'F', b'F', ..] => {
            let at =
                bytes.windows(3).position(|window| window == [0x9d, 0x01, 0x2a]).expect("a lossy picture");
            (le14(at + 3), le14(at + 5))
        }
        // ITU-T T.81, B.2.2: SOF0 to SOF2 hold the size.
        [0xff, 0xd8, ..] => {
            let mut at = 2;
            while !matches!(bytes[at + 1], 0xc0..=0xc2) {
                at += 2 + usize::try_from(be16(at + 2)).unwrap();
            }
            (be16(at + 7), be16(at + 5))
        }
        _ => panic!("no picture: {:?}", &bytes[..bytes.len().min(16)]),
    }
}

#[tokio::test]
async fn a_thumbnail_has_the_format_and_the_size_asked_for() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    for (file, content_type) in
        [("thumbnail.jpg", "image/jpeg"), ("thumbnail.png", "image/png"), ("thumbnail.webp", "image/webp")]
    {
        for (query, expected) in [
            ("", (160, 90)),
            ("?width=80", (80, 45)),
            ("?height=45", (80, 45)),
            ("?width=100&height=100", (100, 56)),
            ("?width=200&height=200", (160, 90)), // never larger than the media
            ("?width=40&height=45&fit_mode=preserve", (40, 22)),
            ("?time=0.4&width=64&token=anything", (64, 36)),
            ("?time=1000", (160, 90)),
        ] {
            let answer = app.fetch(&format!("/{playback}/{file}{query}")).await;
            let told = (answer.status, answer.header("content-type"), answer.header("cache-control"));
            assert_eq!(told, (200, Some(content_type), Some("public, max-age=60")), "{file}{query}");
            assert_eq!(size(&answer.body), expected, "{file}{query}");
        }
    }
}

#[tokio::test]
async fn another_moment_is_another_picture_and_the_same_one_the_same_bytes() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |query: &str| app.fetch(&format!("/{playback}/thumbnail.png{query}")).await.body;
    let (first, later, last) = (get("?time=0").await, get("?time=1.5").await, get("?time=500").await);
    assert_ne!(first, later);
    assert_ne!(later, last);
    assert_eq!(get("?time=0").await, first);
    assert_eq!(get("?time=600").await, last, "a time past the end is the last frame");
}

#[tokio::test]
async fn a_media_that_is_shown_turned_has_a_turned_thumbnail() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::rotated()).await;
    let answer = app.fetch(&format!("/{}/thumbnail.png", text(&media["playbackIds"][0]["id"]))).await;
    assert_eq!(size(&answer.body), (90, 160));
}

#[tokio::test]
async fn wrong_parameters_are_named_and_sound_has_no_picture() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |query: &str| -> Answer { app.fetch(&format!("/{playback}/thumbnail.jpg{query}")).await };
    let all_wrong = get("?time=-1&width=0&height=99999&fit_mode=crop").await;
    assert_eq!(all_wrong.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!("wrong_parameters", app.golden().json(&all_wrong.json()));
    for query in
        ["?time=", "?time=NaN", "?time=1e9", "?width=1.5", "?width=-1", "?height=", "?fit_mode=stretch"]
    {
        assert_eq!(get(query).await.status, 422, "{query}");
    }

    let sound = app.ready("/a.m4a", fixture::audio_only()).await;
    let answer = app.fetch(&format!("/{}/thumbnail.jpg", text(&sound["playbackIds"][0]["id"]))).await;
    insta::assert_snapshot!("no_picture", app.golden().answer(&answer));
}
