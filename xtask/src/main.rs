//! Tasks of the workspace that Cargo has no command for.
//!
//! `cargo xtask tidy` checks the rules that no lint can state; begin there. `cargo xtask servers --
//! COMMAND...` runs a command with a temporary PostgreSQL and S3 server; with `--durable`, PostgreSQL syncs
//! its commits, as in production. `cargo xtask contain -- COMMAND...` runs a command that SIGTERM ends with
//! all its descendants.

use std::path::Path;
use std::process::ExitCode;

mod contain;
mod servers;
mod signals;
mod tidy;

use servers::Durability;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["contain", "--", program, ..] => contain::run(program, &arguments[3..]),
        ["servers", "--", program, ..] => servers::run(program, &arguments[3..], Durability::Fast),
        ["servers", "--durable", "--", program, ..] => {
            servers::run(program, &arguments[4..], Durability::Durable)
        }
        _ => {
            report(
                "usage: cargo xtask tidy | cargo xtask servers [--durable] -- COMMAND... | cargo xtask contain -- COMMAND...",
            );
            ExitCode::from(2)
        }
    }
}

fn tidy() -> ExitCode {
    match tidy::check_workspace(workspace_root()) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                report(&finding.to_string());
            }
            report(&format!("tidy: {} to put right", findings.len()));
            ExitCode::FAILURE
        }
        Err(error) => {
            report(&format!("tidy: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace this binary was built from.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in a folder of the workspace")
}

#[expect(clippy::print_stderr, reason = "a command line tool speaks on the terminal")]
fn report(line: &str) {
    eprintln!("{line}");
}
