//! `kinora media`

pub(super) mod show;

use std::time::Duration;

use clap::Subcommand;
use kinora_domain::{AccessPolicy, Media, MediaId, MediaSettings, MediaState, NewMedia, Workspace};
use kinora_service::{Caller, Error, Plain};
use kinora_store::{Opener, Page, Store};
use serde_json::json;

use super::print::table;
use super::progress::Progress;
use super::{Problem, Session, workspace};
use crate::place;

/// How often a media is looked at while it is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Media a page of `list`.
const PAGE: u32 = 50;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a media from an address
    Create {
        /// The workspace
        #[arg(long, value_name = "NAME")]
        workspace: String,
        /// Address of the video or audio
        #[arg(long, value_name = "URL")]
        url: String,
        /// Shown to people
        #[arg(long)]
        title: Option<String>,
        /// Play it only with a playback token
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
    /// Wait until a media is ready; exit code 1 when it failed
    Wait {
        /// Its id
        id: String,
        /// Give up after so many seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
        timeout: u64,
    },
    /// Delete a media; it cannot be taken back
    Delete {
        /// Its id
        id: String,
    },
}

pub(super) async fn run(session: &Session, command: Command) -> Result<(), Problem> {
    let store = place::open_store(&session.settings, Opener::Command).await?;
    match command {
        Command::Create { workspace, url, title, private, wait } => {
            let workspace = workspace::find(&store, &workspace).await?;
            let policy = if private { AccessPolicy::Private } else { AccessPolicy::Public };
            let mut media = create(&store, &workspace, &url, title, policy).await?;
            if wait {
                media = wait_until_settled(&store, media.id, None).await?;
            }
            show::show(session, &media);
            settled_well(&media)
        }
        Command::Show { id } => {
            let media = find(&store, &id).await?;
            show::show(session, &media);
            Ok(())
        }
        Command::List { workspace, page } => list(session, &store, &workspace, page).await,
        Command::Wait { id, timeout } => {
            let media = find(&store, &id).await?;
            let media = wait_until_settled(&store, media.id, Some(Duration::from_secs(timeout))).await?;
            show::show(session, &media);
            settled_well(&media)
        }
        Command::Delete { id } => {
            let media = find(&store, &id).await?;
            let caller = Caller::command_line(media.workspace);
            match place::service(&store).delete_media(&caller, media.id, |_| true).await {
                // Somebody else deleted it meanwhile.
                Ok(()) | Err(Error::MediaNotFound) => {}
                Err(error) => return Err(error.into()),
            }
            let json = json!({"id": media.id.to_string(), "deleted": true});
            session.print(&json, &format!("media {} is deleted", media.id));
            Ok(())
        }
    }
}

/// Registers a media to be fetched, as `POST /on-demand` does: row, event and job in one commit.
pub(super) async fn create(
    store: &Store,
    workspace: &Workspace,
    url: &str,
    title: Option<String>,
    policy: AccessPolicy,
) -> Result<Media, Problem> {
    let settings = MediaSettings { title, ..MediaSettings::default() };
    let new = NewMedia {
        workspace: workspace.id,
        settings,
        url: url.to_owned(),
        policy,
        restrictions: kinora_domain::AccessRestrictions::default(),
        encryption: kinora_domain::Encryption::None,
        tracks: Vec::new(),
    };
    let caller = Caller::command_line(workspace.id);
    Ok(place::service(store).create_media(&caller, new, Plain).await?)
}

async fn find(store: &Store, id: &str) -> Result<Media, Problem> {
    let id: MediaId = id.parse().map_err(|problem| Problem::new(format!("the id of a media {problem}")))?;
    store.media_by_id(id).await?.ok_or_else(|| Problem::new(format!("there is no media {id}")))
}

/// Looks at a media until it is ready or failed.
pub(super) async fn wait_until_settled(
    store: &Store,
    id: MediaId,
    timeout: Option<Duration>,
) -> Result<Media, Problem> {
    let progress = Progress::start("waiting for the server to begin");
    let watch = async {
        loop {
            let media = store.media_by_id(id).await?;
            let media = media.ok_or_else(|| Problem::new(format!("media {id} was deleted")))?;
            match &media.state {
                MediaState::Ready { .. } | MediaState::Failed { .. } => return Ok(media),
                MediaState::Created => {}
                MediaState::Downloading { .. } => progress.say("the source is being read"),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    match timeout {
        None => watch.await,
        Some(limit) => tokio::time::timeout(limit, watch).await.unwrap_or_else(|_| {
            let waited = limit.as_secs();
            Err(Problem::new(format!(
                "media {id} is not ready after {waited} s; is kinora serve running on the same data?"
            )))
        }),
    }
}

pub(super) fn settled_well(media: &Media) -> Result<(), Problem> {
    match &media.state {
        MediaState::Failed { failure, .. } => Err(Problem::new(format!(
            "media {} failed: {} ({})",
            media.id,
            failure.message,
            failure.code.as_str()
        ))),
        _ => Ok(()),
    }
}

async fn list(session: &Session, store: &Store, name: &str, page: u32) -> Result<(), Problem> {
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
        "media": found.items.iter().map(|media| show::view(session, media)).collect::<Vec<_>>(),
        "total": found.total,
        "page": page,
    });
    session.print(&json, &text);
    Ok(())
}

/// The page that plays a media.
pub(super) fn player_url(session: &Session, playback: kinora_domain::PlaybackId) -> String {
    format!("{}/embed/{playback}", session.settings.public_url)
}
