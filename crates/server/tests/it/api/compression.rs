//! gzip of text responses for clients that accept it (RFC 9110, 8.4, 8.8.3 and 12.5).

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::playback::addresses;
use super::tracks::Tracks;
use crate::support::{Answer, TestApp, text};

/// The shortest text that is compressed.
const LEN_MIN: usize = 1 << 10;

/// A media of thirty seconds with subtitles, and the URLs that its players request, without encoded
/// segments.
async fn all(app: &TestApp) -> (Value, Vec<String>) {
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let cues = (0..200).map(|at| format!("00:00:{:02},000 --> 00:00:59,000\nCue number {at}\n\n", at % 30));
    let url = app.serve("/a.srt", Source::of(cues.collect::<String>()));
    let track = Tracks::of(app, &media).added(&url, "en", "English").await;
    let mut all = addresses(app, &media).await;
    all.retain(|address| is_text(address) || address.contains("/video/") || address.contains("/audio/"));
    let playback = text(&media["playbackIds"][0]["id"]);
    all.push(format!("/{playback}/subtitles/{track}.vtt"));
    (media, all)
}

fn is_text(address: &str) -> bool {
    address.ends_with(".m3u8") || address.ends_with(".vtt")
}

async fn get(app: &TestApp, address: &str, headers: &[(&str, &str)]) -> Answer {
    let request = headers
        .iter()
        .fold(app.request("GET", address), |request, (name, value)| request.header(name, value));
    request.send().await
}

const GZIP: (&str, &str) = ("Accept-Encoding", "br, gzip;q=0.8");

#[tokio::test]
async fn long_texts_are_compressed_and_segments_never() {
    let app = TestApp::start().await;
    let (_, mut all) = all(&app).await;
    // Its manifest has one variant for each rung of the ladder.
    let large = app.ready("/large.mp4", fixture::quad_hd()).await;
    all.push(format!("/{}.m3u8", text(&large["playbackIds"][0]["id"])));
    let mut compressed = Vec::new();
    for address in &all {
        let (plain, packed) = (get(&app, address, &[]).await, get(&app, address, &[GZIP]).await);
        assert_eq!((plain.status, packed.status), (200, 200), "{address}");
        assert_eq!(plain.header("content-encoding"), None, "{address}");
        assert_eq!(packed.unpacked().body, plain.body, "{address}");
        if !is_text(address) || plain.body.len() < LEN_MIN {
            assert_eq!(packed.header("content-encoding"), None, "{address}");
            assert_eq!(plain.header("vary"), None, "{address}");
            assert_eq!(packed.headers().len(), plain.headers().len(), "{address}");
            continue;
        }
        compressed.push(address.rsplit('/').next().unwrap());
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{address}");
        assert!(packed.body.len() * 2 < plain.body.len(), "{address}: {}", packed.body.len());
        for answer in [&plain, &packed] {
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{address}");
        }
        for name in ["content-type", "cache-control", "access-control-allow-origin"] {
            assert_eq!(packed.header(name), plain.header(name), "{name} of {address}");
        }
        assert_ne!(packed.header("etag"), plain.header("etag"), "{address}");
        let head = app.request("HEAD", address).header(GZIP.0, GZIP.1).send().await;
        for name in ["content-encoding", "content-length", "etag", "vary"] {
            assert_eq!(head.header(name), packed.header(name), "{name} of {address}");
        }
    }
    let count = |end: &str| compressed.iter().filter(|name| name.ends_with(end)).count();
    assert!(0 < count(".m3u8") && 2 <= count(".vtt"), "{compressed:?}");
}

#[tokio::test]
async fn etags_and_ranges_are_separate_per_content_encoding() {
    let app = TestApp::start().await;
    let (_, all) = all(&app).await;
    let address = all.last().unwrap();
    let (plain, packed) = (get(&app, address, &[]).await, get(&app, address, &[GZIP]).await);
    let (etag, packed_etag) = (plain.header("etag").unwrap(), packed.header("etag").unwrap());

    let revalidated = get(&app, address, &[GZIP, ("If-None-Match", packed_etag)]).await;
    assert_eq!((revalidated.status, revalidated.header("etag")), (304, Some(packed_etag)));
    assert_eq!(revalidated.header("vary"), Some("Accept-Encoding"));
    let known = get(&app, address, &[("If-None-Match", etag)]).await;
    assert_eq!((known.status, known.header("etag")), (304, Some(etag)));
    assert_eq!(known.header("vary"), Some("Accept-Encoding"));
    // The other coding is another representation, so its tag does not match.
    assert_eq!(get(&app, address, &[("If-None-Match", packed_etag)]).await.body, plain.body);
    assert_eq!(get(&app, address, &[GZIP, ("If-None-Match", etag)]).await.body, packed.body);

    let part = get(&app, address, &[GZIP, ("Range", "bytes=10-19")]).await;
    assert_eq!((part.status, &part.body[..]), (206, &plain.body[10..20]));
    assert_eq!((part.header("etag"), part.header("content-encoding")), (Some(etag), None));
    assert_eq!(part.header("vary"), Some("Accept-Encoding"));
    let part = get(&app, address, &[GZIP, ("Range", "BYTES=0-1"), ("If-Range", etag)]).await;
    assert_eq!((part.status, &part.body[..]), (206, &plain.body[..2]));
    let full = get(&app, address, &[GZIP, ("Range", "bytes=10-19"), ("If-Range", packed_etag)]).await;
    assert_eq!((full.status, &full.body), (200, &plain.body));
}

#[tokio::test]
async fn api_responses_are_gzipped_with_their_own_etags() {
    let app = TestApp::start().await;
    let (media, _) = all(&app).await;
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    let call = |method: &str, path: &str, name: &str, value: &str| app.call(method, path).header(name, value);
    let plain = app.get(text(&media["id"])).await;
    let packed = call("GET", &path, GZIP.0, GZIP.1).send().await;
    assert!(LEN_MIN <= plain.body.len());
    assert_eq!((packed.header("content-encoding"), plain.header("content-encoding")), (Some("gzip"), None));
    assert_eq!(packed.unpacked().body, plain.body);
    assert_eq!(packed.header("vary"), Some("Accept-Encoding"));
    let etag = packed.header("etag").unwrap();
    assert_ne!(Some(etag), plain.header("etag"));
    let head = call("HEAD", &path, GZIP.0, GZIP.1).send().await;
    assert_eq!(head.header("content-length"), packed.header("content-length"));
    assert_eq!((head.header("etag"), head.body.len()), (Some(etag), 0));

    let revalidated = call("GET", &path, GZIP.0, GZIP.1).header("If-None-Match", etag).send().await;
    assert_eq!((revalidated.status, revalidated.header("etag")), (304, Some(etag)));
    // `If-Match` accepts the tag of the compressed response: it identifies the same text.
    let change = |condition: &str| {
        let request = call("PATCH", &path, GZIP.0, GZIP.1).header("If-Match", condition);
        request.json(&json!({"metadata": {"a": condition.len().to_string()}}))
    };
    let changed = change(etag).send().await;
    assert_eq!((changed.status, changed.header("content-encoding")), (200, None), "{changed:?}");
    assert_eq!(change(etag).send().await.status, 412, "it is another one now");
    assert_eq!(change(changed.header("etag").unwrap()).send().await.status, 200);

    let list = call("GET", "/v1/on-demand", GZIP.0, GZIP.1).send().await;
    assert_eq!(list.header("content-encoding"), Some("gzip"));
    assert_eq!(list.unpacked().json()["data"][0]["id"], media["id"]);
    let empty = call("GET", "/v1/on-demand/uploads", GZIP.0, GZIP.1).send().await;
    assert_eq!(empty.header("content-encoding"), None, "it is short");

    let document = get(&app, "/openapi.json", &[GZIP]).await;
    assert_eq!(
        (document.header("content-encoding"), document.header("vary")),
        (Some("gzip"), Some("Accept-Encoding"))
    );
    assert_eq!(document.unpacked().body, get(&app, "/openapi.json", &[]).await.body);
}
