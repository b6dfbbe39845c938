//! What becomes of pictures whose store fails, whose viewers leave, and of those that cannot be made.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use kinora_blob::{Entry, ObjectKey, ObjectKind, PictureHash, Prefix};
use kinora_domain::{PresentationId, SourceId};
use kinora_engine::{Engine, Settings};
use kinora_packager::{ClipFormat, ClipRequest, Error, FitMode, Packaged, PictureRequest, Sheet};
use kinora_testkit::{LentFfmpeg, fixture};

use crate::pictures::png_at;
use crate::world::{World, asker, until_made};

/// The pictures that are kept.
async fn kept(world: &World) -> Vec<Entry> {
    world.blob.list(Prefix::Kind(ObjectKind::Picture), None, 100).await.unwrap()
}

#[tokio::test]
async fn a_picture_that_cannot_be_kept_is_sent_all_the_same() {
    let world = World::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    for (time_ms, fault) in [(0, &world.is_failing), (500, &world.is_full)] {
        fault.store(true, Ordering::SeqCst);
        let picture = world.picture(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(world.picture(&packaged, png_at(time_ms)).await.unwrap(), picture);
        assert_eq!(kept(&world).await, []);
        fault.store(false, Ordering::SeqCst);
        let another = world.another_packager().await;
        let again = another.picture(&packaged, png_at(time_ms), asker()).await.unwrap();
        assert_eq!(again.bytes().await.unwrap(), picture);
        let [entry] = &kept(&world).await[..] else { panic!("it is kept once that is possible") };
        world.blob.delete(entry.key).await.unwrap();
    }
}

#[tokio::test]
async fn a_picture_that_cannot_be_read_is_made_anew() {
    let world = World::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    let picture = world.picture(&packaged, png_at(0)).await.unwrap();
    let [Entry { key, .. }] = kept(&world).await[..] else { panic!("it is kept") };
    let file = world.objects().join(key.to_string());
    // It opens, and every read of it fails.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    for _ in 0..2 {
        let another = world.another_packager().await;
        let again = another.picture(&packaged, png_at(0), asker()).await.unwrap();
        assert_eq!(again.bytes().await.unwrap(), picture);
    }
}

/// A packager whose ffmpeg may be missing.
async fn lent(folder: &Path) -> (World, LentFfmpeg) {
    let ffmpeg = LentFfmpeg::new(folder);
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    (World::with_engine(Engine::find(settings).await.unwrap()).await, ffmpeg)
}

/// A source of which no picture decodes.
async fn overwritten(world: &World) -> Arc<Packaged> {
    let file = fixture::video_only();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    let mut damaged = file.to_vec();
    damaged[samples..].fill(0);
    let index = world.store(file).await.index().clone();
    world.store_index(world.source(), Bytes::from(damaged), &index).await
}

#[tokio::test]
async fn what_cannot_be_made_is_not_tried_again_for_each_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let (world, ffmpeg) = lent(folder.path()).await;
    let packaged = overwritten(&world).await;
    let clip = ClipRequest { start_ms: 0, end_ms: 1000, width: 160, fps: 5, format: ClipFormat::Gif };
    let sheet = world.packager.storyboard(&packaged, Sheet::Overview, asker()).await.unwrap();
    let ask = async |time_ms| {
        let errors = [
            world.picture(&packaged, png_at(time_ms)).await.unwrap_err(),
            world.packager.clip(&packaged, clip, asker()).await.err().unwrap(),
            world.packager.sheet(&packaged, &sheet, asker()).await.err().unwrap(),
        ];
        errors.map(|error| matches!(error.root(), Error::NoPicture))
    };
    assert_eq!(ask(0).await, [true; 3]);
    ffmpeg.take_away();
    assert_eq!(ask(0).await, [true; 3], "no run was begun");
    let error = world.picture(&packaged, png_at(500)).await.unwrap_err();
    assert!(matches!(error.root(), Error::EngineAway(_)), "another one is tried: {error:?}");
    ffmpeg.bring_back();
    let error = world.picture(&packaged, png_at(500)).await.unwrap_err();
    assert!(
        matches!(error.root(), Error::NoPicture),
        "what the machine is to blame for is forgotten: {error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_made_to_its_end_when_whoever_asked_has_left() {
    let world = World::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    let mut asked = Box::pin(world.packager.picture(&packaged, png_at(0), asker()));
    while world.engine.load().running == 0 {
        assert!((&mut asked).now_or_never().is_none(), "it takes a while, and nobody waits for its end");
        tokio::task::yield_now().await;
    }
    drop(asked);
    // Nobody asks again: it is there by itself.
    let is_kept = async {
        while kept(&world).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), is_kept).await.expect("it is kept");
    world.packager.stop().await;
    let error = world.picture(&packaged, png_at(500)).await.unwrap_err();
    assert!(matches!(error.root(), Error::Busy), "nothing is begun any more: {error:?}");
}

#[tokio::test]
async fn a_picture_of_what_no_media_names_is_sent_and_not_kept() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    assert!(world.picture(&packaged, png_at(0)).await.is_ok());
    assert_eq!(kept(&world).await, []);
}

#[tokio::test]
async fn a_large_picture_is_not_held_in_memory_for_those_who_read_it() {
    let world = World::new().await;
    let packaged = world.store_of_media(fixture::wide()).await;
    let (width, height) = (Some(1600), Some(900));
    let request = PictureRequest { width, height, fit: FitMode::Stretch, ..png_at(0) };
    let mut sent = Vec::new();
    for _ in 0..2 {
        let picture = world.packager.picture(&packaged, request, asker()).await.unwrap().into_content();
        assert!(256 << 10 < picture.total_len(), "{} bytes", picture.total_len());
        assert!(picture.whole().is_none());
        let len = picture.total_len();
        let pieces: Vec<_> = picture.stream(0..len).collect().await;
        sent.push(pieces.into_iter().flat_map(Result::unwrap).collect::<Vec<u8>>());
    }
    assert_eq!(sent[0], sent[1]);
    assert_eq!(world.writes_below("picture").values().sum::<u64>(), 1);
    let small = world.packager.picture(&packaged, png_at(0), asker()).await.unwrap().into_content();
    assert_eq!(small.whole().is_some(), small.total_len() <= 256 << 10);
}

/// Objects as if viewers had asked for so many pictures of this length.
fn asked_before(world: &World, source: SourceId, count: u16, len: u64) {
    for n in 0..count {
        let mut hash = [0xff; 16];
        hash[..2].copy_from_slice(&n.to_be_bytes());
        let file = world
            .objects()
            .join(ObjectKey::Picture(PresentationId::of(source), PictureHash(hash)).to_string());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::File::create(file).unwrap().set_len(len).unwrap();
    }
}

#[tokio::test]
async fn what_viewers_ask_for_is_kept_to_a_bound_and_what_stands_for_the_media_always() {
    let many = (1000, 1);
    let large = (2, (32 << 20) - 1000);
    for (count, len) in [many, large] {
        let world = World::new().await;
        let source = world.source();
        let packaged = world.store_as(source, fixture::two_seconds()).await;
        asked_before(&world, source, count, len);
        let writes = async |request| {
            world
                .writes_of(Box::pin(async { world.picture(&packaged, request).await.map(drop).unwrap() }))
                .await
        };
        assert_eq!(writes(png_at(0)).await, 0, "another one of {count} x {len}");
        assert_eq!(writes(PictureRequest { time_ms: None, is_poster: true, ..png_at(0) }).await, 1);
        for (sheet, expected) in [(Sheet::Every(1), 0), (Sheet::Overview, 1)] {
            let written = world.writes_of(Box::pin(async {
                let board = world.packager.storyboard(&packaged, sheet, asker()).await.unwrap();
                world.packager.sheet(&packaged, &board, asker()).await.map(drop).unwrap();
            }));
            assert_eq!(written.await, expected, "{sheet:?} beside {count} x {len}");
        }
    }
}

#[tokio::test]
async fn one_address_leaves_places_of_a_media_for_another() {
    let world = World::new().await;
    let packaged = world.store(fixture::long_gop()).await;
    let ask = async |time_ms, address: [u8; 4]| {
        let asker = kinora_packager::Asker { address: Some(address.into()), ..asker() };
        until_made(async || world.packager.picture(&packaged, png_at(time_ms), asker).await).await
    };
    let one = futures_util::future::join_all((0..7).map(|n| ask(10_000 + n * 100, [192, 0, 2, 1])));
    let (one, other) = tokio::join!(one, ask(0, [192, 0, 2, 2]));
    assert!(other.is_ok(), "{:?}", other.err());
    // How many may wait is tested beside the queues.
    assert!(one.iter().all(Result::is_ok));
}
