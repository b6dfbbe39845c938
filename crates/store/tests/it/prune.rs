//! Which rows are removed, and when.

use kinora_domain::{
    Actor, AuditAction, AuditEntry, AuditId, AuditObject, DisabledReason, Email, LinkKind, Member,
    OneTimeLink, OneTimeLinkId, Person, RequestOrigin, Role, Secret, Session, Timestamp, WebhookState,
};
use kinora_store::{
    AuditFilter, JobKind, JobQueue, NewJob, NextDeliveryState, Priority, PrunedCounts, Store,
};

use crate::support::{DAY, SECOND, TestStore, claim_jobs, insert, workspace, write};

suite!(
    finished_jobs_are_pruned_after_seven_days,
    finished_deliveries_and_events_are_pruned_after_30_days,
    deliveries_of_disabled_webhook_expire_after_thirty_days,
    revoked_tokens_are_pruned_after_expiry,
    ended_sessions_are_pruned,
    links_are_pruned_thirty_days_after_their_end,
    audit_rows_are_pruned_after_400_days,
    prune_removes_more_than_one_batch,
);

async fn finished_jobs_are_pruned_after_seven_days(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    for _ in 0..2 {
        enqueue(&store, now).await;
    }
    let job = claim_jobs(&world, &store, JobQueue::Maintenance, 1).await.remove(0);
    write(&store, async move |tx| tx.complete_job(&job).await).await.unwrap();

    assert_eq!(prune(&store, now, 7 * DAY - 1).await, PrunedCounts::default());
    assert_eq!(prune(&store, now, 7 * DAY).await, PrunedCounts { jobs: 1, ..PrunedCounts::default() });
    assert_eq!(prune(&store, now, 99 * DAY).await, PrunedCounts::default());
    assert!(store.next_job_due(JobQueue::Maintenance).await.unwrap().is_some());
}

async fn finished_deliveries_and_events_are_pruned_after_30_days(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let now = world.now();
    for next in [NextDeliveryState::Delivered, NextDeliveryState::RetryAt(now)] {
        let (media, created) = world.media(workspace);
        insert(&store, &media, &created).await;
        let (delivery, attempt) = (world.claim(&store, &webhook).await.remove(0), world.attempt(200));
        write(&store, async move |tx| tx.finish_delivery(&delivery, &attempt, next).await).await.unwrap();
    }
    assert_eq!(prune(&store, now, 30 * DAY - 1).await, PrunedCounts::default());
    let pruned = prune(&store, now, 30 * DAY).await;
    assert_eq!(pruned, PrunedCounts { deliveries: 1, events: 1, ..PrunedCounts::default() });
    assert_eq!(prune(&store, now, 99 * DAY).await, PrunedCounts::default());
    assert_eq!(world.claim(&store, &webhook).await.len(), 1);
}

async fn member(world: &TestStore, store: &Store) -> Member {
    let email = Email::parse("a@example.com").unwrap();
    let person = Person::create(email, None, world.now(), world.random.as_ref());
    let organisation = store.organisation().await.unwrap().unwrap().id;
    let member = Member { person, organisation, role: Role::Admin };
    let row = member.clone();
    write(store, async move |tx| tx.insert_member(&row).await).await.unwrap();
    member
}

async fn ended_sessions_are_pruned(world: TestStore) {
    let store = world.open().await;
    let (now, person) = (world.now(), member(&world, &store).await.person.id);
    let open = async || {
        let secret = Secret::new(world.random.as_ref());
        let origin = RequestOrigin::default();
        let session = Session::open(person, secret.hash(), &origin, now, world.random.as_ref());
        let row = session.clone();
        write(&store, async move |tx| tx.insert_session(&row).await).await.unwrap();
        session.id
    };
    let (_unused, used) = (open().await, open().await);
    let seen_at = now.plus_micros(29 * DAY);
    write(&store, async move |tx| tx.save_session_uses(&[(used, seen_at)]).await).await.unwrap();

    assert_eq!(prune(&store, now, 7 * DAY - 1).await, PrunedCounts::default());
    assert_eq!(prune(&store, now, 7 * DAY).await, PrunedCounts { sessions: 1, ..PrunedCounts::default() });
    assert_eq!(prune(&store, now, 30 * DAY - 1).await, PrunedCounts::default());
    assert_eq!(prune(&store, now, 30 * DAY).await, PrunedCounts { sessions: 1, ..PrunedCounts::default() });
}

async fn links_are_pruned_thirty_days_after_their_end(world: TestStore) {
    let store = world.open().await;
    let (now, member) = (world.now(), member(&world, &store).await);
    let link = OneTimeLink {
        id: OneTimeLinkId::new(now, world.random.as_ref()),
        secret: Secret::new(world.random.as_ref()).hash(),
        kind: LinkKind::Setup,
        organisation: member.organisation,
        person: Some(member.person.id),
        email: member.person.email,
        role: member.role,
        made_by: None,
        created_at: now,
        ends_at: now.plus_micros(DAY),
        used_at: None,
    };
    let secret = link.secret;
    write(&store, async move |tx| tx.insert_one_time_link(&link).await).await.unwrap();
    assert_eq!(prune(&store, now, 31 * DAY - 1).await, PrunedCounts::default());
    assert!(store.one_time_link(&secret).await.unwrap().is_some());
    assert_eq!(prune(&store, now, 31 * DAY).await, PrunedCounts { links: 1, ..PrunedCounts::default() });
    assert!(store.one_time_link(&secret).await.unwrap().is_none());
}

async fn audit_rows_are_pruned_after_400_days(world: TestStore) {
    let store = world.open().await;
    let (now, member) = (world.now(), member(&world, &store).await);
    let entry = AuditEntry {
        id: AuditId::new(now, world.random.as_ref()),
        organisation: member.organisation,
        workspace: None,
        at: now,
        actor: Actor::command_line(),
        action: AuditAction::PersonCreated,
        object: AuditObject::person(&member.person),
        details: [("role".to_owned(), "admin".to_owned())].into(),
    };
    let row = entry.clone();
    write(&store, async move |tx| tx.push_audit(&row).await).await.unwrap();
    let entries = async || -> Vec<_> {
        store
            .audit_entries(&AuditFilter::default(), None, 10)
            .await
            .unwrap()
            .into_iter()
            .map(|(_, entry)| entry)
            .collect()
    };
    assert_eq!(prune(&store, now, 400 * DAY - 1).await, PrunedCounts::default());
    assert_eq!(entries().await, [entry]);
    assert_eq!(prune(&store, now, 400 * DAY).await, PrunedCounts { audit: 1, ..PrunedCounts::default() });
    assert_eq!(entries().await, []);
}

async fn revoked_tokens_are_pruned_after_expiry(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let now = world.now();
    let revoke = async |jti: &'static str, expires_at: Option<Timestamp>| {
        let revoke = write(&store, async move |tx| tx.revoke_token(workspace, jti, expires_at, now).await);
        revoke.await.unwrap().expires_at
    };
    let at = |seconds| Some(now.plus_seconds(seconds));
    assert_eq!(revoke("short", at(60)).await, at(60));
    assert_eq!(revoke("long", at(60)).await, at(60));
    assert_eq!(revoke("long", at(3600)).await, at(3600), "the later end counts");
    assert_eq!(revoke("long", at(10)).await, at(3600));
    assert_eq!(revoke("for ever", at(60)).await, at(60));
    assert_eq!(revoke("for ever", None).await, None);
    assert_eq!(revoke("for ever", at(60)).await, None);

    let revoked = async || {
        let mut found = Vec::new();
        for jti in ["short", "long", "for ever", "another"] {
            if store.is_token_revoked(workspace, jti).await.unwrap() {
                found.push(jti);
            }
        }
        found
    };
    assert_eq!(prune(&store, now, 30 * DAY + 59 * SECOND).await, PrunedCounts::default());
    assert_eq!(revoked().await, ["short", "long", "for ever"]);
    assert_eq!(
        prune(&store, now, 30 * DAY + 60 * SECOND).await,
        PrunedCounts { revoked_tokens: 1, ..PrunedCounts::default() }
    );
    assert_eq!(revoked().await, ["long", "for ever"]);
    assert_eq!(
        prune(&store, now, 99 * DAY).await,
        PrunedCounts { revoked_tokens: 1, ..PrunedCounts::default() }
    );
    assert_eq!(revoked().await, ["for ever"]);
    let other = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert!(!store.is_token_revoked(other, "for ever").await.unwrap(), "of another workspace");
}

async fn deliveries_of_disabled_webhook_expire_after_thirty_days(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let now = world.now();
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    assert_eq!(prune(&store, now, 30 * DAY).await, PrunedCounts::default());

    let mut disabled = webhook.clone();
    disabled.state = WebhookState::Disabled { since: now, reason: DisabledReason::Gone };
    write(&store, async move |tx| tx.save_webhook(&disabled).await).await.unwrap();
    assert_eq!(prune(&store, now, 30 * DAY - 1).await, PrunedCounts::default());
    assert_eq!(prune(&store, now, 30 * DAY).await, PrunedCounts { given_up: 1, ..PrunedCounts::default() });

    let enabled = store.webhook(webhook.id).await.unwrap().unwrap().enable();
    write(&store, async move |tx| tx.save_webhook(&enabled).await).await.unwrap();
    assert!(world.claim(&store, &webhook).await.is_empty());
    // It stays for people who investigate, as long as any other finished delivery.
    let pruned = prune(&store, now, 60 * DAY).await;
    assert_eq!(pruned, PrunedCounts { deliveries: 1, events: 1, ..PrunedCounts::default() });
}

async fn prune_removes_more_than_one_batch(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    write(&store, async move |tx| {
        for _ in 0..1100 {
            tx.push_event(&created).await?;
        }
        Ok(())
    })
    .await
    .unwrap();
    let pruned = prune(&store, world.now(), 30 * DAY).await;
    assert_eq!(pruned, PrunedCounts { events: 1101, ..PrunedCounts::default() });
}

async fn enqueue(store: &Store, run_at: Timestamp) {
    let job = NewJob { kind: JobKind::Sweep, workspace: None, run_at, priority: Priority::Low };
    write(store, async move |tx| tx.enqueue(job.clone()).await).await.unwrap();
}

async fn prune(store: &Store, now: Timestamp, after: i64) -> PrunedCounts {
    store.prune(now.plus_micros(after)).await.unwrap()
}
