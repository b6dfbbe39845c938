//! The pipes of a child: feeding one, reading the other two, never more than is allowed.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::encoding::Said;
use crate::error::EngineError;
use crate::stopwatch::Stopwatch;

/// Bytes read at once: the size of a pipe on Linux (pipe(7)).
const READ_BYTES: usize = 64 << 10;

/// What is kept of the last words of a process, for the log.
const LAST_WORDS_MAX: usize = 4 << 10;

/// Measures the time a process has for its work, and may begin anew with every byte that moves.
#[derive(Debug)]
pub(crate) struct Meter {
    pub stopwatch: Arc<Stopwatch>,
    /// Whether each byte gives the whole time again.
    pub renews: bool,
}

impl Meter {
    fn moved(&self) {
        if self.renews {
            self.stopwatch.restart();
        }
    }
}

/// Writes all of `input`, then all that `feed` gives, and closes the pipe. No time passes while `feed` has
/// nothing.
///
/// A process that stops reading has its reasons: its exit code tells. Errors: [`EngineError::Input`] with the
/// one of `feed`.
pub(crate) async fn feed(
    mut pipe: impl AsyncWrite + Unpin,
    input: Bytes,
    feed: impl Stream<Item = io::Result<Bytes>>,
    meter: &Meter,
) -> Result<(), EngineError> {
    let mut feed = pin!(feed);
    let mut next = Some(Ok(input));
    while let Some(chunk) = next {
        let mut chunk = chunk.map_err(EngineError::Input)?;
        while chunk.has_remaining() {
            match pipe.write_buf(&mut chunk).await {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(EngineError::Spawn(error)),
                Ok(_) => meter.moved(),
            }
        }
        next = match feed.next().now_or_never() {
            Some(next) => next,
            None => {
                let _hold = meter.stopwatch.hold();
                feed.next().await
            }
        };
    }
    Ok(())
}

/// Reads to the end and says what it reads. No time passes while nobody takes it.
///
/// Errors: [`EngineError::OutputTooLarge`] as soon as there is more than `max` bytes.
pub(crate) async fn pass_on(
    mut pipe: impl AsyncRead + Unpin,
    max: u64,
    meter: &Meter,
    say: &mpsc::Sender<Said>,
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
        meter.moved();
        let said = match say.try_send(Ok(Some(bytes.split().freeze()))) {
            Err(TrySendError::Full(said)) => {
                let _hold = meter.stopwatch.hold();
                say.send(said).await.is_ok()
            }
            other => other.is_ok(),
        };
        if !said {
            // Whoever left ends this run by that; until then there is nobody to tell.
            return Err(EngineError::Spawn(io::ErrorKind::BrokenPipe.into()));
        }
    }
}

/// Reads to the end and keeps the last few kilobytes, as one line of text without control characters.
pub(crate) async fn last_words(mut pipe: impl AsyncRead + Unpin) -> io::Result<String> {
    let mut kept = BytesMut::with_capacity(2 * LAST_WORDS_MAX);
    loop {
        kept.reserve(LAST_WORDS_MAX);
        if pipe.read_buf(&mut kept).await? == 0 {
            return Ok(String::from_utf8_lossy(&kept).trim().escape_debug().to_string());
        }
        let surplus = kept.len().saturating_sub(LAST_WORDS_MAX);
        let _ = kept.split_to(surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn meter() -> Meter {
        Meter { stopwatch: Stopwatch::start(), renews: false }
    }

    /// What is said of an output that may have `max` bytes.
    async fn said(pipe: impl AsyncRead + Unpin, max: u64) -> (Vec<u8>, Result<(), EngineError>) {
        let (say, mut said) = mpsc::channel(1);
        let pass_on = async move { pass_on(pipe, max, &meter(), &say).await };
        let listen = async {
            let mut all = Vec::new();
            while let Some(Ok(Some(bytes))) = said.recv().await {
                all.extend_from_slice(&bytes);
            }
            all
        };
        let (end, all) = tokio::join!(pass_on, listen);
        (all, end)
    }

    #[tokio::test]
    async fn output_is_read_up_to_its_limit_and_not_a_byte_further() {
        for (output, max, fits) in [(&b"12345"[..], 5, true), (b"123456", 5, false), (b"", 0, true)] {
            let (all, end) = said(output, max).await;
            assert_eq!((all.len(), end.is_ok()), (if fits { output.len() } else { 0 }, fits));
        }
        let (all, end) = said(tokio::io::repeat(7), 1 << 20).await;
        assert!(matches!(end, Err(EngineError::OutputTooLarge { max_bytes: 1_048_576 })));
        assert!(all.len() <= 1 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_passes_while_the_feed_has_nothing_or_the_output_is_not_taken() {
        let hour = Duration::from_secs(3600);
        let slow = |bytes| async move {
            tokio::time::sleep(hour).await;
            Ok(Bytes::from_static(bytes))
        };
        let measured = meter();
        let mut pipe = Vec::new();
        let chunks = futures_util::stream::iter([&b"b"[..], b"c"]).then(slow);
        feed(&mut pipe, Bytes::from_static(b"a"), chunks, &measured).await.unwrap();
        assert_eq!(pipe, b"abc");

        let (say, mut said) = mpsc::channel(1);
        let listen = async {
            tokio::time::sleep(hour).await;
            while said.recv().await.is_some() {}
        };
        let output = tokio::io::repeat(7).take(8 * READ_BYTES as u64);
        let pass_on = async {
            pass_on(output, u64::MAX, &measured, &say).await.unwrap();
            drop(say);
        };
        tokio::join!(pass_on, listen);
        let spent = tokio::time::timeout(Duration::from_secs(1), measured.stopwatch.expired(hour));
        assert!(spent.await.is_err());
    }

    #[tokio::test]
    async fn a_feed_that_fails_ends_the_run() {
        let chunks = [Ok(Bytes::from_static(b"a")), Err(io::Error::other("the source is gone"))];
        let end = feed(tokio::io::sink(), Bytes::new(), futures_util::stream::iter(chunks), &meter()).await;
        assert!(matches!(end, Err(EngineError::Input(cause)) if cause.to_string() == "the source is gone"));
    }

    #[tokio::test]
    async fn only_the_last_words_are_kept_and_they_are_one_line() {
        assert_eq!(
            last_words(&b" two\nlines\x1b[31m\xff \n"[..]).await.unwrap(),
            "two\\nlines\\u{1b}[31m\u{fffd}"
        );
        let long = "a".repeat(3 << 20) + "end";
        let words = last_words(long.as_bytes()).await.unwrap();
        assert_eq!(words.len(), LAST_WORDS_MAX);
        assert!(words.ends_with("aend"));
    }

    #[tokio::test]
    async fn a_reader_that_leaves_early_is_no_error() {
        let (ours, theirs) = tokio::io::duplex(4);
        drop(theirs);
        let endless = futures_util::stream::repeat_with(|| Ok(Bytes::from_static(b"more")));
        feed(ours, Bytes::from_static(b"more than fits"), endless, &meter()).await.unwrap();
    }
}
