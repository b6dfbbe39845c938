//! The state that the operations share.

use std::ops::Deref;
use std::sync::Arc;

use kinora_delivery::DeliveryState;
use kinora_domain::{Clock, Random};
use kinora_service::Service;
use kinora_store::Store;
use kinora_web::assets::Assets;
use kinora_web::base_urls::BaseUrls;

use crate::authenticate::Sessions;
use crate::cookie::SessionCookie;
use crate::failed_sign_ins::FailureCounts;
use crate::media_details::MediaDetails;
use crate::mount::Workspaces;
use crate::origin::AllowedOrigins;
use crate::password_gate::PasswordGate;
use crate::server::ServerReport;
use crate::throttle::Throttle;

/// The state of the dashboard. Cheap to clone.
#[derive(Clone)]
pub struct DashboardState(Arc<Inner>);

/// The parts of [`DashboardState`].
pub struct DashboardParts {
    /// Reads rows of the database.
    pub store: Store,
    /// Runs operations.
    pub service: Service,
    /// Gives the current time.
    pub clock: Arc<dyn Clock>,
    /// Generates randomness.
    pub random: Arc<dyn Random>,
    /// The base URLs of this server for clients.
    pub base_urls: Arc<BaseUrls>,
    /// The page.
    pub assets: Arc<dyn Assets>,
    /// Further origins at which people open the dashboard, besides that of the public URL.
    pub origins: Vec<String>,
    /// The command that creates the first person in this database.
    pub create_command: String,
    /// Makes the still images of media. It has the limits and the store of images for players.
    pub delivery: DeliveryState,
    /// The state of this process.
    pub server: Arc<dyn ServerReport>,
    /// What other crates know of media.
    pub media_details: Arc<dyn MediaDetails>,
}

/// The given parts and those of this crate. Other crates see only [`DashboardParts`].
pub struct Inner {
    parts: DashboardParts,
    pub(crate) allowed_origins: AllowedOrigins,
    pub(crate) cookie: SessionCookie,
    pub(crate) sessions: Sessions,
    pub(crate) workspaces: Workspaces,
    pub(crate) throttle: Throttle,
    pub(crate) password_gate: PasswordGate,
    pub(crate) failures: FailureCounts,
}

impl DashboardState {
    /// Creates the state from its parts.
    pub fn new(parts: DashboardParts) -> Self {
        let public = parts.base_urls.public.as_str();
        let urls = [public].into_iter().chain(parts.origins.iter().map(String::as_str));
        Self(Arc::new(Inner {
            allowed_origins: AllowedOrigins::of(urls),
            cookie: SessionCookie::of_public_url(public),
            sessions: Sessions::default(),
            workspaces: Workspaces::default(),
            throttle: Throttle::default(),
            password_gate: PasswordGate::default(),
            failures: FailureCounts::default(),
            parts,
        }))
    }

    /// Stores when sessions were used since the last call, and the failed sign-ins that are ten minutes
    /// old. May run at any time. After a crash dates may be older, and some failures are not in the audit
    /// log.
    pub async fn write_uses(&self) -> Result<(), kinora_store::Error> {
        self.sessions.write_uses(&self.store).await?;
        self.failures.write(&self.service, self.clock.now()).await
    }

    /// The same, with all failed sign-ins: the process stops.
    pub async fn write_all(&self) -> Result<(), kinora_store::Error> {
        self.sessions.write_uses(&self.store).await?;
        self.failures.write_all(&self.service).await
    }
}

impl Deref for DashboardState {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Deref for Inner {
    type Target = DashboardParts;

    fn deref(&self) -> &DashboardParts {
        &self.parts
    }
}
