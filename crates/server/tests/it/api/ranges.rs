//! Conditions, ranges and HEAD on all playback URLs (RFC 9110, 13 and 14).

use kinora_testkit::fixture;
use serde_json::json;

use super::playback::addresses;
use crate::support::{Answer, TestApp, text};

/// The URLs of a media that plays, including images.
async fn all(app: &TestApp) -> Vec<String> {
    let media = app
        .ready_with(
            "/a.mp4",
            fixture::two_seconds(),
            json!({"sourceAccess": true, "mp4Support": "audioOnly,capped_4k"}),
        )
        .await;
    let mut all = addresses(app, &media).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    all.extend(
        ["thumbnail.png", "source", "capped-4k.mp4", "audio.m4a"].map(|file| format!("/{playback}/{file}")),
    );
    all
}

#[tokio::test]
async fn head_has_get_headers_and_no_body() {
    let app = TestApp::start().await;
    for address in all(&app).await {
        let get = app.fetch(&address).await;
        let head = app.request("HEAD", &address).send().await;
        for name in ["content-length", "content-type", "etag", "cache-control", "accept-ranges"] {
            assert!(get.header(name).is_some(), "{name} of {address}");
            assert_eq!(head.header(name), get.header(name), "{name} of {address}");
        }
        assert_eq!((head.status, head.body.len()), (200, 0), "{address}");
    }
}

#[tokio::test]
async fn if_none_match_of_segments_is_304() {
    let app = TestApp::start().await;
    let all = all(&app).await;
    let mut etags = Vec::new();
    for address in &all {
        let full = app.fetch(address).await;
        let etag = full.header("etag").expect("everything has an etag").to_owned();
        for matching in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".to_owned()] {
            let answer = app.request("GET", address).header("If-None-Match", &matching).send().await;
            assert_eq!((answer.status, answer.body.len()), (304, 0), "{address} {matching}");
            for name in ["etag", "cache-control", "access-control-allow-origin"] {
                assert_eq!(answer.header(name), full.header(name), "{name} of {address}");
            }
        }
        let other = app.request("GET", address).header("If-None-Match", "\"other\"").send().await;
        assert_eq!((other.status, &other.body), (200, &full.body), "{address}");
        etags.push(etag);
    }
    etags.sort();
    etags.dedup();
    assert_eq!(etags.len(), all.len(), "different bytes have different tags");
}

#[tokio::test]
async fn range_request_returns_206_with_that_part() {
    let app = TestApp::start().await;
    for address in all(&app).await {
        let full = app.fetch(&address).await;
        let (bytes, len) = (&full.body, full.body.len());
        let etag = full.header("etag").unwrap().to_owned();
        let get = async |range: &str, condition: Option<&str>| -> Answer {
            let request = app.request("GET", &address).header("Range", range);
            match condition {
                Some(etag) => request.header("If-Range", etag).send().await,
                None => request.send().await,
            }
        };
        for (range, start, end) in [
            ("bytes=0-0".to_owned(), 0, 1),
            ("bytes=1-9".to_owned(), 1, 10),
            ("bytes=7-".to_owned(), 7, len),
            ("bytes=-5".to_owned(), len - 5, len),
            (format!("bytes=-{}", len + 1), 0, len),
            (format!("bytes={}-{}", len - 1, len + 100), len - 1, len),
        ] {
            let part = get(&range, None).await;
            let found = (part.status, part.header("content-range"), part.header("content-length"));
            let content_range = format!("bytes {start}-{}/{len}", end - 1);
            assert_eq!(
                found,
                (206, Some(&*content_range), Some(&*(end - start).to_string())),
                "{address} {range}"
            );
            assert_eq!(part.body, bytes.slice(start..end), "{address} {range}");
            assert_eq!(part.header("etag"), Some(&*etag), "{address} {range}");
        }
        for outside in
            [format!("bytes={len}-"), "bytes=-0".to_owned(), "bytes=99999999999999999999-".to_owned()]
        {
            let refused = get(&outside, None).await;
            assert_eq!(refused.refusal(), (416, "range not satisfiable".to_owned()), "{address} {outside}");
            assert_eq!(
                refused.header("content-range"),
                Some(&*format!("bytes */{len}")),
                "{address} {outside}"
            );
        }
        // Anything but a single range of bytes is ignored.
        for range in ["bytes=0-1,3-4", "bytes=4-1", "bytes=", "lines=1-2", "bytes=a-b"] {
            let answer = get(range, None).await;
            assert_eq!((answer.status, &answer.body), (200, bytes), "{address} {range}");
        }
        assert_eq!(get("bytes=0-0", Some(&etag)).await.status, 206, "{address}");
        assert_eq!(get("bytes=0-0", Some("\"other\"")).await.status, 200, "{address}");
    }
}
