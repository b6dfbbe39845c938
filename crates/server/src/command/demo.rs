//! `kinora demo`: a clip to play, and the next steps.

use std::time::Duration;

use clap::Args;
use kinora_blob::ObjectKey;
use kinora_domain::{AccessPolicy, Email, Media, MediaState, Permission, Workspace};
use kinora_store::{Opener, Page, ServeLock, Store};
use serde_json::{Value, json};

use super::print::print_notice;
use super::progress::Spinner;
use super::serve::find_engine;
use super::{CommandContext, CommandError, media, token, user, workspace};
use crate::backends;

/// The workspace of the demonstration data.
const WORKSPACE: &str = "Demo";
const TITLE: &str = "Kinora demonstration clip";
const CLIP_SECONDS: u32 = 20;
/// A running server takes the job within half a second; reading the clip takes less than one.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Email address of the first administrator, used if there is none yet
    #[arg(long, value_name = "EMAIL", default_value = "admin@kinora.local")]
    email: String,
}

/// Makes a clip, ingests it through the real pipeline, and prints its player address. Later runs print only
/// the addresses. Ends with a setup link while no administrator can sign in.
pub(super) async fn run(context: &CommandContext, arguments: Arguments) -> Result<(), CommandError> {
    let email = user::parse_email(&arguments.email)?;
    let data_dir = &context.settings.data_dir;
    // A database of several processes has no exclusive lock.
    if context.settings.database_url.is_none() && ServeLock::acquire(data_dir).is_ok() {
        let start = format!("kinora serve --data-dir {}", data_dir.display());
        return Err(CommandError::new(format!(
            "no server runs on {}; start one with {start}",
            data_dir.display()
        )));
    }
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    make_clip(context).await?;
    let workspace = workspace::find_or_create(&store, WORKSPACE).await?;
    let url = context.settings.demo_url();
    let existing = find_media(&store, &workspace, &url).await?;
    let is_first = existing.is_none();
    let media = match existing {
        Some(media) => media,
        None => media::create(&store, &workspace, &url, Some(TITLE.to_owned()), AccessPolicy::Public).await?,
    };
    let media = media::wait_until_settled(&store, media.id, Some(READY_TIMEOUT)).await?;
    if let MediaState::Failed { failure, .. } = &media.state {
        return Err(CommandError::new(format!("the demo clip failed: {}", failure.message)));
    }
    let (mut json, mut text) = output(context, &store, &workspace, &media, is_first).await?;
    if let Some(dashboard) = dashboard(context, &store, email).await? {
        text += &format!(
            "\n\nDashboard, for {}: choose a password within 24 hours\n  {}",
            dashboard.email, dashboard.url
        );
        json["dashboard"] = json!({"email": dashboard.email, "url": dashboard.url});
    }
    context.print(&json, &text);
    Ok(())
}

/// Stores the clip, unless it is in the store already.
async fn make_clip(context: &CommandContext) -> Result<(), CommandError> {
    let blob = backends::open_blob(&context.settings).await?;
    if blob.reader(ObjectKey::DemoClip).await?.is_some() {
        return Ok(());
    }
    let engine = find_engine(&context.settings).await?;
    let spinner = Spinner::start("ffmpeg creates a clip of 20 seconds");
    let clip = engine
        .demo_clip(CLIP_SECONDS)
        .await
        .map_err(|error| CommandError::with_cause("ffmpeg cannot create the demo clip", error))?;
    drop(spinner);
    blob.put_once(ObjectKey::DemoClip, clip).await?;
    Ok(())
}

/// The media of an earlier run, if it plays or will. `None` for one that failed: another one is made.
async fn find_media(store: &Store, workspace: &Workspace, url: &str) -> Result<Option<Media>, CommandError> {
    let page = store.media_page(workspace.id, Page { limit: 50, number: 1, newest_first: false }).await?;
    Ok(page.items.into_iter().find(|media| {
        let is_usable = !matches!(media.state, MediaState::Failed { .. });
        is_usable && media.inputs.iter().any(|input| input.url == url)
    }))
}

/// The way into the dashboard for the first administrator.
struct Dashboard {
    email: String,
    /// The setup link, with its secret.
    url: String,
}

/// A setup link, while no administrator can sign in. Where secrets are not printed: a note with the command
/// that makes one.
async fn dashboard(
    context: &CommandContext,
    store: &Store,
    email: Email,
) -> Result<Option<Dashboard>, CommandError> {
    if store.can_administrator_sign_in().await? {
        return Ok(None);
    }
    let made = match context.shows_secrets() {
        true => user::first_administrator(store, email).await?,
        false => None,
    };
    let Some((member, made)) = made else {
        print_notice(&format!(
            "no administrator can sign in to the dashboard; create one in a terminal with\n  kinora user create \
                --email you@example.com --role administrator{}",
            context.data_option()
        ));
        return Ok(None);
    };
    let url = made.link.kind.url(&context.settings.public_url, &made.secret);
    Ok(Some(Dashboard { email: member.person.email.to_string(), url }))
}

/// The addresses of the clip; for the first run also the next steps.
async fn output(
    context: &CommandContext,
    store: &Store,
    workspace: &Workspace,
    media: &Media,
    is_first: bool,
) -> Result<(Value, String), CommandError> {
    let settings = &context.settings;
    let playback =
        media.playback_ids.first().ok_or_else(|| CommandError::new("the demo clip has no playback ID"))?;
    let player = media::player_url(context, playback.id);
    let manifest = format!("{}/{}.m3u8", settings.stream_url, playback.id);
    let mut json = json!({"id": media.id.to_string(), "player": player, "manifest": manifest});
    if !is_first {
        let more = format!("kinora token create --workspace {WORKSPACE} --permission read-write");
        let text = format!("Player    {player}\nManifest  {manifest}\n\nA token for the API: {more}");
        return Ok((json, text));
    }
    // A secret is printed only on request: to a person at a terminal, or a script with --json. Never into a
    // log.
    let credentials = if context.shows_secrets() {
        let made = token::create(store, workspace, "kinora demo", Permission::ReadWrite).await?;
        let (token, secret) = (made.token, made.secret);
        json["token"] = json!({"id": token.id.to_string(), "secret": secret.reveal()});
        format!("{}:{}", token.id, secret.reveal())
    } else {
        print_notice(&format!(
            "the output is not a terminal, so no secret is printed; create a token with\n  kinora token \
                create --workspace {WORKSPACE} --permission read-write{}\nand set KINORA_TOKEN to ID:SECRET",
            context.data_option()
        ));
        "\"$KINORA_TOKEN\"".to_owned()
    };
    let text = format!(
        "Player    {player}\n\nCreate a media:\n  curl -u {credentials} {public}/v1/on-demand \\\n    \
         -H 'Content-Type: application/json' \\\n    -d '{{\"inputs\":[{{\"type\":\"video\",\"url\":\"{clip}\"}}]}}'\n\n\
         Read it:\n  curl -u {credentials} {public}/v1/on-demand/{id}",
        public = settings.public_url,
        clip = settings.demo_url(),
        id = media.id,
    );
    Ok((json, text))
}
