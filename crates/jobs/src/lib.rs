//! Background jobs: fetch sources, deliver events, sweep objects.
//!
//! Every job may run twice. A job writes bytes first and its row last, and opens no transaction while it
//! works. Independent of API routes and API types; it shares rows and objects with the API.
//!
//! Begin with [`run`]; then one module for each kind of work.

mod backfill;
mod blurhash;
mod cache_usage;
mod claim;
mod delete_objects;
mod deliver_event;
mod discard_upload;
mod disk_space;
mod download;
mod encode_audio;
mod error;
mod fetch_audio_track;
mod fetch_subtitles;
#[cfg(test)]
mod fixture;
mod ingest;
mod ingest_upload;
mod lease;
mod lost_lease;
mod measure_loudness;
mod mp4_files;
mod outage_retry;
mod ownership;
mod probe_decode;
mod reindex;
mod rendition_maintenance;
mod reschedule;
mod retry;
mod runner;
mod storage_usage;
mod sweep;
mod upload_maintenance;
mod worker_pools;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use kinora_blob::Blob;
use kinora_domain::{Clock, Random, WorkspaceId};
use kinora_engine::Engine;
use kinora_fetch::{Fetcher, WebhookClient};
use kinora_intake::{Intake, ScanLimits};
use kinora_packager::Packager;
use kinora_store::{Store, WorkerId};
use tokio_util::sync::CancellationToken;

pub use backfill::RecentBackfills;
pub use deliver_event::event_body;
pub use disk_space::DiskFullJobs;
pub use ownership::{ForeignObjects, OwnershipError, check as check_ownership};

/// Permits that are shared fairly among workspaces; `None` stands for the jobs of no workspace.
pub type Admission = kinora_fair::Admission<Option<WorkspaceId>>;
pub(crate) type Permit = kinora_fair::Permit<Option<WorkspaceId>>;

/// Concurrent downloads. Most wait for their source, some for minutes; [`TRANSFERS_MAX`] bounds those that
/// use memory.
pub const DOWNLOADS_MAX: usize = 1024;
/// Concurrent transfers: downloads that receive bytes. Each uses some MiB at most; those that wait for their
/// source need no permit.
pub const TRANSFERS_MAX: usize = 256;
/// Interrupted downloads that wait for their next attempt with their bytes.
pub const PAUSED_DOWNLOADS_MAX: usize = 1024;

/// Concurrent commits of downloads that begin or are rescheduled, and of failed posts. If a thousand arrive
/// at the same time, most wait here, in fair order among workspaces, and not for one of the few database
/// connections.
pub const COMMITS_MAX: usize = 3;

/// Sources that are remuxed or whose first segments are encoded, per engine process: one runs, one waits. The
/// engine serves requests in order, so further ones wait here, in fair order among workspaces.
pub const FIRST_SEGMENT_JOBS_PER_PROCESS: usize = 2;

/// Media with an audio edit in progress, per engine process. The indexes of all files in the mix are in
/// memory during the edit.
pub const AUDIO_EDITS_PER_PROCESS: usize = 2;

/// The dependencies of jobs; cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// The object store.
    pub blob: Blob,
    /// Receives direct uploads.
    pub intake: Intake,
    /// Limits and orders the scans of large sources.
    pub scan_limits: ScanLimits,
    /// Downloads sources.
    pub fetcher: Fetcher,
    /// Posts webhooks.
    pub webhook_client: WebhookClient,
    /// Packages and decodes.
    pub packager: Packager,
    /// Remuxes sources into supported containers.
    pub engine: Engine,
    /// A folder for temporary files, with space for the largest source.
    pub scratch: Arc<Path>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub random: Arc<dyn Random>,
    /// Base of image URLs in events, without a slash at the end.
    pub images_url: Arc<str>,
    /// Base of upload URLs in events, without a slash at the end.
    pub public_url: Arc<str>,
    /// The URL of the demonstration clip, which is read from the store and not through a socket.
    pub demo_url: Arc<str>,
    /// Concurrent downloads: [`DOWNLOADS_MAX`].
    pub downloads_max: usize,
    /// Permits for downloads that receive bytes; see [`TRANSFERS_MAX`].
    pub transfers: Admission,
    /// Permits for interrupted downloads; see [`PAUSED_DOWNLOADS_MAX`].
    pub paused_downloads: Admission,
    /// Permits for a remux or for encoding first segments; see [`FIRST_SEGMENT_JOBS_PER_PROCESS`].
    pub ingest_engine_permits: Admission,
    /// Permits for audio edits; see [`AUDIO_EDITS_PER_PROCESS`].
    pub audio_edits: Admission,
    /// Permits for commits that may arrive in bursts; see [`COMMITS_MAX`].
    pub commits: Admission,
    /// The jobs that wait for disk space.
    pub disk_full_jobs: DiskFullJobs,
    /// Size limit of the rendition cache in bytes; `None`: as much as the disk has.
    pub cache_bytes: Option<u64>,
    /// Whether the first segment that players request is encoded before the first view.
    pub prepares_start: bool,
    /// Recent backfill requests.
    pub recent_backfills: RecentBackfills,
    /// Identifies this process in leases.
    pub worker: WorkerId,
    /// Header names that repeat the value of `Service-Signature` (C-2).
    pub signature_aliases: Arc<[kinora_fetch::HeaderName]>,
}

/// Runs jobs until `stop` is cancelled, then ends the work in progress or releases its lease.
///
/// Deliveries and other jobs have separate permits: neither waits for the other.
pub async fn run(context: Context, stop: CancellationToken) {
    let pools = worker_pools::worker_pools(context.downloads_max);
    let jobs = join_all(pools.map(|pool| runner::run(context.clone(), pool, stop.clone())));
    tokio::join!(jobs, deliver_event::run(context.clone(), stop.clone()));
}
