//! Direct uploads over real HTTP: the operations of the API, and the signed URL in each of its protocols.

mod address;
mod connections;
mod draft;
mod events;
mod gcs;
mod operations;
mod origin;
mod plain_put;
mod protocols;
mod size;
mod status;
mod tus;

use bytes::Bytes;
use kinora_testkit::{MovableClock, fixture};
use serde_json::{Value, json};

use crate::support::{Answer, Golden, Request, Sending, TestApp, text, until};

/// An upload, as its client uses it.
struct Upload {
    id: String,
    /// The path of its signed URL.
    path: String,
}

impl Upload {
    /// Creates an upload with default options.
    async fn new(app: &TestApp) -> Self {
        Self::with(app, json!({})).await
    }

    /// The same, with further fields in the body.
    async fn with(app: &TestApp, fields: Value) -> Self {
        Self::through(app, "/v1/on-demand/upload", fields).await
    }

    /// The same through this path of the API.
    async fn through(app: &TestApp, path: &str, fields: Value) -> Self {
        let mut body = json!({"corsOrigin": "*"});
        let Value::Object(fields) = fields else { panic!("fields are an object: {fields}") };
        body.as_object_mut().expect("it is one").extend(fields);
        let answer = app.call("POST", path).json(&body).send().await;
        assert_eq!(answer.status, 201, "{answer:?}");
        Self::of(app, &answer.data())
    }

    /// The upload in the response of its creation.
    fn of(app: &TestApp, data: &Value) -> Self {
        let path = text(&data["url"]).strip_prefix(&app.url("")).expect("the address is this server's");
        Self { id: text(&data["uploadId"]).to_owned(), path: path.to_owned() }
    }

    /// A request to its signed URL.
    fn request(&self, app: &TestApp, method: &str) -> Request {
        app.request(method, &self.path)
    }

    /// A chunk of the web uploader: these bytes of this file.
    fn chunk(&self, app: &TestApp, file: &Bytes, bytes: std::ops::Range<usize>) -> Request {
        let range = format!("bytes {}-{}/{}", bytes.start, bytes.end - 1, file.len());
        self.request(app, "PUT").header("Content-Range", &range).body(file.slice(bytes))
    }

    /// Its offset from the draft protocol, and whether it is complete.
    async fn offset(&self, app: &TestApp) -> (u64, bool) {
        let answer = self.request(app, "HEAD").send().await;
        assert_eq!(answer.status, 204, "{answer:?}");
        let offset =
            answer.header("upload-offset").expect("the header is present").parse().expect("a number");
        (offset, answer.header("upload-complete") == Some("?1"))
    }

    /// `PUT …/cancel`, any response.
    async fn cancel(&self, app: &TestApp) -> Answer {
        app.call("PUT", &format!("/v1/on-demand/upload/{}/cancel", self.id)).send().await
    }

    /// Waits until its media is ready.
    async fn ready(&self, app: &TestApp) -> Value {
        let media = app.wait_settled(&self.id).await;
        assert_eq!(media["status"], "Ready", "{media}");
        media
    }

    /// Its entry in the list of uploads without a file.
    async fn listed(&self, app: &TestApp) -> Option<Value> {
        let list = app.call("GET", "/v1/on-demand/uploads?limit=50").send().await.data();
        list.as_array().expect("a list").iter().find(|item| item["uploadId"] == self.id).cloned()
    }

    /// Sends a request until its first bytes are stored, which creates the media, and stops there.
    async fn stall_after_first_bytes(&self, app: &TestApp, request: Request) -> Sending {
        let mut sending = request.begin(LONG_FIRST).await;
        until("the first bytes are kept", async || {
            sending.send(1).await;
            (app.get(&self.id).await.status == 200).then_some(())
        })
        .await;
        sending
    }

    /// Names values that differ between runs: the URL, and the length of the file, which ffmpeg made.
    fn golden(&self, app: &TestApp, file: &Bytes) -> Golden {
        let mut golden = app.golden();
        golden.name(self.path.rsplit('/').next().expect("it has parts"), "[signed]");
        golden.name(&file.len().to_string(), "[bytes]");
        golden.name(&(file.len() - 1).to_string(), "[last byte]");
        golden
    }
}

/// A server whose clock stands still, so that times in responses do not change.
async fn still() -> TestApp {
    TestApp::options().clock(MovableClock::default()).start().await
}

/// Bytes of [`long`] that are sent before the first check.
const LONG_FIRST: usize = 10 << 20;

/// [`fixture::two_seconds`] and a free box of 12 MiB: more than an object store buffers before it stores the
/// first byte.
fn long() -> Bytes {
    const FREE: u32 = 12 << 20;
    let mut file = fixture::two_seconds().to_vec();
    file.extend_from_slice(&FREE.to_be_bytes());
    file.extend_from_slice(b"free");
    file.resize(file.len() + FREE as usize - 8, 0);
    file.into()
}

/// Requests and responses, one after another.
struct Transcript {
    golden: Golden,
    text: String,
    has_cors: bool,
}

impl Transcript {
    fn new(golden: Golden) -> Self {
        Self { golden, text: String::new(), has_cors: false }
    }

    /// With the CORS headers, which are the same in all responses.
    fn with_cors(golden: Golden) -> Self {
        Self { has_cors: true, ..Self::new(golden) }
    }

    /// Sends a request and records its response under a name.
    async fn send(&mut self, name: &str, request: Request) -> Answer {
        let answer = request.send().await;
        let is_readable = answer.header("access-control-allow-origin").is_some();
        assert!(is_readable && answer.header("vary") == Some("Origin"), "{name}: {answer:?}");
        let full_text = self.golden.answer(&answer);
        let is_shown =
            |line: &&str| self.has_cors || !(line.starts_with("access-control-") || *line == "vary: Origin");
        let shown: Vec<_> = full_text.lines().filter(is_shown).collect();
        self.text += &format!("--- {name}\n{}\n\n", shown.join("\n"));
        answer
    }
}
