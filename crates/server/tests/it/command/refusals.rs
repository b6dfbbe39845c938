//! Error messages name a remedy, and the exit code separates wrong usage (2) from other errors (1).

use super::Machine;

#[tokio::test]
async fn command_error_names_value_and_remedy() {
    let machine = Machine::new().await;
    machine.run(&["workspace", "list"]).await.ok();
    let long = "x".repeat(256);
    let id = "019a492c-41f3-7001-8203-040506070809";
    let token = ["token", "create", "--permission", "read-only", "--workspace"];
    let webhook = ["webhook", "create", "--workspace", "Development", "--url"];
    let media = ["media", "create", "--workspace", "Development", "--url"];
    let with = |first: &[&'static str], last: &'static str| [first, &[last]].concat();
    let mut transcript = String::new();
    for arguments in [
        with(&["workspace", "create"], "Production"),
        with(&["workspace", "create"], ""),
        with(&token, "Nowhere"),
        with(&["token", "revoke"], "42"),
        with(&["token", "revoke"], id),
        with(&["token", "list", "--workspace"], "nowhere"),
        with(&webhook, "receiver.example/hook"),
        with(&webhook, "ftp://receiver.example/hook"),
        with(&webhook, "https://me:secret@receiver.example/hook"),
        with(&["webhook", "rotate"], id),
        with(&["webhook", "enable"], "42"),
        with(&media, "a.mp4"),
        with(&media, "file:///etc/passwd"),
        with(&["media", "list", "--workspace"], "nowhere"),
        with(&["media", "show"], "42"),
        with(&["media", "wait"], id),
        with(&["media", "delete"], id),
        with(&["user", "create", "--role", "viewer", "--email"], "you"),
        with(&["user", "create", "--email", "you@example.com", "--role", "viewer", "--name"], ""),
        with(&["user", "role", "you@example.com"], "member"),
        with(&["user", "remove"], "you.example.com"),
        with(&["demo", "--email"], "you"),
        with(&["config", "--public-url"], "video.example.com"),
        with(&["config", "--rate-limit"], "600"),
        with(&["config", "--config"], "nowhere.toml"),
        with(&["serve", "--ffmpeg"], "/nowhere/ffmpeg"),
    ] {
        let problem = machine.run(&arguments).await.problem();
        transcript += &format!("$ kinora {}\n{problem}\n\n", arguments.join(" "));
    }
    let folder = machine.folder().canonicalize().unwrap();
    let transcript = transcript.replace(&machine.folder().display().to_string(), "[folder]");
    insta::assert_snapshot!(transcript.replace(&folder.display().to_string(), "[folder]"));

    let too_long = machine.run(&["workspace", "create", &long]).await.problem();
    assert!(too_long.contains("255"), "{too_long}");
}

#[tokio::test]
async fn usage_error_exits_2_and_creates_nothing() {
    let machine = Machine::new().await;
    for arguments in [
        &[][..],
        &["serv"],
        &["token", "create", "--workspace", "Development"],
        &["token", "create", "--workspace", "Development", "--permission", "all"],
        &["media", "wait", "id", "--timeout", "soon"],
        &["media", "list", "--workspace", "Development", "--page", "0"],
        &["serve", "--listen", "here"],
        &["serve", "--allow-private", "127.0.0.1/99"],
        &["serve", "--trusted-proxy", "proxy.example"],
        &["token", "sign", "--expires", "1h"],
        &[
            "token",
            "sign",
            "--playback-id",
            "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f",
            "--kid",
            "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f",
        ],
        &["user", "create", "--email", "you@example.com"],
        &["user", "create", "--email", "you@example.com", "--role", "owner"],
        &["workspace", "list", "--unknown"],
    ] {
        let run = machine.run(arguments).await;
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
        assert!(run.stderr.contains("Usage:") || run.stderr.contains("--help"), "{run:?}");
    }
    assert!(!machine.data_dir().exists(), "something was made");
    for arguments in [&["--help"][..], &["--version"], &["serve", "--help"]] {
        machine.run(arguments).await.ok();
    }
    assert!(!machine.data_dir().exists(), "something was made");
}
