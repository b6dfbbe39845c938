//! The audit log: filters and pages.

use kinora_domain::{
    AccessTokenId, Actor, AuditAction, AuditEntry, AuditId, AuditObject, OrganisationId, PersonId,
    RequestOrigin, Timestamp, Who, WorkspaceId,
};
use kinora_store::{AuditFilter, AuditPosition, Store};

use crate::support::{SECOND, TestStore, workspace, write};

suite!(
    rows_are_read_back_newest_first,
    filters_select_by_action_actor_object_and_time,
    pages_continue_after_position_in_every_order,
    page_of_a_group_merges_its_actions,
);

struct Log<'a> {
    world: &'a TestStore,
    store: Store,
    organisation: OrganisationId,
    workspace: WorkspaceId,
}

impl<'a> Log<'a> {
    async fn open(world: &'a TestStore) -> Self {
        let store = world.open().await;
        let organisation = store.organisation().await.unwrap().unwrap().id;
        let workspace = workspace(&store).await;
        Self { world, store, organisation, workspace }
    }

    fn at(&self, second: i64) -> Timestamp {
        self.world.now().plus_micros(second * SECOND)
    }

    /// Adds a row of this second.
    async fn push(&self, second: i64, who: Who, action: AuditAction, object: &str) -> AuditEntry {
        let origin = RequestOrigin {
            address: Some("192.0.2.7".to_owned()),
            client: None,
            request_id: Some("request-1".to_owned()),
        };
        let entry = AuditEntry {
            id: AuditId::new(self.world.now(), self.world.random.as_ref()),
            organisation: self.organisation,
            workspace: Some(self.workspace),
            at: self.at(second),
            actor: Actor { who, origin },
            action,
            object: AuditObject { kind: "media".into(), id: object.to_owned(), name: "Name".to_owned() },
            details: [("a".to_owned(), second.to_string())].into(),
        };
        let row = entry.clone();
        write(&self.store, async move |tx| tx.push_audit(&row).await).await.unwrap();
        entry
    }

    /// The seconds of the rows of all pages, read with pages of this length.
    async fn seconds(&self, filter: &AuditFilter, limit: u32) -> Vec<i64> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.store.audit_entries(filter, after, limit).await.unwrap();
            let Some((last, _)) = page.last() else { return found };
            assert!(page.len() <= limit as usize);
            after = Some(AuditPosition::from_bytes(last.to_bytes()));
            found.extend(page.iter().map(|(_, entry)| entry.details["a"].parse::<i64>().unwrap()));
        }
    }
}

fn person(log: &Log<'_>, name: &str) -> Who {
    Who::Person { id: PersonId::new(log.world.now(), log.world.random.as_ref()), name: name.to_owned() }
}

fn token(log: &Log<'_>) -> Who {
    let id = AccessTokenId::new(log.world.now(), log.world.random.as_ref());
    Who::AccessToken { id, name: "Shop".to_owned() }
}

async fn rows_are_read_back_newest_first(world: TestStore) {
    let log = Log::open(&world).await;
    let mut expected = Vec::new();
    let unnamed = match token(&log) {
        Who::AccessToken { id, .. } => Who::AccessToken { id, name: String::new() },
        other => other,
    };
    let actors = [person(&log, "Ada"), token(&log), unnamed, Who::CommandLine, Who::Server, Who::Anonymous];
    for who in actors {
        // All of one instant: the order of the commits decides.
        expected.push(log.push(5, who, AuditAction::MediaDeleted, "object").await);
    }
    let found = log.store.audit_entries(&AuditFilter::default(), None, 100).await.unwrap();
    let found: Vec<_> = found.into_iter().rev().map(|(_, entry)| entry).collect();
    assert_eq!(found, expected);
}

async fn filters_select_by_action_actor_object_and_time(world: TestStore) {
    use AuditAction::{AccessTokenCreated, AccessTokenRevoked, MediaDeleted, SignedIn};
    let log = Log::open(&world).await;
    let (ada, shop) = (person(&log, "Ada"), token(&log));
    log.push(1, ada.clone(), AccessTokenCreated, "t").await;
    log.push(2, ada.clone(), AccessTokenRevoked, "t").await;
    log.push(3, shop.clone(), MediaDeleted, "m").await;
    log.push(4, Who::CommandLine, AccessTokenRevoked, "u").await;
    log.push(5, Who::Anonymous, SignedIn, "a").await;
    log.push(6, ada.clone(), MediaDeleted, "n").await;

    let check = async |filter: AuditFilter, expected: &[i64]| {
        assert_eq!(log.seconds(&filter, 100).await, expected, "{filter:?}");
    };
    let any = AuditFilter::default;
    let actor = |who: &Who| Some(who.id().unwrap());
    check(any(), &[6, 5, 4, 3, 2, 1]).await;
    check(AuditFilter { actions: vec![AccessTokenRevoked], ..any() }, &[4, 2]).await;
    let group = AuditAction::matching("access_token");
    check(AuditFilter { actions: group.clone(), ..any() }, &[4, 2, 1]).await;
    check(AuditFilter { actor: actor(&ada), ..any() }, &[6, 2, 1]).await;
    check(AuditFilter { actor: actor(&shop), ..any() }, &[3]).await;
    check(AuditFilter { actor: Some("command".to_owned()), ..any() }, &[4]).await;
    check(AuditFilter { actor: Some("anonymous".to_owned()), ..any() }, &[5]).await;
    check(AuditFilter { actor: Some("server".to_owned()), ..any() }, &[]).await;
    check(AuditFilter { actor: actor(&ada), actions: group.clone(), ..any() }, &[2, 1]).await;
    check(AuditFilter { object: Some("t".to_owned()), ..any() }, &[2, 1]).await;
    let of_object = AuditFilter { object: Some("t".to_owned()), actor: actor(&ada), ..any() };
    check(AuditFilter { actions: vec![AccessTokenCreated], ..of_object.clone() }, &[1]).await;
    check(AuditFilter { actor: actor(&shop), ..of_object }, &[]).await;
    check(AuditFilter { from: Some(log.at(3)), to: Some(log.at(5)), ..any() }, &[4, 3]).await;
    check(AuditFilter { from: Some(log.at(2)), actions: group, ..any() }, &[4, 2]).await;
    check(AuditFilter { to: Some(log.at(1)), ..any() }, &[]).await;
}

async fn pages_continue_after_position_in_every_order(world: TestStore) {
    let log = Log::open(&world).await;
    let ada = person(&log, "Ada");
    // Rows are not written in the order of their times: clocks of processes differ.
    for second in [3, 1, 2, 2, 2, 5, 4] {
        log.push(second, ada.clone(), AuditAction::MediaDeleted, "m").await;
    }
    let filters = [
        AuditFilter::default(),
        AuditFilter { actions: vec![AuditAction::MediaDeleted], ..AuditFilter::default() },
        AuditFilter { actor: ada.id(), ..AuditFilter::default() },
        AuditFilter { object: Some("m".to_owned()), ..AuditFilter::default() },
    ];
    for filter in filters {
        for limit in [1, 2, 3, 100] {
            assert_eq!(log.seconds(&filter, limit).await, [5, 4, 3, 2, 2, 2, 1], "{filter:?} {limit}");
        }
    }
    let until = AuditFilter { to: Some(log.at(3)), ..AuditFilter::default() };
    assert_eq!(log.seconds(&until, 2).await, [2, 2, 2, 1]);
}

async fn page_of_a_group_merges_its_actions(world: TestStore) {
    let log = Log::open(&world).await;
    let group = AuditAction::matching("playback_id");
    assert!(group.len() > 2);
    for second in 0..9 {
        let action = group[usize::try_from(second).unwrap() % group.len()];
        log.push(second, Who::Server, action, "p").await;
        log.push(second, Who::Server, AuditAction::MediaDeleted, "m").await;
    }
    let filter = AuditFilter { actions: group, ..AuditFilter::default() };
    for limit in [1, 4, 100] {
        assert_eq!(log.seconds(&filter, limit).await, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }
}
