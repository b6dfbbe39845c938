//! Lines that break, drip, send twice, and what is kept then.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use kinora_domain::LengthProblem;
use kinora_intake::{Append, IntakeError, PaceMin};
use tokio::sync::Notify;

use crate::world::{MIB, World, append, begin, broken, clip, on_both, pieces, send, until};

on_both! {
    async fn what_came_before_a_line_broke_is_kept(world: World) {
        let (node, file) = (world.node().await, clip(12 * MIB));
        let id = world.upload().await;
        let mut at = 0;
        for end in [1, 4000, 3 * MIB, 7 * MIB, 7 * MIB + 1, file.len() - 1] {
            let cut = Append { length: Some(file.len() as u64), body: broken(file.slice(at..end)), ..append(at, file.slice(at..)) };
            let cut = node.receive(id, cut).await;
            assert!(matches!(cut, Err(IntakeError::Broken { offset }) if offset == end as u64), "{cut:?}");
            assert_eq!(node.standing(id).await.unwrap().offset, end as u64);
            at = end;
        }
        assert!(node.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn a_body_that_ends_early_is_a_line_that_broke(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let short = Append { body_len: Some(300_000), ..append(0, file.slice(..100_000)) };
        let short = node.receive(id, short).await;
        assert!(matches!(short, Err(IntakeError::Broken { offset: 100_000 })), "{short:?}");
    }

    async fn bytes_must_follow_what_is_kept_or_are_passed_over(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        let length = Some(file.len() as u64);
        node.receive(id, Append { length, ..append(0, file.slice(..200_000)) }).await.unwrap();
        for start in [0, 199_999, 200_001] {
            let wrong = node.receive(id, append(start, file.slice(start..))).await;
            let is_told = matches!(wrong, Err(IntakeError::WrongOffset { offset: 200_000, length: Some(300_000) }));
            assert!(is_told, "{start} {wrong:?}");
        }
        let again = |start: usize, end: usize| Append { may_overlap: true, ..append(start, file.slice(start..end)) };
        let gap = node.receive(id, again(200_001, 300_000)).await;
        assert!(matches!(gap, Err(IntakeError::WrongOffset { offset: 200_000, .. })), "{gap:?}");
        assert_eq!(node.receive(id, again(0, 100_000)).await.unwrap().offset, 200_000);
        assert_eq!(node.receive(id, again(150_000, 250_000)).await.unwrap().offset, 250_000);
        assert!(node.receive(id, again(0, 300_000)).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn a_newer_request_goes_before_one_that_is_under_way(world: World) {
        let (node, file) = (world.node().await, clip(8 * MIB));
        let id = world.upload().await;
        let (sender, first) = begin(node.clone(), id, &file);
        sender.send(file.slice(..3 * MIB)).unwrap();
        until(|| async { world.media_state(id).await.is_some() || sender.is_closed() }).await;
        let standing = node.standing(id).await.unwrap();
        let at = usize::try_from(standing.offset).unwrap();
        assert!(at <= 3 * MIB, "{at}");
        let ended = first.await.unwrap();
        assert!(matches!(ended, Err(IntakeError::Interrupted { offset }) if offset <= standing.offset), "{ended:?}");
        assert!(node.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn a_request_whose_client_went_away_leaves_nothing_behind(world: World) {
        let (node, file) = (world.node().await, clip(8 * MIB));
        let id = world.upload().await;
        let (sender, first) = begin(node.clone(), id, &file);
        sender.send(file.slice(..3 * MIB)).unwrap();
        until(|| async { world.media_state(id).await.is_some() }).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        // Another process need not wait until the first one forgets.
        let other = world.node().await;
        until(|| async { other.standing(id).await.is_ok() }).await;
        let at = usize::try_from(other.standing(id).await.unwrap().offset).unwrap();
        assert!((1..=3 * MIB).contains(&at), "{at}");
        assert!(other.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn bytes_beyond_what_a_request_said_are_not_kept(world: World) {
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

    async fn a_whole_file_cannot_be_shorter_than_what_is_kept(world: World) {
        let (node, file) = (world.node().await, clip(300_000));
        let id = world.upload().await;
        node.receive(id, Append { body_len: None, ..append(0, file.slice(..200_000)) }).await.unwrap();
        let short = Append { may_overlap: true, is_last: true, body_len: None, ..append(0, file.slice(..5)) };
        let short = node.receive(id, short).await;
        let told = LengthProblem::BelowKept { kept: 200_000 };
        assert!(matches!(&short, Err(IntakeError::Length(problem)) if *problem == told), "{short:?}");
        assert_eq!(world.state(id).await, "uploading");
    }

    async fn a_cancel_ends_the_request_that_is_under_way(world: World) {
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
        assert_eq!(node.standing(id).await.unwrap().upload.state.name(), "cancelled");
    }

    async fn pieces_of_any_size_make_the_same_file(world: World) {
        let node = world.node().await;
        let file = clip(0);
        for chunk in [997, 10_000, file.len()] {
            let id = world.upload().await;
            assert!(send(std::slice::from_ref(&node), id, &file, chunk).await.unwrap().is_complete());
            assert_eq!(world.ready_bytes(id).await, file, "{chunk}");
        }
    }

    async fn an_upload_that_is_not_there_is_told(world: World) {
        let node = world.node().await;
        let id = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        assert!(matches!(node.standing(id).await, Err(IntakeError::NotFound)));
        assert!(matches!(node.announce(id, 1).await, Err(IntakeError::NotFound)));
        assert!(matches!(node.cancel(id).await, Err(IntakeError::NotFound)));
        let append = Append { body: pieces(Bytes::from_static(b"a")), ..append(0, Bytes::new()) };
        assert!(matches!(node.receive(id, append).await, Err(IntakeError::NotFound)));
    }
}

/// On one thread, so that the clock can be moved.
mod client_slower_than_the_minimum_is_ended_and_its_bytes_are_kept {
    use super::*;

    async fn run(world: World) {
        // Less than from one renewal of the lease to the next: after a renewal the window begins anew.
        let pace = PaceMin { bytes: 1000, within: Duration::from_secs(4) };
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
        assert!(matches!(slow, Err(IntakeError::Slow { offset: 500 })), "{slow:?}");
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
