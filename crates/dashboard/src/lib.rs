//! The dashboard: its page, and the operations below `/dashboard/api` that only it has.
//!
//! - `/dashboard` and all below it is one page, the same for all people.
//! - `/dashboard/api/session`, `…/links`, `…/me`: a person signs in by cookie, and changes their own
//!   account.
//! - `/dashboard/api/access-tokens`, `…/people`, `…/audit` and others: the organisation, for administrators.
//!   The table in `operations.rs` has them.
//! - `/dashboard/api/workspaces/{workspaceId}/…`: the operations of the API at a second mount, where a
//!   session authorizes requests. [`protect_mount`] is the middleware around it. The table in
//!   `workspace_operations.rs` adds operations of one workspace that only the dashboard has.
//!
//! An access token is never read here, and a cookie never at `/v1`. This crate contains no operation of the
//! API and no SQL.
//!
//! Begin with [`routes`], then `authenticate.rs`.

mod access_tokens;
mod audit;
mod audit_query;
mod authenticate;
mod cookie;
mod door;
mod error;
mod events;
mod failed_sign_ins;
mod find;
mod invitations;
mod json_body;
mod links;
mod me;
mod media;
mod media_details;
mod middleware;
mod mount;
mod names;
mod operations;
mod organisation;
mod origin;
mod page;
mod parameters;
mod passes;
mod password_check;
mod password_gate;
mod people;
mod playback_check;
mod renditions;
mod request_origin;
mod server;
mod session;
mod state;
mod still_image;
mod throttle;
mod view;
mod workspace_operations;
mod workspaces;

use authenticate::Rotation;
use axum::Router;
use axum::response::Redirect;
use axum::routing::{any, delete, get, post};
use kinora_web::error::ApiError;
use kinora_web::middleware::layer_fn;
use kinora_web::roles::Roles;

pub use door::CREATE_COMMAND;
pub use media_details::MediaDetails;
pub use mount::{MOUNT_PREFIX, protect_mount};
pub use operations::{Operation, operations};
pub use server::{DatabaseKind, ServerReport, ServerStatus, StorageKind};
pub use state::{DashboardParts, DashboardState};
pub use workspace_operations::workspace_operations;

/// The prefix of the operations.
const API: &str = "/dashboard/api";
/// The paths of the page.
const PAGES: [&str; 3] = ["/dashboard", "/dashboard/", "/dashboard/{*rest}"];

/// The page, the operations, and the redirect of `/`.
pub fn routes(state: &DashboardState) -> Router {
    let page = PAGES.iter().fold(Router::new(), |router, path| router.route(path, get(page::page)));
    let rest = [API.to_owned(), format!("{API}/"), format!("{API}/{{*rest}}")];
    let none = rest
        .iter()
        .fold(Router::new(), |router, path| router.route(path, any(async || ApiError::no_such_path())));
    Router::new()
        .route("/", get(async || Redirect::to("/dashboard")))
        .merge(page)
        .merge(none)
        .merge(public_routes(state))
        .merge(signed_in_routes(state))
        .with_state(state.clone())
}

/// The operations that need no session.
fn public_routes(state: &DashboardState) -> Router<DashboardState> {
    let state = state.clone();
    Router::new()
        .route(&format!("{API}/door"), get(door::door))
        .route(&format!("{API}/session"), post(session::sign_in).delete(session::sign_out))
        .route(&format!("{API}/links/look"), post(links::look))
        .route(&format!("{API}/links/use"), post(links::use_link))
        .route_layer(layer_fn(move |request, next| middleware::same_origin(&state, request, next)))
}

/// The operations of a person who is signed in.
fn signed_in_routes(state: &DashboardState) -> Router<DashboardState> {
    let layer = |rotation| {
        let state = state.clone();
        layer_fn(move |request, next| middleware::signed_in(&state, rotation, request, next))
    };
    let replacing = Router::new()
        .route(&format!("{API}/session/confirm"), post(session::confirm))
        .route(&format!("{API}/me/password"), post(me::change_password))
        .route_layer(layer(Rotation::Never));
    Router::new()
        .route(&format!("{API}/session"), get(session::read))
        .route(&format!("{API}/me"), get(me::read).patch(me::update))
        .route(&format!("{API}/me/sessions"), get(me::sessions).delete(me::end_other_sessions))
        .route(&format!("{API}/me/sessions/{{sessionId}}"), delete(me::end_session))
        .merge(operations::router(state))
        .route_layer(layer(Rotation::WhenDue))
        .merge(replacing)
}

/// The routes of the same paths in a process without the role `api`: 404 with the role that serves them.
pub fn role_disabled_routes(roles: Roles) -> Router {
    let reject = async move || ApiError::role_disabled("api", roles);
    let paths = ["/"].into_iter().chain(PAGES);
    paths.fold(Router::new(), |router, path| router.route(path, any(reject)))
}
