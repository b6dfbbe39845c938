//! Write timeout of a connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Fails writes after `timeout` without progress. Reads have no timeout here.
///
/// A write makes no progress when the client does not read: its receive window and our send buffer are full.
#[derive(Debug)]
pub(super) struct WriteTimeout<T> {
    stream: T,
    timeout: Duration,
    /// The timer of a write without progress.
    stall_timer: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteTimeout<T> {
    pub(super) fn new(stream: T, timeout: Duration) -> Self {
        Self { stream, timeout, stall_timer: None }
    }

    /// The result of a write, or `TimedOut`.
    fn check_timeout<R>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stall_timer = None;
            return written;
        }
        let timeout = self.timeout;
        let timer = self.stall_timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check_timeout(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check_timeout(context, result)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    const MOST: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn write_without_progress_times_out() {
        let (near, _far) = duplex(10);
        let begun = Instant::now();
        let error = WriteTimeout::new(near, MOST).write_all(&[0; 11]).await.unwrap_err();
        assert_eq!((error.kind(), begun.elapsed().as_secs()), (io::ErrorKind::TimedOut, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_does_not_time_out() {
        let (near, mut far) = duplex(10);
        let begun = Instant::now();
        let reads = async {
            let mut byte = [0];
            for _ in 0..30 {
                sleep(MOST - Duration::from_secs(1)).await;
                far.read_exact(&mut byte).await.unwrap();
            }
        };
        let mut writer = WriteTimeout::new(near, MOST);
        let (written, ()) = tokio::join!(writer.write_all(&[0; 40]), reads);
        written.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 30 * 59);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connection_does_not_time_out() {
        let (near, mut far) = duplex(10);
        let mut reader = WriteTimeout::new(near, MOST);
        let later = async {
            sleep(100 * MOST).await;
            far.write_all(b"a").await.unwrap();
        };
        let mut byte = [0];
        let (read, ()) = tokio::join!(reader.read_exact(&mut byte), later);
        assert_eq!((read.unwrap(), &byte), (1, b"a"));
    }
}
