use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::time::timeout;

use super::Environment;
use crate::contain::{self, STEP};

/// Timeout of `contain` after a signal: one step for each signal that it sends, and one more.
const CONTAINED_WITHIN: Duration = STEP.saturating_mul(4);

/// Runs the command on this terminal and returns its exit code. The signal that `stop` returns ends the
/// command with its descendants.
///
/// They are descendants of `cargo xtask contain`, a separate process, so that the servers are not among
/// them. It also ends them if this process is killed: without its servers the command is useless.
pub(super) async fn run(
    program: &str,
    arguments: &[String],
    environment: Environment,
    stop: impl Future<Output = Signal>,
) -> Result<i32, String> {
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let this = std::env::current_exe().map_err(failed)?;
    #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig=TERM", "--"])
        .arg(this)
        .args(["contain", "--", program])
        .args(arguments)
        .envs(environment)
        .spawn()
        .map_err(|error| format!("{program} does not start: {error}"))?;
    let received = tokio::select! {
        status = child.wait() => return status.map(contain::code).map_err(failed),
        asked = stop => asked,
    };
    // Ctrl-C has also reached it from the terminal. It handles only the first signal.
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        kill_process(pid, received).map_err(|error| failed(error.into()))?;
    }
    if let Ok(status) = timeout(CONTAINED_WITHIN, child.wait()).await {
        return status.map(contain::code).map_err(failed);
    }
    child.kill().await.map_err(failed)?;
    child.wait().await.map(contain::code).map_err(failed)
}
