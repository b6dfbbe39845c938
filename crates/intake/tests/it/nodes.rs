//! Processes that end, and others that continue.

use kinora_blob::{ObjectKind, Prefix};
use kinora_domain::Clock as _;
use kinora_intake::{Append, IntakeError, MaintenanceOutcome, Scan, ScanLimits, ScanResult};
use kinora_testkit::fixture;

use crate::world::{MIB, World, append, begin, clip, on_both, send, until};

on_both! {
    async fn another_node_resumes_at_stored_offset(world: World) {
        let file = clip(23 * MIB);
        let id = world.upload().await;
        let mut at = 0;
        for end in [100, 4 * MIB, 11 * MIB, 12 * MIB + 1, 21 * MIB, file.len()] {
            // The session of the previous process is gone.
            let node = world.node().await;
            assert_eq!(node.progress(id).await.unwrap().offset, at as u64);
            let append = Append { length: Some(file.len() as u64), ..append(at, file.slice(at..end)) };
            let progress = node.receive(id, append).await.unwrap();
            assert_eq!(progress.offset, end as u64);
            at = end;
        }
        assert_eq!(world.media_state(id).await, Some("Ready"));
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn any_node_completes_a_whole_file(world: World) {
        let file = clip(3 * MIB);
        let id = world.upload().await;
        let first = world.node().await;
        first.receive(id, append(0, file.clone())).await.unwrap();
        assert_eq!(world.media_state(id).await, Some("Created"));
        drop(first);
        // The length is announced only now, without any further byte.
        let second = world.node().await;
        second.announce(id, file.len() as u64).await.unwrap();
        assert_eq!(second.maintain(id).await.unwrap(), MaintenanceOutcome::Again(next_maintenance_at(&world)));
        world.clock.advance_seconds(90);
        assert_eq!(second.maintain(id).await.unwrap(), MaintenanceOutcome::Settled);
        assert_eq!(world.media_state(id).await, Some("Ready"));
        assert_eq!(world.ready_bytes(id).await, file);
    }

    async fn completed_upload_leaves_no_temporary_objects(world: World) {
        let file = clip(12 * MIB);
        let id = world.upload().await;
        let node = world.node().await;
        let progress = send(&[node], id, &file, 3 * MIB).await.unwrap();
        let (blob, grown) = (world.blob().await, world.store.upload_multipart(id).await.unwrap());
        blob.discard_growing(progress.upload.source, grown.multipart_id).await.unwrap();
        blob.delete_checkpoints(progress.upload.source).await.unwrap();
        for kind in [ObjectKind::Growing, ObjectKind::Piece, ObjectKind::Checkpoint] {
            assert_eq!(blob.list(Prefix::Kind(kind), None, 10).await.unwrap(), [], "{kind:?}");
        }
        assert_eq!(world.ready_bytes(id).await, file);
    }
}

/// The bucket was emptied, as by a lifecycle rule for incomplete uploads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upload_with_missing_parts_fails() {
    let world = World::shared().await;
    let (file, id) = (clip(23 * MIB), world.upload().await);
    let node = world.node().await;
    let first = Append { length: Some(file.len() as u64), ..append(0, file.slice(..12 * MIB)) };
    let source = node.receive(id, first).await.unwrap().upload.source;
    drop(node);
    let grown = world.store.upload_multipart(id).await.unwrap();
    world.blob().await.discard_growing(source, grown.multipart_id).await.unwrap();

    let node = world.node().await;
    let at = usize::try_from(node.progress(id).await.unwrap().offset).unwrap();
    let lost = node.receive(id, append(at, file.slice(at..))).await;
    let Err(IntakeError::Rejected(failure)) = lost else { panic!("{lost:?}") };
    assert_eq!(failure.code.as_str(), "internal");
    assert_eq!((world.state(id).await, world.media_state(id).await), ("failed", Some("Failed")));
}

fn next_maintenance_at(world: &World) -> kinora_domain::Timestamp {
    world.clock.now().plus_seconds(90)
}

/// A folder belongs to one process at a time; a bucket to any number of them.
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
async fn node_with_lost_lease_writes_nothing() {
    let world = World::shared().await;
    let (file, id) = (clip(23 * MIB), world.upload().await);
    let [stale, fresh] = [world.node().await, world.node().await];
    let (sender, first) = begin(stale, id, &file);
    sender.send(file.slice(..12 * MIB)).unwrap();
    until(|| async { world.media_state(id).await.is_some() }).await;

    let at = usize::try_from(fresh.progress(id).await.unwrap().offset).unwrap();
    // The stale process still receives bytes, and must detect the takeover itself.
    let _ = sender.send(file.slice(12 * MIB..22 * MIB));
    drop(sender);
    let ended = first.await.unwrap();
    assert!(matches!(ended, Err(IntakeError::Interrupted { .. })), "{ended:?}");
    assert_eq!(fresh.progress(id).await.unwrap().offset, at as u64);
    assert!(fresh.receive(id, append(at, file.slice(at..))).await.unwrap().is_complete());
    // If the stale process sent a part and was killed before its checkpoint, a job scans the file again.
    assert_eq!(world.stored_bytes(id).await, file);
}

/// Takes all scan permits that one workspace can have.
async fn hold_all_permits(scans: &ScanLimits, world: &World) -> Vec<ScanResult> {
    let workspace = Some(world.workspace().await);
    let mut results = Vec::new();
    for _ in 0..3 {
        let scan = Scan::begin(scans, workspace);
        scan.push(fixture::two_seconds()).await.unwrap();
        scan.spill().await;
        results.push(scan.finish().await.unwrap());
    }
    assert!(results.iter().all(|result| result.permit.has_large_permit()));
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_is_renewed_while_waiting_for_scan_permit() {
    let world = World::folder().await;
    let folder = tempfile::tempdir().unwrap();
    let scans = ScanLimits::with_limits(folder.path().into(), 100, 0);
    let permits = hold_all_permits(&scans, &world).await;
    let (node, other) = (world.node_with_scans(scans).await, world.node().await);
    let (file, id) = (clip(3 * MIB), world.upload().await);
    // More pieces than the scan queue has capacity for, all at once.
    let whole_file = Append { length: Some(file.len() as u64), ..append(0, file.clone()) };
    let receiving = tokio::spawn(async move { node.receive(id, whole_file).await });
    // The last write before the first piece is passed on.
    until(|| async { world.store.upload_by_id(id).await.unwrap().unwrap().length.is_some() }).await;

    world.clock.advance_seconds(89);
    let now = world.clock.now();
    until(|| async { world.store.upload_by_id(id).await.unwrap().unwrap().updated_at == now }).await;
    world.clock.advance_seconds(89);
    let next_maintenance = MaintenanceOutcome::Again(now.plus_seconds(90));
    assert_eq!(other.maintain(id).await.unwrap(), next_maintenance);

    drop(permits);
    assert!(receiving.await.unwrap().unwrap().is_complete());
    assert_eq!(world.ready_bytes(id).await, file);
}
