//! `kinora workspace`

use clap::Subcommand;
use kinora_domain::Workspace;
use kinora_service::Error;
use kinora_store::{Opener, Store};
use serde_json::{Value, json};

use super::print::table;
use super::{CommandContext, CommandError};
use crate::backends;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a workspace
    Create {
        /// Its name
        name: String,
    },
    /// List the workspaces
    List,
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    match command {
        Command::Create { name } => {
            let workspace = create(&store, &name).await?;
            context
                .print(&view(&workspace), &format!("workspace {} has id {}", workspace.name, workspace.id));
        }
        Command::List => {
            let workspaces = store.workspaces().await?;
            let rows: Vec<_> = workspaces
                .iter()
                .map(|workspace| vec![workspace.id.to_string(), workspace.name.clone()])
                .collect();
            context.print(&workspaces.iter().map(view).collect(), &table(&["ID", "NAME"], &rows));
        }
    }
    Ok(())
}

/// Makes a workspace; an existing name is an error.
async fn create(store: &Store, name: &str) -> Result<Workspace, CommandError> {
    match backends::service(store).create_workspace(name).await {
        Err(Error::WorkspaceNameTaken) => {
            Err(CommandError::new(format!("a workspace {name} already exists; choose another name")))
        }
        created => Ok(created?),
    }
}

/// The workspace of that name, made if there is none.
pub(super) async fn find_or_create(store: &Store, name: &str) -> Result<Workspace, CommandError> {
    match store.workspace_by_name(name).await? {
        Some(workspace) => Ok(workspace),
        None => create(store, name).await,
    }
}

/// The workspace of that name, or an error that lists the existing ones.
pub(super) async fn find(store: &Store, name: &str) -> Result<Workspace, CommandError> {
    if let Some(workspace) = store.workspace_by_name(name).await? {
        return Ok(workspace);
    }
    let names: Vec<_> = store.workspaces().await?.into_iter().map(|workspace| workspace.name).collect();
    Err(CommandError::new(format!("there is no workspace {name}; there are {}", names.join(", "))))
}

/// A workspace as part of other output.
pub(super) fn view(workspace: &Workspace) -> Value {
    json!({"id": workspace.id.to_string(), "name": workspace.name})
}
