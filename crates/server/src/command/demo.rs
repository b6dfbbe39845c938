//! `kinora demo`: something to look at, and how to go on.

use std::io::IsTerminal as _;
use std::time::Duration;

use kinora_blob::ObjectKey;
use kinora_domain::{AccessPolicy, Media, MediaState, Permission, Workspace};
use kinora_store::{Opener, Page, ServeLock, Store};
use serde_json::json;

use super::print::note;
use super::progress::Progress;
use super::serve::find_engine;
use super::{Problem, Session, media, token, workspace};
use crate::place;

/// The workspace that demonstration data lives in.
const WORKSPACE: &str = "Demo";
const TITLE: &str = "Kinora demonstration clip";
const CLIP_SECONDS: u32 = 20;
/// A running server begins within half a second; reading the clip takes less than one.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Makes a clip, takes it in through the real pipeline, and prints where it plays. Later runs print the
/// addresses only.
pub(super) async fn run(session: &Session) -> Result<(), Problem> {
    let data_dir = &session.settings.data_dir;
    // A database of several processes is held by none of them alone.
    if session.settings.database_url.is_none() && ServeLock::acquire(data_dir).is_ok() {
        let start = format!("kinora serve --data-dir {}", data_dir.display());
        return Err(Problem::new(format!(
            "no server runs on {}; start one with {start}",
            data_dir.display()
        )));
    }
    let store = place::open_store(&session.settings, Opener::Command).await?;
    make_clip(session).await?;
    let workspace = workspace::find_or_create(&store, WORKSPACE).await?;
    let url = session.settings.demo_url();
    let existing = find_media(&store, &workspace, &url).await?;
    let is_first = existing.is_none();
    let media = match existing {
        Some(media) => media,
        None => media::create(&store, &workspace, &url, Some(TITLE.to_owned()), AccessPolicy::Public).await?,
    };
    let media = media::wait_until_settled(&store, media.id, Some(READY_WITHIN)).await?;
    if let MediaState::Failed { failure, .. } = &media.state {
        return Err(Problem::new(format!("the demonstration clip failed: {}", failure.message)));
    }
    print(session, &store, &workspace, &media, is_first).await
}

/// Puts the clip into the store, unless it is there.
async fn make_clip(session: &Session) -> Result<(), Problem> {
    let blob = place::open_blob(&session.settings).await?;
    if blob.reader(ObjectKey::DemoClip).await?.is_some() {
        return Ok(());
    }
    let engine = find_engine(&session.settings).await?;
    let progress = Progress::start("ffmpeg makes a clip of 20 seconds");
    let clip = engine
        .demo_clip(CLIP_SECONDS)
        .await
        .map_err(|error| Problem::with_cause("ffmpeg cannot make the demonstration clip", error))?;
    drop(progress);
    blob.put_once(ObjectKey::DemoClip, clip).await?;
    Ok(())
}

/// The media an earlier run made, if it plays or will. One that failed is made anew.
async fn find_media(store: &Store, workspace: &Workspace, url: &str) -> Result<Option<Media>, Problem> {
    let page = store.media_page(workspace.id, Page { limit: 50, number: 1, newest_first: false }).await?;
    Ok(page.items.into_iter().find(|media| {
        let is_usable = !matches!(media.state, MediaState::Failed { .. });
        is_usable && media.inputs.iter().any(|input| input.url == url)
    }))
}

async fn print(
    session: &Session,
    store: &Store,
    workspace: &Workspace,
    media: &Media,
    is_first: bool,
) -> Result<(), Problem> {
    let settings = &session.settings;
    let playback =
        media.playback.first().ok_or_else(|| Problem::new("the demonstration clip has no playback ID"))?;
    let player = media::player_url(session, playback.id);
    let manifest = format!("{}/{}.m3u8", settings.stream_url, playback.id);
    let mut json = json!({"id": media.id.to_string(), "player": player, "manifest": manifest});
    if !is_first {
        let more = format!("kinora token create --workspace {WORKSPACE} --permission read-write");
        session.print(
            &json,
            &format!("Player    {player}\nManifest  {manifest}\n\nA token for the API: {more}"),
        );
        return Ok(());
    }
    // A secret goes to whoever asked for it: a person at a terminal, or a script that said --json. Never into
    // a log.
    let credentials = if session.is_json || std::io::stdout().is_terminal() {
        let (token, secret) = token::create(store, workspace, Permission::ReadWrite).await?;
        json["token"] = json!({"id": token.id.to_string(), "secret": secret.reveal()});
        format!("{}:{}", token.id, secret.reveal())
    } else {
        note(&format!(
            "the output is no terminal, so no secret is printed; make a token with\n  \
             kinora token create --workspace {WORKSPACE} --permission read-write{}\nand set KINORA_TOKEN to ID:SECRET",
            match &settings.database_url {
                None => format!(" --data-dir {}", settings.data_dir.display()),
                Some(_) => String::new(),
            }
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
    session.print(&json, &text);
    Ok(())
}
