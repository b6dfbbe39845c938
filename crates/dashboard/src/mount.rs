//! The operations of a workspace, where a session authorizes requests: those of the API at their second
//! mount, and those that only the dashboard has.

use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::HeaderValue;
use axum::response::IntoResponse as _;
use kinora_domain::{OrganisationId, WorkspaceId};
use kinora_service::{Caller, Principal};
use kinora_web::auth::Access;
use kinora_web::error::ApiError;
use kinora_web::middleware::{layer_fn, next_response, respond_with};
use kinora_web::serve::ClientAddress;

use crate::authenticate::{Authenticated, CurrentSession, Rotation};
use crate::middleware::{authenticate, with_cookie};
use crate::{DashboardState, workspace_operations};

/// The prefix of the operations of the API. [`protect_mount`] finds the workspace in it.
pub const MOUNT_PREFIX: &str = "/dashboard/api/workspaces/{workspaceId}";
const WORKSPACE: &str = "workspaceId";

/// The organisations of workspaces that were looked up in the last second.
pub(crate) struct Workspaces(moka::sync::Cache<WorkspaceId, OrganisationId>);

impl Default for Workspaces {
    fn default() -> Self {
        let builder = moka::sync::Cache::builder().max_capacity(Self::CACHED_MAX);
        Self(builder.time_to_live(Self::TIME_TO_LIVE).build())
    }
}

impl Workspaces {
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    const CACHED_MAX: u64 = 10_000;

    /// Drops a workspace that was deleted.
    pub(crate) fn forget(&self, id: WorkspaceId) {
        self.0.invalidate(&id);
    }
}

/// The operations of the API below [`MOUNT_PREFIX`] and those of `workspace_operations.rs`, behind the check
/// of each request: the rule against cross-site requests, the session, and the workspace. They get the
/// [`Access`] of the person, and read no access token.
pub fn protect_mount(operations: Router, state: &DashboardState) -> Router {
    let operations = operations.merge(workspace_operations::router(state));
    let state = state.clone();
    operations.route_layer(layer_fn(move |request, next| {
        let (app, mut next) = (state.clone(), next.clone());
        respond_with(async move {
            match Box::pin(admit(&app, request)).await {
                Ok((request, cookie)) => with_cookie(next_response(request, &mut next).await, cookie),
                Err(rejection) => rejection.into_response(),
            }
        })
    }))
}

/// The request with the access of its person, and the cookie for its response.
async fn admit(app: &DashboardState, request: Request) -> Result<(Request, Option<HeaderValue>), ApiError> {
    let Authenticated { current, cookie } =
        authenticate(app, request.method(), request.headers(), Rotation::WhenDue).await?;
    let (mut parts, body) = request.into_parts();
    let workspace = {
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        let params = params.map_err(|_| ApiError::workspace_not_found())?;
        let (_, workspace) =
            params.iter().find(|(name, _)| *name == WORKSPACE).ok_or_else(ApiError::workspace_not_found)?;
        workspace.parse().map_err(|_| ApiError::workspace_not_found())?
    };
    let CurrentSession { member, .. } = &current;
    if organisation_of(app, workspace).await? != Some(member.organisation) {
        return Err(ApiError::workspace_not_found());
    }
    let address = parts.extensions.get().and_then(|ClientAddress(address)| *address);
    let caller = Caller { workspace, principal: Principal::Person(member.person.id), address };
    parts.extensions.insert(Access { caller, permission: member.role.permission() });
    parts.extensions.insert(current);
    Ok((Request::from_parts(parts, body), cookie))
}

/// The organisation of a workspace. `None` for an unknown one, which is not cached.
async fn organisation_of(app: &DashboardState, id: WorkspaceId) -> Result<Option<OrganisationId>, ApiError> {
    if let Some(organisation) = app.workspaces.0.get(&id) {
        return Ok(Some(organisation));
    }
    let Some(workspace) = app.store.workspace(id).await? else { return Ok(None) };
    app.workspaces.0.insert(id, workspace.organisation);
    Ok(Some(workspace.organisation))
}
