//! An engine that is away for a while, and a disk without room.

use kinora_domain::{PlaybackId, Resolution};
use kinora_engine::{Engine, Settings};
use kinora_packager::{Asker, Error, PictureFormat, PictureRequest, Wanted};
use kinora_testkit::{LentFfmpeg, SeededRandom, fixture};

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
    assert!(packager.encoded_init(&packaged, &rungs[0], asker()).await.is_err_and(|error| is_away(&error)));
    assert!(packager.first_segments(&packaged, &rungs).await.is_err_and(|error| is_away(&error)));
    let filled = packager.fill(&packaged, &rungs, |progress| assert_eq!(progress.done, 0)).await;
    assert!(filled.is_err_and(|error| is_away(&error)));
    let picture = PictureRequest { time_ms: None, width: None, height: None, format: PictureFormat::Jpg };
    assert!(packager.picture(&packaged, picture).await.is_err_and(|error| is_away(&error)));
    assert!(packager.broken(source).await.unwrap().is_empty());

    ffmpeg.bring_back();
    packager.encoded_init(&packaged, &rungs[0], asker()).await.unwrap();
    for number in 0..count {
        packager.encoded_segment(&packaged, &rungs[0], number, asker()).await.unwrap();
    }
    let manifest = packager.multivariant(&packaged, "", Resolution::P1080, Wanted::default()).await.unwrap();
    assert!(manifest.is_some_and(|manifest| manifest.contains("240p/playlist.m3u8")));
}
