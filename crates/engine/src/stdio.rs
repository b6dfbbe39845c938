//! The pipes of a child: feeds one, reads the other two, within limits.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::error::EngineError;
use crate::output_stream::OutputChunk;
use crate::stopwatch::Stopwatch;

/// Bytes read at once: the size of a pipe on Linux (pipe(7)).
const READ_BYTES: usize = 64 << 10;

/// Length of the last messages of a process that are stored for the log.
const STDERR_TAIL_MAX: usize = 4 << 10;

/// Measures the time a process has for its work, and may restart with every byte that moves.
#[derive(Debug)]
pub(crate) struct DeadlineTimer {
    pub stopwatch: Arc<Stopwatch>,
    /// Whether each byte restarts the deadline.
    pub renews: bool,
}

impl DeadlineTimer {
    fn note_progress(&self) {
        if self.renews {
            self.stopwatch.restart();
        }
    }
}

/// Writes all of `input`, then all of `feed`, and closes the pipe. The stopwatch is paused while `feed` is
/// pending.
///
/// A process that stops reading is no error here: its exit code counts. Errors: [`EngineError::Input`] with
/// the one of `feed`.
pub(crate) async fn write_stdin(
    mut pipe: impl AsyncWrite + Unpin,
    input: Bytes,
    feed: impl Stream<Item = io::Result<Bytes>>,
    timer: &DeadlineTimer,
) -> Result<(), EngineError> {
    let mut feed = pin!(feed);
    let mut next = Some(Ok(input));
    while let Some(chunk) = next {
        let mut chunk = chunk.map_err(EngineError::Input)?;
        while chunk.has_remaining() {
            match pipe.write_buf(&mut chunk).await {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(EngineError::Spawn(error)),
                Ok(_) => timer.note_progress(),
            }
        }
        next = match feed.next().now_or_never() {
            Some(next) => next,
            None => {
                let _pause = timer.stopwatch.pause_guard();
                feed.next().await
            }
        };
    }
    Ok(())
}

/// Reads to the end and passes on the bytes. The stopwatch is paused while the caller does not take them.
///
/// Errors: [`EngineError::OutputTooLarge`] as soon as there are more than `max` bytes.
pub(crate) async fn read_output(
    mut pipe: impl AsyncRead + Unpin,
    max: u64,
    timer: &DeadlineTimer,
    sender: &mpsc::Sender<OutputChunk>,
) -> Result<(), EngineError> {
    let mut size_bytes = 0_u64;
    let mut bytes = BytesMut::new();
    loop {
        bytes.reserve(READ_BYTES);
        let read = pipe.read_buf(&mut bytes).await.map_err(EngineError::Spawn)?;
        if read == 0 {
            return Ok(());
        }
        size_bytes = size_bytes.saturating_add(read as u64);
        if max < size_bytes {
            return Err(EngineError::OutputTooLarge { max_bytes: max });
        }
        timer.note_progress();
        let is_sent = match sender.try_send(Ok(Some(bytes.split().freeze()))) {
            Err(TrySendError::Full(chunk)) => {
                let _pause = timer.stopwatch.pause_guard();
                sender.send(chunk).await.is_ok()
            }
            other => other.is_ok(),
        };
        if !is_sent {
            // The caller that left ends this run; until then there is no receiver.
            return Err(EngineError::Spawn(io::ErrorKind::BrokenPipe.into()));
        }
    }
}

/// Reads to the end and returns the last few kilobytes, as one line of text without control characters.
pub(crate) async fn stderr_tail(mut pipe: impl AsyncRead + Unpin) -> io::Result<String> {
    let mut tail = BytesMut::with_capacity(2 * STDERR_TAIL_MAX);
    loop {
        tail.reserve(STDERR_TAIL_MAX);
        if pipe.read_buf(&mut tail).await? == 0 {
            return Ok(String::from_utf8_lossy(&tail).trim().escape_debug().to_string());
        }
        let surplus = tail.len().saturating_sub(STDERR_TAIL_MAX);
        let _ = tail.split_to(surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn new_timer() -> DeadlineTimer {
        DeadlineTimer { stopwatch: Stopwatch::start(), renews: false }
    }

    /// The bytes and the result of an output that may have `max` bytes.
    async fn read_all(pipe: impl AsyncRead + Unpin, max: u64) -> (Vec<u8>, Result<(), EngineError>) {
        let (sender, mut chunks) = mpsc::channel(1);
        let forward = async move { read_output(pipe, max, &new_timer(), &sender).await };
        let listen = async {
            let mut all = Vec::new();
            while let Some(Ok(Some(bytes))) = chunks.recv().await {
                all.extend_from_slice(&bytes);
            }
            all
        };
        let (end, all) = tokio::join!(forward, listen);
        (all, end)
    }

    #[tokio::test]
    async fn output_is_limited_to_its_maximum_bytes() {
        for (output, max, fits) in [(&b"12345"[..], 5, true), (b"123456", 5, false), (b"", 0, true)] {
            let (all, end) = read_all(output, max).await;
            assert_eq!((all.len(), end.is_ok()), (if fits { output.len() } else { 0 }, fits));
        }
        let (all, end) = read_all(tokio::io::repeat(7), 1 << 20).await;
        assert!(matches!(end, Err(EngineError::OutputTooLarge { max_bytes: 1_048_576 })));
        assert!(all.len() <= 1 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_pauses_while_feed_or_output_waits() {
        let hour = Duration::from_secs(3600);
        let slow = |bytes| async move {
            tokio::time::sleep(hour).await;
            Ok(Bytes::from_static(bytes))
        };
        let timer = new_timer();
        let mut pipe = Vec::new();
        let chunks = futures_util::stream::iter([&b"b"[..], b"c"]).then(slow);
        write_stdin(&mut pipe, Bytes::from_static(b"a"), chunks, &timer).await.unwrap();
        assert_eq!(pipe, b"abc");

        let (sender, mut output_chunks) = mpsc::channel(1);
        let listen = async {
            tokio::time::sleep(hour).await;
            while output_chunks.recv().await.is_some() {}
        };
        let output = tokio::io::repeat(7).take(8 * READ_BYTES as u64);
        let forward = async {
            read_output(output, u64::MAX, &timer, &sender).await.unwrap();
            drop(sender);
        };
        tokio::join!(forward, listen);
        let spent = tokio::time::timeout(Duration::from_secs(1), timer.stopwatch.wait_expired(hour));
        assert!(spent.await.is_err());
    }

    #[tokio::test]
    async fn source_error_is_input_error() {
        let chunks = [Ok(Bytes::from_static(b"a")), Err(io::Error::other("the source is gone"))];
        let end =
            write_stdin(tokio::io::sink(), Bytes::new(), futures_util::stream::iter(chunks), &new_timer())
                .await;
        assert!(matches!(end, Err(EngineError::Input(cause)) if cause.to_string() == "the source is gone"));
    }

    #[tokio::test]
    async fn stderr_tail_is_one_limited_line() {
        assert_eq!(
            stderr_tail(&b" two\nlines\x1b[31m\xff \n"[..]).await.unwrap(),
            "two\\nlines\\u{1b}[31m\u{fffd}"
        );
        let long = "a".repeat(3 << 20) + "end";
        let tail = stderr_tail(long.as_bytes()).await.unwrap();
        assert_eq!(tail.len(), STDERR_TAIL_MAX);
        assert!(tail.ends_with("aend"));
    }

    #[tokio::test]
    async fn broken_pipe_of_the_reader_is_no_error() {
        let (ours, theirs) = tokio::io::duplex(4);
        drop(theirs);
        let endless = futures_util::stream::repeat_with(|| Ok(Bytes::from_static(b"more")));
        write_stdin(ours, Bytes::from_static(b"more than fits"), endless, &new_timer()).await.unwrap();
    }
}
