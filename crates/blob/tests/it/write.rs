//! Writing: whole objects, streamed objects, and what others may see of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;
use kinora_blob::{Blob, Error, ObjectKey, PictureHash, PutOutcome};
use tempfile::TempDir;

use crate::world::{MIB, World, noise, rendition, segment, source};

#[tokio::test]
async fn an_object_is_read_back_as_it_was_put() {
    let world = World::new().await;
    for (key, bytes) in [
        (ObjectKey::Source(source(1)), noise(3 * MIB + 17)),
        (ObjectKey::Index(source(1)), noise(1)),
        (ObjectKey::Init(rendition(2)), Bytes::new()),
        (segment(2, 0), noise(700)),
        (ObjectKey::Picture(source(1), PictureHash([7; 16])), noise(9)),
        (ObjectKey::DemoClip, noise(70_000)),
    ] {
        assert!(world.blob.get(key).await.unwrap().is_none(), "{key}");
        assert_eq!(world.blob.put_once(key, bytes.clone()).await.unwrap(), PutOutcome::Written, "{key}");
        assert_eq!(world.blob.get(key).await.unwrap(), Some(bytes), "{key}");
        assert!(world.files().contains(&key.to_string()));
    }
    assert_eq!(world.files().len(), 6);
}

#[tokio::test]
async fn the_second_put_leaves_the_object_as_it_is() {
    let world = World::new().await;
    let key = segment(1, 1);
    assert_eq!(world.blob.put_once(key, "first".into()).await.unwrap(), PutOutcome::Written);
    assert_eq!(world.blob.put_once(key, "second".into()).await.unwrap(), PutOutcome::AlreadyThere);
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "first");
    assert_eq!(world.files(), [key.to_string()].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_at_once_exactly_one_wins() {
    let world = World::new().await;
    for round in 0..20 {
        let key = segment(round, 0);
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..32 {
            let blob = world.blob.clone();
            tasks.spawn(async move {
                let bytes = Bytes::from(format!("writer {n}"));
                let outcome = blob.put_once(key, bytes.clone()).await.unwrap();
                let found = blob.get(key).await.unwrap().expect("somebody has written it");
                if outcome == PutOutcome::Written {
                    assert_eq!(found, bytes);
                }
                (outcome, found)
            });
        }
        let results = tasks.join_all().await;
        assert_eq!(results.iter().filter(|(outcome, _)| *outcome == PutOutcome::Written).count(), 1);
        assert!(results.iter().all(|(_, found)| *found == results[0].1));
    }
    assert_eq!(world.files().len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_and_goes_loses_no_object() {
    let world = World::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    // All in the folder of one rendition, which goes with the last of them.
    for n in 0..8 {
        let blob = world.blob.clone();
        tasks.spawn(async move {
            for _ in 0..50 {
                assert_eq!(blob.put_once(segment(1, n), "x".into()).await.unwrap(), PutOutcome::Written);
                blob.delete(segment(1, n)).await.unwrap();
            }
            blob.put_once(segment(1, n), "kept".into()).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(world.files(), (0..8).map(|n| segment(1, n).to_string()).collect());
}

#[tokio::test]
async fn a_streamed_object_appears_when_it_is_finished() {
    for (pieces, piece) in [(0, 0), (1, 1), (3, 100), (10, MIB), (5000, 1000), (3, 20 * MIB), (1, 0)] {
        let world = World::new().await;
        let key = ObjectKey::Source(source(1));
        let bytes = noise(piece);
        let mut writer = world.blob.writer(key).await.unwrap();
        for n in 0..pieces {
            writer.write(bytes.clone()).await.unwrap();
            assert_eq!(writer.written(), ((n + 1) * piece) as u64);
            assert!(writer.synced() <= writer.written());
        }
        assert!(world.blob.reader(key).await.unwrap().is_none());

        let len = (pieces * piece) as u64;
        assert_eq!(writer.finish().await.unwrap(), len);
        let reader = world.blob.reader(key).await.unwrap().unwrap();
        assert_eq!(reader.len(), len);
        assert!(reader.read_at(0..len).await.unwrap() == bytes.repeat(pieces), "{pieces} pieces of {piece}");
        assert_eq!(world.files(), [key.to_string()].into());
    }
}

#[tokio::test]
async fn the_writer_never_gets_far_ahead_of_the_sync() {
    let world = World::new().await;
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    let bytes = noise(MIB);
    for _ in 0..160 {
        writer.write(bytes.clone()).await.unwrap();
        // 64 MiB not synced, and 2 MiB that are not in the file yet.
        assert!(writer.written() - writer.synced() <= 66 << 20);
    }
    assert!(writer.synced() > 0);
}

#[tokio::test]
async fn a_writer_that_is_dropped_leaves_nothing() {
    let world = World::new().await;
    for len in [0, 10, 5 * MIB] {
        let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
        writer.write(noise(len)).await.unwrap();
        assert_eq!(world.files().len(), 1);
        drop(writer);
        assert_eq!(world.files().len(), 0);
    }
}

#[tokio::test]
async fn finishing_under_a_taken_key_is_refused() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    let mut writer = world.blob.writer(key).await.unwrap();
    writer.write("late".into()).await.unwrap();
    world.blob.put_once(key, "early".into()).await.unwrap();
    assert!(matches!(writer.finish().await, Err(Error::AlreadyThere(taken)) if taken == key));
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "early");
    assert_eq!(world.files(), [key.to_string()].into());
}

#[tokio::test]
async fn files_and_folders_are_closed_to_others() {
    let world = World::new().await;
    world.blob.put_once(segment(1, 0), "x".into()).await.unwrap();
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write("x".into()).await.unwrap();

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut unseen = vec![world.root()];
    let mut files = 0;
    while let Some(folder) = unseen.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                unseen.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert_eq!(files, 2);
}

#[tokio::test]
async fn the_free_space_is_that_of_the_volume() {
    let world = World::new().await;
    assert!(world.blob.free_space().await.unwrap().unwrap() > 0);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(Blob::open_folder(folder.path().join("file")).await, Err(Error::Internal { .. })));
    assert!(matches!(Blob::open_folder(folder.path().join("file/below")).await, Err(Error::Internal { .. })));
}
