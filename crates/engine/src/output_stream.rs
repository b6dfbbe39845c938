//! The streamed output of a run.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::error::EngineError;

/// Chunks read ahead of the caller, each 64 KiB at most: enough that a caller that writes them to disk
/// causes no pause.
pub(crate) const CHUNKS_AHEAD: usize = 4;

/// A message of a run: bytes, a good end (`None`), or an error.
pub(crate) type OutputChunk = Result<Option<Bytes>, EngineError>;

/// A run whose output comes in chunks, of any size and cut anywhere.
///
/// It runs from the start without polling, and waits while the caller does not take its output. The stream
/// ends after the process has ended well; otherwise its last item is the error. Dropping it kills the
/// process and all its children.
#[derive(Debug)]
pub struct OutputStream {
    chunks: mpsc::Receiver<OutputChunk>,
    abort_handle: Option<AbortHandle>,
    is_over: bool,
}

impl OutputStream {
    pub(crate) fn new(chunks: mpsc::Receiver<OutputChunk>, abort_handle: AbortHandle) -> Self {
        Self { chunks, abort_handle: Some(abort_handle), is_over: false }
    }

    /// A run that could not begin.
    pub(crate) fn failed(error: EngineError) -> Self {
        let (sender, chunks) = mpsc::channel(1);
        // There is capacity for one message, and the receiver exists.
        let _ = sender.try_send(Err(error));
        Self { chunks, abort_handle: None, is_over: false }
    }

    /// The next chunk, the error, or `None` at the end. Cancel safe.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, EngineError>> {
        std::future::poll_fn(|context| self.poll_chunk(context)).await
    }

    /// The complete output, or the error of the run.
    pub(crate) async fn collect(mut self) -> Result<Bytes, EngineError> {
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
        let item = match ready!(self.chunks.poll_recv(context)) {
            Some(Ok(Some(bytes))) => return Poll::Ready(Some(Ok(bytes))),
            Some(Ok(None)) => None,
            Some(Err(error)) => Some(Err(error)),
            // The task has panicked, or the runtime shuts down: that is an error.
            None => Some(Err(EngineError::Spawn(io::Error::other("the run ended early")))),
        };
        self.is_over = true;
        Poll::Ready(item)
    }
}

impl Stream for OutputStream {
    type Item = Result<Bytes, EngineError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_chunk(context)
    }
}

impl Drop for OutputStream {
    fn drop(&mut self) {
        if let Some(abort_handle) = &self.abort_handle {
            abort_handle.abort();
        }
    }
}
