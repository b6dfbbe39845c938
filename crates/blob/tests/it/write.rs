//! Writing: whole objects, streamed objects, and their visibility to other readers.

use bytes::Bytes;
use kinora_blob::{Error, ImageHash, ObjectKey, PutOutcome};
use kinora_domain::PresentationId;

use crate::test_store::{MIB, PART, TestBlob, noise, on_both, rendition, segment, source};

on_both! {
    async fn object_is_read_as_written(world: TestBlob) {
        for (key, bytes) in [
            (ObjectKey::Source(source(1)), noise(3 * MIB + 17)),
            (ObjectKey::Index(PresentationId::of(source(1))), noise(1)),
            (ObjectKey::Init(rendition(2)), Bytes::new()),
            (segment(2, 0), noise(700)),
            (ObjectKey::Image(PresentationId::of(source(1)), ImageHash([7; 16])), noise(9)),
            (ObjectKey::DemoClip, noise(70_000)),
        ] {
            assert!(world.blob.get(key).await.unwrap().is_none(), "{key}");
            assert!(world.blob.reader(key).await.unwrap().is_none(), "{key}");
            assert_eq!(world.blob.put_once(key, bytes.clone()).await.unwrap(), PutOutcome::Written, "{key}");
            assert_eq!(world.blob.get(key).await.unwrap(), Some(bytes), "{key}");
            assert!(world.everything().contains(&key.to_string()));
        }
        assert_eq!(world.everything().len(), 6);
    }

    async fn second_put_does_not_replace_object(world: TestBlob) {
        let key = segment(1, 1);
        assert_eq!(world.blob.put_once(key, "first".into()).await.unwrap(), PutOutcome::Written);
        assert_eq!(world.blob.put_once(key, "second".into()).await.unwrap(), PutOutcome::AlreadyThere);
        assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "first");
        assert_eq!(world.everything(), [key.to_string()].into());
    }

    async fn of_many_writers_at_once_exactly_one_wins(world: TestBlob) {
        // SeaweedFS takes a second for this many at once.
        let rounds = if world.is_bucket() { 3 } else { 20 };
        for round in 0..rounds {
            let key = segment(round, 0);
            let mut tasks = tokio::task::JoinSet::new();
            for n in 0..16 {
                let blob = world.blob.clone();
                tasks.spawn(async move {
                    let bytes = Bytes::from(format!("writer {n}"));
                    let outcome = blob.put_once(key, bytes.clone()).await.unwrap();
                    let found = blob.get(key).await.unwrap().expect("one of the writers has stored it");
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
        assert_eq!(world.everything().len() as u128, rounds);
    }

    async fn streamed_object_appears_when_finished(world: TestBlob) {
        let plans = [(0, 0), (1, 1), (3, 100), (10, MIB), (5000, 1000), (3, 2 * PART), (1, 0), (2, PART), (1, PART)];
        let mut keys = Vec::new();
        for (n, (pieces, piece)) in (0..).zip(plans) {
            let key = ObjectKey::Source(source(n));
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
            keys.push(key);
        }
        world.wait_for_objects(&keys).await;
    }

    async fn object_of_announced_length_equals_streamed_object(world: TestBlob) {
        let mut keys = Vec::new();
        for (n, len) in (0..).zip([0, 1, MIB, PART, PART + 1, 2 * PART + 1]) {
            let key = ObjectKey::Source(source(n));
            let bytes = noise(len);
            let mut writer = world.blob.writer(key).await.unwrap();
            writer.announce(Some(17));
            writer.announce(Some(len as u64));
            writer.write(bytes.clone()).await.unwrap();
            writer.announce(None);
            assert_eq!(writer.finish().await.unwrap(), len as u64);
            assert!(world.blob.get(key).await.unwrap().unwrap() == bytes, "{len} bytes");
            keys.push(key);
        }
        world.wait_for_objects(&keys).await;
    }

    async fn dropped_writer_leaves_no_object(world: TestBlob) {
        for len in [0, 10, PART, 2 * PART + 10, 4 * PART] {
            let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
            writer.write(noise(len)).await.unwrap();
            drop(writer);
            world.wait_for_objects(&[]).await;
        }
    }

    async fn finish_with_existing_key_is_rejected(world: TestBlob) {
        let key = ObjectKey::Source(source(1));
        for len in [4, 2 * PART] {
            let mut writer = world.blob.writer(key).await.unwrap();
            writer.write(noise(len)).await.unwrap();
            world.blob.put_once(key, "early".into()).await.unwrap();
            assert!(matches!(writer.finish().await, Err(Error::AlreadyThere(taken)) if taken == key));
            assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "early");
            world.wait_for_objects(&[key]).await;
        }
    }

    async fn cancelled_write_has_consumed_its_bytes(world: TestBlob) {
        let key = ObjectKey::Source(source(1));
        let bytes = noise(4 * PART + 3);
        let mut writer = world.blob.writer(key).await.unwrap();
        for start in (0..bytes.len()).step_by(PART / 2) {
            let piece = bytes.slice(start..bytes.len().min(start + PART / 2));
            // Polled once and dropped: the work that it waited for continues.
            let mut write = Box::pin(writer.write(piece));
            let _ = futures_util::poll!(&mut write);
            drop(write);
        }
        assert_eq!(writer.finish().await.unwrap(), bytes.len() as u64);
        assert!(world.blob.get(key).await.unwrap().unwrap() == bytes);
        world.wait_for_objects(&[key]).await;
    }
}
