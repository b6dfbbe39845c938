//! What Kinora remembers: rows, events, deliveries and jobs, in one database.
//!
//! Begin with [`Store`]: reads are its methods, and there is one way to write, [`Store::write`], whose closure gets a [`Tx`].
//! A change, its event and its jobs are committed together or not at all.
//!
//! Knows ids, rows and transactions; no route, no wire spelling, no object. The only crate that names sqlx, and inside it only
//! `sql/` does. Statements are the same for every engine, but for those that begin (`schema.rs`), group (`writer.rs`) and watch
//! (`watch.rs`).
//!
//! | File | Holds |
//! |---|---|
//! | `store.rs`, `write.rs`, `tx.rs`, `writer.rs` | the handle, the way to write, what a closure sees, the thread that groups commits |
//! | `sql/` | statements, values and rows, the same for every engine |
//! | `schema.rs`, `folder.rs`, `keyring.rs`, `lock.rs` | the start: migrations, first rows, key, lock |
//! | `workspace.rs`, `access_token.rs`, `media/`, `webhook.rs`, `event/`, `delivery/`, `job/` | one aggregate each |
//! | `prune.rs`, `watch.rs` | what leaves again; what others changed |

mod access_token;
mod delivery;
mod error;
mod event;
mod fault;
mod folder;
mod job;
mod keyring;
mod lock;
mod media;
mod notify;
mod prune;
mod schema;
mod sql;
mod store;
mod tx;
mod version;
mod wake;
mod watch;
mod webhook;
mod workspace;
mod write;
mod writer;

pub use delivery::{ClaimDeliveries, ClaimedDelivery, DeliveryNext, StoredEvent};
pub use error::Error;
pub use fault::{FaultAction, FaultPoint, Faults};
pub use job::{ClaimJobs, ClaimedJob, JobKind, JobLease, JobQueue, NewJob, Priority};
pub use lock::{ObjectsPlace, ServeLock};
pub use media::{MediaPage, Page};
pub use prune::Pruned;
pub use store::{DatabasePlace, Opener, Store, StoreOptions};
pub use tx::Tx;
pub use version::Version;
pub use wake::Wake;
pub use worker::WorkerId;

mod worker;
