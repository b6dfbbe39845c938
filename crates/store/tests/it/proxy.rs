//! A proxy between a store and its PostgreSQL that makes connections silent. That is like a failover, or a
//! router that lost its state: no packet arrives any more, and no error does.

use std::net::SocketAddr;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinora_store::DatabaseLocation;
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

pub(crate) struct Proxy {
    url: String,
    silence: watch::Sender<()>,
    /// Connections that forward.
    forwarding: Arc<AtomicUsize>,
    _accepting: AbortOnDropHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(url: &str) -> Self {
        let options = PgConnectOptions::from_str(url).unwrap();
        let server = (options.get_host().to_owned(), options.get_port());
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = options.host("127.0.0.1").port(address.port()).to_url_lossy().to_string();
        let (silence, silent) = watch::channel(());
        let forwarding = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&forwarding);
        let accepting = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let server = TcpStream::connect((server.0.as_str(), server.1)).await.unwrap();
                tokio::spawn(forward(client, server, silent.clone(), Arc::clone(&counted)));
            }
        });
        Self { url, silence, forwarding, _accepting: AbortOnDropHandle::new(accepting) }
    }

    pub(crate) fn location(&self) -> DatabaseLocation {
        DatabaseLocation::Postgres { url: self.url.clone() }
    }

    /// Open connections stay open and forward nothing from now on; new ones do. Returns their number.
    pub(crate) fn stall(&self) -> usize {
        let count = self.forwarding.load(Ordering::SeqCst);
        self.silence.send_replace(());
        count
    }
}

async fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    mut silent: watch::Receiver<()>,
    forwarding: Arc<AtomicUsize>,
) {
    // Ignores changes before this connection.
    silent.mark_unchanged();
    forwarding.fetch_add(1, Ordering::SeqCst);
    let fell_silent = tokio::select! {
        biased;
        changed = silent.changed() => changed.is_ok(),
        _ = copy_bidirectional(&mut client, &mut server) => false,
    };
    forwarding.fetch_sub(1, Ordering::SeqCst);
    if fell_silent {
        // Both ends stay open until the test is over.
        std::future::pending::<()>().await;
    }
}
