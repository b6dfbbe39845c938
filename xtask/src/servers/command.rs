use std::future::Future;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::Environment;

/// How long the command may take to end after each thing it is told: a test runner lets its tests end first.
const STEP: Duration = Duration::from_secs(10);
/// The code of a shell for a command that a signal ended is this and the signal's number.
const SIGNALLED: i32 = 128;

/// The signals that ask a program to end.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next one that comes.
    pub(super) async fn next(&mut self) -> rustix::process::Signal {
        tokio::select! {
            _ = self.interrupt.recv() => rustix::process::Signal::INT,
            _ = self.terminate.recv() => rustix::process::Signal::TERM,
        }
    }
}

/// Runs the command on this terminal and returns its code. A signal that comes meanwhile ends it.
pub(super) async fn run(
    program: &str,
    arguments: &[String],
    environment: Environment,
    signals: &mut Signals,
) -> Result<i32, String> {
    #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig=TERM", "--", program]) // without its servers it is of no use
        .args(arguments)
        .envs(environment)
        .spawn()
        .map_err(|error| format!("{program} does not start: {error}"))?;
    let asked = tokio::select! {
        status = child.wait() => return status.map(code).map_err(|error| format!("{program}: {error}")),
        signal = signals.next() => signal,
    };
    end(&mut child, asked).await.map_err(|error| format!("{program}: {error}"))
}

/// Ends a command after this process was asked to end.
///
/// Ctrl-C reaches the command from the terminal, and a second one would make a test runner drop its tests at once: so
/// it is sent on only where nothing has come of it.
async fn end(child: &mut Child, asked: rustix::process::Signal) -> io::Result<i32> {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let tell = |signal| pid.map_or(Ok(()), |pid| kill_process(pid, signal));
    if asked == rustix::process::Signal::INT
        && let Some(code) = within(child.wait()).await?
    {
        return Ok(code);
    }
    tell(rustix::process::Signal::TERM)?;
    if let Some(code) = within(child.wait()).await? {
        return Ok(code);
    }
    child.kill().await?;
    child.wait().await.map(code)
}

async fn within(ended: impl Future<Output = io::Result<ExitStatus>>) -> io::Result<Option<i32>> {
    timeout(STEP, ended).await.map_or(Ok(None), |status| status.map(|status| Some(code(status))))
}

/// What a shell would say of it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal)).unwrap_or(SIGNALLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_code(wait_status: i32, expected: i32) {
        assert_eq!(code(ExitStatus::from_raw(wait_status)), expected);
    }

    #[test]
    fn the_code_is_that_of_a_shell() {
        check_code(0, 0);
        check_code(3 << 8, 3);
        check_code(9, 137);
    }
}
