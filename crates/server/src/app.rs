//! The state of each area, made of shared parts.

use std::sync::Arc;

use kinora_api::{ApiParts, ApiState, KeyPairs, OpenApiState, ResponseCache};
use kinora_dashboard::{DashboardParts, DashboardState, ServerReport};
use kinora_delivery::{AuthorizationCache, DeliveryParts, DeliveryState, PlaylistCache};
use kinora_domain::{Clock, KeyMaker, Random};
use kinora_intake::Intake;
use kinora_packager::Packager;
use kinora_service::Service;
use kinora_store::{Store, WrittenUsage};
use kinora_upload::{UploadRouterParts, UploadRouterState};
use kinora_web::assets::Assets;
use kinora_web::auth::Authenticator;
use kinora_web::base_urls::BaseUrls;
use kinora_web::gzip::GzipCache;
use kinora_web::health::{Health, HealthState};
use kinora_web::idempotency::Idempotency;
use kinora_web::observe::Observer;
use kinora_web::rate_limit::{RateLimit, RateLimits};
use kinora_web::roles::Roles;

use crate::media_details::Details;
use crate::usage::UsageTotals;

/// The state of all routes; cheap to clone. `router.rs` serves it.
#[derive(Clone)]
pub(crate) struct App(Arc<Parts>);

/// The parts of an [`App`].
pub(crate) struct AppOptions {
    /// The database.
    pub(crate) store: Store,
    /// Makes manifests and segments.
    pub(crate) packager: Packager,
    /// Receives uploads.
    pub(crate) intake: Intake,
    /// The clock.
    pub(crate) clock: Arc<dyn Clock>,
    /// The source of randomness.
    pub(crate) random: Arc<dyn Random>,
    /// Makes signing keys.
    pub(crate) key_maker: Arc<dyn KeyMaker>,
    /// Where clients and players reach this server.
    pub(crate) base_urls: BaseUrls,
    /// The web frontend: pages and their files.
    pub(crate) assets: Arc<dyn Assets>,
    /// Checks for `/readyz`.
    pub(crate) health: Arc<dyn Health>,
    /// The state of this process, for the dashboard.
    pub(crate) server_report: Arc<dyn ServerReport>,
    /// Renders `/metrics`.
    pub(crate) render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// The roles of this process.
    pub(crate) roles: Roles,
    /// Requests that an access token may send; `None`: no limit.
    pub(crate) rate_limit: Option<RateLimit>,
    /// Further origins at which people open the dashboard.
    pub(crate) dashboard_origins: Vec<String>,
    /// The command that creates the first person in this database.
    pub(crate) create_command: String,
    /// Seconds for which shared caches may store responses below a signed path; `None`: not at all.
    pub(crate) shared_max_age_s: Option<u32>,
}

/// Each part is made once: two routers of one [`App`] share caches, limits and running requests.
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
    dashboard: DashboardState,
    health: HealthState,
}

impl App {
    /// Puts the parts together.
    pub(crate) fn new(options: AppOptions) -> Self {
        let AppOptions {
            store,
            packager,
            intake,
            clock,
            random,
            key_maker,
            base_urls,
            assets,
            health,
            server_report,
            render_metrics,
            roles,
            rate_limit,
            dashboard_origins,
            create_command,
            shared_max_age_s,
        } = options;
        let addresses = Arc::new(base_urls);
        let authenticator = Authenticator::new(store.clone(), Arc::clone(&clock));
        let gzip = Arc::new(GzipCache::default());
        let observer = Arc::new(Observer::new(&*random));
        let service = Service::new(store.clone(), Arc::clone(&clock), Arc::clone(&random));
        let api = ApiState::new(ApiParts {
            store: store.clone(),
            service: service.clone(),
            intake: intake.clone(),
            clock: Arc::clone(&clock),
            random: Arc::clone(&random),
            base_urls: Arc::clone(&addresses),
            authenticator: authenticator.clone(),
            idempotency: Idempotency::new(store.clone(), Arc::clone(&clock), authenticator.clone()),
            rate_limits: rate_limit.map(|limit| RateLimits::new(limit, Arc::clone(&clock))),
            response_cache: ResponseCache::default(),
            key_pairs: KeyPairs::new(key_maker),
        });
        let delivery = DeliveryState::new(DeliveryParts {
            store: store.clone(),
            packager: packager.clone(),
            clock: Arc::clone(&clock),
            base_urls: Arc::clone(&addresses),
            assets: Arc::clone(&assets),
            authorization: AuthorizationCache::default(),
            playlists: PlaylistCache::default(),
            gzip: Arc::clone(&gzip),
            shared_max_age_s,
        });
        let dashboard = DashboardState::new(DashboardParts {
            store: store.clone(),
            service,
            clock: Arc::clone(&clock),
            random,
            base_urls: Arc::clone(&addresses),
            assets: Arc::clone(&assets),
            origins: dashboard_origins,
            create_command,
            delivery: delivery.clone(),
            server: server_report,
            media_details: Arc::new(Details {
                packager: packager.clone(),
                base_urls: Arc::clone(&addresses),
            }),
        });
        let upload = UploadRouterState::new(UploadRouterParts {
            store: store.clone(),
            intake,
            clock: Arc::clone(&clock),
            addresses: Arc::clone(&addresses),
            assets: Arc::clone(&assets),
        });
        let openapi = OpenApiState::new(addresses, assets, Arc::clone(&gzip));
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
            dashboard,
            health: HealthState { health, render_metrics, roles },
        }))
    }

    pub(crate) fn roles(&self) -> Roles {
        self.0.health.roles
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

    pub(crate) fn dashboard(&self) -> &DashboardState {
        &self.0.dashboard
    }

    pub(crate) fn health(&self) -> HealthState {
        self.0.health.clone()
    }

    /// Stores the usage of workspaces, the use of access tokens and sessions, and the renditions that were
    /// made and watched, since the last call. May run at any time. After a crash dates may be older and
    /// counters smaller.
    pub(crate) async fn write_usage_all(&self) -> Result<(), kinora_store::Error> {
        // A failure of one write does not prevent the others.
        let written = [
            self.write_usage().await,
            self.0.packager.write_rendition_uses().await,
            self.0.authenticator.write_uses().await,
            self.0.dashboard.write_uses().await,
        ];
        written.into_iter().collect()
    }

    /// The same, with what would otherwise be stored later: the process stops.
    pub(crate) async fn write_everything(&self) -> Result<(), kinora_store::Error> {
        let written = [self.write_usage_all().await, self.0.dashboard.write_all().await];
        written.into_iter().collect()
    }

    async fn write_usage(&self) -> Result<(), kinora_store::Error> {
        let Parts { store, clock, .. } = &*self.0;
        while let Some(WrittenUsage { used, is_retry: was_late }) = store.write_usage(clock.now()).await? {
            self.0.usage_totals.add(used);
            if !was_late {
                break;
            }
        }
        Ok(())
    }
}
