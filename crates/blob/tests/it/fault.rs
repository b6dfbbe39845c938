//! Injected faults: a crash at any write, a full disk, a failed write.

use kinora_domain::PresentationId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinora_blob::{Error, FaultAction, Faults, ObjectKey, ObjectKind, Prefix, WriteKind};

use crate::test_store::{TestBlob, far_ahead, noise, on_both, segment, source};

on_both! {
    async fn sweep_removes_crash_orphans_only(world: TestBlob) {
        let mut world = world;
        let dying = world.faulty(|op| match op.kind {
            WriteKind::Finish => FaultAction::Stop,
            _ => FaultAction::Proceed,
        });
        dying.put_once(segment(1, 0), "kept".into()).await.unwrap();
        let mut killed = [1, 2].map(|n| (ObjectKey::Source(source(n)), None));
        for (key, writer) in &mut killed {
            let writer = writer.insert(dying.writer(*key).await.unwrap());
            // Two parts or batches are written when the third one begins.
            writer.write(noise(2 * world.batch() + 1)).await.unwrap();
        }
        let [(_, one), (_, other)] = killed;
        assert!(matches!(one.unwrap().finish().await, Err(Error::Stopped)));
        drop(other);
        // Of each: the file; or the upload and its note.
        let left = if world.is_bucket() { 4 } else { 2 };
        assert_eq!(world.everything().len(), 1 + left, "a crash removes nothing: {:?}", world.everything());

        world.restart().await;
        assert_eq!(world.sweep_until_objects(&[segment(1, 0)]).await, 2);
        assert_eq!(world.blob.sweep_temporary(far_ahead()).await.unwrap(), 0);
    }

    async fn calls_fail_after_stop(world: TestBlob) {
        let key = segment(1, 0);
        world.blob.put_once(key, "x".into()).await.unwrap();
        let faults = Arc::new(Faults::new(|_| FaultAction::Proceed));
        let blob = world.blob.clone().with_faults(Arc::clone(&faults));
        let reader = blob.reader(key).await.unwrap().unwrap();
        let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
        faults.stop();

        let stopped = |error: Option<Error>| assert!(matches!(error, Some(Error::Stopped)), "{error:?}");
        stopped(blob.put_once(segment(1, 1), "x".into()).await.err());
        stopped(blob.writer(ObjectKey::Source(source(2))).await.err());
        stopped(blob.get(key).await.err());
        stopped(blob.delete(key).await.err());
        stopped(blob.list(Prefix::Kind(ObjectKind::Segment), None, 1).await.err());
        stopped(blob.free_space().await.err());
        stopped(blob.sweep_temporary(far_ahead()).await.err());
        stopped(reader.read_at(0..1).await.err());
        stopped(reader.read_many(&[0..1, 1..1]).await.err());
        stopped(writer.write(noise(2 * world.batch() + 1)).await.err());
        assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "x");
        assert_eq!(world.list(Prefix::Kind(ObjectKind::Segment)).await, [key.to_string()]);
    }

    async fn crash_at_any_write_leaves_whole_or_no_object(world: TestBlob) {
        let mut world = world;
        let whole = noise(2 * world.batch() + 5);
        for stop_at in 0.. {
            let (streamed, put) = (ObjectKey::Source(source(stop_at)), ObjectKey::Index(PresentationId::of(source(stop_at))));
            let count = AtomicUsize::new(0);
            let stop_after = usize::try_from(stop_at).unwrap();
            let blob = world.faulty(move |_| match count.fetch_add(1, Ordering::Relaxed) {
                n if n == stop_after => FaultAction::Stop,
                _ => FaultAction::Proceed,
            });
            let life = async {
                let mut writer = blob.writer(streamed).await?;
                for start in (0..whole.len()).step_by(100_000) {
                    writer.write(whole.slice(start..whole.len().min(start + 100_000))).await?;
                }
                writer.finish().await?;
                blob.put_once(put, whole.clone()).await?;
                blob.delete(streamed).await?;
                Ok::<_, Error>(())
            };
            let finished = life.await.is_ok();

            world.restart().await;
            let mut there = Vec::new();
            for key in [streamed, put] {
                if let Some(found) = world.blob.get(key).await.unwrap() {
                    assert!(found == whole, "stopped at {stop_at}");
                    there.push(key);
                }
            }
            world.sweep_until_objects(&there).await;
            if finished {
                assert_eq!(there, [put]);
                assert!(stop_at >= 6, "create, three appends, finish, put, delete: {stop_at}");
                return;
            }
            for key in there {
                world.blob.delete(key).await.unwrap();
            }
        }
    }

    async fn full_store_is_reported_and_leaves_no_bytes(world: TestBlob) {
        let index = ObjectKey::Index(PresentationId::of(source(1)));
        for full_at in [WriteKind::Put, WriteKind::Create, WriteKind::Append, WriteKind::Finish] {
            let blob = world.faulty(move |op| {
                if op.kind == full_at { FaultAction::Full } else { FaultAction::Proceed }
            });
            let life = async {
                blob.put_once(index, "x".into()).await?;
                let mut writer = blob.writer(ObjectKey::Source(source(1))).await?;
                writer.write(noise(2 * world.batch() + 1)).await?;
                writer.finish().await.map(|_| ())
            };
            assert!(matches!(life.await, Err(Error::Full)), "{full_at:?}");
            let there: Vec<ObjectKey> = (full_at != WriteKind::Put).then_some(index).into_iter().collect();
            world.wait_for_objects(&there).await;
            world.blob.delete(index).await.unwrap();
        }
    }

    async fn failed_writer_never_creates_an_object(world: TestBlob) {
        let appends = AtomicUsize::new(0);
        let blob = world.faulty(move |op| match op.kind {
            WriteKind::Append if appends.fetch_add(1, Ordering::Relaxed) == 1 => FaultAction::Fail,
            _ => FaultAction::Proceed,
        });
        let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
        writer.write("small enough to wait".into()).await.unwrap();
        let piece = noise(world.batch());
        writer.write(piece.clone()).await.unwrap();
        assert!(writer.write(piece.clone()).await.is_err());
        assert!(writer.write("more".into()).await.is_err());
        assert!(writer.finish().await.is_err());
        world.wait_for_objects(&[]).await;
    }
}
