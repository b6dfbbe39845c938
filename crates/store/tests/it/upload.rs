//! Uploads: their leases, and their common writes.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, AddedTrackKind, AudioEdit, CorsOrigin, DefaultPolicy, Encryption,
    Failure, FailureCode, MediaSettings, NewTrack, NewUpload, Restriction, Upload, UploadState, WorkspaceId,
};
use kinora_store::{Error, JobQueue, Page, Store, UploadCancelled, UploadMultipart, UploadPart, WorkerId};

use crate::support::{DAY, SECOND, TestStore, workspace, write};

suite!(
    upload_is_read_as_saved,
    upload_lease_fences_older_writer,
    settled_upload_cannot_be_leased,
    multipart_parts_are_stored_in_order_and_deleted,
    upload_offset_renews_timeout_and_never_decreases,
    cancelled_upload_deletes_its_media,
    timed_out_upload_fails_its_media,
    deleting_media_cancels_its_upload,
    list_has_uploads_without_file_only,
    ended_upload_is_pruned_after_url_expiry,
    addresses_are_signed_and_bound,
);

fn upload(world: &TestStore, workspace: WorkspaceId) -> Upload {
    let new = NewUpload {
        workspace,
        settings: MediaSettings {
            title: Some("A title".into()),
            audio_edit: Some(AudioEdit {
                swap_url: Some("https://example.com/a.mp3".into()),
                overlays: vec![],
            }),
            ..MediaSettings::default()
        },
        tracks: vec![NewTrack {
            kind: AddedTrackKind::Subtitle,
            url: "https://example.com/a.srt".into(),
            language_code: "en-US".into(),
            language_name: "English".into(),
        }],
        policy: AccessPolicy::Private,
        restrictions: AccessRestrictions {
            domains: Restriction {
                default_policy: DefaultPolicy::Deny,
                allow: vec!["a.example".into()],
                deny: vec![],
            },
            user_agents: Restriction::default(),
        },
        encryption: Encryption::Aes128,
        origin: CorsOrigin::One("https://shop.example".into()),
        timeout_s: 3600,
        size_max: Some(500_000_000),
    };
    Upload::create(new, world.now(), world.random.as_ref()).0
}

async fn registered(world: &TestStore, store: &Store) -> Upload {
    let upload = upload(world, workspace(store).await);
    let (_, event) = Upload::create(
        NewUpload {
            workspace: upload.workspace,
            settings: upload.settings.clone(),
            policy: upload.policy,
            restrictions: upload.restrictions.clone(),
            encryption: upload.encryption,
            tracks: upload.tracks.clone(),
            origin: upload.origin.clone(),
            timeout_s: upload.timeout_s,
            size_max: upload.size_max,
        },
        world.now(),
        world.random.as_ref(),
    );
    let saved = upload.clone();
    write(store, async move |tx| tx.register_upload(&saved, &event).await).await.unwrap();
    upload
}

/// An upload whose first byte is stored, under its first lease.
async fn begun(world: &TestStore, store: &Store, owner: WorkerId) -> (Upload, kinora_store::UploadLease) {
    let upload = registered(world, store).await;
    let (now, random) = (world.now(), world.random.clone());
    let id = upload.id;
    let lease = write(store, async move |tx| {
        let (upload, lease) = tx.lease_upload(id, owner, None).await?.expect("it was registered");
        let (upload, media, event) =
            upload.begin(5, "https://media.example/upload/1".into(), now, random.as_ref()).unwrap();
        tx.save_upload(&upload).await?;
        tx.insert_media(&media).await?;
        tx.push_event(&event).await?;
        Ok(lease)
    })
    .await
    .unwrap();
    (store.upload_by_id(id).await.unwrap().unwrap(), lease)
}

async fn upload_is_read_as_saved(world: TestStore) {
    let store = world.open().await;
    let upload = registered(&world, &store).await;
    assert_eq!(store.upload_by_id(upload.id).await.unwrap(), Some(upload.clone()));
    assert_eq!(store.upload(upload.workspace, upload.id).await.unwrap(), Some(upload.clone()));
    let elsewhere = WorkspaceId::new(world.now(), world.random.as_ref());
    assert_eq!(store.upload(elsewhere, upload.id).await.unwrap(), None);
    assert!(store.is_source_of_upload(upload.source).await.unwrap());

    let failure = Failure::new(FailureCode::NotMedia, "a text");
    let (failed, now) = (upload.clone(), world.now());
    write(&store, async move |tx| tx.fail_upload(failed.clone(), failure.clone(), now).await).await.unwrap();
    let failed = store.upload_by_id(upload.id).await.unwrap().unwrap();
    let UploadState::Failed { failure, .. } = failed.state else { panic!("{failed:?}") };
    assert_eq!((failure.code, failure.message.as_str()), (FailureCode::NotMedia, "a text"));
    assert!(!store.is_source_of_upload(upload.source).await.unwrap());
}

async fn upload_lease_fences_older_writer(world: TestStore) {
    let store = world.open().await;
    let (first, second) = (world.worker(), world.worker());
    let (upload, lease) = begun(&world, &store, first).await;
    let id = upload.id;
    let take = async |owner, number| {
        write(&store, async move |tx| tx.lease_upload(id, owner, number).await).await.unwrap().unwrap().1
    };
    assert_eq!(take(first, Some(lease.number)).await, lease);
    store.save_upload_offset(lease, 10, world.now()).await.unwrap();

    let second_lease = take(second, None).await;
    assert_eq!(second_lease.number, lease.number + 1);
    let lost = store.save_upload_offset(lease, 11, world.now()).await;
    assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
    let part = UploadPart { len: 5, id: "a".into() };
    let lost = write(&store, async move |tx| tx.add_upload_part(lease, 0, &part).await).await;
    assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
    let lost = write(&store, async move |tx| tx.save_upload_multipart(lease, "m").await).await;
    assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
    let lost = write(&store, async move |tx| tx.leased_upload(lease).await).await;
    assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
    let leased = write(&store, async move |tx| tx.leased_upload(second_lease).await).await.unwrap();
    assert_eq!(leased.offset(), 10);

    // The first one comes back: its lease is old, so it takes over the upload like any other process.
    assert_eq!(take(first, Some(lease.number)).await.number, second_lease.number + 1);
}

async fn settled_upload_cannot_be_leased(world: TestStore) {
    let store = world.open().await;
    let owner = world.worker();
    let (upload, lease) = begun(&world, &store, owner).await;
    let (id, now) = (upload.id, world.now());
    let cancelled = upload.clone();
    let ended = write(&store, async move |tx| tx.cancel_upload(cancelled.clone(), now).await).await.unwrap();
    assert!(matches!(ended, UploadCancelled::Now(_)), "{ended:?}");
    let lost = store.save_upload_offset(lease, 11, now).await;
    assert!(matches!(lost, Err(Error::LeaseLost)), "{lost:?}");
    let other = world.worker();
    let (seen, at) =
        write(&store, async move |tx| tx.lease_upload(id, other, None).await).await.unwrap().unwrap();
    assert_eq!((seen.state.name(), at.number), ("cancelled", lease.number));
    let again = write(&store, async move |tx| tx.cancel_upload(seen.clone(), now).await).await.unwrap();
    let UploadCancelled::WrongState(wrong) = again else { panic!("{again:?}") };
    assert_eq!(wrong.to_string(), "cannot cancel an upload that is cancelled");
}

async fn multipart_parts_are_stored_in_order_and_deleted(world: TestStore) {
    let store = world.open().await;
    let (upload, lease) = begun(&world, &store, world.worker()).await;
    assert_eq!(store.upload_multipart(upload.id).await.unwrap(), UploadMultipart::default());
    let part = |n: u64| UploadPart { len: 100 + n, id: format!("part {n}") };
    write(&store, async move |tx| {
        tx.save_upload_multipart(lease, "multipart 1").await?;
        for number in 0..11_u32 {
            tx.add_upload_part(lease, number, &part(u64::from(number))).await?;
        }
        Ok(())
    })
    .await
    .unwrap();
    let grown =
        UploadMultipart { multipart_id: Some("multipart 1".into()), parts: (0..11).map(part).collect() };
    assert_eq!(store.upload_multipart(upload.id).await.unwrap(), grown);
    assert_eq!(store.multipart_upload_bytes(upload.workspace).await.unwrap(), 1155);
    assert_eq!(store.workspace_of_source(upload.source).await.unwrap(), Some(upload.workspace));
    for _ in 0..2 {
        let id = upload.id;
        write(&store, async move |tx| tx.delete_upload_multipart(id).await).await.unwrap();
        assert_eq!(store.upload_multipart(upload.id).await.unwrap(), UploadMultipart::default());
    }
    assert_eq!(store.multipart_upload_bytes(upload.workspace).await.unwrap(), 0);
}

async fn upload_offset_renews_timeout_and_never_decreases(world: TestStore) {
    let store = world.open().await;
    let (upload, lease) = begun(&world, &store, world.worker()).await;
    world.clock.advance(10 * SECOND);
    store.save_upload_offset(lease, 70, world.now()).await.unwrap();
    let renewed = store.upload_by_id(upload.id).await.unwrap().unwrap();
    assert_eq!((renewed.offset(), renewed.deadline()), (70, Some(world.now().plus_seconds(3600))));
    assert!(matches!(store.save_upload_offset(lease, 69, world.now()).await, Err(Error::LeaseLost)));
    world.clock.advance(10 * SECOND);
    store.touch_upload(lease, world.now()).await.unwrap();
    let alive = store.upload_by_id(upload.id).await.unwrap().unwrap();
    assert_eq!((alive.offset(), alive.deadline()), (70, Some(world.now().plus_seconds(3600))));
}

async fn cancelled_upload_deletes_its_media(world: TestStore) {
    let store = world.open().await;
    let (upload, _) = begun(&world, &store, world.worker()).await;
    assert!(store.media_by_id(upload.id).await.unwrap().is_some());
    let (cancelled, now) = (upload.clone(), world.now());
    let ended = write(&store, async move |tx| tx.cancel_upload(cancelled.clone(), now).await).await.unwrap();
    assert!(matches!(ended, UploadCancelled::Now(_)), "{ended:?}");
    assert_eq!(store.media_by_id(upload.id).await.unwrap(), None);
    assert!(store.next_job_due(JobQueue::Maintenance).await.unwrap().is_some());
}

async fn timed_out_upload_fails_its_media(world: TestStore) {
    let store = world.open().await;
    let (upload, _) = begun(&world, &store, world.worker()).await;
    let (late, now) = (upload.clone(), world.now());
    write(&store, async move |tx| tx.time_out_upload(late.clone(), now).await).await.unwrap();
    let media = store.media_by_id(upload.id).await.unwrap().unwrap();
    let kinora_domain::MediaState::Failed { failure, .. } = media.state else { panic!("{media:?}") };
    assert_eq!(failure.code, FailureCode::UploadTimedOut);
    assert_eq!(store.upload_by_id(upload.id).await.unwrap().unwrap().state.name(), "timedout");
}

async fn deleting_media_cancels_its_upload(world: TestStore) {
    let store = world.open().await;
    let webhook = world.webhook(&store, workspace(&store).await).await;
    let (upload, _) = begun(&world, &store, world.worker()).await;
    let media = store.media_by_id(upload.id).await.unwrap().unwrap();
    let now = world.now();
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    assert_eq!(store.upload_by_id(upload.id).await.unwrap().unwrap().state.name(), "cancelled");
    let names: Vec<_> =
        world.claim(&store, &webhook).await.iter().map(|delivery| delivery.event.event.kind.name()).collect();
    assert_eq!(names[0], "video.media.upload");
}

async fn list_has_uploads_without_file_only(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        world.clock.advance(SECOND);
        ids.push(registered(&world, &store).await.id);
    }
    let (done, lease) = begun(&world, &store, world.worker()).await;
    let now = world.now();
    write(&store, async move |tx| {
        let upload = tx.leased_upload(lease).await?.complete(5, now).unwrap();
        tx.save_upload(&upload).await
    })
    .await
    .unwrap();
    let list = async |number, newest_first| {
        let page = store.upload_page(workspace, Page { limit: 2, number, newest_first }).await.unwrap();
        assert_eq!(page.total, 3);
        page.items.iter().map(|upload| upload.id).collect::<Vec<_>>()
    };
    assert_eq!(list(1, true).await, [ids[2], ids[1]]);
    assert_eq!(list(2, true).await, [ids[0]]);
    assert_eq!(list(1, false).await, [ids[0], ids[1]]);
    assert_eq!(list(2, false).await, [ids[2]]);
    assert_eq!(list(3, false).await, []);
    assert!(store.is_source_of_upload(done.source).await.unwrap(), "until a media takes it over");
}

async fn ended_upload_is_pruned_after_url_expiry(world: TestStore) {
    let store = world.open().await;
    let waiting = registered(&world, &store).await;
    let (upload, _) = begun(&world, &store, world.worker()).await;
    let (cancelled, now) = (upload.clone(), world.now());
    let ended = write(&store, async move |tx| tx.cancel_upload(cancelled.clone(), now).await).await.unwrap();
    assert!(matches!(ended, UploadCancelled::Now(_)), "{ended:?}");
    let prune = async |us| store.prune(now.plus_micros(us)).await.unwrap().uploads;
    assert_eq!(prune(8 * DAY - 1).await, 0);
    let unused = async || {
        store.upload_page(upload.workspace, Page { limit: 9, number: 1, newest_first: true }).await.unwrap()
    };
    assert_eq!((unused().await.total, unused().await.items.len()), (2, 2));
    assert_eq!(prune(8 * DAY).await, 1);
    assert_eq!((unused().await.total, unused().await.items.len()), (1, 1), "what left is counted no more");
    assert_eq!(store.upload_by_id(upload.id).await.unwrap(), None);
    assert!(store.upload_by_id(waiting.id).await.unwrap().is_some());
}

async fn addresses_are_signed_and_bound(world: TestStore) {
    let store = world.open().await;
    let upload = registered(&world, &store).await;
    let address = store.sign_upload(&upload);
    let (claims, signature) = kinora_domain::UploadClaims::split(&address).unwrap();
    assert!(store.has_signed_upload(claims, &signature));
    let mut forged = claims.to_vec();
    *forged.last_mut().unwrap() ^= 1;
    assert!(!store.has_signed_upload(&forged, &signature));
}
