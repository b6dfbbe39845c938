//! `kinora demo`, and the one URL that is served from the store.

use kinora_blob::ObjectKey;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::{Machine, fields};
use crate::support::{text, until};

/// The rest of the only line with this prefix.
fn line<'a>(output: &'a str, beginning: &str) -> &'a str {
    let found = output.lines().find_map(|line| line.strip_prefix(beginning));
    found.unwrap_or_else(|| panic!("no line begins with {beginning:?}:\n{output}")).trim()
}

#[tokio::test]
async fn demo_prints_a_playable_page_and_no_secret_unless_requested() {
    let machine = Machine::new().await;
    let server = machine.serve(&[]).await;
    // Its output is a pipe, like a log, so it creates no token.
    let first = machine.run(&["demo"]).await.ok();
    let player = line(&first.stdout, "Player").to_owned();
    assert_eq!(machine.json(&["token", "list"]).await, json!([]));
    assert!(first.stderr.contains("no secret is printed"), "{first:?}");
    assert!(first.stderr.contains("kinora user create --email you@example.com"), "{first:?}");
    assert_eq!(machine.json(&["user", "list"]).await, json!([]));
    assert!(first.stdout.contains("curl -u \"$KINORA_TOKEN\""), "{first:?}");

    let page = player.strip_prefix(&machine.url("")).expect("an address of this server");
    assert_eq!(machine.fetch(page).await.status, 200);
    let playback = page.strip_prefix("/embed/").expect("the player page").to_owned();
    let manifest = machine.fetch(&format!("/{playback}.m3u8")).await;
    assert!(manifest.status == 200 && manifest.text().contains("RESOLUTION="), "{manifest:?}");

    // Later runs print only the URLs, of the same media.
    for _ in 0..2 {
        let later = machine.run(&["demo"]).await.ok();
        assert_eq!(line(&later.stdout, "Player"), player);
        assert_eq!(line(&later.stdout, "Manifest"), machine.url(&format!("/{playback}.m3u8")));
        assert!(later.stderr.starts_with("no administrator can sign in"), "{later:?}");
        assert!(!later.stdout.contains("/dashboard/"), "{later:?}");
    }
    let later = machine.json(&["demo"]).await;
    let expected = vec!["dashboard", "id", "manifest", "player"];
    assert_eq!((fields(&later), text(&later["player"])), (expected, &*player));
    let listed = machine.json(&["media", "list", "--workspace", "Demo"]).await;
    assert_eq!(listed["total"], 1);
    assert_eq!(machine.json(&["token", "list"]).await, json!([]));

    // The requests of the printed curl commands, with a token as the hint says.
    let token = machine.token("Demo", "read-write").await;
    let body = first.stdout.split_once("-d '").unwrap().1.split('\'').next().unwrap();
    let body = serde_json::from_str(body).expect("a JSON body");
    let created = machine.request("POST", "/v1/on-demand").token(&token).json(&body).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    let read = first.stdout.trim_end().rsplit(' ').next().unwrap().strip_prefix(&machine.url("")).unwrap();
    let media = machine.request("GET", read).token(&token).send().await.data();
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:20")));

    let run = server.stop().await.ok();
    for output in [&first.stdout, &first.stderr, &run.stdout, &run.stderr] {
        assert!(!output.contains(&token.secret));
    }
    assert!(!run.stderr.contains(&playback), "a playback ID is the whole secret of a public media");
}

/// A machine with a stored, short demo clip: making the clip takes seconds.
async fn machine_with_clip() -> Machine {
    let machine = Machine::new().await;
    machine.ground.blob().await.put_once(ObjectKey::DemoClip, fixture::two_seconds()).await.unwrap();
    machine
}

#[tokio::test]
async fn json_output_has_a_working_token() {
    let machine = machine_with_clip().await;
    let server = machine.serve(&[]).await;
    let demo = machine.json(&["demo"]).await;
    assert_eq!(fields(&demo), ["dashboard", "id", "manifest", "player", "token"]);
    let (id, secret) = (text(&demo["token"]["id"]), text(&demo["token"]["secret"]));
    let path = format!("/v1/on-demand/{}", text(&demo["id"]));
    let media = machine.request("GET", &path).basic(id, secret).send().await.data();
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:02")));
    server.stop().await.ok();
}

#[tokio::test]
async fn setup_link_is_new_in_each_run_until_an_administrator_has_a_password() {
    let machine = machine_with_clip().await;
    let server = machine.serve(&[]).await;
    let url = |demo: &Value| {
        let url = text(&demo["dashboard"]["url"]).to_owned();
        assert!(url.starts_with(&machine.url("/dashboard/setup#")), "{url}");
        url
    };
    let first = machine.json(&["demo"]).await;
    assert_eq!(first["dashboard"]["email"], "admin@kinora.local");
    let second = machine.json(&["demo", "--email", "you@example.com"]).await;
    assert_eq!(second["dashboard"]["email"], "admin@kinora.local", "no second person");
    assert_ne!(url(&first), url(&second));
    assert_eq!(machine.json(&["user", "list"]).await.as_array().unwrap().len(), 1);

    let file = machine.folder().join("password");
    std::fs::write(&file, "marmalade on the north pier").unwrap();
    let create = ["user", "create", "--email", "you@example.com", "--role", "admin", "--password-stdin"];
    machine.kinora(&create).input(&file).run().await.ok();
    let later = machine.run(&["demo"]).await.ok();
    assert_eq!(later.stderr, "");
    assert_eq!(machine.json(&["demo"]).await.get("dashboard"), None);
    server.stop().await.ok();
}

#[tokio::test]
async fn only_the_demo_clip_url_is_exempt_from_the_guard() {
    let machine = machine_with_clip().await;
    let server = machine.serve(&[]).await;
    let token = machine.token("Development", "read-write").await;
    let port = machine.address.port();
    let clip = machine.url("/demo/clip.mp4");
    let others = [
        format!("{clip}?x=1"),
        format!("{clip}#x"),
        format!("{clip}/"),
        machine.url("/demo/other"),
        machine.url("/demo/../demo/clip.mp4"),
        machine.url("/demo/%63lip.mp4"),
        machine.url("//demo/clip.mp4"),
        machine.url("/"),
        machine.url("/metrics"),
        format!("HTTP://127.0.0.1:{port}/demo/clip.mp4"),
        format!("http://127.0.0.1:{}/demo/clip.mp4", port.wrapping_add(1).max(1024)),
        "http://127.0.0.1/demo/clip.mp4".to_owned(),
        format!("http://localhost:{port}/demo/clip.mp4"),
        format!("http://[::1]:{port}/demo/clip.mp4"),
        format!("http://[::ffff:127.0.0.1]:{port}/demo/clip.mp4"),
        format!("http://127.1:{port}/demo/clip.mp4"),
        format!("http://0x7f.1:{port}/demo/clip.mp4"),
        format!("http://2130706433:{port}/demo/clip.mp4"),
        format!("http://0177.0.0.1:{port}/demo/clip.mp4"),
        format!("http://0.0.0.0:{port}/demo/clip.mp4"),
        format!("http://127.0.0.2:{port}/demo/clip.mp4"),
        format!("http://①②⑦.0.0.1:{port}/demo/clip.mp4"),
    ];
    let create = async |url: &str| {
        let body = json!({"inputs": [{"type": "video", "url": url}]});
        let created = machine.request("POST", "/on-demand").token(&token).json(&body).send().await;
        assert_eq!(created.status, 201, "{url}: {created:?}");
        let path = format!("/on-demand/{}", text(&created.data()["id"]));
        until("the media is settled", async || {
            let media = machine.request("GET", &path).token(&token).send().await.data();
            matches!(text(&media["status"]), "Ready" | "Failed").then_some(media)
        })
        .await
    };
    for url in &others {
        let media = create(url).await;
        assert_eq!(media["error"]["code"], "source_forbidden_address", "{url}: {media}");
    }
    assert_eq!(create(&clip).await["status"], "Ready");
    server.stop().await.ok();
}
