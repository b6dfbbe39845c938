//! What only a folder has of growing objects: a file, a lock, a clock.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use kinora_blob::{Blob, Error, GrowingObject, ObjectKey};

use crate::ledger::Book;
use crate::world::{MIB, World, noise, source};

/// Timers count whole milliseconds.
const SYNC_WITHIN: Duration = Duration::from_millis(50 + 1);

/// Waits until so much is kept, while no clock moves.
async fn until_kept(growing: &GrowingObject, kept: u64) {
    while growing.kept() < kept {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.kept(), kept);
}

#[tokio::test]
async fn only_one_writer_has_the_file() {
    let world = World::folder().await;
    let book = Book::new();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    growing.write("first".into()).await.unwrap();
    // Another handle, as another process would have one.
    let other = Blob::open_folder(world.root()).await.unwrap();
    for blob in [&world.blob, &other] {
        let error = Book::new().grow(blob, source(1)).await.unwrap_err();
        assert!(
            matches!(error, Error::HeldElsewhere(key) if key == ObjectKey::Growing(source(1))),
            "{error:?}"
        );
    }
    Book::new().grow(&other, source(2)).await.unwrap();
    assert_eq!(growing.keep().await.unwrap(), 5);
    drop(growing);
    assert_eq!(book.grow(&other, source(1)).await.unwrap().kept(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_was_dropped_or_cancelled_is_waited_for() {
    let world = World::folder().await;
    let (book, bytes) = (Book::new(), noise(4 * MIB));
    let mut kept = 0;
    for _ in 0..30 {
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert!(kept <= growing.kept());
        growing.write(bytes.clone()).await.unwrap();
        kept = growing.kept();
        drop(growing);
        let mut opening = Box::pin(book.grow(&world.blob, source(1)));
        let _ = futures_util::poll!(&mut opening);
        drop(opening);
    }
}

#[tokio::test]
async fn bytes_are_synced_in_time_though_nobody_calls() {
    let world = World::folder().await;
    // Before the first moment that counts, the opening.
    tokio::time::pause();
    let mut growing = Book::new().grow(&world.blob, source(1)).await.unwrap();
    growing.write("one".into()).await.unwrap();
    growing.write("two".into()).await.unwrap();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(growing.kept(), 0, "no time has passed");
    tokio::time::advance(SYNC_WITHIN).await;
    until_kept(&growing, 6).await;
    growing.write("three".into()).await.unwrap();
    tokio::time::advance(SYNC_WITHIN).await;
    until_kept(&growing, 11).await;
}

#[tokio::test]
async fn a_fast_line_is_synced_every_few_mib() {
    let world = World::folder().await;
    let mut growing = Book::new().grow(&world.blob, source(1)).await.unwrap();
    tokio::time::pause();
    let bytes = noise(256 << 10);
    for _ in 0..400 {
        growing.write(bytes.clone()).await.unwrap();
        // 16 MiB not synced, two batches of 1 MiB that are not in the file yet, and what stands in the line.
        assert!(growing.written() - growing.kept() <= (18 << 20) + 10 * (256 << 10));
    }
    assert!(growing.kept() > 0);
}

#[tokio::test]
async fn the_file_is_closed_to_others_and_goes_on_where_it_ends() {
    let world = World::folder().await;
    let book = Book::new();
    drop(book.grow(&world.blob, source(1)).await.unwrap());
    let path = world.root().join(ObjectKey::Growing(source(1)).to_string());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    // What a process that was killed had written and not synced.
    fs::write(&path, "half a line").unwrap();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    assert_eq!((growing.kept(), growing.readable_from()), (11, 0));
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
async fn a_second_name_that_stayed_is_removed() {
    let world = World::folder().await;
    let book = Book::new();
    let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
    growing.write("whole".into()).await.unwrap();
    growing.finish().await.unwrap();
    // As a crash leaves it where a file cannot be renamed without replacing.
    let [from, to] = [ObjectKey::Growing(source(1)), ObjectKey::Source(source(1))]
        .map(|key| world.root().join(key.to_string()));
    fs::hard_link(&to, &from).unwrap();
    let mut later = book.grow(&world.blob, source(1)).await.unwrap();
    assert_eq!((later.kept(), later.finish().await.unwrap()), (5, 5));
    world.until_there_is(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn growing_objects_of_one_folder_come_and_go_beside_each_other() {
    let world = World::folder().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let blob = world.blob.clone();
        tasks.spawn(async move {
            // All in one shard.
            let source = source(n << 8);
            for _ in 0..20 {
                let book = Book::new();
                let mut growing = book.grow(&blob, source).await.unwrap();
                growing.write("bytes".into()).await.unwrap();
                assert_eq!(growing.finish().await.unwrap(), 5);
                drop(growing);
                blob.delete(ObjectKey::Source(source)).await.unwrap();
                let mut growing = book.grow(&blob, source).await.unwrap();
                growing.write("more".into()).await.unwrap();
                growing.keep().await.unwrap();
                drop(growing);
                blob.discard_growing(source, None).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    world.until_there_is(&[]).await;
}
