//! A webhook receiver that records all posts and responds by a script.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http::{ConnectionAction, Handler, Request, Server, reason};
use crate::waitable::Waitable;
use crate::{verify_service_signature, verify_standard_webhooks};

/// The response to one POST.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    is_delayed: bool,
    broken: bool,
}

impl Answer {
    /// A response with this status and no body.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new(), is_delayed: false, broken: false }
    }

    /// 200.
    pub fn ok() -> Self {
        Self::status(200)
    }

    /// 302 to this address.
    pub fn redirect(url: &str) -> Self {
        Self::status(302).header("location", url)
    }

    /// 200, with the request to send no more events: `webhook-delivery: disable`.
    pub fn disable() -> Self {
        Self::ok().header("webhook-delivery", "disable")
    }

    /// Closes the connection without a response.
    pub fn broken() -> Self {
        Self { broken: true, ..Self::ok() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Delays the response until [`WebhookReceiver::release`] is called for the path, as in a slow or
    /// hanging receiver.
    #[must_use]
    pub fn delayed(mut self) -> Self {
        self.is_delayed = true;
        self
    }
}

/// One received POST.
#[derive(Debug, Clone)]
pub struct ReceivedPost {
    /// Its number among all posts to this receiver, from 0.
    pub order: usize,
    /// The request: path, headers, raw body, time.
    pub request: Request,
}

impl ReceivedPost {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.header(name)
    }

    /// The body as JSON. Panics if it is not JSON: no webhook may send such a body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.request.body)
            .unwrap_or_else(|error| panic!("a webhook sent a body that is not JSON: {error}"))
    }

    /// `type` of the event.
    pub fn event_type(&self) -> String {
        self.text("type")
    }

    /// `id` of the event.
    pub fn event_id(&self) -> String {
        self.text("id")
    }

    fn text(&self, field: &str) -> String {
        let body = self.json();
        body[field]
            .as_str()
            .unwrap_or_else(|| panic!("the event has no text in {field:?}: {body}"))
            .to_owned()
    }

    /// Whether both signatures are valid: `Service-Signature`, and those of Standard Webhooks at `now_s`
    /// (seconds since 1970).
    pub fn is_signed_with(&self, secret_base64: &str, now_s: i64) -> bool {
        let value = |name| self.header(name).unwrap_or_default();
        let body = &self.request.body;
        verify_service_signature(secret_base64, body, value("service-signature"))
            && verify_standard_webhooks(
                secret_base64,
                value("webhook-id"),
                value("webhook-timestamp"),
                value("webhook-signature"),
                body,
                now_s,
            )
    }
}

/// Receives POSTs on all paths of a free port of 127.0.0.1, and responds with 200 by default.
#[derive(Debug)]
pub struct WebhookReceiver {
    server: Server,
    state: Arc<Waitable<State>>,
}

#[derive(Debug, Default)]
struct State {
    posted: Vec<ReceivedPost>,
    scripts: HashMap<String, Script>,
}

#[derive(Debug, Default)]
struct Script {
    next: VecDeque<Answer>,
    /// The response after all of `next` are used; 200 if `None`.
    then: Option<Answer>,
    released: bool,
}

impl WebhookReceiver {
    /// Starts the receiver. It stops when dropped.
    pub async fn start() -> Self {
        let state = Arc::new(Waitable::default());
        let server = Server::start(Arc::new(Receiving(Arc::clone(&state)))).await;
        Self { server, state }
    }

    /// The address of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Sets the responses to the next POSTs to `path`, one each, in this order.
    pub fn answer_next(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.state.change(|state| state.script(path).next.extend(answers));
    }

    /// Sets the response to all POSTs to `path` after the next ones are used.
    pub fn answer_always(&self, path: &str, answer: Answer) {
        self.state.change(|state| state.script(path).then = Some(answer));
    }

    /// Releases the delayed responses of `path`, future ones too.
    pub fn release(&self, path: &str) {
        self.state.change(|state| state.script(path).released = true);
    }

    /// All posts so far, in order of arrival.
    pub fn posted(&self) -> Vec<ReceivedPost> {
        self.state.read(|state| state.posted.clone())
    }

    /// The first POST of each event of this type, in order of arrival. Delivery is at least once.
    pub fn distinct_events(&self, event_type: &str) -> Vec<ReceivedPost> {
        let mut seen = BTreeSet::new();
        let mut posted = self.posted();
        posted.retain(|post| post.event_type() == event_type && seen.insert(post.event_id()));
        posted
    }

    /// Waits until the posts satisfy `enough`, and returns all of them.
    ///
    /// Panics if the deadline passes first; the message lists the posts.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        enough: impl Fn(&[ReceivedPost]) -> bool,
    ) -> Vec<ReceivedPost> {
        let waited = self
            .state
            .wait_timeout(deadline, |state| enough(&state.posted).then(|| state.posted.clone()))
            .await;
        waited.unwrap_or_else(|| {
            let posted = self.posted();
            let lines: Vec<String> = posted
                .iter()
                .map(|post| {
                    format!("  {} {}", post.request.path(), String::from_utf8_lossy(&post.request.body))
                })
                .collect();
            panic!(
                "after {deadline:?} the webhooks that came ({}) were not enough:\n{}",
                posted.len(),
                lines.join("\n")
            )
        })
    }

    /// Waits for the first event of this type.
    pub async fn wait_for_event(&self, event_type: &str, deadline: Duration) -> ReceivedPost {
        let is_it = |post: &ReceivedPost| post.event_type() == event_type;
        let posted = self.wait_for(deadline, |posted| posted.iter().any(is_it)).await;
        posted.into_iter().find(is_it).expect("it was waited for")
    }
}

impl State {
    fn script(&mut self, path: &str) -> &mut Script {
        self.scripts.entry(path.to_owned()).or_default()
    }
}

struct Receiving(Arc<Waitable<State>>);

impl Handler for Receiving {
    async fn answer(&self, request: Request, socket: &mut TcpStream) -> io::Result<ConnectionAction> {
        let path = request.path().to_owned();
        let answer = self.0.change(|state| {
            let script = state.script(&path);
            let answer = script.next.pop_front().or_else(|| script.then.clone()).unwrap_or_else(Answer::ok);
            if request.method == "POST" {
                state.posted.push(ReceivedPost { order: state.posted.len(), request });
                answer
            } else {
                Answer::status(405)
            }
        });
        if answer.is_delayed {
            self.0.wait_until(|state| state.scripts[&path].released.then_some(())).await;
        }
        if answer.broken {
            return Ok(ConnectionAction::Close);
        }
        let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
        for (name, value) in &answer.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{}", answer.body.len(), answer.body);
        socket.write_all(text.as_bytes()).await?;
        Ok(ConnectionAction::Keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::testing::exchange;

    const DEADLINE: Duration = Duration::from_secs(60);

    fn post(path: &str, body: &str) -> String {
        format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    async fn status(receiver: &WebhookReceiver, path: &str) -> String {
        let answer = exchange(&receiver.url("/"), &post(path, r#"{"type":"t","id":"1"}"#)).await;
        answer.split(' ').nth(1).unwrap_or("closed").to_owned()
    }

    #[tokio::test]
    async fn responses_follow_the_script_of_their_path() {
        let receiver = WebhookReceiver::start().await;
        receiver.answer_next("/a", [Answer::status(500), Answer::broken(), Answer::redirect("http://x/")]);
        receiver.answer_always("/a", Answer::status(410));
        for expected in ["500", "closed", "302", "410", "410"] {
            assert_eq!(status(&receiver, "/a").await, expected);
        }
        assert_eq!(status(&receiver, "/b").await, "200");

        receiver.answer_next("/c", [Answer::disable().body("no more")]);
        let answer = exchange(&receiver.url("/"), &post("/c", "{}")).await;
        assert_eq!(
            answer,
            "HTTP/1.1 200 OK\r\nwebhook-delivery: disable\r\ncontent-length: 7\r\n\r\nno more"
        );
        let paths: Vec<_> = receiver.posted().iter().map(|post| post.request.path().to_owned()).collect();
        assert_eq!(paths, ["/a", "/a", "/a", "/a", "/a", "/b", "/c"]);
    }

    #[tokio::test]
    async fn receiver_records_raw_posts() {
        let receiver = WebhookReceiver::start().await;
        let body = "{ \"type\": \"a\",\r\n \"id\":\"1\" }";
        let request =
            format!("POST /h?q=1 HTTP/1.1\r\nWebhook-Id: 1\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        exchange(&receiver.url("/"), &request).await;
        let chunked = "POST /h HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n{\"type\":\"a\r\nC\r\n\",\"id\":\"2\"}\n\r\n0\r\n\r\n";
        exchange(&receiver.url("/"), chunked).await;
        for again in [body, body] {
            exchange(&receiver.url("/"), &post("/h", again)).await;
        }

        let posted = receiver.posted();
        assert_eq!(posted[0].request.body, body);
        assert_eq!(posted[0].request.target, "/h?q=1");
        assert_eq!(posted[0].header("webhook-id"), Some("1"));
        assert_eq!(posted[0].header("webhook-timestamp"), None);
        assert_eq!(posted[1].request.body, "{\"type\":\"a\",\"id\":\"2\"}\n");
        assert_eq!(posted.iter().map(|post| post.order).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let distinct = receiver.distinct_events("a");
        assert_eq!(distinct.iter().map(|post| post.order).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(receiver.distinct_events("b").len(), 0);
    }

    #[tokio::test]
    async fn delayed_response_waits_for_release() {
        let receiver = WebhookReceiver::start().await;
        receiver.answer_always("/slow", Answer::ok().delayed());
        let url = receiver.url("/");
        let slow = tokio::spawn(async move { exchange(&url, &post("/slow", "{}")).await });
        receiver.wait_for(DEADLINE, |posted| posted.len() == 1).await;
        assert_eq!(status(&receiver, "/quick").await, "200");
        assert!(!slow.is_finished());
        receiver.release("/slow");
        assert!(slow.await.unwrap().starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    #[should_panic(expected = "were not enough:\n  /a {\"type\":\"t\",\"id\":\"1\"}")]
    async fn wait_timeout_lists_received_posts() {
        let receiver = WebhookReceiver::start().await;
        status(&receiver, "/a").await;
        receiver.wait_for(Duration::from_millis(1), |posted| posted.len() == 2).await;
    }
}
