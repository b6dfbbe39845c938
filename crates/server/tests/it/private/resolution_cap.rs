//! The maximum resolution of a playback ID.

use kinora_testkit::fixture;
use serde_json::json;

use super::watched::{plain, refusals, refused};
use crate::api::{Ids, listed};
use crate::support::TestApp;

#[tokio::test]
async fn playback_id_resolution_caps_renditions() {
    let app = TestApp::options().without_webhook().start().await;
    let settings =
        json!({"sourceAccess": true, "mp4Support": "audioOnly,capped_4k", "maxResolution": "1440p"});
    let media = app.ready_with("/a.mp4", fixture::quad_hd(), settings).await;
    let ids = Ids::of(&app, &media);
    let capped = ids.made(&json!({"accessPolicy": "public", "resolution": "480p"})).await;
    let open = ids.made(&json!({"accessPolicy": "public", "resolution": "2160p"})).await;
    let heights = async |playback: &str| {
        let manifest = plain(&format!("/{playback}.m3u8")).get(&app).await;
        assert_eq!((manifest.status, manifest.header("cache-control")), (200, Some("public, max-age=2")));
        let text = manifest.text();
        let lines =
            text.lines().filter_map(|line| line.split_once("RESOLUTION=")?.1.split([',', 'x']).nth(1));
        let mut found: Vec<u32> = lines.map(|height| height.trim().parse().unwrap()).collect();
        found.sort_unstable();
        (found, listed(&text))
    };
    let (all, listed_by_open) = heights(&open).await;
    let (few, listed_by_capped) = heights(&capped).await;
    assert!(
        all.contains(&1440) && !few.is_empty() && few.iter().all(|height| *height <= 480),
        "{all:?} {few:?}"
    );
    // URLs that only the other ID lists are 404 below this one, without a signature: a resolution never
    // changes.
    let mut refused_children = 0;
    for child in &listed_by_open {
        let same = child.replace(&open, &capped);
        let expected = if listed_by_capped.contains(&same) { 200 } else { 404 };
        assert_eq!(app.fetch(&format!("/{child}")).await.status, 200, "{child}");
        for address in
            [same.clone(), same.replace("playlist.m3u8", "0.m4s"), same.replace("playlist.m3u8", "init.mp4")]
        {
            if expected == 404 {
                assert_eq!(app.fetch(&format!("/{address}")).await.status, 404, "{address}");
                refused_children += 1;
            }
        }
    }
    assert!(refused_children >= 3, "{listed_by_open:?} {listed_by_capped:?}");
    let larger = "this playback ID plays at most 480p, and this file is larger".to_owned();
    for file in ["source", "capped-4k.mp4"] {
        assert_eq!(refused(&app.fetch(&format!("/{capped}/{file}")).await), (403, larger.clone()), "{file}");
        assert_eq!(app.fetch(&format!("/{open}/{file}")).await.status, 200, "{file}");
    }
    assert_eq!(app.fetch(&format!("/{capped}/thumbnail.jpg?width=160")).await.status, 200);
    let counted = app.fetch("/metrics").await.text();
    assert!(refusals(&counted, "resolution") >= 2, "{counted}");
}

#[tokio::test]
async fn resolution_cap_of_source_download() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready_with("/a.mp4", fixture::quad_hd(), json!({"sourceAccess": true})).await;
    let ids = Ids::of(&app, &media);
    let capped = ids.made(&json!({"accessPolicy": "public", "resolution": "1080p"})).await;
    let open = ids.made(&json!({"accessPolicy": "public"})).await;
    let larger = "this playback ID plays at most 1080p, and this file is larger".to_owned();
    assert_eq!(refused(&app.fetch(&format!("/{capped}/source")).await), (403, larger));
    assert_eq!(app.fetch(&format!("/{open}/source")).await.status, 200);
}
