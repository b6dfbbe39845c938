//! `kinora storage check`: its output for a store that works, and for stores that do not.

use serde_json::Value;

use crate::command::Machine;
use crate::support::Program;

/// Replaces values that differ between runs: durations, names and ports.
fn golden(text: &str, url: &str) -> String {
    let (bucket, endpoint) = parts(url);
    let text = text.replace(&bucket, "[bucket]").replace(&endpoint, "[endpoint]");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        let is_duration = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((before, number)) = line.strip_suffix(" ms").and_then(|line| line.rsplit_once(' '))
            && is_duration(number)
        {
            *line = format!("{before} [time] ms");
        }
    }
    lines.join("\n")
}

/// The bucket and the endpoint of `s3://bucket?endpoint=http://127.0.0.1:1234&...`.
fn parts(url: &str) -> (String, String) {
    let url = url::Url::parse(url).expect("an address");
    let endpoint = url.query_pairs().find(|(name, _)| name == "endpoint").expect("an endpoint").1;
    (url.host_str().expect("a bucket").to_owned(), endpoint.trim_start_matches("http://").to_owned())
}

async fn check(machine: &Machine, name: &str, code: i32, with: impl Fn(Program) -> Program) {
    let url = machine.ground.bucket().url().to_string();
    let run = with(machine.kinora(&["storage", "check"])).run().await;
    assert_eq!(run.code, Some(code), "{run:?}");
    assert_eq!(run.stderr, "");
    insta::assert_snapshot!(format!("{name}"), golden(&run.stdout, &url));

    let json = with(machine.kinora(&["storage", "check", "--json"])).run().await;
    assert_eq!(json.code, Some(code), "{json:?}");
    let json: Value = serde_json::from_str(&json.stdout).expect("one JSON value");
    assert_eq!(json["ok"], code == 0, "{json}");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(7), "{json}");
}

#[tokio::test]
async fn storage_check_passes_and_reports_failures() {
    let machine = Machine::new().await;
    let url = machine.ground.bucket().url().to_string();
    check(&machine, "bucket", 0, |program| program).await;
    assert_eq!(machine.ground.objects().await, [""; 0], "the check removed its objects");
    check(&machine, "folder", 0, |program| {
        program.without("KINORA_STORAGE_URL").env("KINORA_DATA_DIR", "data")
    })
    .await;
    check(&machine, "wrong_secret", 1, |program| program.env("AWS_SECRET_ACCESS_KEY", "geheim")).await;
    check(&machine, "wrong_key", 1, |program| program.env("AWS_ACCESS_KEY_ID", "nobody")).await;
    let missing_bucket = url.replace(&parts(&url).0, "no-such-bucket");
    check(&machine, "no_such_bucket", 1, |program| program.env("KINORA_STORAGE_URL", &missing_bucket)).await;
    let closed_port = url.replace(&parts(&url).1, "127.0.0.1:1");
    check(&machine, "nobody_there", 1, |program| program.env("KINORA_STORAGE_URL", &closed_port)).await;
}

#[tokio::test]
async fn invalid_storage_url_is_rejected_without_secrets() {
    let machine = Machine::new().await;
    for url in
        ["", "bucket", "https://bucket.example", "s3://", "s3://bucket?endpoint=x", "s3://me:geheim@bucket"]
    {
        let run = machine.kinora(&["storage", "check"]).env("KINORA_STORAGE_URL", url).run().await;
        let problem = run.problem();
        assert!(problem.starts_with("kinora: --storage-url cannot be used: "), "{url}: {problem}");
        assert!(!problem.contains("geheim"), "{problem}");
    }
}

#[tokio::test]
async fn doctor_reports_an_unusable_bucket() {
    let machine = Machine::new().await;
    let of_storage = async |program: Program| {
        let run = program.args(["--json"]).run().await;
        let findings: Value = serde_json::from_str(&run.stdout).expect("one JSON value");
        let found = findings.as_array().expect("a list").iter().find(|one| one["part"] == "storage").cloned();
        (run.code, found.expect("a line about the store"))
    };
    let (code, well) = of_storage(machine.kinora(&["doctor"])).await;
    assert_eq!((code, &well["ok"]), (Some(0), &true.into()), "{well}");
    let wrong = machine.kinora(&["doctor"]).env("AWS_SECRET_ACCESS_KEY", "geheim");
    let (code, wrong) = of_storage(wrong).await;
    assert_eq!((code, &wrong["ok"]), (Some(1), &false.into()), "{wrong}");
    assert!(
        wrong["text"].as_str().expect("a sentence").contains("the object store cannot be used"),
        "{wrong}"
    );
    let url = machine.ground.bucket().url().to_string();
    let missing_bucket = url.replace(&parts(&url).0, "no-such-bucket");
    let missing = machine.kinora(&["doctor"]).env("KINORA_STORAGE_URL", &missing_bucket);
    let (code, missing) = of_storage(missing).await;
    assert_eq!((code, &missing["ok"]), (Some(1), &false.into()), "{missing}");
    assert!(missing["text"].as_str().expect("a sentence").contains("create the bucket"), "{missing}");
}
