//! `kinora upload`: a file of this machine becomes a media.
//!
//! As every command it works on database and objects itself, so a file is kept as fast as the disk writes,
//! and with no server at all. Whoever has only an address sends the file there with any client
//! (`docs/uploads.md`).

mod memory;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use kinora_domain::{AccessPolicy, CorsOrigin, MediaId, MediaSettings, NewUpload, Upload};
use kinora_intake::{Append, Intake, IntakeError, IntakeOptions, PaceMin, ScanTurns, Standing};
use kinora_service::{Caller, Plain};
use kinora_store::{Opener, Store, WorkerId};
use serde_json::json;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::media::{settled_well, show, wait_until_settled};
use super::print::note;
use super::progress::Transfer;
use super::{Problem, Session, workspace};
use crate::place;
use crate::system::{SystemClock, SystemRandom};
use memory::Memory;

/// Bytes of one read of the file.
const READ: usize = 256 << 10;
/// How often it is tried again while another process holds the upload, or a part does not answer; a pause
/// each.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The video or audio file
    file: PathBuf,
    /// The workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// Shown to people [default: the name of the file]
    #[arg(long)]
    title: Option<String>,
    /// Play it only with a playback token
    #[arg(long)]
    private: bool,
    /// Wait until it is ready or failed
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(session: &Session, arguments: Arguments) -> Result<(), Problem> {
    let source = Source::open(&arguments.file).await?;
    let store = place::open_store(&session.settings, Opener::Command).await?;
    let workspace = workspace::find(&store, &arguments.workspace).await?;
    let intake = Intake::new(IntakeOptions {
        store: store.clone(),
        blob: place::open_blob(&session.settings).await?,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        worker: WorkerId::new(&SystemRandom),
        public_url: session.settings.public_url.as_str().into(),
        pace_min: PaceMin::default(),
        scans: ScanTurns::new(std::env::temp_dir().into()),
    });
    let memory = Memory::of(workspace.id, &source);
    let id = match memory.recall(&store).await? {
        Some(id) => id,
        None => register(&store, workspace.id, &arguments, &source).await?,
    };
    memory.remember(id);
    let sent = tokio::select! {
        sent = send(&intake, id, &source) => sent,
        _ = tokio::signal::ctrl_c() => {
            Err(Problem::new("stopped; type the same command again to go on where it was"))
        }
    };
    match &sent {
        Err(_) if !is_over(&store, id).await => {}
        _ => memory.forget(),
    }
    sent?;
    if !arguments.wait {
        let how = format!("kinora media wait {id}");
        let json = json!({"id": id.to_string(), "status": "completed"});
        session.print(&json, &format!("media {id}: the file is here; wait until it plays with {how}"));
        return Ok(());
    }
    let media = wait_until_settled(&store, id, None).await?;
    show::show(session, &media);
    settled_well(&media)
}

/// A file that is about to be sent.
struct Source {
    path: PathBuf,
    len: u64,
    modified: io::Result<std::time::SystemTime>,
}

impl Source {
    async fn open(path: &std::path::Path) -> Result<Self, Problem> {
        let unreadable =
            |error: io::Error| Problem::with_cause(format!("cannot read {}", path.display()), error);
        let path = tokio::fs::canonicalize(path).await.map_err(unreadable)?;
        let facts = tokio::fs::metadata(&path).await.map_err(unreadable)?;
        if !facts.is_file() {
            return Err(Problem::new(format!("{} is no file", path.display())));
        }
        if facts.len() == 0 {
            return Err(Problem::new(format!("{} is empty", path.display())));
        }
        Ok(Self { len: facts.len(), modified: facts.modified(), path })
    }

    /// Its bytes from there on, told to the bar as they go.
    async fn bytes(&self, start: u64, bar: &Transfer) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
        let mut file = File::open(&self.path).await?;
        file.seek(io::SeekFrom::Start(start)).await?;
        let bar = bar.clone();
        let bytes = ReaderStream::with_capacity(file.take(self.len - start), READ);
        Ok(bytes.inspect_ok(move |bytes| bar.advance(bytes.len() as u64)).boxed())
    }

    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.chars().take(MediaSettings::TEXT_MAX).collect()
    }
}

/// Registers an upload, as `POST /on-demand/upload` does.
async fn register(
    store: &Store,
    workspace: kinora_domain::WorkspaceId,
    arguments: &Arguments,
    source: &Source,
) -> Result<MediaId, Problem> {
    let title = arguments.title.clone().unwrap_or_else(|| source.name());
    let new = NewUpload {
        workspace,
        settings: MediaSettings { title: Some(title), ..MediaSettings::default() },
        tracks: Vec::new(),
        policy: if arguments.private { AccessPolicy::Private } else { AccessPolicy::Public },
        restrictions: kinora_domain::AccessRestrictions::default(),
        encryption: kinora_domain::Encryption::None,
        origin: CorsOrigin::Any,
        timeout_s: Upload::LIFE_MAX_S,
        size_max: None,
    };
    let caller = Caller::command_line(workspace);
    let upload = place::service(store).create_upload(&caller, new, Plain).await?;
    Ok(upload.id)
}

/// Sends what is not kept yet.
async fn send(intake: &Intake, id: MediaId, source: &Source) -> Result<Standing, Problem> {
    let bar = Transfer::start(source.len);
    let mut tries = 0;
    loop {
        match send_rest(intake, id, source, &bar).await {
            Ok(standing) => return Ok(standing),
            Err(error) if tries < TRIES && may_end_well(&error) => {
                tries += 1;
                bar.say(&format!("{error}; trying again"));
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(explain(error, source)),
        }
    }
}

async fn send_rest(
    intake: &Intake,
    id: MediaId,
    source: &Source,
    bar: &Transfer,
) -> Result<Standing, IntakeError> {
    let standing = intake.standing(id).await?;
    if standing.is_complete() {
        return Ok(standing);
    }
    if standing.upload.is_settled() {
        return Err(IntakeError::Ended(Box::new(standing.upload)));
    }
    bar.stand_at(standing.offset);
    if standing.offset > 0 {
        note(&format!("going on: {} of {} bytes are here", standing.offset, source.len));
    }
    let start = standing.offset.min(source.len);
    let body = source.bytes(start, bar).await.map_err(|error| IntakeError::Internal(Box::new(error)))?;
    let append = Append {
        start,
        may_overlap: false,
        length: Some(source.len),
        is_last: true,
        body_len: Some(source.len - start),
        checksum: None,
        body,
    };
    intake.receive(id, append).await
}

/// Whether the same may succeed in a moment.
fn may_end_well(error: &IntakeError) -> bool {
    matches!(error, IntakeError::Busy | IntakeError::Away(_) | IntakeError::Interrupted { .. })
}

fn explain(error: IntakeError, source: &Source) -> Problem {
    let file = source.path.display();
    match error {
        IntakeError::Hopeless(failure) => Problem::new(format!(
            "{file} cannot become a media: {} ({})",
            failure.message,
            failure.code.as_str()
        )),
        IntakeError::Full { .. } => Problem::new(format!(
            "the disk is full; what was sent of {file} is kept: make room and type the same command again"
        )),
        IntakeError::Broken { .. } => {
            Problem::new(format!("{file} became shorter while it was read; upload it once it is whole"))
        }
        other => {
            Problem::with_cause(format!("{file} could not be uploaded; type the same command again"), other)
        }
    }
}

/// Whether an upload has ended, so that nobody goes on with it.
async fn is_over(store: &Store, id: MediaId) -> bool {
    match store.upload_by_id(id).await {
        Ok(Some(upload)) => upload.is_settled(),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// Says once that nothing can be remembered.
fn note_forgetful(path: &std::path::Path, error: &io::Error) {
    note(&format!("an interrupted upload could not be resumed: cannot write {}: {error}", path.display()));
}
