use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tokio::process::Command;
use tokio::time::timeout;

use super::Environment;
use crate::contain::{self, STEP};
use crate::signals::Signals;

/// How long `contain` may take after a signal: a step for each signal that it sends, and one more.
const CONTAINED_WITHIN: Duration = STEP.saturating_mul(4);

/// Runs the command on this terminal and returns its code. A signal that comes meanwhile ends it, with its
/// descendants.
///
/// They are those of `cargo xtask contain`, a process of its own: the servers are none of them. It ends them
/// too when this process is killed: without its servers the command is of no use.
pub(super) async fn run(
    program: &str,
    arguments: &[String],
    environment: Environment,
    signals: &mut Signals,
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
    let asked = tokio::select! {
        status = child.wait() => return status.map(contain::code).map_err(failed),
        asked = signals.next() => asked,
    };
    // Ctrl-C has reached it from the terminal too. It looks at the first signal alone.
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        kill_process(pid, asked).map_err(|error| failed(error.into()))?;
    }
    if let Ok(status) = timeout(CONTAINED_WITHIN, child.wait()).await {
        return status.map(contain::code).map_err(failed);
    }
    child.kill().await.map_err(failed)?;
    child.wait().await.map(contain::code).map_err(failed)
}
