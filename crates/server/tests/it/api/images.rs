//! Thumbnails: frames of any time, in three formats and any size.

use kinora_testkit::fixture;

use crate::support::{Answer, TestApp, text};

/// Width and height of an image, from its bytes.
pub(crate) fn size(bytes: &[u8]) -> (u32, u32) {
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
async fn thumbnail_has_the_requested_format_and_size() {
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
            ("?width=200&height=200&fit_mode=stretch", (200, 200)),
            ("?width=45&height=81&fit_mode=crop", (45, 81)),
            ("?width=81&fit_mode=crop&time=1", (81, 90)),
            ("?width=45&height=45&fit_mode=smartcrop", (45, 45)),
            ("?width=201&height=133&fit_mode=pad", (201, 133)),
            ("?height=20&fit_mode=pad", (160, 20)),
        ] {
            let answer = app.fetch(&format!("/{playback}/{file}{query}")).await;
            let found = (answer.status, answer.header("content-type"), answer.header("cache-control"));
            assert_eq!(found, (200, Some(content_type), Some("public, max-age=60")), "{file}{query}");
            assert_eq!(size(&answer.body), expected, "{file}{query}");
        }
    }
}

#[tokio::test]
async fn thumbnail_differs_by_time_and_is_deterministic() {
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
async fn thumbnail_etag_covers_every_parameter() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let path = format!("/{}/thumbnail.jpg", text(&media["playbackIds"][0]["id"]));
    let mut tags = std::collections::BTreeSet::new();
    let queries = ["", "?time=0", "?width=40", "?height=40", "?width=40&height=40"];
    let exact =
        ["stretch", "crop", "smartcrop", "pad"].map(|fit| format!("?width=40&height=40&fit_mode={fit}"));
    for query in queries.into_iter().chain(exact.iter().map(String::as_str)) {
        let address = format!("{path}{query}");
        let answer = app.fetch(&address).await;
        let tag = answer.header("etag").expect("a tag").to_owned();
        let again = app.request("GET", &address).header("if-none-match", &tag).send().await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{query}");
        assert!(tags.insert(tag), "{query} has the tag of another");
    }
}

#[tokio::test]
async fn rotated_media_has_a_rotated_thumbnail() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::rotated()).await;
    let answer = app.fetch(&format!("/{}/thumbnail.png", text(&media["playbackIds"][0]["id"]))).await;
    assert_eq!(size(&answer.body), (90, 160));
}

#[tokio::test]
async fn invalid_parameters_are_422_and_audio_only_has_no_thumbnail() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |query: &str| -> Answer { app.fetch(&format!("/{playback}/thumbnail.jpg{query}")).await };
    let all_wrong = get("?time=-1&width=0&height=99999&fit_mode=contain").await;
    assert_eq!(all_wrong.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!("wrong_parameters", app.golden().json(&all_wrong.json()));
    for query in [
        "?time=",
        "?time=NaN",
        "?time=1e9",
        "?width=1.5",
        "?width=-1",
        "?height=",
        "?fit_mode=",
        "?fit_mode=Crop",
    ] {
        assert_eq!(get(query).await.status, 422, "{query}");
    }

    let too_large = get("?width=4096&height=4096&fit_mode=pad").await;
    assert_eq!(too_large.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!("too_large", app.golden().json(&too_large.json()));

    let audio = app.ready("/a.m4a", fixture::audio_only()).await;
    let answer = app.fetch(&format!("/{}/thumbnail.jpg", text(&audio["playbackIds"][0]["id"]))).await;
    insta::assert_snapshot!("no_picture", app.golden().answer(&answer));
}

#[tokio::test]
async fn storyboard_has_sprite_sheet_json_and_vtt() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::long_gop()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |file: &str| -> Answer { app.fetch(&format!("/{playback}/{file}")).await };
    for (file, expected) in [
        ("spritesheet.jpg", (1600, 180)),
        ("spritesheet.jpg?interval=anything", (1600, 180)),
        ("advanced-spritesheet.jpg", (480, 90)),
        ("advanced-spritesheet.jpg?interval=1&token=x", (1600, 270)),
        ("advanced-spritesheet.jpg?interval=7", (800, 90)),
    ] {
        let answer = get(file).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")), "{file}");
        assert_eq!(size(&answer.body), expected, "{file}");
        let tag = answer.header("etag").expect("a tag").to_owned();
        let address = format!("/{playback}/{file}");
        assert_eq!(
            app.request("GET", &address).header("if-none-match", &tag).send().await.status,
            304,
            "{file}"
        );
    }
    let texts = [
        "spritesheet.json",
        "advanced-spritesheet.json?interval=9&token=a%20b",
        "storyboard.vtt",
        "storyboard.vtt?interval=10&token=a%20b",
    ];
    let mut transcript = String::new();
    for file in texts {
        let answer = get(file).await;
        let content_type = answer.header("content-type").unwrap_or("none").to_owned();
        let body = String::from_utf8(answer.body.to_vec()).expect("a text");
        transcript +=
            &format!("{file}: {} {content_type}\n{}\n\n", answer.status, body.replace(playback, "PLAYBACK"));
    }
    insta::assert_snapshot!("storyboard", transcript.replace(&format!("http://{}", app.address), "IMAGES"));
    // A public playback ID needs no token, so a token of any length is not copied into URLs.
    let long = "~".repeat(60_000);
    for file in ["spritesheet.json?", "advanced-spritesheet.json?interval=1&", "storyboard.vtt?interval=1&"] {
        let (bare, with_token) = (get(file).await, get(&format!("{file}token={long}")).await);
        assert_eq!(with_token.header("etag"), bare.header("etag"), "{file}");
        assert_eq!((with_token.status, with_token.body), (200, bare.body), "{file}");
    }
    for (file, status) in [
        ("advanced-spritesheet.jpg?interval=0", 422),
        ("advanced-spritesheet.json?interval=11", 422),
        ("storyboard.vtt?interval=x", 422),
        ("spritesheet.png", 404),
        ("advanced-spritesheet.vtt", 404),
    ] {
        assert_eq!(get(file).await.status, status, "{file}");
    }
    assert_eq!(
        get("advanced-spritesheet.json?interval=1.5").await.json()["error"]["fields"][0],
        serde_json::json!({"field": "interval", "message": "must be a whole number of seconds from 1 to 10"})
    );
    let audio = app.ready("/a.m4a", fixture::audio_only()).await;
    let audio_playback = text(&audio["playbackIds"][0]["id"]);
    for file in ["spritesheet.jpg", "spritesheet.json", "storyboard.vtt"] {
        assert_eq!(app.fetch(&format!("/{audio_playback}/{file}")).await.status, 404, "{file}");
    }
    assert_eq!(app.request("POST", &format!("/{playback}/storyboard.vtt")).send().await.status, 405);
}

/// As a phone trims: the only keyframe is before the start.
#[tokio::test]
async fn video_with_keyframe_before_its_edit_has_a_storyboard() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::edit_inside_gop()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |file: &str| -> Answer { app.fetch(&format!("/{playback}/{file}")).await };
    let sheet = get("spritesheet.jpg").await;
    assert_eq!((sheet.status, size(&sheet.body)), (200, (1280, 90)));
    let starts = [0, 2, 4, 6, 8, 10, 12, 14];
    let tiles = starts.map(|start| serde_json::json!({"start": start, "x": start / 2 * 160, "y": 0}));
    assert_eq!(
        get("spritesheet.json").await.json(),
        serde_json::json!({
            "url": app.url(&format!("/{playback}/spritesheet.jpg")),
            "tile_width": 160,
            "tile_height": 90,
            "duration": 14.68,
            "tiles": tiles,
        })
    );
    let cues = starts.map(|start| {
        let end = if start == 14 { "14.680".to_owned() } else { format!("{:02}.000", start + 2) };
        let x = start / 2 * 160;
        format!("\n00:00:{start:02}.000 --> 00:00:{end}\nspritesheet.jpg#xywh={x},0,160,90\n")
    });
    let storyboard = get("storyboard.vtt").await;
    assert_eq!((storyboard.status, storyboard.text()), (200, format!("WEBVTT\n{}", cues.concat())));
}

#[tokio::test]
async fn poster_time_is_set_by_owner() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let path = format!("/v1/on-demand/{id}");
    let patch = async |body: serde_json::Value| app.call("PATCH", &path).json(&body).send().await;
    let get = async |query: &str| -> Answer { app.fetch(&format!("/{playback}/thumbnail.png{query}")).await };
    let middle = get("").await;
    assert_eq!(media.get("thumbnailTime"), None);

    let chosen = patch(serde_json::json!({"thumbnail": {"time": 1.7}})).await;
    assert_eq!((chosen.status, &chosen.data()["thumbnailTime"]), (200, &serde_json::json!(1.7)));
    assert_eq!(chosen.data()["thumbnail"], media["thumbnail"], "the address stays");
    assert_eq!(app.get(id).await.data(), chosen.data());
    assert_eq!(super::update::events_of_type(&app, "video.media.updated").await.len(), 1);
    let (shown, requested) = (get("").await, get("?time=1.7").await);
    assert_eq!((shown.status, &shown.body), (200, &requested.body));
    assert_ne!(shown.body, middle.body);
    assert_ne!(shown.header("etag"), middle.header("etag"));
    assert_ne!(get("?time=0").await.body, shown.body, "an explicit time overrides the default");
    // The same value again is no change.
    patch(serde_json::json!({"thumbnail": {"time": 1.7}})).await;
    assert_eq!(super::update::events_of_type(&app, "video.media.updated").await.len(), 1);

    let cleared = patch(serde_json::json!({"thumbnail": null})).await;
    assert_eq!(cleared.data().get("thumbnailTime"), None);
    assert_eq!(get("").await.body, middle.body);
    assert_eq!(super::update::events_of_type(&app, "video.media.updated").await.len(), 2);
    let refused = patch(serde_json::json!({"thumbnail": {"time": -1}, "title": "A title"})).await;
    assert_eq!(
        refused.json()["error"]["fields"],
        serde_json::json!([{"field": "thumbnail.time", "message": "must be seconds from 0 to 1000000"}])
    );
    assert_eq!(app.get(id).await.data()["title"], serde_json::Value::Null, "nothing was changed");
}

#[tokio::test]
async fn preview_clip_is_animated_with_requested_size() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let get = async |file: &str| -> Answer { app.fetch(&format!("/{playback}/{file}")).await };
    let mut tags = std::collections::BTreeSet::new();
    for (query, expected) in [
        ("", (160, 90)),
        ("?width=80&fps=5", (80, 45)),
        ("?start=0.5&end=1&token=x", (160, 90)),
        ("?start=1.9", (160, 90)),
    ] {
        let gif = get(&format!("clip.gif{query}")).await;
        assert_eq!((gif.status, gif.header("content-type")), (200, Some("image/gif")), "{query}");
        let le16 = |at: usize| u32::from(u16::from_le_bytes([gif.body[at], gif.body[at + 1]]));
        assert!(gif.body.starts_with(b"GIF89a"));
        assert_eq!((le16(6), le16(8)), expected, "{query}");
        let webp = get(&format!("clip.webp{query}")).await;
        assert_eq!((webp.status, webp.header("content-type")), (200, Some("image/webp")), "{query}");
        // RFC 9649, 2.7: the size of the canvas, minus one.
        assert!(webp.body[8..].starts_with(b"WEBPVP8X"));
        assert_eq!((u32::from(webp.body[24]) + 1, u32::from(webp.body[27]) + 1), expected, "{query}");
        for answer in [gif, webp] {
            let tag = answer.header("etag").expect("a tag").to_owned();
            assert!(tags.insert(tag), "{query} has the tag of another");
        }
    }
    let refused = get("clip.gif?start=9&end=8&width=641&fps=0").await;
    assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()));
    let behind = get("clip.webp?start=2").await;
    let too_long = get("clip.webp?end=11").await;
    let bodies = [refused, behind, too_long].map(|answer| answer.json());
    insta::assert_snapshot!("wrong_clips", app.golden().json(&serde_json::json!(bodies)));
    let audio = app.ready("/a.m4a", fixture::audio_only()).await;
    let audio_playback = text(&audio["playbackIds"][0]["id"]);
    assert_eq!(app.fetch(&format!("/{audio_playback}/clip.gif")).await.status, 404);
}
