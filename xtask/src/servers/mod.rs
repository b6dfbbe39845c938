//! `cargo xtask servers -- COMMAND...`: a PostgreSQL and a SeaweedFS for one command, gone when it ends.
//!
//! Both start in a fresh temporary folder, on free ports of 127.0.0.1, as an unprivileged user when this runs
//! as root. The command finds them by its environment; it ends with the code that this ends with. However
//! this ends, by a failure, Ctrl-C or SIGTERM, both servers are stopped and the folder is removed. SIGTERM
//! ends the command with all its descendants. It knows nothing of Kinora but the names of the variables that
//! its tests read.
//!
//! Beside tests, a SeaweedFS that hangs is started again on its ports and its data: without it, each later
//! test of a run would wait for its limit and fail. With `--durable` it is left alone: nobody measures a
//! store that was killed.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use self::daemon::Daemon;
use self::place::Place;
use crate::report;
use crate::signals::Signals;

mod command;
mod daemon;
mod place;
mod postgres;
mod seaweed;

/// How often it is started again in one run, and tried to be. With more something else is wrong.
const RESTARTS_MAX: u32 = 5;
/// Between two tries.
const BETWEEN_STARTS: Duration = Duration::from_secs(5);
/// How much of what its threads do is shown: those that serve a request.
const THREADS: usize = 4;
const THREAD_LINES: usize = 40;

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

/// Runs one command beside both servers. Its exit code, or 1 with a sentence when a server or the command
/// does not start.
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
    let seaweed = seaweed::Settings::new(&place)?;
    let mut running = Running::default();
    let started = tokio::select! {
        started = running.start(&place, &seaweed, commits) => started,
        _ = signals.next() => Err("stopped before the servers answered".to_owned()),
    };
    let code = match started {
        Ok(environment) => tokio::select! {
            code = command::run(program, arguments, environment, &mut signals) => code,
            never = running.keep(&place, &seaweed), if commits == Commits::Fast => match never {},
        },
        Err(problem) => Err(problem),
    };
    running.stop().await;
    code
}

/// The servers that have started.
#[derive(Default)]
struct Running {
    postgres: Option<Daemon>,
    seaweed: Option<Daemon>,
    /// How often SeaweedFS was started again.
    restarts: u32,
}

impl Running {
    /// Starts both and waits until both answer.
    async fn start(
        &mut self,
        place: &Place,
        seaweed: &seaweed::Settings,
        commits: Commits,
    ) -> Result<Environment, String> {
        let postgres = postgres::Settings::new(place)?;
        postgres.initialise(place).await?;
        let daemon = self.postgres.insert(postgres.start(place, commits)?);
        self.seaweed.insert(seaweed.start(place)?).wait_until_it_answers().await?;
        daemon.wait_until_it_answers().await?;
        seaweed.make_bucket().await?;
        Ok(postgres.environment().into_iter().chain(seaweed.environment()).collect())
    }

    /// Starts SeaweedFS again each time that it has failed. Never ends: where it cannot be started, tests
    /// say that it is not there.
    async fn keep(&mut self, place: &Place, seaweed: &seaweed::Settings) -> Infallible {
        while let Some(daemon) = &mut self.seaweed
            && self.restarts < RESTARTS_MAX
        {
            let failure = daemon.wait_until_it_fails().await;
            self.restarts += 1;
            let log = target_folder().join(format!("seaweed-{}.log", self.restarts));
            report(&format!(
                "servers: SeaweedFS {failure}; it starts again, and its log is {}",
                log.display()
            ));
            if let Some(daemon) = self.seaweed.take() {
                match daemon.end_with_threads(&log).await {
                    Ok(said) => report(&serving_threads(&said)),
                    Err(error) => report(&format!("servers: {}: {error}", log.display())),
                }
            }
            self.seaweed = start_again(place, seaweed).await;
        }
        std::future::pending().await
    }

    async fn stop(self) {
        for daemon in [self.seaweed, self.postgres].into_iter().flatten() {
            daemon.stop().await;
        }
        if self.restarts > 0 {
            report(&format!(
                "servers: SeaweedFS was started again, {} in all; tests that ran then may have failed once",
                self.restarts
            ));
        }
    }
}

/// Starts it, some times if need be: another program may have taken one of its ports for a moment.
async fn start_again(place: &Place, seaweed: &seaweed::Settings) -> Option<Daemon> {
    for _ in 0..RESTARTS_MAX {
        let answering = async {
            let mut daemon = seaweed.start(place)?;
            daemon.wait_until_it_answers().await.map(|()| daemon)
        };
        match answering.await {
            Ok(daemon) => return Some(daemon),
            Err(problem) => report(&format!("servers: {problem}")),
        }
        tokio::time::sleep(BETWEEN_STARTS).await;
    }
    None
}

/// Where what is built lies, below the folder that this was started in as cargo has it.
fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::workspace_root().join("target"), PathBuf::from)
}

/// Of what a program in Go writes about its threads: a few that serve an S3 request.
fn serving_threads(log: &str) -> String {
    let serving = log
        .split("\n\n")
        .filter(|thread| thread.contains("s3api.") && thread.contains("net/http.(*conn).serve("));
    let lines = |thread: &str| thread.lines().take(THREAD_LINES).collect::<Vec<_>>().join("\n");
    serving.take(THREADS).map(lines).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_threads_those_that_serve_a_request_are_shown() {
        let log = "I1126 started\n\ngoroutine 1 [select]:\nmain.main()\n\n\
                   goroutine 5 [IO wait]:\nweed_server.(*MasterServer).dirAssignHandler()\nnet/http.(*conn).serve()\n\n\
                   goroutine 7 [semacquire, 2 minutes]:\nsync.(*Mutex).Lock()\ns3api.(*S3ApiServer).PutBucketHandler()\nnet/http.(*conn).serve()\n\n";
        assert_eq!(
            serving_threads(log),
            "goroutine 7 [semacquire, 2 minutes]:\nsync.(*Mutex).Lock()\ns3api.(*S3ApiServer).PutBucketHandler()\nnet/http.(*conn).serve()"
        );
        assert_eq!(serving_threads("nothing"), "");
    }
}
