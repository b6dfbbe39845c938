//! Required secrets, and secrets that must not be printed.

use crate::command::Machine;

const OTHER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

#[tokio::test]
async fn missing_or_wrong_secret_key_prevents_start() {
    let machine = Machine::new().await;
    let url = "http://receiver.example/hook";
    machine.json(&["webhook", "create", "--workspace", "Development", "--url", url]).await;
    for arguments in [&["webhook", "list"][..], &["serve"]] {
        let missing = machine.kinora(arguments).without("KINORA_SECRET_KEY").run().await.problem();
        let remedy =
            "a PostgreSQL database needs KINORA_SECRET_KEY; create one with `openssl rand -base64 32`";
        assert!(missing.contains(remedy), "{missing}");
        let wrong = machine.kinora(arguments).env("KINORA_SECRET_KEY", OTHER_KEY).run().await.problem();
        assert!(wrong.contains("the secret key does not match this database"), "{wrong}");
        assert!(!wrong.contains(OTHER_KEY), "{wrong}");
    }
    machine.run(&["webhook", "list"]).await.ok();
    assert!(!machine.data_dir().exists(), "nothing lies in a folder, so there is none");
}

#[tokio::test]
async fn database_password_is_never_shown_and_no_folder_created() {
    let machine = Machine::new().await;
    let url = machine.ground.database().url();
    let password = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).expect("a password").0;
    let password = password.split_once(':').expect("user and password").1;
    let config = machine.run(&["config"]).await.ok().stdout;
    assert!(config.contains("database-url") && config.contains(":hidden@"), "{config}");
    assert!(config.contains("s3://"), "{config}");
    let server = machine.serve(&["--log", "debug"]).await;
    let doctor = machine.run(&["doctor"]).await.ok().stdout;
    let log = server.stop().await.ok().stderr;
    for (what, text) in [("config", &config), ("the log", &log), ("the doctor", &doctor)] {
        assert!(!text.contains(password), "{what}: {text}");
    }
    assert!(!machine.data_dir().exists(), "nothing lies in a folder, so there is none");
}

#[tokio::test]
async fn invalid_or_unreachable_database_is_reported_without_password() {
    let machine = Machine::new().await;
    let check = async |url: &str, sentence: &str| {
        let problem =
            machine.kinora(&["token", "list"]).env("KINORA_DATABASE_URL", url).run().await.problem();
        assert!(problem.contains(sentence), "{problem}");
        assert!(!problem.contains("geheim"), "{problem}");
    };
    let written = "--database-url must look like postgres://user:password@host:5432/name";
    check("mysql://me:geheim@127.0.0.1/kinora", written).await;
    check("127.0.0.1/geheim", written).await;
    check("postgres://me:geheim@127.0.0.1:1/kinora", "cannot reach PostgreSQL at 127.0.0.1:1").await;
    let url = machine.ground.database().url();
    let name = machine.ground.database().name();
    check(&url.replace(name, "nowhere"), "has no database nowhere").await;
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let at = rest.rfind('@').expect("a user");
    check(&format!("{scheme}://kinora:geheim{}", &rest[at..]), "rejects the login of kinora").await;
}
