//! Passes: a person plays a media under any rules of its playback ID, and nothing else.

use kinora_domain::{PRODUCTION, Role};
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::playing::{ask_pass, media_path, only_playback_id, pass_of, world};
use super::support::{World, problem};
use crate::api::Ids;
use crate::private::revocation::revoke;
use crate::private::watched::{Watched, children, oembed, plain, refused, with_token};
use crate::support::{Request, text};

const FORGED: &str = "this pass is not valid for this playback ID; open the media in the dashboard again";
const EXPIRED: &str = "this pass has expired; open the media in the dashboard again";
const MINUTE_S: i64 = 60;

/// Playback IDs that admit no viewer without a pass: each page and each player is denied.
fn closed() -> [Value; 3] {
    let none = json!({"defaultPolicy": "deny"});
    let restrictions = json!({"domains": none, "userAgents": none});
    [
        json!({"accessPolicy": "public", "accessRestrictions": restrictions}),
        json!({"accessPolicy": "private", "accessRestrictions": restrictions}),
        json!({"accessPolicy": "private", "accessRestrictions": restrictions, "encryption": "aes-128"}),
    ]
}

/// The addresses of a playback ID that take a token and that it offers.
fn offered(watched: &Watched, playback: &str, settings: &Value) -> Vec<String> {
    let whole_files = ["/source", "/capped-4k.mp4", "/audio.m4a"];
    let is_offered = |address: &String| {
        settings["encryption"].is_null() || !whole_files.iter().any(|file| address.ends_with(file))
    };
    watched.token_urls(playback).into_iter().filter(is_offered).collect()
}

#[tokio::test]
async fn pass_plays_restricted_and_encrypted_media_to_the_last_segment() {
    let (world, watched) = world().await;
    let viewer = world.browser_of(Role::Viewer).await;
    for settings in closed() {
        let playback = only_playback_id(&world, &watched.media, &settings).await;
        let pass = pass_of(&world, &viewer, &watched.media).await;
        for address in offered(&watched, &playback, &settings) {
            assert!(matches!(world.app.fetch(&address).await.status, 401 | 403), "{address}");
            // The page of the dashboard sends no referrer; other pages and players pass as well.
            let request = plain(&with_token(&address, &pass));
            let elsewhere =
                request.clone().with("Origin", "https://evil.example").with("User-Agent", "curl/8");
            for request in [request, elsewhere] {
                let answer = request.get(&world.app).await;
                assert_eq!(answer.status, 200, "{settings} {request:?}: {answer:?}");
                let control = answer.header("cache-control").expect("a policy");
                assert!(control.starts_with("private, "), "{address}: {control}");
            }
        }
        let manifest = with_token(&format!("/{playback}.m3u8"), &pass);
        let signed = children(&world.app, &manifest, plain).await;
        let has_key = signed.iter().any(|address| address.ends_with("/aes-128/key"));
        assert_eq!(has_key, !settings["encryption"].is_null());
        for address in signed {
            for request in [plain(&address), plain(&address).with("Origin", "https://evil.example")] {
                let answer = request.get(&world.app).await;
                assert_eq!(answer.status, 200, "{settings} {address}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn page_with_a_pass_passes_it_on_and_any_page_may_embed_it() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Member).await;
    for settings in closed() {
        let playback = only_playback_id(&world, &watched.media, &settings).await;
        let answer = ask_pass(&world, &browser, &watched.media).await.data();
        let pass = text(&answer["token"]);
        assert_eq!(answer["playbackId"], json!(playback));
        let url = text(&answer["url"]);
        assert_eq!(url, world.app.url(&format!("/embed/{playback}?token={pass}")));
        assert!(pass.starts_with("pass."), "it cannot be taken for a JWT");

        let page = world.app.fetch(url.strip_prefix(&world.app.url("")).unwrap()).await;
        assert_eq!((page.status, page.header("cache-control")), (200, Some("private, no-cache")));
        let text = page.text();
        for file in [".m3u8", "/thumbnail.jpg", "/storyboard.vtt"] {
            assert!(text.contains(&format!("/{playback}{file}?token={pass}")), "{file}: {text}");
        }
        assert!(text.contains("Hush"), "the title");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("frame-ancestors *"), "{policy}");
        let pasted = world.app.fetch(&oembed(&world.app, &playback, &with_token("", pass))).await;
        assert_eq!(pasted.status, 200, "{pasted:?}");
        // No longer than the pass, in whole seconds.
        let cache_age = pasted.json()["cache_age"].as_i64().unwrap();
        assert!((15 * MINUTE_S - 1..=15 * MINUTE_S).contains(&cache_age), "{cache_age}");
    }
}

#[tokio::test]
async fn largest_playback_id_is_chosen() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    let ids = Ids::of(&world.app, &watched.media);
    let small = only_playback_id(&world, &watched.media, &json!({"resolution": "480p"})).await;
    let chosen = async || ask_pass(&world, &browser, &watched.media).await.data()["playbackId"].take();
    assert_eq!(chosen().await, json!(small));
    let large = ids.made(&json!({"accessPolicy": "private"})).await;
    ids.made(&json!({"resolution": "720p"})).await;
    ids.made(&json!({"accessPolicy": "private"})).await;
    assert_eq!(chosen().await, json!(large), "the first one without a bound");
}

#[tokio::test]
async fn each_role_gets_a_pass_and_others_do_not() {
    let (world, watched) = world().await;
    let path = format!("{}/pass", media_path(&world, &watched.media).await);
    for role in Role::ALL {
        let browser = world.browser_of(role).await;
        let answer = browser.post(&path, &json!({})).await;
        assert_eq!((answer.status, answer.header("cache-control")), (201, Some("no-store")), "{role:?}");
    }
    let browser = world.browser_of_person(&world.person("a@example.com", Role::Viewer).await).await;
    let id = text(&watched.media["id"]);
    let [_, production] = world.workspace_ids().await;
    let other = browser.post(&format!("/workspaces/{production}/media/{id}/pass"), &json!({})).await;
    assert_eq!(other.refusal(), (404, "media workspace relation not found".to_owned()), "{PRODUCTION}");
    let signed_out = world.browser().post(&path, &json!({})).await;
    assert_eq!(signed_out.refusal(), (401, "unauthorized".to_owned()));
    let token = world.browser().request("POST", &path).token(&world.app.token).json(&json!({}));
    assert_eq!(token.send().await.status, 401);
    let cross_site = browser.bare_request("POST", &path).header("Sec-Fetch-Site", "cross-site");
    assert_eq!(cross_site.json(&json!({})).send().await.status, 403);
    let form = browser.request("POST", &path).header("Content-Type", "text/plain").body("{}");
    assert_eq!(form.send().await.status, 415);
    assert_eq!(browser.post(&path, &json!([])).await.status, 422);
    assert_eq!(browser.get(&path).await.status, 405);
}

#[tokio::test]
async fn media_that_does_not_play_is_409() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    for playback in watched.media["playbackIds"].as_array().unwrap() {
        Ids::of(&world.app, &watched.media).delete(text(&playback["id"])).await;
    }
    let answer = ask_pass(&world, &browser, &watched.media).await;
    assert_eq!(answer.refusal(), (409, "no playback id".to_owned()));
    assert_eq!(problem(&answer).1, ["this media has no playback ID; create one, then play it"]);
    let failed = world.app.create(&world.app.serve("/none.txt", kinora_testkit::Source::of("none"))).await;
    world.app.wait_settled(text(&failed["id"])).await;
    let answer = ask_pass(&world, &browser, &failed).await;
    assert_eq!(answer.refusal(), (409, "media is not ready".to_owned()));
    let idle = World::start().await;
    let waiting = idle.app.create("http://127.0.0.1/a.mp4").await;
    let browser = idle.browser_of(Role::Admin).await;
    let answer = ask_pass(&idle, &browser, &waiting).await;
    assert_eq!(answer.refusal(), (409, "media is not ready".to_owned()));
    let unknown = json!({"id": "019a492c-41f3-7001-8203-040506070809"});
    assert_eq!(ask_pass(&idle, &browser, &unknown).await.status, 404);
}

#[tokio::test]
async fn pass_ends_after_15_minutes_and_what_it_opened_one_hour_after_the_media() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    for settings in closed() {
        let playback = only_playback_id(&world, &watched.media, &settings).await;
        let pass = pass_of(&world, &browser, &watched.media).await;
        let addresses: Vec<_> =
            offered(&watched, &playback, &settings).iter().map(|url| with_token(url, &pass)).collect();
        let signed = children(&world.app, &addresses[0], plain).await;
        world.clock.advance_seconds(15 * MINUTE_S - 1);
        for address in &addresses {
            assert_eq!(world.app.fetch(address).await.status, 200, "{address}");
        }
        let last = children(&world.app, &addresses[0], plain).await;
        world.clock.advance_seconds(1);
        for address in &addresses {
            let answer = world.app.fetch(address).await;
            if address.starts_with("/embed/") {
                assert_eq!(answer.status, 401, "{address}");
                assert!(!answer.text().contains("Hush") && !answer.text().contains(&pass), "{address}");
            } else {
                assert_eq!(refused(&answer), (401, EXPIRED.to_owned()), "{address}");
            }
        }
        for address in signed.iter().chain(&last) {
            assert_eq!(world.app.fetch(address).await.status, 200, "the film goes on: {address}");
        }
        world.clock.advance_seconds(62 * MINUTE_S);
        for address in signed.iter().chain(&last) {
            let answer = refused(&world.app.fetch(address).await);
            let expired = "this URL has expired; fetch the manifest again".to_owned();
            assert_eq!(answer, (401, expired), "{address}");
        }
    }
}

#[tokio::test]
async fn tampered_pass_is_401() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Admin).await;
    let [_, settings, _] = closed();
    let playback = only_playback_id(&world, &watched.media, &settings).await;
    let pass = pass_of(&world, &browser, &watched.media).await;
    let fetch = async |token: &str| world.app.fetch(&with_token(&format!("/{playback}.m3u8"), token)).await;
    assert_eq!(fetch(&pass).await.status, 200);
    let (prefix, encoded) = pass.split_at("pass.".len());
    for at in 0..encoded.len() {
        let mut letters = encoded.as_bytes().to_vec();
        letters[at] = if letters[at] == b'A' { b'B' } else { b'A' };
        let changed = format!("{prefix}{}", String::from_utf8(letters).unwrap());
        let answer = fetch(&changed).await;
        assert_eq!(answer.status, 401, "letter {at} of {pass}: {answer:?}");
        assert_eq!(refused(&answer).1, FORGED);
    }
    for other in [prefix.to_owned(), format!("{pass}="), format!("{pass}A"), format!("pass.{pass}")] {
        assert_eq!(refused(&fetch(&other).await), (401, FORGED.to_owned()), "{other}");
    }
    // Without its prefix it is an invalid token, and twice it is none.
    for other in [encoded.to_owned(), format!("{pass}&token={pass}"), format!("PASS.{encoded}")] {
        assert_eq!(fetch(&other).await.status, 401, "{other}");
    }
    // A pass is no signed path, and a signed path no pass.
    let children = children(&world.app, &with_token(&format!("/{playback}.m3u8"), &pass), plain).await;
    let signed = children[0].split('/').nth(2).unwrap().to_owned();
    assert_eq!(fetch(&format!("pass.{signed}")).await.status, 401);
    for part in [encoded, &pass] {
        assert_eq!(world.app.fetch(&children[0].replace(&signed, part)).await.status, 401, "{part}");
    }
    let header = plain(&format!("/{playback}.m3u8")).with("Authorization", &format!("Bearer {pass}"));
    assert_eq!(header.get(&world.app).await.status, 401);
}

#[tokio::test]
async fn pass_and_its_paths_open_no_other_playback_id() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Admin).await;
    let [public, private, encrypted] = closed();
    let playback = only_playback_id(&world, &watched.media, &private).await;
    let second = world.app.ready("/b.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&world.app, &watched.media);
    let others = [
        ids.made(&public).await,
        ids.made(&private).await,
        ids.made(&encrypted).await,
        only_playback_id(&world, &second, &private).await,
    ];
    let pass = pass_of(&world, &browser, &watched.media).await;
    let signed = children(&world.app, &with_token(&format!("/{playback}.m3u8"), &pass), plain).await;
    for other in &others {
        for address in watched.token_urls(other) {
            let answer = world.app.fetch(&with_token(&address, &pass)).await;
            assert_eq!(answer.status, 401, "{address}: {answer:?}");
        }
        for address in &signed {
            let answer = world.app.fetch(&address.replace(&playback, other)).await;
            assert_eq!(answer.status, 401, "{address}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn pass_ends_with_the_generation_and_with_the_playback_id() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    for settings in closed() {
        let playback = only_playback_id(&world, &watched.media, &settings).await;
        let pass = pass_of(&world, &browser, &watched.media).await;
        let addresses: Vec<_> =
            offered(&watched, &playback, &settings).iter().map(|url| with_token(url, &pass)).collect();
        let signed = children(&world.app, &addresses[0], plain).await;
        let body = json!({"jti": playback, "playbackId": playback, "endPlayback": true});
        assert_eq!(revoke(&world.app, &body).await.status, 201);
        for address in addresses.iter().chain(&signed) {
            let answer = world.app.fetch(address).await;
            assert_eq!(answer.status, 401, "{address}: {answer:?}");
        }
        let pass = pass_of(&world, &browser, &watched.media).await;
        let addresses: Vec<_> =
            offered(&watched, &playback, &settings).iter().map(|url| with_token(url, &pass)).collect();
        let signed = children(&world.app, &addresses[0], plain).await;
        assert_eq!(Ids::of(&world.app, &watched.media).delete(&playback).await.status, 200);
        for address in addresses.iter().chain(&signed) {
            assert_eq!(world.app.fetch(address).await.status, 404, "{address}");
        }
    }
}

#[tokio::test]
async fn public_playback_id_without_rules_does_not_read_a_pass() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    let playback = only_playback_id(&world, &watched.media, &json!({})).await;
    let pass = pass_of(&world, &browser, &watched.media).await;
    for address in watched.token_urls(&playback) {
        let expected = world.app.fetch(&address).await;
        for token in [pass.as_str(), "pass.AAAA"] {
            let answer = world.app.fetch(&with_token(&address, token)).await;
            assert_eq!((answer.status, &answer.body), (200, &expected.body), "{address}");
            let [found, expected] = [&answer, &expected].map(|answer| answer.header("cache-control"));
            assert_eq!(found, expected, "{address}");
        }
    }
}

/// What a pass opens is stored by no shared cache, also where the operator allows them.
#[tokio::test]
async fn shared_caches_store_nothing_that_a_pass_opened() {
    let world =
        World::start_with(|options| options.roles(kinora_server::Roles::ALL).shared_max_age_s(600)).await;
    let watched = Watched::new(&world.app).await;
    let browser = world.browser_of(Role::Viewer).await;
    let playback = only_playback_id(&world, &watched.media, &json!({"accessPolicy": "private"})).await;
    let pass = pass_of(&world, &browser, &watched.media).await;
    for address in children(&world.app, &with_token(&format!("/{playback}.m3u8"), &pass), plain).await {
        let answer = world.app.fetch(&address).await;
        assert_eq!(answer.header("cache-control"), Some("private, max-age=60"), "{address}");
    }
    // The browser caches no longer than the pass is valid.
    world.clock.advance_seconds(15 * MINUTE_S - 10);
    let answer = world.app.fetch(&with_token(&format!("/{playback}/thumbnail.jpg"), &pass)).await;
    let control = answer.header("cache-control").unwrap();
    assert!(["private, max-age=9", "private, max-age=10"].contains(&control), "{control}");
}

#[tokio::test]
async fn pass_opens_no_operation() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Admin).await;
    let pass = pass_of(&world, &browser, &watched.media).await;
    let path = media_path(&world, &watched.media).await;
    let id = text(&watched.media["id"]);
    for target in [
        "/v1/on-demand".to_owned(),
        format!("/v1/on-demand/{id}"),
        format!("/dashboard/api{path}/picture.jpg"),
        format!("/dashboard/api{}", path.replace("/media/", "/on-demand/")),
        "/dashboard/api/session".to_owned(),
    ] {
        let request = |target: &str| -> Request {
            world.app.request("GET", target).header("Sec-Fetch-Site", "same-origin")
        };
        for request in [
            request(&with_token(&target, &pass)),
            request(&target).basic(&pass, &pass),
            request(&target).header("Authorization", &format!("Bearer {pass}")),
            request(&target).header("Cookie", &format!("kinora={pass}; __Host-kinora={pass}")),
        ] {
            let answer = request.send().await;
            assert_eq!(answer.status, 401, "{target}: {answer:?}");
        }
    }
}
