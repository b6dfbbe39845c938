use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinora_domain::{Clock, KeyMaker};
use kinora_engine::{Confinement, Engine, Protection};
use kinora_fetch::Limits;
use kinora_intake::StallLimit;
use kinora_server::{Roles, SystemClock, SystemKeys};
use kinora_testkit::CrashPlan;
use kinora_web::rate_limit::RateLimit;

use super::TestApp;

/// Options of the server of a test. Start with [`TestApp::options`].
#[derive(Clone)]
pub(crate) struct Options {
    pub(super) allow_loopback: bool,
    pub(super) limits: Limits,
    pub(super) pace_min: StallLimit,
    pub(super) downloads_max: usize,
    pub(super) paused_downloads_max: usize,
    pub(super) signature_headers: Vec<String>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key_maker: Arc<dyn KeyMaker>,
    pub(super) has_webhook: bool,
    pub(super) roles: Roles,
    pub(super) cache_bytes: Option<u64>,
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) shared_max_age_s: Option<u32>,
    pub(super) trusted_proxies: Vec<String>,
    pub(super) public_url: Option<String>,
    pub(super) dashboard_origins: Vec<String>,
    pub(super) engine: Option<Engine>,
    pub(super) confinement: Confinement,
    /// Shared, so that a running test can change it for the next start.
    pub(super) has_blur_hash: Arc<AtomicBool>,
    pub(super) faults: Faults,
}

/// Injected faults.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    pub(super) store: Option<Arc<dyn kinora_store::Faults>>,
    pub(super) blob: Option<Arc<kinora_blob::Faults>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allow_loopback: true,
            limits: limits(),
            pace_min: StallLimit::default(),
            downloads_max: 1024,
            paused_downloads_max: 1024,
            signature_headers: Vec::new(),
            clock: Arc::new(SystemClock),
            key_maker: Arc::new(SystemKeys),
            has_webhook: true,
            roles: Roles::ALL,
            cache_bytes: None,
            rate_limit: None,
            shared_max_age_s: None,
            trusted_proxies: Vec::new(),
            public_url: None,
            dashboard_origins: Vec::new(),
            engine: None,
            // Measuring it takes a second; the real binary and the tests of the engine do it.
            confinement: Confinement {
                files: Protection::InForce,
                network: Protection::InForce,
                calls: Protection::InForce,
                privileges: Protection::InForce,
                limits: Protection::InForce,
                group: Protection::InForce,
            },
            has_blur_hash: Arc::default(),
            faults: Faults::default(),
        }
    }
}

impl Options {
    /// Whether sources and webhooks on 127.0.0.1 are allowed, where those of tests are. True by default.
    pub(crate) fn allow_loopback(self, allow_loopback: bool) -> Self {
        Self { allow_loopback, ..self }
    }

    /// Limits of source downloads; [`limits`] by default.
    pub(crate) fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The minimum rate of uploads.
    pub(crate) fn pace_min(self, pace_min: StallLimit) -> Self {
        Self { pace_min, ..self }
    }

    /// The maximum number of concurrent downloads.
    pub(crate) fn downloads_max(self, downloads_max: usize) -> Self {
        Self { downloads_max, ..self }
    }

    /// The maximum number of downloads that keep their bytes until the next attempt.
    pub(crate) fn paused_downloads_max(self, paused_downloads_max: usize) -> Self {
        Self { paused_downloads_max, ..self }
    }

    /// Additional headers that repeat `Service-Signature`.
    pub(crate) fn signature_headers(self, names: &[&str]) -> Self {
        Self { signature_headers: names.iter().map(|name| (*name).to_owned()).collect(), ..self }
    }

    /// The clock of the server; the system clock by default.
    pub(crate) fn clock(self, clock: impl Clock + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Generates signing keys; aws-lc by default.
    pub(crate) fn key_maker(self, key_maker: impl KeyMaker + 'static) -> Self {
        Self { key_maker: Arc::new(key_maker), ..self }
    }

    /// Registers no webhook; the test creates its own or needs none.
    pub(crate) fn without_webhook(self) -> Self {
        Self { has_webhook: false, ..self }
    }

    /// The roles of the process; all of them by default.
    pub(crate) fn roles(self, roles: Roles) -> Self {
        Self { roles, ..self }
    }

    /// The quota for encoded renditions in bytes; unlimited by default.
    pub(crate) fn cache_bytes(self, bytes: u64) -> Self {
        Self { cache_bytes: Some(bytes), ..self }
    }

    /// The rate limit of a token, `3/60`; unlimited by default.
    pub(crate) fn rate_limit(self, limit: &str) -> Self {
        Self { rate_limit: Some(limit.parse().expect("a rate limit")), ..self }
    }

    /// `max-age` in seconds of shared caches for responses below a signed path.
    pub(crate) fn shared_max_age_s(self, seconds: u32) -> Self {
        Self { shared_max_age_s: Some(seconds), ..self }
    }

    /// Networks of trusted proxies; none by default.
    pub(crate) fn trusted_proxies(self, networks: &[&str]) -> Self {
        Self { trusted_proxies: networks.iter().map(|network| (*network).to_owned()).collect(), ..self }
    }

    /// The public URL; that of the listener by default.
    pub(crate) fn public_url(self, url: &str) -> Self {
        Self { public_url: Some(url.to_owned()), ..self }
    }

    /// Further origins of the dashboard; none by default.
    pub(crate) fn dashboard_origins(self, origins: &[&str]) -> Self {
        Self { dashboard_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(), ..self }
    }

    /// The media engine; the ffmpeg of this machine by default.
    pub(crate) fn engine(self, engine: Engine) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// Disables one guarantee of the confinement of ffmpeg, with this reason. All hold by default.
    pub(crate) fn without_guarantee(mut self, name: &str, reason: &str) -> Self {
        let guard = match name {
            "files" => &mut self.confinement.files,
            "calls" => &mut self.confinement.calls,
            _ => panic!("no test needs {name}"),
        };
        *guard = Protection::Absent(reason.to_owned());
        self
    }

    /// Queues BlurHash jobs.
    ///
    /// Off by default: the job runs ffmpeg and commits at any time after the media is ready.
    pub(crate) fn blur_hash(self) -> Self {
        self.has_blur_hash.store(true, Ordering::Relaxed);
        self
    }

    /// Injects these faults until the next restart. Writes of the setup are not counted.
    pub(crate) fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }

    /// Starts the server with a workspace, a token and a webhook.
    pub(crate) async fn start(self) -> TestApp {
        TestApp::start_with(self).await
    }
}

impl Faults {
    /// Separate faults of database and objects.
    pub(crate) fn new(
        store: Option<Arc<dyn kinora_store::Faults>>,
        blob: Option<Arc<kinora_blob::Faults>>,
    ) -> Self {
        Self { store, blob }
    }

    /// Kills the whole process at the n-th write: before or after a commit, or before a write of an object.
    pub(crate) fn of_plan(plan: &Arc<CrashPlan>) -> Self {
        Self::new(Some(Arc::new(DatabaseDies(Arc::clone(plan)))), Some(plan.blob_faults()))
    }
}

struct DatabaseDies(Arc<CrashPlan>);

impl kinora_store::Faults for DatabaseDies {
    fn at(&self, _: kinora_store::FaultPoint) -> kinora_store::FaultAction {
        if self.0.dies_now() { kinora_store::FaultAction::Stop } else { kinora_store::FaultAction::Continue }
    }
}

/// Default limits of source downloads.
///
/// Timeouts are long enough for a busy machine; only the delays between attempts are short. A test of one
/// limit shortens that one.
pub(crate) fn limits() -> Limits {
    Limits {
        connect_timeout: Duration::from_secs(30),
        headers_timeout: Duration::from_secs(30),
        stall_window: Duration::from_secs(30),
        bytes_max: 64 << 20,
        retry_delays: vec![Duration::from_millis(20); 2],
        retry_after_max: Duration::from_millis(100),
        ..Limits::default()
    }
}
