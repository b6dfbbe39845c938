//! The commands of the documents run as they stand there: names of the example become those of a test.

mod markdown;
mod terminal;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use kinora_testkit::{Source, SourceServer, WebhookReceiver, fixture};
use tokio::net::TcpStream;

pub(crate) use self::markdown::Document;
pub(crate) use self::terminal::Terminal;
use crate::command::Machine;
use crate::command::upload::file;
use crate::support::{DEADLINE, Program, Running, reserve, text, until};

/// The file with the one test that a document names.
const NAMED_TEST_SOURCE: &str = include_str!("../../../../engine/src/confine/hostile/mod.rs");
/// The events of an upload, in the order of the document.
const EVENTS: [&str; 4] =
    ["video.media.upload", "video.media.created", "video.upload.media_created", "video.media.ready"];

/// Documents whose commands run in a test here, or in `cluster` (scale-out).
const WITH_COMMANDS: [&str; 15] = [
    "README.md",
    "docs/benchmarks.md",
    "docs/editing.md",
    "docs/lists.md",
    "docs/people.md",
    "docs/pictures.md",
    "docs/private-playback.md",
    "docs/rate-limits.md",
    "docs/scale-out.md",
    "docs/sources.md",
    "docs/testing.md",
    "docs/unsupported.md",
    "docs/uploads.md",
    "docs/usage.md",
    "docs/webhooks.md",
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository exists")
}

/// A machine with the file that the examples name, 30 s long.
async fn machine_with_file() -> Machine {
    let machine = Machine::new().await;
    file(&machine, "talk.mp4", &fixture::thirty_seconds());
    machine
}

/// The block, which ends with `kinora serve`, once the server is ready.
async fn serve(machine: &Machine, block: &str) -> Running {
    let is_ready = machine.wait_until_ready();
    Terminal::new(machine).paste(block).exec_last_command().start().ready(is_ready).await
}

/// The rest of a document's examples with `ID:SECRET`, on a running server.
async fn check_requests(path: &str) {
    let (machine, document) = (machine_with_file().await, Document::read(path));
    let (server, sources) =
        (machine.serve(&["--allow-private", "127.0.0.0/8"]).await, SourceServer::start().await);
    let upload = ["upload", "talk.mp4", "--workspace", "Development", "--wait"];
    let (media, _other) = (machine.json(&upload).await, machine.json(&upload).await);
    let url = sources.serve("/talk.mp4", Source::of(fixture::thirty_seconds()));
    let mut terminal = Terminal::new(&machine)
        .with_token()
        .await
        .replace("MEDIA_ID", text(&media["id"]))
        .replace("PLAYBACK_ID", text(&media["playbackIds"][0]["id"]))
        .replace("https://example.com/talk.mp4", &url)
        .replace("limit=50", "limit=1"); // two media make two pages
    for block in document.remaining() {
        terminal = terminal.paste(&block);
    }
    terminal.run().await;
    server.stop().await.ok();
}

#[tokio::test]
async fn readme_commands_create_and_upload_media() {
    let (machine, document) = (machine_with_file().await, Document::read("README.md"));
    check_make_targets(&document.block("make run"));
    let install = document.block("sudo install");
    check_make_targets(&install);
    assert!(install.ends_with("sudo install target/release/kinora /usr/local/bin/\n"), "{install}");
    let server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let sources = SourceServer::start().await;
    let url = sources.serve("/talk.mp4", Source::of(fixture::thirty_seconds()));
    Terminal::new(&machine)
        .with_token()
        .await
        .replace("target/quick/kinora", env!("CARGO_BIN_EXE_kinora"))
        .replace("https://example.com/talk.mp4", &url)
        .replace("'URL'", r#""$(jq -r .data.url "$LAST_RESPONSE")""#)
        .paste(&document.block("on-demand -H"))
        .paste(&document.block("on-demand/upload"))
        .run()
        .await;
    server.stop().await.ok();

    let data = machine.data_dir().display().to_string();
    let block = document.block("kinora serve").replace("/var/lib/kinora", &data);
    serve(&machine, &block).await.stop().await.ok();
    document.check_all_used();
}

#[tokio::test]
async fn lists_commands_run() {
    check_requests("docs/lists.md").await;
}

#[tokio::test]
async fn editing_commands_create_and_list_a_clip() {
    check_requests("docs/editing.md").await;
}

/// The output is no terminal here, so commands that print links get `--json`.
#[tokio::test]
async fn people_commands_run() {
    let (machine, document) = (Machine::new().await, Document::read("docs/people.md"));
    let with_origin = document.block("--dashboard-origin");
    let mut terminal = Terminal::new(&machine).replace("kinora user reset", "kinora --json user reset");
    for block in document.remaining() {
        terminal = terminal.paste(&block);
    }
    let run = terminal.run().await;
    assert!(run.stdout.contains("/dashboard/reset#") || run.stdout.contains("/dashboard/setup#"), "{run:?}");
    let people = machine.json(&["user", "list"]).await;
    let emails: Vec<_> = people.as_array().unwrap().iter().map(|person| text(&person["email"])).collect();
    assert_eq!(emails, ["you@example.com", "ada@example.com"]);
    serve(&machine, &with_origin).await.stop().await.ok();
}

#[tokio::test]
async fn image_commands_run() {
    check_requests("docs/pictures.md").await;
}

#[tokio::test]
async fn usage_commands_run() {
    check_requests("docs/usage.md").await;
}

#[tokio::test]
async fn unsupported_command_is_404() {
    check_requests("docs/unsupported.md").await;
}

#[tokio::test]
async fn rate_limit_command_starts_a_server() {
    let (machine, document) = (Machine::new().await, Document::read("docs/rate-limits.md"));
    let server = serve(&machine, &document.block("kinora serve")).await;
    let token = machine.token("Development", "read-write").await;
    let answer = machine.request("GET", "/v1/on-demand").token(&token).send().await;
    assert_eq!(answer.header("ratelimit-policy"), Some(r#""token";q=600;w=60"#));
    server.stop().await.ok();
    document.check_all_used();
}

#[tokio::test]
async fn upload_commands_send_resume_and_cancel() {
    let (machine, document) = (machine_with_file().await, Document::read("docs/uploads.md"));
    let server = machine.serve(&[]).await;
    let (send, resume) = (document.block("curl -T"), document.block("offset="));
    let whole_file = r#"curl -T talk.mp4 "$URL""#;
    assert!(send.contains(whole_file), "{send}");
    // An upload without its last bytes, as after a network failure.
    let first_bytes = r#"head -c 1000 talk.mp4 | curl -X PATCH -T - "$URL" -H 'Content-Type: application/partial-upload' \
        -H 'Upload-Offset: 0' -H 'Upload-Complete: ?0'"#;
    let run = Terminal::new(&machine)
        .with_token()
        .await
        .paste(&send)
        .paste(&send.replace(whole_file, first_bytes))
        .paste(&resume)
        .paste(&send.replace(whole_file, first_bytes))
        .paste(&document.block("# cancel"))
        .paste(&document.block("kinora upload"))
        .run()
        .await;
    let status = run.stdout.lines().find(|line| line.contains("keptBytes")).unwrap_or_default();
    assert!(status.contains(r#""keptBytes":1000"#), "{run:?}");
    let list = machine.json(&["media", "list", "--workspace", "Development"]).await;
    let ready = list["media"].as_array().expect("a list").iter().filter(|media| media["status"] == "Ready");
    assert_eq!(ready.count(), 3, "sent, resumed, and by the command: {list}");
    server.stop().await.ok();
    document.check_all_used();
}

#[tokio::test]
async fn private_playback_commands_sign_revoke_and_restrict() {
    let (machine, document) = (machine_with_file().await, Document::read("docs/private-playback.md"));
    document.save_file("sign.cjs", "js", machine.folder());
    document.save_file("sign.py", "python", machine.folder());
    let server = serve(&machine, &document.block("kinora serve\n")).await;
    let shared = document.block("--shared-max-age");
    let mut terminal = Terminal::new(&machine);
    for block in document.remaining() {
        terminal = terminal.paste(&block);
    }
    terminal.run().await;
    server.stop().await.ok();
    serve(&machine, &shared).await.stop().await.ok();
}

#[tokio::test]
async fn webhooks_commands_receive_four_events() {
    let (machine, document) = (machine_with_file().await, Document::read("docs/webhooks.md"));
    document.save_file("receive.py", "python", machine.folder());
    // In place of the port of the example. Python binds beside the reservation, as Kinora does.
    let reserved = reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let receiver_address = reserved.local_addr().expect("a bound socket has an address");
    let (path, port) = (machine.folder().join("receive.py"), receiver_address.port().to_string());
    let program = std::fs::read_to_string(&path).expect("it was saved");
    std::fs::write(&path, program.replace("9000", &port)).expect("the folder of the machine can be written");

    let server = serve(&machine, &document.block("kinora serve")).await;
    let receiver = Terminal::new(&machine)
        .replace("127.0.0.1:9000", &receiver_address.to_string())
        .paste(&document.block("webhook create"))
        .paste(&format!("{} > received.txt", document.block("receive.py").trim_end()))
        .exec_last_command()
        .start();
    let listens = until("the receiver listens", async || TcpStream::connect(receiver_address).await.ok());
    let receiver = receiver.ready(async { drop(listens.await) }).await;
    Terminal::new(&machine).paste(&document.block("kinora upload")).run().await;
    // They may come in another order: a delivery may be retried.
    let types = EVENTS.map(|event| format!("\"type\": \"{event}\""));
    until("all events are printed", async || {
        let printed = std::fs::read_to_string(machine.folder().join("received.txt")).ok()?;
        types.iter().all(|event| printed.contains(event)).then_some(())
    })
    .await;
    receiver.stop().await;
    Terminal::new(&machine)
        .paste(&document.block("webhook rotate"))
        .paste(&document.block("webhook enable"))
        .run()
        .await;
    server.stop().await.ok();
    document.check_all_used();
}

/// The programs of `docs/webhooks.md` for `Service-Signature`, with both forms of the secret.
#[tokio::test]
async fn webhooks_verifiers_accept_a_signed_event_only() {
    let (machine, document) = (machine_with_file().await, Document::read("docs/webhooks.md"));
    document.save_file("verify.py", "python", machine.folder());
    document.save_file("verify.mjs", "js", machine.folder());
    let (server, receiver) =
        (machine.serve(&["--allow-private", "127.0.0.0/8"]).await, WebhookReceiver::start().await);
    let url = receiver.url("/hook");
    let hook = machine.json(&["webhook", "create", "--workspace", "Development", "--url", &url]).await;
    machine.json(&["upload", "talk.mp4", "--workspace", "Development", "--wait"]).await;
    let post = receiver.wait_for_event("video.media.ready", DEADLINE).await;
    server.stop().await.ok();

    file(&machine, "body", &post.request.body);
    let (signature, secret) = (post.header("service-signature").expect("a signature"), text(&hook["secret"]));
    let python = "import sys, verify; print(verify.is_valid(open('body', 'rb').read(), *sys.argv[1:]))";
    let node = "import('./verify.mjs').then(({ isValid }) => \
        console.log(isValid(require('fs').readFileSync('body'), ...process.argv.slice(1))))";
    for (program, option, code) in [("python3", "-c", python), ("node", "-e", node)] {
        let run = async |signature: &str, secret: &str| {
            let arguments = [option, code, signature, secret];
            let run = Program::new(program).args(arguments).folder(machine.folder()).run().await.ok();
            run.stdout.trim().to_lowercase()
        };
        assert_eq!(run(signature, secret).await, "true", "{program}");
        assert_eq!(run(signature, &format!("whsec_{secret}")).await, "true", "{program}");
        assert_eq!(run(&signature.to_lowercase(), secret).await, "false", "{program}");
    }
}

/// Commands on the repository itself, such as suites and benchmarks: their targets, scripts and tests exist.
#[test]
fn repository_commands_name_existing_targets_and_files() {
    let documents = ["docs/benchmarks.md", "docs/testing.md", "docs/sources.md"];
    for path in documents {
        let document = Document::read(path);
        for block in document.remaining() {
            check_programs(&block);
            check_make_targets(&block);
            check_files(&block);
        }
    }
}

#[test]
fn every_document_with_commands_is_tested() {
    let mut found = BTreeSet::new();
    for folder in ["", "docs", "docs/decisions", "web"] {
        for entry in std::fs::read_dir(repository().join(folder)).expect("the folder exists") {
            let name = entry.expect("a readable folder").file_name().into_string().expect("UTF-8");
            let path = Path::new(folder).join(name).display().to_string();
            if path.ends_with(".md") && !Document::read(&path).remaining().is_empty() {
                found.insert(path);
            }
        }
    }
    assert_eq!(found, WITH_COMMANDS.map(str::to_owned).into());
}

/// Each line starts a program whose arguments are checked here, or continues the line before.
fn check_programs(block: &str) {
    let known = ["make ", "bench/run.sh ", "cargo nextest run ", "cargo xtask servers ", "node --test "];
    for line in block.lines().filter(|line| !line.starts_with([' ', '#']) && !line.is_empty()) {
        let command = line.strip_prefix("INSTA_UPDATE=always ").unwrap_or(line);
        let is_known = known.iter().any(|program| command.starts_with(program));
        assert!(is_known || command.starts_with("export KINORA_TEST_PYTHON="), "{line}: no check knows it");
    }
}

/// Each `make TARGET` of the block is a target of the Makefile.
fn check_make_targets(block: &str) {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).expect("the Makefile exists");
    for line in block.lines().filter_map(|line| line.trim().strip_prefix("make ")) {
        let target = line.split_whitespace().next().expect("a target");
        assert!(makefile.contains(&format!("\n{target}: ")), "make {target}: {block}");
    }
}

/// Each script, test file, crate and test module that the block names exists.
fn check_files(block: &str) {
    let words = || block.split(|c: char| c.is_whitespace() || "()=".contains(c));
    for path in words().filter(|word| word.contains('/') && (word.ends_with(".sh") || word.ends_with(".mjs")))
    {
        assert!(repository().join(path).is_file(), "{path}: {block}");
    }
    let benchmarks =
        std::fs::read_to_string(repository().join("bench/main.py")).expect("the benchmarks exist");
    for command in block.lines().filter_map(|line| line.strip_prefix("bench/run.sh ")) {
        let names = command.split(" #").next().and_then(|command| command.split(" --").next());
        let names = names.unwrap_or_default().split_whitespace();
        names
            .for_each(|name| assert!(benchmarks.contains(&format!("\n    \"{name}\": ")), "{name}: {block}"));
    }
    for name in words().filter_map(|word| word.strip_prefix("kinora-")) {
        assert!(repository().join("crates").join(name).is_dir(), "kinora-{name}: {block}");
    }
    for module in block.split("test(/^").skip(1).filter_map(|rest| rest.split("/)").next()) {
        let path = repository()
            .join("crates/server/tests/it")
            .join(module.trim_end_matches("::").replace("::", "/"));
        assert!(path.is_dir() || path.with_extension("rs").is_file(), "{module}: {block}");
    }
    let names = block.split("'test(").skip(1).filter_map(|rest| rest.split(")'").next());
    for name in names.filter(|name| !name.starts_with('/')) {
        assert!(NAMED_TEST_SOURCE.contains(&format!("fn {name}()")), "{name}: {block}");
    }
}
