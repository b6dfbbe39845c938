//! What every handler may use.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kinora_domain::{Clock, KeyMaker, Random};
use kinora_intake::Intake;
use kinora_packager::Packager;
use kinora_store::{Store, WrittenUsage};

use crate::api::{AnswerCache, KeyPairs};
use crate::auth::Callers;
use crate::delivery::{GateCache, PlaylistCache};
use crate::gzip::GzipCache;
use crate::observe::{RequestCounts, RequestIds, UsageTotals};
use crate::once::UnderWay;
use crate::rate_limit::{RateLimit, RateLimits};

/// Shared by all requests; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// What an [`App`] is made of.
pub struct AppOptions {
    /// Rows.
    pub store: Store,
    /// Bytes for players.
    pub packager: Packager,
    /// Receives uploads.
    pub intake: Intake,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws randomness.
    pub random: Arc<dyn Random>,
    /// Makes signing keys.
    pub key_maker: Arc<dyn KeyMaker>,
    /// Where clients and players reach this server.
    pub addresses: Addresses,
    /// The web part: pages and their files.
    pub assets: Arc<dyn Assets>,
    /// Answers `/readyz`.
    pub health: Arc<dyn Health>,
    /// Renders `/metrics`.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// What this process does.
    pub roles: Roles,
    /// How many requests an access token may send; `None`: as many as it likes.
    pub rate_limit: Option<RateLimit>,
    /// For how many seconds caches in between may keep what lies below a signed path; `None`: not at all.
    pub shared_max_age_s: Option<u32>,
}

/// What handlers find in an [`App`].
pub struct Parts {
    pub(crate) store: Store,
    pub(crate) packager: Packager,
    pub(crate) intake: Intake,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) addresses: Addresses,
    pub(crate) assets: Arc<dyn Assets>,
    pub(crate) health: Arc<dyn Health>,
    pub(crate) render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
    pub(crate) callers: Callers,
    pub(crate) answers: AnswerCache,
    pub(crate) key_pairs: KeyPairs,
    pub(crate) gate: GateCache,
    pub(crate) under_way: UnderWay,
    pub(crate) playlists: PlaylistCache,
    pub(crate) gzip: GzipCache,
    pub(crate) request_ids: RequestIds,
    pub(crate) request_counts: RequestCounts,
    pub(crate) usage_totals: UsageTotals,
    pub(crate) document: OnceLock<Bytes>,
    pub(crate) roles: Roles,
    pub(crate) rate_limits: Option<RateLimits>,
    pub(crate) shared_max_age_s: Option<u32>,
}

impl App {
    /// Puts the parts together.
    pub fn new(options: AppOptions) -> Self {
        let AppOptions {
            store,
            packager,
            intake,
            clock,
            random,
            key_maker,
            addresses,
            assets,
            health,
            render_metrics,
            roles,
            rate_limit,
            shared_max_age_s,
        } = options;
        let callers = Callers::new();
        let answers = AnswerCache::new();
        let key_pairs = KeyPairs::new(key_maker);
        let gate = GateCache::new();
        let playlists = PlaylistCache::new();
        let request_ids = RequestIds::new(&*random);
        let rate_limits = rate_limit.map(|limit| RateLimits::new(limit, Arc::clone(&clock)));
        Self(Arc::new(Parts {
            store,
            packager,
            intake,
            clock,
            random,
            addresses,
            assets,
            health,
            render_metrics,
            callers,
            answers,
            key_pairs,
            gate,
            under_way: UnderWay::default(),
            playlists,
            gzip: GzipCache::new(),
            request_ids,
            request_counts: RequestCounts::default(),
            usage_totals: UsageTotals::default(),
            document: OnceLock::new(),
            roles,
            rate_limits,
            shared_max_age_s,
        }))
    }

    /// Writes down what workspaces used, which access tokens were used, and which renditions were made and watched, since the last
    /// call. May run at any time; what is lost is only a later date or a smaller counter.
    pub async fn write_uses(&self) -> Result<(), kinora_store::Error> {
        // What one of them fails at is no reason to leave the others.
        let written = [
            self.write_usage().await,
            self.packager.write_rendition_uses().await,
            self.write_token_uses().await,
        ];
        written.into_iter().collect()
    }

    async fn write_usage(&self) -> Result<(), kinora_store::Error> {
        while let Some(WrittenUsage { used, was_late }) = self.store.write_usage(self.clock.now()).await? {
            self.usage_totals.note(used);
            if !was_late {
                break;
            }
        }
        Ok(())
    }

    async fn write_token_uses(&self) -> Result<(), kinora_store::Error> {
        let uses = self.callers.take_uses();
        if uses.is_empty() {
            return Ok(());
        }
        self.store.write(async move |tx| tx.note_tokens_used(&uses).await).await
    }
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Which work a process does, of what the processes of one database share (design: Roles and scale).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roles {
    /// Answers the JSON API.
    pub api: bool,
    /// Answers players: manifests, segments, pictures, pages.
    pub delivery: bool,
    /// Runs jobs: downloads, deliveries of events, sweeps.
    pub worker: bool,
}

impl Roles {
    /// One process does everything.
    pub const ALL: Self = Self { api: true, delivery: true, worker: true };

    /// The names of those that are taken, as they are written in settings.
    pub fn names(self) -> Vec<&'static str> {
        let all = [(self.api, "api"), (self.delivery, "delivery"), (self.worker, "worker")];
        all.into_iter().filter_map(|(is_taken, name)| is_taken.then_some(name)).collect()
    }
}

/// Bases of the addresses in answers, without a slash at the end (contract decision 38).
#[derive(Debug, Clone)]
pub struct Addresses {
    /// Of the API and the pages.
    pub public: String,
    /// Of manifests and segments.
    pub stream: String,
    /// Of pictures.
    pub images: String,
}

/// Files of the web part.
pub trait Assets: Send + Sync {
    /// The file below `web/dist`, or `None`.
    fn get(&self, path: &str) -> Option<std::borrow::Cow<'static, [u8]>>;
}

/// Whether the server can do its work.
pub trait Health: Send + Sync {
    /// One entry a part that is checked.
    fn checks(&self) -> futures_util::future::BoxFuture<'_, Vec<Check>>;
}

/// How one part stands.
#[derive(Debug, Clone)]
pub struct Check {
    /// Which part, `database`.
    pub name: &'static str,
    /// What is wrong with it and what to do; `None` when nothing is.
    pub problem: Option<String>,
    /// Whether the process is ready only while nothing is wrong with this part.
    pub is_required: bool,
}
