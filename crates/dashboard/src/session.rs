//! Signing in and out, and the session of a request.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{Actor, Email, Password};
use kinora_service::{Error as OperationError, OpenedSession, SignIn};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use crate::DashboardState;
use crate::authenticate::{CurrentSession, Rotation};
use crate::error;
use crate::password_check::Verified;
use crate::request_origin::Client;
use crate::view::{Nothing, SessionView, opened_session, set_cookie};

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// `POST /session`: signs in.
pub(crate) async fn sign_in(
    State(app): State<DashboardState>,
    request: HeaderMap,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let (email, password) = credentials(&body)?;
    let (member, Verified { stored, rehash }) =
        Box::pin(app.check_sign_in(&email, password, &client)).await?;
    let origin = client.origin.clone();
    let sign_in = SignIn { person: member.person.id, verified: stored, rehash, origin };
    let opened = Box::pin(app.service.sign_in(sign_in)).await.map_err(error::from_operation)?;
    // The new cookie replaces that of an earlier session, which would stay in the list.
    Box::pin(end_presented(&app, &request, client)).await?;
    Ok(opened_session(&app, opened, |view| Data::created(view, Vec::new())).await)
}

/// `GET /session`: who is signed in, and what they may do.
pub(crate) async fn read(
    State(app): State<DashboardState>,
    current: CurrentSession,
) -> Result<Data<SessionView>, ApiError> {
    Ok(Data::ok(SessionView::of(&app, &current).await?))
}

/// `DELETE /session`: signs out. The same response for a session that has ended already.
pub(crate) async fn sign_out(
    State(app): State<DashboardState>,
    request: HeaderMap,
    client: Client,
) -> Result<Response, ApiError> {
    Box::pin(end_presented(&app, &request, client)).await?;
    let mut response = Data::ok(Nothing {}).into_response();
    set_cookie(&mut response, app.cookie.remove());
    response.headers_mut().insert(CLEAR_SITE_DATA, HeaderValue::from_static("\"cache\", \"storage\""));
    Ok(response)
}

/// Ends the session of the cookie, if there is one.
async fn end_presented(app: &DashboardState, request: &HeaderMap, client: Client) -> Result<(), ApiError> {
    let Some(authenticated) = app.authenticate(request, Rotation::Never).await? else { return Ok(()) };
    let CurrentSession { session, member } = authenticated.current;
    let actor = Actor::person(&member, client.origin);
    ended(app, Box::pin(app.service.sign_out(&actor, session.id)).await).map(drop)
}

/// `POST /session/confirm`: the password again, before an action that needs it.
pub(crate) async fn confirm(
    State(app): State<DashboardState>,
    current: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let problems = Problems::default();
    let password = Fields::of_body(&body, &problems)
        .and_then(|fields| required(&fields, "password", Password::CHARS_MAX));
    let password = problems.into_result(password)?;
    let verified = Box::pin(app.check_own_password(&current, password, &client)).await?;
    let actor = Actor::person(&current.member, client.origin);
    let confirmed = app.service.confirm_session(&actor, current.session.id, verified.stored);
    replaced(&app, Box::pin(confirmed).await).await
}

/// The response to an operation that replaced the secret of the session.
pub(crate) async fn replaced(
    app: &DashboardState,
    opened: Result<OpenedSession, OperationError>,
) -> Result<Response, ApiError> {
    let opened = opened.map_err(error::from_operation)?;
    app.sessions.forget_cached();
    Ok(opened_session(app, opened, Data::ok).await)
}

/// The response to an operation that ended sessions.
pub(crate) fn ended<T>(
    app: &DashboardState,
    ended: Result<T, OperationError>,
) -> Result<Data<Nothing>, ApiError> {
    ended.map_err(error::from_operation)?;
    app.sessions.forget_cached();
    Ok(Data::ok(Nothing {}))
}

/// The email address and the password of a sign-in.
fn credentials(body: &Value) -> Result<(String, String), ApiError> {
    let problems = Problems::default();
    let read = Fields::of_body(body, &problems).and_then(|fields| {
        let email = required(&fields, "email", Email::CHARS_MAX);
        let password = required(&fields, "password", Password::CHARS_MAX);
        email.zip(password)
    });
    problems.into_result(read)
}

/// A text that must be there.
pub(crate) fn required(fields: &Fields<'_>, name: &str, max: usize) -> Option<String> {
    if !fields.is_present(name) {
        fields.reject(name, "is required");
        return None;
    }
    fields.text(name, max).map(str::to_owned)
}
