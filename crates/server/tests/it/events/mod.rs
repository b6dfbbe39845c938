//! What receivers of webhooks get: which bodies, signed how, when, and in which order.

mod attempts;
mod bodies;
mod disabled;
mod order;
mod signatures;

use kinora_testkit::Posted;

use crate::support::TestApp;

/// An address whose media fails at once: two events and no bytes.
fn nowhere(app: &TestApp) -> String {
    app.sources.url("/nowhere.mp4")
}

/// Type and object of each post, in order of arrival.
fn told(posted: &[Posted]) -> Vec<(String, String)> {
    let object = |post: &Posted| post.json()["object"]["id"].as_str().unwrap_or_default().to_owned();
    posted.iter().map(|post| (post.event_type(), object(post))).collect()
}
