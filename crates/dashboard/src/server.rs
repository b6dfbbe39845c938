//! The state of the server: its checks, versions and disk space.

use axum::extract::State;
use futures_util::future::BoxFuture;
use kinora_domain::Timestamp;
use kinora_web::envelope::Data;
use kinora_web::health::{Check, Problem};
use kinora_web::roles::Roles;
use serde::Serialize;

use crate::DashboardState;

/// What the server knows about itself.
pub trait ServerReport: Send + Sync {
    /// The state now. Runs the checks of `/readyz`.
    fn status(&self) -> BoxFuture<'_, ServerStatus>;
}

/// The state of a process. Contains no secret, path or address.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// The version of Kinora.
    pub version: &'static str,
    /// When the process started.
    pub started_at: Timestamp,
    /// Its roles.
    pub roles: Roles,
    /// The checks of `/readyz`.
    pub checks: Vec<Check>,
    /// The database.
    pub database: DatabaseKind,
    /// The version of its schema.
    pub schema: i64,
    /// The object store.
    pub storage: StorageKind,
    /// The version of ffmpeg.
    pub engine_version: String,
}

/// The kind of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// A file in the data folder.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// The kind of an object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageKind {
    /// A folder.
    Folder {
        /// Free bytes of its volume; `None` if it cannot be read.
        free_bytes: Option<u64>,
        /// All bytes of its volume.
        total_bytes: Option<u64>,
    },
    /// A bucket, which has no known capacity.
    S3,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerView {
    version: &'static str,
    started_at: String,
    roles: Vec<&'static str>,
    checks: Vec<CheckView>,
    database: DatabaseView,
    storage: StorageView,
    engine: EngineView,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckView {
    name: &'static str,
    is_ok: bool,
    problem: Option<String>,
    /// What to do.
    advice: Option<&'static str>,
}

#[derive(Serialize)]
struct DatabaseView {
    kind: &'static str,
    schema: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StorageView {
    kind: &'static str,
    free_bytes: Option<u64>,
    total_bytes: Option<u64>,
}

#[derive(Serialize)]
struct EngineView {
    name: &'static str,
    version: String,
}

/// `GET /server`
pub(crate) async fn read(State(app): State<DashboardState>) -> Data<ServerView> {
    Data::ok(app.server.status().await.into())
}

impl From<ServerStatus> for ServerView {
    fn from(status: ServerStatus) -> Self {
        let kind = match status.database {
            DatabaseKind::Sqlite => "sqlite",
            DatabaseKind::Postgres => "postgres",
        };
        Self {
            version: status.version,
            started_at: status.started_at.to_string(),
            roles: status.roles.names(),
            checks: status.checks.into_iter().map(CheckView::from).collect(),
            database: DatabaseView { kind, schema: status.schema },
            storage: match status.storage {
                StorageKind::Folder { free_bytes, total_bytes } => {
                    StorageView { kind: "folder", free_bytes, total_bytes }
                }
                StorageKind::S3 => StorageView { kind: "s3", free_bytes: None, total_bytes: None },
            },
            engine: EngineView { name: "ffmpeg", version: status.engine_version },
        }
    }
}

impl From<Check> for CheckView {
    fn from(check: Check) -> Self {
        let is_ok = check.problem.is_none();
        let (problem, advice) = match check.problem {
            Some(Problem { what, advice }) => (Some(what), Some(advice)),
            None => (None, None),
        };
        Self { name: check.name, is_ok, problem, advice }
    }
}
