//! `kinora token`

mod sign;
mod trial_key;

use clap::{Subcommand, ValueEnum};
use kinora_domain::{AccessToken, AccessTokenId, Permission, Secret, Workspace};
use kinora_service::{Caller, Error};
use kinora_store::{Opener, Store};
use serde_json::json;

use super::print::table;
use super::{CommandContext, CommandError, workspace};
use crate::backends;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create an access token; its secret is shown only once
    Create {
        /// The workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// The permission
        #[arg(long)]
        permission: PermissionArg,
    },
    /// List the access tokens
    List {
        /// List only this workspace
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
    },
    /// Sign a playback token for trials
    Sign(sign::Arguments),
    /// Revoke an access token
    Revoke {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PermissionArg {
    /// Read and write in its workspace
    ReadWrite,
    /// Only GET requests
    ReadOnly,
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    let command = match command {
        Command::Sign(arguments) => return sign::run(context, arguments).await,
        command => command,
    };
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    match command {
        Command::Create { workspace, permission } => {
            let permission = match permission {
                PermissionArg::ReadWrite => Permission::ReadWrite,
                PermissionArg::ReadOnly => Permission::ReadOnly,
            };
            let workspace = workspace::find(&store, &workspace).await?;
            let (token, secret) = create(&store, &workspace, permission).await?;
            let json = json!({
                "id": token.id.to_string(),
                "secret": secret.reveal(),
                "permission": permission.as_str(),
                "workspace": workspace::view(&workspace),
            });
            let text = format!(
                "access token id  {}\nsecret key       {}\n\nThe secret key is not stored and cannot be shown \
                    again.\nTry it: curl -u {}:{} {}/v1/on-demand",
                token.id,
                secret.reveal(),
                token.id,
                secret.reveal(),
                context.settings.public_url,
            );
            context.print(&json, &text);
        }
        Command::Sign(_) => {} // above: with a key and its id it needs no database
        Command::List { workspace } => list(context, &store, workspace.as_deref()).await?,
        Command::Revoke { id } => {
            let id: AccessTokenId =
                id.parse().map_err(|problem| CommandError::new(format!("the id of a token {problem}")))?;
            revoke(&store, id).await?;
            context.print(
                &json!({"id": id.to_string(), "revoked": true}),
                &format!("revoked access token {id}"),
            );
        }
    }
    Ok(())
}

/// Makes a token; the secret exists only in the result.
pub(super) async fn create(
    store: &Store,
    workspace: &Workspace,
    permission: Permission,
) -> Result<(AccessToken, Secret), CommandError> {
    let caller = Caller::command_line(workspace.id);
    Ok(backends::service(store).create_access_token(&caller, permission).await?)
}

/// Revokes the token of that id, in any workspace.
async fn revoke(store: &Store, id: AccessTokenId) -> Result<(), CommandError> {
    let unknown = || CommandError::new(format!("there is no active access token {id}"));
    let token = store.access_token(id).await?.ok_or_else(unknown)?;
    let caller = Caller::command_line(token.workspace);
    match backends::service(store).revoke_access_token(&caller, id).await {
        Err(Error::AccessTokenNotFound) => Err(unknown()),
        revoked => Ok(revoked?),
    }
}

async fn list(context: &CommandContext, store: &Store, name: Option<&str>) -> Result<(), CommandError> {
    let only = match name {
        Some(name) => Some(workspace::find(store, name).await?.id),
        None => None,
    };
    let workspaces = store.workspaces().await?;
    let name_of = |token: &AccessToken| {
        let workspace = workspaces.iter().find(|workspace| workspace.id == token.workspace);
        workspace.map(|workspace| workspace.name.clone()).unwrap_or_default()
    };
    let tokens = store.access_tokens(only).await?;
    let json = tokens.iter().map(|token| {
        json!({
            "id": token.id.to_string(),
            "permission": token.permission.as_str(),
            "workspace": {"id": token.workspace.to_string(), "name": name_of(token)},
            "createdAt": token.created_at.to_string(),
            "lastUsedAt": token.last_used_at.map(|at| at.to_string()),
            "revokedAt": token.revoked_at.map(|at| at.to_string()),
        })
    });
    let rows: Vec<_> = tokens
        .iter()
        .map(|token| {
            let state = match (token.revoked_at, token.last_used_at) {
                (Some(at), _) => format!("revoked {at}"),
                (None, Some(at)) => format!("last used {at}"),
                (None, None) => "never used".to_owned(),
            };
            vec![token.id.to_string(), token.permission.as_str().to_owned(), name_of(token), state]
        })
        .collect();
    context.print(&json.collect(), &table(&["ID", "PERMISSION", "WORKSPACE", "STATE"], &rows));
    Ok(())
}
