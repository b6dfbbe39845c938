//! Statements on PostgreSQL: all can be prepared, and all use an index.

use kinora_testkit::postgres::TestDatabase;
use sqlx::{AssertSqlSafe, Either, Executor as _, PgConnection, Row as _, SqlSafeStr as _, Statement as _};

use super::{engine_less, options};
use crate::sql::Statement;
use crate::{DatabaseLocation, Store};

/// A database with its schema.
pub(super) async fn database() -> TestDatabase {
    let database = TestDatabase::create();
    let store = Store::open(options(DatabaseLocation::Postgres { url: database.url() })).await.unwrap();
    store.close().await;
    database
}

fn all() -> Vec<Statement> {
    let own = [
        crate::lock::STATEMENTS,
        crate::pg_notify::STATEMENTS,
        crate::key_rotation::STATEMENTS,
        crate::schema::STATEMENTS,
        crate::data_version::STATEMENTS,
    ];
    engine_less().into_iter().chain(own.into_iter().flatten().copied()).collect()
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let database = database().await;
    let mut connection = database.connect().await;
    let all = all();
    assert!(all.len() > 80, "{}", all.len());
    for statement in all {
        let text = statement.postgres();
        connection.prepare(text.into_sql_str()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[tokio::test]
async fn no_statement_scans_a_growing_table() {
    // Tables that may be scanned: those with few rows, or those that the statement lists whole.
    const SMALL: [&str; 8] = [
        "organisation",
        "workspace",
        "access_token",
        "webhook",
        "setting",
        "schema_version",
        "person",
        "membership",
    ];
    let (_database, mut connection) = planner().await;
    for statement in engine_less() {
        for step in plan(&mut connection, statement).await {
            let Some(table) = step.split("Seq Scan on ").nth(1).and_then(|rest| rest.split(' ').next())
            else {
                continue;
            };
            assert!(SMALL.contains(&table), "{step}: {}", statement.postgres());
        }
    }
}

/// A plan is cached and reused, so a plan made for an empty table must suit a full one too.
#[tokio::test]
async fn cached_plan_of_empty_table_has_no_nested_full_scan() {
    let (_database, mut connection) = planner().await;
    let mut found = Vec::new();
    for statement in engine_less() {
        let plan = plan(&mut connection, statement).await;
        let by_subject = "AND (subject = d.subject) AND (sequence < d.sequence)";
        let is_by_webhook = statement.postgres().contains("e.sequence < d.sequence")
            && !plan.iter().any(|step| step.contains(by_subject));
        if is_by_webhook || plan.iter().any(|step| step.contains("Join Filter")) {
            found.push(format!("{}\n{}", statement.postgres(), plan.join("\n")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// With statistics of 10,000 media, each with 4 events.
#[tokio::test]
async fn events_of_a_media_and_objects_by_id_are_searched_by_index() {
    const FILL: &str = "INSERT INTO event (id, workspace_id, kind, subject, facts, at)
        SELECT gen_random_uuid()::text, (SELECT min(id) FROM workspace), 'video.media.updated', 'media:' || n % 10000, '{}', n
        FROM generate_series(1, 40000) AS n; ANALYZE";
    let database = database().await;
    let mut connection = database.connect().await;
    sqlx::raw_sql(FILL).execute(&mut connection).await.unwrap();
    sqlx::raw_sql("SET plan_cache_mode = force_generic_plan").execute(&mut connection).await.unwrap();
    for statement in crate::event::HISTORY {
        let steps = plan(&mut connection, *statement).await.join("\n");
        let walk = steps.contains("event_subject") && !steps.contains("Seq Scan on event");
        assert!(walk, "{}\n{steps}", statement.postgres());
    }
    for statement in crate::find::STATEMENTS {
        let steps = plan(&mut connection, *statement).await.join("\n");
        assert!(steps.contains("event_id_key") && !steps.contains("Seq Scan on event"), "{steps}");
    }
}

/// An empty database, and a connection that plans like those of a store once their plans are cached.
async fn planner() -> (TestDatabase, PgConnection) {
    let database = database().await;
    let mut connection = database.connect().await;
    let settings = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan";
    sqlx::raw_sql(settings).execute(&mut connection).await.unwrap();
    (database, connection)
}

async fn plan(connection: &mut PgConnection, statement: Statement) -> Vec<String> {
    let text = statement.postgres();
    let prepared = connection.prepare(text.into_sql_str()).await.unwrap();
    let values = match prepared.parameters() {
        Some(Either::Left(types)) => types.len(),
        Some(Either::Right(count)) => count,
        None => 0,
    };
    let values = if values == 0 { String::new() } else { format!("({})", vec!["NULL"; values].join(", ")) };
    let script = format!("DEALLOCATE ALL; PREPARE planned AS {text}");
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *connection).await.unwrap();
    let explain = format!("EXPLAIN EXECUTE planned{values}");
    let rows = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get::<String, _>(0)).collect()
}
