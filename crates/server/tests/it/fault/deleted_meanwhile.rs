//! A media that is deleted while something of it is made, or sent: nothing of it is left, and nothing is told
//! of it afterwards.

use std::sync::{Arc, Condvar, Mutex};

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_testkit::fixture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::clock::TestClock;
use super::drain::{drain, drain_fills};
use super::events;
use crate::support::{DEADLINE, Faults, TestApp, text, until};

/// Holds back the first object of a kind, between the decision to write it and its bytes, and sees it taken
/// back.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Closed,
    Holds(ObjectKey),
    LetGo(ObjectKey),
    TakenBack,
}

impl Gate {
    fn close(&self) {
        *self.state.lock().unwrap() = State::Closed;
    }

    fn holds(&self) -> bool {
        matches!(*self.state.lock().unwrap(), State::Holds(_))
    }

    fn open(&self) {
        let mut state = self.state.lock().unwrap();
        let State::Holds(key) = *state else { panic!("it holds nothing") };
        *state = State::LetGo(key);
        self.changed.notify_all();
    }

    fn has_seen_it_taken_back(&self) -> bool {
        *self.state.lock().unwrap() == State::TakenBack
    }

    /// Where it is closed, waits until it is opened.
    fn write(&self, key: ObjectKey) {
        let mut state = self.state.lock().unwrap();
        if *state != State::Closed {
            return;
        }
        *state = State::Holds(key);
        // The thread is lent out: whoever deletes needs one.
        tokio::task::block_in_place(|| {
            let is_held = |state: &mut State| matches!(*state, State::Holds(_));
            let waited = self.changed.wait_timeout_while(state, DEADLINE, is_held).unwrap().1;
            assert!(!waited.timed_out(), "nobody opened the gate");
        });
    }

    fn delete(&self, key: ObjectKey) {
        let mut state = self.state.lock().unwrap();
        if *state == State::LetGo(key) {
            *state = State::TakenBack;
        }
    }

    fn faults(self: &Arc<Self>, is_held: fn(ObjectKey) -> bool) -> Faults {
        let gate = Arc::clone(self);
        let decide = move |WriteOp { kind, key }| {
            match kind {
                WriteKind::Put if is_held(key) => gate.write(key),
                WriteKind::Delete => gate.delete(key),
                _ => {}
            }
            FaultAction::Proceed
        };
        Faults::new(None, Some(Arc::new(kinora_blob::Faults::new(decide))))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_segment_that_is_encoded_when_its_media_is_deleted_is_not_kept() {
    check(|key| matches!(key, ObjectKey::Segment(..)), "0.m4s").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_init_segment_that_is_learnt_when_its_media_is_deleted_is_not_kept() {
    check(|key| matches!(key, ObjectKey::Init(_)), "init.mp4").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_picture_that_is_made_when_its_media_is_deleted_is_not_kept() {
    check(|key| matches!(key, ObjectKey::Picture(..)), "thumbnail.jpg?time=0.5&width=64").await;
}

/// Deletes a media while `file`, of its rung or of itself, is about to be kept.
async fn check(is_held: fn(ObjectKey) -> bool, file: &str) {
    let (gate, clock) = (Arc::new(Gate::default()), TestClock::standing());
    let app = TestApp::options().clock(clock.clone()).faults(gate.faults(is_held)).start().await;
    let media = app.ready("/wide.mp4", fixture::wide()).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    drain(&app, &clock).await;
    let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let rung = manifest.lines().find_map(|line| line.strip_suffix("/240p/playlist.m3u8")).expect("a rung");
    let target = match file.starts_with("thumbnail") {
        true => format!("/{playback}/{file}"),
        false => format!("/{rung}/240p/{file}"),
    };

    gate.close();
    let viewer = tokio::spawn(app.request("GET", &target).try_send());
    until("it is about to be kept", async || gate.holds().then_some(())).await;
    assert_eq!(app.delete(id).await.status, 200);
    drain(&app, &clock).await;
    assert_eq!(app.objects().await, [""; 0], "what was kept is removed");
    gate.open();
    // A viewer who waited is given it or is told that it is gone.
    let answer = viewer.await.unwrap().expect("an answer");
    assert!(matches!(answer.status, 200 | 404 | 503), "{answer:?}");
    // No clock is moved: it is not the sweep that removes it.
    until("it is taken back", async || gate.has_seen_it_taken_back().then_some(())).await;
    drain_fills(&app, &clock).await;
    until("what came last is gone", async || app.objects().await.is_empty().then_some(())).await;
    assert_eq!(app.fetch(&target).await.status, 404);
    assert_eq!(
        events::by_media(&app.receiver)[id],
        ["video.media.created", "video.media.ready", "video.media.deleted"]
    );
}

#[tokio::test]
async fn a_segment_that_is_sent_when_its_media_is_deleted_leaves_nothing() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let media = app.ready("/wide.mp4", fixture::wide()).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let copy = manifest.lines().find_map(|line| line.strip_suffix("/video/playlist.m3u8")).expect("a copy");
    let whole = app.fetch(&format!("/{copy}/video/0.m4s")).await;

    let mut viewer = TcpStream::connect(app.address).await.unwrap();
    let head = format!("GET /{copy}/video/0.m4s HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n");
    viewer.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 16];
    viewer.read_exact(&mut answer).await.unwrap();
    assert_eq!(app.delete(id).await.status, 200);
    drain(&app, &clock).await;
    viewer.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert!(whole.body.starts_with(&answer[end..]), "it is the segment, as far as it comes");
    assert_eq!(app.objects().await, [""; 0]);
    assert_eq!(
        events::by_media(&app.receiver)[id],
        ["video.media.created", "video.media.ready", "video.media.deleted"]
    );
}
