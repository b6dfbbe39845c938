//! What only a bucket has of growing objects: parts, pieces, a ledger, several nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use kinora_blob::{
    Blob, Error, FaultAction, Faults, Grown, ObjectKey, ObjectKind, Prefix, S3Limits, WriteKind,
};

use crate::ledger::Book;
use crate::world::{LOOKS_MAX, MIB, PART, World, noise, source};

/// As [`World::bucket`], with pieces only where `keep` asks for them.
fn patient(world: &World) -> Blob {
    let limits = S3Limits {
        part_len: PART as u64,
        piece_within: Duration::from_secs(24 * 60 * 60),
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
async fn a_fast_line_is_kept_in_parts_and_needs_no_pieces() {
    let world = World::bucket();
    let (book, bytes) = (Book::new(), noise(3 * PART + 1));
    let blob = patient(&world).with_faults(Arc::new(Faults::new(|op| {
        assert!(op.kind != WriteKind::Put, "{op:?}");
        FaultAction::Proceed
    })));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    for start in (0..bytes.len()).step_by(100_000) {
        growing.write(bytes.slice(start..bytes.len().min(start + 100_000))).await.unwrap();
        // One part on its way, one that fills, and what stands in the line.
        assert!(growing.written() - growing.kept() <= 2 * PART as u64 + 9 * 100_000);
        assert_eq!(growing.kept() % PART as u64, 0);
    }
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    let grown = book.grown();
    assert_eq!(
        grown.parts.iter().map(|part| part.len).collect::<Vec<_>>(),
        [PART as u64, PART as u64, PART as u64, 1]
    );
    assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.until_there_is(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn many_pieces_become_one_and_go_with_their_part() {
    let world = World::bucket();
    let blob = patient(&world);
    let (book, bytes) = (Book::new(), noise(PART + 70));
    // A writer for each half: what the first one left counts, and is merged by the second one.
    for lease in 1..=2 {
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        let from = usize::try_from(growing.kept()).unwrap();
        assert_eq!(growing.read(0..from as u64).await.unwrap(), bytes[..from], "{lease}");
        for at in from..from + 35 {
            growing.write(bytes.slice(at..=at)).await.unwrap();
            assert_eq!(growing.keep().await.unwrap(), at as u64 + 1);
        }
    }
    // 64, then one of all with the next byte, and five more.
    until_pieces_are(&blob, &["2-0", "2-65", "2-66", "2-67", "2-68", "2-69"]).await;
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.kept(), 70);
    growing.write(bytes.slice(70..)).await.unwrap();
    assert_eq!(growing.keep().await.unwrap(), bytes.len() as u64);
    assert_eq!(growing.readable_from(), PART as u64);
    until_pieces_are(&blob, &[&format!("3-{PART}")]).await;
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.until_there_is(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn a_writer_that_has_lost_the_object_is_refused_and_does_no_harm() {
    let world = World::bucket();
    let blob = patient(&world);
    let (book, bytes) = (Book::new(), noise(4 * PART));
    let mut stale = book.grow(&blob, source(1)).await.unwrap();
    stale.write(bytes.slice(..PART + MIB)).await.unwrap();
    stale.keep().await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!((growing.kept(), growing.readable_from()), ((PART + MIB) as u64, PART as u64));

    // He goes on: pieces, and a part of the same number.
    stale.write(bytes.slice(PART + MIB..PART + 2 * MIB)).await.unwrap();
    stale.keep().await.unwrap();
    growing.write(bytes.slice(PART + MIB..3 * PART)).await.unwrap();
    growing.keep().await.unwrap();
    let refused = async {
        stale.write(bytes.slice(PART + 2 * MIB..3 * PART)).await?;
        stale.keep().await
    };
    let error = refused.await.unwrap_err();
    assert!(matches!(&error, Error::Ledger(why) if why.to_string().contains("lease 1")), "{error:?}");
    assert!(stale.kept() < 2 * PART as u64);
    assert!(
        stale.write("x".into()).await.is_err()
            && stale.keep().await.is_err()
            && stale.finish().await.is_err()
    );
    assert_eq!(book.refused(), 1);

    growing.write(bytes.slice(3 * PART..)).await.unwrap();
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    drop(stale);
    world.until_discarded(&book).await;
}

#[tokio::test]
async fn at_whatever_write_of_the_ledger_it_ends_the_next_writer_goes_on() {
    let world = World::bucket();
    let bytes = noise(2 * PART + 9);
    for writes in 0.. {
        let book = Book::new();
        book.die_after(Some(writes));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        let life = async {
            growing.write(bytes.slice(..PART + 1)).await?;
            growing.keep().await?;
            growing.write(bytes.slice(PART + 1..)).await?;
            growing.finish().await
        };
        let lived = life.await;
        let kept = growing.kept();
        drop(growing);
        assert!(matches!(lived, Ok(_) | Err(Error::Ledger(_))), "{lived:?}");

        book.die_after(None);
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert!(kept <= growing.kept(), "{writes}: {kept} were kept, {}", growing.kept());
        let at = usize::try_from(growing.kept()).unwrap();
        growing.write(bytes.slice(at..)).await.unwrap();
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
        assert!(world.blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes, "{writes}");
        world.until_discarded(&book).await;
        world.blob.delete(ObjectKey::Source(source(1))).await.unwrap();
        if lived.is_ok() {
            assert_eq!(writes, 4, "the upload and three parts");
            return;
        }
    }
}

#[tokio::test]
async fn a_length_that_is_announced_late_is_met() {
    let world = World::bucket();
    let blob = patient(&world);
    let (book, bytes) = (Book::new(), noise(2 * PART + 5));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..PART + 5)).await.unwrap();
    growing.keep().await.unwrap();
    growing.announce(Some(17));
    growing.announce(Some(bytes.len() as u64));
    growing.write(bytes.slice(PART + 5..)).await.unwrap();
    // The rest is known to be the rest: it is a part, not a piece.
    assert_eq!(growing.keep().await.unwrap(), bytes.len() as u64);
    assert_eq!(growing.readable_from(), bytes.len() as u64);
    drop(growing);
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.announce(Some(bytes.len() as u64));
    assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);

    let mut growing = Book::new().grow(&blob, source(2)).await.unwrap();
    growing.announce(Some(3));
    growing.write("abc".into()).await.unwrap();
    assert_eq!(growing.keep().await.unwrap(), 3);
    let more = async {
        growing.write("d".into()).await?;
        growing.keep().await
    };
    assert!(matches!(more.await, Err(Error::Internal { .. })));
    assert_eq!(growing.kept(), 3);
}

#[tokio::test]
async fn pieces_of_recorded_parts_that_stayed_are_removed_by_the_next_writer() {
    let world = World::bucket();
    let blob = patient(&world);
    let (book, bytes) = (Book::new(), noise(PART + 10));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.slice(..)).await.unwrap();
    growing.keep().await.unwrap();
    drop(growing);
    until_pieces_are(&blob, &[&format!("1-{PART}")]).await;
    // As if he had been killed before he removed it; and one that nothing leads to.
    let below = Prefix::PiecesOf(source(1));
    world.in_bucket().put(&format!("{below}/1-7"), &bytes[7..90]);
    world.in_bucket().put(&format!("{below}/1-{}", PART + 11), b"behind a gap");
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.kept(), bytes.len() as u64);
    until_pieces_are(&blob, &[&format!("1-{PART}"), &format!("1-{}", PART + 11)]).await;
    growing.finish().await.unwrap();
    assert!(blob.get(ObjectKey::Source(source(1))).await.unwrap().unwrap() == bytes);
    world.until_there_is(&[ObjectKey::Source(source(1))]).await;
}

#[tokio::test]
async fn parts_that_the_store_no_longer_has_are_told() {
    let world = World::bucket();
    let blob = patient(&world);
    let (book, bytes) = (Book::new(), noise(PART + 10));
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    growing.write(bytes.clone()).await.unwrap();
    growing.keep().await.unwrap();
    drop(growing);
    // A rule of the bucket, say, that ends uploads after some days.
    blob.discard_growing(source(7), book.grown().multipart).await.unwrap();
    let Grown { multipart, .. } = book.grown();
    blob.discard_growing(source(1), multipart).await.unwrap();
    let mut growing = book.grow(&blob, source(1)).await.unwrap();
    assert_eq!(growing.kept(), PART as u64, "nobody has asked for the parts yet");
    growing.write(bytes.slice(PART..)).await.unwrap();
    let error = growing.finish().await.unwrap_err();
    assert!(matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))), "{error:?}");
    assert_eq!(world.list(Prefix::Kind(ObjectKind::Source)).await, [""; 0]);
}

#[tokio::test]
async fn whoever_dies_while_pieces_go_leaves_all_that_was_kept() {
    for deleted in 0..=3 {
        let world = World::bucket();
        let (book, bytes) = (Book::new(), noise(3000));
        let left = AtomicUsize::new(deleted);
        let faults = Arc::new(Faults::new(move |op| match op.kind {
            WriteKind::Delete if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() => {
                FaultAction::Stop
            }
            _ => FaultAction::Proceed,
        }));
        let blob = patient(&world).with_faults(Arc::clone(&faults));
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        for start in [0, 1000, 2000] {
            growing.write(bytes.slice(start..start + 1000)).await.unwrap();
            growing.keep().await.unwrap();
        }
        assert_eq!(growing.finish().await.unwrap(), 3000);
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while !faults.is_stopped() && !piece_names(&world.blob).await.is_empty() {
            ticks.tick().await;
        }
        assert_eq!(faults.is_stopped(), deleted < 3);

        let mut later = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(later.kept(), 3000, "{deleted} pieces were removed");
        assert_eq!(later.read(0..3000).await.unwrap(), bytes);
        assert_eq!(later.finish().await.unwrap(), 3000);
    }
}
