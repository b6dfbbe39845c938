//! An engine that is away for a while, and a disk without room.

use std::sync::atomic::Ordering;

use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, PlaybackId, PresentationId, Resolution};
use kinora_engine::{Engine, Settings};
use kinora_packager::{Added, Asker, Error, FitMode, PictureFormat, PictureRequest, Rendition, Wanted};
use kinora_testkit::{LentFfmpeg, MovableClock, SeededRandom, fixture};

use crate::world::World;

fn asker() -> Asker {
    Asker { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_away_leaves_no_mark_and_is_used_once_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = LentFfmpeg::new(folder.path());
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    let world = World::with_engine(Engine::find(settings).await.unwrap()).await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::wide()).await;
    let (rungs, packager) = (packaged.rungs(Resolution::P1080), &world.packager);
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
    let is_away = |error: &Error| matches!(error.root(), Error::EngineAway(_));

    ffmpeg.take_away();
    for number in 0..count {
        for _ in 0..2 {
            let made = packager.encoded_segment(&packaged, &rungs[0], number, asker()).await;
            assert!(made.is_err_and(|error| is_away(&error)), "segment {number}");
        }
    }
    assert!(packager.encoded_init(&packaged, &rungs[0]).await.is_err_and(|error| is_away(&error)));
    assert!(packager.first_segment(&packaged, &rungs[0]).await.is_err_and(|error| is_away(&error)));
    let filled = packager.fill(&packaged, &rungs, |progress| assert_eq!(progress.done, 0)).await;
    assert!(filled.is_err_and(|error| is_away(&error)));
    let picture = PictureRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: PictureFormat::Jpg,
        is_poster: false,
    };
    assert!(world.picture(&packaged, picture).await.is_err_and(|error| is_away(&error)));
    assert!(packager.broken(PresentationId::of(source)).await.unwrap().is_empty());

    ffmpeg.bring_back();
    packager.encoded_init(&packaged, &rungs[0]).await.unwrap();
    for number in 0..count {
        packager.encoded_segment(&packaged, &rungs[0], number, asker()).await.unwrap();
    }
    let manifest = packager
        .multivariant(&packaged, "", Resolution::P1080, Wanted::default(), Added::default())
        .await
        .unwrap();
    assert!(manifest.is_some_and(|manifest| manifest.contains("240p/playlist.m3u8")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_room_those_who_wait_get_what_is_made_and_it_is_kept_once_there_is_some() {
    let world = World::new().await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::wide()).await;
    let (rungs, packager) = (packaged.rungs(Resolution::P1080), &world.packager);
    let id = Rendition::Rung(rungs[0].name).id(PresentationId::of(source)).unwrap();
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();

    world.is_full.store(true, Ordering::SeqCst);
    let init = packager.encoded_init(&packaged, &rungs[0]).await.unwrap();
    let mut lengths = Vec::new();
    for number in 0..count {
        let made = packager.encoded_segment(&packaged, &rungs[0], number, asker()).await.unwrap();
        lengths.push(made.total_len());
    }
    let picture = PictureRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: PictureFormat::Jpg,
        is_poster: false,
    };
    assert!(!world.picture(&packaged, picture).await.unwrap().is_empty());
    let filled = packager.fill(&packaged, &rungs, |progress| assert_eq!(progress.done, 0)).await;
    assert!(filled.is_err_and(|error| error.is_full()));
    assert_eq!(world.blob.get(ObjectKey::Init(id)).await.unwrap(), None);
    assert!(packager.broken(PresentationId::of(source)).await.unwrap().is_empty());

    let now = MovableClock::default().now();
    assert_eq!(world.store.write_usage(now).await.unwrap(), None, "what is not kept does not count");
    world.is_full.store(false, Ordering::SeqCst);
    packager.fill(&packaged, &rungs, |_| {}).await.unwrap();
    assert_eq!(world.blob.get(ObjectKey::Init(id)).await.unwrap(), Some(init));
    for (number, len) in (0..).zip(lengths) {
        assert!(len > 0);
        let kept = world.blob.reader(ObjectKey::Segment(id, number)).await.unwrap();
        assert!(kept.is_some(), "segment {number}");
    }
}
