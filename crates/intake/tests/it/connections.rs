//! Connections that break, are slow, or send twice, and the bytes stored after that.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use kinora_domain::LengthRejected;
use kinora_intake::{Append, IntakeError, StallLimit};
use tokio::sync::Notify;

use crate::world::{MIB, World, append, begin, broken, clip, on_both, pieces, send, until};

on_both! {
    async fn bytes_before_disconnect_are_stored(world: World) {
        let (node, file) = (world.node().await, clip(12 * MIB));
        let id = world.upload().await;
        let mut at = 0;
        for end in [1, 4000, 3 * MIB, 7 * MIB, 7 * MIB + 1, file.len() - 1] {
            let cut = Append { length: Some(file.len() as u64), body: broken(file.slice(at..end)), ..append(at, file.slice(at..)) };
            let cut = node.receive(id, cut).await;
            assert!(matches!(cut, Err(IntakeError::Incomplete { offset }) if offset == end as u64), "{cut:?}");
            assert_eq!(node.progress(id).await.unwrap().offset, end as u64);
            at = end;
        }
        assert!(node.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn short_body_counts_as_disconnect(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let short = Append { body_len: Some(300_000), ..append(0, file.slice(..100_000)) };
        let short = node.receive(id, short).await;
        assert!(matches!(short, Err(IntakeError::Incomplete { offset: 100_000 })), "{short:?}");
    }

    async fn wrong_offset_is_rejected_and_overlap_skipped(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let length = Some(file.len() as u64);
        node.receive(id, Append { length, ..append(0, file.slice(..200_000)) }).await.unwrap();
        for start in [0, 199_999, 200_001] {
            let wrong = node.receive(id, append(start, file.slice(start..))).await;
            let is_wrong_offset = matches!(wrong, Err(IntakeError::WrongOffset { offset: 200_000, length: Some(300_000) }));
            assert!(is_wrong_offset, "{start} {wrong:?}");
        }
        let again = |start: usize, end: usize| Append { may_overlap: true, ..append(start, file.slice(start..end)) };
        let gap = node.receive(id, again(200_001, 300_000)).await;
        assert!(matches!(gap, Err(IntakeError::WrongOffset { offset: 200_000, .. })), "{gap:?}");
        assert_eq!(node.receive(id, again(0, 100_000)).await.unwrap().offset, 200_000);
        assert_eq!(node.receive(id, again(150_000, 250_000)).await.unwrap().offset, 250_000);
        assert!(node.receive(id, again(0, 300_000)).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn newer_request_interrupts_active_one(world: World) {
        let (node, file) = (world.node().await, clip(8 * MIB));
        let id = world.upload().await;
        let (sender, first) = begin(node.clone(), id, &file);
        sender.send(file.slice(..3 * MIB)).unwrap();
        until(|| async { world.media_state(id).await.is_some() || sender.is_closed() }).await;
        let progress = node.progress(id).await.unwrap();
        let at = usize::try_from(progress.offset).unwrap();
        assert!(at <= 3 * MIB, "{at}");
        let ended = first.await.unwrap();
        assert!(matches!(ended, Err(IntakeError::Interrupted { offset }) if offset <= progress.offset), "{ended:?}");
        assert!(node.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn cancelled_request_releases_lock(world: World) {
        let (node, file) = (world.node().await, clip(8 * MIB));
        let id = world.upload().await;
        let (sender, first) = begin(node.clone(), id, &file);
        sender.send(file.slice(..3 * MIB)).unwrap();
        until(|| async { world.media_state(id).await.is_some() }).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        // Another process can open it before the cached session of the first one expires.
        let other = world.node().await;
        until(|| async { other.progress(id).await.is_ok() }).await;
        let at = usize::try_from(other.progress(id).await.unwrap().offset).unwrap();
        assert!((1..=3 * MIB).contains(&at), "{at}");
        assert!(other.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn bytes_beyond_announced_length_are_dropped(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let lying = Append {
            length: Some(300_000),
            body_len: Some(100_000),
            ..append(0, vec![7; 250_000].into())
        };
        let lying = Append { body: pieces([&file[..100_000], &[7; 150_000]].concat().into()), ..lying };
        let lying = node.receive(id, lying).await;
        assert!(matches!(lying, Err(IntakeError::TooManyBytes { offset: 100_000, .. })), "{lying:?}");
        assert!(node.receive(id, append(100_000, file.slice(100_000..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn announced_length_below_offset_is_rejected(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        node.receive(id, Append { body_len: None, ..append(0, file.slice(..200_000)) }).await.unwrap();
        let short = Append { may_overlap: true, is_last: true, body_len: None, ..append(0, file.slice(..5)) };
        let short = node.receive(id, short).await;
        let expected = LengthRejected::BelowOffset { kept: 200_000 };
        assert!(matches!(&short, Err(IntakeError::Length(problem)) if *problem == expected), "{short:?}");
        assert_eq!(world.state(id).await, "uploading");
    }

    async fn cancel_interrupts_active_request(world: World) {
        let (node, file) = (world.node().await, clip(8 * MIB));
        let id = world.upload().await;
        let (sender, first) = begin(node.clone(), id, &file);
        sender.send(file.slice(..3 * MIB)).unwrap();
        until(|| async { world.media_state(id).await.is_some() }).await;
        assert_eq!(node.cancel(id).await.unwrap().state.name(), "cancelled");
        assert_eq!(world.media_state(id).await, None);
        let ended = first.await.unwrap();
        assert!(matches!(ended, Err(IntakeError::Interrupted { .. })), "{ended:?}");
        let more = node.receive(id, append(0, file)).await;
        assert!(matches!(more, Err(IntakeError::Ended(_))), "{more:?}");
        assert_eq!(node.progress(id).await.unwrap().upload.state.name(), "cancelled");
    }

    async fn chunk_size_does_not_change_the_file(world: World) {
        let node = world.node().await;
        let file = clip(0);
        for chunk in [997, 10_000, file.len()] {
            let id = world.upload().await;
            assert!(send(std::slice::from_ref(&node), id, &file, chunk).await.unwrap().is_complete());
            assert_eq!(world.ready_bytes(id).await, file, "{chunk}");
        }
    }

    async fn unknown_upload_is_not_found(world: World) {
        let node = world.node().await;
        let id = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        assert!(matches!(node.progress(id).await, Err(IntakeError::NotFound)));
        assert!(matches!(node.announce(id, 1).await, Err(IntakeError::NotFound)));
        assert!(matches!(node.cancel(id).await, Err(IntakeError::NotFound)));
        let append = Append { body: pieces(Bytes::from_static(b"a")), ..append(0, Bytes::new()) };
        assert!(matches!(node.receive(id, append).await, Err(IntakeError::NotFound)));
    }
}

/// Single-threaded, so that the test controls the clock.
mod stalled_client_is_ended_and_bytes_are_stored {
    use super::*;

    async fn run(world: World) {
        // Shorter than the interval of lease renewals: a renewal starts the window again.
        let pace = StallLimit { bytes: 1000, within: Duration::from_secs(4) };
        let (node, file) = (world.node_with_pace(pace).await, clip(300_000));
        let id = world.upload().await;
        let is_awaited = Arc::new(Notify::new());
        let silence = {
            let is_awaited = Arc::clone(&is_awaited);
            stream::poll_fn(move |_| {
                is_awaited.notify_one();
                Poll::Pending
            })
        };
        let body = stream::iter([Ok(file.slice(..500))]).chain(silence).boxed();
        let drip = Append { length: Some(300_000), body_len: None, body, ..append(0, Bytes::new()) };
        let mut receiving = {
            let node = node.clone();
            tokio::spawn(async move { node.receive(id, drip).await })
        };
        let slow = loop {
            tokio::select! {
                biased;
                slow = &mut receiving => break slow.unwrap(),
                // The clock jumps only while the request waits for its client, and not for the disk.
                () = is_awaited.notified() => {
                    tokio::time::pause();
                    tokio::time::advance(pace.within).await;
                    tokio::time::resume();
                }
            }
        };
        assert!(matches!(slow, Err(IntakeError::Stalled { offset: 500 })), "{slow:?}");
        assert!(node.receive(id, append(500, file.slice(500..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    #[tokio::test]
    async fn sqlite_and_folder() {
        run(World::folder().await).await;
    }

    #[tokio::test]
    async fn postgres_and_s3() {
        run(World::shared().await).await;
    }
}
