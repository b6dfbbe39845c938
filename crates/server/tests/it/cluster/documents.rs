//! The commands of `docs/scale-out.md`: one process of each role, on a database that they create.

use crate::command::Machine;
use crate::documents::{Document, Terminal};
use crate::support::{Program, Run, Running};

#[tokio::test]
async fn scale_out_commands_start_a_process_of_each_role() {
    let (machine, document) = (Machine::new().await, Document::read("docs/scale-out.md"));
    // The document's name of user and database, with a suffix, because all tests share the server.
    let name = format!("kinora_{}", std::process::id());
    create_database(&machine, &name, &document.block("createdb")).await;
    let settings = machine.folder().join("kinora.env");
    std::fs::write(&settings, settings_of(&machine, &name, &document.block("KINORA_STORAGE_URL"))).unwrap();
    let settings = settings.display().to_string();

    let checks = document.block("kinora storage check").replace("/etc/kinora.env", &settings);
    let run = Terminal::new(&machine).without_settings().paste(&checks).run().await;
    assert!(run.stdout.contains(&name), "the database of the document is used: {run:?}");
    let mut running = Vec::new();
    for role in ["api", "delivery", "worker"] {
        let block = document.block(&format!("--role {role} ")).replace("/etc/kinora.env", &settings);
        running.push(serve(&machine, &block, role).await);
    }
    for server in running {
        server.stop().await.ok();
    }
    sql(&machine, &format!("dropdb {name}; dropuser {name}")).await.ok();
    document.check_all_used();
}

/// Starts a server that has this role alone.
async fn serve(machine: &Machine, block: &str, role: &str) -> Running {
    let own = Machine::on_data_of(machine);
    let program = Terminal::new(&own).without_settings().paste(block).exec_last_command();
    let server = program.start().ready(own.wait_until_ready()).await;
    assert_eq!(own.fetch("/readyz").await.json()["roles"], serde_json::json!([role]), "{block}");
    server
}

/// Creates user and database with the commands of the document. A prompt needs a terminal, so SQL sets the
/// password.
async fn create_database(machine: &Machine, name: &str, block: &str) {
    let block = block.replace(" --pwprompt", "").replace("kinora\n", &format!("{name}\n"));
    let block = block.replace("--owner=kinora", &format!("--owner={name}"));
    let password = format!("psql --no-psqlrc --command \"ALTER ROLE {name} PASSWORD 'PASSWORD'\" postgres");
    sql(machine, &format!("{block}\n{password}")).await.ok();
}

/// Runs commands of PostgreSQL as the administrator of the server.
async fn sql(machine: &Machine, commands: &str) -> Run {
    let server = url::Url::parse(&machine.ground.database().url()).expect("a URL");
    let program = Program::new("bash").args(["-ec", commands]).folder(machine.folder());
    let program = program.env("PGHOST", server.host_str().expect("a host")).env("PGUSER", server.username());
    let program = program.env("PGPORT", server.port().unwrap_or(5432).to_string());
    program.env("PGPASSWORD", server.password().unwrap_or_default()).run().await
}

/// The settings of the document with the database, bucket and keys of the test.
fn settings_of(machine: &Machine, name: &str, block: &str) -> String {
    let server = url::Url::parse(&machine.ground.database().url()).expect("a URL");
    let address = format!("{}:{}/{name}", server.host_str().expect("a host"), server.port().unwrap_or(5432));
    let environment = machine.ground.environment();
    let secret_key = environment.iter().find(|(name, _)| *name == "KINORA_SECRET_KEY").expect("a key");
    let of = |name: &str| std::env::var(name).expect("`cargo xtask servers` sets it");
    let bucket = machine.ground.bucket().url().to_string();
    [
        ("kinora:PASSWORD@db.internal:5432/kinora", format!("{name}:PASSWORD@{address}")),
        ("s3://video/kinora?endpoint=https://s3.internal&region=eu-1", bucket),
        ("AWS_ACCESS_KEY_ID=...", format!("AWS_ACCESS_KEY_ID={}", of("AWS_ACCESS_KEY_ID"))),
        ("AWS_SECRET_ACCESS_KEY=...", format!("AWS_SECRET_ACCESS_KEY={}", of("AWS_SECRET_ACCESS_KEY"))),
        ("KINORA_SECRET_KEY=...", format!("KINORA_SECRET_KEY={}", secret_key.1)),
    ]
    .iter()
    .fold(block.to_owned(), |block, (example, value)| {
        assert!(block.contains(example), "{example}: {block}");
        block.replace(example, value)
    })
}
