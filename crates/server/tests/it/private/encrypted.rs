//! Encryption of segments, checked with OpenSSL and ffmpeg.
//!
//! The key decrypts all of them, another key none, and nothing is served in clear.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_testkit::fixture::containers::tone_of;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::signer::Signer;
use super::watched::{Watched, refusals, refused, signed_children, with_token};
use crate::api::tracks::Tracks;
use crate::api::{Ids, listed};
use crate::support::{Answer, Program, TestApp, text};

/// The key lines of a playlist, and the playlist without them.
struct Keyed {
    clear: String,
    /// The key URL and the initialization vector in hex of each file.
    files: BTreeMap<String, (String, String)>,
}

impl Keyed {
    fn read(playlist: &str) -> Self {
        let (mut clear, mut files, mut key) = (String::new(), BTreeMap::new(), None);
        for line in playlist.lines() {
            if let Some(attributes) = line.strip_prefix("#EXT-X-KEY:METHOD=AES-128,URI=\"") {
                let (uri, iv) = attributes.split_once("\",IV=0x").expect("an address and a vector");
                key = Some((uri.to_owned(), iv.to_owned()));
                continue;
            }
            for file in listed(line) {
                files.insert(file, key.take().expect("each file has a key of its own in front of it"));
            }
            clear += line;
            clear.push('\n');
        }
        Self { clear, files }
    }
}

/// The file decrypted by OpenSSL; `None` when the key does not fit.
async fn decrypted(bytes: &[u8], key: &[u8], iv: &str) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), bytes).unwrap();
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let run = Program::new("openssl")
        .folder(folder.path())
        .args(["enc", "-d", "-aes-128-cbc", "-K", &key, "-iv", iv, "-in", "in", "-out", "out"])
        .run()
        .await;
    (run.code == Some(0)).then(|| std::fs::read(folder.path().join("out")).unwrap())
}

/// The frames and audio that ffmpeg decodes from a stream.
async fn watched_by_ffmpeg(address: &str) -> String {
    let run = Program::new("ffmpeg")
        .args([
            "-v", "error", "-nostdin", "-i", address, "-map", "0:v:0", "-map", "0:a:0", "-f", "framemd5", "-",
        ])
        .run()
        .await
        .ok();
    assert_eq!(run.stderr, "", "ffmpeg has nothing to complain of");
    run.stdout
}

/// The key in the playlists of a public playback ID.
async fn key_of(app: &TestApp, playback: &str) -> Answer {
    let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let folder = manifest.lines().find_map(|line| line.strip_suffix("/video/playlist.m3u8")).expect("a copy");
    app.fetch(&format!("/{folder}/aes-128/key")).await
}

#[tokio::test]
async fn segments_decrypt_with_the_key_of_their_playlist() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let audio_url = app.serve("/audio", Source::of(tone_of(1000, 15, "flac", "-c:a flac")));
    Tracks::of_audio(&app, &media).added(&audio_url, "de", "Deutsch").await;
    let clear = text(&media["playbackIds"][0]["id"]);
    let ids = Ids::of(&app, &media);
    let playback = ids.made(&json!({"encryption": "aes-128"})).await;
    let other = ids.made(&json!({"encryption": "aes-128"})).await;
    let (own_key, other_key) = (key_of(&app, &playback).await, key_of(&app, &other).await);
    assert_eq!(own_key.header("content-type"), Some("application/octet-stream"));
    assert_eq!(own_key.header("cache-control"), Some("no-store"));
    assert_eq!(own_key.header("access-control-allow-origin"), Some("*"));
    assert_eq!((own_key.body.len(), other_key.body.len()), (16, 16));
    assert_ne!(own_key.body, other_key.body, "each has its own");

    let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let plain = app.fetch(&format!("/{clear}.m3u8")).await.text();
    assert_eq!(manifest.replace(&playback, clear), plain, "the same is offered");
    let (mut vectors, mut kinds, mut count) = (BTreeSet::new(), BTreeSet::new(), 0);
    for playlist in listed(&manifest) {
        let answer = app.fetch(&format!("/{playlist}")).await;
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let keyed = Keyed::read(&answer.text());
        let in_clear = playlist.replace(&playback, clear);
        assert_eq!(keyed.clear, app.fetch(&format!("/{in_clear}")).await.text(), "{playlist}");
        let folder = playlist.strip_suffix("playlist.m3u8").expect("its name");
        kinds.insert(folder.split('/').nth(2).unwrap().split('-').next().unwrap().to_owned());
        for (file, (uri, iv)) in &keyed.files {
            assert_eq!(uri, "../aes-128/key");
            assert!(vectors.insert(iv.clone()), "{folder}{file}: no vector stands twice");
            let address = format!("/{folder}{file}");
            let expected = app.fetch_made(&address.replace(&playback, clear)).await;
            let answer = app.fetch_made(&address).await;
            assert_eq!((answer.status, expected.status), (200, 200), "{address}");
            assert_eq!(answer.header("content-type"), expected.header("content-type"), "{address}");
            let found = decrypted(&answer.body, &own_key.body, iv).await;
            assert!(found.as_deref() == Some(&expected.body[..]), "{address}: OpenSSL finds another file");
            count += 1;
            // One file of each kind is enough.
            if ["init.mp4", "0.m4s"].contains(&file.as_str()) {
                let wrong = decrypted(&answer.body, &other_key.body, iv).await;
                assert!(
                    wrong.is_none_or(|wrong| wrong != expected.body),
                    "{address}: another ID's key opens it"
                );
                let other_answer = app.fetch_made(&address.replace(&playback, &other)).await;
                assert_eq!(other_answer.status, 200);
                assert_ne!(other_answer.body, answer.body, "{address}: under another key it is another file");
                check_parts(&app, &address, &answer, &expected).await;
            }
        }
    }
    let rungs = kinds.iter().filter(|kind| kind.ends_with('p')).count();
    let others =
        ["aac", "audio", "iframes", "video"].into_iter().filter(|kind| kinds.contains(*kind)).count();
    assert!(rungs >= 1 && others == 4, "every kind of rendition: {kinds:?}");
    assert!(count > 20, "{count}");
}

/// Ranges and conditions work as for every other file; they apply to the encrypted bytes, not to the stored
/// ones.
async fn check_parts(app: &TestApp, address: &str, full: &Answer, clear: &Answer) {
    let len = full.body.len();
    assert_eq!(len, clear.body.len() - clear.body.len() % 16 + 16, "{address}");
    assert_eq!(full.header("content-length"), Some(len.to_string().as_str()), "{address}");
    let head = app.request("HEAD", address).send().await;
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, full.header("content-length")),
        "{address}"
    );
    let etag = full.header("etag").expect("it has one");
    assert_ne!(Some(etag), clear.header("etag"), "{address}: other bytes, another tag");
    for (name, value, status) in [("If-None-Match", etag, 304), ("If-None-Match", "\"x\"", 200)] {
        assert_eq!(app.request("GET", address).header(name, value).send().await.status, status, "{address}");
    }
    for (first, last) in [(0, 0), (5, 40), (len - 17, len - 1), (len / 2, len - 1)] {
        let range = format!("bytes={first}-{last}");
        let part = app.request("GET", address).header("Range", &range).send().await;
        assert_eq!(part.status, 206, "{address} {range}");
        assert!(part.body == full.body[first..=last], "{address} {range}");
        let content_range = format!("bytes {first}-{last}/{len}");
        assert_eq!(part.header("content-range"), Some(content_range.as_str()), "{address}");
    }
    let beyond = app.request("GET", address).header("Range", &format!("bytes={len}-")).send().await;
    assert_eq!(beyond.status, 416, "{address}");
}

#[tokio::test]
async fn ffmpeg_decodes_encrypted_and_clear_identically() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let ids = Ids::of(&app, &media);
    let clear = watched_by_ffmpeg(&app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])))).await;
    assert!(clear.lines().count() > 300, "{clear}");
    let public = ids.made(&json!({"encryption": "aes-128"})).await;
    assert_eq!(watched_by_ffmpeg(&app.url(&format!("/{public}.m3u8"))).await, clear);
    let private = ids.made(&json!({"accessPolicy": "private", "encryption": "aes-128"})).await;
    let manifest = with_token(&format!("/{private}.m3u8"), &signer.token(&private));
    assert_eq!(watched_by_ffmpeg(&app.url(&manifest)).await, clear);
}

#[tokio::test]
async fn only_thumbnails_and_subtitles_are_served_unencrypted() {
    let app = TestApp::options().without_webhook().start().await;
    let watched = Watched::new(&app).await;
    let playback = watched.playback(&app, json!({"encryption": "aes-128"})).await;
    let clear = text(&watched.media["playbackIds"][0]["id"]);
    let refusal = "this playback ID serves only encrypted media, and this file is not encrypted; use a playback ID without \
                   encryption";
    for address in watched.token_urls(&playback) {
        let answer = app.fetch(&address).await;
        let file = address.rsplit('/').next().unwrap_or_default();
        if ["source", "capped-4k.mp4", "audio.m4a"].contains(&file) {
            assert_eq!(refused(&answer), (403, refusal.to_owned()), "{address}");
            let head = app.request("HEAD", &address).send().await;
            assert_eq!((head.status, head.header("accept-ranges")), (403, None), "{address}");
        } else {
            assert_eq!(answer.status, 200, "{address}");
            let same = app.fetch(&address.replace(&playback, clear)).await;
            let body = match std::str::from_utf8(&answer.body) {
                Ok(text) => text.replace(&playback, clear).into_bytes(),
                Err(_) => answer.body.to_vec(),
            };
            assert!(body == same.body, "{address}: as through every other playback ID");
        }
        assert_eq!(app.fetch(&address.replace(&playback, clear)).await.status, 200, "{address}");
    }
    let counted = app.fetch("/metrics").await.text();
    assert_eq!(refusals(&counted, "encrypted"), 6, "three files, asked for twice: {counted}");
}

#[tokio::test]
async fn private_content_key_requires_a_signed_path() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let encrypted = json!({"accessPolicy": "private", "encryption": "aes-128"});
    let private = watched.playback(&app, encrypted.clone()).await;
    let other = watched.playback(&app, encrypted).await;
    let plain = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let key_below = async |playback: &str| {
        let children = signed_children(&app, &signer, playback).await;
        let video = children.iter().find_map(|child| child.strip_suffix("/video/playlist.m3u8"));
        format!("{}/aes-128/key", video.expect("a copy"))
    };
    let (key, others) = (key_below(&private).await, key_below(&other).await);
    let signed = key.split('/').nth(2).expect("the signed part").to_owned();
    let answer = app.fetch(&key).await;
    assert_eq!((answer.status, answer.body.len()), (200, 16));
    assert_eq!(answer.header("cache-control"), Some("no-store"));

    let unsigned = key.replace(&format!("/{signed}"), "");
    let token = signer.token(&private);
    for address in [
        unsigned.clone(),
        with_token(&unsigned, &token),
        key.replace(&signed, "x"),
        key.replace(&signed, &signed[..signed.len() - 1]),
        others.replace(&other, &private),
        key.replace(&private, &plain),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = app.request(method, &address).send().await;
            assert_eq!(answer.status, 401, "{method} {address}");
        }
    }
    let index = key.split('/').nth(3).expect("the index").to_owned();
    for address in [
        key_below(&plain).await,
        key.replace(&index, "another"),
        key.replace("/aes-128/key", "/aes-128/key.bin"),
        key.replace("/aes-128/", "/aes-256/"),
        key.replace("/aes-128/key", "/video/key"),
    ] {
        assert_eq!(app.fetch(&address).await.status, 404, "{address}");
    }
    assert_eq!(app.request("POST", &key).send().await.status, 405);

    // The domain rule applies to the key, and deleting the playback ID deletes it.
    let rule = json!({"defaultPolicy": "deny", "allow": ["shop.example"]});
    let ids = Ids::of(&app, &watched.media);
    assert_eq!(ids.restrict(&private, "domains", &rule).await.status, 200);
    assert_eq!(app.fetch(&key).await.status, 403);
    assert_eq!(app.request("GET", &key).header("Origin", "https://shop.example").send().await.status, 200);
    assert_eq!(ids.delete(&private).await.status, 200);
    assert_eq!(app.fetch(&key).await.status, 404);

    // No API response contains a key in any encoding.
    let other_key = app.fetch(&others).await.body;
    let hex: String = other_key.iter().map(|byte| format!("{byte:02x}")).collect();
    let answers = [ids.list().await, ids.read(&other).await, app.get(text(&watched.media["id"])).await];
    let base64 = STANDARD.encode(&other_key);
    for text in answers.iter().map(Answer::text) {
        assert!(text.contains("\"encryption\":\"aes-128\""), "{text}");
        assert!(
            !text.to_lowercase().contains(&hex) && !text.contains(base64.trim_end_matches('=')),
            "{text}"
        );
    }
}

#[tokio::test]
async fn encryption_is_set_at_creation_and_immutable() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let made = ids.make(&json!({"encryption": "aes-128", "resolution": "720p"})).await;
    assert_eq!(made.status, 201);
    assert_eq!(
        made.json()["warnings"],
        json!(["this media also has a playback ID without encryption, which plays unencrypted"])
    );
    let made = made.data();
    assert_eq!((&made["encryption"], &made["accessPolicy"]), (&json!("aes-128"), &json!("public")));
    for body in [json!({}), json!({"encryption": "none"}), json!({"encryption": null})] {
        let plain = ids.make(&body).await;
        assert_eq!((plain.status, plain.data().get("encryption")), (201, None), "{body}");
        let warned = json!(["this media also has an encrypted playback ID; this one plays unencrypted"]);
        assert_eq!(plain.json()["warnings"], warned, "{body}");
    }
    let shown: Vec<Value> = ids.list().await.data().as_array().expect("a list").clone();
    let encryption_of = |one: &Value| one.get("encryption").cloned();
    assert_eq!(
        shown.iter().map(encryption_of).collect::<Vec<_>>(),
        [None, Some(json!("aes-128")), None, None, None]
    );
    assert_eq!(ids.read(text(&made["id"])).await.data(), made);
    assert_eq!(app.get(text(&media["id"])).await.data()["playbackIds"][1]["encryption"], "aes-128");
    for wrong in [json!("AES-128"), json!("sample-aes"), json!(""), json!(true), json!({})] {
        let refused = ids.make(&json!({"encryption": wrong})).await;
        assert_eq!(refused.status, 422, "{wrong}");
        let field = &refused.json()["error"]["fields"][0];
        assert_eq!(field["field"], "encryption", "{refused:?}");
        let must = if wrong.is_string() { "must be one of none, aes-128" } else { "must be a string" };
        assert_eq!(field["message"], must);
    }
    let rule = json!({"defaultPolicy": "allow", "deny": ["evil.example"], "encryption": "none"});
    assert_eq!(ids.restrict(text(&made["id"]), "domains", &rule).await.status, 200);
    assert_eq!(ids.read(text(&made["id"])).await.data()["encryption"], "aes-128");
}

#[tokio::test]
async fn created_event_already_shows_encryption() {
    let app = TestApp::start().await;
    let settings = json!({"encryption": "aes-128"});
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), settings.clone()).await;
    let event = app.event("video.media.created").await;
    assert_eq!(event["data"]["playbackIds"][0]["encryption"], "aes-128");
    let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    assert_eq!(upload["pushMediaSettings"]["playbackIds"][0]["encryption"], "aes-128");
    let event = app.event("video.media.upload").await;
    assert_eq!(event["data"]["pushMediaSettings"]["playbackIds"][0]["encryption"], "aes-128");
    let address = text(&upload["url"]).replace(&app.url(""), "");
    let sent = app.request("PUT", &address).body(fixture::two_seconds()).send().await;
    assert!(sent.status < 300, "{sent:?}");
    let uploaded = app.wait_settled(text(&upload["uploadId"])).await;
    let mut keys = BTreeSet::new();
    for media in [&media, &uploaded] {
        assert_eq!(media["playbackIds"][0]["encryption"], "aes-128");
        let key = key_of(&app, text(&media["playbackIds"][0]["id"])).await;
        assert_eq!((key.status, key.body.len()), (200, 16));
        keys.insert(key.body.to_vec());
    }
    assert_eq!(keys.len(), 2, "each has its own");
    for (path, prefix) in [("/v1/on-demand", ""), ("/v1/on-demand/upload", "pushMediaSettings.")] {
        let wrong = json!({"encryption": "aes-256"});
        let mut body = json!({"inputs": [{"type": "video", "url": app.url("/a.mp4")}], "corsOrigin": "*"});
        if prefix.is_empty() {
            body["encryption"] = wrong["encryption"].clone()
        } else {
            body["pushMediaSettings"] = wrong
        }
        let refused = app.call("POST", path).json(&body).send().await;
        assert_eq!(refused.status, 422, "{path}");
        assert_eq!(
            refused.json()["error"]["fields"][0]["field"],
            format!("{prefix}encryption"),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn playlist_skips_media_with_only_encrypted_playback_ids() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"encryption": "aes-128"})).await;
    let body = json!({"name": "N", "referenceId": "r", "type": "manual"});
    let made = app.call("POST", "/v1/on-demand/playlists").json(&body).send().await.data();
    let playlist = text(&made["id"]);
    let path = format!("/v1/on-demand/playlists/{playlist}/media");
    let body = json!({"mediaIds": [media["id"]]});
    assert_eq!(app.call("PATCH", &path).json(&body).send().await.status, 200);
    let manifest = format!("/playlist/{playlist}.m3u8");
    assert_eq!(app.fetch(&manifest).await.status, 404, "it has nothing that plays in clear");
    let clear = Ids::of(&app, &media).made(&json!({"accessPolicy": "public"})).await;
    let video_playlist = listed(&app.fetch(&manifest).await.text())
        .into_iter()
        .find(|address| !address.ends_with("audio.m3u8"))
        .expect("a size");
    let text = app.fetch(&format!("/playlist/{video_playlist}")).await.text();
    assert!(text.contains(&clear) && !text.contains("EXT-X-KEY"), "{text}");
}
