//! A running server, assembled from its parts.

use std::env;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use kinora_blob::Blob;
use kinora_dashboard::{CREATE_COMMAND, DatabaseKind};
use kinora_domain::{Clock, KeyMaker, Random};
use kinora_engine::{Confinement, Engine};
use kinora_fetch::{Fetcher, Guard, HeaderName, Limits, Network, PostLimits, WebhookClient};
use kinora_intake::{Intake, IntakeOptions, ScanLimits, StallLimit};
use kinora_jobs::{
    AUDIO_EDITS_PER_PROCESS, Admission, COMMITS_MAX, Context, DiskFullJobs, FIRST_SEGMENT_JOBS_PER_PROCESS,
    ForeignObjects, OwnershipError, RecentBackfills, TRANSFERS_MAX,
};
use kinora_packager::Packager;
use kinora_store::{JobKind, NewJob, ServeLock, Store, WorkerId};
use kinora_web::base_urls::BaseUrls;
use kinora_web::health::Health;
use kinora_web::serve::ServeOptions;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::{App, AppOptions};
use crate::assets::Embedded;
use crate::confinement;
use crate::readiness;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::tasks::ServerTasks;

/// The parts of a server; tests provide their own.
pub struct ServerOptions {
    /// The effective settings.
    pub settings: Settings,
    /// Exists as long as the server runs.
    pub lock: ServeLock,
    /// The database.
    pub store: Store,
    /// The object store.
    pub blob: Blob,
    /// Decodes and encodes.
    pub engine: Engine,
    /// The confinement of its processes, as measured.
    pub confinement: Confinement,
    /// Limits of source downloads.
    pub fetch_limits: Limits,
    /// Minimum rate of uploads.
    pub stall_limit: StallLimit,
    /// Downloads at once: [`kinora_jobs::DOWNLOADS_MAX`].
    pub downloads_max: usize,
    /// Downloads that wait for their next attempt with their bytes: [`kinora_jobs::PAUSED_DOWNLOADS_MAX`].
    pub paused_downloads_max: usize,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub random: Arc<dyn Random>,
    /// Makes signing keys.
    pub key_maker: Arc<dyn KeyMaker>,
}

/// A server that listens.
pub struct Server {
    stop: CancellationToken,
    /// Cancelled when another process has taken the lock.
    lock_loss: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A header name of the settings is invalid.
    #[error("--signature-header must be a header name, not {0:?}")]
    SignatureHeader(String),
    /// Outbound HTTPS is not possible.
    #[error(transparent)]
    Outbound(#[from] kinora_fetch::ClientBuildError),
    /// The database failed.
    #[error("the database cannot be used")]
    Store(#[from] kinora_store::Error),
    /// The object store failed.
    #[error("the object store cannot be used")]
    Blob(#[from] kinora_blob::Error),
    /// The objects belong to another database: each server would sweep the objects of the other.
    #[error(transparent)]
    Objects(#[from] ForeignObjects),
    /// The folder for temporary files of jobs cannot be made.
    #[error("the folder {} cannot be created and emptied", .0.display())]
    Scratch(PathBuf, #[source] std::io::Error),
}

impl Server {
    /// Starts everything and serves `listener`.
    ///
    /// On a folder the lock proves that an earlier process has ended, so its leases are released first. On
    /// PostgreSQL they expire.
    pub async fn start(options: ServerOptions, listener: TcpListener) -> Result<Self, StartError> {
        let metrics = metrics_handle();
        confinement::set_metrics(&options.confinement);
        check_ownership(&options).await?;
        options.store.release_leases().await?;
        if options.settings.roles.worker {
            begin_maintenance(&options).await?;
        }
        let scratch = scratch(&options.settings).await?;
        let shared = Shared::new(&options, &scratch);
        let context = job_context(&options, &shared, &scratch)?;
        let app = App::new(app_options(&options, &shared, metrics));

        let ServerOptions { settings, lock, store, .. } = options;
        let (stop, lock_loss) = (CancellationToken::new(), CancellationToken::new());
        let running = ServerTasks {
            app,
            serve_options: ServeOptions {
                trusted_proxies: settings.trusted_proxies.into(),
                ..ServeOptions::default()
            },
            jobs: settings.roles.worker.then_some(context),
            packager: shared.packager,
            store,
            lock,
            scratch,
            stop: stop.clone(),
            lock_loss: lock_loss.clone(),
        };
        let running = tokio::spawn(running.run(listener));
        Ok(Self { stop, lock_loss, running })
    }

    /// Returns when another process has taken the lock, and this one must stop. That happens only after the
    /// database was unavailable.
    pub async fn lock_lost(&self) {
        self.lock_loss.cancelled().await;
    }

    /// Stops the server: work in progress may finish within limits. Returns when nothing runs any more.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(error = %error, "the server did not stop cleanly");
        }
    }
}

/// Rejects objects of another database.
async fn check_ownership(options: &ServerOptions) -> Result<(), StartError> {
    match kinora_jobs::check_ownership(&options.store, &options.blob).await {
        Ok(()) => Ok(()),
        Err(OwnershipError::Foreign(foreign)) => Err(foreign.into()),
        // An unavailable store is checked again before anything is swept.
        Err(error) => {
            tracing::warn!(error = %error, "cannot check which database the objects belong to");
            Ok(())
        }
    }
}

/// Removes temporary files of an earlier process in a folder, and queues the recurring jobs.
async fn begin_maintenance(options: &ServerOptions) -> Result<(), StartError> {
    let now = options.clock.now();
    // A bucket may be unavailable now, and its temporary files can wait for the first sweep.
    if !options.blob.is_shared() {
        options.blob.sweep_temporary(now).await?;
    }
    for kind in [JobKind::Sweep, JobKind::MaintainRenditions] {
        options
            .store
            .write(async move |tx| tx.enqueue_unique(NewJob::due_now(kind, None, now)).await)
            .await?;
    }
    Ok(())
}

/// Parts that jobs and requests share.
struct Shared {
    packager: Packager,
    intake: Intake,
    scan_limits: ScanLimits,
    disk_full_jobs: DiskFullJobs,
    worker: WorkerId,
}

impl Shared {
    fn new(options: &ServerOptions, scratch: &Scratch) -> Self {
        let ServerOptions { settings, store, blob, engine, clock, random, .. } = options;
        let worker = WorkerId::new(&**random);
        let scan_limits = ScanLimits::new(scratch.folder().into());
        let intake = Intake::new(IntakeOptions {
            store: store.clone(),
            blob: blob.clone(),
            clock: clock.clone(),
            random: random.clone(),
            worker,
            public_url: settings.public_url.as_str().into(),
            stall_limit: options.stall_limit,
            scan_limits: scan_limits.clone(),
        });
        let packager = Packager::new(store.clone(), blob.clone(), engine.clone(), clock.clone())
            .with_scratch(scratch.folder().into());
        Self { packager, intake, scan_limits, disk_full_jobs: DiskFullJobs::default(), worker }
    }
}

/// The context of jobs.
fn job_context(options: &ServerOptions, shared: &Shared, scratch: &Scratch) -> Result<Context, StartError> {
    let ServerOptions { settings, engine, .. } = options;
    let network = Network::new(Guard::new(settings.allow_private.clone()));
    Ok(Context {
        store: options.store.clone(),
        blob: options.blob.clone(),
        intake: shared.intake.clone(),
        scan_limits: shared.scan_limits.clone(),
        fetcher: Fetcher::new(&network, options.fetch_limits.clone())?,
        webhook_client: WebhookClient::new(&network, PostLimits::default())?,
        packager: shared.packager.clone(),
        engine: engine.clone(),
        scratch: scratch.folder().into(),
        clock: options.clock.clone(),
        random: options.random.clone(),
        images_url: settings.images_url.as_str().into(),
        public_url: settings.public_url.as_str().into(),
        demo_url: settings.demo_url().into(),
        downloads_max: options.downloads_max,
        transfers: Admission::new(TRANSFERS_MAX),
        paused_downloads: Admission::new(options.paused_downloads_max),
        ingest_engine_permits: Admission::new(FIRST_SEGMENT_JOBS_PER_PROCESS * engine.load().slots),
        audio_edits: Admission::new(AUDIO_EDITS_PER_PROCESS * engine.load().slots),
        commits: Admission::new(COMMITS_MAX),
        disk_full_jobs: shared.disk_full_jobs.clone(),
        cache_bytes: settings.cache_bytes,
        prepares_start: settings.prepare_start,
        recent_backfills: RecentBackfills::default(),
        worker: shared.worker,
        signature_aliases: header_names(&settings.signature_headers)?,
    })
}

/// The parts of the routes.
fn app_options(options: &ServerOptions, shared: &Shared, metrics: PrometheusHandle) -> AppOptions {
    let ServerOptions { settings, store, .. } = options;
    let health: Arc<dyn Health> = Arc::new(readiness::ReadinessChecks {
        store: store.clone(),
        blob: options.blob.clone(),
        disk_full_jobs: shared.disk_full_jobs.clone(),
        confinement: options.confinement.clone(),
    });
    AppOptions {
        store: store.clone(),
        packager: shared.packager.clone(),
        intake: shared.intake.clone(),
        clock: options.clock.clone(),
        random: options.random.clone(),
        key_maker: options.key_maker.clone(),
        base_urls: BaseUrls {
            public: settings.public_url.clone(),
            stream: settings.stream_url.clone(),
            images: settings.images_url.clone(),
        },
        assets: Arc::new(Embedded),
        server_report: Arc::new(Report {
            health: Arc::clone(&health),
            blob: options.blob.clone(),
            started_at: options.clock.now(),
            roles: settings.roles,
            database: match settings.database_url {
                Some(_) => DatabaseKind::Postgres,
                None => DatabaseKind::Sqlite,
            },
            schema: store.schema(),
            engine_version: options.engine.version().to_string(),
        }),
        health,
        render_metrics: Arc::new(move || metrics.render()),
        roles: settings.roles,
        rate_limit: settings.rate_limit,
        dashboard_origins: settings.dashboard_origins.clone(),
        create_command: format!("{CREATE_COMMAND}{}", settings.data_option()),
        shared_max_age_s: settings.shared_max_age_s,
    }
}

/// Made and emptied on a blocking thread: the files of an earlier process may be large.
async fn scratch(settings: &Settings) -> Result<Scratch, StartError> {
    let data = settings.uses_data_dir().then(|| settings.data_dir.clone());
    let made = tokio::task::spawn_blocking(move || match data {
        Some(data) => Scratch::in_data_dir(&data),
        None => Scratch::in_temporary_dir(&env::temp_dir()),
    });
    let made = made.await.expect("it does not panic and is not aborted");
    made.map_err(|(folder, error)| StartError::Scratch(folder, error))
}

fn header_names(names: &[String]) -> Result<Arc<[HeaderName]>, StartError> {
    let parse = |name: &String| name.parse().map_err(|_| StartError::SignatureHeader(name.clone()));
    names.iter().map(parse).collect()
}

/// One recorder for each process; several servers in one process (in tests) share it.
fn metrics_handle() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let install = || {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another metrics recorder is already installed");
        }
        handle
    };
    HANDLE.get_or_init(install).clone()
}
