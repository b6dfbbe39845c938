//! A media that is deleted while one of its objects is made or sent: no object remains, and no event
//! follows.

use std::sync::{Arc, Condvar, Mutex};

use kinora_blob::{FaultAction, ObjectKey, WriteKind, WriteOp};
use kinora_testkit::fixture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::clock::TestClock;
use super::drain::{drain, drain_backfills};
use super::events;
use crate::support::{DEADLINE, Faults, TestApp, text, until};

/// Delays the first object of a kind, between the decision to write it and its bytes, and observes its
/// deletion.
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

    /// Waits while it is closed.
    fn write(&self, key: ObjectKey) {
        let mut state = self.state.lock().unwrap();
        if *state != State::Closed {
            return;
        }
        *state = State::Holds(key);
        // `block_in_place`, because the deletion needs a runtime thread.
        tokio::task::block_in_place(|| {
            let is_held = |state: &mut State| matches!(*state, State::Holds(_));
            let waited = self.changed.wait_timeout_while(state, DEADLINE, is_held).unwrap().1;
            assert!(!waited.timed_out(), "the gate was not opened");
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
async fn encoded_segment_of_deleted_media_is_not_stored() {
    check(|key| matches!(key, ObjectKey::Segment(..)), "0.m4s").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn init_segment_of_deleted_media_is_not_stored() {
    check(|key| matches!(key, ObjectKey::Init(_)), "init.mp4").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn image_of_deleted_media_is_not_stored() {
    check(|key| matches!(key, ObjectKey::Image(..)), "thumbnail.jpg?time=0.5&width=64").await;
}

/// Deletes a media just before `file`, of its rung or of the media itself, is stored.
async fn check(is_held: fn(ObjectKey) -> bool, file: &str) {
    let (gate, clock) = (Arc::new(Gate::default()), TestClock::standing());
    let app = TestApp::options().clock(clock.clone()).faults(gate.faults(is_held)).start().await;
    let media = app.ready("/wide.mp4", fixture::large_two_tracks()).await;
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
    assert_eq!(app.objects().await, [""; 0], "stored bytes are removed");
    gate.open();
    // A viewer who waited gets the file or an error.
    let answer = viewer.await.unwrap().expect("an answer");
    assert!(matches!(answer.status, 200 | 404 | 503), "{answer:?}");
    // The clock does not move, so it is not the sweep that removes it.
    until("it is taken back", async || gate.has_seen_it_taken_back().then_some(())).await;
    drain_backfills(&app, &clock).await;
    until("what came last is gone", async || app.objects().await.is_empty().then_some(())).await;
    assert_eq!(app.fetch(&target).await.status, 404);
    assert_eq!(
        events::by_media(&app.receiver)[id],
        ["video.media.created", "video.media.ready", "video.media.deleted"]
    );
}

#[tokio::test]
async fn segment_sent_during_delete_leaves_no_object() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let media = app.ready("/wide.mp4", fixture::large_two_tracks()).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let manifest = app.fetch(&format!("/{playback}.m3u8")).await.text();
    let copy = manifest.lines().find_map(|line| line.strip_suffix("/video/playlist.m3u8")).expect("a copy");
    let full = app.fetch(&format!("/{copy}/video/0.m4s")).await;

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
    assert!(full.body.starts_with(&answer[end..]), "it is the segment, as far as it comes");
    assert_eq!(app.objects().await, [""; 0]);
    assert_eq!(
        events::by_media(&app.receiver)[id],
        ["video.media.created", "video.media.ready", "video.media.deleted"]
    );
}
