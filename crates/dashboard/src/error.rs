//! Errors of the dashboard alone; [`ApiError`] has those of several crates. No 401 has a `WWW-Authenticate`:
//! browsers would open a dialogue.

use axum::http::StatusCode;
use kinora_domain::{Action, Role};
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
        OperationError::NotAllowed { action, role: Some(role) } => role_forbidden(role, action),
        OperationError::NotAllowed { role: None, .. } => signed_out(),
        OperationError::LastAdministrator => last_administrator(),
        OperationError::InvalidTokenName(rule)
        | OperationError::InvalidWorkspaceName(rule)
        | OperationError::InvalidOrganisationName(rule) => ApiError::invalid_field("name", rule),
        OperationError::AccessTokenNotFound => {
            not_found("access token not found", "there is no access token with this id")
        }
        OperationError::InvitationNotFound => not_found(
            "invitation not found",
            "there is no open invitation with this id; it was used, has ended, or was taken back",
        ),
        OperationError::WorkspaceNotFound => ApiError::workspace_not_found(),
        OperationError::WorkspaceNameTaken => {
            conflict("name taken", "another workspace has this name; choose another one")
        }
        OperationError::LastWorkspace | OperationError::WorkspaceNotEmpty(_) => {
            conflict("workspace not deleted", error.to_string())
        }
        other => ApiError::internal(&other),
    }
}

/// The same for an operation on another person, or on an invitation.
pub(crate) fn from_people_operation(error: OperationError) -> ApiError {
    match error {
        OperationError::PersonNotFound => not_found("person not found", "there is no person with this id"),
        OperationError::PersonDisabled => {
            conflict("person disabled", "this person is disabled; enable the person first")
        }
        OperationError::EmailTaken => conflict(
            "email taken",
            "a person has this email address already; make a reset link for that person instead",
        ),
        other => from_operation(other),
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
    conflict("person changed", "another person is signed in to this browser now; reload the page")
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

/// 403: the role of the person may not do this.
pub(crate) fn role_forbidden(role: Role, action: Action) -> ApiError {
    let allowed: Vec<_> = Role::ALL.into_iter().filter(|role| role.may(action)).collect();
    let allowed: Vec<_> = allowed.into_iter().map(|role| format!("{}s", role.word())).collect();
    let what = match action {
        Action::AccessTokensManage => "see and change access tokens",
        Action::PeopleManage => "invite and change people",
        Action::WorkspacesManage => "create, rename and delete workspaces",
        Action::OrganisationManage => "change the organisation",
        Action::ServerSee => "see the state of the server",
        Action::AuditSee => "read the audit log",
        _ => "do this",
    };
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("only {} may {what}; your role is {}", allowed.join(" and "), role.word()),
    )
}

/// 403: the person gave the password too long ago. The page compares the message.
pub(crate) fn confirmation_needed() -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "confirmation needed",
        "this needs your password of the last 30 minutes; send it to POST /dashboard/api/session/confirm, then \
         retry",
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

/// 404: the media does not exist, or is in another workspace.
pub(crate) fn media_not_found() -> ApiError {
    not_found("media workspace relation not found", "there is no media with this id in this workspace")
}

/// 409: no playback ID, through which a media is played.
pub(crate) fn no_playback_id() -> ApiError {
    conflict("no playback id", "this media has no playback ID; create one, then play it")
}

/// 409: the media does not play now, or will never.
pub(crate) fn media_not_ready(description: &'static str) -> ApiError {
    conflict("media is not ready", description)
}

/// 404: no session of this person.
fn session_not_found() -> ApiError {
    not_found("session not found", "you have no session with this id")
}

/// 404: the secret of no link.
fn link_not_found() -> ApiError {
    not_found(
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
    conflict(
        "email taken",
        "there is an account with this email address already; sign in, or ask an administrator for a reset link",
    )
}

/// 409: the change would leave no administrator who can sign in.
fn last_administrator() -> ApiError {
    conflict(
        "last administrator",
        "this is the last administrator who can sign in; make another person administrator first",
    )
}

fn not_found(message: &'static str, description: &'static str) -> ApiError {
    ApiError::described(StatusCode::NOT_FOUND, message, description)
}

fn conflict(message: &'static str, description: impl Into<String>) -> ApiError {
    ApiError::described(StatusCode::CONFLICT, message, description)
}
