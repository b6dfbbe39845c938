//! The command line, with the real binary in a folder of its own.

mod beside;
mod demo;
mod doctor;
mod log;
mod media;
mod refusals;
mod serve;
mod token;
mod webhook;
mod workspace;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpSocket;

use crate::support::{Answer, Program, Request, Run, Running, Token, reserve, text, until};

/// A folder in which nothing was done yet, an address that nobody else has, and the binary.
struct Machine {
    folder: TempDir,
    address: SocketAddr,
    /// Keeps the port while no server runs.
    _reserved: TcpSocket,
}

impl Machine {
    fn new() -> Self {
        let reserved = reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = reserved.local_addr().expect("a bound socket has an address");
        Self { folder: tempfile::tempdir().expect("a temporary folder"), address, _reserved: reserved }
    }

    fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// `kinora ARGUMENTS` on the data folder and the address, about to be started.
    fn kinora(&self, arguments: &[&str]) -> Program {
        self.bare(arguments)
            .env("KINORA_DATA_DIR", self.data_dir())
            .env("KINORA_LISTEN", self.address.to_string())
    }

    /// The same without a word about folder and address.
    fn bare(&self, arguments: &[&str]) -> Program {
        Program::new(env!("CARGO_BIN_EXE_kinora")).args(arguments).folder(self.folder.path())
    }

    async fn run(&self, arguments: &[&str]) -> Run {
        self.kinora(arguments).run().await
    }

    /// Runs it with `--json` and answers the value it printed.
    async fn json(&self, arguments: &[&str]) -> Value {
        self.kinora(arguments).args(["--json"]).run().await.json()
    }

    /// `kinora serve ARGUMENTS`, ready.
    async fn serve(&self, arguments: &[&str]) -> Running {
        let server = self.kinora(&["serve"]).args(arguments).start();
        self.wait_until_ready().await;
        server
    }

    async fn wait_until_ready(&self) {
        until("the server is ready", async || {
            let answer = self.request("GET", "/readyz").try_send().await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    async fn fetch(&self, target: &str) -> Answer {
        self.request("GET", target).send().await
    }

    /// A token made by the command.
    async fn token(&self, workspace: &str, permission: &str) -> Token {
        let made =
            self.json(&["token", "create", "--workspace", workspace, "--permission", permission]).await;
        Token { id: text(&made["id"]).to_owned(), secret: text(&made["secret"]).to_owned() }
    }
}

/// The names of an object's fields, sorted.
fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}
