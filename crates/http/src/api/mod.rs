//! The JSON API: one folder a resource, one file an operation.

mod doc;
mod on_demand;
mod report;
mod revoked_tokens;
mod signing_keys;
mod state;
mod unsupported;
mod usage;
mod view;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::{any, get, patch};
use kinora_domain::{MediaId, WorkspaceId};
use kinora_store::Version;

pub(crate) use doc::operations;
pub use report::PlaybackReportView;
pub(crate) use signing_keys::KeyPairs;
pub(crate) use state::{ApiParts, ApiState};

use crate::around::{Answering, Below, answer_by, answer_of, hand_on};
use crate::condition::Tagged;
use crate::error::ApiError;
use crate::roles::Roles;
use crate::routes::Routes;
use crate::{once, rate_limit};

/// Every operation, below a prefix. A nested router would say the same, and take its prefix off each request anew.
///
/// What is added here is added to the document of the API too, in the `doc.rs` beside it; tests tell what was forgotten.
pub(crate) fn routes(prefix: &str) -> Routes<ApiState> {
    Routes::new()
        .route(&format!("{prefix}/on-demand"), get(on_demand::list).post(on_demand::create))
        .route(
            &format!("{prefix}/on-demand/{{mediaId}}"),
            get(on_demand::read).patch(on_demand::update).delete(on_demand::delete),
        )
        .route(&format!("{prefix}/on-demand/{{mediaId}}/input-info"), get(on_demand::input_info))
        .route(&format!("{prefix}/on-demand/{{mediaId}}/source-access"), patch(on_demand::source_access))
        .route(&format!("{prefix}/on-demand/{{mediaId}}/update-mp4Support"), patch(on_demand::mp4_support))
        .route(&format!("{prefix}/on-demand/{{mediaId}}/media-clips"), get(on_demand::media_clips))
        .route(&format!("{prefix}/on-demand/{{livestreamId}}/live-clips"), get(on_demand::live_clips))
        .route(&format!("{prefix}/on-demand/drm-configurations"), get(on_demand::drm_configurations))
        .route(
            &format!("{prefix}/on-demand/drm-configurations/{{drmConfigurationId}}"),
            get(on_demand::drm_configuration),
        )
        .merge(on_demand::playback_id_routes(prefix))
        .merge(on_demand::playlist_routes(prefix))
        .merge(on_demand::track_routes(prefix))
        .merge(on_demand::upload_routes(prefix))
        .merge(revoked_tokens::routes(prefix))
        .merge(signing_keys::routes(prefix))
        .merge(unsupported::routes(prefix))
        .merge(usage::routes(prefix))
}

/// What lies before every operation: the limit of its token, then answers that were given before. What is deprecated is said of all its answers.
///
/// Most requests need nothing of it, and are handed on at once.
pub(crate) fn before(app: &ApiState, request: Request, below: &mut Below) -> Answering {
    if request.method() != Method::POST && app.rate_limits.is_none() {
        return hand_on(request, below);
    }
    let (app, mut below) = (app.clone(), below.clone());
    answer_by(async move {
        let is_deprecated = on_demand::is_deprecated(&request);
        let answer = async |request| {
            if unsupported::is_posted(&request) {
                return answer_of(request, &mut below).await;
            }
            once::recognise(&app.idempotency, request, below).await
        };
        let mut response =
            rate_limit::limit(app.rate_limits.as_ref(), &app.authenticator, request, answer).await;
        if is_deprecated {
            on_demand::announce_deprecated(&app, &mut response);
        }
        response
    })
}

/// What else lies where the API is: its own 404, not that of the players' paths, which have any name.
pub(crate) fn unknown() -> Router<ApiState> {
    ["/v1", "/v1/{*rest}", "/on-demand/{mediaId}/{*rest}", "/iam/{*rest}", "/data/{*rest}"]
        .iter()
        .fold(Router::new(), |router, path| router.route(path, any(async || ApiError::no_such_path())))
}

/// The same paths in a process without this role.
pub(crate) fn elsewhere(roles: Roles) -> Router {
    let refuse = async move || ApiError::other_role("api", roles);
    let paths =
        ["/on-demand", "/on-demand/{*rest}", "/iam/{*rest}", "/data/{*rest}", "/usage", "/v1", "/v1/{*rest}"];
    paths
        .iter()
        .chain(&crate::openapi::PATHS)
        .fold(Router::new(), |router, path| router.route(path, any(refuse)))
}

/// Answers to `GET /on-demand/{mediaId}`, valid as long as nothing was written by anybody.
///
/// A client of several processes reads what it wrote, whichever of them it asks: each answer is kept under the version of the
/// database that it was made from (decision 0029).
pub(crate) struct AnswerCache {
    media: moka::sync::Cache<(WorkspaceId, MediaId), (Version, Tagged)>,
}

impl AnswerCache {
    /// An answer has about 1.5 KiB.
    const BYTES_MAX: u64 = 16 << 20;

    pub(crate) fn new() -> Self {
        let media = moka::sync::Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, (_, answer): &(Version, Tagged)| u32::try_from(answer.len()).unwrap_or(u32::MAX))
            .build();
        Self { media }
    }

    fn get(&self, workspace: WorkspaceId, media: MediaId, version: &Version) -> Option<Tagged> {
        let (at, answer) = self.media.get(&(workspace, media))?;
        (at == *version).then_some(answer)
    }

    fn put(&self, workspace: WorkspaceId, media: MediaId, version: Version, answer: Tagged) {
        self.media.insert((workspace, media), (version, answer));
    }
}
