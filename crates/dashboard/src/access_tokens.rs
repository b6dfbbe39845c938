//! Access tokens: listed, created, renamed and revoked.

use std::collections::HashMap;

use axum::extract::State;
use kinora_domain::{AccessToken, AccessTokenId, Actor, Permission, Timestamp, Who, Workspace, WorkspaceId};
use kinora_service::{CreatedAccessToken, Error as OperationError, NewAccessToken, WorkspaceFile};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use kinora_web::pagination::ListQuery;
use serde::Serialize;
use serde_json::Value;

use crate::DashboardState;
use crate::authenticate::CurrentSession;
use crate::error;
use crate::names::{name_field, name_of_body};
use crate::request_origin::Client;
use crate::session::required;
use crate::view::{FileView, NamedView, Nothing};

/// Revoked tokens are listed for 30 days.
const REVOKED_LISTED_US: i64 = 30 * 24 * 60 * 60 * Timestamp::SECOND;
/// Longest text that is read as an ID.
const ID_CHARS_MAX: usize = 64;
/// The names of permissions.
const PERMISSIONS: [&str; 2] = ["read-write", "read-only"];

/// One access token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessTokenView {
    id: String,
    name: Option<String>,
    workspace: NamedView,
    permission: &'static str,
    created_at: String,
    created_by: Option<MakerView>,
    last_used_at: Option<String>,
    revoked_at: Option<String>,
}

/// Who made a token.
#[derive(Serialize)]
struct MakerView {
    kind: &'static str,
    name: Option<String>,
}

/// A token that was just created. The secret is in this response alone.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedTokenView {
    #[serde(flatten)]
    token: AccessTokenView,
    secret: String,
    files: FilesView,
    example: String,
}

/// The workspace file in both forms.
#[derive(Serialize)]
struct FilesView {
    json: FileView,
    env: FileView,
}

/// `GET /access-tokens`: all tokens, or those of one workspace, newest first.
pub(crate) async fn list(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    query: ListQuery,
) -> Result<Data<Vec<AccessTokenView>>, ApiError> {
    let problems = Problems::default();
    let workspace = query.single_value("workspaceId", &problems).and_then(|text| {
        text.parse::<WorkspaceId>().map_err(|error| problems.add("workspaceId", error.to_string())).ok()
    });
    problems.into_result(Some(()))?;
    let workspaces = app.store.workspaces().await?.into_iter();
    let workspaces: HashMap<_, _> = workspaces
        .filter(|workspace| workspace.organisation == member.organisation)
        .map(|workspace| (workspace.id, workspace))
        .collect();
    let now = app.clock.now();
    let is_listed = |token: &AccessToken| {
        token.revoked_at.is_none_or(|revoked_at| now.micros_since(revoked_at) < REVOKED_LISTED_US)
    };
    let tokens = app.store.access_tokens(workspace).await?.into_iter().rev().filter(is_listed);
    let view = |token: AccessToken| Some(AccessTokenView::of(workspaces.get(&token.workspace)?, token));
    Ok(Data::ok(tokens.filter_map(view).collect()))
}

/// `POST /access-tokens`: creates a token, with the files for its programs.
pub(crate) async fn create(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    JsonBody(body): JsonBody,
) -> Result<Data<CreatedTokenView>, ApiError> {
    let new = new_token(&body)?;
    let actor = Actor::person(&member, client.origin);
    let created = Box::pin(app.service.create_access_token(&actor, new)).await;
    let CreatedAccessToken { token, secret, workspace } = created.map_err(|error| match error {
        OperationError::WorkspaceNotFound => {
            ApiError::invalid_field("workspaceId", "is not the id of a workspace")
        }
        other => error::from_operation(other),
    })?;
    let file = WorkspaceFile {
        public_url: &app.base_urls.public,
        workspace: &workspace,
        token: &token,
        secret: &secret,
    };
    let view = CreatedTokenView {
        secret: secret.reveal().to_owned(),
        files: FilesView { json: file.json().into(), env: file.env().into() },
        example: file.example(),
        token: AccessTokenView::of(&workspace, token),
    };
    Ok(Data::created(view, Vec::new()))
}

/// `PATCH /access-tokens/{accessTokenId}`: another name.
pub(crate) async fn rename(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<AccessTokenId>,
    JsonBody(body): JsonBody,
) -> Result<Data<AccessTokenView>, ApiError> {
    let name = name_of_body(&body, AccessToken::parse_name)?;
    let actor = Actor::person(&member, client.origin);
    let renamed = Box::pin(app.service.rename_access_token(&actor, id, &name)).await;
    let token = renamed.map_err(error::from_operation)?;
    let workspace = app.store.workspace(token.workspace).await?.ok_or_else(ApiError::workspace_not_found)?;
    Ok(Data::ok(AccessTokenView::of(&workspace, token)))
}

/// `DELETE /access-tokens/{accessTokenId}`: revokes a token. The same response for a revoked one.
pub(crate) async fn revoke(
    State(app): State<DashboardState>,
    CurrentSession { member, .. }: CurrentSession,
    client: Client,
    PathId(id): PathId<AccessTokenId>,
) -> Result<Data<Nothing>, ApiError> {
    let actor = Actor::person(&member, client.origin);
    let revoked = Box::pin(app.service.revoke_access_token(&actor, id)).await;
    revoked.map_err(error::from_operation)?;
    Ok(Data::ok(Nothing {}))
}

fn new_token(body: &Value) -> Result<NewAccessToken, ApiError> {
    let problems = Problems::default();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let name = name_field(&fields, AccessToken::parse_name);
        let workspace = required(&fields, "workspaceId", ID_CHARS_MAX).and_then(|text| {
            text.parse::<WorkspaceId>().map_err(|error| fields.reject("workspaceId", error.to_string())).ok()
        });
        if !fields.is_present("permission") {
            fields.reject("permission", "is required");
        }
        let permission = fields.one_of("permission", &PERMISSIONS, Permission::from_text);
        Some(NewAccessToken { name: name?, workspace: workspace?, permission: permission? })
    });
    problems.into_result(new)
}

impl AccessTokenView {
    fn of(workspace: &Workspace, token: AccessToken) -> Self {
        let maker = |who: Who| MakerView { kind: who.kind(), name: who.name().map(str::to_owned) };
        Self {
            id: token.id.to_string(),
            workspace: NamedView { id: workspace.id.to_string(), name: Some(workspace.name.clone()) },
            permission: token.permission.as_str(),
            created_at: token.created_at.to_string(),
            created_by: token.made_by.map(maker),
            last_used_at: token.last_used_at.map(|time| time.to_string()),
            revoked_at: token.revoked_at.map(|time| time.to_string()),
            name: token.name,
        }
    }
}
