//! The JSON API: one folder per resource, one file per operation.
//!
//! A request passes these steps: the route, extractors that authenticate the caller and parse the request, a
//! domain function in one transaction, one response. Each `doc.rs` describes its operations; `openapi/`
//! builds the document from them. This crate contains no SQL, no player and no upload protocol.
//!
//! Begin with [`router`], then `on_demand/`.

mod commit;
mod error;
mod example;
mod loudness;
mod on_demand;
mod openapi;
mod response_cache;
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
use kinora_web::error::ApiError;
use kinora_web::gzip::{self, GzipCache};
use kinora_web::middleware::{Next, ResponseFuture, forward, layer_fn, next_response, respond_with};
use kinora_web::openapi::{Operation, Schemas};
use kinora_web::roles::Roles;
use kinora_web::routes::{Mount, Routes};
use kinora_web::{idempotency, rate_limit};

pub use openapi::{OpenApiState, document};
pub use response_cache::ResponseCache;
pub use signing_keys::KeyPairs;
pub use state::{ApiParts, ApiState};

/// The prefix of the API (C-1). The same paths exist without it.
const VERSION: &str = "/v1";

/// The routes of every operation, with and without `/v1` in front of its path (C-1), and of the OpenAPI
/// document.
pub fn router(state: ApiState, gzip: &Arc<GzipCache>, openapi: Arc<OpenApiState>) -> Router {
    let mounted = |prefix| mounted_router(&Mount::at(prefix), state.clone(), gzip);
    mounted("")
        .merge(mounted(VERSION))
        .merge(not_found_routes().with_state(state.clone()))
        .merge(openapi::routes(openapi))
}

/// The same operations below another prefix, `/x/{workspaceId}`. Metrics count them as those below `/v1`.
///
/// A middleware around this router authenticates the caller, and inserts the
/// [`Access`](kinora_web::auth::Access) into each request. Without it, access tokens authorize requests, as
/// below `/v1`.
pub fn mount(prefix: &str, state: ApiState, gzip: &Arc<GzipCache>) -> Router {
    mounted_router(&Mount::alias_of(&Mount::at(VERSION), prefix), state, gzip)
}

fn mounted_router(mount: &Mount, state: ApiState, gzip: &Arc<GzipCache>) -> Router {
    let middleware_layer = {
        let (mount, state) = (mount.clone(), state.clone());
        layer_fn(move |request, next| middleware(&mount, &state, request, next))
    };
    let compression_layer = {
        let cache = Arc::clone(gzip);
        layer_fn(move |request, next| gzip::compress_responses(&cache, request, next))
    };
    routes(mount.prefix())
        .into_router()
        .route_layer(middleware_layer)
        .route_layer(compression_layer)
        .with_state(state)
}

/// The paths that are served, each with and without `/v1` in front of it.
pub fn paths() -> Vec<String> {
    routes("").into_paths()
}

/// The OpenAPI descriptions of all operations, resource by resource.
///
/// A new operation is described in the `doc.rs` of its folder: the schema of its body from the constants
/// that the parser uses, its response, each error, and an example of each. Tests send the examples and
/// compare the responses.
fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let mut all = on_demand::operations(schemas);
    all.extend(signing_keys::operations(schemas));
    all.extend(revoked_tokens::operations(schemas));
    all.extend(usage::operations(schemas));
    all.extend(unsupported::operations());
    all
}

/// The routes of every operation, below a prefix. A nested router would do the same, but remove its prefix
/// from each request again.
///
/// A route that is added here is also added to the OpenAPI document, in the `doc.rs` of its folder. Tests
/// report a missing one.
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

/// The middleware of every operation: the rate limit of its token, then stored responses of idempotency
/// keys. All responses of deprecated operations get the deprecation headers.
///
/// Most requests need none of this, and are passed on at once.
fn middleware(mount: &Mount, app: &ApiState, request: Request, next: &mut Next) -> ResponseFuture {
    let metrics_route = mount.metrics_route(&request);
    if request.method() != Method::POST && app.rate_limits.is_none() && metrics_route.is_none() {
        return forward(request, next);
    }
    let (mount, app, mut next) = (mount.clone(), app.clone(), next.clone());
    respond_with(async move {
        let operation = mount.operation_path(&request);
        let is_deprecated = on_demand::is_deprecated(request.method(), operation);
        let is_unsupported = unsupported::is_unsupported_post(operation);
        let run_operation = async |request| {
            if is_unsupported {
                return next_response(request, &mut next).await;
            }
            idempotency::check_idempotency_key(&app.idempotency, &mount, request, next).await
        };
        let mut response =
            rate_limit::limit(app.rate_limits.as_ref(), &app.authenticator, request, run_operation).await;
        if is_deprecated {
            on_demand::announce_deprecated(&app, &mut response);
        }
        if let Some(counted_as) = metrics_route {
            response.extensions_mut().insert(counted_as);
        }
        response
    })
}

/// The routes of all other paths of the API. They have their own 404, not that of the players' paths, which
/// have any name.
fn not_found_routes() -> Router<ApiState> {
    ["/v1", "/v1/{*rest}", "/on-demand/{mediaId}/{*rest}", "/iam/{*rest}", "/data/{*rest}"]
        .iter()
        .fold(Router::new(), |router, path| router.route(path, any(async || ApiError::no_such_path())))
}

/// The routes of the same paths in a process without this role: 404 with the role that serves them.
pub fn role_disabled_routes(roles: Roles) -> Router {
    let reject = async move || ApiError::role_disabled("api", roles);
    let paths =
        ["/on-demand", "/on-demand/{*rest}", "/iam/{*rest}", "/data/{*rest}", "/usage", "/v1", "/v1/{*rest}"];
    paths.iter().chain(&openapi::PATHS).fold(Router::new(), |router, path| router.route(path, any(reject)))
}
