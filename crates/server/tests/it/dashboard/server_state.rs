//! The page Server: its shape, its checks, and what it never shows.

use kinora_domain::{Clock as _, Role};
use kinora_server::Roles;
use serde_json::{Value, json};

use super::support::{Browser, World};
use crate::support::text;

async fn server(browser: &Browser<'_>) -> Value {
    let answer = browser.get("/server").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()
}

#[tokio::test]
async fn server_lists_versions_checks_and_space() {
    let world = World::start().await;
    let started_at = world.clock.now().to_string();
    let browser = world.browser_of(Role::Admin).await;
    world.clock.advance_seconds(60);
    let server = server(&browser).await;
    let well = |name: &str| json!({"name": name, "isOk": true, "problem": null, "advice": null});
    let [free, total] = ["freeBytes", "totalBytes"].map(|name| server["storage"][name].clone());
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "startedAt": started_at,
        "roles": ["api", "delivery"],
        "checks": [well("database"), well("storage"), well("confinement")],
        "database": {"kind": server["database"]["kind"], "schema": world.app.store.schema()},
        "storage": {"kind": server["storage"]["kind"], "freeBytes": free, "totalBytes": total},
        "engine": {"name": "ffmpeg", "version": server["engine"]["version"]},
    });
    assert_eq!(server, expected);
    assert!(text(&server["engine"]["version"]).starts_with(|first: char| first.is_ascii_alphanumeric()));
    match text(&server["storage"]["kind"]) {
        "folder" => {
            let (free, total) = (free.as_u64().unwrap(), total.as_u64().unwrap());
            assert!(0 < free && free <= total, "{free} of {total}");
        }
        kind => assert_eq!((kind, free, total), ("s3", Value::Null, Value::Null)),
    }
}

#[tokio::test]
async fn server_shows_no_address_path_or_secret() {
    let world = World::start().await;
    let text = server(&world.browser_of(Role::Admin).await).await.to_string();
    let folder = world.app.ground.data_dir().display().to_string();
    for hidden in ["://", "/tmp", &folder, &world.app.token.secret, "password", "secret"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

#[tokio::test]
async fn failing_check_shows_problem_and_advice() {
    let world = World::start_with(|options| {
        let options = options.without_guarantee("files", "the kernel has no Landlock");
        options.roles(Roles { worker: false, delivery: false, ..Roles::ALL })
    })
    .await;
    let server = server(&world.browser_of(Role::Admin).await).await;
    let expected = json!({
        "name": "confinement",
        "isOk": false,
        "problem": "ffmpeg is not fully confined; files: the kernel has no Landlock",
        "advice": "see docs/confinement.md",
    });
    assert_eq!((&server["checks"][2], &server["roles"]), (&expected, &json!(["api"])));
    let readyz = world.app.fetch("/readyz").await.json();
    let reason = format!("{}; {}", text(&expected["problem"]), text(&expected["advice"]));
    assert_eq!(readyz["checks"][2]["reason"], reason);
}
