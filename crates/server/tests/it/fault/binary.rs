use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kinora_blob::Blob;
use kinora_domain::Clock;
use kinora_server::SystemClock;
use kinora_store::{Opener, Store};
use kinora_testkit::WebhookReceiver;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{Child, Ground, Program, Request, Running, Token, reserve, stop_and_list, text, until};

/// The real binary in its own folder, with a token and a webhook that it created.
pub(super) struct Binary {
    ground: Ground,
    address: SocketAddr,
    /// Reserves the port between two processes; it never listens.
    _port: TcpSocket,
    token: Token,
    pub(super) receiver: WebhookReceiver,
}

/// A ready `kinora serve`.
pub(super) struct Serving(Running);

impl Binary {
    pub(super) async fn new() -> Self {
        let port = reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = port.local_addr().unwrap();
        let mut binary = Self {
            ground: Ground::new().await,
            address,
            _port: port,
            token: Token { id: String::new(), secret: String::new() },
            receiver: WebhookReceiver::start().await,
        };
        let workspace = ["--workspace", "Development"];
        let token = ["token", "create", "--permission", "read-write"];
        let token = binary.program().args(token).args(workspace).run().await.json();
        binary.token = Token { id: text(&token["id"]).into(), secret: text(&token["secret"]).into() };
        let hook = ["webhook", "create", "--url", &binary.receiver.url("/hook")];
        binary.program().args(hook).args(workspace).run().await.json();
        binary
    }

    fn program(&self) -> Program {
        let address = self.address.to_string();
        let program = Program::new(env!("CARGO_BIN_EXE_kinora"))
            .folder(self.ground.folder())
            .env("KINORA_LISTEN", address)
            .env("KINORA_ALLOW_PRIVATE", "127.0.0.0/8")
            .args(["--json"]);
        self.ground.environment().into_iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Starts the server, and waits until it is ready.
    pub(super) async fn serve(&self) -> Serving {
        let answers = until("the server answers", async || {
            let answer = Request::new(self.address, "GET", "/readyz").try_send().await.ok()?;
            (answer.status == 200).then_some(())
        });
        Serving(self.program().args(["serve"]).start().ready(answers).await)
    }

    /// The paths of all objects.
    pub(super) async fn objects(&self) -> Vec<String> {
        self.ground.objects().await
    }

    /// The object store, opened as by another process.
    pub(super) async fn blob(&self) -> Blob {
        self.ground.blob().await
    }

    /// The database, opened as by a command while the server runs.
    pub(super) async fn store(&self) -> Store {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Store::open(self.ground.store_options(Opener::Command, &clock)).await.expect("the database opens")
    }

    /// The URL of a path of the server.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A `GET` as players send it.
    pub(super) fn get(&self, target: &str) -> Request {
        Request::new(self.address, "GET", target)
    }

    /// Creates a media, and returns its id.
    pub(super) async fn create(&self, url: &str) -> String {
        let body = json!({"inputs": [{"type": "video", "url": url}]});
        let request = Request::new(self.address, "POST", "/v1/on-demand").token(&self.token).json(&body);
        text(&request.send().await.data()["id"]).to_owned()
    }

    /// The media, if it is ready or failed.
    pub(super) async fn settled(&self, id: &str) -> Option<Value> {
        let request = Request::new(self.address, "GET", &format!("/v1/on-demand/{id}")).token(&self.token);
        let media = request.send().await.data();
        matches!(text(&media["status"]), "Ready" | "Failed").then_some(media)
    }
}

impl Serving {
    /// Sends SIGKILL.
    pub(super) async fn kill(self) {
        assert_eq!(self.0.kill().await.code, None, "a signal ended it");
    }

    /// Sends SIGKILL, and returns the children that were running then.
    ///
    /// All of them are suspended, like an encoder that yields: they do not end by themselves when their
    /// input ends.
    pub(super) async fn kill_with_children(self) -> Vec<Child> {
        let children = stop_and_list(self.0.id()).await;
        children.iter().for_each(|child| child.suspend());
        self.kill().await;
        children
    }

    /// Sends SIGTERM.
    pub(super) async fn end(self) -> String {
        self.0.stop().await.ok().stderr
    }

    /// Its running child processes.
    pub(super) fn children(&self) -> Vec<Child> {
        Child::all_of(self.0.id())
    }

    /// Its peak memory so far, in KiB.
    pub(super) fn memory_peak_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says so");
        line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
    }
}
