//! One child process, from its start to the moment nothing of it is left.
//!
//! Every child has a thread of its own: the thread is confined, starts the child, waits for its end, kills
//! what is left of its group, and reaps it. So a child is reaped whether or not anybody still waits for its
//! result, and the kernel kills it when the thread, and with it the server, is gone.

use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::oneshot;

use crate::admission::{Brake, Permit};
use crate::confine::thread::confine_this_thread;
use crate::confine::{Cage, exec, limits};
use crate::job::Job;
use crate::stopwatch::Stopwatch;

/// All a child finds in its environment. `PATH` is for programs that are scripts; ours is started by its full
/// path.
const ENVIRONMENT: [(&str, &str); 2] = [("PATH", "/usr/bin:/bin"), ("LANG", "C")];

/// A running child. Dropping it kills the whole group.
#[derive(Debug)]
pub(crate) struct Child {
    group: Arc<Group>,
    /// The standard streams, until they are taken.
    pub streams: Option<Streams>,
    /// Runs since the process does, except while the process is stopped.
    pub stopwatch: Arc<Stopwatch>,
    /// `None` once it has told.
    ended: Option<oneshot::Receiver<io::Result<ExitStatus>>>,
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
        let (brake, life) = (oneshot::channel(), oneshot::channel());
        // Not on the thread of the child: giving a place back wakes another child by a signal, and a confined
        // thread may send none to what is not its own (Landlock, from 6.12 on).
        tokio::spawn(hold_place(permit, brake.1, life.1));
        let launch = Launch { cage: cage.clone(), job: job.clone() };
        let live = move || live(launch, started, brake.0, life.0);
        thread::Builder::new().name("kinora-engine".into()).spawn(live)?;
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

    /// Waits until the child has been reaped and its group killed. Its status is told once; who asks again
    /// learns only that it has ended.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let Some(ended) = &mut self.ended else {
            return Err(io::Error::other("the child has ended before"));
        };
        let status = ended.await;
        self.ended = None;
        status.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process group while its number is known to be ours: from the start until just before its leader is
/// reaped. After that the number may be another's, so nothing may be sent to it.
#[derive(Debug)]
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn kill(&self) {
        self.send(Signal::KILL);
    }

    fn send(&self, signal: Signal) {
        // Held while sending, so that the number stays ours meanwhile.
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        signal_group(*leader, signal);
    }

    /// Kills it for the last time.
    fn close(&self) {
        signal_group(self.0.lock().unwrap_or_else(PoisonError::into_inner).take(), Signal::KILL);
    }
}

fn signal_group(leader: Option<Pid>, signal: Signal) {
    if let Some(leader) = leader {
        // Fails only when nothing of the group is left.
        let _ = kill_process_group(leader, signal);
    }
}

/// Stops a group and its time, and lets both go on. A stopped group can still be killed.
#[derive(Debug)]
struct GroupBrake {
    group: Arc<Group>,
    stopwatch: Arc<Stopwatch>,
}

impl Brake for GroupBrake {
    fn pause(&self) {
        self.stopwatch.stop();
        self.group.send(Signal::STOP);
    }

    fn resume(&self) {
        self.group.send(Signal::CONT);
        self.stopwatch.release();
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

/// Forks a confined child that tries calls of the filter and ends before its program starts. Answers the
/// first call that was allowed; `None` when the filter refused all.
pub(crate) async fn try_calls(cage: &Cage, job: &Job) -> io::Result<Option<&'static str>> {
    let launch = Launch { cage: cage.clone(), job: job.clone() };
    let (tell, told) = oneshot::channel();
    let fork = move || {
        let mut command = launch.command();
        exec::try_calls(&mut command);
        let Launch { cage, job } = launch;
        let forked = confine_this_thread(&cage, &job.files, job.priority).and_then(|()| command.spawn());
        let tried = match forked {
            Err(error) => exec::first_allowed(error),
            Ok(mut started) => started
                .kill()
                .and_then(|()| started.wait())
                .and_then(|_| Err(io::Error::other("the trial started its program"))),
        };
        // A caller that has left drops its end.
        let _ = tell.send(tried);
    };
    thread::Builder::new().name("kinora-engine".into()).spawn(fork)?;
    told.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the child ended early")))
}

/// Keeps the place of a child until its thread has ended, which is when it drops its end of `life`.
async fn hold_place(
    permit: Permit,
    brake: oneshot::Receiver<GroupBrake>,
    life: oneshot::Receiver<Infallible>,
) {
    // Without a brake nothing was started.
    if let Ok(brake) = brake.await {
        permit.attach(Arc::new(brake));
        let _ = life.await;
    }
}

/// The life of a child, on its own thread.
fn live(
    launch: Launch,
    started: oneshot::Sender<io::Result<Child>>,
    brake: oneshot::Sender<GroupBrake>,
    life: oneshot::Sender<Infallible>,
) {
    let mut process = match launch.start() {
        Ok(process) => process,
        Err(error) => {
            // Nobody waits any more: nothing was started, so nothing is lost.
            let _ = started.send(Err(error));
            return;
        }
    };
    let group = Arc::new(Group(Mutex::new(Some(Pid::from_child(&process)))));
    let stopwatch = Stopwatch::start();
    // The place is kept by a task of the runtime; where that is gone, so is everybody who could want the
    // place.
    let _ = brake.send(GroupBrake { group: Arc::clone(&group), stopwatch: Arc::clone(&stopwatch) });
    let streams = take_streams(&mut process);
    let (end, ended) = oneshot::channel();
    // A caller that has left drops the child here, which kills it; it is reaped below all the same.
    let _ = started.send(Ok(Child { group: Arc::clone(&group), streams, stopwatch, ended: Some(ended) }));
    let status = reap(&mut process, &group);
    drop(life);
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
    // Until it is reaped, its number belongs to nobody else, so the group can be killed without hitting a
    // stranger.
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
    async fn the_time_of_a_stopped_group_stands_still() {
        let stopwatch = Stopwatch::start();
        let group = Arc::new(Group(Mutex::new(None)));
        let brake = GroupBrake { group, stopwatch: Arc::clone(&stopwatch) };
        let second = Duration::from_secs(1);
        brake.pause();
        assert!(tokio::time::timeout(10 * second, stopwatch.expired(second)).await.is_err());
        brake.resume();
        assert!(tokio::time::timeout(2 * second, stopwatch.expired(second)).await.is_ok());
    }
}
