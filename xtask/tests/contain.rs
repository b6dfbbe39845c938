//! `cargo xtask contain`, run as a process, with commands that have descendants.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgrp, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A timeout against hangs.
const HANGS: Duration = Duration::from_secs(100);

/// A shell command in `contain`. All its processes inherit the pipe that `output` reads.
struct Contained {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Contained {
    fn start(script: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a task of the workspace, no part of the product")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(["contain", "--", "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    /// Reads the next lines and sorts them.
    async fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            let mut line = String::new();
            timeout(HANGS, self.output.read_line(&mut line)).await.expect("it comes").expect("a line");
            lines.push(line.trim().to_owned());
        }
        lines.sort();
        lines
    }

    fn send_signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs");
        kill_process(pid, signal).expect("it runs");
    }

    /// The exit code, after this process has ended and all processes have closed the pipe.
    async fn ended(mut self) -> Option<i32> {
        let status = timeout(HANGS, self.child.wait()).await.expect("it ends").expect("a status");
        let mut rest = String::new();
        timeout(HANGS, self.output.read_to_string(&mut rest)).await.expect("nothing is left").expect("text");
        assert_eq!(rest, "");
        status.code()
    }
}

#[tokio::test]
async fn sigterm_leaves_no_descendant() {
    // A child in another session that ignores SIGTERM, and a grandchild whose parent has ended.
    let mut contained = Contained::start(
        "setsid sh -c 'trap \"\" TERM; echo child; exec tail -f /dev/null' &
         sh -c '{ echo grandchild; exec tail -f /dev/null; } &'
         echo command; exec tail -f /dev/null",
    );
    assert_eq!(contained.lines(3).await, ["child", "command", "grandchild"]);
    contained.send_signal(Signal::TERM);
    assert_eq!(contained.ended().await, Some(128 + Signal::TERM.as_raw()));
}

#[tokio::test]
async fn sigint_ends_the_descendants_of_a_command_that_it_ended() {
    // As from a terminal, the command receives the signal directly.
    let mut contained = Contained::start(
        "trap 'exit 7' INT
         sh -c '{ echo grandchild; exec tail -f /dev/null; } &'
         tail -f /dev/null & echo $$; wait",
    );
    let lines = contained.lines(2).await;
    assert_eq!(lines[1], "grandchild");
    contained.send_signal(Signal::INT);
    let command = lines[0].parse().ok().and_then(Pid::from_raw).expect("the id of the command");
    kill_process(command, Signal::INT).expect("it runs");
    assert_eq!(contained.ended().await, Some(7));
}

#[tokio::test]
async fn command_stays_in_the_process_group() {
    // The fifth field is the process group, proc_pid_stat(5).
    let mut contained = Contained::start("read -r _ _ _ _ group _ < /proc/self/stat; echo $group; exit 3");
    assert_eq!(contained.lines(1).await, [getpgrp().as_raw_nonzero().to_string()]);
    assert_eq!(contained.ended().await, Some(3));
}
