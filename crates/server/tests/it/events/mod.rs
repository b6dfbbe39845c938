//! Webhook deliveries: bodies, signatures, times, and order.

mod attempts;
mod bodies;
mod disabled;
mod order;
mod signatures;

use kinora_testkit::ReceivedPost;

use crate::support::TestApp;

/// A URL whose media fails at once: two events and no bytes.
fn nowhere(app: &TestApp) -> String {
    app.sources.url("/nowhere.mp4")
}

/// Type and object of each post, in order of arrival.
fn events_of(posted: &[ReceivedPost]) -> Vec<(String, String)> {
    let object = |post: &ReceivedPost| post.json()["object"]["id"].as_str().unwrap_or_default().to_owned();
    posted.iter().map(|post| (post.event_type(), object(post))).collect()
}
