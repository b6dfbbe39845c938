//! The output of a run that goes on, as it comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::error::EngineError;

/// Chunks read ahead of the caller, each 64 KiB at most: enough that a caller that writes them away costs no
/// pause.
pub(crate) const CHUNKS_AHEAD: usize = 4;

/// What a run says: bytes, or that it ended well (`None`), or why not.
pub(crate) type Said = Result<Option<Bytes>, EngineError>;

/// A run whose output comes in chunks, of any size and cut anywhere.
///
/// It works on its own from the start, and waits where the caller does not take what it made. The stream ends
/// after the process has ended well; otherwise its last item is the error. Dropping it kills the process and
/// all it started.
#[derive(Debug)]
pub struct Encoding {
    said: mpsc::Receiver<Said>,
    run: Option<AbortHandle>,
    is_over: bool,
}

impl Encoding {
    pub(crate) fn new(said: mpsc::Receiver<Said>, run: AbortHandle) -> Self {
        Self { said, run: Some(run), is_over: false }
    }

    /// One that could not begin.
    pub(crate) fn refused(error: EngineError) -> Self {
        let (say, said) = mpsc::channel(1);
        // There is room for one, and the receiver is here.
        let _ = say.try_send(Err(error));
        Self { said, run: None, is_over: false }
    }

    /// The next chunk, the error, or `None` when all is said. May be dropped and called again without losing
    /// anything.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, EngineError>> {
        std::future::poll_fn(|context| self.poll_chunk(context)).await
    }

    /// All that it says, or why it did not come to its end.
    pub(crate) async fn whole(mut self) -> Result<Bytes, EngineError> {
        let mut output = BytesMut::new();
        while let Some(chunk) = self.chunk().await {
            let chunk = chunk?;
            // Most outputs are one chunk, which needs no copy.
            if output.is_empty() {
                output = chunk.into();
            } else {
                output.extend_from_slice(&chunk);
            }
        }
        Ok(output.freeze())
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, EngineError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let item = match ready!(self.said.poll_recv(context)) {
            Some(Ok(Some(bytes))) => return Poll::Ready(Some(Ok(bytes))),
            Some(Ok(None)) => None,
            Some(Err(error)) => Some(Err(error)),
            // The task has panicked, or the runtime shuts down: that is not a good end.
            None => Some(Err(EngineError::Spawn(io::Error::other("the run ended early")))),
        };
        self.is_over = true;
        Poll::Ready(item)
    }
}

impl Stream for Encoding {
    type Item = Result<Bytes, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_chunk(context)
    }
}

impl Drop for Encoding {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            run.abort();
        }
    }
}
