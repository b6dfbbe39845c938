//! Answers that take long, held against what is in force while they go on: a file of many gigabytes is sent
//! for hours.

use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::Instant;

use super::gate::{Offer, PlaybackSession};
use crate::DeliveryState;

/// What another process changed is seen by then at the latest; with what is remembered of it, it is in force
/// within 2 s (C-13).
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The answer was broken off: its viewer would not be let in any more.
#[derive(Debug, thiserror::Error)]
#[error("what was asked for is not given any more")]
struct TakenBack;

/// The bytes of something, for as long as whoever was let in would be let in and the media `gives` it. What
/// is asked for that cannot be answered just now does not end them.
pub(super) fn held<E: Into<BoxError> + Send>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    app: &DeliveryState,
    session: PlaybackSession,
    gives: impl Fn(&Offer) -> bool + Send + Sync + 'static,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
    let app = app.clone();
    let (asked, session) = (app.clone(), std::sync::Arc::new((session, gives)));
    let look = move || {
        let (app, session) = (asked.clone(), std::sync::Arc::clone(&session));
        async move {
            let (session, gives) = &*session;
            match session.is_valid(&app, gives).await {
                Ok(holds) => holds,
                Err(error) => error.status().is_server_error(),
            }
        }
    };
    while_it_holds(pieces, move || app.store.generation(), look)
}

/// Passes pieces on. Before one goes it looks, where something was changed here since it last did, or some
/// time ago.
fn while_it_holds<E: Into<BoxError> + Send, L: Future<Output = bool> + Send>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    generation: impl Fn() -> u64 + Send + 'static,
    look: impl Fn() -> L + Send + 'static,
) -> impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static {
    let looked = (generation(), Instant::now());
    let begun = Some((Box::pin(pieces), generation, look, looked));
    stream::unfold(begun, async |state| {
        let (mut pieces, generation, look, mut looked) = state?;
        let piece = pieces.next().await?;
        // Both taken before the look: what comes in between is looked at next time.
        let now = (generation(), Instant::now());
        if now.0 != looked.0 || now.1.duration_since(looked.1) >= LOOK_AFTER {
            if !look().await {
                return Some((Err(TakenBack.into()), None));
            }
            looked = now;
        }
        Some((piece.map_err(Into::into), Some((pieces, generation, look, looked))))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_looks_where_something_changed_and_every_second_and_ends_where_it_holds_no_more() {
        let (generation, looks, holds) =
            (Arc::new(AtomicU64::new(7)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
        let pieces = stream::repeat_with(|| Ok::<_, BoxError>(Bytes::from_static(b"x")));
        let (told, counted, answer) = (Arc::clone(&generation), Arc::clone(&looks), Arc::clone(&holds));
        let look = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(answer.load(Ordering::Relaxed))
        };
        let held = while_it_holds(pieces, move || told.load(Ordering::Relaxed), look);
        let mut held = std::pin::pin!(held);
        let mut next = async |expected_looks: u64| {
            let piece = held.next().await;
            assert_eq!(looks.load(Ordering::Relaxed), expected_looks);
            piece.map(|piece| piece.map_err(|error| error.to_string()))
        };
        let piece = Some(Ok(Bytes::from_static(b"x")));
        assert_eq!(next(0).await, piece);
        generation.store(8, Ordering::Relaxed);
        assert_eq!(next(1).await, piece);
        assert_eq!(next(1).await, piece);
        tokio::time::advance(LOOK_AFTER).await;
        assert_eq!(next(2).await, piece);
        assert_eq!(next(2).await, piece);
        holds.store(false, Ordering::Relaxed);
        assert_eq!(next(2).await, piece);
        tokio::time::advance(LOOK_AFTER).await;
        assert_eq!(next(3).await, Some(Err(TakenBack.to_string())));
        assert_eq!(next(3).await, None);
    }
}
