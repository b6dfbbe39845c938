//! Tests of growing objects in folders: a file, a lock, a clock.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use kinora_blob::{Blob, Error, GrowingObject, ObjectKey};

use crate::multipart_log::FakeMultipartLog;
use crate::test_store::{MIB, TestBlob, noise, source};

/// Timers count whole milliseconds.
const SYNC_WITHIN: Duration = Duration::from_millis(50 + 1);

/// Waits until `synced` bytes are durable, while the clock is paused.
async fn until_synced(growing: &GrowingObject, synced: u64) {
    while growing.synced() < synced {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.synced(), synced);
}

#[tokio::test]
async fn file_is_locked_by_one_writer() {
    let world = TestBlob::folder().await;
    let book = FakeMultipartLog::new();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    growing.write("first".into()).await.unwrap();
    // Another handle, like that of another process.
    let other = Blob::open_folder(world.root()).await.unwrap();
    for blob in [&world.blob, &other] {
        let error = FakeMultipartLog::new().grow(blob, source(1)).await.unwrap_err();
        assert!(
            matches!(error, Error::LockedElsewhere(key) if key == ObjectKey::Growing(source(1))),
            "{error:?}"
        );
    }
    FakeMultipartLog::new().grow(&other, source(2)).await.unwrap();
    assert_eq!(growing.sync().await.unwrap(), 5);
    drop(growing);
    assert_eq!(book.grow(&other, source(1)).await.unwrap().synced(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn next_writer_waits_for_dropped_writer() {
    let world = TestBlob::folder().await;
    let (book, bytes) = (FakeMultipartLog::new(), noise(4 * MIB));
    let mut synced = 0;
    for _ in 0..30 {
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert!(synced <= growing.synced());
        growing.write(bytes.clone()).await.unwrap();
        synced = growing.synced();
        drop(growing);
        let mut opening = Box::pin(book.grow(&world.blob, source(1)));
        let _ = futures_util::poll!(&mut opening);
        drop(opening);
    }
}

#[tokio::test]
async fn idle_writer_syncs_on_timer() {
    let world = TestBlob::folder().await;
    // Before the opening, the first instant that counts.
    tokio::time::pause();
    let mut growing = FakeMultipartLog::new().grow(&world.blob, source(1)).await.unwrap();
    growing.write("one".into()).await.unwrap();
    growing.write("two".into()).await.unwrap();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.synced(), 0, "no time has passed");
    tokio::time::advance(SYNC_WITHIN).await;
    until_synced(&growing, 6).await;
    growing.write("three".into()).await.unwrap();
    tokio::time::advance(SYNC_WITHIN).await;
    until_synced(&growing, 11).await;
}

#[tokio::test]
async fn fast_upload_is_synced_every_few_mib() {
    let world = TestBlob::folder().await;
    let mut growing = FakeMultipartLog::new().grow(&world.blob, source(1)).await.unwrap();
    tokio::time::pause();
    let bytes = noise(256 << 10);
    for _ in 0..400 {
        growing.write(bytes.clone()).await.unwrap();
        // 16 MiB not synced, two batches of 1 MiB that are not written yet, and the commands in the queue.
        assert!(growing.written() - growing.synced() <= (18 << 20) + 10 * (256 << 10));
    }
    assert!(growing.synced() > 0);
}

#[tokio::test]
async fn file_has_mode_0600_and_resumes_at_its_end() {
    let world = TestBlob::folder().await;
    let book = FakeMultipartLog::new();
    drop(book.grow(&world.blob, source(1)).await.unwrap());
    let path = world.root().join(ObjectKey::Growing(source(1)).to_string());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // Bytes that a killed process had written and not synced.
    fs::write(&path, "half a line").unwrap();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    assert_eq!((growing.synced(), growing.readable_from()), (11, 0));
    assert_eq!(growing.read(5..11).await.unwrap(), "a line");
    growing.write(" and the rest".into()).await.unwrap();
    assert_eq!(growing.finish().await.unwrap(), 24);
    assert_eq!(
        world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap(),
        "half a line and the rest"
    );
    assert!(!path.exists());
}

#[tokio::test]
async fn stale_hard_link_is_removed() {
    let world = TestBlob::folder().await;
    let book = FakeMultipartLog::new();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    growing.write("whole".into()).await.unwrap();
    growing.finish().await.unwrap();
    // The state after a crash where a file cannot be renamed without replacing.
    let [from, to] = [ObjectKey::Growing(source(1)), ObjectKey::Source(source(1))]
        .map(|key| world.root().join(key.to_string()));
    fs::hard_link(&to, &from).unwrap();
    let mut later = book.grow(&world.blob, source(1)).await.unwrap();
    assert_eq!((later.synced(), later.finish().await.unwrap()), (5, 5));
    world.wait_for_objects(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn growing_objects_of_one_folder_are_independent() {
    let world = TestBlob::folder().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let blob = world.blob.clone();
        tasks.spawn(async move {
            // All in one shard.
            let source = source(n << 8);
            for _ in 0..20 {
                let book = FakeMultipartLog::new();
                let mut growing = book.grow(&blob, source).await.unwrap();
                growing.write("bytes".into()).await.unwrap();
                assert_eq!(growing.finish().await.unwrap(), 5);
                drop(growing);
                blob.delete(ObjectKey::Source(source)).await.unwrap();
                let mut growing = book.grow(&blob, source).await.unwrap();
                growing.write("more".into()).await.unwrap();
                growing.sync().await.unwrap();
                drop(growing);
                blob.discard_growing(source, None).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    world.wait_for_objects(&[]).await;
}
