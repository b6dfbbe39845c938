//! Encoded renditions over time: watched ones are backfilled, unwatched ones are evicted, and these jobs may
//! run twice.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use kinora_blob::Prefix;
use kinora_domain::{Clock as _, MediaId, PresentationId, RenditionId, SourceId};
use kinora_packager::Rendition;
use kinora_store::{JobKind, NewJob};
use kinora_testkit::fixture;
use serde_json::Value;

use super::clock::TestClock;
use super::crash_scenario::LEASE;
use super::drain::{drain, drain_backfills, sweep_once};
use super::watched::encoded_files;
use crate::media::boxes::fragment;
use crate::media::probe::decoded;
use crate::support::{TestApp, text, until};

/// Longer than the interval between two checks of watched renditions.
const AFTER_NEXT_CHECK: Duration = Duration::from_secs(61);
/// Longer than a rendition counts as watched.
const NOT_WATCHED: Duration = Duration::from_secs(6 * 60);

async fn app() -> (TestApp, TestClock) {
    let clock = TestClock::standing();
    (TestApp::options().without_webhook().clock(clock.clone()).start().await, clock)
}

/// A ready media: its ids, and the URL folder of its renditions.
struct Played {
    media: MediaId,
    source: SourceId,
    folder: String,
}

impl Played {
    async fn new(app: &TestApp, path: &str, file: bytes::Bytes) -> Self {
        let ready = app.ready(path, file).await;
        let media: MediaId = text(&ready["id"]).parse().expect("an id from the API");
        let row = app.store.media_by_id(media).await.unwrap().expect("it is there");
        let folder = Self::folder(app, &ready).await;
        Self { media, source: row.source().expect("it is ready"), folder }
    }

    async fn folder(app: &TestApp, media: &Value) -> String {
        let manifest = app.fetch(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))).await.text();
        let playlist = manifest.lines().find(|line| line.ends_with("/240p/playlist.m3u8")).expect("a rung");
        format!("/{}", playlist.strip_suffix("240p/playlist.m3u8").expect("it ends so"))
    }

    fn id(&self, rendition: &str) -> RenditionId {
        Rendition::from_text(rendition)
            .and_then(|rendition| rendition.id(PresentationId::of(self.source)))
            .expect("it is encoded")
    }

    /// Requests the first segment.
    async fn watch(&self, app: &TestApp, rendition: &str) {
        let answer = app.fetch_made(&format!("{}{rendition}/0.m4s", self.folder)).await;
        assert_eq!(answer.status, 200, "{rendition}: {answer:?}");
    }

    /// The number of segments in the playlist.
    async fn count(&self, app: &TestApp, rendition: &str) -> usize {
        let playlist = app.fetch(&format!("{}{rendition}/playlist.m3u8", self.folder)).await.text();
        playlist.lines().filter(|line| line.ends_with(".m4s")).count()
    }

    /// The number and the bytes of the stored segments.
    async fn stored_segments(&self, app: &TestApp, rendition: &str) -> (usize, u64) {
        let prefix = Prefix::SegmentsOf(self.id(rendition));
        let entries = app.ground.blob().await.list(prefix, None, 1000).await.unwrap();
        (entries.len(), entries.iter().map(|entry| entry.len).sum())
    }

    /// Waits until all segments are stored.
    async fn wait_backfilled(&self, app: &TestApp, rendition: &str) {
        let count = self.count(app, rendition).await;
        until("it is filled", async || (self.stored_segments(app, rendition).await.0 == count).then_some(()))
            .await;
    }
}

/// Restarts the server, which then writes the watch times.
async fn restart(app: &mut TestApp) {
    app.stop().await;
    app.restart().await;
}

#[tokio::test]
async fn backfill_encodes_only_watched_media() {
    let (mut app, clock) = app().await;
    let watched = Played::new(&app, "/a.mkv", fixture::not_copied()).await;
    let other = Played::new(&app, "/b.mp4", fixture::large_two_tracks()).await;
    watched.watch(&app, "240p").await;
    assert_eq!(
        watched.stored_segments(&app, "360p").await.0,
        1,
        "what players begin with, made before ready"
    );
    restart(&mut app).await;
    clock.advance(AFTER_NEXT_CHECK);
    for rendition in ["360p", "240p", "aac"] {
        watched.wait_backfilled(&app, rendition).await;
    }
    drain_backfills(&app, &clock).await;
    assert_eq!(other.stored_segments(&app, "240p").await.0, 0);
    assert_eq!(app.store.renditions_of(PresentationId::of(other.source)).await.unwrap(), []);
    for bytes in encoded_files(&app.ground.blob().await)
        .await
        .into_iter()
        .filter(|(path, _)| path.starts_with("segment/"))
    {
        assert!(!fragment(&bytes.1).durations.is_empty(), "{}", bytes.0);
    }
}

#[tokio::test]
async fn repeated_backfill_jobs_leave_objects_and_renditions_unchanged() {
    let (mut app, clock) = app().await;
    let one = Played::new(&app, "/a.mkv", fixture::not_copied_small()).await;
    let gone = Played::new(&app, "/b.mkv", fixture::not_copied_small()).await;
    assert_eq!(app.delete(&gone.media.to_string()).await.status, 200);
    drain(&app, &clock).await;
    drain_backfills(&app, &clock).await;
    let run = async |app: &TestApp| {
        let Played { media, source, .. } = one;
        let kinds = [
            JobKind::Backfill { media, source },
            JobKind::EncodeAudio { media, source },
            JobKind::MaintainRenditions,
            JobKind::Backfill { media: gone.media, source: gone.source },
            JobKind::Backfill { media, source: gone.source },
            JobKind::EncodeAudio { media: gone.media, source: gone.source },
            JobKind::EncodeAudio { media, source: gone.source },
        ];
        // Each twice concurrently, and all of them again.
        for kind in kinds.into_iter().flat_map(|kind| [kind; 2]) {
            let now = clock.now();
            app.store
                .write(async move |tx| tx.enqueue(NewJob::due_now(kind, None, now)).await)
                .await
                .unwrap();
        }
        drain_backfills(app, &clock).await;
    };
    run(&app).await;
    restart(&mut app).await;
    drain_backfills(&app, &clock).await;
    let seen = async |app: &TestApp| {
        let rows = app.store.renditions_of(PresentationId::of(one.source)).await.unwrap();
        let gone = app.store.renditions_of(PresentationId::of(gone.source)).await.unwrap();
        (encoded_files(&app.ground.blob().await).await, app.objects().await, rows, gone)
    };
    let before = seen(&app).await;
    let counted: BTreeMap<_, _> = before.2.iter().map(|row| (row.name.as_str(), row.segments)).collect();
    assert_eq!(counted, BTreeMap::from([("240p", 2), ("aac", 2)]), "each is counted once");
    assert_eq!(before.3, []);
    run(&app).await;
    restart(&mut app).await;
    assert!(seen(&app).await == before, "a completed backfill changes nothing");
}

#[tokio::test]
async fn lru_eviction_frees_longest_unwatched_and_reencodes_on_demand() {
    let (mut app, clock) = app().await;
    let one = Played::new(&app, "/a.mkv", fixture::not_copied_small()).await;
    let other = Played::new(&app, "/b.mkv", fixture::not_copied_small()).await;
    let all = [(&one, "240p"), (&one, "aac"), (&other, "240p"), (&other, "aac")];
    for (played, rendition) in all {
        played.watch(&app, rendition).await;
        played.wait_backfilled(&app, rendition).await;
        clock.advance(AFTER_NEXT_CHECK);
    }
    let init = app.fetch(&format!("{}240p/init.mp4", one.folder)).await.body;
    let mut sizes = Vec::new();
    for (played, rendition) in all {
        sizes.push(played.stored_segments(&app, rendition).await);
    }
    let bytes: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    app.stop().await;
    app.options = app.options.clone().cache_bytes(bytes - 1);
    clock.advance(NOT_WATCHED);
    app.restart().await;
    // At the next check of watched renditions: within a minute.
    drain_backfills(&app, &clock).await;
    for ((played, rendition), before) in all.into_iter().zip(&sizes).skip(1) {
        assert_eq!(played.stored_segments(&app, rendition).await, *before, "{rendition} was watched later");
    }
    assert_eq!(one.stored_segments(&app, "240p").await, (0, 0));
    let row = app.store.rendition(one.id("240p")).await.unwrap().expect("it may come back");
    assert_eq!((row.segments, row.bytes), (0, 0));

    let url = app.url(&format!("{}240p/playlist.m3u8", one.folder));
    let played = decoded(OsStr::new(&url), "v:0").await.expect("it plays");
    assert_eq!((played.frames, played.shape), (100, (160, 90)));
    assert_eq!(app.fetch(&format!("{}240p/init.mp4", one.folder)).await.body, init);
    one.wait_backfilled(&app, "240p").await;
}

#[tokio::test]
async fn sweep_corrects_counts_of_killed_server() {
    let (mut app, clock) = app().await;
    let one = Played::new(&app, "/a.mkv", fixture::not_copied_small()).await;
    one.watch(&app, "240p").await;
    one.wait_backfilled(&app, "240p").await;
    app.kill().await;
    let id = one.id("240p");
    // The row of a process that could write no counts, however long it ran.
    app.store.write(async move |tx| tx.correct_rendition_counts(id, 0, 0).await).await.unwrap();
    // The leases of the killed process expire before the next one acquires any.
    clock.advance(LEASE);
    app.restart().await;
    sweep_once(&app, &clock).await;
    let (count, bytes) = one.stored_segments(&app, "240p").await;
    let row = app.store.rendition(id).await.unwrap().expect("it was begun");
    assert_eq!((row.segments, row.bytes), (count as u64, bytes));
}
