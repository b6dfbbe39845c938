//! What a receiver must be able to rely on, whatever happened to the sender.

use std::collections::{BTreeMap, BTreeSet};

use kinora_testkit::{Posted, WebhookReceiver};
use serde_json::Value;

/// The types of the events of each media, in the order in which they first came.
///
/// Panics when an event came under two ids, an id with two contents, or another id in the header than in the
/// body.
pub(crate) fn by_media(receiver: &WebhookReceiver) -> BTreeMap<String, Vec<String>> {
    let mut order: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut contents: BTreeMap<String, Value> = BTreeMap::new();
    let mut events: BTreeSet<(String, String)> = BTreeSet::new();
    for post in receiver.posted() {
        let (id, content) = (post.event_id(), content(&post));
        assert_eq!(post.header("webhook-id"), Some(id.as_str()));
        if let Some(before) = contents.get(&id) {
            assert_eq!(*before, content, "delivered again, an event is the same");
            continue;
        }
        let media = content["object"]["id"].as_str().expect("every event says what it is about").to_owned();
        let is_first = events.insert((media.clone(), post.event_type()));
        assert!(is_first, "a second event, not a second delivery: {content}");
        order.entry(media).or_default().push(post.event_type());
        contents.insert(id, content);
    }
    order
}

/// A body without the attempts before it, which may differ from post to post.
fn content(post: &Posted) -> Value {
    let mut body = post.json();
    body.as_object_mut().expect("a body is an object").remove("attempts");
    body
}
