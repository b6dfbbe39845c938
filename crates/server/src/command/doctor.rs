//! `kinora doctor`: finds problems that prevent the server from working, with their remedies.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use kinora_domain::{Clock as _, Timestamp};
use kinora_engine::Protection;
use kinora_store::Opener;
use serde_json::json;

use super::permissions::{PathKind, PathPermissions};
use super::serve::find_engine;
use super::{CommandContext, CommandError};
use crate::backends;
use crate::readiness;
use crate::system::SystemClock;

/// Timeout and size limit of the response of another process.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(6);
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
/// No machine that runs this binary has an earlier date (2026-01-01).
const CLOCK_MIN: i64 = 1_767_225_600 * Timestamp::SECOND;

/// One line of the report.
struct Finding {
    part: &'static str,
    is_ok: bool,
    text: String,
}

/// Checks every part and prints the results; exit code 1 when one has a problem.
pub(super) async fn run(context: &CommandContext) -> Result<ExitCode, CommandError> {
    let mut findings = vec![database(context).await];
    findings.extend(data_dir_permissions(context));
    findings.push(storage(context).await);
    findings.extend(engine(context).await);
    findings.extend([clock(), port(context)]);
    let is_well = findings.iter().all(|finding| finding.is_ok);
    let lines: Vec<_> = findings
        .iter()
        .map(|finding| {
            format!("{:<3} {:<11} {}", if finding.is_ok { "ok" } else { "NO" }, finding.part, finding.text)
        })
        .collect();
    let json = findings
        .iter()
        .map(|finding| json!({"part": finding.part, "ok": finding.is_ok, "text": finding.text}))
        .collect();
    context.print(&json, &lines.join("\n"));
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn ok(part: &'static str, text: impl Into<String>) -> Finding {
    Finding { part, is_ok: true, text: text.into() }
}

fn wrong(part: &'static str, text: impl Into<String>) -> Finding {
    Finding { part, is_ok: false, text: text.into() }
}

async fn database(context: &CommandContext) -> Finding {
    match backends::open_store(&context.settings, Opener::Command).await {
        Ok(store) => match store.ping().await {
            Ok(()) => {
                ok("database", format!("opens with its key in {}", context.settings.database_location()))
            }
            Err(error) => wrong("database", error.to_string()),
        },
        Err(problem) => wrong("database", problem.to_string()),
    }
}

/// Checks the data folder and the key file, where they exist.
fn data_dir_permissions(context: &CommandContext) -> Vec<Finding> {
    let data_dir = &context.settings.data_dir;
    let user = rustix::process::geteuid().as_raw();
    let check_path = |path: &Path, kind| {
        let metadata = match std::fs::metadata(path) {
            Ok(found) => found,
            // A folder that was never used does not exist yet, or has no key.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                let problem = format!("{} cannot be checked: {error}", path.display());
                return Some(wrong("private", problem));
            }
        };
        let permissions =
            PathPermissions { kind, mode: metadata.mode() & 0o7777, owner: metadata.uid(), user };
        Some(match permissions.problem(&path.display().to_string()) {
            Some(problem) => wrong("private", problem),
            None => ok("private", format!("{} is private to its user", path.display())),
        })
    };
    let in_data_dir = context.settings.uses_data_dir().then(|| {
        [
            check_path(data_dir, PathKind::DataFolder),
            check_path(&data_dir.join("secret.key"), PathKind::SecretKey),
        ]
    });
    in_data_dir.into_iter().flatten().flatten().collect()
}

async fn storage(context: &CommandContext) -> Finding {
    let blob = match backends::open_blob(&context.settings).await {
        Ok(blob) => blob,
        Err(problem) => return wrong("storage", problem.to_string()),
    };
    if let Some(problem) = readiness::storage(&blob).await {
        return wrong("storage", problem.to_string());
    }
    match blob.free_space().await {
        Ok(Some(free)) => ok("storage", format!("{} GiB are free", free >> 30)),
        Ok(None) => ok(
            "storage",
            "responds, and has no known capacity; kinora storage check tests all required operations",
        ),
        Err(error) => wrong("storage", error.to_string()),
    }
}

async fn engine(context: &CommandContext) -> Vec<Finding> {
    let engine = match find_engine(&context.settings).await {
        Ok(engine) => engine,
        Err(problem) => return vec![wrong("ffmpeg", problem.to_string())],
    };
    let mut findings = vec![ok("ffmpeg", format!("{} at {}", engine.version(), engine.program().display()))];
    match engine.confinement().await {
        Ok(confinement) => {
            findings.extend(confinement.parts().into_iter().map(|(part, protection)| match protection {
                Protection::InForce => ok("confinement", format!("{part}: in force")),
                Protection::Absent(reason) => wrong(
                    "confinement",
                    format!("{part}: NOT in force, {reason}; docs/confinement.md has the remedies"),
                ),
            }))
        }
        Err(error) => findings.push(wrong("confinement", error.to_string())),
    }
    findings
}

fn clock() -> Finding {
    let now = SystemClock.now();
    if now.as_micros() < CLOCK_MIN {
        wrong("clock", format!("says {now}; set it, signatures and tokens depend on it"))
    } else {
        ok("clock", format!("says {now}"))
    }
}

fn port(context: &CommandContext) -> Finding {
    let listen = context.settings.listen;
    match std::net::TcpListener::bind(listen) {
        Ok(_) => ok("port", format!("{listen} is free")),
        Err(_) if is_served(listen) => ok("port", format!("kinora serve responds at {listen}")),
        Err(error) => {
            wrong("port", format!("cannot listen on {listen}: {error}; choose another with --listen"))
        }
    }
}

/// Whether a Kinora server listens on the address: no other server lists its roles.
fn is_served(listen: SocketAddr) -> bool {
    let request_readyz = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&listen, PROCESS_TIMEOUT)?;
        stream.set_read_timeout(Some(PROCESS_TIMEOUT))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(OUTPUT_BYTES_MAX).read_to_string(&mut answer)?;
        Ok(answer)
    };
    request_readyz().is_ok_and(|answer| answer.contains("\"ready\":") && answer.contains("\"roles\":"))
}
