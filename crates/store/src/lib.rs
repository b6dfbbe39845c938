//! The database of Kinora: rows, events, deliveries and jobs.
//!
//! Begin with [`Store`]: reads are its methods. All writes go through [`Store::write`], whose closure gets
//! a [`Tx`]. A change, its event and its jobs are committed together or not at all.
//!
//! Contains ids, rows and transactions; no route, no API name, no object. Only this crate uses sqlx, and
//! inside it only `sql/` and `pg_notify.rs`, which listens. The database is an SQLite file or on PostgreSQL.
//! Statements are the same for both, except those that start up (`schema.rs`, `key_rotation.rs`), claim
//! (`job/lease.rs`, `delivery/claim.rs`), group (`writer/group_commit.rs`) and watch (`change_poll.rs`).
//!
//! | File | Content |
//! |---|---|
//! | `store.rs`, `write.rs`, `tx.rs` | the handle, the write path, the transaction of a closure |
//! | `writer/` | the writer thread: many closures in one commit on SQLite, concurrent ones on PostgreSQL |
//! | `sql/` | statements, values and rows, the same for every engine |
//! | `schema.rs`, `private_file.rs`, `keyring.rs`, `key_rotation.rs`, `lock/` | the start: migrations, first rows, keys, lock |
//! | `workspace.rs`, `workspace_content.rs`, `access_token.rs`, `media/`, `upload/`, `webhook.rs`, `event/`, `delivery/`, `job/`, `rendition.rs`, `signing_key.rs`, `revoked_token.rs`, `playlist/`, `idempotency.rs`, `person.rs`, `session.rs`, `one_time_link.rs`, `audit.rs` | one aggregate each |
//! | `playback_path.rs` | signatures of playback paths in manifests |
//! | `content_key.rs` | keys of encrypted playback IDs |
//! | `list.rs` | pagination by number and by cursor |
//! | `find.rs` | objects of any kind by their id |
//! | `usage/` | usage of workspaces: counted in memory, added to rows |
//! | `prune.rs` | removal of expired rows |
//! | `change_poll.rs`, `pg_notify.rs`, `data_version.rs` | changes of other processes: by polling, by notification, and on demand |

mod access_token;
mod audit;
mod change_poll;
mod content_key;
mod data_version;
mod decoders;
mod delivery;
mod error;
mod event;
mod fault;
mod find;
mod idempotency;
mod job;
mod key_rotation;
mod keyring;
mod list;
mod lock;
mod media;
mod one_time_link;
mod person;
mod pg_notify;
mod playback_path;
mod playlist;
mod private_file;
mod prune;
mod rendition;
mod revoked_token;
mod schema;
mod session;
mod signing_key;
mod sql;
mod store;
mod tx;
mod upload;
mod usage;
mod wake_signal;
mod webhook;
mod workspace;
mod workspace_content;
mod write;
mod writer;

pub use audit::{AuditFilter, AuditPosition};
pub use data_version::DataVersion;
pub use delivery::{ClaimDeliveries, ClaimedDelivery, DueWebhook, NextDeliveryState, StoredEvent};
pub use error::Error;
pub use event::{DeliveryState, LastAttempt, ListedDelivery, ListedEvent};
pub use fault::{FaultAction, FaultPoint, Faults};
pub use find::{FoundKind, FoundObject};
pub use idempotency::{IdempotencyKey, StoredResponse};
pub use job::{
    ClaimJobs, ClaimedJob, DownloadProgress, DueWorkspace, JobKind, JobLease, JobQueue, NewJob, Priority,
    WorkspaceLimit,
};
pub use list::{List, ListPage, Page, PageStart, Position};
pub use lock::{ObjectStorageKind, ServeLock};
pub use media::MediaFilter;
pub use one_time_link::Invitation;
pub use playlist::{ListedPlaylist, PlaylistVersion};
pub use prune::PrunedCounts;
pub use rendition::{RenditionCursor, RenditionRow, RenditionUsage};
pub use revoked_token::RevokedToken;
pub use store::{DatabaseLocation, Opener, Store, StoreOptions};
pub use tx::Tx;
pub use upload::{UploadCancelled, UploadLease, UploadMultipart, UploadPart};
pub use usage::{DailyUsage, StoredBytes, Usage, UsageCounts, WrittenUsage};
pub use wake_signal::WakeReceiver;
pub use worker::WorkerId;

mod worker;
