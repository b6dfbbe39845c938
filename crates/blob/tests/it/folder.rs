//! Tests of folders only: files, open files, permissions, and a full disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bytes::Bytes;
use kinora_blob::{Blob, Error, ObjectKey, ObjectKind, Prefix, PutOutcome, READ_MAX};
use tempfile::TempDir;

use crate::test_store::{MIB, TestBlob, noise, rendition, segment, source};

#[tokio::test(flavor = "multi_thread")]
async fn folder_deleted_during_put_loses_no_object() {
    let world = TestBlob::folder().await;
    let mut tasks = tokio::task::JoinSet::new();
    // All in the folder of one rendition, which is removed with the last of them.
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
    assert_eq!(world.everything(), (0..8).map(|n| segment(1, n).to_string()).collect());
}

#[tokio::test]
async fn writer_waits_for_fsync() {
    let world = TestBlob::folder().await;
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    let bytes = noise(MIB);
    for _ in 0..160 {
        writer.write(bytes.clone()).await.unwrap();
        // 64 MiB not synced, and 2 MiB that are not written yet.
        assert!(writer.written() - writer.synced() <= 66 << 20);
    }
    assert!(writer.synced() > 0);
}

#[tokio::test]
async fn files_and_folders_are_owner_only() {
    let world = TestBlob::folder().await;
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
async fn free_space_is_measured() {
    let world = TestBlob::folder().await;
    assert!(world.blob.free_space().await.unwrap().unwrap() > 0);
}

#[tokio::test]
async fn folder_creation_failure_is_internal_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(Blob::open_folder(folder.path().join("file")).await, Err(Error::Internal { .. })));
    assert!(matches!(Blob::open_folder(folder.path().join("file/below")).await, Err(Error::Internal { .. })));
}

#[tokio::test]
async fn read_above_read_max_is_rejected() {
    let world = TestBlob::folder().await;
    let key = ObjectKey::Source(source(1));
    world.blob.put_once(key, Bytes::new()).await.unwrap();
    // A hole in a file uses no disk space.
    let file = fs::File::options().write(true).open(world.root().join(key.to_string())).unwrap();
    file.set_len(READ_MAX * 3).unwrap();

    let reader = world.blob.reader(key).await.unwrap().unwrap();
    let too_long = |error: Error, expected: u64| matches!(error, Error::TooLong { len } if len == expected);
    assert!(too_long(reader.read_at(0..READ_MAX + 1).await.unwrap_err(), READ_MAX + 1));
    let halves = [0..READ_MAX / 2, READ_MAX..READ_MAX + READ_MAX / 2 + 1];
    assert!(too_long(reader.read_many(&halves).await.unwrap_err(), READ_MAX + 1));
    assert!(too_long(world.blob.get(key).await.unwrap_err(), READ_MAX * 3));
}

#[tokio::test]
async fn externally_truncated_file_is_internal_error() {
    let world = TestBlob::folder().await;
    let key = ObjectKey::Source(source(1));
    world.blob.put_once(key, noise(1000)).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();
    fs::File::options().write(true).open(world.root().join(key.to_string())).unwrap().set_len(500).unwrap();
    assert!(matches!(reader.read_at(0..1000).await, Err(Error::Internal { .. })));
    assert_eq!(reader.read_at(0..500).await.unwrap(), noise(500));
}

#[tokio::test]
async fn open_readers_survive_delete() {
    let world = TestBlob::folder().await;
    let keys = [ObjectKey::Source(source(1)), segment(1, 0), segment(1, 1)];
    for key in keys {
        world.blob.put_once(key, "bytes".into()).await.unwrap();
    }
    for key in keys {
        let reader = world.blob.reader(key).await.unwrap().unwrap();
        world.blob.delete(key).await.unwrap();
        world.blob.delete(key).await.unwrap();
        assert!(world.blob.reader(key).await.unwrap().is_none());
        assert_eq!(reader.read_at(0..5).await.unwrap(), "bytes");
        assert_eq!(world.blob.put_once(key, "again".into()).await.unwrap(), PutOutcome::Written);
        assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "again");
        world.blob.delete(key).await.unwrap();
    }
    assert_eq!(world.everything().len(), 0);
    assert!(!world.root().join(Prefix::SegmentsOf(rendition(1)).to_string()).exists());
}

#[tokio::test]
async fn more_objects_than_open_files_can_be_read() {
    let world = TestBlob::folder().await;
    for n in 0..400 {
        world.blob.put_once(segment(1, n), n.to_string().into()).await.unwrap();
    }
    for _ in 0..2 {
        for n in 0..400 {
            assert_eq!(world.blob.get(segment(1, n)).await.unwrap().unwrap(), n.to_string());
        }
    }
    let open = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.starts_with(world.root()))
        .count();
    // The cache evicts in batches, so it may exceed its limit a little for a short time.
    assert!((1..400).contains(&open), "{open} files are open");
}

#[tokio::test]
async fn symlinks_are_not_objects() {
    let world = TestBlob::folder().await;
    world.blob.put_once(ObjectKey::Source(source(0)), "x".into()).await.unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.root().join("source/00").join(source(0xf00).to_string()))
        .unwrap();
    assert_eq!(
        world.list(Prefix::Kind(ObjectKind::Source)).await,
        [ObjectKey::Source(source(0)).to_string()]
    );
}
