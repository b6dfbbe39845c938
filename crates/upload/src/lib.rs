//! The signed address of a direct upload, `/upload/{signed}`: four protocols over one reception
//! (D-0060, D-0061).
//!
//! Headers tell which one is spoken. Each protocol has a file that turns a request into one value, lets
//! `kinora_intake` receive what it brings, and says in its own words what came of it. What one has begun
//! another may finish. Knows no operation of the API and no player.
//!
//! Begin with [`routes`], then `protocol.rs`.

mod address;
mod body;
mod call;
mod cors;
mod date;
mod draft;
mod error;
mod gcs;
mod given;
mod page;
mod plain;
mod problem;
mod protocol;
mod state;
mod status;
mod tus;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use kinora_domain::UploadTicket;
use kinora_web::error::ApiError;
use kinora_web::roles::Roles;

use body::Sent;
use call::Call;
use protocol::Protocol;

pub use state::{UploadRouterParts, UploadRouterState};

/// The one route.
pub fn routes() -> Router<UploadRouterState> {
    Router::new().route("/upload/{signed}", any(serve))
}

/// The same path in a process without the role `api`.
pub fn elsewhere(roles: Roles) -> Router {
    Router::new().route("/upload/{signed}", any(async move || ApiError::other_role("api", roles)))
}

/// Every method at the address. What is refused for its address or its headers has cost no look into the
/// database.
async fn serve(State(app): State<UploadRouterState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut body = Sent::new(&parts.headers, body);
    let signed = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let ticket = address::read(&app, signed);
    let is_for_a_person = page::is_wanted_by(&parts.method, &parts.headers);
    let mut response = match &ticket {
        Ok(ticket) => match address::admit(&app, ticket, &parts.headers) {
            Ok(()) => answer(&app, ticket, signed, parts.method, &parts.headers, &mut body).await,
            Err(_) if parts.method == Method::OPTIONS && address::is_over(&app, ticket) => {
                cors::preflight(&parts.headers)
            }
            Err(refusal) => refusal.into_response(),
        },
        // A browser takes a preflight that is refused for a line that broke, and its page could never read
        // why.
        Err(_) if parts.method == Method::OPTIONS => cors::preflight(&parts.headers),
        Err(_) => error::no_such_upload_address().into_response(),
    };
    if is_for_a_person && response.status().is_client_error() {
        response = page::show(&app, ticket.as_ref().ok(), response.status());
    }
    body.linger();
    cors::allow(&mut response, ticket.ok().map(|ticket| ticket.origin));
    response
}

async fn answer(
    app: &UploadRouterState,
    ticket: &UploadTicket,
    signed: &str,
    method: Method,
    headers: &HeaderMap,
    body: &mut Sent,
) -> Response {
    let location = format!("{}/upload/{signed}", app.addresses.public);
    let call = Call { app, ticket, location, method, headers, body };
    match Protocol::of(&call.method, headers) {
        Ok(Protocol::Options) => cors::options(app, ticket, headers),
        Ok(Protocol::Page) if page::is_asked_for_status(headers) => status::tell(app, ticket).await,
        Ok(Protocol::Page) => page::show(app, Some(ticket), StatusCode::OK),
        Ok(Protocol::Plain) => plain::answer(call).await,
        Ok(Protocol::Gcs) => gcs::answer(call).await,
        Ok(Protocol::Tus) => tus::answer(call).await,
        Ok(Protocol::Draft) => draft::answer(call).await,
        Err(refusal) => refusal.into_response(),
    }
}
