//! What Kinora remembers: rows, events, deliveries and jobs, in one database.
//!
//! Begin with [`Store`]: reads are its methods, and there is one way to write, [`Store::write`], whose
//! closure gets a [`Tx`]. A change, its event and its jobs are committed together or not at all.
//!
//! Knows ids, rows and transactions; no route, no wire spelling, no object. The only crate that names sqlx,
//! and inside it only `sql/` does, and `notify.rs`, which listens. The database is a file of SQLite or on
//! PostgreSQL; statements are the same for both, but for those that begin (`schema.rs`, `reseal.rs`), claim
//! (`job/lease.rs`, `delivery/claim.rs`), group (`writer/group.rs`) and watch (`watch.rs`).
//!
//! | File | Holds |
//! |---|---|
//! | `store.rs`, `write.rs`, `tx.rs` | the handle, the way to write, what a closure sees |
//! | `writer/` | the thread that writes: many closures in one commit on SQLite, beside each other on PostgreSQL |
//! | `sql/` | statements, values and rows, the same for every engine |
//! | `schema.rs`, `folder.rs`, `keyring.rs`, `reseal.rs`, `lock/` | the start: migrations, first rows, keys, lock |
//! | `workspace.rs`, `access_token.rs`, `media/`, `upload/`, `webhook.rs`, `event/`, `delivery/`, `job/`, `rendition.rs`, `signing_key.rs`, `revoked_token.rs`, `playlist/`, `kept_answer.rs` | one aggregate each |
//! | `playback_path.rs` | signatures of what manifests list |
//! | `content_key.rs` | keys of what is encrypted on its way |
//! | `list.rs` | parts of lists, by number and by position |
//! | `usage/` | what workspaces use: counted in memory, added to rows |
//! | `prune.rs` | what leaves again |
//! | `watch.rs`, `notify.rs`, `version.rs` | what others changed: by looking, by being told, and on demand |

mod access_token;
mod content_key;
mod decoders;
mod delivery;
mod error;
mod event;
mod fault;
mod folder;
mod job;
mod kept_answer;
mod keyring;
mod list;
mod lock;
mod media;
mod notify;
mod playback_path;
mod playlist;
mod prune;
mod rendition;
mod reseal;
mod revoked_token;
mod schema;
mod signing_key;
mod sql;
mod store;
mod tx;
mod upload;
mod usage;
mod version;
mod wake;
mod watch;
mod webhook;
mod workspace;
mod write;
mod writer;

pub use delivery::{ClaimDeliveries, ClaimedDelivery, DeliveryNext, DueWebhook, StoredEvent};
pub use error::Error;
pub use fault::{FaultAction, FaultPoint, Faults};
pub use job::{
    ClaimJobs, ClaimedJob, DownloadProgress, DueWorkspace, JobKind, JobLease, JobQueue, JobShare, NewJob,
    Priority,
};
pub use kept_answer::{KeptAnswer, RequestKey};
pub use list::{List, Page, Position, Slice, SliceStart};
pub use lock::{ObjectsPlace, ServeLock};
pub use media::MediaFilter;
pub use playlist::{ListedPlaylist, PlaylistEdition};
pub use prune::Pruned;
pub use rendition::{RenditionPlace, RenditionRow, RenditionUse};
pub use revoked_token::RevokedToken;
pub use store::{DatabasePlace, Opener, Store, StoreOptions};
pub use tx::Tx;
pub use upload::{UploadCancelled, UploadGrown, UploadLease, UploadPart};
pub use usage::{Stored, Usage, UsageOfDay, Used, WrittenUsage};
pub use version::Version;
pub use wake::Wake;
pub use worker::WorkerId;

mod worker;
