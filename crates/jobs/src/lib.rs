//! Work that goes on after a commit: fetching sources, delivering events, sweeping objects.
//!
//! Every job may run twice. A job writes bytes first and its row last, and holds no transaction while it
//! works. Knows no route and no wire of the API; it meets the API in rows and objects.
//!
//! Begin with [`run`]; then one module for each kind of work.

mod cache;
mod claim;
mod delete_objects;
mod deliver_event;
mod discard_upload;
mod download;
mod encode_audio;
mod error;
mod fetch_sound;
mod fetch_track;
mod files;
mod fill;
#[cfg(test)]
mod fixture;
mod hash_picture;
mod ingest;
mod ingest_upload;
mod lanes;
mod later;
mod lease;
mod lost_lease;
mod ownership;
mod patience;
mod probe_decode;
mod reindex;
mod retry;
mod room;
mod runner;
mod stored;
mod sweep;
mod tend;
mod tend_upload;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use kinora_blob::Blob;
use kinora_domain::{Clock, Random, WorkspaceId};
use kinora_engine::Engine;
use kinora_fetch::{Fetcher, Poster};
use kinora_intake::{Intake, ScanTurns};
use kinora_packager::Packager;
use kinora_store::{Store, WorkerId};
use tokio_util::sync::CancellationToken;

pub use fill::FillsAsked;
pub use ownership::{ForeignObjects, OwnershipError, check as check_ownership};
pub use room::Room;

/// Places that are shared out among workspaces; `None` is the server itself.
pub type Admission = kinora_fair::Admission<Option<WorkspaceId>>;
pub(crate) type Permit = kinora_fair::Permit<Option<WorkspaceId>>;

/// Downloads at once. Most wait for their source, some for minutes; [`TRANSFERS_MAX`] bounds those that hold
/// memory.
pub const DOWNLOADS_MAX: usize = 1024;
/// Downloads whose bytes come at once. Each holds some MiB at most; those that wait for their source hold no
/// place.
pub const TRANSFERS_MAX: usize = 256;
/// Downloads that were cut and wait for their next attempt with the bytes they have.
pub const PARKED_MAX: usize = 1024;

/// Commits at once of downloads that begin or go on later, and of posts that failed. Of a thousand in one
/// moment most wait here, where workspaces have turns, and not for one of the few connections to the
/// database.
pub const COMMITS_MAX: usize = 3;

/// Sources that are repacked, or whose first segments are encoded, for each process that the engine may run:
/// one runs, one waits. The engine serves its queue in the order of asking; so others wait here, where
/// workspaces have turns.
pub const BEGINNINGS_PER_PLACE: usize = 2;

/// Media whose sound is changed at the same time, for each process that the engine may run. The indexes of
/// all files that are heard are in memory while it is changed.
pub const SOUND_EDITS_PER_PLACE: usize = 2;

/// What jobs work with; cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// Rows.
    pub store: Store,
    /// Objects.
    pub blob: Blob,
    /// Receives direct uploads.
    pub intake: Intake,
    /// Where and in whose turn large parts of sources are read.
    pub scans: ScanTurns,
    /// Reads sources from outside.
    pub fetcher: Fetcher,
    /// Posts webhooks.
    pub poster: Poster,
    /// Packages and decodes.
    pub packager: Packager,
    /// Copies sources into containers that are read here.
    pub engine: Engine,
    /// A folder for files that are needed while a job works, with room for the largest source.
    pub scratch: Arc<Path>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws randomness.
    pub random: Arc<dyn Random>,
    /// Base of picture addresses in events, without a slash at the end.
    pub images_url: Arc<str>,
    /// Base of the addresses of uploads in events, without a slash at the end.
    pub public_url: Arc<str>,
    /// The address of the demonstration clip, which is read from the store and not through a socket.
    pub demo_url: Arc<str>,
    /// Downloads at once: [`DOWNLOADS_MAX`].
    pub downloads_max: usize,
    /// Places for downloads whose bytes are coming; see [`TRANSFERS_MAX`].
    pub transfers: Admission,
    /// Places for downloads that were cut; see [`PARKED_MAX`].
    pub parked: Admission,
    /// Places for sources that are repacked or whose first segments are encoded; see
    /// [`BEGINNINGS_PER_PLACE`].
    pub beginnings: Admission,
    /// Places for media whose sound is changed; see [`SOUND_EDITS_PER_PLACE`].
    pub sound_edits: Admission,
    /// Places for commits that come in crowds; see [`COMMITS_MAX`].
    pub commits: Admission,
    /// Who waits for room on the disk.
    pub room: Room,
    /// What encoded renditions may take; `None`: whatever the disk has.
    pub cache_bytes: Option<u64>,
    /// Whether the first segment that players ask for is encoded before it is watched.
    pub prepares_start: bool,
    /// Which fills were asked for lately.
    pub fills_asked: FillsAsked,
    /// Names this process in leases.
    pub worker: WorkerId,
    /// Header names that repeat the value of `Service-Signature` (C-2).
    pub signature_aliases: Arc<[kinora_fetch::HeaderName]>,
}

/// Works until `stop` is cancelled, then lets what is under way end or give back its lease.
///
/// Deliveries and other jobs have lanes of their own: neither waits for the other.
pub async fn run(context: Context, stop: CancellationToken) {
    let lanes = lanes::lanes(context.downloads_max);
    let jobs = join_all(lanes.map(|lane| runner::run(context.clone(), lane, stop.clone())));
    tokio::join!(jobs, deliver_event::run(context.clone(), stop.clone()));
}
