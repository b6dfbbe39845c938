//! Every URL with every invalid credential.

use std::collections::BTreeSet;

use kinora_domain::{PRODUCTION, Permission};
use kinora_testkit::CrashPlan;
use serde_json::{Value, json};

use super::signer::{Private, Signer, now};
use super::watched::{Watched, children, oembed, plain, refused, route_of, signed_children, with_token};
use crate::api::{Ids, listed};
use crate::support::{Faults, TestApp, text, until};

/// The paths of the router that take a token.
const TOKEN_PATHS: [&str; 16] = [
    "/embed/{playbackId}",
    "/{file}",
    "/{playbackId}/advanced-spritesheet.jpg",
    "/{playbackId}/advanced-spritesheet.json",
    "/{playbackId}/audio.m4a",
    "/{playbackId}/capped-4k.mp4",
    "/{playbackId}/clip.gif",
    "/{playbackId}/clip.webp",
    "/{playbackId}/source",
    "/{playbackId}/spritesheet.jpg",
    "/{playbackId}/spritesheet.json",
    "/{playbackId}/storyboard.vtt",
    "/{playbackId}/subtitles/{file}",
    "/{playbackId}/thumbnail.jpg",
    "/{playbackId}/thumbnail.png",
    "/{playbackId}/thumbnail.webp",
];
/// The route that takes the URL of a page, with the token in that URL.
const OEMBED_PATH: &str = "/oembed";
/// The routes that a manifest lists.
const MANIFEST_PATHS: [&str; 4] = [
    "/{playbackId}/{indexId}/aes-128/key",
    "/{playbackId}/{indexId}/{rendition}/{file}",
    "/{playbackId}/{signed}/{indexId}/aes-128/key",
    "/{playbackId}/{signed}/{indexId}/{rendition}/{file}",
];
/// The public routes: our demo clip, and playlists, which name only public media.
const PUBLIC_PATHS: [&str; 4] =
    ["/demo/clip.mp4", "/playlist/filler/{file}", "/playlist/{file}", "/playlist/{playlistId}/{file}"];

#[test]
fn every_path_of_the_router_is_in_the_matrix() {
    let mut listed = [&TOKEN_PATHS[..], &[OEMBED_PATH], &MANIFEST_PATHS, &PUBLIC_PATHS].concat();
    let mut served = kinora_delivery::paths();
    listed.sort_unstable();
    served.sort_unstable();
    assert_eq!(served, listed, "a new path needs an entry here");
}

/// Invalid tokens for a playback ID, each with its name.
async fn bad_passes(
    app: &TestApp,
    signer: &Signer,
    playback: &str,
    other: &str,
) -> Vec<(&'static str, String)> {
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let other_signer = Signer::made_by(app, &other_token).await;
    let (header, claims) = (signer.header(), signer.claims(playback));
    let with = |base: &Value, changes: Value| {
        let mut base = base.clone();
        let into = base.as_object_mut().expect("it is one");
        for (name, value) in changes.as_object().expect("it is one") {
            match value {
                Value::Null => drop(into.remove(name)),
                value => drop(into.insert(name.clone(), value.clone())),
            }
        }
        base
    };
    let claiming = |changes: Value| signer.sign(&header, &with(&claims, changes));
    let headed = |changes: Value| signer.sign(&with(&header, changes), &claims);
    let forged = |private: Private| {
        let forger = Signer { id: signer.id.clone(), private };
        forger.sign(&forger.header(), &claims)
    };
    let public = signer.public_pem();
    let secret = |bytes: &[u8]| forged(Private::Secret(bytes.to_vec()));
    let good = signer.token(playback);
    let (message, _) = good.rsplit_once('.').expect("three parts");
    let signature_of = |token: &str| token.rsplit('.').next().map(str::to_owned).expect("three parts");
    let unknown_playback = "019a492c-41f3-7001-8203-040506070809";
    let revoked = claiming(json!({"jti": "revoked"}));
    let body = json!({"jti": "revoked"});
    assert_eq!(app.call("POST", "/v1/iam/revoked-tokens").json(&body).send().await.status, 201);
    let tokens = vec![
        ("no token", String::new()),
        ("two tokens", format!("{good}&token={good}")),
        ("no JWT", "abc".to_owned()),
        ("no JSON", "a.b.c".to_owned()),
        ("no signature", message.to_owned()),
        ("an empty signature", format!("{message}.")),
        ("another signature", format!("{message}.{}", signature_of(&claiming(json!({"jti": "other"}))))),
        ("HS256 with the text of the public key", secret(public.as_bytes())),
        ("HS256 with the public key", secret(&der(&public))),
        ("alg none", forged(Private::Nothing)),
        ("alg none without a dot", forged(Private::Nothing).trim_end_matches('.').to_owned()),
        (
            "a stranger's key under our kid",
            Signer { id: signer.id.clone(), ..other_signer.same() }.token(playback),
        ),
        ("the algorithm of another kind of key", headed(json!({"alg": "ES256"}))),
        ("the algorithm of a larger hash", headed(json!({"alg": "RS512"}))),
        ("a jti of no length", claiming(json!({"jti": ""}))),
        ("a jti that is too long", claiming(json!({"jti": "x".repeat(256)}))),
        ("a jti with a control character", claiming(json!({"jti": "a\0b"}))),
        ("a jti that is a number", claiming(json!({"jti": 7}))),
        ("a kid of no signing key", headed(json!({"kid": unknown_playback}))),
        ("a kid that is none", headed(json!({"kid": "../../key"}))),
        ("a kid that is a number", headed(json!({"kid": 7}))),
        (
            "a kid that is a number, in the payload",
            signer.sign(&with(&header, json!({"kid": null})), &with(&claims, json!({"kid": 7}))),
        ),
        ("no kid", signer.sign(&with(&header, json!({"kid": null})), &with(&claims, json!({"kid": null})))),
        ("something critical", headed(json!({"crit": ["exp"]}))),
        ("a key of another workspace", other_signer.token(playback)),
        ("for another playback ID", signer.token(other)),
        ("for a licence", claiming(json!({"aud": format!("drm:{playback}")}))),
        ("for nothing", claiming(json!({"aud": null}))),
        ("for a number", claiming(json!({"aud": 7}))),
        ("expired", claiming(json!({"exp": now() - 61}))),
        ("expired long ago", claiming(json!({"exp": 0}))),
        ("without an end", claiming(json!({"exp": null}))),
        ("with an end in words", claiming(json!({"exp": "tomorrow"}))),
        ("with an end as a text", claiming(json!({"exp": (now() + 3600).to_string()}))),
        ("with a beginning as a text", claiming(json!({"nbf": now().to_string()}))),
        ("with an end as a text, by a stranger", {
            let claims = with(&claims, json!({"exp": (now() + 3600).to_string()}));
            Signer { id: signer.id.clone(), ..other_signer.same() }.sign(&header, &claims)
        }),
        ("a list of claims", signer.sign(&header, &json!([claims["aud"], claims["exp"], null, null]))),
        ("not yet valid", claiming(json!({"nbf": now() + 600}))),
        ("of more than 8 KiB", claiming(json!({"groups": "x".repeat(8 << 10)}))),
        ("revoked", revoked),
    ];
    tokens
}

/// The bytes of a PEM file.
fn der(pem: &str) -> Vec<u8> {
    use base64::Engine as _;
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    base64::engine::general_purpose::STANDARD.decode(base64).unwrap()
}

/// Requests that could be answered before their token is checked: without a body, for a part of it, or for
/// its existence.
const BODYLESS_REQUESTS: [(&str, Option<(&str, &str)>); 4] = [
    ("HEAD", None),
    ("GET", Some(("Range", "bytes=0-0"))),
    ("GET", Some(("If-None-Match", "*"))),
    ("HEAD", Some(("If-None-Match", "*"))),
];

#[tokio::test]
async fn requests_without_credential_are_rejected_and_write_nothing() {
    let writes = CrashPlan::never();
    let app = TestApp::options().without_webhook().faults(Faults::of_plan(&writes)).start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let other = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let addresses = watched.token_urls(&private);
    let media = app.get(text(&watched.media["id"])).await.data();
    for (name, token) in bad_passes(&app, &signer, &private, &other).await {
        let of_page = oembed(&app, &private, &with_token("", &token));
        let urls = addresses.iter().map(|address| with_token(address, &token)).chain([of_page]);
        let asked: Vec<_> = urls.collect();
        // Jobs and the traffic meter may write concurrently, but not every time.
        until("refusals beside which nothing was written", async || {
            let before = writes.writes();
            for (address, (method, header)) in
                asked.iter().flat_map(|address| BODYLESS_REQUESTS.map(|way| (address, way)))
            {
                let request = app.request(method, address);
                let request =
                    header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
                let answer = request.send().await;
                assert_eq!(answer.status, 401, "{name}: {method} {header:?} {address}");
                assert_eq!(answer.header("etag"), None, "{name}: {method} {header:?} {address}");
            }
            (writes.writes() == before).then_some(())
        })
        .await;
    }
    assert_eq!(app.get(text(&watched.media["id"])).await.data(), media);
    // With a valid token these requests work.
    let good = signer.token(&private);
    for (method, header) in BODYLESS_REQUESTS {
        let request = app.request(method, &with_token(&addresses[0], &good));
        let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let status = if header == Some(("If-None-Match", "*")) { 304 } else { 200 };
        let status = if header == Some(("Range", "bytes=0-0")) { 206 } else { status };
        assert_eq!(request.send().await.status, status, "{method} {header:?}");
    }
}

#[tokio::test]
async fn every_token_url_rejects_invalid_tokens() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let other = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let public = text(&watched.media["playbackIds"][0]["id"]);
    let addresses = watched.token_urls(&private);
    let mut routes: Vec<_> = addresses.iter().map(|address| route_of(address)).collect();
    routes.sort_unstable();
    assert_eq!(routes, TOKEN_PATHS, "each is tried");
    let objects = app.objects().await;
    let mut transcript = String::new();
    for (name, token) in bad_passes(&app, &signer, &private, &other).await {
        let manifest = app.fetch(&with_token(&addresses[0], &token)).await;
        let (status, description) = refused(&manifest);
        transcript += &format!("{name}: {status} {description}\n");
        assert_eq!(status, 401, "{name}");
        assert_eq!(manifest.header("www-authenticate"), Some("Bearer realm=\"playback\""), "{name}");
        let oembed_urls = with_token("", &token);
        assert_eq!(app.fetch(&oembed(&app, &private, &oembed_urls)).await.body, manifest.body, "{name}");
        assert_eq!(app.fetch(&oembed(&app, public, &oembed_urls)).await.status, 200, "{name}");
        for address in &addresses {
            let answer = app.fetch(&with_token(address, &token)).await;
            if address.starts_with("/embed/") {
                assert_eq!(answer.status, 401, "{name} {address}");
                assert!(!answer.text().contains("Hush") && !answer.text().contains("thumbnail"), "{name}");
            } else {
                assert_eq!(answer.body, manifest.body, "{name} {address}");
            }
            // A public playback ID ignores tokens.
            let open = address.replace(&private, public);
            assert_eq!(app.fetch(&with_token(&open, &token)).await.status, 200, "{name} {open}");
        }
    }
    insta::assert_snapshot!("refused", transcript);

    let good = signer.token(&private);
    let with_token_query = format!("{}&token={good}", oembed(&app, &private, ""));
    assert_eq!(app.fetch(&with_token_query).await.status, 401, "a token beside the address is none in it");
    let pasted = app.fetch(&oembed(&app, &private, &with_token("", &good))).await;
    assert_eq!((pasted.status, pasted.header("cache-control")), (200, Some("private, max-age=60")));
    for address in &addresses {
        for (name, value) in
            [("Authorization", format!("Bearer {good}")), ("Cookie", format!("token={good}"))]
        {
            let answer = app.request("GET", address).header(name, &value).send().await;
            assert_eq!(answer.status, 401, "{name} {address}");
        }
        assert_eq!(app.fetch(address).await.status, 401, "{address}");
        let admitted = app.fetch(&with_token(address, &good)).await;
        assert_eq!(admitted.status, 200, "{address}: {admitted:?}");
        let caching = admitted.header("cache-control").unwrap_or_default();
        assert!(caching.starts_with("private, "), "{address}: {caching}");
    }
    // Parameter errors are hidden from clients that may not watch.
    let unknown_url = addresses[0].replace(&private, "019a492c-41f3-7001-8203-040506070809");
    let [unknown, unasked] = [app.fetch(&unknown_url).await, app.fetch(&addresses[0]).await];
    assert_eq!((unknown.status, unasked.status), (404, 401));
    for wrong in [
        "thumbnail.jpg?width=0",
        "clip.gif?fps=0",
        "advanced-spritesheet.jpg?interval=0",
        "storyboard.vtt?interval=0",
    ] {
        let address = format!("/{private}/{wrong}");
        assert_eq!(app.fetch(&address).await.body, unasked.body, "{wrong}");
        let unknown_address = address.replace(&private, "019a492c-41f3-7001-8203-040506070809");
        assert_eq!(app.fetch(&unknown_address).await.body, unknown.body, "{wrong}");
        let admitted = app.fetch(&format!("{address}&token={good}")).await;
        assert_eq!(admitted.refusal().0, 422, "{wrong}");
    }
    assert_eq!(
        app.objects().await.len(),
        objects.len() + 7,
        "three thumbnails, two clips and two sheets of admitted viewers"
    );
    let counted = app.fetch("/metrics").await.text();
    for reason in ["missing", "revoked", "expired", "wrong_audience", "malformed", "bad_header", "bad_claim"]
    {
        let line = format!("kinora_playback_refused_total{{reason=\"token_{reason}\"}}");
        assert!(counted.contains(&line), "{line}");
    }
}

#[tokio::test]
async fn equivalent_token_claims_are_accepted() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let (header, claims) = (signer.header(), signer.claims(&private));
    let claiming = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        signer.sign(&header, &claims)
    };
    for token in [
        signer.token(&private),
        signer.sign(&json!({"alg": "RS256"}), &claims),
        signer.sign(&header, &json!({"aud": private, "exp": now() + 5})),
        claiming("aud", json!(["another", format!("media:{private}")])),
        claiming("exp", json!(now() as f64 - 30.5)),
        claiming("nbf", json!(now() + 30)),
        claiming("jti", json!("never revoked")),
        claiming("jti", json!("x".repeat(255))),
        claiming("groups", json!("x".repeat(5000))),
    ] {
        let answer = app.fetch(&with_token(&format!("/{private}.m3u8"), &token)).await;
        assert_eq!(answer.status, 200, "{token}: {answer:?}");
    }
}

#[tokio::test]
async fn only_signed_manifest_paths_play() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::levelled(&app).await;
    let [private, encrypted] = watched.private(&app).await;
    let public = text(&watched.media["playbackIds"][0]["id"]);
    let public_encrypted = watched.playback(&app, json!({"encryption": "aes-128"})).await;
    let mut routes = BTreeSet::new();
    for (private, public) in [(&private, public), (&encrypted, &public_encrypted)] {
        routes.extend(nothing_but_what_is_signed_plays(&app, &signer, &watched, (private, public)).await);
    }
    assert!(routes.iter().eq(&MANIFEST_PATHS), "each is tried: {routes:?}");
}

/// Compares the URLs below a private playback ID with those of a public one, and tries every forgery on each
/// of them.
///
/// Returns the tried routes.
async fn nothing_but_what_is_signed_plays(
    app: &TestApp,
    signer: &Signer,
    watched: &Watched,
    (private, public): (&str, &str),
) -> BTreeSet<String> {
    let other = &watched.playback(app, json!({"accessPolicy": "private"})).await;
    let token = signer.token(private);
    let children = signed_children(app, signer, private).await;
    assert!(children.iter().any(|child| child.contains("/aac-up")), "levelled audio: {children:?}");
    assert_eq!(children, signed_children(app, signer, private).await, "viewers of one hour share addresses");
    let is_encrypted = children.iter().any(|child| child.ends_with("/aes-128/key"));
    let signed = children[0].split('/').nth(2).expect("the signed part").to_owned();
    for child in &children {
        let answer = app.fetch(child).await;
        assert_eq!(answer.status, 200, "{child}");
        // A key is never cached.
        let is_key = child.ends_with("/aes-128/key");
        let caching = if is_key { "no-store" } else { "private, max-age=60" };
        assert_eq!(answer.header("cache-control"), Some(caching), "{child}");
        if is_key {
            continue;
        }
        let etag = answer.header("etag").expect("it has one");
        let revalidated = app.request("GET", child).header("If-None-Match", etag).send().await;
        assert_eq!(
            (revalidated.status, revalidated.header("cache-control")),
            (304, Some("private, max-age=60")),
            "{child}"
        );
        // The same bytes as those of the public playback ID, except those that are unique per playback ID.
        let open = child.replace(&format!("{private}/{signed}"), public);
        let open = app.fetch(&open).await;
        let is_same = open.body == answer.body;
        assert_eq!((open.status, is_same || is_encrypted), (200, true), "{child}");
        assert_eq!(open.header("cache-control"), Some("public, max-age=31536000, immutable"), "{child}");
    }

    // The whole value, with one character changed, cut, and extended.
    let mut forged: Vec<String> = (0..signed.len())
        .step_by(7)
        .map(|at| {
            let sign = if &signed[at..=at] == "A" { "B" } else { "A" };
            format!("{}{sign}{}", &signed[..at], &signed[at + 1..])
        })
        .collect();
    let last = signed.len() - 1;
    forged.extend(["x".to_owned(), signed[..last].to_owned(), format!("{signed}A"), format!("{signed}=")]);
    forged.extend([signed.to_uppercase(), "A".repeat(5000), "null".to_owned()]);
    let unsigned = "this playback ID is private or restricted; use the signed URLs in its manifest";
    let not_ours = "the signature of this URL is invalid; fetch the manifest again";
    for child in &children {
        let bare = child.replace(&format!("/{signed}"), "");
        assert_eq!(refused(&app.fetch(&bare).await), (401, unsigned.to_owned()), "{bare}");
        assert_eq!(refused(&app.fetch(&with_token(&bare, &token)).await).0, 401, "a token is no signature");
        for (name, id) in [("another ID's", other.as_str()), ("a public ID's", public)] {
            let moved = child.replace(private, id);
            assert_eq!(refused(&app.fetch(&moved).await), (401, not_ours.to_owned()), "{name} {moved}");
        }
    }
    // A value that was signed for the other ID is invalid for this one.
    let others = signed_children(app, signer, other).await;
    forged.push(others[1].split('/').nth(2).expect("the signed part").to_owned());
    for (child, forged) in children.iter().flat_map(|child| forged.iter().map(move |forged| (child, forged)))
    {
        let child = child.replace(&signed, forged);
        assert_eq!(refused(&app.fetch(&child).await), (401, not_ours.to_owned()), "{child}");
    }
    let escaped = children[1].replace(&signed, "%00");
    assert_eq!(app.fetch(&escaped).await.status, 404, "nothing has a percent in its path");
    // A signed path is valid neither for another index nor for unlisted files.
    for (part, instead) in [("/video/", "/other/"), ("/0.m4s", "/9999.m4s"), ("/0.m4s", "/00.m4s")] {
        let child = children.iter().find(|child| child.ends_with("/video/0.m4s")).expect("there is one");
        assert_eq!(app.fetch(&child.replace(part, instead)).await.status, 404, "{part}");
    }
    let bare = children.iter().map(|child| child.replace(&format!("/{signed}"), ""));
    children.iter().cloned().chain(bare).map(|address| route_of(&address)).collect()
}

#[tokio::test]
async fn signed_path_and_token_expire() {
    let clock = kinora_testkit::MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let private = json!({"accessPolicy": "private", "encryption": "aes-128"});
    let private = Ids::of(&app, &media).made(&private).await;
    let start = kinora_domain::Clock::now(&clock).as_seconds();
    let until = |end: i64| {
        let claims = json!({"aud": private, "exp": end});
        with_token(&format!("/{private}.m3u8"), &signer.sign(&signer.header(), &claims))
    };
    let hour = until(start + 3600);
    let played = children(&app, &hour, plain).await;
    // 12 h after the end of a media of 2 s that was requested at 10:03:48, rounded up to the hour.
    let end = (start + 2 + 12 * 3600).div_euclid(3600) * 3600 + 3600;
    for (seconds, token, path) in [
        (start + 3659, 200, 200),
        (start + 3660, 401, 200),
        (end - 1, 401, 200),
        (end, 401, 401),
        (end + 1_000_000, 401, 401),
    ] {
        clock.set(kinora_domain::Timestamp::from_micros(seconds * 1_000_000));
        assert_eq!(app.fetch(&hour).await.status, token, "{seconds}");
        for child in &played {
            assert_eq!(app.fetch(child).await.status, path, "{seconds} {child}");
        }
    }
    let expired = "this URL has expired; fetch the manifest again".to_owned();
    for child in &played {
        assert_eq!(refused(&app.fetch(child).await), (401, expired.clone()), "{child}");
    }
    let now = kinora_domain::Clock::now(&clock).as_seconds();
    assert!(!listed(&app.fetch(&until(now + 60)).await.text()).is_empty());
}

#[tokio::test]
async fn path_spelling_cannot_bypass_access() {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let public = text(&watched.media["playbackIds"][0]["id"]);
    let children = signed_children(&app, &signer, &private).await;
    let segment = children.iter().find(|child| child.ends_with("/video/0.m4s")).expect("there is one");
    let (signed, index) = (segment.split('/').nth(2).unwrap(), segment.split('/').nth(3).unwrap());
    let manifest = format!("{private}.m3u8");
    let bare = format!("{private}/{index}/video/0.m4s");
    let opened = format!("{public}/{index}/video");
    for target in [
        format!("/{public}/../{manifest}"),
        format!("/{public}/%2e%2e/{manifest}"),
        format!("/{public}/%252e%252e/{manifest}"),
        format!("/{public}/..%2f{manifest}"),
        format!("/./{manifest}"),
        format!("/%2e/{manifest}"),
        format!("//{manifest}"),
        format!("/{manifest}/"),
        format!("/{manifest}%2f"),
        format!("/{manifest}%00"),
        format!("/{manifest};x=1"),
        format!("/{manifest}%3ftoken=x"),
        format!("/{manifest}#token"),
        format!("/{private}%2em3u8"),
        format!("/{private}%252em3u8"),
        format!("/{}.m3u8", private.to_uppercase()),
        format!("/{private}.M3U8"),
        format!("/{{{private}}}.m3u8"),
        format!("/embed/../{manifest}"),
        format!("/playlist/{manifest}"),
        format!("/playlist/../{manifest}"),
        app.url(&format!("/{manifest}")),
        format!("/{opened}/../../../{bare}"),
        format!("/{opened}/..%2f..%2f..%2f{}", bare.replace('/', "%2f")),
        format!("/{opened}/%2e%2e/%2e%2e/%2e%2e/{bare}"),
        format!("/{public}/{signed}/{index}/video/0.m4s"),
        format!("/{private}/{signed}/../{index}/video/0.m4s"),
        format!("/{private}/{signed}%2f..%2f{index}/video/0.m4s"),
        format!("/{private}//{index}/video/0.m4s"),
        format!("/{private}/./{index}/video/0.m4s"),
        format!("/{private}/%2e/{index}/video/0.m4s"),
        format!("/{private}/{}/{index}/video/0.m4s", signed.to_lowercase()),
        format!("/{private}/{index}/{signed}/video/0.m4s"),
        format!("/{private}/{index}/video/0.m4s?token={signed}"),
        format!("/{private}/thumbnail.jpg/"),
        format!("/{private}/./thumbnail.jpg"),
        format!("/{private}/%2e%2e/{private}/thumbnail.jpg"),
        format!("/{private}%2fthumbnail.jpg"),
        format!("/{private}/subtitles/../thumbnail.jpg"),
        format!("/{private}/subtitles/{}.vtt", watched.track),
        format!("/{private}/source?download=a&Token=x"),
    ] {
        let answer = app.fetch(&target).await;
        assert!(matches!(answer.status, 400 | 401 | 404), "{target}: {answer:?}");
    }
    assert_eq!(app.fetch(segment).await.status, 200);
}

#[tokio::test]
async fn playback_id_must_be_lower_case() {
    let app = TestApp::start().await;
    let watched = Watched::new(&app).await;
    // A playback ID that contains letters.
    let playback = loop {
        let made = watched.playback(&app, json!({"accessPolicy": "public"})).await;
        if made.contains(|letter: char| letter.is_ascii_lowercase()) {
            break made;
        }
    };
    let (shouted, folder) = (playback.to_ascii_uppercase(), format!("/{playback}/"));
    // %XX of its first byte (RFC 3986, 2.1).
    let escaped = format!("%{:02x}{}", playback.as_bytes()[0], &playback[1..]);
    let listed = children(&app, &format!("/{playback}.m3u8"), plain).await;
    for address in watched.token_urls(&playback).iter().chain(&listed) {
        assert_eq!(app.fetch(address).await.status, 200, "{address}");
        assert!(address.starts_with(&folder) || address.contains(&playback), "{address}");
        for spelling in [&shouted, &escaped] {
            let other = address.replace(&playback, spelling);
            assert_eq!(app.fetch(&other).await.status, 404, "{other}");
        }
    }
}
