//! `kinora workspace`

use clap::Subcommand;
use kinora_domain::Workspace;
use kinora_service::Error;
use kinora_store::{Opener, Store};
use serde_json::{Value, json};

use super::print::table;
use super::{Problem, Session};
use crate::place;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a workspace
    Create {
        /// Its name
        name: String,
    },
    /// List the workspaces
    List,
}

pub(super) async fn run(session: &Session, command: Command) -> Result<(), Problem> {
    let store = place::open_store(&session.settings, Opener::Command).await?;
    match command {
        Command::Create { name } => {
            let workspace = create(&store, &name).await?;
            session.print(&view(&workspace), &format!("workspace {} is {}", workspace.name, workspace.id));
        }
        Command::List => {
            let workspaces = store.workspaces().await?;
            let rows: Vec<_> = workspaces
                .iter()
                .map(|workspace| vec![workspace.id.to_string(), workspace.name.clone()])
                .collect();
            session.print(&workspaces.iter().map(view).collect(), &table(&["ID", "NAME"], &rows));
        }
    }
    Ok(())
}

/// Makes a workspace; a name that is taken is a problem.
async fn create(store: &Store, name: &str) -> Result<Workspace, Problem> {
    match place::service(store).create_workspace(name).await {
        Err(Error::WorkspaceTaken) => Err(Problem::new(format!("there is a workspace {name} already"))),
        created => Ok(created?),
    }
}

/// The workspace of that name, made if there is none.
pub(super) async fn find_or_create(store: &Store, name: &str) -> Result<Workspace, Problem> {
    match store.workspace_by_name(name).await? {
        Some(workspace) => Ok(workspace),
        None => create(store, name).await,
    }
}

/// The workspace of that name, or what there is instead.
pub(super) async fn find(store: &Store, name: &str) -> Result<Workspace, Problem> {
    if let Some(workspace) = store.workspace_by_name(name).await? {
        return Ok(workspace);
    }
    let names: Vec<_> = store.workspaces().await?.into_iter().map(|workspace| workspace.name).collect();
    Err(Problem::new(format!("there is no workspace {name}; there are {}", names.join(", "))))
}

/// A workspace as it is printed inside other things.
pub(super) fn view(workspace: &Workspace) -> Value {
    json!({"id": workspace.id.to_string(), "name": workspace.name})
}
