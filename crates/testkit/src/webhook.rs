//! A receiver of webhooks that writes down what it gets and answers as told.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http::{Handler, Request, Server, Then, reason};
use crate::watched::Watched;
use crate::{verify_service_signature, verify_standard_webhooks};

/// How the receiver answers one POST.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    held: bool,
    broken: bool,
}

impl Answer {
    /// This status, no body.
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new(), held: false, broken: false }
    }

    /// 200.
    pub fn ok() -> Self {
        Self::status(200)
    }

    /// 302 to this address.
    pub fn redirect(url: &str) -> Self {
        Self::status(302).header("location", url)
    }

    /// 200, and the wish to get no more: `webhook-delivery: disable`.
    pub fn disable() -> Self {
        Self::ok().header("webhook-delivery", "disable")
    }

    /// Closes the connection without a word.
    pub fn broken() -> Self {
        Self { broken: true, ..Self::ok() }
    }

    /// With this header too.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Only after [`WebhookReceiver::release`] was called for the path: a slow receiver, or one that hangs.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }
}

/// One POST that came in.
#[derive(Debug, Clone)]
pub struct Posted {
    /// Counts all that came to this receiver, from 0.
    pub order: usize,
    /// The request: path, headers, raw body, instant.
    pub request: Request,
}

impl Posted {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.header(name)
    }

    /// The body as JSON. Panics when it is none: no webhook may send such a body.
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

    /// Whether both signatures are right: `Service-Signature`, and those of Standard Webhooks at `now_s`
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

/// Takes POSTs on any path of a free port of 127.0.0.1, and answers 200 unless told otherwise.
#[derive(Debug)]
pub struct WebhookReceiver {
    server: Server,
    state: Arc<Watched<State>>,
}

#[derive(Debug, Default)]
struct State {
    posted: Vec<Posted>,
    scripts: HashMap<String, Script>,
}

#[derive(Debug, Default)]
struct Script {
    next: VecDeque<Answer>,
    /// When `next` is used up; 200 when there is none.
    then: Option<Answer>,
    released: bool,
}

impl WebhookReceiver {
    /// Starts it. It ends when it is dropped.
    pub async fn start() -> Self {
        let state = Arc::new(Watched::default());
        let server = Server::start(Arc::new(Receiving(Arc::clone(&state)))).await;
        Self { server, state }
    }

    /// The address of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Answers the next POSTs to `path` with these, one each, in this order.
    pub fn answer_next(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        self.state.change(|state| state.script(path).next.extend(answers));
    }

    /// Answers all POSTs to `path` with this, once the next ones are used up.
    pub fn answer_always(&self, path: &str, answer: Answer) {
        self.state.change(|state| state.script(path).then = Some(answer));
    }

    /// Lets the held answers of `path` go, those to come too.
    pub fn release(&self, path: &str) {
        self.state.change(|state| state.script(path).released = true);
    }

    /// Everything that has come so far, in order of arrival.
    pub fn posted(&self) -> Vec<Posted> {
        self.state.see(|state| state.posted.clone())
    }

    /// The first POST of each event of this type, in order of arrival. Delivery is at least once.
    pub fn distinct_events(&self, event_type: &str) -> Vec<Posted> {
        let mut seen = BTreeSet::new();
        let mut posted = self.posted();
        posted.retain(|post| post.event_type() == event_type && seen.insert(post.event_id()));
        posted
    }

    /// Waits until what has come satisfies `enough`, and answers all of it.
    ///
    /// Panics when the deadline passes first, and says what had come.
    pub async fn wait_for(&self, deadline: Duration, enough: impl Fn(&[Posted]) -> bool) -> Vec<Posted> {
        let waited =
            self.state.within(deadline, |state| enough(&state.posted).then(|| state.posted.clone())).await;
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
    pub async fn wait_for_event(&self, event_type: &str, deadline: Duration) -> Posted {
        let is_it = |post: &Posted| post.event_type() == event_type;
        let posted = self.wait_for(deadline, |posted| posted.iter().any(is_it)).await;
        posted.into_iter().find(is_it).expect("it was waited for")
    }
}

impl State {
    fn script(&mut self, path: &str) -> &mut Script {
        self.scripts.entry(path.to_owned()).or_default()
    }
}

struct Receiving(Arc<Watched<State>>);

impl Handler for Receiving {
    async fn answer(&self, request: Request, socket: &mut TcpStream) -> io::Result<Then> {
        let path = request.path().to_owned();
        let answer = self.0.change(|state| {
            let script = state.script(&path);
            let answer = script.next.pop_front().or_else(|| script.then.clone()).unwrap_or_else(Answer::ok);
            if request.method == "POST" {
                state.posted.push(Posted { order: state.posted.len(), request });
                answer
            } else {
                Answer::status(405)
            }
        });
        if answer.held {
            self.0.until(|state| state.scripts[&path].released.then_some(())).await;
        }
        if answer.broken {
            return Ok(Then::Close);
        }
        let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
        for (name, value) in &answer.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{}", answer.body.len(), answer.body);
        socket.write_all(text.as_bytes()).await?;
        Ok(Then::Keep)
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
    async fn answers_follow_the_script_of_their_path() {
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
    async fn what_came_is_kept_as_it_came() {
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
    async fn a_held_answer_waits_for_its_release_alone() {
        let receiver = WebhookReceiver::start().await;
        receiver.answer_always("/slow", Answer::ok().held());
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
    async fn waiting_in_vain_says_what_came() {
        let receiver = WebhookReceiver::start().await;
        status(&receiver, "/a").await;
        receiver.wait_for(Duration::from_millis(1), |posted| posted.len() == 2).await;
    }
}
