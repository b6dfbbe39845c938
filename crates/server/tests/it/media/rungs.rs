//! Rungs: encoded on request, on the timeline of the copy.

use std::ffi::OsStr;

use kinora_testkit::fixture;
use m3u8_rs::MasterPlaylist;
use serde_json::Value;

use super::probe::{decoded, packets};
use super::stream::Rendition;
use crate::support::{TestApp, text, until};

/// Frames of [`fixture::wide`].
const FRAMES: u64 = 300;

/// A media with a rung below its copy, and its manifest.
async fn wide() -> (TestApp, Value, String) {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/wide.mp4", fixture::large_two_tracks()).await;
    let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    (app, media, manifest)
}

/// The manifest, without its I-frame playlists.
async fn listed(app: &TestApp, manifest: &str) -> MasterPlaylist {
    let mut listed = all(app, manifest).await;
    listed.variants.retain(|variant| !variant.is_i_frame);
    listed
}

async fn all(app: &TestApp, manifest: &str) -> MasterPlaylist {
    let answer = app.fetch(manifest).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    m3u8_rs::parse_master_playlist_res(&answer.body).expect("m3u8-rs reads it")
}

/// The names of the variants, in order.
async fn names(app: &TestApp, manifest: &str) -> Vec<String> {
    let name = |uri: &str| uri.rsplit('/').nth(1).expect("a folder").to_owned();
    listed(app, manifest).await.variants.iter().map(|variant| name(&variant.uri)).collect()
}

#[tokio::test]
async fn rung_has_the_frame_times_of_the_copy() {
    let (app, _, manifest) = wide().await;
    let listed = listed(&app, &manifest).await;
    let [copy, rung] = listed.variants.as_slice() else { panic!("a copy and a rung: {listed:?}") };
    assert!(rung.uri.ends_with("/240p/playlist.m3u8"), "{}", rung.uri);
    let size = rung.resolution.expect("it has video");
    assert_eq!((size.width, size.height, rung.frame_rate, &rung.audio), (426, 240, Some(25.0), &copy.audio));
    assert!(listed.independent_segments);

    let playlist = format!("/{}", rung.uri);
    let played = Rendition::fetch(&app, &playlist).await;
    assert_eq!(played.samples() as u64, FRAMES);
    assert!((played.announced() - played.seconds()).abs() < 0.001);
    for (segment, seconds) in played.segments.iter().zip(&played.extinf) {
        let rate = segment.len() as f64 * 8.0 / f64::from(*seconds);
        assert!(rate <= rung.bandwidth as f64, "{rate} of {} bits a second", rung.bandwidth);
    }

    let [of_copy, of_rung] = [&copy.uri, &rung.uri].map(|uri| app.url(&format!("/{uri}")));
    let found = decoded(OsStr::new(&of_rung), "v:0").await.expect("it has video");
    assert_eq!((found.frames, found.shape), (FRAMES, (426, 240)));
    assert_eq!(rung.codecs.as_deref(), Some(format!("{},mp4a.40.2", found.codec).as_str()));
    let times = async |url: &str| {
        let (packets, timescale) = packets(OsStr::new(url), "v:0").await;
        let mut times: Vec<_> = packets.iter().map(|packet| packet.pts).collect();
        times.sort_unstable();
        (times, timescale)
    };
    assert_eq!(times(&of_rung).await, times(&of_copy).await, "each frame at its own time");
}

#[tokio::test]
async fn iframe_playlist_lists_each_keyframe_and_each_decodes() {
    let (app, _, manifest) = wide().await;
    let keyframes = all(&app, &manifest).await.variants.into_iter().find(|variant| variant.is_i_frame);
    let keyframes = keyframes.expect("they are listed");
    assert!(keyframes.uri.ends_with("/iframes/playlist.m3u8"), "{}", keyframes.uri);
    let played = Rendition::fetch(&app, &format!("/{}", keyframes.uri)).await;
    // One every two seconds.
    assert_eq!((played.samples(), played.extinf), (6, vec![2.0; 6]));
    let url = app.url(&format!("/{}", keyframes.uri));
    let found = decoded(OsStr::new(&url), "v:0").await.expect("they are frames");
    assert_eq!((found.frames, found.shape), (6, (480, 270)));

    let rungs_alone = all(&app, &format!("{manifest}?resolution=240p")).await;
    assert!(!rungs_alone.variants.iter().any(|variant| variant.is_i_frame), "they are the copy's");
}

#[tokio::test]
async fn query_parameters_select_and_order_renditions() {
    let (app, _, manifest) = wide().await;
    let check = async |query: &str, expected: &[&str]| {
        assert_eq!(names(&app, &format!("{manifest}{query}")).await, expected, "{query}");
    };
    check("", &["video", "240p"]).await;
    check("?renditionOrder=asc", &["240p", "video"]).await;
    check("?renditionOrder=desc", &["video", "240p"]).await;
    check("?resolution=240p&token=x", &["240p"]).await;
    check("?minResolution=360p", &["video"]).await;
    check("?maxResolution=240p", &["240p"]).await;

    let refused = async |query: &str, field: &str| {
        let answer = app.fetch(&format!("{manifest}{query}")).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["fields"][0]["field"]),
            (422, &field.into()),
            "{query}"
        );
    };
    refused("?resolution=480", "resolution").await;
    refused("?resolution=480p", "resolution").await;
    refused("?minResolution=720p", "minResolution").await;
    refused("?minResolution=720p&maxResolution=480p", "minResolution").await;
    refused("?renditionOrder=up", "order").await;

    let etag = async |query: &str| {
        let answer = app.fetch(&format!("{manifest}{query}")).await;
        answer.header("etag").expect("it has one").to_owned()
    };
    assert_eq!(etag("").await, etag("?token=x").await);
    assert_ne!(etag("").await, etag("?renditionOrder=asc").await);
}

#[tokio::test]
async fn unlisted_rendition_is_404() {
    let (app, _, manifest) = wide().await;
    let listed = listed(&app, &manifest).await;
    let folder = listed.variants[1].uri.strip_suffix("240p/playlist.m3u8").expect("a rung").to_owned();
    for none in ["360p/0.m4s", "1080p/init.mp4", "4320p/0.m4s", "240p/99.m4s", "aac/0.m4s", "aac/init.mp4"] {
        assert_eq!(app.fetch(&format!("/{folder}{none}")).await.status, 404, "{none}");
    }
    let objects = app.objects().await;
    assert!(
        !objects.iter().any(|key| key.starts_with("segment/") || key.starts_with("init/")),
        "{objects:?}"
    );
}

#[tokio::test]
async fn head_and_range_work_before_a_segment_is_encoded() {
    let (app, _, manifest) = wide().await;
    let folder = listed(&app, &manifest).await.variants[1].uri.replace("playlist.m3u8", "");
    let path = format!("/{folder}0.m4s");
    let head = app.request("HEAD", &path).send().await;
    let full = app.fetch(&path).await;
    let len = full.body.len();
    assert_eq!((head.status, head.header("content-length")), (200, Some(len.to_string().as_str())));
    assert_eq!(full.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let part = app.request("GET", &path).header("Range", "bytes=10-4092").send().await;
    assert_eq!((part.status, &part.body[..]), (206, &full.body[10..4093]));
}

/// Encoded again, a segment may have other bytes, so a client with half of it starts again.
#[tokio::test]
async fn encoded_segment_has_weak_etag_and_if_range_sends_whole() {
    let (app, _, manifest) = wide().await;
    let listed = listed(&app, &manifest).await;
    for (variant, is_encoded) in listed.variants.iter().zip([false, true]) {
        for file in ["init.mp4", "0.m4s"] {
            let path = format!("/{}", variant.uri.replace("playlist.m3u8", file));
            let tag = app.fetch(&path).await.header("etag").expect("it has one").to_owned();
            assert_eq!(tag.starts_with("W/"), is_encoded, "{path}");
            let request = || app.request("GET", &path);
            assert_eq!(request().header("If-None-Match", &tag).send().await.status, 304, "{path}");
            let continued = request().header("Range", "bytes=10-99").header("If-Range", &tag).send().await;
            assert_eq!(continued.status, if is_encoded { 200 } else { 206 }, "{path}");
        }
    }
}

#[tokio::test]
async fn segments_of_a_deleted_media_are_removed() {
    let (app, media, manifest) = wide().await;
    let folder = listed(&app, &manifest).await.variants[1].uri.replace("playlist.m3u8", "");
    for file in ["init.mp4", "0.m4s"] {
        assert_eq!(app.fetch(&format!("/{folder}{file}")).await.status, 200, "{file}");
    }
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    until("the objects are gone", async || app.objects().await.is_empty().then_some(())).await;
    assert_eq!(app.fetch(&format!("/{folder}0.m4s")).await.status, 404);
}
