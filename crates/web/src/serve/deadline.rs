//! Write timeout of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Fails writes after `most` without progress. Reads have no timeout here.
///
/// A write makes no progress when the client does not read: its receive window and our send buffer are full.
#[derive(Debug)]
pub(super) struct WriteDeadline<T> {
    stream: T,
    most: Duration,
    /// The timer of a write without progress.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteDeadline<T> {
    pub(super) fn new(stream: T, most: Duration) -> Self {
        Self { stream, most, stalled: None }
    }

    /// The result of a write, or `TimedOut`.
    fn judge<R>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let most = self.most;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(most)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteDeadline<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    const MOST: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_is_ended() {
        let (near, _far) = duplex(10);
        let begun = Instant::now();
        let error = WriteDeadline::new(near, MOST).write_all(&[0; 11]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_a_little_now_and_then_is_not() {
        let (near, mut far) = duplex(10);
        let begun = Instant::now();
        let reads = async {
            let mut byte = [0];
            for _ in 0..30 {
                sleep(MOST - Duration::from_secs(1)).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        };
        let mut writer = WriteDeadline::new(near, MOST);
        let (written, ()) = tokio::join!(writer.write_all(&[0; 40]), reads);
        written.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 59);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_is_none_of_its_business() {
        let (near, mut far) = duplex(10);
        let mut reader = WriteDeadline::new(near, MOST);
        let later = async {
            sleep(100 * MOST).await;
            far.write_all(b"a").await.unwrap();
        };
        let mut byte = [0];
        let (read, ()) = tokio::join!(reader.read_exact(&mut byte), later);
        assert_eq!((read.unwrap(), &byte), (1, b"a"));
    }
}
