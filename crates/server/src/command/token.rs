//! `kinora token`

mod create;
mod new_file;
mod sign;
mod trial_key;

use clap::{Subcommand, ValueEnum};
use kinora_domain::{AccessToken, AccessTokenId, Actor, Permission, Who};
use kinora_service::Error;
use kinora_store::{Opener, Store};
use serde_json::json;

use super::print::table;
use super::{CommandContext, CommandError, workspace};
use crate::backends;

pub(super) use create::create;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create an access token; its secret is shown only once
    Create(create::Arguments),
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

impl From<PermissionArg> for Permission {
    fn from(permission: PermissionArg) -> Self {
        match permission {
            PermissionArg::ReadWrite => Self::ReadWrite,
            PermissionArg::ReadOnly => Self::ReadOnly,
        }
    }
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    let command = match command {
        Command::Create(arguments) => return create::run(context, arguments).await,
        Command::Sign(arguments) => return sign::run(context, arguments).await,
        command => command,
    };
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    match command {
        // Above: the first opens the database later, the second may need none.
        Command::Create(_) | Command::Sign(_) => {}
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

/// Revokes the token of that id, in any workspace.
async fn revoke(store: &Store, id: AccessTokenId) -> Result<(), CommandError> {
    match backends::service(store).revoke_access_token(&Actor::command_line(), id).await {
        Err(Error::AccessTokenNotFound) => {
            Err(CommandError::new(format!("there is no active access token {id}")))
        }
        revoked => Ok(revoked?),
    }
}

/// Who created a token, in a table.
fn maker(who: &Who) -> String {
    who.name().unwrap_or("command line").to_owned()
}

async fn list(context: &CommandContext, store: &Store, name: Option<&str>) -> Result<(), CommandError> {
    const HEAD: [&str; 6] = ["ID", "NAME", "PERMISSION", "WORKSPACE", "CREATED BY", "STATE"];
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
            "name": token.name,
            "permission": token.permission.as_str(),
            "workspace": {"id": token.workspace.to_string(), "name": name_of(token)},
            "createdAt": token.created_at.to_string(),
            "createdBy": token.made_by.as_ref().map(|who| json!({"kind": who.kind(), "name": who.name()})),
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
            let made_by = token.made_by.as_ref().map(maker).unwrap_or_default();
            let name = token.display_name().to_owned();
            vec![
                token.id.to_string(),
                name,
                token.permission.as_str().to_owned(),
                name_of(token),
                made_by,
                state,
            ]
        })
        .collect();
    context.print(&json.collect(), &table(&HEAD, &rows));
    Ok(())
}
