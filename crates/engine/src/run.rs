//! One run of the program, from waiting for a place to the bytes it wrote.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use bytes::Bytes;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::admission::Admission;
use crate::child::{Child, Streams};
use crate::confine::Cage;
use crate::error::EngineError;
use crate::job::{Job, Limits};
use crate::stdio;

/// Runs jobs of one program.
#[derive(Debug)]
pub(crate) struct Runner {
    pub cage: Cage,
    pub admission: Admission,
}

impl Runner {
    /// Runs `job` and returns what it wrote to standard output.
    ///
    /// When this returns, the process and everything it started are gone. When it is dropped, they are killed at once.
    /// The deadline begins when the process does; waiting for a place before that has no limit but the caller's patience.
    pub(crate) async fn run(&self, job: Job) -> Result<Bytes, EngineError> {
        let permit = self.admission.enter(job.limits.memory_bytes).await?;
        let mut child = Child::start(&self.cage, &job, permit).await.map_err(EngineError::Spawn)?;
        let Job { kind, input, limits, .. } = job;
        match timeout(limits.deadline, converse(&mut child, input, &limits)).await {
            Err(_) => {
                end(&mut child).await;
                tracing::warn!(
                    job.kind = kind,
                    deadline_s = limits.deadline.as_secs(),
                    "the engine was too slow and was killed"
                );
                Err(EngineError::TimedOut(limits.deadline))
            }
            Ok(Err(error)) => {
                end(&mut child).await;
                Err(error)
            }
            Ok(Ok(Ended { status, output, .. })) if status.success() => Ok(output),
            Ok(Ok(Ended { status, last_words, .. })) => {
                tracing::warn!(
                    job.kind = kind,
                    engine.exit = status.code(),
                    engine.signal = status.signal(),
                    engine.stderr = last_words,
                    "the engine failed"
                );
                Err(EngineError::Failed { exit: status.code() })
            }
        }
    }
}

struct Ended {
    status: ExitStatus,
    output: Bytes,
    last_words: String,
}

/// Feeds the child, reads what it says, waits for its end.
async fn converse(child: &mut Child, input: Bytes, limits: &Limits) -> Result<Ended, EngineError> {
    let pipes =
        child.streams.take().ok_or_else(|| io::Error::other("a pipe is missing")).and_then(Pipes::new);
    let Pipes { stdin, stdout, stderr } = pipes.map_err(EngineError::Spawn)?;

    let output = async {
        let output = stdio::collect(stdout, limits.output_max).await.map_err(EngineError::Spawn)?;
        output.ok_or(EngineError::OutputTooLarge { max_bytes: limits.output_max })
    };
    let feed = async { stdio::feed(stdin, input).await.map_err(EngineError::Spawn) };
    let last_words = async { stdio::last_words(stderr).await.map_err(EngineError::Spawn) };
    let ended = async { child.ended().await.map_err(EngineError::Spawn) };
    // All four at once: a pipe that nobody reads stops the process, and a process that has ended closes them all.
    let (output, (), last_words, status) = tokio::try_join!(output, feed, last_words, ended)?;
    Ok(Ended { status, output, last_words })
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
