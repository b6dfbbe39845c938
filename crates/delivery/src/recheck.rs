//! Long responses, for which access is checked again while they are sent: a file of many gigabytes takes
//! hours.

use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::Instant;

use super::authorization::{PlayableMedia, PlaybackSession};
use crate::DeliveryState;

/// Longest time until a change by another process is noticed. Together with the time that rows stay cached, a
/// change applies within 2 s (C-13).
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// The response was aborted: its viewer would no longer be admitted.
#[derive(Debug, thiserror::Error)]
#[error("access was revoked during the response")]
struct AccessRevoked;

/// Passes the bytes on as long as the viewer would be admitted and `has_file` is true for the media.
///
/// A check that fails on the server's side, such as a failed query, does not end the stream.
pub(super) fn recheck_access<E: Into<BoxError> + Send>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    app: &DeliveryState,
    session: PlaybackSession,
    has_file: impl Fn(&PlayableMedia) -> bool + Send + Sync + 'static,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
    let app = app.clone();
    let (shared_app, session) = (app.clone(), std::sync::Arc::new((session, has_file)));
    let check = move || {
        let (app, session) = (shared_app.clone(), std::sync::Arc::clone(&session));
        async move {
            let (session, gives) = &*session;
            match session.is_valid(&app, gives).await {
                Ok(is_valid) => is_valid,
                Err(error) => error.status().is_server_error(),
            }
        }
    };
    while_authorized(chunks, move || app.store.generation(), check)
}

/// Passes pieces on. Before a piece it checks access again, where this process wrote a change since the last
/// check or [`RECHECK_AFTER`] has passed.
fn while_authorized<E: Into<BoxError> + Send, L: Future<Output = bool> + Send>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    generation: impl Fn() -> u64 + Send + 'static,
    check: impl Fn() -> L + Send + 'static,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
    let last_check = (generation(), Instant::now());
    let initial = Some((Box::pin(chunks), generation, check, last_check));
    stream::unfold(initial, async |state| {
        let (mut pieces, generation, look, mut looked) = state?;
        let chunk = pieces.next().await?;
        // Both are read before the check: a change during it causes another check before the next piece.
        let now = (generation(), Instant::now());
        if now.0 != looked.0 || now.1.duration_since(looked.1) >= RECHECK_AFTER {
            if !look().await {
                return Some((Err(AccessRevoked.into()), None));
            }
            looked = now;
        }
        Some((chunk.map_err(Into::into), Some((pieces, generation, look, looked))))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn access_is_rechecked_and_revocation_ends_the_response() {
        let (generation, looks, holds) =
            (Arc::new(AtomicU64::new(7)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
        let chunks = stream::repeat_with(|| Ok::<_, BoxError>(Bytes::from_static(b"x")));
        let (current, counted, answer) = (Arc::clone(&generation), Arc::clone(&looks), Arc::clone(&holds));
        let check = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(answer.load(Ordering::Relaxed))
        };
        let body = while_authorized(chunks, move || current.load(Ordering::Relaxed), check);
        let mut held = std::pin::pin!(body);
        let mut next = async |expected_looks: u64| {
            let chunk = held.next().await;
            assert_eq!(looks.load(Ordering::Relaxed), expected_looks);
            chunk.map(|piece| piece.map_err(|error| error.to_string()))
        };
        let piece = Some(Ok(Bytes::from_static(b"x")));
        assert_eq!(next(0).await, piece);
        generation.store(8, Ordering::Relaxed);
        assert_eq!(next(1).await, piece);
        assert_eq!(next(1).await, piece);
        tokio::time::advance(RECHECK_AFTER).await;
        assert_eq!(next(2).await, piece);
        assert_eq!(next(2).await, piece);
        holds.store(false, Ordering::Relaxed);
        assert_eq!(next(2).await, piece);
        tokio::time::advance(RECHECK_AFTER).await;
        assert_eq!(next(3).await, Some(Err(AccessRevoked.to_string())));
        assert_eq!(next(3).await, None);
    }
}
