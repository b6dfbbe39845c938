//! `kinora upload`: makes a media of a local file.
//!
//! Like every command it uses the database and the objects directly. So a file is stored as fast as the disk
//! writes, and without any server. A client without access to them sends the file to the URL of an upload
//! (`docs/uploads.md`).

mod resume;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use kinora_domain::{AccessPolicy, CorsOrigin, MediaId, MediaSettings, NewUpload, Upload};
use kinora_intake::{Append, Intake, IntakeError, IntakeOptions, ScanLimits, StallLimit, UploadProgress};
use kinora_service::{Caller, CommitOnly};
use kinora_store::{Opener, Store, WorkerId};
use serde_json::json;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::media::{check_ready, show, wait_until_settled};
use super::print::print_notice;
use super::progress::TransferBar;
use super::{CommandContext, CommandError, workspace};
use crate::backends;
use crate::system::{SystemClock, SystemRandom};
use resume::ResumeState;

/// Bytes of one read of the file.
const READ_BYTES: usize = 256 << 10;
/// Retries while another process receives the upload, or a component does not respond; a pause before each.
const RETRIES_MAX: u32 = 30;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The video or audio file
    file: PathBuf,
    /// The workspace
    #[arg(long, value_name = "NAME")]
    workspace: String,
    /// Title for people [default: the name of the file]
    #[arg(long)]
    title: Option<String>,
    /// Require a playback token to play it
    #[arg(long)]
    private: bool,
    /// Wait until it is ready or failed
    #[arg(long)]
    wait: bool,
}

pub(super) async fn run(context: &CommandContext, arguments: Arguments) -> Result<(), CommandError> {
    let source = SourceFile::open(&arguments.file).await?;
    let store = backends::open_store(&context.settings, Opener::Command).await?;
    let workspace = workspace::find(&store, &arguments.workspace).await?;
    let intake = Intake::new(IntakeOptions {
        store: store.clone(),
        blob: backends::open_blob(&context.settings).await?,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        worker: WorkerId::new(&SystemRandom),
        public_url: context.settings.public_url.as_str().into(),
        stall_limit: StallLimit::default(),
        scan_limits: ScanLimits::new(std::env::temp_dir().into()),
    });
    let resume_state = ResumeState::of(workspace.id, &source);
    let id = match resume_state.load(&store).await? {
        Some(id) => id,
        None => register(&store, workspace.id, &arguments, &source).await?,
    };
    resume_state.save(id);
    let sent = tokio::select! {
        sent = send(&intake, id, &source) => sent,
        _ = tokio::signal::ctrl_c() => {
            Err(CommandError::new("stopped; run the same command again to resume"))
        }
    };
    match &sent {
        Err(_) if !is_over(&store, id).await => {}
        _ => resume_state.delete(),
    }
    sent?;
    if !arguments.wait {
        let how = format!("kinora media wait {id}");
        let json = json!({"id": id.to_string(), "status": "completed"});
        context.print(&json, &format!("media {id}: the file is uploaded; wait until it plays with {how}"));
        return Ok(());
    }
    let media = wait_until_settled(&store, id, None).await?;
    show::show(context, &media);
    check_ready(&media)
}

/// A file to send.
struct SourceFile {
    path: PathBuf,
    len: u64,
    modified: io::Result<std::time::SystemTime>,
}

impl SourceFile {
    async fn open(path: &std::path::Path) -> Result<Self, CommandError> {
        let unreadable =
            |error: io::Error| CommandError::with_cause(format!("cannot read {}", path.display()), error);
        let path = tokio::fs::canonicalize(path).await.map_err(unreadable)?;
        let metadata = tokio::fs::metadata(&path).await.map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(CommandError::new(format!("{} is not a file", path.display())));
        }
        if metadata.len() == 0 {
            return Err(CommandError::new(format!("{} is empty", path.display())));
        }
        Ok(Self { len: metadata.len(), modified: metadata.modified(), path })
    }

    /// Its bytes from `start` on; the bar counts them.
    async fn bytes(
        &self,
        start: u64,
        bar: &TransferBar,
    ) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
        let mut file = File::open(&self.path).await?;
        file.seek(io::SeekFrom::Start(start)).await?;
        let bar = bar.clone();
        let bytes = ReaderStream::with_capacity(file.take(self.len - start), READ_BYTES);
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
    source: &SourceFile,
) -> Result<MediaId, CommandError> {
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
    let upload = backends::service(store).create_upload(&caller, new, CommitOnly).await?;
    Ok(upload.id)
}

/// Sends the bytes that are not stored yet.
async fn send(intake: &Intake, id: MediaId, source: &SourceFile) -> Result<UploadProgress, CommandError> {
    let bar = TransferBar::start(source.len);
    let mut retries = 0;
    loop {
        match send_rest(intake, id, source, &bar).await {
            Ok(progress) => return Ok(progress),
            Err(error) if retries < RETRIES_MAX && is_retryable(&error) => {
                retries += 1;
                bar.set_message(&format!("{error}; retrying"));
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(explain(error, source)),
        }
    }
}

async fn send_rest(
    intake: &Intake,
    id: MediaId,
    source: &SourceFile,
    bar: &TransferBar,
) -> Result<UploadProgress, IntakeError> {
    let progress = intake.progress(id).await?;
    if progress.is_complete() {
        return Ok(progress);
    }
    if progress.upload.is_settled() {
        return Err(IntakeError::Ended(Box::new(progress.upload)));
    }
    bar.resume_from(progress.offset);
    if progress.offset > 0 {
        print_notice(&format!("resuming: {} of {} bytes are stored", progress.offset, source.len));
    }
    let start = progress.offset.min(source.len);
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

/// Whether a retry may succeed.
fn is_retryable(error: &IntakeError) -> bool {
    matches!(error, IntakeError::Busy | IntakeError::Unavailable(_) | IntakeError::Interrupted { .. })
}

fn explain(error: IntakeError, source: &SourceFile) -> CommandError {
    let file = source.path.display();
    match error {
        IntakeError::Rejected(failure) => CommandError::new(format!(
            "{file} cannot become a media: {} ({})",
            failure.message,
            failure.code.as_str()
        )),
        IntakeError::DiskFull { .. } => CommandError::new(format!(
            "the disk is full; the bytes of {file} sent so far are stored; free disk space and run the same command again"
        )),
        IntakeError::Incomplete { .. } => CommandError::new(format!(
            "{file} became shorter while it was read; upload it once it is complete"
        )),
        other => CommandError::with_cause(
            format!("{file} could not be uploaded; run the same command again"),
            other,
        ),
    }
}

/// Whether an upload has ended, so that it cannot be resumed.
async fn is_over(store: &Store, id: MediaId) -> bool {
    match store.upload_by_id(id).await {
        Ok(Some(upload)) => upload.is_settled(),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// Prints that an interrupted upload could not be resumed.
fn warn_not_resumable(path: &std::path::Path, error: &io::Error) {
    print_notice(&format!(
        "an interrupted upload could not be resumed: cannot write {}: {error}",
        path.display()
    ));
}
