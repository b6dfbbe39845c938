//! Errors of the dashboard alone; [`ApiError`] has those of several crates. No 401 has a `WWW-Authenticate`:
//! browsers would open a dialogue.

use axum::http::StatusCode;
use kinora_service::Error as OperationError;
use kinora_web::error::ApiError;

use crate::throttle::TooEarly;

/// Converts the error of an operation that changed nothing.
pub(crate) fn from_operation(error: OperationError) -> ApiError {
    match error {
        OperationError::Store(error) => error.into(),
        OperationError::LinkNotFound => link_not_found(),
        OperationError::LinkUsed(_) | OperationError::LinkEnded(_) => link_gone(&error),
        OperationError::NameRequired => ApiError::invalid_field("name", "is required"),
        OperationError::InvalidName(rule) => ApiError::invalid_field("name", rule),
        OperationError::EmailTaken => email_taken(),
        // The password was checked, and another request changed the account before the commit.
        OperationError::SignInOutdated => sign_in_failed(),
        OperationError::SessionNotFound => session_not_found(),
        OperationError::PersonNotFound | OperationError::PersonDisabled => signed_out(),
        other => ApiError::internal(&other),
    }
}

/// 401: no valid session.
pub(crate) fn signed_out() -> ApiError {
    unauthorized(
        "sign in to the dashboard first; access tokens are valid only at the paths of the API, below /v1",
    )
}

/// 401: one sentence for all causes, so that no client learns which addresses have an account.
pub(crate) fn sign_in_failed() -> ApiError {
    unauthorized("the email address or the password is wrong")
}

fn unauthorized(description: &str) -> ApiError {
    ApiError::described(StatusCode::UNAUTHORIZED, "unauthorized", description)
}

/// 409: the page belongs to another person than the session. The page compares the message.
pub(crate) fn person_changed() -> ApiError {
    ApiError::described(
        StatusCode::CONFLICT,
        "person changed",
        "another person is signed in to this browser now; reload the page",
    )
}

/// 403: a page of another site sent the request.
pub(crate) fn cross_site(public_url: &str) -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!(
            "this request does not come from a page of this server; open {public_url}/dashboard, or list the origin \
             of the page in --dashboard-origin"
        ),
    )
}

/// 429: too many failures. Nothing was read or counted.
pub(crate) fn too_early(TooEarly { retry_after_s }: TooEarly) -> ApiError {
    ApiError::described(
        StatusCode::TOO_MANY_REQUESTS,
        "too many requests",
        "there were too many failed attempts; wait Retry-After seconds, then retry",
    )
    .with_retry_after(retry_after_s)
}

/// 422: the present password of the person who is signed in.
pub(crate) fn wrong_password() -> ApiError {
    ApiError::invalid_field("password", "is wrong")
}

/// 404: the workspace does not exist, or the person may not see it.
pub(crate) fn workspace_not_found() -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, "workspace not found", "there is no workspace with this id")
}

/// 404: no session of this person.
fn session_not_found() -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, "session not found", "you have no session with this id")
}

/// 404: the secret of no link.
fn link_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "link not found",
        "this link does not exist; copy the whole address, or ask an administrator for a new link",
    )
}

/// 410: the link was used, or its time is over.
fn link_gone(cause: &OperationError) -> ApiError {
    ApiError::described(StatusCode::GONE, "link gone", cause.to_string())
}

/// 409: another person has the address of an invitation meanwhile.
fn email_taken() -> ApiError {
    ApiError::described(
        StatusCode::CONFLICT,
        "email taken",
        "there is an account with this email address already; sign in, or ask an administrator for a reset link",
    )
}
