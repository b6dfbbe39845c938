//! Workspaces: listed, created, renamed and deleted. What is in one belongs to the mount of the API.

use axum::extract::State;
use kinora_domain::{Actor, Workspace, WorkspaceId};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use serde::Serialize;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::names::name_of_body;
use crate::request_origin::Client;
use crate::view::Nothing;

/// One workspace.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceView {
    id: String,
    name: String,
    created_at: String,
    /// Whether it can be deleted, unless it is the last one.
    is_empty: bool,
}

/// `GET /workspaces`: all workspaces, oldest first.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
) -> Result<Data<Vec<WorkspaceView>>, ApiError> {
    let workspaces = app.store.workspaces().await?.into_iter();
    let with_content = app.store.workspaces_with_content().await?;
    let view = |workspace: Workspace| {
        let is_empty = !with_content.contains(&workspace.id);
        WorkspaceView::of(workspace, is_empty)
    };
    let visible = workspaces.filter(|workspace| workspace.organisation == member.organisation);
    Ok(Data::ok(visible.map(view).collect()))
}

/// `POST /workspaces`: creates a workspace.
pub(crate) async fn create(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<WorkspaceView>, ApiError> {
    let name = name_of_body(&body, workspace_name)?;
    let actor = Actor::person(&member, client.origin);
    let created = Box::pin(app.service.create_workspace(&actor, &name)).await;
    let workspace = created.map_err(error::from_operation)?;
    Ok(Data::created(WorkspaceView::of(workspace, true), Vec::new()))
}

/// `PATCH /workspaces/{workspaceId}`: another name.
pub(crate) async fn rename(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<WorkspaceId>,
    JsonBody(body): JsonBody,
) -> Result<Data<WorkspaceView>, ApiError> {
    let name = name_of_body(&body, workspace_name)?;
    let actor = Actor::person(&member, client.origin);
    let renamed = Box::pin(app.service.rename_workspace(&actor, id, &name)).await;
    let workspace = renamed.map_err(error::from_operation)?;
    let is_empty = !app.store.workspaces_with_content().await?.contains(&id);
    Ok(Data::ok(WorkspaceView::of(workspace, is_empty)))
}

/// `DELETE /workspaces/{workspaceId}`: deletes an empty workspace. 409 with what is in it, and for the last
/// one.
pub(crate) async fn delete(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<WorkspaceId>,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    let deleted = Box::pin(app.service.delete_workspace(&actor, id)).await;
    deleted.map_err(error::from_operation)?;
    app.workspaces.forget(id);
    Ok(Data::ok(Nothing {}))
}

fn workspace_name(text: &str) -> Result<String, &'static str> {
    let name = text.trim();
    Workspace::check_name(name).map(|()| name.to_owned())
}

impl WorkspaceView {
    fn of(workspace: Workspace, is_empty: bool) -> Self {
        Self {
            id: workspace.id.to_string(),
            name: workspace.name,
            created_at: workspace.created_at.to_string(),
            is_empty,
        }
    }
}
