use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// Timeout of a server's start: it needs one or two seconds on an idle machine.
const START: Duration = Duration::from_secs(60);
/// Timeout of a server's stop before it is killed.
const STOP: Duration = Duration::from_secs(10);
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);
/// Interval between the checks of a running server.
const BETWEEN_WATCHES: Duration = Duration::from_secs(3);
/// Timeout of one such check: a busy machine takes some seconds. All rounds and a start take less than a
/// minute, the timeout of a test, so the second run of that test finds the server.
const WATCH_ANSWER: Duration = Duration::from_secs(8);
/// Number of rounds without a response that count as a hang.
const SILENT_ROUNDS: u32 = 3;
/// Timeout of one check during the start.
const ANSWER: Duration = Duration::from_secs(5);
/// Number of log lines shown after a server has failed.
const LOG_LINES: usize = 15;

/// A started server. Unless it was stopped, its process group is killed on drop.
pub(super) struct Daemon {
    name: &'static str,
    child: Child,
    group: Pid,
    /// The signal that stops it.
    stop: Signal,
    /// The checks that must all pass before it is ready.
    answers: Vec<ReadyCheck>,
    log: PathBuf,
}

/// A readiness check of a server.
pub(super) enum ReadyCheck {
    /// It accepts connections on this port and sends something after these bytes.
    Bytes { port: u16, question: &'static [u8] },
    /// It responds to this request with one of these codes.
    Http { port: u16, request: &'static str, codes: &'static [&'static str] },
}

impl Daemon {
    /// Starts a server whose output goes to the file `log`.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        stop: Signal,
        log: &Path,
        answers: Vec<ReadyCheck>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{name} does not start: {error}");
        let output = File::create(log).map_err(failed)?;
        command.stdin(std::process::Stdio::null()).stderr(output.try_clone().map_err(failed)?).stdout(output);
        let child = command.spawn().map_err(failed)?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .expect("nobody has waited for it, so it has its id");
        Ok(Self { name, child, group, stop, answers, log: log.to_owned() })
    }

    /// Waits until it is ready. Fails with the end of its log if it ends itself, or after a minute.
    pub(super) async fn wait_ready(&mut self) -> Result<(), String> {
        let give_up = Instant::now() + START;
        loop {
            if let Some(end) = self.ended() {
                return Err(self.problem(&end));
            }
            if self.answers().await {
                return Ok(());
            }
            if Instant::now() > give_up {
                return Err(self.problem("does not answer"));
            }
            sleep(BETWEEN_QUESTIONS).await;
        }
    }

    /// Waits until it has ended, or has not responded in [`SILENT_ROUNDS`] rounds of checks; returns which.
    /// An unexpected response counts as a response: a full disk is not a hang.
    pub(super) async fn wait_failed(&mut self) -> String {
        let mut silent = 0;
        loop {
            if let Some(end) = self.ended() {
                return end;
            }
            silent = if self.is_ready().await { 0 } else { silent + 1 };
            if silent == SILENT_ROUNDS {
                return format!("did not answer {SILENT_ROUNDS} times, {} s each", WATCH_ANSWER.as_secs());
            }
            sleep(BETWEEN_WATCHES).await;
        }
    }

    async fn is_ready(&self) -> bool {
        for answer in &self.answers {
            if !matches!(timeout(WATCH_ANSWER, answer.passes()).await, Ok(Ok(_))) {
                return false;
            }
        }
        true
    }

    fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("ended by itself: {status}"))
    }

    /// Ends it after it has logged the stacks of its threads, as a Go program does on SIGQUIT. Copies its
    /// log to `kept`, and returns it.
    pub(super) async fn end_with_threads(mut self, copy_path: &Path) -> io::Result<String> {
        // A suspended process would not log them. Both calls fail only if it has ended.
        let _ = kill_process_group(self.group, Signal::CONT);
        let _ = kill_process_group(self.group, Signal::QUIT);
        let log = self.log.clone();
        if timeout(STOP, self.child.wait()).await.is_err() {
            self.stop_by(Signal::KILL).await;
        }
        fs::copy(&log, copy_path)?;
        Ok(String::from_utf8_lossy(&fs::read(copy_path)?).into_owned())
    }

    async fn answers(&self) -> bool {
        for answer in &self.answers {
            if !matches!(timeout(ANSWER, answer.passes()).await, Ok(Ok(true))) {
                return false;
            }
        }
        true
    }

    fn problem(&self, what: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        format!("{} {what}\n{}", self.name, last_lines(&String::from_utf8_lossy(&log), LOG_LINES))
    }

    /// Stops it and waits for its end.
    pub(super) async fn stop(mut self) {
        self.stop_by(self.stop).await;
    }

    async fn stop_by(&mut self, signal: Signal) {
        // A server that has already ended needs no signal.
        let _ = kill_process_group(self.group, signal);
        if timeout(STOP, self.child.wait()).await.is_err() {
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.child.wait().await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.child.id().is_some() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

impl ReadyCheck {
    async fn passes(&self) -> io::Result<bool> {
        let (port, question) = match self {
            Self::Bytes { port, question } => (*port, question.to_vec()),
            Self::Http { port, request, .. } => (*port, request.as_bytes().to_vec()),
        };
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(&question).await?;
        let mut answer = [0; 32];
        let length = stream.read(&mut answer).await?;
        Ok(match self {
            Self::Bytes { .. } => length > 0,
            // RFC 9112, 4: the version, then the code.
            Self::Http { codes, .. } => {
                let code = answer[..length].split(|byte| *byte == b' ').nth(1);
                codes.iter().any(|expected| code == Some(expected.as_bytes()))
            }
        })
    }
}

/// The last lines of a log, without the stacks of a Go program: its message is before them.
fn last_lines(text: &str, count: usize) -> String {
    let messages = text.split("\ngoroutine ").next().unwrap_or_default();
    let lines: Vec<&str> = messages.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_log_lines_are_shown() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
        assert_eq!(last_lines("a\nport in use\ngoroutine 1 [running]:\nmain.main()\n", 2), "a\nport in use");
    }

    #[tokio::test]
    async fn server_exit_error_includes_its_log() {
        let folder = tempfile::tempdir().expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
        let mut command = Command::new("sh");
        command.arg("-c").arg("echo no such folder >&2; exit 3").process_group(0);
        let answers = vec![ReadyCheck::Bytes { port: 1, question: b"" }];
        let log = folder.path().join("log");
        let mut daemon = Daemon::start("example", command, Signal::TERM, &log, answers).expect("started");
        let problem = daemon.wait_ready().await.expect_err("it has ended");
        assert_eq!(problem, "example ended by itself: exit status: 3\nno such folder");
    }
}
