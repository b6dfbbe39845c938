//! One child process, from its start to the moment nothing of it is left.
//!
//! Every child has a thread of its own: the thread is confined, starts the child, waits for its end, kills what is left
//! of its group, and reaps it. So a child is reaped whether or not anybody still waits for its result, and the kernel
//! kills it when the thread, and with it the server, is gone.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use crate::admission::Permit;
use crate::confine::thread::confine_this_thread;
use crate::confine::{Cage, exec, limits};
use crate::job::Job;

/// All a child finds in its environment. `PATH` is for programs that are scripts; ours is started by its full path.
const ENVIRONMENT: [(&str, &str); 2] = [("PATH", "/usr/bin:/bin"), ("LANG", "C")];

/// A running child. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct Child {
    group: Arc<Group>,
    /// The standard streams, until they are taken.
    pub streams: Option<Streams>,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

/// Our ends of the pipes.
#[derive(Debug)]
pub(crate) struct Streams {
    pub stdin: std::process::ChildStdin,
    pub stdout: std::process::ChildStdout,
    pub stderr: std::process::ChildStderr,
}

impl Child {
    /// Starts the program of `cage` for `job`. The permit is given back when the process is gone.
    pub(crate) async fn start(cage: &Cage, job: &Job, permit: Permit) -> io::Result<Self> {
        let (started, start) = oneshot::channel();
        let launch = Launch { cage: cage.clone(), job: job.clone() };
        thread::Builder::new().name("kinora-engine".into()).spawn(move || live(launch, permit, started))?;
        // The thread answers, or has panicked.
        start.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
    }

    /// The process number, also that of its group. Meaningful only while the child runs.
    pub(crate) fn id(&self) -> Option<Pid> {
        *self.group.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the whole group, if it still runs. May be called any number of times.
    pub(crate) fn kill(&self) {
        self.group.kill();
    }

    /// Waits until the child has been reaped and its group killed.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        (&mut self.ended)
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process group while its number is known to be ours: from the start until just before its leader is reaped.
/// After that the number may be another's, so nothing may be sent to it.
#[derive(Debug)]
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn kill(&self) {
        kill_group(*self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Kills it for the last time.
    fn close(&self) {
        kill_group(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn kill_group(leader: Option<Pid>) {
    if let Some(leader) = leader {
        // Fails only when nothing of the group is left.
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// What the thread of a child needs to start it.
struct Launch {
    cage: Cage,
    job: Job,
}

impl Launch {
    /// Confines this thread and starts the child on it.
    fn start(self) -> io::Result<std::process::Child> {
        let mut command = self.command();
        confine_this_thread(&self.cage, &self.job.files, self.job.priority)?;
        command.spawn()
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts a process")]
        let mut command = Command::new(&self.cage.program);
        command.args(&self.job.arguments);
        command.env_clear().envs(ENVIRONMENT).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        exec::before_exec(&mut command, limits::prepare(&self.job.limits), self.cage.filter.clone());
        command
    }
}

/// The life of a child, on its own thread.
fn live(launch: Launch, permit: Permit, started: oneshot::Sender<io::Result<Child>>) {
    let mut process = match launch.start() {
        Ok(process) => process,
        Err(error) => {
            drop(permit);
            // Nobody waits any more: nothing was started, so nothing is lost.
            let _ = started.send(Err(error));
            return;
        }
    };
    let group = Arc::new(Group(Mutex::new(Some(Pid::from_child(&process)))));
    let streams = take_streams(&mut process);
    let (end, ended) = oneshot::channel();
    // A caller that has left drops the child here, which kills it; it is reaped below all the same.
    let _ = started.send(Ok(Child { group: Arc::clone(&group), streams, ended }));
    let status = reap(&mut process, &group);
    drop(permit);
    let _ = end.send(status);
}

fn take_streams(process: &mut std::process::Child) -> Option<Streams> {
    Some(Streams {
        stdin: process.stdin.take()?,
        stdout: process.stdout.take()?,
        stderr: process.stderr.take()?,
    })
}

/// Waits for the end of the leader, kills what it left behind, reaps it.
fn reap(process: &mut std::process::Child, group: &Group) -> io::Result<ExitStatus> {
    let leader = Pid::from_child(process);
    // Until it is reaped, its number belongs to nobody else, so the group can be killed without hitting a stranger.
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    group.close();
    process.wait()
}
