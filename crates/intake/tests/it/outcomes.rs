//! The outcome of an upload: exactly one media.

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_domain::LengthRejected;
use kinora_intake::{Append, Checksum, IntakeError, MaintenanceOutcome};
use kinora_store::JobQueue;
use sha2::{Digest as _, Sha256};

use crate::world::{World, append, clip, on_both, pieces, send};

on_both! {
    async fn last_byte_makes_media_ready(world: World) {
        let (node, file) = (world.node().await, clip(0));
        let id = world.upload().await;
        let progress = send(std::slice::from_ref(&node), id, &file, file.len()).await.unwrap();
        assert_eq!((progress.offset, progress.is_complete()), (file.len() as u64, true));
        assert_eq!(world.media_state(id).await, Some("Ready"));
        assert_eq!(world.ready_bytes(id).await, file);

        // Every repeated request gets the same result and creates nothing.
        assert!(node.progress(id).await.unwrap().is_complete());
        let whole_file = Append { may_overlap: true, is_last: true, ..append(0, file.clone()) };
        assert!(node.receive(id, whole_file).await.unwrap().is_complete());
        let again = node.receive(id, append(file.len(), Bytes::new())).await;
        assert!(matches!(again, Err(IntakeError::Complete(_))), "{again:?}");
        assert!(matches!(node.cancel(id).await, Err(IntakeError::Complete(_))));
        assert_eq!(node.maintain(id).await.unwrap(), MaintenanceOutcome::Settled);
    }

    async fn last_body_sets_unknown_length(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let first = Append { body_len: None, ..append(0, file.slice(..200_000)) };
        let progress = node.receive(id, first).await.unwrap();
        assert_eq!((progress.offset, progress.upload.length), (200_000, None));
        assert_eq!(world.media_state(id).await, Some("Created"));
        let last = Append { body_len: None, is_last: true, ..append(200_000, file.slice(200_000..)) };
        assert!(node.receive(id, last).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn invalid_file_is_rejected_with_reason(world: World) {
        let node = world.node().await;
        let text = Bytes::from("This is a text. ".repeat(100));
        let id = world.upload().await;
        let refused = send(std::slice::from_ref(&node), id, &text, text.len()).await;
        let Err(IntakeError::Rejected(failure)) = refused else { panic!("{refused:?}") };
        assert_eq!(failure.code.as_str(), "not_media");
        assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
        let again = node.receive(id, append(0, text)).await;
        assert!(matches!(again, Err(IntakeError::Ended(_))), "{again:?}");
    }

    async fn invalid_file_is_rejected_before_last_byte(world: World) {
        let node = world.node().await;
        let id = world.upload().await;
        let text = Bytes::from("This is a text. ".repeat(1_000_000));
        let announced = Append { length: Some(1 << 40), body_len: None, ..append(0, text) };
        let refused = node.receive(id, announced).await;
        assert!(matches!(refused, Err(IntakeError::Rejected(_))), "{refused:?}");
        assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
    }

    async fn rejection_before_first_byte_fails_the_media(world: World) {
        let node = world.node().await;
        let id = world.upload().await;
        // Enough pieces that the scanner rejects the first before the last of a batch is passed on.
        let text = Bytes::from("This is a text. ".repeat(1024));
        let body = futures_util::stream::iter(vec![text; 64]).map(Ok).boxed();
        let announced = Append { length: Some(1 << 40), body_len: None, body, ..append(0, Bytes::new()) };
        let refused = node.receive(id, announced).await;
        assert!(matches!(refused, Err(IntakeError::Rejected(_))), "{refused:?}");
        assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
    }

    async fn file_that_needs_remux_is_left_to_job(world: World) {
        let node = world.node().await;
        let file = kinora_testkit::fixture::containers::transport_stream();
        let id = world.upload().await;
        let progress = send(std::slice::from_ref(&node), id, &file, 100_000).await.unwrap();
        assert!(progress.is_complete());
        assert_eq!((world.state(id).await, world.media_state(id).await), ("completed", Some("Created")));
        assert!(world.store.is_source_of_upload(progress.upload.source).await.unwrap());
        assert!(world.store.next_job_due(JobQueue::Ingest).await.unwrap().is_some());
        let checkpoint = world.blob().await.latest_checkpoint(progress.upload.source).await.unwrap();
        assert_eq!(checkpoint.map(|(at, _)| at), Some(file.len() as u64));
    }

    async fn impossible_length_is_rejected_without_change(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload_with_limit(Some(1_000_000)).await;
        let refuse = async |append| match node.receive(id, append).await {
            Err(IntakeError::Length(problem)) => problem,
            other => panic!("{other:?}"),
        };
        let piece = || append(0, file.slice(..100_000));
        let empty = Append { is_last: true, ..append(0, Bytes::new()) };
        assert_eq!(refuse(empty).await, LengthRejected::Empty);
        let large = Append { length: Some(1_000_001), ..piece() };
        assert_eq!(refuse(large).await, LengthRejected::TooLarge { max: 1_000_000 });
        let large = Append { body_len: Some(1_000_001), ..piece() };
        assert_eq!(refuse(large).await, LengthRejected::TooLarge { max: 1_000_000 });
        assert_eq!((world.state(id).await, world.media_state(id).await), ("waiting", None));

        assert_eq!(node.announce(id, 300_000).await.unwrap().upload.length, Some(300_000));
        assert_eq!(node.announce(id, 300_000).await.unwrap().upload.length, Some(300_000));
        let changed = node.announce(id, 300_001).await;
        assert!(matches!(changed, Err(IntakeError::Length(LengthRejected::Changed { announced: 300_000 }))));
        let other = Append { length: Some(299_999), ..piece() };
        assert_eq!(refuse(other).await, LengthRejected::Changed { announced: 300_000 });

        let more = Append { body_len: Some(300_001), ..piece() };
        let more = node.receive(id, more).await;
        assert!(matches!(more, Err(IntakeError::TooManyBytes { offset: 0, length: 300_000 })), "{more:?}");
        let short = Append { is_last: true, body_len: None, ..piece() };
        let short = node.receive(id, short).await;
        assert!(matches!(short, Err(IntakeError::TooFewBytes { offset: 100_000 })), "{short:?}");
        let more = Append { body_len: None, body: pieces(vec![0; 900_000].into()), ..append(100_000, Bytes::new()) };
        let more = node.receive(id, more).await;
        assert!(matches!(more, Err(IntakeError::TooManyBytes { length: 300_000, .. })), "{more:?}");
        assert_eq!(world.state(id).await, "uploading");
    }

    async fn exceeding_size_limit_fails_upload_of_unknown_length(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload_with_limit(Some(250_000)).await;
        let refused = node.receive(id, Append { body_len: None, ..append(0, file) }).await;
        let Err(IntakeError::Rejected(failure)) = refused else { panic!("{refused:?}") };
        assert_eq!(failure.code.as_str(), "source_too_large");
        assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
    }

    async fn checksum_mismatch_stores_nothing(world: World) {
        let (node, file) = (world.node().await, clip(0));
        let id = world.upload().await;
        let checksum = |bytes: &[u8]| Some(Checksum::Sha256(Sha256::digest(bytes).into()));
        let wrong = Append { checksum: checksum(b"others"), ..append(0, file.clone()) };
        let refused = node.receive(id, wrong).await;
        assert!(matches!(refused, Err(IntakeError::BadChecksum { offset: 0 })), "{refused:?}");
        let long = Append { checksum: checksum(b""), body_len: Some(1 << 30), ..append(0, file.clone()) };
        assert!(matches!(node.receive(id, long).await, Err(IntakeError::ChecksumTooLong { .. })));
        // An interrupted body does not fail its checksum.
        let body = crate::world::broken(file.slice(..5000));
        let cut = Append { checksum: checksum(&file[..5000]), body, ..append(0, file.slice(..5000)) };
        assert!(matches!(node.receive(id, cut).await, Err(IntakeError::Incomplete { offset: 0 })));
        assert_eq!(world.media_state(id).await, None);

        let right = Append {
            checksum: checksum(&file),
            length: Some(file.len() as u64),
            ..append(0, file.clone())
        };
        assert!(node.receive(id, right).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn timed_out_upload_rejects_bytes(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let never_begun = world.upload().await;
        let begun = world.upload().await;
        node.receive(begun, append(0, file.slice(..100_000))).await.unwrap();
        let MaintenanceOutcome::Again(_) = node.maintain(begun).await.unwrap() else { panic!("it has time") };
        world.clock.advance_seconds(i64::from(kinora_domain::Upload::TIMEOUT_DEFAULT_S));
        for (id, media) in [(never_begun, None), (begun, Some("Failed"))] {
            let late = node.receive(id, append(100_000, file.slice(100_000..))).await;
            assert!(matches!(late, Err(IntakeError::Ended(_))), "{late:?}");
            assert_eq!((world.state(id).await, world.media_state(id).await), ("timedout", media));
            assert_eq!(node.maintain(id).await.unwrap(), MaintenanceOutcome::Settled);
        }
    }

    async fn maintenance_times_out_abandoned_upload(world: World) {
        let node = world.node().await;
        let id = world.upload().await;
        world.clock.advance_seconds(i64::from(kinora_domain::Upload::TIMEOUT_DEFAULT_S));
        assert_eq!(node.maintain(id).await.unwrap(), MaintenanceOutcome::Settled);
        assert_eq!(world.state(id).await, "timedout");
    }
}
