//! The JSON API: one folder a resource, one file an operation.
//!
//! A request flows one way: route, extractors that prove who and what, a domain function in one transaction,
//! one answer. Each `doc.rs` describes its operations; `openapi/` makes the document of them. Knows no SQL,
//! no player and no upload protocol.
//!
//! Begin with [`router`], then `on_demand/`.

mod answer_cache;
mod commit;
mod error;
mod example;
mod key_pairs;
mod on_demand;
mod openapi;
mod report;
mod revoked_tokens;
mod signing_keys;
mod state;
mod unsupported;
mod usage;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::{any, get, patch};
use kinora_web::around::{Answering, Below, answer_by, answer_of, around, hand_on};
use kinora_web::error::ApiError;
use kinora_web::gzip::{self, GzipCache};
use kinora_web::openapi::{Operation, Schemas};
use kinora_web::roles::Roles;
use kinora_web::routes::{Mount, Routes};
use kinora_web::{once, rate_limit};

pub use answer_cache::AnswerCache;
pub use key_pairs::KeyPairs;
pub use openapi::{OpenApiState, document};
pub use report::PlaybackReportView;
pub use state::{ApiParts, ApiState};

/// Where the API is, C-1. Without it in front paths are the same.
const VERSION: &str = "/v1";

/// Every operation, with and without `/v1` in front of its path (C-1), and the document of
/// them all.
pub fn router(state: ApiState, gzip: &Arc<GzipCache>, openapi: Arc<OpenApiState>) -> Router {
    let mounted = |prefix| mounted(&Mount::at(prefix), state.clone(), gzip);
    mounted("")
        .merge(mounted(VERSION))
        .merge(unknown().with_state(state.clone()))
        .merge(openapi::routes(openapi))
}

/// The same operations below another prefix, `/x/{workspaceId}`. Metrics count them as those below `/v1`.
///
/// A layer around this router proves who calls, and inserts the [`Access`](kinora_web::auth::Access) into
/// each request; otherwise access tokens open it, as they do `/v1`.
pub fn mount(prefix: &str, state: ApiState, gzip: &Arc<GzipCache>) -> Router {
    mounted(&Mount::beside(&Mount::at(VERSION), prefix), state, gzip)
}

fn mounted(mount: &Mount, state: ApiState, gzip: &Arc<GzipCache>) -> Router {
    let before = {
        let (mount, state) = (mount.clone(), state.clone());
        around(move |request, below| before(&mount, &state, request, below))
    };
    let compressed = {
        let cache = Arc::clone(gzip);
        around(move |request, below| gzip::answers(&cache, request, below))
    };
    routes(mount.prefix()).into_router().route_layer(before).route_layer(compressed).with_state(state)
}

/// The paths that are served, each with and without `/v1` in front of it.
pub fn paths() -> Vec<String> {
    routes("").into_paths()
}

/// What the document says of every operation, resource by resource.
///
/// A new operation is described in the `doc.rs` beside it: the schema of its body from the constants that the
/// parser uses, its response, each error, and an example of each. Tests send the examples and compare the
/// responses.
fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = on_demand::operations(schemas);
    all.extend(signing_keys::operations(schemas));
    all.extend(revoked_tokens::operations(schemas));
    all.extend(usage::operations(schemas));
    all.extend(unsupported::operations());
    all
}

/// Every operation, below a prefix. A nested router would say the same, and take its prefix off each request
/// anew.
///
/// What is added here is added to the document of the API too, in the `doc.rs` beside it; tests tell what was
/// forgotten.
fn routes(prefix: &str) -> Routes<ApiState> {
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

/// What lies before every operation: the limit of its token, then answers that were given before. What is
/// deprecated is said of all its answers.
///
/// Most requests need nothing of it, and are handed on at once.
fn before(mount: &Mount, app: &ApiState, request: Request, below: &mut Below) -> Answering {
    let counted_as = mount.counted_as(&request);
    if request.method() != Method::POST && app.rate_limits.is_none() && counted_as.is_none() {
        return hand_on(request, below);
    }
    let (mount, app, mut below) = (mount.clone(), app.clone(), below.clone());
    answer_by(async move {
        let operation = mount.operation(&request);
        let is_deprecated = on_demand::is_deprecated(request.method(), operation);
        let is_unsupported = unsupported::is_posted(operation);
        let answer = async |request| {
            if is_unsupported {
                return answer_of(request, &mut below).await;
            }
            once::recognise(&app.idempotency, &mount, request, below).await
        };
        let mut response =
            rate_limit::limit(app.rate_limits.as_ref(), &app.authenticator, request, answer).await;
        if is_deprecated {
            on_demand::announce_deprecated(&app, &mut response);
        }
        if let Some(counted_as) = counted_as {
            response.extensions_mut().insert(counted_as);
        }
        response
    })
}

/// What else lies where the API is: its own 404, not that of the players' paths, which have any name.
fn unknown() -> Router<ApiState> {
    ["/v1", "/v1/{*rest}", "/on-demand/{mediaId}/{*rest}", "/iam/{*rest}", "/data/{*rest}"]
        .iter()
        .fold(Router::new(), |router, path| router.route(path, any(async || ApiError::no_such_path())))
}

/// The same paths in a process without this role.
pub fn elsewhere(roles: Roles) -> Router {
    let refuse = async move || ApiError::other_role("api", roles);
    let paths =
        ["/on-demand", "/on-demand/{*rest}", "/iam/{*rest}", "/data/{*rest}", "/usage", "/v1", "/v1/{*rest}"];
    paths.iter().chain(&openapi::PATHS).fold(Router::new(), |router, path| router.route(path, any(refuse)))
}
