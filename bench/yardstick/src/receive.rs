//! A receiver that only counts posts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::Error;

/// The posts since the last reset.
#[derive(Default)]
struct Count {
    posts: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

type Counter = Arc<Mutex<Count>>;

/// Counts POSTs to any `/NAME`, until the process is ended. `GET /` returns, as JSON, their number and the
/// time from the first to the last; `DELETE /` resets both.
pub(crate) async fn run(address: &str) -> Result<(), Error> {
    let counter = Counter::default();
    let router =
        Router::new().route("/", get(tell).delete(reset)).route("/{name}", post(count)).with_state(counter);
    let listener = TcpListener::bind(address).await?;
    axum::serve(listener, router).await?;
    Ok(())
}

async fn count(State(counter): State<Counter>, _whole_body: Bytes) {
    let now = Instant::now();
    let mut count = counter.lock().expect("nothing panics while holding it");
    count.posts += 1;
    count.first.get_or_insert(now);
    count.last = Some(now);
}

async fn tell(State(counter): State<Counter>) -> String {
    let count = counter.lock().expect("nothing panics while holding it");
    let took = match (count.first, count.last) {
        (Some(first), Some(last)) => last - first,
        _ => Duration::ZERO,
    };
    format!(r#"{{"posts": {}, "took_us": {}}}"#, count.posts, took.as_micros())
}

async fn reset(State(counter): State<Counter>) {
    *counter.lock().expect("nothing panics while holding it") = Count::default();
}
