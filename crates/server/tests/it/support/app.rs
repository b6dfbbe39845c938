use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;

use kinora_domain::{DEVELOPMENT, Permission, WebhookId};
use kinora_store::{Opener, Store};
use kinora_testkit::{ReceivedPost, Source, SourceServer, WebhookReceiver};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::client::{Answer, Request};
use super::options::{Faults, Options};
use super::process::{Process, bind};
use super::{DEADLINE, Golden, Ground, until};

/// The path of the receiver for events of the workspace Development.
pub(crate) const HOOK: &str = "/hook";

/// A running server with its own folder, a workspace, a source server and a webhook receiver.
pub(crate) struct TestApp {
    /// Serves sources.
    pub(crate) sources: SourceServer,
    /// Receives events.
    pub(crate) receiver: WebhookReceiver,
    /// A read-write token of the workspace Development.
    pub(crate) token: Token,
    /// The webhook of the workspace Development, if there is one.
    pub(crate) hook: Option<Hook>,
    /// The database, opened as by a command while the server runs.
    pub(crate) store: Store,
    pub(crate) address: SocketAddr,
    /// Reserves the port while no server runs.
    _reserved: TcpSocket,
    /// Options of the next start.
    pub(crate) options: Options,
    process: Option<Process>,
    /// The database, object store and folder of the server.
    pub(crate) ground: Ground,
}

/// Id and secret of an access token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// Id and secret of a webhook.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) id: WebhookId,
    /// Base64 of the key.
    pub(crate) secret: String,
}

impl TestApp {
    /// A server with default options.
    pub(crate) async fn start() -> Self {
        Self::options().start().await
    }

    /// A server with other options: `TestApp::options().allow_loopback(false).start().await`.
    pub(crate) fn options() -> Options {
        Options::default()
    }

    pub(super) async fn start_with(options: Options) -> Self {
        Self::start_on(Ground::new().await, options).await
    }

    /// Another server on the data of `other`, as a process on another machine.
    pub(crate) async fn on_data_of(other: &Self, options: Options) -> Self {
        let mut app = Self::start_on(other.ground.clone(), options.without_webhook()).await;
        app.token = other.token.clone();
        app
    }

    async fn start_on(ground: Ground, options: Options) -> Self {
        // The first command creates the schema; setup is complete before the server counts writes.
        let store = Store::open(ground.store_options(Opener::Command, &options.clock)).await;
        let store = store.expect("the database opens");
        let reserved = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let (sources, receiver) = (SourceServer::start().await, WebhookReceiver::start().await);
        let mut app = Self {
            sources,
            receiver,
            token: Token { id: String::new(), secret: String::new() },
            hook: None,
            store,
            address: reserved.local_addr().expect("a bound socket has an address"),
            _reserved: reserved,
            options,
            process: None,
            ground,
        };
        app.token = app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
        if app.options.has_webhook {
            app.hook = Some(app.new_hook(DEVELOPMENT, &app.receiver.url(HOOK)).await);
        }
        let faults = app.options.faults.clone();
        app.launch(faults).await;
        app
    }

    async fn launch(&mut self, faults: Faults) {
        self.process = Some(Process::start(&self.ground, self.address, &self.options, faults).await);
    }

    /// Stops the server as Ctrl-C does.
    pub(crate) async fn stop(&mut self) {
        self.process.take().expect("the server runs").stop().await;
    }

    /// Ends the server as SIGKILL does.
    pub(crate) async fn kill(&mut self) {
        self.process.take().expect("the server runs").kill().await;
    }

    /// Kills the server if it runs, then starts it on the same folder and port, without faults.
    pub(crate) async fn restart(&mut self) {
        self.restart_with(Faults::default()).await;
    }

    /// The same, with these faults.
    pub(crate) async fn restart_with(&mut self, faults: Faults) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
        self.launch(faults).await;
    }

    /// The paths of all objects, sorted, including temporary ones.
    pub(crate) async fn objects(&self) -> Vec<String> {
        self.ground.objects().await
    }

    /// The URL of a path of the server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request without credentials.
    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    /// A request with the token of the workspace Development.
    pub(crate) fn call(&self, method: &str, target: &str) -> Request {
        self.request(method, target).token(&self.token)
    }

    /// `GET` without credentials, as players do.
    pub(crate) async fn fetch(&self, target: &str) -> Answer {
        self.request("GET", target).send().await
    }

    /// The same, but retries a 503: the server waits a minute for a viewer, and a busy machine may take
    /// longer.
    pub(crate) async fn fetch_made(&self, target: &str) -> Answer {
        until(target, async || {
            let answer = self.fetch(target).await;
            (answer.status != 503).then_some(answer)
        })
        .await
    }

    /// Serves a source at a path of the source server and returns its URL.
    pub(crate) fn serve(&self, path: &str, source: Source) -> String {
        self.sources.serve(path, source)
    }

    /// Creates a media from a URL and returns `data` of the 201.
    pub(crate) async fn create(&self, url: &str) -> Value {
        self.create_with(url, json!({})).await
    }

    /// The same, with further fields in the body.
    pub(crate) async fn create_with(&self, url: &str, fields: Value) -> Value {
        let mut body = json!({"inputs": [{"type": "video", "url": url}]});
        let Value::Object(fields) = fields else { panic!("fields are an object: {fields}") };
        body.as_object_mut().expect("it is one").extend(fields);
        let answer = self.call("POST", "/v1/on-demand").json(&body).send().await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.data()
    }

    /// `GET /on-demand/{id}`, any response.
    pub(crate) async fn get(&self, id: &str) -> Answer {
        self.call("GET", &format!("/v1/on-demand/{id}")).send().await
    }

    /// `DELETE /on-demand/{id}`, any response.
    pub(crate) async fn delete(&self, id: &str) -> Answer {
        self.call("DELETE", &format!("/v1/on-demand/{id}")).send().await
    }

    /// Waits until a media is ready or failed, and returns its `GET` body.
    ///
    /// Retries while the server does not respond yet.
    pub(crate) async fn wait_settled(&self, id: &str) -> Value {
        let path = format!("/v1/on-demand/{id}");
        until("the media is ready or failed", async || {
            let answer = self.call("GET", &path).try_send().await.ok()?;
            assert_eq!(answer.status, 200, "{answer:?}");
            let data = answer.data();
            matches!(data["status"].as_str(), Some("Ready" | "Failed")).then_some(data)
        })
        .await
    }

    /// The same, but retries a 503: for a server that is under fault injection or overloaded.
    pub(crate) async fn wait_settled_through_503(&self, id: &str) -> Value {
        let path = format!("/v1/on-demand/{id}");
        until("the media is ready or failed", async || {
            let answer = self.call("GET", &path).try_send().await.ok()?;
            assert!(matches!(answer.status, 200 | 503), "{answer:?}");
            let data = (answer.status == 200).then(|| answer.data())?;
            matches!(data["status"].as_str(), Some("Ready" | "Failed")).then_some(data)
        })
        .await
    }

    /// Creates a media from these bytes and waits until it is ready.
    pub(crate) async fn ready(&self, path: &str, bytes: impl Into<bytes::Bytes>) -> Value {
        self.ready_with(path, bytes, json!({})).await
    }

    /// The same, with further fields in the body.
    pub(crate) async fn ready_with(
        &self,
        path: &str,
        bytes: impl Into<bytes::Bytes>,
        fields: Value,
    ) -> Value {
        let url = self.serve(path, Source::of(bytes));
        let media = self.create_with(&url, fields).await;
        let media = self.wait_settled(text(&media["id"])).await;
        assert_eq!(media["status"], "Ready", "{media}");
        let has_blur_hash = self.options.has_blur_hash.load(Ordering::Relaxed);
        if has_blur_hash && media["isAudioOnly"] == false {
            self.with_blur_hash(text(&media["id"])).await
        } else {
            media
        }
    }

    /// Queues BlurHash jobs from the next start.
    pub(crate) fn blur_hash_from_next_start(&self) {
        self.options.has_blur_hash.store(true, Ordering::Relaxed);
    }

    /// Waits until a media has its BlurHash, and returns its `GET` body.
    ///
    /// The server needs [`Options::blur_hash`]. A job that fails in ffmpeg is retried by the clock, so the
    /// clock must run.
    pub(crate) async fn with_blur_hash(&self, id: &str) -> Value {
        until("the media has its BlurHash", async || {
            let answer = self.get(id).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            Some(answer.data()).filter(|media| media["blurHash"].is_string())
        })
        .await
    }

    /// Waits for the first event of this type and returns its body.
    pub(crate) async fn event(&self, event_type: &str) -> Value {
        self.receiver.wait_for_event(event_type, DEADLINE).await.json()
    }

    /// Waits until a path of the receiver has `count` posts, and returns all of them.
    pub(crate) async fn posts(&self, path: &str, count: usize) -> Vec<ReceivedPost> {
        let of_path = |posted: &[ReceivedPost]| {
            posted.iter().filter(|post| post.request.path() == path).cloned().collect::<Vec<_>>()
        };
        of_path(&self.receiver.wait_for(DEADLINE, |posted| of_path(posted).len() >= count).await)
    }

    /// Waits until no delivery is pending or in progress.
    pub(crate) async fn all_delivered(&self) {
        until("everything is delivered", async || {
            self.store.next_delivery_due().await.expect("the database is there").is_none().then_some(())
        })
        .await;
    }

    /// Replaces values that differ between runs: ids, times, and the ports of the servers of this test.
    pub(crate) fn golden(&self) -> Golden {
        Golden::new(vec![
            (self.url(""), "http://server.test".to_owned()),
            (format!("http://{}", self.sources.address()), "http://source.test".to_owned()),
            (self.receiver.url("/").trim_end_matches('/').to_owned(), "http://receiver.test".to_owned()),
        ])
    }
}

/// The text of a JSON string.
#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}
