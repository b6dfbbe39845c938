//! Tests of growing objects in buckets: parts, pieces, a ledger, several nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use kinora_blob::{
    Blob, Error, FaultAction, Faults, MultipartState, ObjectKey, ObjectKind, Prefix, S3Limits, WriteKind,
};

use crate::multipart_log::FakeMultipartLog;
use crate::test_store::{LOOKS_MAX, MIB, PART, TestBlob, noise, source};

/// As [`TestBlob::bucket`], with pieces only after a call of `sync`.
fn store_without_timer(world: &TestBlob) -> Blob {
    let limits = S3Limits {
        part_len: PART as u64,
        sync_interval: Duration::from_secs(24 * 60 * 60),
        ..S3Limits::default()
    };
    Blob::open_s3_with(&world.in_bucket().url(), limits).unwrap()
}

async fn piece_names(blob: &Blob) -> Vec<String> {
    let entries = blob.list(Prefix::PiecesOf(source(1)), None, 1000).await.unwrap();
    entries.iter().map(|entry| entry.key.to_string().rsplit('/').next().unwrap().to_owned()).collect()
}

async fn until_pieces_are(blob: &Blob, expected: &[&str]) {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    for _ in 0..LOOKS_MAX {
        ticks.tick().await;
        if piece_names(blob).await == expected {
            return;
        }
    }
    assert_eq!(piece_names(blob).await, expected);
}

#[tokio::test]
async fn fast_upload_is_stored_in_parts_without_pieces() {
    let world = TestBlob::bucket();
    let (book, bytes) = (FakeMultipartLog::new(), noise(3 * PART + 1));
    let blob = store_without_timer(&world).with_faults(Arc::new(Faults::new(|op| {
        assert!(op.kind != WriteKind::Put, "{op:?}");
        FaultAction::Proceed
    })));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    for start in (0..bytes.len()).step_by(100_000) {
        growing.write(bytes.slice(start..bytes.len().min(start + 100_000))).await.unwrap();
        // One part being sent, one that fills, and the commands in the queue.
        assert!(growing.written() - growing.synced() <= 2 * PART as u64 + 9 * 100_000);
        assert_eq!(growing.synced() % PART as u64, 0);
    }
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    let grown = book.grown();
    assert_eq!(
        grown.parts.iter().map(|part| part.len).collect::<Vec<_>>(),
        [PART as u64, PART as u64, PART as u64, 1]
    );
    assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.wait_for_objects(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn pieces_are_merged_and_deleted_with_their_part() {
    let world = TestBlob::bucket();
    let blob = store_without_timer(&world);
    let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 70));
    // A writer for each half: the pieces of the first one count, and the second one merges them.
    for lease in 1..=2 {
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        let from = usize::try_from(growing.synced()).unwrap();
        assert_eq!(growing.read(0..from as u64).await.unwrap(), bytes[..from], "{lease}");
        for at in from..from + 35 {
            growing.write(bytes.slice(at..=at)).await.unwrap();
            assert_eq!(growing.sync().await.unwrap(), at as u64 + 1);
        }
    }
    // 64, then one of all with the next byte, and five more.
    until_pieces_are(&blob, &["2-0", "2-65", "2-66", "2-67", "2-68", "2-69"]).await;
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.synced(), 70);
    growing.write(bytes.slice(70..)).await.unwrap();
    assert_eq!(growing.sync().await.unwrap(), bytes.len() as u64);
    assert_eq!(growing.readable_from(), PART as u64);
    until_pieces_are(&blob, &[&format!("3-{PART}")]).await;
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.wait_for_objects(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn writer_with_lost_lease_is_rejected() {
    let world = TestBlob::bucket();
    let blob = store_without_timer(&world);
    let (book, bytes) = (FakeMultipartLog::new(), noise(4 * PART));
    let mut stale = book.grow(&blob, source(1)).await.unwrap();
    stale.write(bytes.slice(..PART + MIB)).await.unwrap();
    stale.sync().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!((growing.synced(), growing.readable_from()), ((PART + MIB) as u64, PART as u64));

    // The stale writer continues: pieces, and a part of the same number.
    stale.write(bytes.slice(PART + MIB..PART + 2 * MIB)).await.unwrap();
    stale.sync().await.unwrap();
    growing.write(bytes.slice(PART + MIB..3 * PART)).await.unwrap();
    growing.sync().await.unwrap();
    let refused = async {
        stale.write(bytes.slice(PART + 2 * MIB..3 * PART)).await?;
        stale.sync().await
    };
    let error = refused.await.unwrap_err();
    assert!(matches!(&error, Error::MultipartLog(why) if why.to_string().contains("lease 1")), "{error:?}");
    assert!(stale.synced() < 2 * PART as u64);
    assert!(
        stale.write("x".into()).await.is_err()
            && stale.sync().await.is_err()
            && stale.finish().await.is_err()
    );
    assert_eq!(book.refused(), 1);

    growing.write(bytes.slice(3 * PART..)).await.unwrap();
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    drop(stale);
    world.wait_discarded(&book).await;
}

#[tokio::test]
async fn crash_at_any_multipart_log_write_is_resumable() {
    let world = TestBlob::bucket();
    let bytes = noise(2 * PART + 9);
    for writes in 0.. {
        let book = FakeMultipartLog::new();
        book.die_after(Some(writes));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        let life = async {
            growing.write(bytes.slice(..PART + 1)).await?;
            growing.sync().await?;
            growing.write(bytes.slice(PART + 1..)).await?;
            growing.finish().await
        };
        let lived = life.await;
        let synced = growing.synced();
        drop(growing);
        assert!(matches!(lived, Ok(_) | Err(Error::MultipartLog(_))), "{lived:?}");

        book.die_after(None);
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert!(synced <= growing.synced(), "{writes}: {synced} were kept, {}", growing.synced());
        let at = usize::try_from(growing.synced()).unwrap();
        growing.write(bytes.slice(at..)).await.unwrap();
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
        assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes, "{writes}");
        world.wait_discarded(&book).await;
        world.blob.delete(ObjectKey::Source(source(1))).await.unwrap();
        if lived.is_ok() {
            assert_eq!(writes, 4, "the upload and three parts");
            return;
        }
    }
}

#[tokio::test]
async fn late_announced_length_is_accepted() {
    let world = TestBlob::bucket();
    let blob = store_without_timer(&world);
    let (book, bytes) = (FakeMultipartLog::new(), noise(2 * PART + 5));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..PART + 5)).await.unwrap();
    growing.sync().await.unwrap();
    growing.announce(Some(17));
    growing.announce(Some(bytes.len() as u64));
    growing.write(bytes.slice(PART + 5..)).await.unwrap();
    // It is known to be the rest, so it is a part, not a piece.
    assert_eq!(growing.sync().await.unwrap(), bytes.len() as u64);
    assert_eq!(growing.readable_from(), bytes.len() as u64);
    drop(growing);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.announce(Some(bytes.len() as u64));
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);

    let mut growing = FakeMultipartLog::new().grow(&blob, source(2)).await.unwrap();
    growing.announce(Some(3));
    growing.write("abc".into()).await.unwrap();
    assert_eq!(growing.sync().await.unwrap(), 3);
    let more = async {
        growing.write("d".into()).await?;
        growing.sync().await
    };
    assert!(matches!(more.await, Err(Error::Internal { .. })));
    assert_eq!(growing.synced(), 3);
}

#[tokio::test]
async fn next_writer_removes_stale_pieces_of_recorded_parts() {
    let world = TestBlob::bucket();
    let blob = store_without_timer(&world);
    let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 10));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..)).await.unwrap();
    growing.sync().await.unwrap();
    drop(growing);
    until_pieces_are(&blob, &[&format!("1-{PART}")]).await;
    // As if the writer had been killed before it removed it; and an unused one.
    let prefix = Prefix::PiecesOf(source(1));
    world.in_bucket().put(&format!("{prefix}/1-7"), &bytes[7..90]);
    world.in_bucket().put(&format!("{prefix}/1-{}", PART + 11), b"behind a gap");
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.synced(), bytes.len() as u64);
    until_pieces_are(&blob, &[&format!("1-{PART}"), &format!("1-{}", PART + 11)]).await;
    growing.finish().await.unwrap();
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.wait_for_objects(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn missing_parts_are_an_error() {
    let world = TestBlob::bucket();
    let blob = store_without_timer(&world);
    let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 10));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.clone()).await.unwrap();
    growing.sync().await.unwrap();
    drop(growing);
    // A lifecycle rule of the bucket, for example, that ends uploads after some days.
    blob.discard_growing(source(7), book.grown().multipart_id).await.unwrap();
    let MultipartState { multipart_id, .. } = book.grown();
    blob.discard_growing(source(1), multipart_id).await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.synced(), PART as u64, "the parts have not been requested yet");
    growing.write(bytes.slice(PART..)).await.unwrap();
    let error = growing.finish().await.unwrap_err();
    assert!(matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))), "{error:?}");
    assert_eq!(world.list(Prefix::Kind(ObjectKind::Source)).await, [""; 0]);
}

#[tokio::test]
async fn crash_while_deleting_pieces_loses_no_bytes() {
    for deleted in 0..=3 {
        let world = TestBlob::bucket();
        let (book, bytes) = (FakeMultipartLog::new(), noise(3000));
        let left = AtomicUsize::new(deleted);
        let faults = Arc::new(Faults::new(move |op| match op.kind {
            WriteKind::Delete if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() => {
                FaultAction::Stop
            }
            _ => FaultAction::Proceed,
        }));
        let blob = store_without_timer(&world).with_faults(Arc::clone(&faults));
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        for start in [0, 1000, 2000] {
            growing.write(bytes.slice(start..start + 1000)).await.unwrap();
            growing.sync().await.unwrap();
        }
        assert_eq!(growing.finish().await.unwrap(), 3000);
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !faults.is_stopped() && !piece_names(&world.blob).await.is_empty() {
            ticks.tick().await;
        }
        assert_eq!(faults.is_stopped(), deleted < 3);

        let mut later = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(later.synced(), 3000, "{deleted} pieces were removed");
        assert_eq!(later.read(0..3000).await.unwrap(), bytes);
        assert_eq!(later.finish().await.unwrap(), 3000);
    }
}
