//! One child process, from its start until no process of its group is left.
//!
//! Every child has a thread of its own. The thread is confined, starts the child, waits for its end, kills
//! the rest of its group, and reaps it. So a child is reaped even if no caller waits for its result, and the
//! kernel kills it when the thread, and with it the server, ends.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use crate::admission::{PauseControl, Permit};
use crate::confine::thread::confine_this_thread;
use crate::confine::{Sandbox, exec, limits};
use crate::job::Job;
use crate::stopwatch::Stopwatch;

/// The complete environment of a child. `PATH` is for programs that are scripts; ours is started by its full
/// path.
const ENVIRONMENT: [(&str, &str); 2] = [("PATH", "/usr/bin:/bin"), ("LANG", "C")];

/// A running child. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct Child {
    group: Arc<Group>,
    /// The standard streams, until they are taken.
    pub streams: Option<Streams>,
    /// Runs with the process, except while that is paused.
    pub stopwatch: Arc<Stopwatch>,
    /// `None` once its status was returned.
    status: Option<oneshot::Receiver<io::Result<ExitStatus>>>,
}

/// Our ends of the pipes.
#[derive(Debug)]
pub(crate) struct Streams {
    pub stdin: std::process::ChildStdin,
    pub stdout: std::process::ChildStdout,
    pub stderr: std::process::ChildStderr,
}

impl Child {
    /// Starts the program of `sandbox` for `job`. The permit is returned when the process has ended.
    pub(crate) async fn start(sandbox: &Sandbox, job: &Job, permit: Permit) -> io::Result<Self> {
        let (start_sender, start_receiver) = oneshot::channel();
        let (pauser, lifetime) = (oneshot::channel(), oneshot::channel());
        // Not on the thread of the child: returning a permit resumes another child by a signal, and a
        // confined thread must not signal processes that are not its own (Landlock, from 6.12 on).
        tokio::spawn(hold_permit(permit, pauser.1, lifetime.1));
        let launch = Launch { sandbox: sandbox.clone(), job: job.clone() };
        let run_thread = move || supervise(launch, start_sender, pauser.0, lifetime.0);
        thread::Builder::new().name("kinora-engine".into()).spawn(run_thread)?;
        // The thread reports back, or has panicked.
        start_receiver.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
    }

    /// The process number, also that of its group. Meaningful only while the child runs.
    pub(crate) fn id(&self) -> Option<Pid> {
        *self.group.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Kills the whole group, if it still runs. May be called any number of times.
    pub(crate) fn kill(&self) {
        self.group.kill();
    }

    /// Waits until the child has been reaped and its group killed. Returns its status once; later calls
    /// return only an error that it has ended.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let Some(status_receiver) = &mut self.status else {
            return Err(io::Error::other("the child has ended before"));
        };
        let status = status_receiver.await;
        self.status = None;
        status.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process group while its number is valid: from the start until just before its leader is reaped. After
/// that the number may belong to another process, so it must get no signal.
#[derive(Debug)]
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn kill(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        // Locked during the signal, so that the number stays valid.
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signal_group(*leader, signal);
    }

    /// Kills it a last time.
    fn close(&self) {
        signal_group(self.0.lock().unwrap_or_else(PoisonError::into_inner).take(), Signal::KILL);
    }
}

fn signal_group(leader: Option<Pid>, signal: Signal) {
    if let Some(leader) = leader {
        // Fails only if no process of the group is left.
        let _ = kill_process_group(leader, signal);
    }
}

/// Pauses and resumes a group and its stopwatch. A paused group can still be killed.
#[derive(Debug)]
struct GroupPauser {
    group: Arc<Group>,
    stopwatch: Arc<Stopwatch>,
}

impl PauseControl for GroupPauser {
    fn pause(&self) {
        self.stopwatch.pause();
        self.group.send(Signal::STOP);
    }

    fn resume(&self) {
        self.group.send(Signal::CONT);
        self.stopwatch.resume();
    }
}

/// Input of the thread that starts a child.
struct Launch {
    sandbox: Sandbox,
    job: Job,
}

impl Launch {
    /// Confines this thread and starts the child on it.
    fn start(self) -> io::Result<std::process::Child> {
        let mut command = self.command();
        confine_this_thread(&self.sandbox, &self.job.files, self.job.priority)?;
        command.spawn()
    }

    fn command(&self) -> Command {
        #[expect(clippy::disallowed_methods, reason = "the one place that starts a process")]
        let mut command = Command::new(&self.sandbox.program);
        command.args(&self.job.arguments);
        command.env_clear().envs(ENVIRONMENT).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        exec::confine_before_exec(
            &mut command,
            limits::kernel_limits(&self.job.limits),
            self.sandbox.filter.clone(),
        );
        command
    }
}

/// Forks a confined child that tries denied system calls and ends before its program starts. Returns the
/// first call that was allowed; `None` if the filter denied all.
pub(crate) async fn run_call_probe(sandbox: &Sandbox, job: &Job) -> io::Result<Option<&'static str>> {
    let launch = Launch { sandbox: sandbox.clone(), job: job.clone() };
    let (sender, receiver) = oneshot::channel();
    let fork = move || {
        let mut command = launch.command();
        exec::probe_calls(&mut command);
        let Launch { sandbox, job } = launch;
        let forked = confine_this_thread(&sandbox, &job.files, job.priority).and_then(|()| command.spawn());
        let result = match forked {
            Err(error) => exec::first_allowed(error),
            Ok(mut started) => started
                .kill()
                .and_then(|()| started.wait())
                .and_then(|_| Err(io::Error::other("the trial started its program"))),
        };
        // A caller that left drops its end.
        let _ = sender.send(result);
    };
    thread::Builder::new().name("kinora-engine".into()).spawn(fork)?;
    receiver.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
}

/// Holds the permit of a child until its thread has ended, which then drops its end of `lifetime`.
async fn hold_permit(
    permit: Permit,
    pauser: oneshot::Receiver<GroupPauser>,
    lifetime: oneshot::Receiver<Infallible>,
) {
    // Without a pauser no process was started.
    if let Ok(control) = pauser.await {
        permit.set_pause_control(Arc::new(control));
        let _ = lifetime.await;
    }
}

/// Runs a child from start to end, on its own thread.
fn supervise(
    launch: Launch,
    start_sender: oneshot::Sender<io::Result<Child>>,
    pauser: oneshot::Sender<GroupPauser>,
    lifetime: oneshot::Sender<Infallible>,
) {
    let mut process = match launch.start() {
        Ok(process) => process,
        Err(error) => {
            // No caller waits any more. No process was started, so nothing is lost.
            let _ = start_sender.send(Err(error));
            return;
        }
    };
    let group = Arc::new(Group(Mutex::new(Some(Pid::from_child(&process)))));
    let stopwatch = Stopwatch::start();
    // A task of the runtime holds the permit. If the runtime is gone, no job can need the permit.
    let _ = pauser.send(GroupPauser { group: Arc::clone(&group), stopwatch: Arc::clone(&stopwatch) });
    let streams = take_streams(&mut process);
    let (status_sender, status_receiver) = oneshot::channel();
    // A caller that left drops the child here, which kills it; it is still reaped below.
    let _ = start_sender.send(Ok(Child {
        group: Arc::clone(&group),
        streams,
        stopwatch,
        status: Some(status_receiver),
    }));
    let status = reap(&mut process, &group);
    drop(lifetime);
    let _ = status_sender.send(status);
}

fn take_streams(process: &mut std::process::Child) -> Option<Streams> {
    Some(Streams {
        stdin: process.stdin.take()?,
        stdout: process.stdout.take()?,
        stderr: process.stderr.take()?,
    })
}

/// Waits for the end of the leader, kills the rest of its group, reaps it.
fn reap(process: &mut std::process::Child, group: &Group) -> io::Result<ExitStatus> {
    let leader = Pid::from_child(process);
    // Until the leader is reaped, its number belongs to no other process, so the group can be killed safely.
    while let Err(rustix::io::Errno::INTR) =
        waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    group.close();
    process.wait()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stopwatch_pauses_with_process_group() {
        let stopwatch = Stopwatch::start();
        let group = Arc::new(Group(Mutex::new(None)));
        let pauser = GroupPauser { group, stopwatch: Arc::clone(&stopwatch) };
        let second = Duration::from_secs(1);
        pauser.pause();
        assert!(tokio::time::timeout(10 * second, stopwatch.wait_expired(second)).await.is_err());
        pauser.resume();
        assert!(tokio::time::timeout(2 * second, stopwatch.wait_expired(second)).await.is_ok());
    }
}
