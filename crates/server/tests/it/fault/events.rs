//! Guarantees of webhook delivery, independent of faults of the sender.

use std::collections::{BTreeMap, BTreeSet};

use kinora_testkit::{ReceivedPost, WebhookReceiver};
use serde_json::Value;

/// The event types of each media, in the order in which they first arrived.
///
/// Panics when an event has two ids, an id has two contents, or the ids of header and body differ.
pub(crate) fn by_media(receiver: &WebhookReceiver) -> BTreeMap<String, Vec<String>> {
    let mut types_by_media: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut contents: BTreeMap<String, Value> = BTreeMap::new();
    let mut events: BTreeSet<(String, String)> = BTreeSet::new();
    for post in receiver.posted() {
        let (id, content) = (post.event_id(), content(&post));
        assert_eq!(post.header("webhook-id"), Some(id.as_str()));
        if let Some(before) = contents.get(&id) {
            assert_eq!(*before, content, "delivered again, an event is the same");
            continue;
        }
        let media = content["object"]["id"].as_str().expect("every event has an object").to_owned();
        let is_first = events.insert((media.clone(), post.event_type()));
        assert!(is_first, "a second event, not a second delivery: {content}");
        types_by_media.entry(media).or_default().push(post.event_type());
        contents.insert(id, content);
    }
    types_by_media
}

/// The body without the list of earlier attempts, which may differ between posts.
fn content(post: &ReceivedPost) -> Value {
    let mut body = post.json();
    body.as_object_mut().expect("a body is an object").remove("attempts");
    body
}
