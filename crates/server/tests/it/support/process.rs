//! The server as if it were a process of its own: it can be stopped, killed, and started again on the same folder and port.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinora_blob::Blob;
use kinora_engine::Engine;
use kinora_server::{Server, ServerOptions, Settings, SystemRandom};
use kinora_store::{Opener, ServeLock, Store, StoreOptions};
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::options::{Faults, Options};

/// Threads that are inside a system call when the process is killed get that long to come out of it.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// A runtime of its own is what makes it a process: when that is dropped nothing of the server runs any more.
pub(super) struct Process {
    runtime: Option<Runtime>,
    server: Option<Server>,
    pub(super) address: SocketAddr,
}

impl Process {
    /// Starts a server on a folder and an address; port 0 is any free one.
    pub(super) async fn start(folder: &Path, listen: SocketAddr, options: &Options, faults: Faults) -> Self {
        let engine = engine().await;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a test may have threads");
        let (folder, options) = (folder.to_owned(), options.clone());
        let started = runtime.spawn(async move {
            let socket = TcpSocket::new_v4().expect("a test may have sockets");
            socket.set_reuseaddr(true).expect("the port may be one that was just left");
            socket.bind(listen).expect("the port is free");
            let listener = socket.listen(64).expect("a bound socket can listen");
            let address = listener.local_addr().expect("a bound socket has an address");
            let options = server_options(&folder, address, options, faults, engine).await;
            (Server::start(options, listener).await.expect("the server starts"), address)
        });
        let (server, address) = started.await.expect("starting does not panic");
        Self { runtime: Some(runtime), server: Some(server), address }
    }

    /// As Ctrl-C does.
    pub(super) async fn stop(mut self) {
        if let (Some(runtime), Some(server)) = (&self.runtime, self.server.take()) {
            runtime.spawn(server.stop()).await.expect("stopping does not panic");
        }
        self.kill().await;
    }

    /// As SIGKILL does: nothing is finished, nothing is said.
    pub(super) async fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            let left = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LEAVE_WITHIN));
            left.await.expect("a runtime can be dropped where blocking is allowed");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn server_options(
    folder: &Path,
    address: SocketAddr,
    options: Options,
    faults: Faults,
    engine: Engine,
) -> ServerOptions {
    let mut settings = Settings::for_folder(folder.to_owned(), address);
    settings.signature_headers = options.signature_headers;
    if options.allow_loopback {
        settings.allow_private = vec!["127.0.0.0/8".parse().expect("a network")];
    }
    let lock = ServeLock::acquire(folder).expect("no other server has the folder");
    let mut store_options = store_options(folder, Opener::Server, &options.clock);
    store_options.faults = faults.store;
    let blob = Blob::open_folder(&folder.join("objects")).await.expect("the folder can be written");
    ServerOptions {
        settings,
        lock,
        store: Store::open(store_options).await.expect("the database opens"),
        blob: match faults.blob {
            Some(faults) => blob.with_faults(faults),
            None => blob,
        },
        engine,
        fetch_limits: options.limits,
        clock: options.clock,
        random: Arc::new(SystemRandom),
    }
}

/// The database of a folder, without faults.
pub(super) fn store_options(
    folder: &Path,
    opener: Opener,
    clock: &Arc<dyn kinora_domain::Clock>,
) -> StoreOptions {
    StoreOptions {
        data_dir: folder.to_owned(),
        opener,
        secret_keys: None,
        clock: Arc::clone(clock),
        random: Arc::new(SystemRandom),
        faults: None,
    }
}

/// The ffmpeg of this machine, looked for once a test process.
async fn engine() -> Engine {
    static ENGINE: OnceCell<Engine> = OnceCell::const_new();
    let find =
        || async { Engine::find(kinora_engine::Settings::default()).await.expect("tests need ffmpeg") };
    ENGINE.get_or_init(find).await.clone()
}
