//! One run of the program, from waiting for a place to the bytes it wrote.

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
use crate::confine::Cage;
use crate::encoding::{CHUNKS_AHEAD, Encoding, Said};
use crate::error::EngineError;
use crate::input::DECODERS;
use crate::job::{Job, Limits};
use crate::stdio;

/// Runs jobs of one program. Clones share its places.
#[derive(Debug, Clone)]
pub(crate) struct Runner {
    pub cage: Cage,
    pub admission: Admission,
    /// The decoders that runs may open, with a comma between.
    pub decoders: Arc<str>,
}

impl Runner {
    /// A runner whose runs may open no decoder, as is enough to ask ffmpeg what it has.
    pub(crate) fn new(cage: Cage, admission: Admission) -> Self {
        Self { cage, admission, decoders: "".into() }
    }
}

/// What the deadline of a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The whole run.
    Whole,
    /// The time between two bytes that go in or come out.
    Progress,
}

impl Runner {
    /// Runs `job` and returns what it wrote to standard output.
    ///
    /// When this returns, the process and everything it started are gone. When it is dropped, they are killed
    /// at once. The deadline begins when the process does; waiting for a place before that has no limit but
    /// the caller's patience.
    pub(crate) async fn run(&self, job: Job) -> Result<Bytes, EngineError> {
        self.start(job, stream::empty(), Pace::Whole).whole().await
    }

    /// Begins `job`, feeds it with `feed` after its own input, and returns its output as it comes.
    pub(crate) fn start(
        &self,
        job: Job,
        feed: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
        pace: Pace,
    ) -> Encoding {
        let (say, said) = mpsc::channel(CHUNKS_AHEAD);
        let runner = self.clone();
        let run = async move {
            let end = runner.drive(job, feed, pace, &say).await;
            // A caller that has left wants to know nothing.
            let _ = say.send(end.map(|()| None)).await;
        };
        Encoding::new(said, tokio::spawn(run.in_current_span()).abort_handle())
    }

    async fn drive(
        &self,
        mut job: Job,
        feed: impl Stream<Item = io::Result<Bytes>>,
        pace: Pace,
        say: &mpsc::Sender<Said>,
    ) -> Result<(), EngineError> {
        job.limits.memory_bytes = job.limits.memory_bytes.min(self.admission.memory_max());
        for argument in job.arguments.iter_mut().filter(|argument| *argument == DECODERS) {
            *argument = OsString::from(&*self.decoders);
        }
        let permit = self.admission.enter(job.priority, job.limits.memory_bytes).await?;
        let mut child = Child::start(&self.cage, &job, permit).await.map_err(EngineError::Spawn)?;
        let Job { kind, input, limits, is_try, .. } = job;
        let (stopwatch, started) = (child.stopwatch.clone(), Instant::now());
        let meter = stdio::Meter { stopwatch: stopwatch.clone(), renews: pace == Pace::Progress };
        let ended = tokio::select! {
            ended = converse(&mut child, input, feed, &limits, &meter, say) => ended,
            () = stopwatch.expired(limits.deadline) => Err(EngineError::TimedOut(limits.deadline)),
        };
        match ended {
            Ok(ended) => ended.judge(&self.cage.program, kind, &limits, started.elapsed(), is_try),
            Err(error) => {
                end(&mut child).await;
                if let EngineError::TimedOut(deadline) = error {
                    let deadline_s = deadline.as_secs();
                    tracing::warn!(job.kind = kind, deadline_s, "the engine was too slow and was killed");
                }
                Err(error)
            }
        }
    }
}

struct Ended {
    status: ExitStatus,
    last_words: String,
}

impl Ended {
    /// What its end means. It took `elapsed` at most.
    fn judge(
        self,
        program: &Path,
        kind: &'static str,
        limits: &Limits,
        elapsed: Duration,
        is_try: bool,
    ) -> Result<(), EngineError> {
        let Self { status, last_words } = self;
        if status.success() {
            return Ok(());
        }
        let (exit, signal) = (status.code(), status.signal());
        if is_try {
            tracing::debug!(
                job.kind = kind,
                engine.exit = exit,
                engine.signal = signal,
                engine.stderr = last_words,
                "the engine failed"
            );
        } else {
            tracing::warn!(
                job.kind = kind,
                engine.exit = exit,
                engine.signal = signal,
                engine.stderr = last_words,
                "the engine failed"
            );
        }
        if status.code() == Some(EXIT_WITHOUT_START) {
            return Err(EngineError::NotUsable(program.to_owned()));
        }
        // Nobody but the kernel sends it this one: where it has no memory left, and to a process that goes on
        // behind its processor time.
        if status.signal() == Some(Signal::KILL.as_raw()) {
            let is_over = limits.cpu <= processor_time_max(elapsed);
            return Err(if is_over { EngineError::CpuExhausted(limits.cpu) } else { EngineError::Killed });
        }
        if status.signal() == Some(Signal::XCPU.as_raw()) || status.code() == Some(EXIT_BY_SIGNAL) {
            return Err(EngineError::CpuExhausted(limits.cpu));
        }
        // setrlimit(2): a file that grows over its limit.
        if status.signal() == Some(Signal::XFSZ.as_raw()) {
            return Err(EngineError::OutputTooLarge { max_bytes: limits.file_max });
        }
        if OUT_OF_MEMORY.iter().any(|words| last_words.contains(words)) {
            return Err(EngineError::MemoryExhausted { max_bytes: limits.memory_bytes });
        }
        if OUT_OF_ROOM.iter().any(|words| last_words.contains(words)) {
            return Err(EngineError::NoRoom);
        }
        Err(EngineError::Failed { exit: status.code() })
    }
}

/// What the loader exits with where a library of the program is missing, and a shell where there is no such
/// program.
const EXIT_WITHOUT_START: i32 = 127;

/// The processor time that a process can have used: all cores, all the time.
fn processor_time_max(elapsed: Duration) -> Duration {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    elapsed.saturating_mul(u32::try_from(cores).unwrap_or(u32::MAX))
}

/// What is said where a file cannot grow: the C library's texts for ENOSPC and EDQUOT.
const OUT_OF_ROOM: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// What ffmpeg exits with when a signal asked it to end (fftools, `exit_program`). Nobody sends it another
/// one.
const EXIT_BY_SIGNAL: i32 = 255;

/// What is said where memory is refused: the C library's text for ENOMEM, that for a thread without a stack
/// (EAGAIN), x264's own, and that of the C++ library.
const OUT_OF_MEMORY: [&str; 4] =
    ["Cannot allocate memory", "Resource temporarily unavailable", "malloc of size", "bad_alloc"];

/// Feeds the child, passes on what it says, waits for its end.
async fn converse(
    child: &mut Child,
    input: Bytes,
    feed: impl Stream<Item = io::Result<Bytes>>,
    limits: &Limits,
    meter: &stdio::Meter,
    say: &mpsc::Sender<Said>,
) -> Result<Ended, EngineError> {
    let pipes =
        child.streams.take().ok_or_else(|| io::Error::other("a pipe is missing")).and_then(Pipes::new);
    let Pipes { stdin, stdout, stderr } = pipes.map_err(EngineError::Spawn)?;

    let output = stdio::pass_on(stdout, limits.output_max, meter, say);
    let last_words = async { stdio::last_words(stderr).await.map_err(EngineError::Spawn) };
    let fed = async {
        tokio::select! {
            // A process that ended wants no more, even if the feed would go on for ever.
            status = child.ended() => return status.map_err(EngineError::Spawn),
            fed = stdio::feed(stdin, input, feed, meter) => fed?,
        }
        child.ended().await.map_err(EngineError::Spawn)
    };
    // All at once: a pipe that nobody reads stops the process, and a process that has ended closes them all.
    let ((), last_words, status) = tokio::try_join!(output, last_words, fed)?;
    Ok(Ended { status, last_words })
}

/// Kills the child and waits until it has been reaped.
async fn end(child: &mut Child) {
    child.kill();
    // Its status tells nothing new: we ended it.
    let _ = child.ended().await;
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
