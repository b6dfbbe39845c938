//! Clients behind a proxy: identified by the headers of the proxy, if it is trusted.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_testkit::fixture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::support::{Answer, DEADLINE, Faults, TestApp, text, until};

/// Images of one client that are made concurrently.
const CONCURRENT_MAX: usize = 2;
/// Images of one client that may wait meanwhile.
const QUEUED_MAX: usize = 100;
/// How long an image waits in the queue (`packager/src/image/queue.rs`).
const QUEUE_TIMEOUT: Duration = Duration::from_secs(8);
/// Images of a page.
const PAGE: usize = 24;

/// While it is closed, images that were made wait before they are stored.
struct Gate {
    is_closed: Mutex<bool>,
    moved: Condvar,
    arrival_sender: UnboundedSender<()>,
}

impl Gate {
    fn new() -> (Arc<Self>, UnboundedReceiver<()>) {
        let (arrival_sender, arrivals) = unbounded_channel();
        (Arc::new(Self { is_closed: Mutex::new(false), moved: Condvar::new(), arrival_sender }), arrivals)
    }

    fn faults(self: &Arc<Self>) -> Faults {
        let gate = Arc::clone(self);
        let decide = move |write: WriteOp| {
            if let (WriteKind::Put, ObjectKey::Image(..)) = (write.kind, write.key) {
                // The server has few threads, and must handle other requests meanwhile.
                tokio::task::block_in_place(|| gate.pass());
            }
            FaultAction::Proceed
        };
        Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))))
    }

    fn pass(&self) {
        let is_closed = self.is_closed.lock().unwrap();
        if *is_closed {
            let _ = self.arrival_sender.send(());
            drop(self.moved.wait_timeout_while(is_closed, DEADLINE, |is_closed| *is_closed).unwrap());
        }
    }

    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap() = is_closed;
        self.moved.notify_all();
    }
}

/// A server that trusts this network, a media, and a closed gate for its images.
///
/// All requests of the tests come from 127.0.0.1.
struct ProxyTest {
    app: Arc<TestApp>,
    playback: String,
    gate: Arc<Gate>,
    arrivals: UnboundedReceiver<()>,
    requests: JoinSet<Answer>,
    /// The width of the last requested image; each request uses a new one.
    width: usize,
}

impl ProxyTest {
    async fn new(trusted: &str) -> Self {
        let (gate, arrivals) = Gate::new();
        let options = TestApp::options().without_webhook().trusted_proxies(&[trusted]).faults(gate.faults());
        let app = Arc::new(options.start().await);
        let media = app.ready("/wide.mp4", fixture::large_two_tracks()).await;
        gate.set(true);
        let playback = text(&media["playbackIds"][0]["id"]).to_owned();
        Self { app, playback, gate, arrivals, requests: JoinSet::new(), width: 16 }
    }

    /// Requests an image that was not requested before.
    fn ask(&mut self, forwarded: &str) {
        self.width += 1;
        let (app, path) = (Arc::clone(&self.app), self.path(self.width));
        let forwarded = forwarded.to_owned();
        self.requests.spawn(async move {
            app.request("GET", &path).header("X-Forwarded-For", &forwarded).send().await
        });
    }

    /// The same, but retries a 503 after a timeout in the queue, which happens on a busy machine.
    ///
    /// Panics when a request is rejected earlier: then the queue was full.
    fn ask_until_made(&mut self, forwarded: &str) {
        self.width += 1;
        let (app, path) = (Arc::clone(&self.app), self.path(self.width));
        let forwarded = forwarded.to_owned();
        self.requests.spawn(async move {
            loop {
                let begun = tokio::time::Instant::now();
                let answer = app.request("GET", &path).header("X-Forwarded-For", &forwarded).send().await;
                if answer.status != 503 {
                    return answer;
                }
                assert!(begun.elapsed() >= QUEUE_TIMEOUT, "refused after {:?}", begun.elapsed());
            }
        });
    }

    fn path(&self, width: usize) -> String {
        format!("/{}/thumbnail.jpg?width={width}", self.playback)
    }

    /// The status of an image that only this call requests.
    async fn fetch(&self, forwarded: &str) -> u16 {
        let path = self.path(self.width + 1);
        self.app.request("GET", &path).header("X-Forwarded-For", forwarded).send().await.status
    }

    /// The number of stored images.
    async fn stored_count(&self) -> usize {
        self.app.objects().await.iter().filter(|path| path.starts_with("picture/")).count()
    }

    /// Waits until `count` more images are made and wait at the gate.
    async fn wait_at_gate(&mut self, count: usize) {
        for _ in 0..count {
            let arrival = tokio::time::timeout(DEADLINE, self.arrivals.recv()).await;
            arrival.expect("a picture is made").expect("the gate is there");
        }
    }

    /// The status of the next response.
    async fn next_status(&mut self) -> u16 {
        self.requests.join_next().await.expect("something was asked").expect("it does not panic").status
    }
}

#[tokio::test]
async fn trusted_proxy_clients_have_separate_limits() {
    let mut server = ProxyTest::new("127.0.0.0/8").await;
    let before = server.stored_count().await;
    for forged in 0..=CONCURRENT_MAX + QUEUED_MAX {
        // A header value from the client comes before the one of the proxy, and does not change its
        // identity.
        server.ask(&format!("198.51.100.{forged}, 203.0.113.1"));
    }
    let refused = server.requests.join_next().await.unwrap().unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "all the others wait");
    server.wait_at_gate(CONCURRENT_MAX).await;
    server.ask("203.0.113.2");
    server.wait_at_gate(1).await; // of the other one: the turns of the first one are taken
    server.requests.abort_all();
    server.gate.set(false);
    until("those who left have given their places back", async || {
        server.fetch("203.0.113.1").await.eq(&200).then_some(())
    })
    .await;
    let made = server.stored_count().await - before;
    assert!(made < QUEUED_MAX, "only what was begun before the clients left: {made}");
}

#[tokio::test]
async fn page_of_thumbnails_loads_within_client_limit() {
    // A peer that is not trusted is identified by its own address; on this machine it has none.
    for trusted in ["127.0.0.0/8", "10.0.0.0/8"] {
        let mut server = ProxyTest::new(trusted).await;
        server.gate.set(false);
        // The tests of `kinora_packager` count how many may wait.
        for _ in 0..PAGE {
            server.ask_until_made("203.0.113.1");
        }
        for _ in 0..PAGE {
            assert_eq!(server.next_status().await, 200, "{trusted}");
        }
    }
}

#[tokio::test]
async fn forwarded_header_of_untrusted_peer_is_ignored() {
    let mut server = ProxyTest::new("10.0.0.0/8").await;
    for _ in 0..=CONCURRENT_MAX {
        server.ask("203.0.113.1");
    }
    // A client with that address would have fewer slots.
    server.wait_at_gate(CONCURRENT_MAX + 1).await;
    server.gate.set(false);
    for _ in 0..=CONCURRENT_MAX {
        assert_eq!(server.next_status().await, 200);
    }
}
