//! What a change of a playback ID means to those who watch: it is in force with its answer.

use std::time::Duration;

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::playback::addresses;
use super::playback_ids::Ids;
use crate::support::{DEADLINE, TestApp, text, until};

/// Every address of a media below one of its playback IDs, with a picture.
async fn all_addresses(app: &TestApp, media: &Value) -> Vec<String> {
    let mut addresses = addresses(app, media).await;
    addresses.push(format!("/{}/thumbnail.jpg", text(&media["playbackIds"][0]["id"])));
    assert!(addresses.len() > 5, "{addresses:?}");
    addresses
}

/// Every one of them answers that.
async fn answer(app: &TestApp, addresses: &[String], status: u16) {
    for address in addresses {
        assert_eq!(app.fetch(address).await.status, status, "{address}");
    }
}

#[tokio::test]
async fn a_rule_that_could_refuse_anybody_refuses_everybody_from_its_answer_on() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let first = text(&media["playbackIds"][0]["id"]);
    let ids = Ids::of(&app, &media);
    let second = ids.made(&json!({"accessPolicy": "public"})).await;
    let addresses = all_addresses(&app, &media).await;
    let second: Vec<_> = addresses.iter().map(|address| address.replace(first, &second)).collect();
    let (lifted, harmless) = (json!({}), json!({"allow": ["example.com"]}));
    for (kind, rule) in [
        ("domains", json!({"defaultPolicy": "deny"})),
        ("domains", json!({"defaultPolicy": "deny", "allow": ["example.com"]})),
        ("domains", json!({"deny": ["example.com"]})),
        ("user-agents", json!({"defaultPolicy": "deny", "allow": ["Mozilla"]})),
        ("user-agents", json!({"deny": ["nobody has this"]})),
    ] {
        answer(&app, &addresses, 200).await;
        assert_eq!(ids.restrict(first, kind, &rule).await.status, 200);
        for address in &addresses {
            let refused = app.request("GET", address).header("Origin", "https://example.com");
            let refused = refused.header("User-Agent", "Mozilla/5.0").send().await;
            assert_eq!(refused.refusal(), (403, "forbidden".to_owned()), "{rule}: {address}");
            assert_eq!(refused.header("access-control-allow-origin"), Some("*"), "{address}");
        }
        answer(&app, &second, 200).await;
        assert!(!app.fetch(&format!("/embed/{first}")).await.text().contains("Hush"), "{rule}");
        let open = if rule["deny"].is_null() { &lifted } else { &harmless };
        assert_eq!(ids.restrict(first, kind, open).await.status, 200);
    }
    answer(&app, &addresses, 200).await;
    assert!(app.fetch(&format!("/embed/{first}")).await.text().contains("Hush"));
    assert_eq!(ids.restrict(first, "domains", &json!({"defaultPolicy": "deny"})).await.status, 200);
    insta::assert_snapshot!("limited", app.golden().answer(&app.fetch(&addresses[0]).await));
}

#[tokio::test]
async fn what_is_made_with_a_limit_plays_for_nobody_and_what_is_private_asks_for_a_token() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).hold_last_byte());
    let media = app.create(&url).await;
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    let first = text(&media["playbackIds"][0]["id"]);
    let ids = Ids::of(&app, &media);
    let rules = json!({"userAgents": {"deny": ["curl"]}});
    let mut made = Vec::new();
    for (body, status) in [
        (json!({"accessPolicy": "public", "resolution": "2160p"}), 403),
        (json!({"accessPolicy": "public", "accessRestrictions": rules}), 403),
        (json!({"accessPolicy": "private"}), 401),
        (json!({"accessPolicy": "private", "accessRestrictions": rules, "resolution": "480p"}), 401),
        (json!({"accessPolicy": "public", "accessRestrictions": {"domains": {"allow": ["a.example"]}}}), 200),
    ] {
        made.push((ids.made(&body).await, status));
    }
    // Before there is anything to play, too: whoever may not watch need not wait.
    for (id, status) in &made {
        let waiting = if *status == 200 { 400 } else { *status };
        assert_eq!(app.fetch(&format!("/{id}.m3u8")).await.status, waiting);
    }
    app.sources.release("/a.mp4");
    let media = app.wait_settled(text(&media["id"])).await;
    let addresses = all_addresses(&app, &media).await;
    for (id, status) in &made {
        let addresses: Vec<_> = addresses.iter().map(|address| address.replace(first, id)).collect();
        answer(&app, &addresses, *status).await;
    }
}

#[tokio::test]
async fn a_deleted_playback_id_leads_nowhere_from_its_answer_on_and_its_neighbour_plays() {
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

/// Decision 13: a change is in force within 2 s, wherever it was made.
#[tokio::test]
async fn a_change_by_another_process_is_in_force_within_2_s() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]).parse().unwrap();
    let addresses = all_addresses(&app, &media).await;
    answer(&app, &addresses, 200).await;
    app.store
        .write(async move |tx| {
            let mut media = tx.media_by_id(id).await?.expect("it is there");
            media.playback[0].resolution = Some(kinora_domain::Resolution::P480);
            tx.save_media(&media).await
        })
        .await
        .unwrap();
    let changed = Instant::now();
    until("nobody may watch", async || (app.fetch(&addresses[0]).await.status == 403).then_some(())).await;
    assert!(changed.elapsed() < Duration::from_secs(2), "{:?}", changed.elapsed());
    answer(&app, &addresses, 403).await;
}
