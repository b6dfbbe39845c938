//! Statements on PostgreSQL: all can be prepared, and all go by an index.

use kinora_testkit::postgres::TestDatabase;
use sqlx::{AssertSqlSafe, Either, Executor as _, PgConnection, Row as _, SqlSafeStr as _, Statement as _};

use super::{engine_less, options};
use crate::sql::Statement;
use crate::{DatabasePlace, Store};

/// A database with its schema.
pub(super) async fn database() -> TestDatabase {
    let database = TestDatabase::create();
    let store = Store::open(options(DatabasePlace::Postgres { url: database.url() })).await.unwrap();
    store.close().await;
    database
}

fn all() -> Vec<Statement> {
    let own = [
        crate::lock::STATEMENTS,
        crate::notify::STATEMENTS,
        crate::reseal::STATEMENTS,
        crate::schema::STATEMENTS,
        crate::version::STATEMENTS,
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
async fn no_path_reads_a_table_that_grows_from_end_to_end() {
    // What may be read whole: a handful of rows, or the purpose is to list them all.
    const SMALL: [&str; 6] =
        ["organisation", "workspace", "access_token", "webhook", "setting", "schema_version"];
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

/// A plan is kept and used again, so one made while a table is empty has to do when it is full.
#[tokio::test]
async fn no_plan_of_an_empty_database_compares_each_row_with_all_rows_of_another_table() {
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

/// An empty database, and a connection that plans as those of a store do once they keep their plans.
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
