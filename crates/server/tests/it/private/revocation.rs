//! Revocation: revoked tokens and paths are rejected as soon as the response is sent.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::fixture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::signer::{KEYS, Signer};
use super::watched::{Watched, children, plain, refused, signed_children, with_token};
use crate::api::Ids;
use crate::support::{Answer, TestApp, text};

const REVOKED: &str = "/v1/iam/revoked-tokens";

pub(crate) async fn revoke(app: &TestApp, body: &Value) -> Answer {
    app.call("POST", REVOKED).json(body).send().await
}

/// A token with this `jti`.
pub(crate) fn named(signer: &Signer, playback: &str, jti: &str) -> String {
    let mut claims = signer.claims(playback);
    claims["jti"] = json!(jti);
    signer.sign(&signer.header(), &claims)
}

/// Checks that every URL returns this error.
async fn all_refused(app: &TestApp, addresses: &[String], description: &str) {
    for address in addresses {
        let answer = app.fetch(address).await;
        if address.starts_with("/embed/") {
            assert_eq!(answer.status, 401, "{address}");
        } else {
            assert_eq!(refused(&answer), (401, description.to_owned()), "{address}");
        }
    }
}

/// The URLs that manifests list for a client with this key.
pub(crate) async fn signed_urls(app: &TestApp, signer: &Signer, playbacks: &[String]) -> Vec<String> {
    let mut urls = Vec::new();
    for playback in playbacks {
        urls.extend(signed_children(app, signer, playback).await);
    }
    urls
}

async fn all_play(app: &TestApp, addresses: &[String]) {
    for address in addresses {
        assert_eq!(app.fetch(address).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn deleted_key_revokes_tokens_and_signed_paths() {
    let app = TestApp::start().await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let watched = Watched::new(&app).await;
    let playbacks = watched.private(&app).await;
    let urls_of = |signer: &Signer| {
        watched.urls_and_oembed_with_token(&app, &playbacks, |playback| signer.token(playback))
    };
    let (of_first, of_second) = (urls_of(&first), urls_of(&second));
    let signed_by_first = signed_urls(&app, &first, &playbacks).await;
    let signed_by_second = signed_urls(&app, &second, &playbacks).await;
    assert_ne!(signed_by_first, signed_by_second, "each key has its paths");
    for addresses in [&of_first, &of_second, &signed_by_first, &signed_by_second] {
        all_play(&app, addresses).await;
    }
    assert_eq!(app.call("DELETE", &format!("{KEYS}/{}", first.id)).send().await.status, 200);
    all_refused(
        &app,
        &of_first,
        "the kid of the playback token is not a signing key of the playback ID's workspace",
    )
    .await;
    all_refused(
        &app,
        &signed_by_first,
        "the signing key for this URL was deleted; fetch the manifest with another token",
    )
    .await;
    all_play(&app, &of_second).await;
    all_play(&app, &signed_by_second).await;
}

#[tokio::test]
async fn deleted_playback_id_is_404_with_valid_tokens() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let playbacks = watched.private(&app).await;
    let token_urls = watched.urls_and_oembed_with_token(&app, &playbacks, |playback| signer.token(playback));
    let signed_urls = signed_urls(&app, &signer, &playbacks).await;
    for playback in &playbacks {
        assert_eq!(Ids::of(&app, &watched.media).delete(playback).await.status, 200);
    }
    for address in token_urls.iter().chain(&signed_urls) {
        assert_eq!(app.fetch(address).await.status, 404, "{address}");
    }
}

#[tokio::test]
async fn revoked_token_is_rejected_but_signed_paths_play_on() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let playback = watched.playback(&app, json!({"accessPolicy": "private", "encryption": "aes-128"})).await;
    let second = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let both = [second.clone(), playback.clone()];
    let urls_with_jti =
        |jti: &str| watched.urls_and_oembed_with_token(&app, &both, |playback| named(&signer, playback, jti));
    let (revoked, valid) = (urls_with_jti("taken"), urls_with_jti("kept"));
    let manifest = with_token(&format!("/{playback}.m3u8"), &named(&signer, &playback, "kept"));
    let signed_urls = children(&app, &manifest, plain).await;
    let media = app.get(text(&watched.media["id"])).await.data();
    let answer = revoke(&app, &json!({"jti": "taken", "playbackId": playback, "endPlayback": false})).await;
    assert_eq!(answer.status, 201);
    // By its `jti`, in the whole workspace.
    all_refused(&app, &revoked, "the playback token was revoked; sign a new one").await;
    all_play(&app, &valid).await;
    all_play(&app, &signed_urls).await;

    // Clients that play through the playback ID need the manifest again, and get it with a valid token.
    let answer = revoke(&app, &json!({"jti": "another", "playbackId": playback, "endPlayback": true})).await;
    assert_eq!(answer.status, 201);
    all_refused(&app, &signed_urls, "this URL was revoked; fetch the manifest again").await;
    all_play(&app, &valid).await;
    let fresh_urls = children(&app, &manifest, plain).await;
    assert_ne!(fresh_urls, signed_urls);
    all_play(&app, &fresh_urls).await;
    assert_eq!(app.get(text(&watched.media["id"])).await.data(), media, "a client sees nothing of it");
    app.all_delivered().await;
    let event_count = app.receiver.distinct_events("video.media.updated").len();
    assert_eq!(event_count, 4, "the subtitles, and two playback IDs: added, ready, made and made");
}

/// More than the socket buffers of both sides, for a client that does not read.
const LONG_BYTES: u32 = 32 << 20;

/// A media that plays and has a large file.
pub(crate) fn long() -> Vec<u8> {
    // A box that players ignore (ISO 14496-12, 8.1.2).
    let padding = [&LONG_BYTES.to_be_bytes()[..], b"free", &vec![0; LONG_BYTES as usize - 8]].concat();
    [fixture::two_seconds().as_ref(), &padding].concat()
}

#[tokio::test]
async fn revoked_access_aborts_source_download() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let long = long();
    let len = long.len();
    let media = app.ready_with("/a.mp4", long, json!({"sourceAccess": true})).await;
    let ids = Ids::of(&app, &media);
    for (what, policy) in [
        ("a deleted key", "private"),
        ("a new rule", "private"),
        ("no playback ID", "public"),
        ("a rule", "public"),
    ] {
        let playback = ids.made(&json!({"accessPolicy": policy})).await;
        let own = Signer::made(&app).await;
        let token = if policy == "private" { own.token(&playback) } else { String::new() };
        let mut download = Reading::begin(&app, &with_token(&format!("/{playback}/source"), &token)).await;
        let other = ids.made(&json!({"accessPolicy": "private"})).await;
        let mut other =
            Reading::begin(&app, &with_token(&format!("/{other}/source"), &signer.token(&other))).await;
        let status = match what {
            "a deleted key" => app.call("DELETE", &format!("{KEYS}/{}", own.id)).send().await.status,
            "no playback ID" => ids.delete(&playback).await.status,
            _ => ids.restrict(&playback, "domains", &json!({"defaultPolicy": "deny"})).await.status,
        };
        assert_eq!(status, 200, "{what}");
        assert!(download.rest().await < len, "{what}");
        assert_eq!(other.rest().await, len, "{what}: another one goes on");
    }
    // A revoked token does not end a running response.
    let playback = ids.made(&json!({"accessPolicy": "private"})).await;
    let address = with_token(&format!("/{playback}/source"), &named(&signer, &playback, "z"));
    let mut stays = Reading::begin(&app, &address).await;
    assert_eq!(revoke(&app, &json!({"jti": "z"})).await.status, 201);
    assert_eq!(app.fetch(&address).await.status, 401);
    assert_eq!(stays.rest().await, len);
}

/// A response with only its head read so far.
pub(crate) struct Reading(BufReader<TcpStream>);

impl Reading {
    pub(crate) async fn begin(app: &TestApp, address: &str) -> Self {
        let mut socket = TcpStream::connect(app.address).await.expect("the server listens");
        let request = format!("GET {address} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", app.address);
        socket.write_all(request.as_bytes()).await.expect("it is taken");
        let mut reading = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reading.read_line(&mut head).await.is_ok_and(|count| count > 0), "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        Self(reading)
    }

    /// Reads at most `count_max` more bytes and returns their number: 0 at the end, with or without an
    /// error.
    pub(crate) async fn next(&mut self, count_max: u64) -> usize {
        let mut bytes = Vec::new();
        let _ = (&mut self.0).take(count_max).read_to_end(&mut bytes).await;
        bytes.len()
    }

    /// Reads until the end, with or without an error, and returns the number of bytes.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut bytes = Vec::new();
        // A broken connection ends with an error or without one.
        let _ = self.0.read_to_end(&mut bytes).await;
        bytes.len()
    }
}

#[tokio::test]
async fn revocation_returns_the_stored_entry_or_field_errors() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let mut golden = app.golden();
    let mut transcript = String::new();
    for body in [
        json!({"jti": "a", "expiresAt": "2099-11-23T10:00:00Z"}),
        json!({"jti": "a", "expiresAt": "2099-11-24T10:00:00.5+01:00"}),
        json!({"jti": "a", "expiresAt": "2099-11-23T10:00:00Z"}),
        json!({"jti": "a"}),
        json!({}),
        json!({"jti": "", "expiresAt": "soon", "playbackId": "x", "endPlayback": 1}),
        json!({"jti": "a\0b"}),
        json!({"jti": "b", "expiresAt": "2026-11-21T10:00:00Z"}),
        json!({"jti": "b", "endPlayback": true}),
        json!({"jti": "b", "playbackId": "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f"}),
    ] {
        transcript += &format!("{body}\n{}\n", golden.answer(&revoke(&app, &body).await));
    }
    insta::assert_snapshot!("revoked", transcript);

    // Clients use this date for "never": the revocation lasts until the latest supported time.
    let never = revoke(&app, &json!({"jti": "never", "expiresAt": "9999-12-31T23:59:59Z"})).await;
    assert_eq!((never.status, &never.data()["expiresAt"]), (201, &json!("9999-12-30T22:00:00.000000Z")));
    let revoked = with_token(&format!("/{playback}.m3u8"), &named(&signer, &playback, "never"));
    assert_eq!(app.fetch(&revoked).await.status, 401);

    // A read-only token, a token of another workspace, and no token.
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let body = json!({"jti": "c", "playbackId": playback, "endPlayback": true});
    let signed_urls = signed_children(&app, &signer, &playback).await;
    for (token, status) in [(Some(&reader), 403), (Some(&other_token), 404), (None, 401)] {
        let request = app.request("POST", REVOKED).json(&body);
        let request = token.into_iter().fold(request, |request, token| request.token(token));
        assert_eq!(request.send().await.refusal().0, status);
    }
    // A `jti` of another workspace has no effect here.
    assert_eq!(
        app.request("POST", REVOKED).token(&other_token).json(&json!({"jti": "c"})).send().await.status,
        201
    );
    let token = named(&signer, &playback, "c");
    all_play(&app, &[with_token(&format!("/{playback}.m3u8"), &token)]).await;
    all_play(&app, &signed_urls).await;

    // A request with an idempotency key is executed once.
    let once = || app.call("POST", REVOKED).header("Idempotency-Key", "k").json(&body);
    let first = once().send().await;
    assert_eq!(first.status, 201);
    let fresh_urls = signed_children(&app, &signer, &playback).await;
    assert_ne!(fresh_urls, signed_urls);
    assert_eq!(once().send().await.body, first.body);
    all_play(&app, &fresh_urls).await;
}
