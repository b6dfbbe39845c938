//! Processes that end, and others that go on.

use kinora_blob::{ObjectKind, Prefix};
use kinora_domain::Clock as _;
use kinora_intake::{Append, IntakeError, Scan, ScanTurns, Tended, Whole};
use kinora_testkit::fixture;

use crate::world::{MIB, World, append, begin, clip, on_both, send, until};

on_both! {
    async fn another_process_goes_on_where_the_last_one_was(world: World) {
        let file = clip(23 * MIB);
        let id = world.upload().await;
        let mut at = 0;
        for end in [100, 4 * MIB, 11 * MIB, 12 * MIB + 1, 21 * MIB, file.len()] {
            // What the last one remembered went with it.
            let node = world.node().await;
            assert_eq!(node.standing(id).await.unwrap().offset, at as u64);
            let append = Append { length: Some(file.len() as u64), ..append(at, file.slice(at..end)) };
            let standing = node.receive(id, append).await.unwrap();
            assert_eq!(standing.offset, end as u64);
            at = end;
        }
        assert_eq!(world.media_state(id).await, Some("Ready"));
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn whoever_is_asked_completes_what_is_whole(world: World) {
        let file = clip(3 * MIB);
        let id = world.upload().await;
        let first = world.node().await;
        first.receive(id, append(0, file.clone())).await.unwrap();
        assert_eq!(world.media_state(id).await, Some("Created"));
        drop(first);
        // The length is said only now, and nobody sends another byte.
        let second = world.node().await;
        second.announce(id, file.len() as u64).await.unwrap();
        assert_eq!(second.tend(id).await.unwrap(), Tended::Again(tend_at(&world)));
        world.clock.advance_seconds(90);
        assert_eq!(second.tend(id).await.unwrap(), Tended::Settled);
        assert_eq!(world.media_state(id).await, Some("Ready"));
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn what_an_upload_left_is_nothing_once_it_is_complete(world: World) {
        let file = clip(12 * MIB);
        let id = world.upload().await;
        let node = world.node().await;
        let standing = send(&[node], id, &file, 3 * MIB).await.unwrap();
        let (blob, grown) = (world.blob().await, world.store.upload_grown(id).await.unwrap());
        blob.discard_growing(standing.upload.source, grown.multipart).await.unwrap();
        blob.delete_checkpoints(standing.upload.source).await.unwrap();
        for kind in [ObjectKind::Growing, ObjectKind::Piece, ObjectKind::Checkpoint] {
            assert_eq!(blob.list(Prefix::Kind(kind), None, 10).await.unwrap(), [], "{kind:?}");
        }
        assert_eq!(world.ready_bytes(id).await, file);
    }
}

/// Somebody has emptied the bucket, as a rule for unfinished uploads does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_whose_parts_are_gone_ends_and_says_so() {
    let world = World::shared().await;
    let (file, id) = (clip(23 * MIB), world.upload().await);
    let node = world.node().await;
    let first = Append { length: Some(file.len() as u64), ..append(0, file.slice(..12 * MIB)) };
    let source = node.receive(id, first).await.unwrap().upload.source;
    drop(node);
    let grown = world.store.upload_grown(id).await.unwrap();
    world.blob().await.discard_growing(source, grown.multipart).await.unwrap();

    let node = world.node().await;
    let at = usize::try_from(node.standing(id).await.unwrap().offset).unwrap();
    let lost = node.receive(id, append(at, file.slice(at..))).await;
    let Err(IntakeError::Hopeless(failure)) = lost else { panic!("{lost:?}") };
    assert_eq!(failure.code.as_str(), "internal");
    assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
}

fn tend_at(world: &World) -> kinora_domain::Timestamp {
    world.clock.now().plus_seconds(90)
}

/// A folder belongs to one process at a time; a bucket to as many as there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_may_alternate_between_two_nodes() {
    let world = World::shared().await;
    let (file, id) = (clip(23 * MIB), world.upload().await);
    let nodes = [world.node().await, world.node().await];
    assert!(send(&nodes, id, &file, 2 * MIB + 1).await.unwrap().is_complete());
    assert_eq!(world.media_state(id).await, Some("Ready"));
    assert_eq!(world.ready_bytes(id).await, file);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_taken_for_dead_writes_nothing_more() {
    let world = World::shared().await;
    let (file, id) = (clip(23 * MIB), world.upload().await);
    let [stale, fresh] = [world.node().await, world.node().await];
    let (sender, first) = begin(stale, id, &file);
    sender.send(file.slice(..12 * MIB)).unwrap();
    until(|| async { world.media_state(id).await.is_some() }).await;

    let at = usize::try_from(fresh.standing(id).await.unwrap().offset).unwrap();
    // The stale one is still fed, and must find out by itself.
    let _ = sender.send(file.slice(12 * MIB..22 * MIB));
    drop(sender);
    let ended = first.await.unwrap();
    assert!(matches!(ended, Err(IntakeError::Interrupted { .. })), "{ended:?}");
    assert_eq!(fresh.standing(id).await.unwrap().offset, at as u64);
    assert!(fresh.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
    // Where the stale one had sent a part and did not live to say what it read, a job reads the file once
    // more.
    assert_eq!(world.kept_bytes(id).await, file);
}

/// Holds the turns that one workspace can have.
async fn held_turns(scans: &ScanTurns, world: &World) -> Vec<Whole> {
    let workspace = Some(world.workspace().await);
    let mut held = Vec::new();
    for _ in 0..3 {
        let scan = Scan::begin(scans, workspace);
        scan.push(fixture::two_seconds()).await.unwrap();
        scan.rest().await;
        held.push(scan.finish().await.unwrap());
    }
    assert!(held.iter().all(|whole| whole.turn.holds_place()));
    held
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_waits_for_the_turn_of_its_scan_is_renewed() {
    let world = World::folder().await;
    let folder = tempfile::tempdir().unwrap();
    let scans = ScanTurns::limited(folder.path().into(), 100, 0);
    let held = held_turns(&scans, &world).await;
    let (node, other) = (world.node_with_scans(scans).await, world.node().await);
    let (file, id) = (clip(3 * MIB), world.upload().await);
    // More pieces than wait for a scan, all at once.
    let whole = Append { length: Some(file.len() as u64), ..append(0, file.clone()) };
    let receiving = tokio::spawn(async move { node.receive(id, whole).await });
    // The last thing that is written before the first piece is passed on.
    until(|| async { world.store.upload_by_id(id).await.unwrap().unwrap().length.is_some() }).await;

    world.clock.advance_seconds(89);
    let now = world.clock.now();
    until(|| async { world.store.upload_by_id(id).await.unwrap().unwrap().updated_at == now }).await;
    world.clock.advance_seconds(89);
    let look_at = Tended::Again(now.plus_seconds(90));
    assert_eq!(other.tend(id).await.unwrap(), look_at);

    drop(held);
    assert!(receiving.await.unwrap().unwrap().is_complete());
    assert_eq!(world.ready_bytes(id).await, file);
}
