//! `kinora token create`

use std::path::PathBuf;

use clap::Args;
use kinora_domain::{Actor, Permission, Workspace};
use kinora_service::{CreatedAccessToken, NewAccessToken, WorkspaceFile};
use kinora_store::{Opener, Store};
use serde_json::json;

use super::PermissionArg;
use super::new_file::NewFile;
use crate::backends;
use crate::command::{CommandContext, CommandError, workspace};

#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// The workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// The permission
    #[arg(long)]
    permission: PermissionArg,
    /// Name of the token in lists, such as the program that uses it
    #[arg(long, value_name = "NAME", default_value = "kinora token create")]
    name: String,
    /// Write the workspace file instead of printing the secret: JSON, or variables if it ends in .env
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) async fn run(context: &CommandContext, arguments: Arguments) -> Result<(), CommandError> {
    let Arguments { workspace, permission, name, file } = arguments;
    // Before there is a token: an existing file, or a folder without write permission, is the usual problem.
    let file = file.map(NewFile::create).transpose()?;
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    let workspace = workspace::find(&store, &workspace).await?;
    let made = create(&store, &workspace, name, permission.into()).await?;
    match file {
        Some(file) => write_file(context, &store, &made, file).await,
        None => {
            print_secret(context, &made);
            Ok(())
        }
    }
}

/// Makes a token; the secret exists only in the result.
pub(in crate::command) async fn create(
    store: &Store,
    workspace: &Workspace,
    name: impl Into<String>,
    permission: Permission,
) -> Result<CreatedAccessToken, CommandError> {
    let new = NewAccessToken { workspace: workspace.id, name: name.into(), permission };
    Ok(backends::service(store).create_access_token(&Actor::command_line(), new).await?)
}

fn print_secret(context: &CommandContext, made: &CreatedAccessToken) {
    let CreatedAccessToken { token, secret, workspace } = made;
    let json = json!({
        "id": token.id.to_string(),
        "name": token.name,
        "secret": secret.reveal(),
        "permission": token.permission.as_str(),
        "workspace": workspace::view(workspace),
    });
    let text = format!(
        "access token id  {}\nsecret key       {}\n\nThe secret key is not stored and cannot be shown again.\n\
         Try it: curl -u {}:{} {}/v1/on-demand",
        token.id,
        secret.reveal(),
        token.id,
        secret.reveal(),
        context.settings.public_url,
    );
    context.print(&json, &text);
}

/// Writes the workspace file. A token whose file cannot be written is revoked: its secret would be lost.
async fn write_file(
    context: &CommandContext,
    store: &Store,
    made: &CreatedAccessToken,
    file: NewFile,
) -> Result<(), CommandError> {
    let CreatedAccessToken { token, secret, workspace } = made;
    let content = WorkspaceFile { public_url: &context.settings.public_url, workspace, token, secret };
    let path = file.path().to_owned();
    // Also the name `.env` alone, which has no extension.
    let is_env = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".env"));
    let content = if is_env { content.env() } else { content.json() };
    if let Err(error) = file.write(&content.text) {
        backends::service(store).revoke_access_token(&Actor::command_line(), token.id).await?;
        return Err(error);
    }
    let json = json!({
        "id": token.id.to_string(),
        "name": token.name,
        "permission": token.permission.as_str(),
        "workspace": workspace::view(workspace),
        "file": path.display().to_string(),
    });
    let text = format!(
        "access token id  {}\nfile             {}\n\nThe file contains the secret key, which is not stored \
         elsewhere.",
        token.id,
        path.display()
    );
    context.print(&json, &text);
    Ok(())
}
