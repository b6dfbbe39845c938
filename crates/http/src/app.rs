//! The state of each area, made of what they share.

use std::sync::{Arc, OnceLock};

use kinora_domain::{Clock, KeyMaker, Random};
use kinora_intake::Intake;
use kinora_packager::Packager;
use kinora_store::{Store, WrittenUsage};

use crate::addresses::Addresses;
use crate::api::{self, AnswerCache, ApiParts, ApiState, KeyPairs};
use crate::assets::Assets;
use crate::auth::Authenticator;
use crate::delivery::{DeliveryParts, DeliveryState, GateCache, PlaylistCache};
use crate::gzip::GzipCache;
use crate::observe::{Observer, UsageTotals};
use crate::once::Idempotency;
use crate::openapi::OpenApiState;
use crate::operate::{Health, OperateState};
use crate::rate_limit::{RateLimit, RateLimits};
use crate::roles::Roles;
use crate::upload::{UploadRouterParts, UploadRouterState};

/// The whole of it; cheap to clone. [`crate::router`] serves it.
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

/// Each is made once: two routers of one [`App`] share caches, limits and running requests.
struct Parts {
    store: Store,
    packager: Packager,
    clock: Arc<dyn Clock>,
    authenticator: Authenticator,
    gzip: Arc<GzipCache>,
    observer: Arc<Observer>,
    usage_totals: UsageTotals,
    api: ApiState,
    delivery: DeliveryState,
    upload: UploadRouterState,
    openapi: Arc<OpenApiState>,
    operate: OperateState,
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
        let addresses = Arc::new(addresses);
        let authenticator = Authenticator::new(store.clone(), Arc::clone(&clock));
        let gzip = Arc::new(GzipCache::new());
        let observer = Arc::new(Observer::new(&*random));
        let api = ApiState::new(ApiParts {
            store: store.clone(),
            intake: intake.clone(),
            clock: Arc::clone(&clock),
            random,
            addresses: Arc::clone(&addresses),
            authenticator: authenticator.clone(),
            idempotency: Idempotency::new(store.clone(), Arc::clone(&clock), authenticator.clone()),
            rate_limits: rate_limit.map(|limit| RateLimits::new(limit, Arc::clone(&clock))),
            answers: AnswerCache::new(),
            key_pairs: KeyPairs::new(key_maker),
        });
        let delivery = DeliveryState::new(DeliveryParts {
            store: store.clone(),
            packager: packager.clone(),
            clock: Arc::clone(&clock),
            addresses: Arc::clone(&addresses),
            assets: Arc::clone(&assets),
            gate: GateCache::new(),
            playlists: PlaylistCache::new(),
            gzip: Arc::clone(&gzip),
            shared_max_age_s,
        });
        let upload = UploadRouterState::new(UploadRouterParts {
            store: store.clone(),
            intake,
            clock: Arc::clone(&clock),
            addresses: Arc::clone(&addresses),
            assets: Arc::clone(&assets),
        });
        let openapi = OpenApiState {
            addresses,
            assets,
            gzip: Arc::clone(&gzip),
            operations: api::operations,
            document: OnceLock::new(),
        };
        Self(Arc::new(Parts {
            store,
            packager,
            clock,
            authenticator,
            gzip,
            observer,
            usage_totals: UsageTotals::default(),
            api,
            delivery,
            upload,
            openapi: Arc::new(openapi),
            operate: OperateState { health, render_metrics, roles },
        }))
    }

    pub(crate) fn roles(&self) -> Roles {
        self.0.operate.roles
    }

    pub(crate) fn gzip(&self) -> &Arc<GzipCache> {
        &self.0.gzip
    }

    pub(crate) fn observer(&self) -> &Arc<Observer> {
        &self.0.observer
    }

    pub(crate) fn api(&self) -> ApiState {
        self.0.api.clone()
    }

    pub(crate) fn delivery(&self) -> DeliveryState {
        self.0.delivery.clone()
    }

    pub(crate) fn upload(&self) -> UploadRouterState {
        self.0.upload.clone()
    }

    pub(crate) fn openapi(&self) -> Arc<OpenApiState> {
        Arc::clone(&self.0.openapi)
    }

    pub(crate) fn operate(&self) -> OperateState {
        self.0.operate.clone()
    }

    /// Writes down what workspaces used, which access tokens were used, and which renditions were made and watched, since the last
    /// call. May run at any time; what is lost is only a later date or a smaller counter.
    pub async fn write_uses(&self) -> Result<(), kinora_store::Error> {
        // A failure of one does not keep the others from being written.
        let written = [
            self.write_usage().await,
            self.0.packager.write_rendition_uses().await,
            self.0.authenticator.write_uses().await,
        ];
        written.into_iter().collect()
    }

    async fn write_usage(&self) -> Result<(), kinora_store::Error> {
        let Parts { store, clock, .. } = &*self.0;
        while let Some(WrittenUsage { used, was_late }) = store.write_usage(clock.now()).await? {
            self.0.usage_totals.note(used);
            if !was_late {
                break;
            }
        }
        Ok(())
    }
}
