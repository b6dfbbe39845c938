//! `kinora media`

pub(super) mod show;

use std::time::Duration;

use clap::Subcommand;
use kinora_domain::{AccessPolicy, Media, MediaId, MediaSettings, MediaState, NewMedia, Workspace};
use kinora_service::{Caller, CommitOnly, Error};
use kinora_store::{Opener, Page, Store};
use serde_json::json;

use super::print::table;
use super::progress::Spinner;
use super::{CommandContext, CommandError, workspace};
use crate::backends;

/// Interval of polling while a command waits for a media.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Media on a page of `list`.
const PAGE: u32 = 50;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a media from a URL
    Create {
        /// The workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// URL of the video or audio file
        #[arg(long, value_name = "URL")]
        url: String,
        /// Title for people
        #[arg(long)]
        title: Option<String>,
        /// Require a playback token to play it
        #[arg(long)]
        private: bool,
        /// Wait until it is ready or failed
        #[arg(long)]
        wait: bool,
    },
    /// Show one media
    Show {
        /// Its id
        id: String,
    },
    /// List the media of a workspace, newest first
    List {
        /// The workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// Page number, from 1
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
    },
    /// Wait until a media is ready; the exit code is 1 if it failed
    Wait {
        /// Its id
        id: String,
        /// Timeout in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
        timeout: u64,
    },
    /// Delete a media; this cannot be undone
    Delete {
        /// Its id
        id: String,
    },
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Result<(), CommandError> {
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    match command {
        Command::Create { workspace, url, title, private, wait } => {
            let workspace = workspace::find(&store, &workspace).await?;
            let policy = if private { AccessPolicy::Private } else { AccessPolicy::Public };
            let mut media = create(&store, &workspace, &url, title, policy).await?;
            if wait {
                media = wait_until_settled(&store, media.id, None).await?;
            }
            show::show(context, &media);
            check_ready(&media)
        }
        Command::Show { id } => {
            let media = find(&store, &id).await?;
            show::show(context, &media);
            Ok(())
        }
        Command::List { workspace, page } => list(context, &store, &workspace, page).await,
        Command::Wait { id, timeout } => {
            let media = find(&store, &id).await?;
            let media = wait_until_settled(&store, media.id, Some(Duration::from_secs(timeout))).await?;
            show::show(context, &media);
            check_ready(&media)
        }
        Command::Delete { id } => {
            let media = find(&store, &id).await?;
            let caller = Caller::command_line(media.workspace);
            match backends::service(&store).delete_media(&caller, media.id, |_| true).await {
                // Another client deleted it meanwhile.
                Ok(()) | Err(Error::MediaNotFound) => {}
                Err(error) => return Err(error.into()),
            }
            let json = json!({"id": media.id.to_string(), "deleted": true});
            context.print(&json, &format!("deleted media {}", media.id));
            Ok(())
        }
    }
}

/// Creates a media and queues its download, as `POST /on-demand` does: row, event and job in one commit.
pub(super) async fn create(
    store: &Store,
    workspace: &Workspace,
    url: &str,
    title: Option<String>,
    policy: AccessPolicy,
) -> Result<Media, CommandError> {
    let settings = MediaSettings { title, ..MediaSettings::default() };
    let new = NewMedia {
        workspace: workspace.id,
        settings,
        url: url.to_owned(),
        clip_of: None,
        policy,
        restrictions: kinora_domain::AccessRestrictions::default(),
        encryption: kinora_domain::Encryption::None,
        tracks: Vec::new(),
    };
    let caller = Caller::command_line(workspace.id);
    Ok(backends::service(store).create_media(&caller, new, CommitOnly).await?.media)
}

async fn find(store: &Store, id: &str) -> Result<Media, CommandError> {
    let id: MediaId =
        id.parse().map_err(|problem| CommandError::new(format!("the id of a media {problem}")))?;
    store.media_by_id(id).await?.ok_or_else(|| CommandError::new(format!("there is no media {id}")))
}

/// Polls a media until it is ready or failed.
pub(super) async fn wait_until_settled(
    store: &Store,
    id: MediaId,
    timeout: Option<Duration>,
) -> Result<Media, CommandError> {
    let spinner = Spinner::start("waiting for the server to start");
    let watch = async {
        loop {
            let media = store.media_by_id(id).await?;
            let media = media.ok_or_else(|| CommandError::new(format!("media {id} was deleted")))?;
            match &media.state {
                MediaState::Ready { .. } | MediaState::Failed { .. } => return Ok(media),
                MediaState::Created => {}
                MediaState::Downloading { .. } => spinner.set_message("reading the source"),
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    match timeout {
        None => watch.await,
        Some(limit) => tokio::time::timeout(limit, watch).await.unwrap_or_else(|_| {
            let waited = limit.as_secs();
            Err(CommandError::new(format!(
                "media {id} is not ready after {waited} s; is kinora serve running on the same data?"
            )))
        }),
    }
}

pub(super) fn check_ready(media: &Media) -> Result<(), CommandError> {
    match &media.state {
        MediaState::Failed { failure, .. } => Err(CommandError::new(format!(
            "media {} failed: {} ({})",
            media.id,
            failure.message,
            failure.code.as_str()
        ))),
        _ => Ok(()),
    }
}

async fn list(context: &CommandContext, store: &Store, name: &str, page: u32) -> Result<(), CommandError> {
    let workspace = workspace::find(store, name).await?;
    let found =
        store.media_page(workspace.id, Page { limit: PAGE, number: page, newest_first: true }).await?;
    let rows: Vec<_> = found
        .items
        .iter()
        .map(|media| {
            let title = media.settings.title.clone().unwrap_or_default();
            vec![media.id.to_string(), media.state.name().to_owned(), media.created_at.to_string(), title]
        })
        .collect();
    let text =
        format!("{}\n{} media in all", table(&["ID", "STATUS", "CREATED", "TITLE"], &rows), found.total);
    let json = json!({
        "media": found.items.iter().map(|media| show::view(context, media)).collect::<Vec<_>>(),
        "total": found.total,
        "page": page,
    });
    context.print(&json, &text);
    Ok(())
}

/// The page that plays a media.
pub(super) fn player_url(context: &CommandContext, playback: kinora_domain::PlaybackId) -> String {
    format!("{}/embed/{playback}", context.settings.public_url)
}
