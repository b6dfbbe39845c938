//! `kinora workspace`

use clap::Subcommand;
use kinora_domain::{Actor, LoudnessTarget, Workspace};
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
    /// Rename a workspace; its id and its tokens stay
    Rename {
        /// Its name
        name: String,
        /// Its new name
        new_name: String,
    },
    /// Delete an empty workspace, with its webhooks, past events and usage
    Delete {
        /// Its name
        name: String,
    },
    /// Show or set the loudness that audio of a workspace is levelled to
    Loudness {
        /// Its name
        name: String,
        /// Integrated loudness in LUFS: -24 to -14. Applies to media that are measured from now on
        #[arg(long, allow_negative_numbers = true)]
        target: Option<String>,
    },
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
        Command::Rename { name, new_name } => {
            let workspace = find(&store, &name).await?;
            let (service, actor) = (backends::service(&store), Actor::command_line());
            let renamed = service.rename_workspace(&actor, workspace.id, &new_name).await;
            let workspace = renamed.map_err(|error| explain(error, &new_name))?;
            let text = format!("workspace {} has the name {}", workspace.id, workspace.name);
            context.print(&view(&workspace), &text);
        }
        Command::Delete { name } => {
            let workspace = find(&store, &name).await?;
            backends::service(&store).delete_workspace(&Actor::command_line(), workspace.id).await?;
            let json = json!({"id": workspace.id.to_string(), "deleted": true});
            context.print(&json, &format!("deleted workspace {name}"));
        }
        Command::Loudness { name, target } => {
            let target = target.as_deref().map(parse_target).transpose()?;
            let workspace = find(&store, &name).await?;
            if let Some(target) = target {
                let actor = Actor::command_line();
                backends::service(&store).set_loudness_target(&actor, workspace.id, target).await?;
            }
            let target = store.loudness_target(workspace.id).await?.unwrap_or_default();
            let mut output = view(&workspace);
            output["loudnessTarget"] = target.lufs().into();
            context.print(&output, &format!("workspace {} levels audio to {} LUFS", name, target.lufs()));
        }
    }
    Ok(())
}

/// Parses a loudness target in whole LUFS.
fn parse_target(text: &str) -> Result<LoudnessTarget, CommandError> {
    let target = text.parse().ok().and_then(LoudnessTarget::new);
    target.ok_or_else(|| {
        let (quietest, loudest) = (LoudnessTarget::QUIETEST, LoudnessTarget::LOUDEST);
        CommandError::new(format!(
            "the loudness target is {quietest} to {loudest}, in whole LUFS, not {text}"
        ))
    })
}

/// Makes a workspace; an existing name is an error.
async fn create(store: &Store, name: &str) -> Result<Workspace, CommandError> {
    let created = backends::service(store).create_workspace(&Actor::command_line(), name).await;
    created.map_err(|error| explain(error, name))
}

fn explain(error: Error, name: &str) -> CommandError {
    match error {
        Error::WorkspaceNameTaken => {
            CommandError::new(format!("a workspace {name} already exists; choose another name"))
        }
        other => other.into(),
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
