//! `cargo xtask servers -- COMMAND...`: a PostgreSQL and a SeaweedFS for one command, removed at its end.
//!
//! Both start in a fresh temporary folder, on free ports of 127.0.0.1, as an unprivileged user if this runs
//! as root. The command finds them through its environment; its exit code becomes the exit code of this
//! task. On every exit, also after a failure, Ctrl-C or SIGTERM, both servers are stopped and the folder is
//! removed. SIGTERM ends the command with all its descendants. Of Kinora, this task knows only the variables
//! that its tests read.
//!
//! During tests, a SeaweedFS that hangs is restarted on the same ports and data: otherwise each later test
//! of the run would wait for its timeout and fail. If it cannot be restarted, the command is ended for the
//! same reason. With `--durable` it is not restarted: a measurement of a killed store is useless.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;

use self::daemon::Daemon;
use self::server_dir::ServerDir;
use crate::report;
use crate::signals::Signals;

mod command;
mod daemon;
mod postgres;
mod seaweed;
mod server_dir;

/// Most restarts in one run, and most attempts per restart. More of them indicate another fault.
const RESTARTS_MAX: u32 = 5;
/// Delay between two attempts.
const BETWEEN_STARTS: Duration = Duration::from_secs(5);
/// Number of threads in the report of a hang: those that serve a request.
const THREADS: usize = 4;
const THREAD_LINES: usize = 40;

/// The durability of PostgreSQL's commits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing is synced: enough for tests.
    Fast,
    /// PostgreSQL's default: data must be on disk if the server is measured or killed.
    Durable,
}

/// The environment variables of the command: names and values.
type Environment = Vec<(&'static str, String)>;

/// Runs one command with both servers. Returns its exit code, or 1 with a message if a server or the command
/// does not start.
pub(crate) fn run(program: &str, arguments: &[String], commits: Durability) -> ExitCode {
    // Single-threaded: the kernel kills the servers when the thread that started them ends.
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

async fn run_beside_servers(program: &str, arguments: &[String], commits: Durability) -> Result<i32, String> {
    let mut signals = Signals::new().map_err(|error| format!("signals cannot be awaited: {error}"))?;
    let dir = ServerDir::new()?;
    let seaweed = seaweed::Settings::new(&dir)?;
    let mut running = RunningServers::default();
    let started = tokio::select! {
        started = running.start(&dir, &seaweed, commits) => started,
        _ = signals.next() => Err("stopped before the servers answered".to_owned()),
    };
    let code = match started {
        Ok(environment) => {
            let stop = async {
                tokio::select! {
                    asked = signals.next() => asked,
                    () = running.restart_on_exit(&dir, &seaweed), if commits == Durability::Fast => Signal::TERM,
                }
            };
            command::run(program, arguments, environment, stop).await
        }
        Err(problem) => Err(problem),
    };
    running.stop().await;
    code
}

/// The servers that have started.
#[derive(Default)]
struct RunningServers {
    postgres: Option<Daemon>,
    seaweed: Option<Daemon>,
    /// Number of SeaweedFS restarts.
    restarts: u32,
}

impl RunningServers {
    /// Starts both and waits until both are ready.
    async fn start(
        &mut self,
        dir: &ServerDir,
        seaweed: &seaweed::Settings,
        commits: Durability,
    ) -> Result<Environment, String> {
        let postgres = postgres::Settings::new(dir)?;
        postgres.initialise(dir).await?;
        let daemon = self.postgres.insert(postgres.start(dir, commits)?);
        self.seaweed.insert(seaweed.start(dir)?).wait_ready().await?;
        daemon.wait_ready().await?;
        seaweed.make_bucket().await?;
        Ok(postgres.environment().into_iter().chain(seaweed.environment()).collect())
    }

    /// Restarts SeaweedFS after each failure. Returns if it cannot be started, or fails too often: the tests
    /// that need it would each wait for their timeout.
    async fn restart_on_exit(&mut self, dir: &ServerDir, seaweed: &seaweed::Settings) {
        while let Some(daemon) = &mut self.seaweed {
            let failure = daemon.wait_failed().await;
            if self.restarts == RESTARTS_MAX {
                report(&format!(
                    "servers: SeaweedFS {failure}, after {RESTARTS_MAX} restarts; the command is ended"
                ));
                return;
            }
            self.restarts += 1;
            let log = target_folder().join(format!("seaweed-{}.log", self.restarts));
            report(&format!(
                "servers: SeaweedFS {failure} ({}); it starts again, and its log is {}",
                dir.free_space(),
                log.display()
            ));
            if let Some(daemon) = self.seaweed.take() {
                match daemon.end_with_threads(&log).await {
                    Ok(log_text) => report(&serving_threads(&log_text)),
                    Err(error) => report(&format!("servers: {}: {error}", log.display())),
                }
            }
            self.seaweed = start_again(dir, seaweed).await;
        }
        report(&format!(
            "servers: SeaweedFS cannot be started again ({}); the command is ended",
            dir.free_space()
        ));
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

/// Starts it, with retries: another program may use one of its ports for a short time.
async fn start_again(dir: &ServerDir, seaweed: &seaweed::Settings) -> Option<Daemon> {
    for _ in 0..RESTARTS_MAX {
        let answering = async {
            let mut daemon = seaweed.start(dir)?;
            daemon.wait_ready().await.map(|()| daemon)
        };
        match answering.await {
            Ok(daemon) => return Some(daemon),
            Err(problem) => report(&format!("servers: {problem}")),
        }
        tokio::time::sleep(BETWEEN_STARTS).await;
    }
    None
}

/// The folder of build artifacts; the default is relative to the workspace, as in cargo.
fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::workspace_root().join("target"), PathBuf::from)
}

/// From the thread dump of a Go program, a few threads that serve an S3 request.
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
    fn only_request_serving_threads_are_shown() {
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
