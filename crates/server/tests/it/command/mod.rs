//! The command line: the real binary in its own folder.

mod demo;
mod doctor;
mod log;
mod media;
mod refusals;
mod running_server;
mod serve;
mod token;
pub(crate) mod upload;
mod user;
mod webhook;
mod workspace;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::support::{Answer, Ground, Program, Request, Run, Running, Token, reserve, text, until};

/// Empty data, a reserved address, and the binary.
pub(crate) struct Machine {
    pub(crate) ground: Ground,
    pub(crate) address: SocketAddr,
    /// Reserves the port while no server runs.
    _reserved: TcpSocket,
}

impl Machine {
    pub(crate) async fn new() -> Self {
        let reserved = reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = reserved.local_addr().expect("a bound socket has an address");
        Self { ground: Ground::new().await, address, _reserved: reserved }
    }

    /// Another machine on the same data.
    pub(crate) fn on_data_of(other: &Self) -> Self {
        let reserved = reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = reserved.local_addr().expect("a bound socket has an address");
        Self { ground: other.ground.clone(), address, _reserved: reserved }
    }

    /// The working folder of commands.
    pub(crate) fn folder(&self) -> &Path {
        self.ground.folder()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.ground.data_dir()
    }

    /// `kinora ARGUMENTS` with the data and the address, before its start.
    pub(crate) fn kinora(&self, arguments: &[&str]) -> Program {
        self.with_environment(self.bare(arguments))
    }

    /// The program with the settings of data and address.
    pub(crate) fn with_environment(&self, program: Program) -> Program {
        let program = program.env("KINORA_LISTEN", self.address.to_string());
        self.ground.environment().into_iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// The same without the settings of data and address.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Program {
        Program::new(env!("CARGO_BIN_EXE_kinora")).args(arguments).folder(self.folder())
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Run {
        self.kinora(arguments).run().await
    }

    /// Runs it with `--json` and returns the printed value.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        self.kinora(arguments).args(["--json"]).run().await.json()
    }

    /// `kinora serve ARGUMENTS`, once it is ready.
    pub(crate) async fn serve(&self, arguments: &[&str]) -> Running {
        self.kinora(&["serve"]).args(arguments).start().ready(self.wait_until_ready()).await
    }

    pub(crate) async fn wait_until_ready(&self) {
        until("the server is ready", async || {
            let answer = self.request("GET", "/readyz").try_send().await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        Request::new(self.address, method, target)
    }

    pub(crate) async fn fetch(&self, target: &str) -> Answer {
        self.request("GET", target).send().await
    }

    /// Creates a token with the command.
    pub(crate) async fn token(&self, workspace: &str, permission: &str) -> Token {
        let made =
            self.json(&["token", "create", "--workspace", workspace, "--permission", permission]).await;
        Token { id: text(&made["id"]).to_owned(), secret: text(&made["secret"]).to_owned() }
    }
}

/// The names of an object's fields, sorted.
fn fields(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}
