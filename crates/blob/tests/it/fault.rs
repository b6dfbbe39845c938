//! Bad days: a crash at any write, a full disk, a write that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinora_blob::{Error, FaultAction, Faults, ObjectKey, ObjectKind, Prefix, WriteKind};

use crate::world::{MIB, World, long_ago, noise, segment, source};

#[tokio::test]
async fn the_sweep_removes_what_a_crash_left_and_nothing_else() {
    let mut world = World::new().await;
    let dying = world.faulty(|op| match op.kind {
        WriteKind::Finish => FaultAction::Stop,
        _ => FaultAction::Proceed,
    });
    dying.put_once(segment(1, 0), "kept".into()).await.unwrap();
    let mut killed = dying.writer(ObjectKey::Source(source(1))).await.unwrap();
    killed.write(noise(3 * MIB)).await.unwrap();
    let other = dying.writer(ObjectKey::Source(source(2))).await.unwrap();
    assert!(matches!(killed.finish().await, Err(Error::Stopped)));
    drop(other);
    assert_eq!(world.files().len(), 3, "a crash removes nothing");

    world.restart().await;
    let mut at_work = world.blob.writer(ObjectKey::Source(source(3))).await.unwrap();
    at_work.write("x".into()).await.unwrap();
    assert_eq!(world.blob.sweep_temporary(long_ago()).await.unwrap(), 2);
    assert_eq!(world.blob.sweep_temporary(long_ago()).await.unwrap(), 0);
    at_work.finish().await.unwrap();
    let kept = [segment(1, 0).to_string(), ObjectKey::Source(source(3)).to_string()];
    assert_eq!(world.files(), kept.into());
}

#[tokio::test]
async fn nothing_works_after_a_stop() {
    let world = World::new().await;
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
    stopped(blob.sweep_temporary(long_ago()).await.err());
    stopped(reader.read_at(0..1).await.err());
    stopped(reader.read_many(&[0..1, 1..1]).await.err());
    stopped(writer.write(noise(MIB)).await.err());
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "x");
    assert_eq!(world.list(Prefix::Kind(ObjectKind::Segment)).await, [key.to_string()]);
}

#[tokio::test]
async fn at_whatever_write_it_stops_objects_are_whole_or_absent() {
    let whole = noise(2 * MIB + 5);
    for stop_at in 0.. {
        let mut world = World::new().await;
        let count = AtomicUsize::new(0);
        let blob = world.faulty(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            n if n == stop_at => FaultAction::Stop,
            _ => FaultAction::Proceed,
        });
        let life = async {
            let mut writer = blob.writer(ObjectKey::Source(source(1))).await?;
            for start in (0..whole.len()).step_by(100_000) {
                writer.write(whole.slice(start..whole.len().min(start + 100_000))).await?;
            }
            writer.finish().await?;
            blob.put_once(ObjectKey::Index(source(1)), whole.clone()).await?;
            blob.delete(ObjectKey::Source(source(1))).await?;
            Ok::<_, Error>(())
        };
        let finished = life.await.is_ok();

        world.restart().await;
        world.blob.sweep_temporary(long_ago()).await.unwrap();
        for name in world.files() {
            assert!(
                world.blob.get(name.parse().unwrap()).await.unwrap().unwrap() == whole,
                "stopped at {stop_at}"
            );
        }
        if finished {
            assert_eq!(world.files(), [ObjectKey::Index(source(1)).to_string()].into());
            assert!(stop_at >= 6, "create, three appends, finish, put, delete: {stop_at}");
            return;
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_left_over() {
    for full_at in [WriteKind::Put, WriteKind::Create, WriteKind::Append, WriteKind::Finish] {
        let world = World::new().await;
        let blob =
            world.faulty(move |op| if op.kind == full_at { FaultAction::Full } else { FaultAction::Proceed });
        let life = async {
            blob.put_once(ObjectKey::Index(source(1)), "x".into()).await?;
            let mut writer = blob.writer(ObjectKey::Source(source(1))).await?;
            writer.write(noise(2 * MIB)).await?;
            writer.finish().await.map(|_| ())
        };
        assert!(matches!(life.await, Err(Error::Full)), "{full_at:?}");
        let index = ObjectKey::Index(source(1)).to_string();
        assert_eq!(world.files(), (full_at != WriteKind::Put).then_some(index).into_iter().collect());
    }
}

#[tokio::test]
async fn a_writer_that_failed_once_never_makes_an_object() {
    let world = World::new().await;
    let blob = world.faulty(|op| match op.kind {
        WriteKind::Append => FaultAction::Fail,
        _ => FaultAction::Proceed,
    });
    let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write("small enough to wait".into()).await.unwrap();
    assert!(writer.write(noise(MIB)).await.is_err());
    assert_eq!(world.files().len(), 0);
    assert!(writer.write("more".into()).await.is_err());
    assert!(writer.finish().await.is_err());
    assert_eq!(world.files().len(), 0);
}
