//! Segments that are encoded on request: each once for any number of requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, PlaybackId, PresentationId, Resolution, SourceId};
use kinora_index::Rung;
use kinora_packager::{BackfillProgress, Error, Packaged, Packager, PlaybackClient, Rendition};
use kinora_testkit::{MovableClock, SeededRandom, fixture};

use crate::world::{TestServer, until_made};

struct Scene {
    world: TestServer,
    source: SourceId,
    packaged: Arc<Packaged>,
    rung: Rung,
    count: u32,
}

impl Scene {
    /// A media with one rung below its copy.
    async fn new() -> Self {
        let world = TestServer::new().await;
        let source = world.source();
        world.media_of(source).await;
        let packaged = world.store_as(source, fixture::large_two_tracks()).await;
        let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
        let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
        assert!(count >= 4, "{count} segments");
        Self { world, source, packaged, rung, count }
    }

    /// The response to one request, which may be `Busy`.
    async fn fetch_segment(&self, packager: &Packager, number: u32) -> Result<Bytes, Error> {
        let segment =
            packager.encoded_segment(&self.packaged, &self.rung, number, on_demand_client()).await?;
        let len = segment.total_len();
        Ok(segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat().into())
    }

    async fn segment_of(&self, packager: &Packager, number: u32) -> Result<Bytes, Error> {
        until_made(async || self.fetch_segment(packager, number).await).await
    }

    async fn segment(&self, number: u32) -> Result<Bytes, Error> {
        self.segment_of(&self.world.packager, number).await
    }

    /// Waits until processes of the engine run, or none runs.
    async fn until_running(&self, expected: bool) {
        let mut interval = tokio::time::interval(Duration::from_millis(1));
        let reached = async {
            while (self.world.engine.load().running > 0) != expected {
                interval.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.expect("processes begin and end");
    }

    /// Encoded time of the workspace since the last call, in microseconds.
    async fn encoded_us(&self) -> u64 {
        let written = self.world.store.write_usage(MovableClock::default().now()).await.unwrap();
        written.map_or(0, |written| written.used.encoded_us)
    }

    /// The largest number of writes, or tries, of one segment.
    fn most_writes(&self) -> u64 {
        self.world.writes_below("segment").into_values().max().unwrap_or(0)
    }
}

fn on_demand_client() -> PlaybackClient {
    PlaybackClient { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_segment_requests_share_one_encode() {
    let scene = Scene::new().await;
    let segments = join_all((0..5).map(|_| scene.segment(1))).await;
    let segment: Vec<_> = segments.into_iter().map(|made| made.unwrap()).collect();
    assert!(segment.iter().all(|one| *one == segment[0] && !one.is_empty()));
    assert_eq!(scene.segment(1).await.unwrap(), segment[0]);
    assert_eq!(scene.most_writes(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_seeks_encode_each_segment_once() {
    let scene = Scene::new().await;
    // 50 viewers, each with three segments in its own order.
    let viewers = (0..50_u32).map(async |viewer| {
        for step in [7_u32, 3, 5] {
            let number = viewer.wrapping_mul(2_654_435_761).wrapping_add(step * viewer) % scene.count;
            scene.segment(number).await.unwrap();
        }
    });
    join_all(viewers).await;
    assert_eq!(scene.most_writes(), 1, "{:?}", scene.world.writes_below("segment"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_processes_serve_the_same_segment() {
    let scene = Scene::new().await;
    let other = scene.world.another_packager().await;
    let (one, two) = tokio::join!(scene.segment(0), scene.segment_of(&other, 0));
    assert_eq!(one.unwrap(), two.unwrap());
    let first = scene.packaged.segment_duration_us(Rendition::Rung(scene.rung.name), 0);
    assert_eq!(scene.encoded_us().await, first, "the loser of the race stored nothing");
    let inits =
        [&scene.world.packager, &other].map(|packager| packager.encoded_init(&scene.packaged, &scene.rung));
    let inits = join_all(inits).await;
    assert_eq!(inits[0].as_ref().unwrap(), inits[1].as_ref().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_of_equal_bytes_have_separate_renditions() {
    let scene = Scene::new().await;
    let second_source = scene.world.source();
    scene.world.media_of(second_source).await;
    let packaged = scene.world.store_as(second_source, fixture::large_two_tracks()).await;
    assert_eq!(packaged.id(), scene.packaged.id());

    scene.segment(1).await.unwrap();
    scene.world.packager.encoded_segment(&packaged, &scene.rung, 1, on_demand_client()).await.unwrap();
    for source in [scene.source, second_source] {
        let id = Rendition::Rung(scene.rung.name).id(PresentationId::of(source)).unwrap();
        let stored = scene.world.blob.reader(ObjectKey::Segment(id, 1)).await.unwrap();
        assert!(stored.is_some(), "each keeps what its viewers were given");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_segment_is_identical_before_and_after_encoding() {
    let scene = Scene::new().await;
    let init = scene.world.packager.encoded_init(&scene.packaged, &scene.rung).await.unwrap();
    assert_eq!(scene.world.writes_below("segment").len(), 0, "no segment is made for it");
    scene.segment(2).await.unwrap();
    let other = scene.world.another_packager().await;
    assert_eq!(other.encoded_init(&scene.packaged, &scene.rung).await.unwrap(), init);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backfill_encodes_only_missing_segments() {
    let scene = Scene::new().await;
    scene.segment(scene.count - 1).await.unwrap();
    let rungs = [scene.rung.clone()];
    let mut reported = Vec::new();
    let filled = scene.world.packager.backfill(&scene.packaged, &rungs, |progress| reported.push(progress));
    filled.await.unwrap();
    let total = u64::from(scene.count);
    assert_eq!(reported.first(), Some(&BackfillProgress { done: 1, total }));
    assert_eq!(reported.last(), Some(&BackfillProgress { done: total, total }));
    assert_eq!(scene.world.writes_below("segment").len(), scene.count as usize);
    assert_eq!(scene.most_writes(), 1);

    let second_backfill =
        async { scene.world.packager.backfill(&scene.packaged, &rungs, |_| ()).await.unwrap() };
    assert_eq!(scene.world.writes_of(Box::pin(second_backfill)).await, 0);

    let duration_us = scene.packaged.index().facts().duration_us;
    assert_eq!(scene.encoded_us().await, duration_us, "each segment by its length, once");
    scene.world.packager.write_rendition_uses().await.unwrap();
    let id = Rendition::Rung(scene.rung.name).id(PresentationId::of(scene.source)).unwrap();
    let row = scene.world.store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.segments, row.watched_at.is_some()), (total, true));

    scene.world.packager.evict(id).await.unwrap();
    let row = scene.world.store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.segments, row.bytes), (0, 0));
    assert_eq!(scene.world.packager.backfill(&scene.packaged, &rungs, |_| ()).await.ok(), Some(()));
    assert_eq!(scene.most_writes(), 2, "it was made anew");
    assert_eq!(scene.encoded_us().await, duration_us, "and that is counted too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_ends_encode_runs_and_starts_none() {
    let scene = Arc::new(Scene::new().await);
    let viewers: Vec<_> = (0..scene.count)
        .map(|number| {
            let scene = Arc::clone(&scene);
            tokio::spawn(async move { scene.fetch_segment(&scene.world.packager, number).await })
        })
        .collect();
    scene.until_running(true).await;
    scene.world.packager.stop().await;
    let answers: Vec<_> = join_all(viewers).await.into_iter().map(|answer| answer.unwrap()).collect();
    let written = scene.world.writes_below("segment");
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(refused.iter().all(|error| matches!(error.root(), Error::Busy)), "{refused:?}");
    assert!(!refused.is_empty(), "more was asked for than can be made at once");
    scene.until_running(false).await;

    let missing = (0..scene.count).zip(&answers).find(|(_, answer)| answer.is_err()).unwrap().0;
    let error = scene.fetch_segment(&scene.world.packager, missing).await.unwrap_err();
    assert!(matches!(error.root(), Error::Busy), "{error:?}");
    assert_eq!(scene.world.engine.load().running, 0);
    assert_eq!(scene.world.writes_below("segment"), written, "nothing came later");
    // A stored segment is served on every request.
    for (number, _) in (0..).zip(&answers).filter(|(_, answer)| answer.is_ok()) {
        scene.segment(number).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlisted_segment_is_not_encoded() {
    let scene = Scene::new().await;
    assert!(matches!(scene.segment(scene.count).await, Err(Error::NotListed)));
    assert!(matches!(scene.segment(u32::MAX).await, Err(Error::NotListed)));

    let unowned = scene.world.store(fixture::large_two_tracks()).await;
    let error = scene
        .world
        .packager
        .encoded_segment(&unowned, &scene.rung, 0, on_demand_client())
        .await
        .err()
        .unwrap();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
    assert_eq!(scene.world.writes_below("segment").len() + scene.world.writes_below("init").len(), 0);
}
