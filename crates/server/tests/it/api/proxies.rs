//! Clients behind a proxy: told apart by what it says of them, where it is trusted.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_testkit::fixture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::support::{Answer, DEADLINE, Faults, TestApp, text, until};

/// Pictures of one client that are made at once.
const TURNS: usize = 2;
/// Its others that may wait meanwhile.
const WAITING: usize = 100;
/// How long a picture waits for its turn (`packager/src/picture/turns.rs`).
const TURN_WAIT: Duration = Duration::from_secs(8);
/// Pictures of a page.
const PAGE: usize = 24;

/// Pictures that were made and wait before they are kept, as long as this is closed.
struct Gate {
    is_closed: Mutex<bool>,
    moved: Condvar,
    tell: UnboundedSender<()>,
}

impl Gate {
    fn new() -> (Arc<Self>, UnboundedReceiver<()>) {
        let (tell, told) = unbounded_channel();
        (Arc::new(Self { is_closed: Mutex::new(false), moved: Condvar::new(), tell }), told)
    }

    fn faults(self: &Arc<Self>) -> Faults {
        let gate = Arc::clone(self);
        let decide = move |write: WriteOp| {
            if let (WriteKind::Put, ObjectKey::Picture(..)) = (write.kind, write.key) {
                // The server has few threads, and others are to be answered meanwhile.
                tokio::task::block_in_place(|| gate.pass());
            }
            FaultAction::Proceed
        };
        Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))))
    }

    fn pass(&self) {
        let is_closed = self.is_closed.lock().unwrap();
        if *is_closed {
            let _ = self.tell.send(());
            drop(self.moved.wait_timeout_while(is_closed, DEADLINE, |is_closed| *is_closed).unwrap());
        }
    }

    fn set(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap() = is_closed;
        self.moved.notify_all();
    }
}

/// A server that trusts this network, a media of it, and a gate that is closed for its pictures. All that
/// tests ask comes from 127.0.0.1.
struct World {
    app: Arc<TestApp>,
    playback: String,
    gate: Arc<Gate>,
    told: UnboundedReceiver<()>,
    asked: JoinSet<Answer>,
    /// Of the picture that was asked for last.
    width: usize,
}

impl World {
    async fn new(trusted: &str) -> Self {
        let (gate, told) = Gate::new();
        let options = TestApp::options().without_webhook().trusted_proxies(&[trusted]).faults(gate.faults());
        let app = Arc::new(options.start().await);
        let media = app.ready("/wide.mp4", fixture::wide()).await;
        gate.set(true);
        let playback = text(&media["playbackIds"][0]["id"]).to_owned();
        Self { app, playback, gate, told, asked: JoinSet::new(), width: 16 }
    }

    /// Asks for a picture that nobody has asked for yet.
    fn ask(&mut self, forwarded: &str) {
        self.width += 1;
        let (app, path) = (Arc::clone(&self.app), self.path(self.width));
        let forwarded = forwarded.to_owned();
        self.asked.spawn(async move {
            app.request("GET", &path).header("X-Forwarded-For", &forwarded).send().await
        });
    }

    /// The same; asked again after a 503 of a turn that did not come in time, which happens on a busy
    /// machine. Panics when a picture is refused before that: its line had no place for it.
    fn ask_until_made(&mut self, forwarded: &str) {
        self.width += 1;
        let (app, path) = (Arc::clone(&self.app), self.path(self.width));
        let forwarded = forwarded.to_owned();
        self.asked.spawn(async move {
            loop {
                let begun = tokio::time::Instant::now();
                let answer = app.request("GET", &path).header("X-Forwarded-For", &forwarded).send().await;
                if answer.status != 503 {
                    return answer;
                }
                assert!(begun.elapsed() >= TURN_WAIT, "refused after {:?}", begun.elapsed());
            }
        });
    }

    fn path(&self, width: usize) -> String {
        format!("/{}/thumbnail.jpg?width={width}", self.playback)
    }

    /// The status of a picture that is asked for only here.
    async fn fetch(&self, forwarded: &str) -> u16 {
        let path = self.path(self.width + 1);
        self.app.request("GET", &path).header("X-Forwarded-For", forwarded).send().await.status
    }

    /// How many pictures are kept.
    async fn kept(&self) -> usize {
        self.app.objects().await.iter().filter(|path| path.starts_with("picture/")).count()
    }

    /// Waits until so many more pictures are made and held.
    async fn held(&mut self, count: usize) {
        for _ in 0..count {
            let told = tokio::time::timeout(DEADLINE, self.told.recv()).await;
            told.expect("a picture is made").expect("the gate is there");
        }
    }

    /// The status of whatever is answered next.
    async fn answered(&mut self) -> u16 {
        self.asked.join_next().await.expect("something was asked").expect("it does not panic").status
    }
}

#[tokio::test]
async fn each_client_behind_a_trusted_proxy_has_its_own_places() {
    let mut world = World::new("127.0.0.0/8").await;
    let before = world.kept().await;
    for forged in 0..=TURNS + WAITING {
        // What a client sends itself stands in front of what the proxy adds, and makes it nobody else.
        world.ask(&format!("198.51.100.{forged}, 203.0.113.1"));
    }
    let refused = world.asked.join_next().await.unwrap().unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "all the others wait");
    world.held(TURNS).await;
    world.ask("203.0.113.2");
    world.held(1).await; // of the other one: the turns of the first one are taken
    world.asked.abort_all();
    world.gate.set(false);
    until("those who left have given their places back", async || {
        world.fetch("203.0.113.1").await.eq(&200).then_some(())
    })
    .await;
    let made = world.kept().await - before;
    assert!(made < WAITING, "what was begun, and nothing for those who left: {made}");
}

#[tokio::test]
async fn a_page_full_of_pictures_comes_to_one_client_behind_a_proxy_and_to_one_of_no_address() {
    // Whoever is not trusted has its own address: none, for it is on this machine.
    for trusted in ["127.0.0.0/8", "10.0.0.0/8"] {
        let mut world = World::new(trusted).await;
        world.gate.set(false);
        // The tests of `kinora_packager` count how many may wait.
        for _ in 0..PAGE {
            world.ask_until_made("203.0.113.1");
        }
        for _ in 0..PAGE {
            assert_eq!(world.answered().await, 200, "{trusted}");
        }
    }
}

#[tokio::test]
async fn what_anybody_else_says_of_itself_is_not_looked_at() {
    let mut world = World::new("10.0.0.0/8").await;
    for _ in 0..=TURNS {
        world.ask("203.0.113.1");
    }
    // The client of that address would have had fewer turns.
    world.held(TURNS + 1).await;
    world.gate.set(false);
    for _ in 0..=TURNS {
        assert_eq!(world.answered().await, 200);
    }
}
