//! The plans of statements on SQLite, and the pragmas of the writer.

use std::path::Path;

use sqlx::{Executor as _, Row as _, SqlSafeStr as _};

use super::{engine_less, options};
use crate::sql::{Database, Statement, sqlite, statements, values};
use crate::{DatabaseLocation, Error, Store, Tx};

async fn open(data_dir: &Path) -> Store {
    Store::open(options(DatabaseLocation::Folder(data_dir.to_owned()))).await.unwrap()
}

fn all() -> Vec<Statement> {
    let own = [
        crate::key_rotation::STATEMENTS,
        crate::schema::STATEMENTS,
        crate::change_poll::STATEMENTS,
        crate::writer::GROUP,
    ];
    engine_less().into_iter().chain(own.into_iter().flatten().copied()).collect()
}

async fn connection(store: &Store) -> sqlite::Connection {
    match store.database() {
        Database::Sqlite(database) => database.connect().await.unwrap(),
        Database::Postgres(_) => unreachable!("these tests are about SQLite"),
    }
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    let all = all();
    assert!(all.len() > 80, "{}", all.len());
    for statement in all {
        let text = statement.sqlite();
        connection.raw().prepare(text.into_sql_str()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[tokio::test]
async fn no_statement_scans_a_growing_table() {
    // Tables that may be scanned: those with few rows, those that the statement lists whole, and `chosen`,
    // which is no table.
    const SMALL: [&str; 9] = [
        "organisation",
        "workspace",
        "access_token",
        "webhook",
        "w",
        "person",
        "membership",
        "sqlite_master",
        "chosen",
    ];
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    for statement in all() {
        for step in plan(&mut connection, statement).await {
            let Some(table) = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next()) else {
                continue;
            };
            // Subqueries used as tables: their own steps are checked like all others.
            let is_inner = ["counted", "found", "held", "titled", "waiting"].contains(&table);
            let is_small =
                is_inner || SMALL.contains(&table) || table == "schema_version" || table == "CONSTANT";
            // A person deletes a webhook, or a workspace with its webhooks, and the foreign key looks for
            // their deliveries. Each delivery would be written to an index for this.
            let is_rare =
                table == "delivery" && statement.sqlite().to_string().starts_with("DELETE FROM webhook ");
            assert!(is_small || is_rare, "{step}: {}", statement.sqlite());
        }
    }
}

#[tokio::test]
async fn due_jobs_and_deliveries_use_their_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    let mut check = async |begin: &str, steps: &[&str]| {
        let statement = all().into_iter().find(|statement| statement.sqlite().starts_with(begin)).unwrap();
        let plan = plan(&mut connection, statement).await;
        for step in steps {
            assert!(plan.iter().any(|found| found.starts_with(step)), "{begin}: {plan:#?}");
        }
        // Rows in the order of the index: a backlog is not sorted to return its first rows.
        assert!(!plan.iter().any(|found| found.contains("TEMP B-TREE FOR ORDER BY")), "{begin}: {plan:#?}");
    };
    check(
        "SELECT w.id, w.workspace_id FROM webhook w",
        &[
            "SEARCH w USING INDEX webhook_state (state=?)",
            "SEARCH d USING INDEX delivery_due (webhook_id=? AND due_at<?)",
            "SEARCH e USING INDEX delivery_first (webhook_id=? AND subject=? AND sequence<?)",
        ],
    )
    .await;
    check(
        "SELECT d.id, d.claim_count",
        &[
            "SEARCH d USING INDEX delivery_due (webhook_id=? AND due_at<?)",
            "SEARCH e USING INDEX delivery_first (webhook_id=? AND subject=? AND sequence<?)",
        ],
    )
    .await;
    check("SELECT min((", &["SEARCH d USING COVERING INDEX delivery_due (webhook_id=? AND due_at>?)"]).await;
    check(
        "UPDATE job SET lease_owner = $1",
        &["SEARCH job USING INDEX job_due (queue=? AND workspace_id=? AND priority=? AND run_at<?)"],
    )
    .await;
    for (table, column, rest) in
        [("content_key", "secret", "playback_id>?"), ("kept_answer", "body", "(workspace_id,key_hash)>(?,?)")]
    {
        let next = format!("SELECT substr({column}, 1, 11) AS seal FROM {table}");
        check(&next, &[&format!("SEARCH {table} USING COVERING INDEX {table}_seal (<expr>>?)")]).await;
        let page = format!(
            "SELECT {}",
            if table == "content_key" {
                "playback_id, secret AS sealed"
            } else {
                "workspace_id, key_hash, body AS sealed"
            }
        );
        check(&page, &[&format!("SEARCH {table} USING INDEX {table}_seal (<expr>=? AND {rest})")]).await;
    }
    for (select, step) in [
        (
            "SELECT workspace_id, CAST(CASE",
            "SEARCH d USING INDEX job_due (queue=? AND workspace_id=? AND priority=? AND run_at<?)",
        ),
        (
            "SELECT (SELECT min(d.run_at)",
            "SEARCH d USING COVERING INDEX job_due (queue=? AND workspace_id=? AND priority=? AND run_at>?)",
        ),
    ] {
        let statement = all().into_iter().find(|statement| statement.sqlite().contains(select)).unwrap();
        let plan = plan(&mut connection, statement).await;
        let walk = "SEARCH j USING COVERING INDEX job_due (queue=? AND workspace_id>?)";
        for step in ["SEARCH job USING COVERING INDEX job_due (queue=?)", walk, step] {
            assert!(plan.iter().any(|found| found.starts_with(step)), "{select}: {plan:#?}");
        }
    }
}

#[tokio::test]
async fn lists_are_read_in_index_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    for (condition, walked) in [
        (
            "FROM media WHERE workspace_id = $1 AND (",
            "media USING COVERING INDEX media_page (workspace_id=? AND (",
        ),
        (
            "FROM media WHERE workspace_id = $1 AND state",
            "INDEX media_state (workspace_id=? AND state=? AND (",
        ),
        (
            "FROM media WHERE workspace_id = $1 AND creator_id",
            "INDEX media_creator (workspace_id=? AND creator_id=? AND (",
        ),
        ("AND key = $7)", "INDEX media_metadata_key (workspace_id=? AND key=? AND ("),
        (
            "AND key = $7 AND value = $8)",
            "INDEX media_metadata_entry (workspace_id=? AND key=? AND value=? AND (",
        ),
        ("AND title_key >= $7", "INDEX media_title (workspace_id=? AND title_key>? AND title_key<?)"),
    ] {
        let of_list = |statement: &Statement| {
            let text = statement.sqlite();
            text.starts_with("SELECT created_at, id FROM") && text.contains(condition)
        };
        let statements: Vec<_> = all().into_iter().filter(of_list).collect();
        assert_eq!(statements.len(), 2, "{condition}");
        for statement in statements {
            let plan = plan(&mut connection, statement).await;
            assert!(plan.iter().any(|step| step.contains(walked)), "{walked}: {plan:#?}");
            // Rows of a title condition are ordered by title first.
            let is_sorted = plan.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"));
            assert_eq!(is_sorted, condition.contains("title_key"), "{walked}: {plan:#?}");
        }
    }
}

#[tokio::test]
async fn audit_pages_are_read_in_index_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    for (condition, walked) in [
        ("WHERE (at, sequence)", "INDEX audit_page (at>?"),
        ("WHERE object_id = $5", "INDEX audit_object (object_id=? AND at>?"),
        ("WHERE actor_key = $5", "INDEX audit_actor (actor_key=? AND at>?"),
        ("WHERE action = $5", "INDEX audit_action (action=? AND at>?"),
    ] {
        let is_page = |statement: &&Statement| statement.sqlite().contains(condition);
        let statement = *crate::audit::STATEMENTS.iter().find(is_page).unwrap();
        let plan = plan(&mut connection, statement).await;
        assert!(matches!(plan.as_slice(), [step] if step.contains(walked)), "{walked}: {plan:#?}");
    }
}

#[tokio::test]
async fn events_of_a_media_and_objects_by_id_are_searched_by_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut connection = connection(&store).await;
    let [page, deliveries] = crate::event::HISTORY else { panic!("it has two statements") };
    let steps = plan(&mut connection, *page).await;
    let walked = "SEARCH e USING INDEX event_subject (subject=? AND sequence<?)";
    assert!(steps.iter().any(|step| step.starts_with(walked)), "{steps:#?}");
    assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
    let steps = plan(&mut connection, *deliveries).await;
    for walked in [
        "SEARCH e USING INDEX event_subject (subject=? AND sequence>? AND sequence<?)",
        "SEARCH d USING INDEX sqlite_autoindex_delivery_2 (event_id=?)",
        "SEARCH a USING INDEX sqlite_autoindex_attempt_2 (delivery_id=? AND number=?)",
    ] {
        assert!(steps.iter().any(|step| step.starts_with(walked)), "{walked}: {steps:#?}");
    }
    for statement in crate::find::STATEMENTS {
        let steps = plan(&mut connection, *statement).await;
        let searches = steps.iter().filter(|step| step.starts_with("SEARCH "));
        let by_key =
            searches.filter(|step| step.contains("(id=?)") || step.contains("(workspace_id=? AND id=?)"));
        assert_eq!(by_key.count(), 14, "one for each table: {steps:#?}");
    }
}

#[tokio::test]
async fn pragmas_are_full_sync_foreign_keys_and_wal() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    statements! {
        SYNCHRONOUS = "SELECT synchronous AS value FROM pragma_synchronous";
        FOREIGN_KEYS = "SELECT foreign_keys AS value FROM pragma_foreign_keys";
    }
    assert_eq!(STATEMENTS.len(), 2);
    let pragmas = store.write(async |tx: &mut Tx| {
        let mut values = Vec::new();
        for statement in [SYNCHRONOUS, FOREIGN_KEYS] {
            values.push(tx.session.first(statement, values![]).await?.unwrap().int("value")?);
        }
        Ok::<_, Error>(values)
    });
    // 2 is FULL, https://www.sqlite.org/pragma.html#pragma_synchronous.
    assert_eq!(pragmas.await.unwrap(), [2, 1]);
    let mut connection = connection(&store).await;
    let mode = sqlx::query("PRAGMA journal_mode").fetch_one(connection.raw()).await.unwrap();
    assert_eq!(mode.get::<String, _>(0), "wal");
}

#[tokio::test]
async fn write_without_disk_space_returns_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    statements! {
        FILL = "INSERT INTO setting (key, value) VALUES ($1, $2)";
    }
    assert_eq!(STATEMENTS.len(), 1);
    let fill = async |key: &'static str, size: usize| {
        let work = async move |tx: &mut Tx| tx.session.execute(FILL, values![key, "x".repeat(size)]).await;
        store.write::<_, Error, _>(work).await
    };
    let pragma = async |text: &'static str| {
        store.write::<_, Error, _>(async move |tx: &mut Tx| tx.session.script(text).await).await.unwrap();
    };
    // SQLite uses its present pages and allocates no more.
    pragma("PRAGMA max_page_count = 1").await;
    assert!(matches!(fill("large", 1 << 20).await, Err(Error::Full)));
    assert_eq!(store.workspaces().await.unwrap().len(), 2);
    pragma("PRAGMA max_page_count = 1000000").await;
    fill("large", 1 << 20).await.unwrap();
}

async fn plan(connection: &mut sqlite::Connection, statement: Statement) -> Vec<String> {
    let control = ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA"];
    if control.iter().any(|word| statement.sqlite().starts_with(word)) {
        return Vec::new();
    }
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", statement.sqlite()));
    let rows = sqlx::query(explain).fetch_all(connection.raw()).await.unwrap();
    // Newer SQLite says where it stops at the first row.
    rows.iter().map(|row| row.get::<String, _>("detail").replace(" EXISTS USING", " USING")).collect()
}
