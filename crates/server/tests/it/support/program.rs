//! Programs that tests start: our binary, and Python for independent checks.

use std::ffi::OsStr;
use std::fmt;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::wait::DEADLINE;

/// A program before its start. Its environment has no variables of Kinora.
pub(crate) struct Program(Command);

impl Program {
    #[expect(clippy::disallowed_methods, reason = "a test starts what a person would type")]
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KINORA_") {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Self(command)
    }

    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Removes this environment variable.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.env_remove(name);
        self
    }

    pub(crate) fn folder(mut self, folder: &std::path::Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    /// Gives it a file as standard input.
    pub(crate) fn input(mut self, path: &std::path::Path) -> Self {
        self.0.stdin(std::fs::File::open(path).expect("the file exists"));
        self
    }

    /// Runs it to its end. Panics when it does not end in time.
    pub(crate) async fn run(mut self) -> Run {
        let shown = format!("{:?}", self.0.as_std());
        let output = timeout(DEADLINE, self.0.output()).await;
        let output = output.unwrap_or_else(|_| panic!("{shown} did not end within {DEADLINE:?}"));
        let output = output.unwrap_or_else(|error| panic!("{shown} does not start: {error}"));
        Run {
            shown,
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("our output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("our output is UTF-8"),
        }
    }

    /// Starts it in the background.
    pub(crate) fn start(mut self) -> Running {
        let mut child =
            self.0.spawn().unwrap_or_else(|error| panic!("{:?} does not start: {error}", self.0.as_std()));
        let lines = [
            read(child.stdout.take().expect("it is piped")),
            read(child.stderr.take().expect("it is piped")),
        ];
        Running { child, lines }
    }
}

fn read(stream: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<String> {
    tokio::spawn(async move {
        let (mut lines, mut text) = (BufReader::new(stream).lines(), String::new());
        while let Ok(Some(line)) = lines.next_line().await {
            text += &line;
            text.push('\n');
        }
        text
    })
}

/// The result of a program.
pub(crate) struct Run {
    /// The command line.
    shown: String,
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, code, stdout, stderr } = self;
        write!(f, "{shown}\nexit code {code:?}\n--- standard output\n{stdout}\n--- standard error\n{stderr}")
    }
}

impl Run {
    /// Itself; panics unless the exit code is 0.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// The JSON value on standard output; panics unless the exit code is 0.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let run = self.ok();
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
    }

    /// The text on standard error; panics unless the exit code is 1 and standard output is empty.
    #[track_caller]
    pub(crate) fn problem(self) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(1), ""), "{self:?}");
        self.stderr.trim_end().to_owned()
    }
}

/// A running program; dropping it kills the process.
pub(crate) struct Running {
    child: Child,
    lines: [JoinHandle<String>; 2],
}

impl Running {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Returns itself when `is_ready` returns. Panics with the output of the program if it ends before.
    pub(crate) async fn ready(mut self, is_ready: impl Future<Output = ()>) -> Self {
        tokio::select! {
            () = is_ready => self,
            _ = self.child.wait() => panic!("it ended: {:?}", self.ended("started").await),
        }
    }

    /// Sends SIGKILL, and waits until it has ended.
    pub(crate) async fn kill(mut self) -> Run {
        self.child.start_kill().expect("it runs");
        self.ended("killed").await
    }

    /// Sends SIGTERM, and waits until it has ended.
    pub(crate) async fn stop(self) -> Run {
        let id = self.child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        let id = id.expect("it runs");
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it is ours");
        self.ended("stopped").await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(mut self, how: &str) -> Run {
        let status = timeout(DEADLINE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("{how}, it goes on after {DEADLINE:?}"));
        let code = status.expect("a child can be waited for").code();
        let [stdout, stderr] = self.lines;
        let text = |joined: Result<String, _>| joined.expect("reading does not panic");
        Run { shown: how.to_owned(), code, stdout: text(stdout.await), stderr: text(stderr.await) }
    }
}
