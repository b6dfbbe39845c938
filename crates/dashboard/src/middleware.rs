//! Middleware of the operations: the rule against cross-site requests, then the session.

use axum::extract::{FromRequestParts, Request};
use axum::http::header::SET_COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::PersonId;
use kinora_web::error::ApiError;
use kinora_web::middleware::{Next, ResponseFuture, forward, next_response, respond_with};

use crate::authenticate::{Authenticated, CurrentSession, Rotation};
use crate::{DashboardState, error, json_body};

/// The person whose page sends the request.
const PERSON: HeaderName = HeaderName::from_static("kinora-person");

/// Rejects what a page of another site sends.
pub(crate) fn same_origin(app: &DashboardState, request: Request, next: &mut Next) -> ResponseFuture {
    match check_same_origin(app, request.method(), request.headers()) {
        Ok(()) => forward(request, next),
        Err(rejection) => respond_with(std::future::ready(rejection.into_response())),
    }
}

/// The same, and 401 without a session. The session is an extension of the request, which [`CurrentSession`]
/// reads as an extractor.
pub(crate) fn signed_in(
    app: &DashboardState,
    rotation: Rotation,
    mut request: Request,
    next: &mut Next,
) -> ResponseFuture {
    let (app, mut next) = (app.clone(), next.clone());
    respond_with(async move {
        let Authenticated { current, cookie } =
            match authenticate(&app, request.method(), request.headers(), rotation).await {
                Ok(authenticated) => authenticated,
                Err(rejection) => return rejection.into_response(),
            };
        request.extensions_mut().insert(current);
        with_cookie(next_response(request, &mut next).await, cookie)
    })
}

/// The session of a request that is not a cross-site one. 403 and 401.
pub(crate) async fn authenticate(
    app: &DashboardState,
    method: &Method,
    request: &HeaderMap,
    rotation: Rotation,
) -> Result<Authenticated, ApiError> {
    check_same_origin(app, method, request)?;
    let authenticated = app.authenticate(request, rotation).await?.ok_or_else(error::signed_out)?;
    check_person(authenticated.current.member.person.id, request)?;
    Ok(authenticated)
}

/// 409 for the page of another person, who was signed in before, in another tab of the browser.
fn check_person(person: PersonId, request: &HeaderMap) -> Result<(), ApiError> {
    match request.get(PERSON) {
        Some(shown) if *shown != *person.to_string() => Err(error::person_changed()),
        _ => Ok(()),
    }
}

/// Adds the cookie with a new secret, unless the operation has set one itself.
pub(crate) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().entry(SET_COOKIE).or_insert(cookie);
    }
    response
}

/// 403 for a cross-site request that changes something, 415 for a body that a form of another site can send.
fn check_same_origin(app: &DashboardState, method: &Method, request: &HeaderMap) -> Result<(), ApiError> {
    if !app.allowed_origins.allow(method, request) {
        return Err(error::cross_site(&app.base_urls.public));
    }
    if !matches!(*method, Method::GET | Method::HEAD) && !json_body::is_json_or_empty(request) {
        return Err(ApiError::unsupported_media_type());
    }
    Ok(())
}

impl<S: Send + Sync> FromRequestParts<S> for CurrentSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get().cloned().ok_or_else(error::signed_out)
    }
}
