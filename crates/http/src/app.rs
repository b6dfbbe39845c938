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

struct Parts {
    options: AppOptions,
    addresses: Arc<Addresses>,
    authenticator: Authenticator,
    gzip: Arc<GzipCache>,
    observer: Arc<Observer>,
    usage_totals: UsageTotals,
}

impl App {
    /// Puts the parts together.
    pub fn new(options: AppOptions) -> Self {
        Self(Arc::new(Parts {
            addresses: Arc::new(options.addresses.clone()),
            authenticator: Authenticator::new(options.store.clone(), Arc::clone(&options.clock)),
            gzip: Arc::new(GzipCache::new()),
            observer: Arc::new(Observer::new(&*options.random)),
            usage_totals: UsageTotals::default(),
            options,
        }))
    }

    pub(crate) fn roles(&self) -> Roles {
        self.0.options.roles
    }

    pub(crate) fn gzip(&self) -> &Arc<GzipCache> {
        &self.0.gzip
    }

    pub(crate) fn observer(&self) -> &Arc<Observer> {
        &self.0.observer
    }

    pub(crate) fn api(&self) -> ApiState {
        let Parts { options, addresses, authenticator, .. } = &*self.0;
        let (store, clock) = (options.store.clone(), Arc::clone(&options.clock));
        ApiState::new(ApiParts {
            intake: options.intake.clone(),
            random: Arc::clone(&options.random),
            addresses: Arc::clone(addresses),
            authenticator: authenticator.clone(),
            idempotency: Idempotency::new(store.clone(), Arc::clone(&clock), authenticator.clone()),
            rate_limits: options.rate_limit.map(|limit| RateLimits::new(limit, Arc::clone(&clock))),
            answers: AnswerCache::new(),
            key_pairs: KeyPairs::new(Arc::clone(&options.key_maker)),
            store,
            clock,
        })
    }

    pub(crate) fn delivery(&self) -> DeliveryState {
        let Parts { options, addresses, gzip, .. } = &*self.0;
        DeliveryState::new(DeliveryParts {
            store: options.store.clone(),
            packager: options.packager.clone(),
            clock: Arc::clone(&options.clock),
            addresses: Arc::clone(addresses),
            assets: Arc::clone(&options.assets),
            gate: GateCache::new(),
            playlists: PlaylistCache::new(),
            gzip: Arc::clone(gzip),
            shared_max_age_s: options.shared_max_age_s,
        })
    }

    pub(crate) fn upload(&self) -> UploadRouterState {
        let Parts { options, addresses, .. } = &*self.0;
        UploadRouterState::new(UploadRouterParts {
            store: options.store.clone(),
            intake: options.intake.clone(),
            clock: Arc::clone(&options.clock),
            addresses: Arc::clone(addresses),
            assets: Arc::clone(&options.assets),
        })
    }

    pub(crate) fn openapi(&self) -> OpenApiState {
        let Parts { options, addresses, gzip, .. } = &*self.0;
        OpenApiState {
            addresses: Arc::clone(addresses),
            assets: Arc::clone(&options.assets),
            gzip: Arc::clone(gzip),
            operations: api::operations,
            document: OnceLock::new(),
        }
    }

    pub(crate) fn operate(&self) -> OperateState {
        let options = &self.0.options;
        OperateState {
            health: Arc::clone(&options.health),
            render_metrics: Arc::clone(&options.render_metrics),
            roles: options.roles,
        }
    }

    /// Writes down what workspaces used, which access tokens were used, and which renditions were made and watched, since the last
    /// call. May run at any time; what is lost is only a later date or a smaller counter.
    pub async fn write_uses(&self) -> Result<(), kinora_store::Error> {
        // A failure of one does not keep the others from being written.
        let written = [
            self.write_usage().await,
            self.0.options.packager.write_rendition_uses().await,
            self.0.authenticator.write_uses().await,
        ];
        written.into_iter().collect()
    }

    async fn write_usage(&self) -> Result<(), kinora_store::Error> {
        let AppOptions { store, clock, .. } = &self.0.options;
        while let Some(WrittenUsage { used, was_late }) = store.write_usage(clock.now()).await? {
            self.0.usage_totals.note(used);
            if !was_late {
                break;
            }
        }
        Ok(())
    }
}
