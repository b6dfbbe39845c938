//! The server as a process: a test can stop it, kill it, and start it again on the same data and port.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kinora_engine::Engine;
use kinora_server::{Server, ServerOptions, Settings, SystemRandom};
use kinora_store::{Opener, ServeLock, Store};
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::options::{Faults, Options};
use super::{DEADLINE, Ground, log, until};

/// The maximum number of connections that wait for `accept`.
const BACKLOG: u32 = 64;
/// At a kill, threads inside a system call have this long to return.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Has its own runtime: when it is dropped, no task of the server runs any more.
pub(super) struct Process {
    runtime: Option<Runtime>,
    server: Option<Server>,
    /// Its writer has its own thread, which outlives the runtime.
    store: Option<Store>,
}

impl Process {
    /// Starts a server on this database and object store, at a reserved address.
    pub(super) async fn start(
        ground: &Ground,
        listen: SocketAddr,
        options: &Options,
        faults: Faults,
    ) -> Self {
        log::start();
        let engine = match &options.engine {
            Some(engine) => engine.clone(),
            None => engine().await,
        };
        // A child that the last process forked holds the listener until it calls exec.
        let socket = until("the last process has left the address", async || try_bind(listen).ok()).await;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a test may have threads");
        let (ground, options) = (ground.clone(), options.clone());
        let starting = runtime.spawn(async move {
            let listener = socket.listen(BACKLOG).expect("a bound socket can listen");
            let options = server_options(&ground, listen, options, faults, engine).await;
            let store = options.store.clone();
            (Server::start(options, listener).await.expect("the server starts"), store)
        });
        // From here, dropping this future ends the process, even one that has not started yet.
        let mut process = Self { runtime: Some(runtime), server: None, store: None };
        let (server, store) = starting.await.expect("starting does not panic");
        (process.server, process.store) = (Some(server), Some(store));
        process
    }

    /// Stops it as Ctrl-C does.
    pub(super) async fn stop(mut self) {
        if let (Some(runtime), Some(server)) = (&self.runtime, self.server.take()) {
            runtime.spawn(server.stop()).await.expect("stopping does not panic");
        }
        self.kill().await;
    }

    /// Kills it as SIGKILL does: no task finishes and no response is sent.
    pub(super) async fn kill(mut self) {
        let store = self.store.take();
        let runtime = self.runtime.take();
        // The store closes first: tasks of a runtime end one after another, and a task must not write about
        // the end of another one.
        tokio::join!(
            biased;
            async {
                if let Some(store) = store {
                    store.close().await;
                }
            },
            async {
                if let Some(runtime) = runtime {
                    let shutdown = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(SHUTDOWN_TIMEOUT));
                    shutdown.await.expect("a runtime can be dropped where blocking is allowed");
                }
            },
        );
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A bound socket that does not listen.
///
/// It reserves its port. Further calls for the same address succeed: all its sockets allow reuse.
pub(crate) fn bind(address: SocketAddr) -> TcpSocket {
    try_bind(address).expect("the address is free, or reserved for this test")
}

fn try_bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn server_options(
    ground: &Ground,
    address: SocketAddr,
    options: Options,
    faults: Faults,
    engine: Engine,
) -> ServerOptions {
    let mut settings = Settings::for_folder(ground.data_dir(), address);
    settings.signature_headers = options.signature_headers;
    settings.roles = options.roles;
    settings.cache_bytes = options.cache_bytes;
    settings.rate_limit = options.rate_limit;
    settings.shared_max_age_s = options.shared_max_age_s;
    settings.trusted_proxies =
        options.trusted_proxies.iter().map(|network| network.parse().expect("a network")).collect();
    settings.dashboard_origins = options.dashboard_origins;
    if let Some(url) = options.public_url {
        settings.public_url = url;
    }
    if options.allow_loopback {
        settings.allow_private = vec!["127.0.0.0/8".parse().expect("a network")];
    }
    let lock = lock(ground).await;
    let mut store_options = ground.store_options(Opener::Server, &options.clock);
    store_options.faults = faults.store;
    let store = Store::open(store_options).await.expect("the database opens");
    if !options.has_blur_hash.load(Ordering::Relaxed) {
        store.disable_blur_hash();
    }
    let blob = ground.blob().await;
    ServerOptions {
        settings,
        lock,
        store,
        blob: match faults.blob {
            Some(faults) => blob.with_faults(faults),
            None => blob,
        },
        engine,
        confinement: options.confinement,
        fetch_limits: options.limits,
        stall_limit: options.pace_min,
        downloads_max: options.downloads_max,
        paused_downloads_max: options.paused_downloads_max,
        clock: options.clock,
        random: Arc::new(SystemRandom),
        key_maker: options.key_maker,
    }
}

/// Acquires the lock of the data.
///
/// Retries: a child that the last process forked holds the lock until it calls exec.
async fn lock(ground: &Ground) -> ServeLock {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let taking = async {
        loop {
            ticks.tick().await;
            if let Ok(lock) = ground.lock().await {
                return lock;
            }
        }
    };
    tokio::time::timeout(DEADLINE, taking).await.expect("the last process has left the data")
}

/// The ffmpeg of this machine, searched once per test process.
async fn engine() -> Engine {
    static ENGINE: OnceCell<Engine> = OnceCell::const_new();
    let find = || async {
        let capabilities_cache = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ffmpeg-capabilities"));
        let settings = kinora_engine::Settings { capabilities_cache, ..kinora_engine::Settings::default() };
        Engine::find(settings).await.expect("tests need ffmpeg")
    };
    ENGINE.get_or_init(find).await.clone()
}
