//! `kinora doctor` and `kinora config`: diagnostics.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::Machine;
use crate::support::text;

/// The findings for each part, with the exit code.
async fn doctor(machine: &Machine, arguments: &[&str]) -> (Option<i32>, Value) {
    let run = machine.kinora(&["doctor", "--json"]).args(arguments).run().await;
    let findings = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    (run.code, findings)
}

fn of<'a>(findings: &'a Value, part: &str) -> (bool, &'a str) {
    let found = findings.as_array().unwrap().iter().find(|finding| finding["part"] == part);
    let found = found.unwrap_or_else(|| panic!("nothing about {part}: {findings}"));
    (found["ok"].as_bool().unwrap(), text(&found["text"]))
}

#[tokio::test]
async fn doctor_passes_before_and_during_serve() {
    let machine = Machine::new().await;
    let (code, findings) = doctor(&machine, &[]).await;
    assert_eq!(code, Some(0), "{findings}");
    for part in ["database", "storage", "ffmpeg", "confinement", "clock", "port"] {
        assert!(of(&findings, part).0, "{findings}");
    }
    assert_eq!(of(&findings, "port").1, format!("{} is free", machine.address));

    let server = machine.serve(&[]).await;
    let (code, findings) = doctor(&machine, &[]).await;
    let answers = format!("kinora serve responds at {}", machine.address);
    assert_eq!((code, of(&findings, "port")), (Some(0), (true, answers.as_str())));
    let text = machine.run(&["doctor"]).await.ok().stdout;
    assert!(text.lines().all(|line| line.starts_with("ok ")), "{text}");
    server.stop().await.ok();
}

#[tokio::test]
async fn doctor_names_problem_with_remedy() {
    let machine = Machine::new().await;
    let (code, findings) = doctor(&machine, &["--ffmpeg", "/nowhere/ffmpeg"]).await;
    let (is_ok, message) = of(&findings, "ffmpeg");
    assert_eq!((code, is_ok), (Some(1), false), "{findings}");
    assert!(message.contains("apt-get install ffmpeg"), "{message}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (code, findings) = doctor(&machine, &["--listen", &listener.local_addr().unwrap().to_string()]).await;
    let (is_ok, message) = of(&findings, "port");
    assert_eq!((code, is_ok), (Some(1), false), "{findings}");
    assert!(message.contains("choose another with --listen"), "{message}");
}

#[tokio::test]
async fn flags_override_environment_overrides_file() {
    let machine = Machine::new().await;
    let defaults = machine.bare(&["config", "--json"]).run().await.json();
    insta::assert_snapshot!(serde_json::to_string_pretty(&defaults).unwrap());

    let file = "data-dir = \"from-file\"\nlisten = \"127.0.0.1:1111\"\npublic-url = \"https://file.example/\"\n\
        allow-private = [\"10.0.0.0/8\", \"fd00::/8\"]\ntrusted-proxy = [\"127.0.0.1/32\"]\n\
        secret-key = \"c2VjcmV0\"\nlog-format = \"json\"\n";
    std::fs::write(machine.folder().join("kinora.toml"), file).unwrap();
    let config = machine.bare(&["config", "--json", "--data-dir", "from-flag"]);
    let config = config.env("KINORA_LISTEN", "127.0.0.1:2222").env("KINORA_DATA_DIR", "from-environment");
    let config = config.env("KINORA_TRUSTED_PROXY", "10.1.2.3/32,fd00::/8");
    let config = config.run().await.json();
    let expected = json!({
        "data-dir": "from-flag",
        "database-url": null,
        "storage-url": null,
        "role": ["api", "delivery", "worker"],
        "listen": "127.0.0.1:2222",
        "public-url": "https://file.example",
        "stream-url": "https://file.example",
        "images-url": "https://file.example",
        "allow-private": ["10.0.0.0/8", "fd00::/8"],
        "trusted-proxy": ["10.1.2.3/32", "fd00::/8"],
        "dashboard-origin": [],
        "signature-header": [],
        "ffmpeg": null,
        "allow-unconfined": false,
        "prepare-start": true,
        "cache-bytes": null,
        "rate-limit": null,
        "shared-max-age": null,
        "log": "info",
        "log-format": "json",
        "secret-key": "(hidden)",
        "config": "kinora.toml",
    });
    assert_eq!(config, expected);
    assert!(!machine.bare(&["config"]).run().await.ok().stdout.contains("c2VjcmV0"));

    std::fs::write(machine.folder().join("other.toml"), "listne = \"127.0.0.1:1111\"\n").unwrap();
    let problem = machine.bare(&["config", "--config", "other.toml"]).run().await.problem();
    assert!(
        problem.contains("other.toml is not a valid configuration") && problem.contains("listne"),
        "{problem}"
    );
    assert!(!machine.folder().join("from-flag").exists(), "looking at the settings makes nothing");
}
