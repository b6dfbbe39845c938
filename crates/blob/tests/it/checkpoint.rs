//! Checkpoints of growing sources.

use bytes::Bytes;
use kinora_blob::{Error, FaultAction, ObjectKey, READ_MAX, WriteKind};

use crate::test_store::{TestBlob, on_both, source};

on_both! {
    async fn only_checkpoint_with_highest_offset_remains(world: TestBlob) {
        let (one, other) = (source(1), source(2));
        assert_eq!(world.blob.latest_checkpoint(one).await.unwrap(), None);
        world.blob.put_checkpoint(other, 3, "other".into()).await.unwrap();
        // By number, not by text; and one of an earlier writer comes late.
        for (offset, highest) in [(0, 0), (9, 9), (10, 10), (10, 10), (1_000_000, 1_000_000), (99, 1_000_000)] {
            world.blob.put_checkpoint(one, offset, offset.to_string().into()).await.unwrap();
            let found = world.blob.latest_checkpoint(one).await.unwrap();
            assert_eq!(found, Some((highest, Bytes::from(highest.to_string()))));
            world.wait_for_objects(&[ObjectKey::Checkpoint(other, 3), ObjectKey::Checkpoint(one, highest)]).await;
        }
        for _ in 0..2 {
            world.blob.delete_checkpoints(one).await.unwrap();
            assert_eq!(world.blob.latest_checkpoint(one).await.unwrap(), None);
        }
        world.wait_for_objects(&[ObjectKey::Checkpoint(other, 3)]).await;
    }

    async fn last_checkpoint_survives_failed_write(world: TestBlob) {
        for kind in [WriteKind::Put, WriteKind::Delete] {
            let blob = world.faulty(move |op| if op.kind == kind { FaultAction::Full } else { FaultAction::Proceed });
            world.blob.put_checkpoint(source(1), 5, "five".into()).await.unwrap();
            assert!(matches!(blob.put_checkpoint(source(1), 8, "eight".into()).await, Err(Error::Full)));
            let expected = if kind == WriteKind::Put { (5, "five".into()) } else { (8, "eight".into()) };
            assert_eq!(world.blob.latest_checkpoint(source(1)).await.unwrap(), Some(expected));
        }
    }
}

#[tokio::test]
async fn checkpoint_above_read_max_is_rejected() {
    let world = TestBlob::folder().await;
    let long = Bytes::from(vec![0; usize::try_from(READ_MAX).unwrap() + 1]);
    assert!(matches!(world.blob.put_checkpoint(source(1), 0, long).await, Err(Error::TooLong { .. })));
    world.wait_for_objects(&[]).await;
}
