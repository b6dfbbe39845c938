use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How long a server may take until it answers: they need a second or two, on a machine that does nothing
/// else.
const START: Duration = Duration::from_secs(60);
/// How long one may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(10);
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(50);
/// Of a server that has answered before.
const BETWEEN_WATCHES: Duration = Duration::from_secs(3);
/// How long one question may take then: a busy machine takes some seconds. All rounds and a start take less
/// than the minute that a test waits, so its second run finds the server.
const WATCH_ANSWER: Duration = Duration::from_secs(8);
/// So many rounds without an answer are a hang.
const SILENT_ROUNDS: u32 = 3;
/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How much of a log is shown when its server has failed.
const LOG_LINES: usize = 15;

/// A server that was started. Its process group is killed when this is dropped and was not stopped.
pub(super) struct Daemon {
    name: &'static str,
    child: Child,
    group: Pid,
    /// What it is stopped by.
    stop: Signal,
    /// It answers when all of these do.
    answers: Vec<Answer>,
    log: PathBuf,
}

/// How a server shows that it is there.
pub(super) enum Answer {
    /// It takes connections on this port and says something after these bytes.
    Bytes { port: u16, question: &'static [u8] },
    /// It answers this request with one of these codes.
    Http { port: u16, request: &'static str, codes: &'static [&'static str] },
}

impl Daemon {
    /// Starts a server whose output goes to the file `log`.
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        stop: Signal,
        log: &Path,
        answers: Vec<Answer>,
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

    /// Waits until it answers, or fails with the end of its log: when it ends itself, or after a minute.
    pub(super) async fn wait_until_it_answers(&mut self) -> Result<(), String> {
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

    /// Waits until it has ended, or has said nothing to [`SILENT_ROUNDS`] rounds of questions, and says
    /// which. An answer that is not the wanted one is an answer: a full disk is no hang.
    pub(super) async fn wait_until_it_fails(&mut self) -> String {
        let mut silent = 0;
        loop {
            if let Some(end) = self.ended() {
                return end;
            }
            silent = if self.says_something().await { 0 } else { silent + 1 };
            if silent == SILENT_ROUNDS {
                return format!("did not answer {SILENT_ROUNDS} times, {} s each", WATCH_ANSWER.as_secs());
            }
            sleep(BETWEEN_WATCHES).await;
        }
    }

    async fn says_something(&self) -> bool {
        for answer in &self.answers {
            if !matches!(timeout(WATCH_ANSWER, answer.is_given()).await, Ok(Ok(_))) {
                return false;
            }
        }
        true
    }

    fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("ended by itself: {status}"))
    }

    /// Ends it after it has written what each of its threads does, as a program in Go does on SIGQUIT.
    /// Copies its log to `kept`, and returns it.
    pub(super) async fn end_with_threads(mut self, kept: &Path) -> io::Result<String> {
        // Suspended, it would not write. Both fail only when it is gone.
        let _ = kill_process_group(self.group, Signal::CONT);
        let _ = kill_process_group(self.group, Signal::QUIT);
        let log = self.log.clone();
        if timeout(STOP, self.child.wait()).await.is_err() {
            self.stop_by(Signal::KILL).await;
        }
        fs::copy(&log, kept)?;
        Ok(String::from_utf8_lossy(&fs::read(kept)?).into_owned())
    }

    async fn answers(&self) -> bool {
        for answer in &self.answers {
            if !matches!(timeout(ANSWER, answer.is_given()).await, Ok(Ok(true))) {
                return false;
            }
        }
        true
    }

    fn problem(&self, what: &str) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        format!("{} {what}\n{}", self.name, last_lines(&String::from_utf8_lossy(&log), LOG_LINES))
    }

    /// Stops it and waits until it is gone.
    pub(super) async fn stop(mut self) {
        self.stop_by(self.stop).await;
    }

    async fn stop_by(&mut self, signal: Signal) {
        // A server that is gone already needs no signal.
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

impl Answer {
    async fn is_given(&self) -> io::Result<bool> {
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
            // RFC 9112, 4: the version, the code.
            Self::Http { codes, .. } => {
                let code = answer[..length].split(|byte| *byte == b' ').nth(1);
                codes.iter().any(|wanted| code == Some(wanted.as_bytes()))
            }
        })
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_shown() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }

    #[tokio::test]
    async fn a_server_that_ends_is_told_with_its_log() {
        let folder = tempfile::tempdir().expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
        let mut command = Command::new("sh");
        command.arg("-c").arg("echo no such folder >&2; exit 3").process_group(0);
        let answers = vec![Answer::Bytes { port: 1, question: b"" }];
        let log = folder.path().join("log");
        let mut daemon = Daemon::start("example", command, Signal::TERM, &log, answers).expect("started");
        let problem = daemon.wait_until_it_answers().await.expect_err("it has ended");
        assert_eq!(problem, "example ended by itself: exit status: 3\nno such folder");
    }
}
