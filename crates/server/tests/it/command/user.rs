use serde_json::{Value, json};

use super::{Machine, fields};
use crate::support::text;

const CREATE: [&str; 6] = ["user", "create", "--email", "you@example.com", "--role", "administrator"];

#[tokio::test]
async fn create_prints_a_setup_link_and_reset_another() {
    let machine = Machine::new().await;
    let made = machine.json(&CREATE).await;
    let person = ["createdAt", "disabledAt", "email", "hasPassword", "id", "link", "name", "role", "seenAt"];
    assert_eq!(fields(&made), person);
    assert_eq!(
        (&made["role"], &made["hasPassword"], &made["name"]),
        (&json!("admin"), &json!(false), &Value::Null)
    );
    assert_eq!(
        (fields(&made["link"]), &made["link"]["kind"]),
        (vec!["endsAt", "kind", "url"], &json!("setup"))
    );
    let secret = |made: &Value| {
        let url = text(&made["link"]["url"]).to_owned();
        let secret = url.strip_prefix(&machine.url("/dashboard/setup#")).unwrap_or_else(|| panic!("{url}"));
        assert_eq!(secret.len(), 43, "256 bits in Base64");
        secret.to_owned()
    };
    let first = secret(&made);

    let again = machine.run(&CREATE).await.problem();
    assert!(
        again.contains("has an account already") && again.contains("user reset you@example.com"),
        "{again}"
    );
    let reset = machine.json(&["user", "reset", "YOU@example.com"]).await;
    assert_ne!(secret(&reset), first);
    let listed = machine.json(&["user", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "a second run makes no second person");
    assert_eq!(listed[0]["id"], made["id"]);

    let table = machine.run(&["user", "list"]).await.ok().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("EMAIL ") && lines.len() == 2, "{table}");
    assert!(lines[1].contains("administrator") && lines[1].ends_with("no password yet"), "{table}");
}

#[tokio::test]
async fn link_is_not_printed_into_a_pipe() {
    let machine = Machine::new().await;
    let made = machine.run(&CREATE).await.ok();
    assert!(made.stderr.contains("no link is printed") && made.stderr.contains("user reset"), "{made:?}");
    assert!(!made.stdout.contains('#') && !made.stderr.contains('#'), "{made:?}");
    let reset = machine.run(&["user", "reset", "you@example.com"]).await.problem();
    assert!(reset.contains("--json"), "{reset}");
}

#[tokio::test]
async fn password_is_read_from_standard_input() {
    let machine = Machine::new().await;
    let file = machine.folder().join("password");
    let create = async |email: &str, password: &str| {
        std::fs::write(&file, password).unwrap();
        let create = ["user", "create", "--role", "admin", "--password-stdin", "--email", email];
        machine.kinora(&create).args(["--json"]).input(&file).run().await
    };
    for (password, why) in [
        ("short\n", "at least 12 characters"),
        ("", "at least 12 characters"),
        ("password1234\n", "too easy to guess"),
        ("you@example.com\n", "too easy to guess"),
        (&"x".repeat(300), "at most 256 characters"),
        (&"x".repeat(5000), "at most 256 characters"),
    ] {
        let problem = create("you@example.com", password).await.problem();
        assert!(problem.contains(why), "{password}: {problem}");
    }
    assert_eq!(machine.json(&["user", "list"]).await, json!([]));
    let made = create("you@example.com", "marmalade on the north pier\r\nnot this\n").await.json();
    assert_eq!((&made["hasPassword"], &made["link"]), (&json!(true), &Value::Null));
    let database = std::fs::read_dir(machine.data_dir());
    for file in database.into_iter().flatten().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!bytes.windows(9).any(|part| part == b"marmalade"), "{file:?}");
    }
}

#[tokio::test]
async fn last_administrator_stays_by_command() {
    let machine = Machine::new().await;
    machine.json(&CREATE).await;
    machine.json(&["user", "create", "--email", "ada@example.com", "--role", "member"]).await;
    for command in [
        &["user", "disable", "you@example.com"][..],
        &["user", "remove", "you@example.com"],
        &["user", "role", "you@example.com", "viewer"],
    ] {
        let problem = machine.run(command).await.problem();
        assert!(problem.contains("you@example.com is the last administrator"), "{command:?}: {problem}");
        assert!(problem.contains("kinora user role EMAIL administrator"), "{problem}");
    }
    let promoted = machine.json(&["user", "role", "ada@example.com", "administrator"]).await;
    assert_eq!(promoted["role"], "admin");
    let disabled = machine.json(&["user", "disable", "you@example.com"]).await;
    assert!(disabled["disabledAt"].is_string(), "{disabled}");
    let refused = machine.run(&["user", "reset", "you@example.com", "--json"]).await.problem();
    assert!(refused.contains("kinora user enable you@example.com"), "{refused}");
    let enabled = machine.json(&["user", "enable", "you@example.com"]).await;
    assert_eq!(enabled["disabledAt"], Value::Null);
    let removed = machine.json(&["user", "remove", "you@example.com"]).await;
    assert_eq!(removed, json!({"id": enabled["id"], "removed": true}));
    assert_eq!(machine.json(&["user", "sessions", "ada@example.com"]).await, json!([]));
    let ended = machine.json(&["user", "sessions", "ada@example.com", "--end"]).await;
    assert_eq!(ended["endedSessions"], 0);
}
