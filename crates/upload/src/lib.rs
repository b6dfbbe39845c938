//! The signed address of a direct upload, `/upload/{signed}`: four protocols over one intake (D-0060,
//! D-0061).
//!
//! The headers select the protocol. Each protocol has a file that parses a request, calls `kinora_intake`,
//! and formats the result. An upload begun in one protocol may be finished in another. Knows no operation of
//! the API and no player.
//!
//! Begin with [`routes`], then `protocol.rs`.

mod cors;
mod date;
mod draft;
mod error;
mod gcs;
mod problem;
mod protocol;
mod request_body;
mod request_headers;
mod signed_url;
mod single_put;
mod state;
mod status;
mod tus;
mod upload_page;
mod upload_request;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use kinora_domain::UploadClaims;
use kinora_web::error::ApiError;
use kinora_web::roles::Roles;

use protocol::Protocol;
use request_body::RequestBody;
use upload_request::UploadRequest;

pub use state::{UploadRouterParts, UploadRouterState};

/// The one route.
pub fn routes() -> Router<UploadRouterState> {
    Router::new().route("/upload/{signed}", any(serve))
}

/// The same path in a process without the role `api`.
pub fn elsewhere(roles: Roles) -> Router {
    Router::new().route("/upload/{signed}", any(async move || ApiError::role_disabled("api", roles)))
}

/// Handles every method at the address. The signed address is the credential: no access token is read
/// (C-105). A request rejected for its address or its headers costs no look-up
/// in the database.
async fn serve(State(app): State<UploadRouterState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut body = RequestBody::new(&parts.headers, body);
    let signed = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let claims = signed_url::verify(&app, signed);
    let wants_html = upload_page::accepts_html(&parts.method, &parts.headers);
    let mut response = match &claims {
        Ok(path_claims) => match signed_url::check_access(&app, path_claims, &parts.headers) {
            Ok(()) => answer(&app, path_claims, signed, parts.method, &parts.headers, &mut body).await,
            Err(_) if parts.method == Method::OPTIONS && signed_url::is_expired(&app, path_claims) => {
                cors::preflight(&parts.headers)
            }
            Err(rejection) => rejection.into_response(),
        },
        // A browser reports a rejected preflight as a network error, so its page could never read the
        // reason.
        Err(_) if parts.method == Method::OPTIONS => cors::preflight(&parts.headers),
        Err(_) => error::upload_url_not_found().into_response(),
    };
    if wants_html && response.status().is_client_error() {
        response = upload_page::show(&app, claims.as_ref().ok(), response.status());
    }
    body.linger();
    cors::allow(&mut response, claims.ok().map(|claims| claims.origin));
    response
}

async fn answer(
    app: &UploadRouterState,
    claims: &UploadClaims,
    signed: &str,
    method: Method,
    headers: &HeaderMap,
    body: &mut RequestBody,
) -> Response {
    let location = format!("{}/upload/{signed}", app.addresses.public);
    let upload_request = UploadRequest { app, claims, location, method, headers, body };
    match Protocol::of(&upload_request.method, headers) {
        Ok(Protocol::Options) => cors::options(app, claims, headers),
        Ok(Protocol::Page) if upload_page::accepts_json(headers) => status::status(app, claims).await,
        Ok(Protocol::Page) => upload_page::show(app, Some(claims), StatusCode::OK),
        Ok(Protocol::SinglePut) => single_put::answer(upload_request).await,
        Ok(Protocol::Gcs) => gcs::answer(upload_request).await,
        Ok(Protocol::Tus) => tus::answer(upload_request).await,
        Ok(Protocol::Draft) => draft::answer(upload_request).await,
        Err(rejection) => rejection.into_response(),
    }
}
