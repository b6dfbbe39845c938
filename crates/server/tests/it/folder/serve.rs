//! A single server per folder, and the key in it.

use crate::command::Machine;

#[tokio::test]
async fn second_server_on_the_same_folder_is_rejected() {
    let machine = Machine::new().await;
    let server = machine.serve(&[]).await;
    let second = machine.kinora(&["serve", "--listen", "127.0.0.1:0"]).run().await;
    assert_eq!(second.code, Some(1), "{second:?}");
    let expected = format!("another kinora serve uses {}", machine.data_dir().display());
    assert!(second.stderr.contains(&expected), "{second:?}");
    assert_eq!(machine.fetch("/readyz").await.status, 200);
    server.stop().await.ok();
}

#[tokio::test]
async fn lost_secret_key_error_names_path_and_remedy() {
    let machine = Machine::new().await;
    let url = "http://receiver.example/hook";
    machine.json(&["webhook", "create", "--workspace", "Development", "--url", url]).await;
    let key = machine.data_dir().join("secret.key");
    let content = std::fs::read_to_string(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    for arguments in [&["webhook", "list"][..], &["serve"]] {
        let problem = machine.run(arguments).await.problem();
        let way_back = "restore it from a backup, or set KINORA_SECRET_KEY to its content";
        assert!(problem.contains("secret.key is missing") && problem.contains(way_back), "{problem}");
    }
    assert!(!key.exists(), "another key was made");
    let other = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let wrong = machine.kinora(&["webhook", "list"]).env("KINORA_SECRET_KEY", other).run().await.problem();
    assert!(
        wrong.contains("the secret key does not match this database") && !wrong.contains(other),
        "{wrong}"
    );
    machine.kinora(&["webhook", "list"]).env("KINORA_SECRET_KEY", content.trim()).run().await.ok();
}

#[tokio::test]
async fn demo_without_a_server_explains_how_to_start_one() {
    let machine = Machine::new().await;
    let folder = machine.data_dir().display().to_string();
    let problem = machine.run(&["demo"]).await.problem();
    let sentence = format!("no server runs on {folder}; start one with kinora serve --data-dir {folder}");
    assert_eq!(problem, format!("kinora: {sentence}"));
}

#[tokio::test]
async fn doctor_reports_a_data_dir_that_is_a_file() {
    let machine = Machine::new().await;
    std::fs::write(machine.folder().join("file"), "").unwrap();
    let run = machine.kinora(&["doctor", "--json", "--data-dir", "file"]).run().await;
    let findings: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.code, &findings[0]["part"], &findings[0]["ok"]),
        (Some(1), &"database".into(), &false.into())
    );
}

#[tokio::test]
async fn roles_on_a_folder_are_warned_of() {
    let machine = Machine::new().await;
    let server = machine.serve(&["--role", "api,delivery"]).await;
    let ready = machine.fetch("/readyz").await.json();
    assert_eq!(ready["roles"], serde_json::json!(["api", "delivery"]));
    let log = server.stop().await.ok().stderr;
    assert!(
        log.contains("only api, delivery would run, and no other process can serve a data folder"),
        "{log}"
    );
}
