//! A running server, put together from its parts.

use std::env;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use kinora_blob::Blob;
use kinora_domain::{Clock, KeyMaker, Random};
use kinora_engine::{Confinement, Engine};
use kinora_fetch::{Fetcher, Guard, HeaderName, Limits, Network, PostLimits, Poster};
use kinora_intake::{Intake, IntakeOptions, PaceMin, ScanTurns};
use kinora_jobs::{
    Admission, BEGINNINGS_PER_PLACE, COMMITS_MAX, Context, FillsAsked, ForeignObjects, OwnershipError, Room,
    SOUND_EDITS_PER_PLACE, TRANSFERS_MAX,
};
use kinora_packager::Packager;
use kinora_store::{JobKind, NewJob, ServeLock, Store, WorkerId};
use kinora_web::addresses::Addresses;
use kinora_web::serve::ServeOptions;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::{App, AppOptions};
use crate::assets::Embedded;
use crate::confinement;
use crate::health;
use crate::running::Running;
use crate::scratch::Scratch;
use crate::settings::Settings;

/// What a server is made of; tests bring their own parts.
pub struct ServerOptions {
    /// What is in force.
    pub settings: Settings,
    /// Held as long as the server runs.
    pub lock: ServeLock,
    /// Rows.
    pub store: Store,
    /// Objects.
    pub blob: Blob,
    /// Decodes and encodes.
    pub engine: Engine,
    /// The confinement of its processes, as it was measured.
    pub confinement: Confinement,
    /// Limits of source downloads.
    pub fetch_limits: Limits,
    /// How slowly uploads may come.
    pub pace_min: PaceMin,
    /// Downloads at once: [`kinora_jobs::DOWNLOADS_MAX`].
    pub downloads_max: usize,
    /// Downloads that wait for their next attempt with their bytes: [`kinora_jobs::PARKED_MAX`].
    pub parked_max: usize,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws randomness.
    pub random: Arc<dyn Random>,
    /// Makes signing keys.
    pub key_maker: Arc<dyn KeyMaker>,
}

/// A server that listens.
pub struct Server {
    stop: CancellationToken,
    /// Somebody else has the lock.
    is_lost: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A header name of the settings is none.
    #[error("--signature-header must be a header name, not {0:?}")]
    SignatureHeader(String),
    /// Outbound HTTPS is not possible.
    #[error(transparent)]
    Outbound(#[from] kinora_fetch::StartError),
    /// The database failed.
    #[error("the database cannot be used")]
    Store(#[from] kinora_store::Error),
    /// The store of objects failed.
    #[error("the object store cannot be used")]
    Blob(#[from] kinora_blob::Error),
    /// The objects are another database's, which would sweep ours, as we would its.
    #[error(transparent)]
    Objects(#[from] ForeignObjects),
    /// The folder for files that are needed while a job works cannot be made.
    #[error("the folder {} cannot be made and emptied", .0.display())]
    Scratch(PathBuf, #[source] std::io::Error),
}

impl Server {
    /// Starts everything and answers on `listener`.
    ///
    /// Leases of an earlier process are taken back first where the lock proves that it is gone: on a folder.
    /// On PostgreSQL they run out.
    pub async fn start(options: ServerOptions, listener: TcpListener) -> Result<Self, StartError> {
        let metrics = metrics_handle();
        confinement::set_metrics(&options.confinement);
        check_ownership(&options).await?;
        options.store.take_back_leases().await?;
        if options.settings.roles.worker {
            begin_maintenance(&options).await?;
        }
        let scratch = scratch(&options.settings).await?;
        let shared = Shared::new(&options, &scratch);
        let context = job_context(&options, &shared, &scratch)?;
        let app = App::new(app_options(&options, &shared, metrics));

        let ServerOptions { settings, lock, store, .. } = options;
        let (stop, is_lost) = (CancellationToken::new(), CancellationToken::new());
        let running = Running {
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
            is_lost: is_lost.clone(),
        };
        let running = tokio::spawn(running.run(listener));
        Ok(Self { stop, is_lost, running })
    }

    /// Returns when another process has taken what only one may serve, and this one must stop. That happens
    /// only after the database was away.
    pub async fn lock_lost(&self) {
        self.is_lost.cancelled().await;
    }

    /// Lets what is under way end, within bounds, and returns when nothing runs any more.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(error = %error, "the server did not stop cleanly");
        }
    }
}

/// Refuses objects of another database.
async fn check_ownership(options: &ServerOptions) -> Result<(), StartError> {
    match kinora_jobs::check_ownership(&options.store, &options.blob).await {
        Ok(()) => Ok(()),
        Err(OwnershipError::Foreign(foreign)) => Err(foreign.into()),
        // What is away for the moment is looked at again before anything is swept.
        Err(error) => {
            tracing::warn!(error = %error, "cannot tell whose the objects are");
            Ok(())
        }
    }
}

/// Removes what an earlier process left in a folder, and queues the jobs that repeat.
async fn begin_maintenance(options: &ServerOptions) -> Result<(), StartError> {
    let now = options.clock.now();
    // A bucket may be away for the moment, and its leftovers have time until the first sweep.
    if !options.blob.is_shared() {
        options.blob.sweep_temporary(now).await?;
    }
    for kind in [JobKind::Sweep, JobKind::TendRenditions] {
        options.store.write(async move |tx| tx.enqueue_once(NewJob::soon(kind, None, now)).await).await?;
    }
    Ok(())
}

/// What jobs and requests share.
struct Shared {
    packager: Packager,
    intake: Intake,
    scans: ScanTurns,
    room: Room,
    worker: WorkerId,
}

impl Shared {
    fn new(options: &ServerOptions, scratch: &Scratch) -> Self {
        let ServerOptions { settings, store, blob, engine, clock, random, .. } = options;
        let worker = WorkerId::new(&**random);
        let scans = ScanTurns::new(scratch.folder().into());
        let intake = Intake::new(IntakeOptions {
            store: store.clone(),
            blob: blob.clone(),
            clock: clock.clone(),
            random: random.clone(),
            worker,
            public_url: settings.public_url.as_str().into(),
            pace_min: options.pace_min,
            scans: scans.clone(),
        });
        let packager = Packager::new(store.clone(), blob.clone(), engine.clone(), clock.clone());
        Self { packager, intake, scans, room: Room::default(), worker }
    }
}

/// What jobs work with.
fn job_context(options: &ServerOptions, shared: &Shared, scratch: &Scratch) -> Result<Context, StartError> {
    let ServerOptions { settings, engine, .. } = options;
    let network = Network::new(Guard::new(settings.allow_private.clone()));
    Ok(Context {
        store: options.store.clone(),
        blob: options.blob.clone(),
        intake: shared.intake.clone(),
        scans: shared.scans.clone(),
        fetcher: Fetcher::new(&network, options.fetch_limits.clone())?,
        poster: Poster::new(&network, PostLimits::default())?,
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
        parked: Admission::new(options.parked_max),
        beginnings: Admission::new(BEGINNINGS_PER_PLACE * engine.load().places),
        sound_edits: Admission::new(SOUND_EDITS_PER_PLACE * engine.load().places),
        commits: Admission::new(COMMITS_MAX),
        room: shared.room.clone(),
        cache_bytes: settings.cache_bytes,
        prepares_start: settings.prepare_start,
        fills_asked: FillsAsked::default(),
        worker: shared.worker,
        signature_aliases: header_names(&settings.signature_headers)?,
    })
}

/// What requests are answered with.
fn app_options(options: &ServerOptions, shared: &Shared, metrics: PrometheusHandle) -> AppOptions {
    let ServerOptions { settings, store, .. } = options;
    AppOptions {
        store: store.clone(),
        packager: shared.packager.clone(),
        intake: shared.intake.clone(),
        clock: options.clock.clone(),
        random: options.random.clone(),
        key_maker: options.key_maker.clone(),
        addresses: Addresses {
            public: settings.public_url.clone(),
            stream: settings.stream_url.clone(),
            images: settings.images_url.clone(),
        },
        assets: Arc::new(Embedded),
        health: Arc::new(health::Parts {
            store: store.clone(),
            blob: options.blob.clone(),
            room: shared.room.clone(),
            confinement: options.confinement.clone(),
        }),
        render_metrics: Arc::new(move || metrics.render()),
        roles: settings.roles,
        rate_limit: settings.rate_limit,
        shared_max_age_s: settings.shared_max_age_s,
    }
}

/// Made and emptied on a thread of its own: what an earlier process left may be large.
async fn scratch(settings: &Settings) -> Result<Scratch, StartError> {
    let data = settings.has_folder().then(|| settings.data_dir.clone());
    let made = tokio::task::spawn_blocking(move || match data {
        Some(data) => Scratch::in_data(&data),
        None => Scratch::beside_others(&env::temp_dir()),
    });
    let made = made.await.expect("it does not panic and nobody aborts it");
    made.map_err(|(folder, error)| StartError::Scratch(folder, error))
}

fn header_names(names: &[String]) -> Result<Arc<[HeaderName]>, StartError> {
    let parse = |name: &String| name.parse().map_err(|_| StartError::SignatureHeader(name.clone()));
    names.iter().map(parse).collect()
}

/// One recorder a process; several servers in one process (in tests) share it.
fn metrics_handle() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let install = || {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another recorder of metrics is in place");
        }
        handle
    };
    HANDLE.get_or_init(install).clone()
}
