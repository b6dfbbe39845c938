//! The effect of a change of a playback ID on its viewers: it applies before the response is sent.

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::playback::addresses;
use super::playback_ids::Ids;
use crate::support::{TestApp, text, until};

/// Every URL of a media below one of its playback IDs, including a thumbnail.
async fn all_addresses(app: &TestApp, media: &Value) -> Vec<String> {
    let mut addresses = addresses(app, media).await;
    addresses.push(format!("/{}/thumbnail.jpg", text(&media["playbackIds"][0]["id"])));
    assert!(addresses.len() > 5, "{addresses:?}");
    addresses
}

/// Checks that every URL returns this status.
async fn answer(app: &TestApp, addresses: &[String], status: u16) {
    for address in addresses {
        assert_eq!(app.fetch(address).await.status, status, "{address}");
    }
}

#[tokio::test]
async fn deleted_playback_id_is_404_at_once() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let first = text(&media["playbackIds"][0]["id"]);
    let ids = Ids::of(&app, &media);
    let second = ids.made(&json!({"accessPolicy": "public"})).await;
    let addresses = all_addresses(&app, &media).await;
    let others: Vec<_> = addresses.iter().map(|address| address.replace(first, &second)).collect();
    answer(&app, &addresses, 200).await;
    answer(&app, &others, 200).await;
    for (mine, other) in addresses.iter().zip(&others) {
        let (mine, other) = (app.fetch(mine).await.body, app.fetch(other).await.body);
        let is_text = std::str::from_utf8(&mine).map(|text| text.replace(first, &second));
        let mine = is_text.map_or(mine, Into::into);
        assert!(mine == other, "the same is played through both");
    }

    let before = app.objects().await;
    assert_eq!(ids.delete(first).await.status, 200);
    answer(&app, &addresses, 404).await;
    answer(&app, &others, 200).await;
    let unknown = app.fetch("/019a492c-41f3-7001-8203-040506070809.m3u8").await;
    assert_eq!(app.golden().answer(&app.fetch(&addresses[0]).await), app.golden().answer(&unknown));
    assert_eq!(app.objects().await, before, "nothing of the media goes with it");
}

/// C-13. `kinora_delivery` bounds how long a grant is cached.
#[tokio::test]
async fn change_by_another_process_applies_to_every_address() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]).parse().unwrap();
    let addresses = all_addresses(&app, &media).await;
    answer(&app, &addresses, 200).await;
    app.store
        .write(async move |tx| {
            let mut media = tx.media_by_id(id).await?.expect("it is there");
            media.playback_ids[0].restrictions.domains.default_policy = kinora_domain::DefaultPolicy::Deny;
            tx.save_media(&media).await
        })
        .await
        .unwrap();
    until("no viewer is admitted", async || (app.fetch(&addresses[0]).await.status == 403).then_some(()))
        .await;
    // All URLs share the grant of one playback ID, so none uses an older one.
    for address in &addresses {
        // All URLs except manifest and thumbnail need a signature now.
        let status = if address.matches('/').count() > 2 { 401 } else { 403 };
        assert_eq!(app.fetch(address).await.status, status, "{address}");
    }
}
