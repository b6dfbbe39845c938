//! Two nodes that make the same segment concurrently: the first stored one is served by both.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;
use kinora_blob::{FaultAction, ObjectKey, WriteKind};
use kinora_domain::{MediaId, PresentationId, RenditionId};
use kinora_packager::Rendition;
use kinora_testkit::fixture;
use serde_json::Value;

use crate::support::{DEADLINE, Faults, TestApp, text};

const NODES: usize = 2;

/// A barrier: both nodes wait for each other, each just before its write.
#[derive(Default)]
struct Meeting {
    come: Mutex<BTreeSet<usize>>,
    all: Condvar,
}

impl Meeting {
    /// Waits until both nodes have arrived; false after [`DEADLINE`].
    fn wait(&self, node: usize) -> bool {
        let mut come = self.come.lock().unwrap();
        come.insert(node);
        self.all.notify_all();
        let waited = self.all.wait_timeout_while(come, DEADLINE, |come| come.len() < NODES).unwrap();
        !waited.1.timed_out()
    }
}

/// Calls `meet` before each write of segment 0 of any rendition.
fn before_the_segment(meet: impl Fn(ObjectKey) + Send + Sync + 'static) -> Faults {
    let objects = kinora_blob::Faults::new(move |write| {
        if let (WriteKind::Put, ObjectKey::Segment(_, 0)) = (write.kind, write.key) {
            // The server has few threads, and must handle other requests meanwhile.
            tokio::task::block_in_place(|| meet(write.key));
        }
        FaultAction::Proceed
    });
    Faults::new(None, Some(Arc::new(objects)))
}

/// The URL of the first segment of the rung of [`fixture::wide`], and the id of the rendition.
async fn first_segment(app: &TestApp, media: &Value) -> (String, RenditionId) {
    let manifest = app.fetch(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))).await.text();
    let playlist = manifest.lines().find(|line| line.ends_with("240p/playlist.m3u8")).expect("a rung");
    let id: MediaId = text(&media["id"]).parse().expect("an id from the API");
    let row = app.store.media_by_id(id).await.unwrap().expect("it is there");
    let rung = Rendition::from_text("240p").and_then(|rung| rung.id(PresentationId::of(row.source()?)));
    (format!("/{}", playlist.replace("playlist.m3u8", "0.m4s")), rung.expect("it is encoded"))
}

#[tokio::test]
async fn concurrent_encodes_of_two_nodes_store_one_segment() {
    let meeting = Arc::new(Meeting::default());
    let (met, meetings) = channel();
    let faults = |node| {
        let (meeting, met) = (Arc::clone(&meeting), met.clone());
        before_the_segment(move |_| {
            let _ = met.send((node, meeting.wait(node)));
        })
    };
    let mut one = TestApp::options().without_webhook().faults(faults(0)).start().await;
    let mut other = TestApp::on_data_of(&one, TestApp::options().faults(faults(1))).await;
    let media = one.ready("/wide.mp4", fixture::large_two_tracks()).await;
    let (address, rung) = first_segment(&one, &media).await;
    let (from_one, from_other) = tokio::join!(one.fetch_made(&address), other.fetch_made(&address));
    assert_eq!((from_one.status, from_other.status), (200, 200));
    let met: BTreeSet<_> = meetings.try_iter().collect();
    assert_eq!(met, BTreeSet::from([(0, true), (1, true)]), "both had made it before one kept it");
    assert!(from_one.body == from_other.body);

    let blob = one.ground.blob().await;
    let stored = blob.get(ObjectKey::Segment(rung, 0)).await.unwrap().expect("it is kept");
    assert!(stored == from_one.body);
    // They write their counts. A backfill may have ended between a write and its count.
    one.stop().await;
    other.stop().await;
    let segments = one.objects().await.into_iter().filter(|path| path.starts_with("segment/")).count();
    let row = one.store.rendition(rung).await.unwrap().expect("it has a row");
    assert!(
        (1..=segments as u64).contains(&row.segments),
        "{} of {segments}: one is counted twice",
        row.segments
    );
}

/// The bytes of a node with another encoder.
const OTHER_SEGMENT: &[u8] = b"what another encoder made";

/// Announces the write on the receiver, and delays it until the sender is dropped.
fn gated_write() -> (Faults, Receiver<ObjectKey>, Sender<()>) {
    let (key_sender, written_keys) = channel();
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let faults = before_the_segment(move |key| {
        let _ = key_sender.send(key);
        let _ = released.lock().unwrap().recv_timeout(DEADLINE);
    });
    (faults, written_keys, release)
}

#[tokio::test]
async fn second_node_serves_the_segment_stored_first() {
    let (faults, written_keys, release) = gated_write();
    let one = TestApp::options().without_webhook().faults(faults).start().await;
    let media = one.ready("/wide.mp4", fixture::large_two_tracks()).await;
    let (address, rung) = first_segment(&one, &media).await;
    let blob = one.ground.blob().await;
    let first = async {
        let key = tokio::task::spawn_blocking(move || written_keys.recv_timeout(DEADLINE));
        let key = key.await.unwrap().expect("it makes the segment");
        assert_eq!(key, ObjectKey::Segment(rung, 0));
        blob.put_once(key, Bytes::from_static(OTHER_SEGMENT)).await.unwrap();
        drop(release);
    };
    let (answer, ()) = tokio::join!(one.fetch_made(&address), first);
    assert_eq!(answer.status, 200);
    assert!(answer.body == OTHER_SEGMENT, "it serves its own");
    let stored = blob.get(ObjectKey::Segment(rung, 0)).await.unwrap().expect("it is kept");
    assert!(stored == OTHER_SEGMENT, "the stored segment was replaced");
    assert!(one.fetch(&address).await.body == OTHER_SEGMENT);
}
