//! `kinora webhook`

use clap::Subcommand;
use kinora_domain::{
    Clock as _, ROTATION_GRACE_DEFAULT_S, Timestamp, Webhook, WebhookId, WebhookState, Workspace,
};
use kinora_service::{Caller, CommitOnly, Error};
use kinora_store::{Opener, Store};
use serde_json::{Value, json};

use super::print::table;
use super::{CommandContext, CommandError, workspace};
use crate::backends;
use crate::system::SystemClock;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Post every event of a workspace to a URL
    Create {
        /// The workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// URL to post events to
        #[arg(long, value_name = "URL")]
        url: String,
    },
    /// List the webhooks with their state and its reason
    List {
        /// List only this workspace
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
    },
    /// Create a new secret for a webhook, which signs at once
    Rotate {
        /// Its id
        id: String,
        /// Seconds for which the old secret also signs webhook-signature
        #[arg(long, value_name = "SECONDS", default_value_t = ROTATION_GRACE_DEFAULT_S as u32)]
        grace: u32,
    },
    /// Resume deliveries, pending events first
    Enable {
        /// Its id
        id: String,
    },
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    match command {
        Command::Create { workspace, url } => {
            let workspace = workspace::find(&store, &workspace).await?;
            let caller = Caller::command_line(workspace.id);
            let webhook = backends::service(&store).create_webhook(&caller, url, CommitOnly).await?;
            print_secret(context, &webhook, &workspace);
        }
        Command::List { workspace } => list(context, &store, workspace.as_deref()).await?,
        Command::Rotate { id, grace } => {
            let (id, workspace) = find(&store, &id).await?;
            let caller = Caller::command_line(workspace.id);
            let rotated = backends::service(&store).rotate_webhook_secret(&caller, id, grace).await;
            let webhook = rotated.map_err(|error| explain(error, id))?;
            print_secret(context, &webhook, &workspace);
        }
        Command::Enable { id } => {
            let (id, workspace) = find(&store, &id).await?;
            let caller = Caller::command_line(workspace.id);
            let enabled = backends::service(&store).enable_webhook(&caller, id).await;
            let webhook = enabled.map_err(|error| explain(error, id))?;
            let text = format!("enabled webhook {}; pending events are delivered now", webhook.id);
            context.print(&view(&webhook, &workspace.name, SystemClock.now()), &text);
        }
    }
    Ok(())
}

fn print_secret(context: &CommandContext, webhook: &Webhook, workspace: &Workspace) {
    let json = json!({
        "id": webhook.id.to_string(),
        "url": webhook.url,
        "secret": webhook.secret.reveal(),
        "standardSecret": webhook.secret.reveal_standard(),
        "workspace": workspace::view(workspace),
    });
    let text = format!(
        "webhook {}\nposts to  {}\nsecret    {}\n          {} (the same, as Standard Webhooks libraries take it)",
        webhook.id,
        webhook.url,
        webhook.secret.reveal(),
        webhook.secret.reveal_standard()
    );
    context.print(&json, &text);
}

/// The webhook of that id, and its workspace.
async fn find(store: &Store, id: &str) -> Result<(WebhookId, Workspace), CommandError> {
    let id: WebhookId =
        id.parse().map_err(|problem| CommandError::new(format!("the id of a webhook {problem}")))?;
    let webhook = store.webhook(id).await?.ok_or_else(|| explain(Error::WebhookNotFound, id))?;
    let workspace = store.workspace(webhook.workspace).await?;
    let workspace = workspace.ok_or_else(|| CommandError::new("the workspace of the webhook is gone"))?;
    Ok((id, workspace))
}

fn explain(error: Error, id: WebhookId) -> CommandError {
    match error {
        Error::WebhookNotFound => CommandError::new(format!("there is no webhook {id}")),
        other => other.into(),
    }
}

async fn list(context: &CommandContext, store: &Store, name: Option<&str>) -> Result<(), CommandError> {
    let only = match name {
        Some(name) => Some(workspace::find(store, name).await?.id),
        None => None,
    };
    let workspaces = store.workspaces().await?;
    let now = SystemClock.now();
    let name_of = |webhook: &Webhook| {
        let workspace = workspaces.iter().find(|workspace| workspace.id == webhook.workspace);
        workspace.map(|workspace| workspace.name.clone()).unwrap_or_default()
    };
    let webhooks = store.webhooks(only).await?;
    let json = webhooks.iter().map(|webhook| view(webhook, &name_of(webhook), now)).collect();
    let rows: Vec<_> = webhooks
        .iter()
        .map(|webhook| {
            let (state, why) = state_and_why(webhook, now);
            let state = if why.is_empty() { state.to_owned() } else { format!("{state}: {why}") };
            vec![webhook.id.to_string(), name_of(webhook), webhook.url.clone(), state]
        })
        .collect();
    context.print(&json, &table(&["ID", "WORKSPACE", "URL", "STATE"], &rows));
    Ok(())
}

fn view(webhook: &Webhook, workspace: &str, now: Timestamp) -> Value {
    let (state, why) = state_and_why(webhook, now);
    json!({
        "id": webhook.id.to_string(),
        "url": webhook.url,
        "workspace": {"id": webhook.workspace.to_string(), "name": workspace},
        "state": state,
        "reason": (!why.is_empty()).then_some(why),
        "createdAt": webhook.created_at.to_string(),
    })
}

fn state_and_why(webhook: &Webhook, now: Timestamp) -> (&'static str, String) {
    match webhook.state {
        WebhookState::Disabled { since, reason } => ("disabled", format!("{} ({since})", reason.sentence())),
        WebhookState::Enabled if webhook.is_failing(now) => {
            ("enabled", "every delivery of the last 24 hours failed".to_owned())
        }
        WebhookState::Enabled => ("enabled", String::new()),
    }
}
