//! One run of the program, from waiting for a permit to its output.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use rustix::process::Signal;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument;

use crate::admission::Admission;
use crate::child::{Child, Streams};
use crate::confine::Sandbox;
use crate::error::EngineError;
use crate::input::DECODERS_PLACEHOLDER;
use crate::job::{Job, Limits};
use crate::output_stream::{CHUNKS_AHEAD, OutputChunk, OutputStream};
use crate::stdio;

/// Runs jobs of one program. Clones share its permits.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    pub sandbox: Sandbox,
    pub admission: Admission,
    /// The decoders that runs may open, separated by commas.
    pub decoders: Arc<str>,
}

impl Runner {
    /// A runner whose runs may open no decoder, which is enough to query ffmpeg for its capabilities.
    pub(crate) fn new(sandbox: Sandbox, admission: Admission) -> Self {
        Self { sandbox, admission, decoders: "".into() }
    }
}

/// The meaning of the deadline of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutKind {
    /// The whole run.
    Total,
    /// The time between two bytes of input or output.
    Idle,
}

impl Runner {
    /// Runs `job` and returns its standard output.
    ///
    /// When this returns, the process and all its children are gone. When it is dropped, they are killed at
    /// once. The deadline begins with the process; waiting for a permit before that has no limit except the
    /// caller's timeout.
    pub(crate) async fn run(&self, job: Job) -> Result<Bytes, EngineError> {
        self.start(job, stream::empty(), TimeoutKind::Total).collect().await
    }

    /// Starts `job`, feeds it with `feed` after its own input, and streams its output.
    pub(crate) fn start(
        &self,
        job: Job,
        feed: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        timeout_kind: TimeoutKind,
    ) -> OutputStream {
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        let runner = self.clone();
        let run = async move {
            let end = runner.run_child(job, feed, timeout_kind, &sender).await;
            // A caller that left needs no result.
            let _ = sender.send(end.map(|()| None)).await;
        };
        OutputStream::new(chunks, tokio::spawn(run.in_current_span()).abort_handle())
    }

    async fn run_child(
        &self,
        mut job: Job,
        feed: impl Stream<Item = io::Result<Bytes>>,
        timeout_kind: TimeoutKind,
        sender: &mpsc::Sender<OutputChunk>,
    ) -> Result<(), EngineError> {
        job.limits.memory_bytes = job.limits.memory_bytes.min(self.admission.memory_max());
        for argument in job.arguments.iter_mut().filter(|argument| *argument == DECODERS_PLACEHOLDER) {
            *argument = OsString::from(&*self.decoders);
        }
        let permit = self.admission.acquire(job.priority, job.limits.memory_bytes).await?;
        let mut child = Child::start(&self.sandbox, &job, permit).await.map_err(EngineError::Spawn)?;
        let Job { kind, input, limits, is_probe, .. } = job;
        let (stopwatch, started) = (child.stopwatch.clone(), Instant::now());
        let timer =
            stdio::DeadlineTimer { stopwatch: stopwatch.clone(), renews: timeout_kind == TimeoutKind::Idle };
        let ended = tokio::select! {
            ended = pump_pipes(&mut child, input, feed, &limits, &timer, sender) => ended,
            () = stopwatch.wait_expired(limits.deadline) => Err(EngineError::TimedOut(limits.deadline)),
        };
        match ended {
            Ok(ended) => {
                ended.classify_end(&self.sandbox.program, kind, &limits, started.elapsed(), is_probe)
            }
            Err(error) => {
                kill_and_reap(&mut child).await;
                if let EngineError::TimedOut(deadline) = error {
                    let deadline_s = deadline.as_secs();
                    tracing::warn!(job.kind = kind, deadline_s, "the engine was too slow and was killed");
                }
                Err(error)
            }
        }
    }
}

struct ProcessEnd {
    status: ExitStatus,
    stderr_tail: String,
}

impl ProcessEnd {
    /// Maps the end of the process to a result. It took `elapsed` at most.
    fn classify_end(
        self,
        program: &Path,
        kind: &'static str,
        limits: &Limits,
        elapsed: Duration,
        is_probe: bool,
    ) -> Result<(), EngineError> {
        let Self { status, stderr_tail } = self;
        if status.success() {
            return Ok(());
        }
        let (exit, signal) = (status.code(), status.signal());
        if is_probe {
            tracing::debug!(
                job.kind = kind,
                engine.exit = exit,
                engine.signal = signal,
                engine.stderr = stderr_tail,
                "the engine failed"
            );
        } else {
            tracing::warn!(
                job.kind = kind,
                engine.exit = exit,
                engine.signal = signal,
                engine.stderr = stderr_tail,
                "the engine failed"
            );
        }
        if status.code() == Some(EXIT_WITHOUT_START) {
            return Err(EngineError::NotUsable(program.to_owned()));
        }
        // Only the kernel sends this signal: when it has no memory left, and to a process that continues
        // past its processor time.
        if status.signal() == Some(Signal::KILL.as_raw()) {
            let is_over = limits.cpu <= processor_time_max(elapsed);
            return Err(if is_over { EngineError::CpuExhausted(limits.cpu) } else { EngineError::Killed });
        }
        if status.signal() == Some(Signal::XCPU.as_raw()) || status.code() == Some(EXIT_BY_SIGNAL) {
            return Err(EngineError::CpuExhausted(limits.cpu));
        }
        // setrlimit(2): a file that exceeds its limit.
        if status.signal() == Some(Signal::XFSZ.as_raw()) {
            return Err(EngineError::OutputTooLarge { max_bytes: limits.file_max });
        }
        if OUT_OF_MEMORY_TEXTS.iter().any(|words| stderr_tail.contains(words)) {
            return Err(EngineError::MemoryExhausted { max_bytes: limits.memory_bytes });
        }
        if DISK_FULL_TEXTS.iter().any(|words| stderr_tail.contains(words)) {
            return Err(EngineError::DiskFull);
        }
        Err(EngineError::Failed { exit: status.code() })
    }
}

/// Exit code of the loader if a library of the program is missing, and of a shell if there is no such
/// program.
const EXIT_WITHOUT_START: i32 = 127;

/// The processor time that a process can have used: all cores, all the time.
fn processor_time_max(elapsed: Duration) -> Duration {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    elapsed.saturating_mul(u32::try_from(cores).unwrap_or(u32::MAX))
}

/// Messages when a file cannot grow: the C library's texts for ENOSPC and EDQUOT.
const DISK_FULL_TEXTS: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// Exit code of ffmpeg after a signal that asked it to end (fftools, `exit_program`). SIGXCPU is the only
/// such signal that it gets.
const EXIT_BY_SIGNAL: i32 = 255;

/// Messages when an allocation fails: the C library's text for ENOMEM, that for a thread without a stack
/// (EAGAIN), x264's own, and that of the C++ library.
const OUT_OF_MEMORY_TEXTS: [&str; 4] =
    ["Cannot allocate memory", "Resource temporarily unavailable", "malloc of size", "bad_alloc"];

/// Feeds the child, passes on its output, waits for its end.
async fn pump_pipes(
    child: &mut Child,
    input: Bytes,
    feed: impl Stream<Item = io::Result<Bytes>>,
    limits: &Limits,
    timer: &stdio::DeadlineTimer,
    sender: &mpsc::Sender<OutputChunk>,
) -> Result<ProcessEnd, EngineError> {
    let pipes =
        child.streams.take().ok_or_else(|| io::Error::other("a pipe is missing")).and_then(Pipes::new);
    let Pipes { stdin, stdout, stderr } = pipes.map_err(EngineError::Spawn)?;

    let output = stdio::read_output(stdout, limits.output_max, timer, sender);
    let read_stderr = async { stdio::stderr_tail(stderr).await.map_err(EngineError::Spawn) };
    let write_input = async {
        tokio::select! {
            // A process that ended needs no input, even if the feed never ends.
            status = child.wait() => return status.map_err(EngineError::Spawn),
            fed = stdio::write_stdin(stdin, input, feed, timer) => fed?,
        }
        child.wait().await.map_err(EngineError::Spawn)
    };
    // Concurrently: an unread pipe blocks the process, and a process that has ended closes them all.
    let ((), stderr_tail, status) = tokio::try_join!(output, read_stderr, write_input)?;
    Ok(ProcessEnd { status, stderr_tail })
}

/// Kills the child and waits until it has been reaped.
async fn kill_and_reap(child: &mut Child) {
    child.kill();
    // Its status has no information: we ended it.
    let _ = child.wait().await;
}

/// The pipes of a child, as the runtime reads them.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

impl Pipes {
    fn new(streams: Streams) -> io::Result<Self> {
        Ok(Self {
            stdin: ChildStdin::from_std(streams.stdin)?,
            stdout: ChildStdout::from_std(streams.stdout)?,
            stderr: ChildStderr::from_std(streams.stderr)?,
        })
    }
}

#[cfg(test)]
mod tests;
