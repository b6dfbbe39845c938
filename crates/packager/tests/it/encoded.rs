//! Segments that are encoded when somebody asks: each once, whoever asks and however often.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, PlaybackId, PresentationId, Resolution, SourceId};
use kinora_index::Rung;
use kinora_packager::{Asker, Error, FillProgress, Packaged, Packager, Rendition};
use kinora_testkit::{MovableClock, SeededRandom, fixture};

use crate::world::{World, until_made};

struct Scene {
    world: World,
    source: SourceId,
    packaged: Arc<Packaged>,
    rung: Rung,
    count: u32,
}

impl Scene {
    /// A media with one rung below its copy.
    async fn new() -> Self {
        let world = World::new().await;
        let source = world.source();
        world.media_of(source).await;
        let packaged = world.store_as(source, fixture::wide()).await;
        let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
        let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
        assert!(count >= 4, "{count} segments");
        Self { world, source, packaged, rung, count }
    }

    /// The answer to one request, which may be `Busy`.
    async fn ask(&self, packager: &Packager, number: u32) -> Result<Bytes, Error> {
        let segment = packager.encoded_segment(&self.packaged, &self.rung, number, asker()).await?;
        let len = segment.total_len();
        Ok(segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat().into())
    }

    async fn segment_of(&self, packager: &Packager, number: u32) -> Result<Bytes, Error> {
        until_made(async || self.ask(packager, number).await).await
    }

    async fn segment(&self, number: u32) -> Result<Bytes, Error> {
        self.segment_of(&self.world.packager, number).await
    }

    /// Waits until processes of the engine run, or none does.
    async fn until_running(&self, wanted: bool) {
        let mut looks = tokio::time::interval(Duration::from_millis(1));
        let reached = async {
            while (self.world.engine.load().running > 0) != wanted {
                looks.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.expect("processes begin and end");
    }

    /// What was encoded of the workspace since the last time it was asked.
    async fn encoded_us(&self) -> u64 {
        let written = self.world.store.write_usage(MovableClock::default().now()).await.unwrap();
        written.map_or(0, |written| written.used.encoded_us)
    }

    /// How often a segment was written, or tried to be: the largest number of all.
    fn most_writes(&self) -> u64 {
        self.world.writes_below("segment").into_values().max().unwrap_or(0)
    }
}

fn asker() -> Asker {
    Asker { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_ask_for_one_segment_get_the_same_bytes_of_one_encode() {
    let scene = Scene::new().await;
    let made = join_all((0..5).map(|_| scene.segment(1))).await;
    let made: Vec<_> = made.into_iter().map(|made| made.unwrap()).collect();
    assert!(made.iter().all(|one| *one == made[0] && !one.is_empty()));
    assert_eq!(scene.segment(1).await.unwrap(), made[0]);
    assert_eq!(scene.most_writes(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_who_seek_like_mad_are_all_answered_and_nothing_is_made_twice() {
    let scene = Scene::new().await;
    // 50 viewers, each three segments in an order of its own.
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
async fn two_processes_that_race_serve_the_same_bytes() {
    let scene = Scene::new().await;
    let other = scene.world.another_packager().await;
    let (one, two) = tokio::join!(scene.segment(0), scene.segment_of(&other, 0));
    assert_eq!(one.unwrap(), two.unwrap());
    let first = scene.packaged.plays_us(Rendition::Rung(scene.rung.name), 0);
    assert_eq!(scene.encoded_us().await, first, "whoever lost kept nothing");
    let inits =
        [&scene.world.packager, &other].map(|packager| packager.encoded_init(&scene.packaged, &scene.rung));
    let inits = join_all(inits).await;
    assert_eq!(inits[0].as_ref().unwrap(), inits[1].as_ref().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_of_equal_bytes_have_renditions_of_their_own() {
    let scene = Scene::new().await;
    let twin = scene.world.source();
    scene.world.media_of(twin).await;
    let packaged = scene.world.store_as(twin, fixture::wide()).await;
    assert_eq!(packaged.id(), scene.packaged.id());

    scene.segment(1).await.unwrap();
    scene.world.packager.encoded_segment(&packaged, &scene.rung, 1, asker()).await.unwrap();
    for source in [scene.source, twin] {
        let id = Rendition::Rung(scene.rung.name).id(PresentationId::of(source)).unwrap();
        let kept = scene.world.blob.reader(ObjectKey::Segment(id, 1)).await.unwrap();
        assert!(kept.is_some(), "each keeps what its viewers were given");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_init_segment_is_the_same_before_and_after_its_segments() {
    let scene = Scene::new().await;
    let before = scene.world.packager.encoded_init(&scene.packaged, &scene.rung).await.unwrap();
    assert_eq!(scene.world.writes_below("segment").len(), 0, "no segment is made for it");
    scene.segment(2).await.unwrap();
    let other = scene.world.another_packager().await;
    assert_eq!(other.encoded_init(&scene.packaged, &scene.rung).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fill_makes_what_is_missing_and_nothing_else() {
    let scene = Scene::new().await;
    scene.segment(scene.count - 1).await.unwrap();
    let rungs = [scene.rung.clone()];
    let mut told = Vec::new();
    let filled = scene.world.packager.fill(&scene.packaged, &rungs, |progress| told.push(progress));
    filled.await.unwrap();
    let of = u64::from(scene.count);
    assert_eq!(told.first(), Some(&FillProgress { done: 1, of }));
    assert_eq!(told.last(), Some(&FillProgress { done: of, of }));
    assert_eq!(scene.world.writes_below("segment").len(), scene.count as usize);
    assert_eq!(scene.most_writes(), 1);

    let again = async { scene.world.packager.fill(&scene.packaged, &rungs, |_| ()).await.unwrap() };
    assert_eq!(scene.world.writes_of(Box::pin(again)).await, 0);

    let whole = scene.packaged.index().facts().duration_us;
    assert_eq!(scene.encoded_us().await, whole, "each segment by its length, once");
    scene.world.packager.write_rendition_uses().await.unwrap();
    let id = Rendition::Rung(scene.rung.name).id(PresentationId::of(scene.source)).unwrap();
    let row = scene.world.store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.segments, row.watched_at.is_some()), (of, true));

    scene.world.packager.evict(id).await.unwrap();
    let row = scene.world.store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.segments, row.bytes), (0, 0));
    assert_eq!(scene.world.packager.fill(&scene.packaged, &rungs, |_| ()).await.ok(), Some(()));
    assert_eq!(scene.most_writes(), 2, "it was made anew");
    assert_eq!(scene.encoded_us().await, whole, "and that is counted too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packager_that_is_stopped_ends_its_runs_and_begins_no_other() {
    let scene = Arc::new(Scene::new().await);
    let viewers: Vec<_> = (0..scene.count)
        .map(|number| {
            let scene = Arc::clone(&scene);
            tokio::spawn(async move { scene.ask(&scene.world.packager, number).await })
        })
        .collect();
    scene.until_running(true).await;
    scene.world.packager.stop().await;
    let answers: Vec<_> = join_all(viewers).await.into_iter().map(|answer| answer.unwrap()).collect();
    let made = scene.world.writes_below("segment");
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(refused.iter().all(|error| matches!(error.root(), Error::Busy)), "{refused:?}");
    assert!(!refused.is_empty(), "more was asked for than can be made at once");
    scene.until_running(false).await;

    let missing = (0..scene.count).zip(&answers).find(|(_, answer)| answer.is_err()).unwrap().0;
    let error = scene.ask(&scene.world.packager, missing).await.unwrap_err();
    assert!(matches!(error.root(), Error::Busy), "{error:?}");
    assert_eq!(scene.world.engine.load().running, 0);
    assert_eq!(scene.world.writes_below("segment"), made, "nothing came later");
    // What is kept is served for as long as somebody asks.
    for (number, _) in (0..).zip(&answers).filter(|(_, answer)| answer.is_ok()) {
        scene.segment(number).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_plan_does_not_list_is_not_made_nor_what_no_media_names() {
    let scene = Scene::new().await;
    assert!(matches!(scene.segment(scene.count).await, Err(Error::NotInPlan)));
    assert!(matches!(scene.segment(u32::MAX).await, Err(Error::NotInPlan)));

    let nobodys = scene.world.store(fixture::wide()).await;
    let error = scene.world.packager.encoded_segment(&nobodys, &scene.rung, 0, asker()).await.err().unwrap();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
    assert_eq!(scene.world.writes_below("segment").len() + scene.world.writes_below("init").len(), 0);
}
