//! Objects that grow over several writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use kinora_blob::{
    Blob, Error, FaultAction, Faults, GrowingObject, ObjectKey, ObjectKind, Prefix, Result, WriteKind,
};

use crate::multipart_log::FakeMultipartLog;
use crate::test_store::{MIB, PART, TestBlob, far_ahead, noise, on_both, source};

const KEY: fn() -> ObjectKey = || ObjectKey::Source(source(1));

/// Writes `bytes` from the end of the object up to `end`, in chunks.
async fn write_to(growing: &mut GrowingObject, bytes: &Bytes, end: usize, chunk: usize) -> Result<()> {
    loop {
        let at = usize::try_from(growing.written()).unwrap();
        if at >= end {
            return Ok(());
        }
        growing.write(bytes.slice(at..end.min(at + chunk))).await?;
        assert!(growing.synced() <= growing.written());
    }
}

/// Checks that all durable, readable bytes equal the written ones.
async fn check_kept(growing: &GrowingObject, bytes: &Bytes) {
    let (from, synced) = (growing.readable_from(), growing.synced());
    let found = growing.read(from..synced).await.unwrap();
    assert!(found == bytes[usize::try_from(from).unwrap()..usize::try_from(synced).unwrap()]);
}

async fn is_made_of(blob: &Blob, bytes: &Bytes) -> bool {
    blob.get(KEY()).await.unwrap().is_some_and(|found| found == bytes)
}

async fn discard(world: &TestBlob, book: &FakeMultipartLog) {
    world.blob.discard_growing(source(1), book.grown().multipart_id).await.unwrap();
}

on_both! {
    async fn object_grows_across_writers(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(2 * PART + 70_001));
        let ends = [0, 1, 1000, MIB, PART - 1, PART, PART + 1, 2 * PART, 2 * PART, bytes.len()];
        let mut kept = 0;
        for end in ends {
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            assert_eq!((growing.synced(), growing.written()), (kept, kept));
            check_kept(&growing, &bytes).await;
            write_to(&mut growing, &bytes, end, 300_000).await.unwrap();
            kept = growing.sync().await.unwrap();
            assert_eq!((kept, growing.synced(), growing.written()), (end as u64, end as u64, end as u64));
            assert!(world.blob.reader(KEY()).await.unwrap().is_none());
        }
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
        assert!(is_made_of(&world.blob, &bytes).await);
        discard(&world, &book).await;
        world.wait_for_objects(&[KEY()]).await;
    }

    async fn objects_of_all_lengths_are_finished_by_who_began_them(world: TestBlob) {
        for len in [0, 1, MIB, PART, PART + 1, 2 * PART, 2 * PART + 1] {
            for announced in [None, Some(len as u64)] {
                let (book, bytes) = (FakeMultipartLog::new(), noise(len));
                let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
                growing.announce(announced);
                write_to(&mut growing, &bytes, len, 1_000_000).await.unwrap();
                assert_eq!(growing.finish().await.unwrap(), len as u64);
                assert!(is_made_of(&world.blob, &bytes).await, "{len} bytes, announced {announced:?}");
                world.wait_for_objects(&[KEY()]).await;
                world.blob.delete(KEY()).await.unwrap();
            }
        }
    }

    async fn dropped_writer_leaves_durable_bytes(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(2 * PART + 9));
        let mut kept = 0;
        for _ in 0..8 {
            // Also while appends, parts and pieces are being sent.
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            assert!(kept <= growing.synced() && growing.synced() == growing.written());
            check_kept(&growing, &bytes).await;
            let end = bytes.len().min(usize::try_from(growing.written()).unwrap() + PART / 2 + 1);
            write_to(&mut growing, &bytes, end, 200_000).await.unwrap();
            kept = growing.synced();
        }
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        write_to(&mut growing, &bytes, bytes.len(), MIB).await.unwrap();
        growing.finish().await.unwrap();
        assert!(is_made_of(&world.blob, &bytes).await);
    }

    async fn cancelled_call_has_consumed_its_bytes(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(2 * PART + 3));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        for start in (0..bytes.len()).step_by(PART / 3) {
            let piece = bytes.slice(start..bytes.len().min(start + PART / 3));
            let mut write = Box::pin(growing.write(piece));
            let _ = futures_util::poll!(&mut write);
            drop(write);
            let mut keep = Box::pin(growing.sync());
            let _ = futures_util::poll!(&mut keep);
        }
        assert_eq!(growing.written(), bytes.len() as u64);
        let mut finish = Box::pin(growing.finish());
        let _ = futures_util::poll!(&mut finish);
        drop(finish);
        assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
        assert!(is_made_of(&world.blob, &bytes).await);
    }

    async fn growing_object_resumes_after_crash_at_any_write(world: TestBlob) {
        let mut world = world;
        let bytes = noise(2 * PART + 5);
        for stop_at in 0.. {
            let book = FakeMultipartLog::new();
            let count = Arc::new(AtomicUsize::new(0));
            let blob = world.faulty({
                let count = Arc::clone(&count);
                move |_| match count.fetch_add(1, Ordering::SeqCst) {
                    n if n == stop_at => FaultAction::Stop,
                    _ => FaultAction::Proceed,
                }
            });
            let mut kept = 0;
            let life = async {
                for end in [1000, PART / 2, PART + 7, bytes.len()] {
                    let mut growing = book.grow(&blob, source(1)).await?;
                    assert!(kept <= growing.synced());
                    let written = write_to(&mut growing, &bytes, end, MIB).await;
                    kept = kept.max(growing.synced());
                    written?;
                    kept = kept.max(growing.sync().await?);
                    assert_eq!(kept, end as u64);
                }
                let mut growing = book.grow(&blob, source(1)).await?;
                growing.finish().await?;
                blob.discard_growing(source(1), book.grown().multipart_id).await
            };
            let lived = life.await;
            let is_dead = matches!(lived, Err(Error::Stopped));
            assert!(is_dead || lived.is_ok(), "{lived:?}");

            world.restart().await;
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            assert!(kept <= growing.synced(), "stopped at {stop_at}: {kept} were kept, {}", growing.synced());
            check_kept(&growing, &bytes).await;
            if growing.synced() < bytes.len() as u64 {
                write_to(&mut growing, &bytes, bytes.len(), MIB).await.unwrap();
            }
            assert_eq!(growing.finish().await.unwrap(), bytes.len() as u64);
            assert!(is_made_of(&world.blob, &bytes).await, "stopped at {stop_at}");
            drop(growing);
            world.wait_discarded(&book).await;
            world.blob.delete(KEY()).await.unwrap();
            if !is_dead && count.load(Ordering::SeqCst) <= stop_at {
                assert!(stop_at >= 10, "grows, appends, keeps, finish, discard: {stop_at}");
                return;
            }
        }
    }

    async fn finishing_twice_is_finishing_once(world: TestBlob) {
        for len in [0, 1000, PART + 1] {
            let (book, bytes) = (FakeMultipartLog::new(), noise(len));
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            write_to(&mut growing, &bytes, len, MIB).await.unwrap();
            growing.sync().await.unwrap();
            for _ in 0..2 {
                assert_eq!(growing.finish().await.unwrap(), len as u64);
                assert_eq!((growing.synced(), growing.readable_from()), (len as u64, 0));
            }
            // A writer after a crash, before the completion was recorded.
            for has_left_pieces in [true, false] {
                if !has_left_pieces {
                    world.blob.discard_growing(source(1), None).await.unwrap();
                    world.wait_for_objects(&[KEY()]).await;
                }
                let mut later = book.grow(&world.blob, source(1)).await.unwrap();
                if !has_left_pieces || later.synced() == len as u64 {
                    assert_eq!((later.synced(), later.written()), (len as u64, len as u64));
                    check_kept(&later, &bytes).await;
                }
                write_to(&mut later, &bytes, len, MIB).await.unwrap();
                assert_eq!(later.sync().await.unwrap(), len as u64);
                assert_eq!(later.finish().await.unwrap(), len as u64);
                assert!(matches!(later.write("more".into()).await, Err(Error::AlreadyThere(key)) if key == KEY()));
            }
            assert!(is_made_of(&world.blob, &bytes).await);
            discard(&world, &book).await;
            world.blob.delete(KEY()).await.unwrap();
        }
    }

    async fn another_object_of_that_name_stays(world: TestBlob) {
        let book = FakeMultipartLog::new();
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        growing.write("ours".into()).await.unwrap();
        world.blob.put_once(KEY(), "them".into()).await.unwrap();
        assert!(matches!(growing.finish().await, Err(Error::AlreadyThere(key)) if key == KEY()));
        assert_eq!(world.blob.get(KEY()).await.unwrap().unwrap(), "them");
        assert!(growing.finish().await.is_err());
    }

    async fn only_durable_bytes_are_readable(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(MIB));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(growing.read(0..0).await.unwrap(), "");
        write_to(&mut growing, &bytes, MIB / 2, 10_000).await.unwrap();
        growing.sync().await.unwrap();
        drop(growing);
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        for has_more in [false, true] {
            let kept = growing.synced();
            assert_eq!(growing.read(10..2000).await.unwrap(), bytes[10..2000], "with more: {has_more}");
            assert_eq!(growing.read(kept - 1..kept).await.unwrap(), bytes[MIB / 2 - 1..MIB / 2]);
            let outside = growing.read(0..MIB as u64 + 1).await.unwrap_err();
            assert!(matches!(outside, Error::OutOfRange { .. }), "{outside:?}");
            growing.write(bytes.slice(MIB / 2..MIB / 2 + 1)).await.unwrap();
        }
    }

    async fn full_store_keeps_durable_bytes(world: TestBlob) {
        let bytes = noise(2 * PART + 1);
        let mut met = 0;
        for full_at in [WriteKind::Create, WriteKind::Append, WriteKind::Put, WriteKind::Finish] {
            let book = FakeMultipartLog::new();
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            write_to(&mut growing, &bytes, 5000, 5000).await.unwrap();
            growing.sync().await.unwrap();
            drop(growing);
            let blob = world.faulty(move |op| {
                if op.kind == full_at { FaultAction::Full } else { FaultAction::Proceed }
            });
            let life = async {
                let mut growing = book.grow(&blob, source(1)).await?;
                write_to(&mut growing, &bytes, bytes.len(), MIB).await?;
                growing.sync().await?;
                growing.finish().await.map(|_| ())
            };
            match life.await {
                Err(Error::Full) => met += 1,
                other => assert!(other.is_ok(), "{full_at:?}: {other:?}"),
            }
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            assert!(growing.synced() >= 5000, "{full_at:?}");
            check_kept(&growing, &bytes).await;
            if growing.synced() < bytes.len() as u64 {
                write_to(&mut growing, &bytes, bytes.len(), MIB).await.unwrap();
            }
            growing.finish().await.unwrap();
            assert!(is_made_of(&world.blob, &bytes).await, "{full_at:?}");
            drop(growing);
            world.wait_discarded(&book).await;
            world.blob.delete(KEY()).await.unwrap();
        }
        assert!(met >= 3, "{met}"); // a folder has no pieces to put
    }

    async fn failed_writer_stays_failed(world: TestBlob) {
        let book = FakeMultipartLog::new();
        let blob = world.faulty(|op| match op.kind {
            WriteKind::Append => FaultAction::Fail,
            _ => FaultAction::Proceed,
        });
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        let bytes = noise(2 * PART + 1);
        let first = async {
            growing.write(bytes.clone()).await?;
            growing.sync().await
        };
        assert!(first.await.is_err());
        assert!(growing.write("more".into()).await.is_err());
        assert!(growing.sync().await.is_err());
        assert!(growing.finish().await.is_err());
        assert!(world.blob.get(KEY()).await.unwrap().is_none());
    }

    async fn growing_object_calls_fail_after_stop(world: TestBlob) {
        let book = FakeMultipartLog::new();
        let faults = Arc::new(Faults::new(|_| FaultAction::Proceed));
        let blob = world.blob.clone().with_faults(Arc::clone(&faults));
        let mut growing = book.grow(&blob, source(1)).await.unwrap();
        growing.write("kept".into()).await.unwrap();
        growing.sync().await.unwrap();
        growing.write("lost".into()).await.unwrap();
        faults.stop();

        let stopped = |error: Option<Error>| assert!(matches!(error, Some(Error::Stopped)), "{error:?}");
        stopped(growing.read(0..4).await.err());
        stopped(growing.finish().await.err());
        drop(growing);
        stopped(FakeMultipartLog::new().grow(&blob, source(2)).await.err());
        stopped(blob.discard_growing(source(1), None).await.err());
        stopped(blob.latest_checkpoint(source(1)).await.err());
        stopped(blob.put_checkpoint(source(1), 0, "x".into()).await.err());
        stopped(blob.delete_checkpoints(source(1)).await.err());
        let growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert!((4..=8).contains(&growing.synced()));
        assert_eq!(growing.read(0..4).await.unwrap(), "kept");
    }

    async fn discarded_object_leaves_no_bytes(world: TestBlob) {
        for len in [0, 1000, 2 * PART + 1000] {
            let (book, bytes) = (FakeMultipartLog::new(), noise(len));
            let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
            write_to(&mut growing, &bytes, len, MIB).await.unwrap();
            growing.sync().await.unwrap();
            drop(growing);
            for _ in 0..2 {
                discard(&world, &book).await;
                world.wait_for_objects(&[]).await;
            }
            // The durable bytes of the upload are gone with it; a new one begins from nothing.
            let mut growing = FakeMultipartLog::new().grow(&world.blob, source(1)).await.unwrap();
            assert_eq!(growing.synced(), 0);
            growing.write("new".into()).await.unwrap();
            assert_eq!(growing.finish().await.unwrap(), 3);
            world.wait_for_objects(&[KEY()]).await;
            world.blob.delete(KEY()).await.unwrap();
        }
    }

    async fn object_discarded_during_write_is_not_found(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 1));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        write_to(&mut growing, &bytes, PART + 1, MIB).await.unwrap();
        growing.sync().await.unwrap();
        discard(&world, &book).await;
        let error = growing.finish().await.unwrap_err();
        assert!(matches!(error, Error::Gone(key) if key == ObjectKey::Growing(source(1))), "{error:?}");
        assert!(world.blob.get(KEY()).await.unwrap().is_none());
    }

    async fn sweep_keeps_growing_objects(world: TestBlob) {
        let (book, bytes) = (FakeMultipartLog::new(), noise(PART + 1000));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        write_to(&mut growing, &bytes, bytes.len(), MIB).await.unwrap();
        growing.sync().await.unwrap();
        drop(growing);
        world.blob.put_checkpoint(source(1), 7, "seven".into()).await.unwrap();
        assert_eq!(world.blob.sweep_temporary(far_ahead()).await.unwrap(), 0);
        assert_eq!(world.blob.latest_checkpoint(source(1)).await.unwrap().unwrap().0, 7);
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(growing.synced(), bytes.len() as u64);
        growing.finish().await.unwrap();
        assert!(is_made_of(&world.blob, &bytes).await);
    }

    async fn growing_object_is_listed(world: TestBlob) {
        let book = FakeMultipartLog::new();
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        growing.write("some".into()).await.unwrap();
        growing.sync().await.unwrap();
        world.blob.put_checkpoint(source(1), 4, "four".into()).await.unwrap();
        let kind = if world.is_bucket() { ObjectKind::Piece } else { ObjectKind::Growing };
        let name = if world.is_bucket() { "piece/01/00000000-0000-0000-0000-000000000001/1-0" } else {
            "growing/01/00000000-0000-0000-0000-000000000001"
        };
        assert_eq!(world.list(Prefix::Kind(kind)).await, [name]);
        if world.is_bucket() {
            assert_eq!(world.list(Prefix::PiecesOf(source(1))).await, [name]);
        }
        assert_eq!(
            world.list(Prefix::Kind(ObjectKind::Checkpoint)).await,
            [ObjectKey::Checkpoint(source(1), 4).to_string()]
        );
        // A sweep of objects without a row removes it by these names.
        for kind in [ObjectKind::Growing, ObjectKind::Piece, ObjectKind::Checkpoint] {
            for entry in world.blob.list(Prefix::Kind(kind), None, 10).await.unwrap() {
                world.blob.delete(entry.key).await.unwrap();
            }
        }
        world.wait_for_objects(&[]).await;
    }

    async fn foreign_file_at_growing_path_is_ignored(world: TestBlob) {
        let below = "01/00000000-0000-0000-0000-000000000001";
        let foreign = [
            format!("piece/{below}/1"),
            format!("piece/{below}/01-0"),
            format!("piece/{below}/1-0-0"),
            format!("piece/{below}/x/1-0"),
            format!("checkpoint/{below}/-1"),
            format!("checkpoint/{below}/99999999999999999999"),
            format!("checkpoint/{below}/5.tmp"),
        ];
        for name in &foreign {
            world.put_foreign(name);
        }
        let (book, bytes) = (FakeMultipartLog::new(), noise(2000));
        let mut growing = book.grow(&world.blob, source(1)).await.unwrap();
        assert_eq!(growing.synced(), 0);
        write_to(&mut growing, &bytes, 2000, 100).await.unwrap();
        growing.sync().await.unwrap();
        growing.finish().await.unwrap();
        assert!(is_made_of(&world.blob, &bytes).await);
        assert!(world.blob.latest_checkpoint(source(1)).await.unwrap().is_none());
        discard(&world, &book).await;
        world.blob.delete_checkpoints(source(1)).await.unwrap();
        let expected = foreign.into_iter().chain([KEY().to_string()]).collect();
        world.wait_for_names(&expected).await;
    }
}
