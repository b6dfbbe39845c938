//! The log of a server: one line per request, and no secrets.

use kinora_testkit::{Source, SourceServer, WebhookReceiver, fixture};
use serde_json::{Value, json};

use super::{Machine, fields};
use crate::support::{DEADLINE, text};

const PASSWORD: &str = "correct horse battery";
const WRONG_PASSWORD: &str = "incorrect donkey cell";

/// Uses a link, signs in and reads, also wrongly, then plays a media by a pass. Returns the secrets of the
/// link, the session and the pass.
async fn sign_in(machine: &Machine, media: &str) -> [String; 3] {
    let created = ["user", "create", "--email", "ada@example.com", "--role", "administrator"];
    let link = machine.json(&created).await;
    let link = text(&link["link"]["url"]).split('#').nth(1).expect("a secret in the fragment").to_owned();
    let request = |method: &str, path: &str| {
        machine.request(method, &format!("/dashboard/api{path}")).header("Sec-Fetch-Site", "same-origin")
    };
    let body = json!({"secret": link, "name": "Ada", "password": PASSWORD});
    for status in [201, 410] {
        assert_eq!(request("POST", "/links/use").json(&body).send().await.status, status);
    }
    let credentials = |password: &str| json!({"email": "ada@example.com", "password": password});
    let wrong = request("POST", "/session").json(&credentials(WRONG_PASSWORD)).send().await;
    assert_eq!(wrong.status, 401);
    let signed_in = request("POST", "/session").json(&credentials(PASSWORD)).send().await;
    let cookie =
        signed_in.header("set-cookie").expect("a cookie").split(';').next().unwrap_or_default().to_owned();
    assert_eq!(request("GET", "/me").header("Cookie", &cookie).send().await.status, 200);
    let me = request("GET", "/session").header("Cookie", &cookie).send().await.data();
    let workspaces = me["workspaces"].as_array().expect("a list");
    let workspace =
        workspaces.iter().find(|workspace| workspace["name"] == "Development").expect("it is there");
    let path = format!("/workspaces/{}/media/{media}/pass", text(&workspace["id"]));
    let pass = request("POST", &path).header("Cookie", &cookie).json(&json!({})).send().await.data();
    let (playback, pass) = (text(&pass["playbackId"]), text(&pass["token"]).to_owned());
    for path in
        [format!("/embed/{playback}"), format!("/{playback}.m3u8"), format!("/{playback}/thumbnail.jpg")]
    {
        let answer = machine.fetch(&format!("{path}?token={pass}")).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    [link, cookie.split('=').nth(1).expect("it has a value").to_owned(), pass]
}

/// Does one operation for each kind of secret, and returns the secrets with the log of the server.
async fn log_of_a_day(arguments: &[&str]) -> (Vec<(&'static str, String)>, String) {
    let machine = Machine::new().await;
    let (sources, receiver) = (SourceServer::start().await, WebhookReceiver::start().await);
    let token = machine.token("Development", "read-write").await;
    let url = receiver.url("/hook-3f9c0a");
    let hook = machine.json(&["webhook", "create", "--workspace", "Development", "--url", &url]).await;
    let server = machine.serve(&[&["--allow-private", "127.0.0.0/8"], arguments].concat()).await;

    sources.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let signed = sources.url("/a.mp4?signature=5d41402abc4b2a76");
    let none = sources.url("/none.mp4?signature=5d41402abc4b2a76");
    let call = |method: &str, path: &str| machine.request(method, path).token(&token);
    let (mut playback, mut ready) = (String::new(), None);
    for url in [signed, none] {
        let body = json!({"inputs": [{"type": "video", "url": url}], "title": "a very private title"});
        let made = call("POST", "/on-demand").json(&body).send().await.data();
        machine.run(&["media", "wait", text(&made["id"])]).await;
        let id = text(&made["playbackIds"][0]["id"]);
        for path in [
            format!("/{id}.m3u8?token=header.payload.seal"),
            format!("/{id}/thumbnail.jpg"),
            format!("/embed/{id}"),
        ] {
            machine.fetch(&path).await;
        }
        playback = id.to_owned();
        ready = ready.or(Some(text(&made["id"]).to_owned()));
    }
    call("GET", "/on-demand").header("X-Request-Id", "request-of-the-test").send().await;
    machine.request("GET", "/on-demand").basic(&token.id, "a-wrong-secret").send().await;
    receiver.wait_for_event("video.media.failed", DEADLINE).await;
    let [link, cookie, pass] = sign_in(&machine, &ready.expect("the first one is")).await;
    let log = server.stop().await.ok().stderr;
    let secrets = vec![
        ("the secret of the token", token.secret.clone()),
        ("a secret that was tried", "a-wrong-secret".to_owned()),
        ("the secret of a link", link),
        ("the secret of a session", cookie),
        ("a pass", pass),
        ("a password", PASSWORD.to_owned()),
        ("a password that was tried", WRONG_PASSWORD.to_owned()),
        ("the secret of the webhook", text(&hook["secret"]).to_owned()),
        ("a playback ID", playback),
        ("a playback token", "header.payload.seal".to_owned()),
        ("a signed address", "5d41402abc4b2a76".to_owned()),
        ("a body", "a very private title".to_owned()),
    ];
    (secrets, log)
}

#[tokio::test]
async fn request_log_line_has_id_and_route_but_no_secrets() {
    let (secrets, log) = log_of_a_day(&["--log-format", "json"]).await;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let of_test = |line: &&Value| line["span"]["request.id"] == "request-of-the-test";
    let [line] = lines.iter().filter(of_test).collect::<Vec<_>>()[..] else { panic!("one line:\n{log}") };
    assert_eq!(
        (text(&line["http.method"]), text(&line["http.route"]), &line["http.status"], text(&line["level"])),
        ("GET", "/on-demand", &json!(200), "INFO")
    );
    assert!(fields(line).iter().any(|name| name.starts_with("duration_")), "{line}");
    for (what, secret) in secrets {
        assert!(!log.contains(&secret), "{what} is in the log:\n{log}");
    }
}

#[tokio::test]
async fn debug_log_contains_no_secrets() {
    let (secrets, log) = log_of_a_day(&["--log", "debug"]).await;
    assert!(log.contains("DEBUG"), "{log}");
    for (what, secret) in secrets {
        assert!(!log.contains(&secret), "{what} is in the log:\n{log}");
    }
}
