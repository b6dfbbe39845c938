//! What is taken back is worth nothing any more, from the answer on.

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

/// A token with a name.
pub(crate) fn named(signer: &Signer, playback: &str, jti: &str) -> String {
    let mut claims = signer.claims(playback);
    claims["jti"] = json!(jti);
    signer.sign(&signer.header(), &claims)
}

/// Every address answers that refusal.
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

/// The addresses that manifests list for whoever has this key.
pub(crate) async fn led(app: &TestApp, signer: &Signer, playbacks: &[String]) -> Vec<String> {
    let mut led = Vec::new();
    for playback in playbacks {
        led.extend(signed_children(app, signer, playback).await);
    }
    led
}

async fn all_play(app: &TestApp, addresses: &[String]) {
    for address in addresses {
        assert_eq!(app.fetch(address).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn with_its_key_goes_what_it_signed_and_what_that_led_to() {
    let app = TestApp::start().await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let watched = Watched::new(&app).await;
    let playbacks = watched.private(&app).await;
    let tokened = |signer: &Signer| watched.asked_by(&app, &playbacks, |playback| signer.token(playback));
    let (of_first, of_second) = (tokened(&first), tokened(&second));
    let led_by_first = led(&app, &first, &playbacks).await;
    let led_by_second = led(&app, &second, &playbacks).await;
    assert_ne!(led_by_first, led_by_second, "each key has its paths");
    for addresses in [&of_first, &of_second, &led_by_first, &led_by_second] {
        all_play(&app, addresses).await;
    }
    assert_eq!(app.call("DELETE", &format!("{KEYS}/{}", first.id)).send().await.status, 200);
    all_refused(
        &app,
        &of_first,
        "the kid of the playback token names no signing key of the playback ID's workspace",
    )
    .await;
    all_refused(
        &app,
        &led_by_first,
        "the signing key that this address was given for is gone; fetch the manifest with another token",
    )
    .await;
    all_play(&app, &of_second).await;
    all_play(&app, &led_by_second).await;
}

#[tokio::test]
async fn a_deleted_playback_id_leads_nowhere_whatever_is_brought_along() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let playbacks = watched.private(&app).await;
    let tokened = watched.asked_by(&app, &playbacks, |playback| signer.token(playback));
    let led = led(&app, &signer, &playbacks).await;
    for playback in &playbacks {
        assert_eq!(Ids::of(&app, &watched.media).delete(playback).await.status, 200);
    }
    for address in tokened.iter().chain(&led) {
        assert_eq!(app.fetch(address).await.status, 404, "{address}");
    }
}

#[tokio::test]
async fn a_revoked_token_is_refused_wherever_one_is_taken_and_what_it_led_to_plays_on() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let playback = watched.playback(&app, json!({"accessPolicy": "private", "encryption": "aes-128"})).await;
    let second = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let both = [second.clone(), playback.clone()];
    let tokened = |jti: &str| watched.asked_by(&app, &both, |playback| named(&signer, playback, jti));
    let (taken, kept) = (tokened("taken"), tokened("kept"));
    let manifest = with_token(&format!("/{playback}.m3u8"), &named(&signer, &playback, "kept"));
    let led = children(&app, &manifest, plain).await;
    let media = app.get(text(&watched.media["id"])).await.data();
    let answer = revoke(&app, &json!({"jti": "taken", "playbackId": playback, "endPlayback": false})).await;
    assert_eq!(answer.status, 201);
    // By its name, in the whole workspace.
    all_refused(&app, &taken, "the playback token was revoked").await;
    all_play(&app, &kept).await;
    all_play(&app, &led).await;

    // Whoever plays through the playback ID needs the manifest anew, and gets it with a good token.
    let answer = revoke(&app, &json!({"jti": "another", "playbackId": playback, "endPlayback": true})).await;
    assert_eq!(answer.status, 201);
    all_refused(&app, &led, "this address was taken back; fetch the manifest again").await;
    all_play(&app, &kept).await;
    let anew = children(&app, &manifest, plain).await;
    assert_ne!(anew, led);
    all_play(&app, &anew).await;
    assert_eq!(app.get(text(&watched.media["id"])).await.data(), media, "a client sees nothing of it");
    app.all_delivered().await;
    let told = app.receiver.distinct_events("video.media.updated").len();
    assert_eq!(told, 4, "the subtitles, and two playback IDs: added, ready, made and made");
}

/// More than what the systems of both sides keep for a reader who does not read.
const LONG_BYTES: u32 = 32 << 20;

/// A media that plays, and is long.
pub(crate) fn long() -> Vec<u8> {
    // A box that players pass over (ISO 14496-12, 8.1.2).
    let padding = [&LONG_BYTES.to_be_bytes()[..], b"free", &vec![0; LONG_BYTES as usize - 8]].concat();
    [fixture::two_seconds().as_ref(), &padding].concat()
}

#[tokio::test]
async fn an_original_that_is_under_way_is_broken_off_where_its_viewer_would_be_let_in_no_more() {
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
        let mut stays = Reading::begin(&app, &with_token(&format!("/{playback}/source"), &token)).await;
        let other = ids.made(&json!({"accessPolicy": "private"})).await;
        let mut other =
            Reading::begin(&app, &with_token(&format!("/{other}/source"), &signer.token(&other))).await;
        let status = match what {
            "a deleted key" => app.call("DELETE", &format!("{KEYS}/{}", own.id)).send().await.status,
            "no playback ID" => ids.delete(&playback).await.status,
            _ => ids.restrict(&playback, "domains", &json!({"defaultPolicy": "deny"})).await.status,
        };
        assert_eq!(status, 200, "{what}");
        assert!(stays.rest().await < len, "{what}");
        assert_eq!(other.rest().await, len, "{what}: another one goes on");
    }
    // A token that is taken back lets what it began go on.
    let playback = ids.made(&json!({"accessPolicy": "private"})).await;
    let address = with_token(&format!("/{playback}/source"), &named(&signer, &playback, "z"));
    let mut stays = Reading::begin(&app, &address).await;
    assert_eq!(revoke(&app, &json!({"jti": "z"})).await.status, 201);
    assert_eq!(app.fetch(&address).await.status, 401);
    assert_eq!(stays.rest().await, len);
}

/// An answer of which nothing but the head was read yet.
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

    /// At most so many further bytes, and how many they were: none at the end, whichever that is.
    pub(crate) async fn next(&mut self, count_max: u64) -> usize {
        let mut bytes = Vec::new();
        let _ = (&mut self.0).take(count_max).read_to_end(&mut bytes).await;
        bytes.len()
    }

    /// So many bytes come until the end, whichever that is.
    pub(crate) async fn rest(&mut self) -> usize {
        let mut bytes = Vec::new();
        // A connection that is broken off ends with an error or without one.
        let _ = self.0.read_to_end(&mut bytes).await;
        bytes.len()
    }
}

#[tokio::test]
async fn who_revokes_is_answered_what_is_kept_and_refused_field_by_field() {
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

    // As many say never: it is taken back, until the last time there is.
    let never = revoke(&app, &json!({"jti": "never", "expiresAt": "9999-12-31T23:59:59Z"})).await;
    assert_eq!((never.status, &never.data()["expiresAt"]), (201, &json!("9999-12-30T22:00:00.000000Z")));
    let taken = with_token(&format!("/{playback}.m3u8"), &named(&signer, &playback, "never"));
    assert_eq!(app.fetch(&taken).await.status, 401);

    // Neither a reader, nor a stranger, nor nobody.
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let stranger = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let body = json!({"jti": "c", "playbackId": playback, "endPlayback": true});
    let led = signed_children(&app, &signer, &playback).await;
    for (token, status) in [(Some(&reader), 403), (Some(&stranger), 404), (None, 401)] {
        let request = app.request("POST", REVOKED).json(&body);
        let request = token.into_iter().fold(request, |request, token| request.token(token));
        assert_eq!(request.send().await.refusal().0, status);
    }
    // A stranger's names are not ours.
    assert_eq!(
        app.request("POST", REVOKED).token(&stranger).json(&json!({"jti": "c"})).send().await.status,
        201
    );
    let token = named(&signer, &playback, "c");
    all_play(&app, &[with_token(&format!("/{playback}.m3u8"), &token)]).await;
    all_play(&app, &led).await;

    // A request that names itself is done once.
    let once = || app.call("POST", REVOKED).header("Idempotency-Key", "k").json(&body);
    let first = once().send().await;
    assert_eq!(first.status, 201);
    let anew = signed_children(&app, &signer, &playback).await;
    assert_ne!(anew, led);
    assert_eq!(once().send().await.body, first.body);
    all_play(&app, &anew).await;
}
