//! `cargo xtask servers -- COMMAND...`: a PostgreSQL and a SeaweedFS for one command, gone when it ends.
//!
//! Both start in a fresh temporary folder, on free ports of 127.0.0.1, as an unprivileged user when this runs as root.
//! The command finds them by its environment; it ends with the code that this ends with. However this ends, by a
//! failure, Ctrl-C or SIGTERM, both servers are stopped and the folder is removed. SIGTERM ends the command
//! with all its descendants. It knows nothing of Kinora but the names of the variables that its tests read.

use std::process::ExitCode;

use self::daemon::Daemon;
use self::place::Place;
use crate::report;
use crate::signals::Signals;

mod command;
mod daemon;
mod place;
mod postgres;
mod seaweed;

/// What a commit of PostgreSQL is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commits {
    /// Nothing is synced: tests need no more.
    Fast,
    /// As PostgreSQL comes: what is measured or killed must be on the disk.
    Durable,
}

/// What the command is told: names and values of its environment.
type Environment = Vec<(&'static str, String)>;

/// Runs one command beside both servers. Its exit code, or 1 with a sentence when a server or the command does not
/// start.
pub(crate) fn run(program: &str, arguments: &[String], commits: Commits) -> ExitCode {
    // One thread: the servers are killed by the kernel when the thread that started them is gone.
    let ran = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(run_beside_servers(program, arguments, commits)));
    match ran {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(problem) => {
            report(&format!("servers: {problem}"));
            ExitCode::FAILURE
        }
    }
}

async fn run_beside_servers(program: &str, arguments: &[String], commits: Commits) -> Result<i32, String> {
    let mut signals = Signals::new().map_err(|error| format!("signals cannot be awaited: {error}"))?;
    let place = Place::new()?;
    let mut daemons = Vec::new();
    let started = tokio::select! {
        started = start(&place, &mut daemons, commits) => started,
        _ = signals.next() => Err("stopped before the servers answered".to_owned()),
    };
    let code = match started {
        Ok(environment) => command::run(program, arguments, environment, &mut signals).await,
        Err(problem) => Err(problem),
    };
    for daemon in daemons.into_iter().rev() {
        daemon.stop().await;
    }
    code
}

/// Starts both and waits until both answer. What has started is in `daemons`, also after a failure.
async fn start(place: &Place, daemons: &mut Vec<Daemon>, commits: Commits) -> Result<Environment, String> {
    let postgres = postgres::Settings::new(place)?;
    let seaweed = seaweed::Settings::new(place)?;
    postgres.initialise(place).await?;
    daemons.push(postgres.start(place, commits)?);
    daemons.push(seaweed.start(place)?);
    for daemon in daemons.iter_mut() {
        daemon.wait_until_it_answers().await?;
    }
    seaweed.make_bucket().await?;
    Ok(postgres.environment().into_iter().chain(seaweed.environment()).collect())
}
