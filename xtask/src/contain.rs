//! `cargo xtask contain -- COMMAND...`: runs a command and, on SIGTERM, ends it with all its descendants.
//!
//! The command stays in this process group, so the terminal treats it as if this process did not exist:
//! Ctrl-C reaches it, and it may read and write. A descendant whose parent ends becomes a child of this
//! process (PR_SET_CHILD_SUBREAPER, prctl(2)). Therefore each descendant is found, also in another process
//! group or session.
//!
//! After a command that ends by itself, its descendants continue.

use std::collections::{HashMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use crate::report;
use crate::signals::Signals;

/// Timeout for the command to end after each signal: a test runner ends its tests first.
pub(crate) const STEP: Duration = Duration::from_secs(10);
/// A shell's exit code for a command that was ended by a signal is this plus the signal number.
const SIGNALLED: i32 = 128;

/// Runs one command. Returns its exit code, or 1 with a message if it does not start.
pub(crate) fn run(program: &str, arguments: &[String]) -> ExitCode {
    // Single-threaded: the kernel ends the command when the thread that started it ends.
    let ran = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(contain(program, arguments)));
    match ran {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(problem) => {
            report(&format!("{program}: {problem}"));
            ExitCode::FAILURE
        }
    }
}

async fn contain(program: &str, arguments: &[String]) -> io::Result<i32> {
    let (mut signals, changes) = (Signals::new()?, signal(SignalKind::child())?);
    set_child_subreaper(Some(getpid()))?;
    #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig=TERM", "--", program]).args(arguments);
    // Not tokio's: this process reaps all its children and their descendants.
    let mut family = ProcessTree { command: command.spawn()?, code: None, changes };
    let received = tokio::select! {
        asked = signals.next() => Some(asked),
        code = family.command_ended() => {
            code?;
            // Ctrl-C reaches both processes at once, and the command may end first.
            signals.arrived().await
        }
    };
    let Some(asked) = received else { return Ok(family.code.expect("the command has ended")) };
    // Ctrl-C reaches the command from the terminal. A second signal would make a test runner abort its tests
    // at once, so it is sent only if the first one had no effect.
    if asked == rustix::process::Signal::INT
        && let Ok(code) = timeout(STEP, family.command_ended()).await
    {
        code?;
    }
    send_signal(&descendants()?, rustix::process::Signal::TERM);
    if let Ok(ended) = timeout(STEP, family.ended(None)).await {
        ended?;
    } else {
        // A process that survives SIGKILL is left: it is blocked in the kernel, or belongs to another user.
        let _ = timeout(STEP, family.ended(Some(rustix::process::Signal::KILL))).await;
    }
    Ok(family.code.unwrap_or(SIGNALLED + rustix::process::Signal::KILL.as_raw()))
}

/// The command and its descendants.
struct ProcessTree {
    command: Child,
    /// The exit code of the command, once it has ended.
    code: Option<i32>,
    /// Notifies that a child has ended.
    changes: Signal,
}

impl ProcessTree {
    /// Reaps the children that have ended, without blocking.
    fn reap(&mut self) -> io::Result<()> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if pid.as_raw_nonzero().get().cast_unsigned() == self.command.id() {
                        self.code = Some(code(ExitStatus::from_raw(status.as_raw())));
                    }
                }
                Ok(None) | Err(rustix::io::Errno::CHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn command_ended(&mut self) -> io::Result<i32> {
        loop {
            self.reap()?;
            if let Some(code) = self.code {
                return Ok(code);
            }
            self.changes.recv().await;
        }
    }

    /// Waits until no descendant is left. Sends `again` to the remaining ones, including new ones.
    async fn ended(&mut self, again: Option<rustix::process::Signal>) -> io::Result<()> {
        loop {
            self.reap()?;
            let left = descendants()?;
            if left.is_empty() {
                return Ok(());
            }
            if let Some(signal) = again {
                send_signal(&left, signal);
            }
            self.changes.recv().await;
        }
    }
}

fn send_signal(processes: &[Pid], signal: rustix::process::Signal) {
    for pid in processes {
        // A process that has already ended needs no signal.
        let _ = kill_process(*pid, signal);
    }
}

/// All descendants of this process.
fn descendants() -> io::Result<Vec<Pid>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end between two reads.
        let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(parent) = parent(&String::from_utf8_lossy(&stat)) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = HashSet::new();
    let mut open = vec![getpid().as_raw_nonzero().get()];
    while let Some(pid) = open.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if found.insert(*child) {
                open.push(*child);
            }
        }
    }
    Ok(found.into_iter().filter_map(Pid::from_raw).collect())
}

/// Parses the parent in `pid (name) state parent ...`, proc_pid_stat(5). A name may contain spaces and
/// parentheses.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The exit code that a shell would return.
pub(crate) fn code(status: ExitStatus) -> i32 {
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
    fn exit_code_matches_the_shell() {
        check_code(0, 0);
        check_code(3 << 8, 3);
        check_code(9, 137);
    }

    #[test]
    fn parent_is_read_after_a_name_with_parentheses() {
        assert_eq!(parent("7 (sh) S 3 7 7 0"), Some(3));
        assert_eq!(parent("7 (a) S 9 (b) R 3 7 7 0"), Some(3));
        assert_eq!(parent("7 (sh"), None);
    }
}
