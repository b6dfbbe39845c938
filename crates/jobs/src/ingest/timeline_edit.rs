//! Edits the timeline of a media before it is ready: plays a range of its file, removes ranges, inserts
//! other files (C-194 to C-197), and draws a watermark over it.
//!
//! The result is an index that refers to the bytes of these files; none of them is written again. The index,
//! and what is derived from it, are stored under a source ID of their own. The files stay as they are: the
//! media uses them until it is deleted, and other media may use them too.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{
    BaseRange, EditRejected, Failure, FailureCode, FileRole, Media, MediaId, PresentationId, SourceId,
    TimelineEdit, TimelinePart, error_chain,
};
use kinora_index::{Index, JoinError, Overlay, SourcePart};
use kinora_intake::{ReadyMedia, RequiredEncodes, facts_of_index};
use kinora_packager::Packaged;
use kinora_store::{JobKind, NewJob};

use super::audio_edit::{edit_audio, reject_overlapping_samples, with_field_name};
use super::first_segments;
use super::sink::{Owner, SourceSink};
use super::watermark::{draw, image_source, store_image};
use crate::Context;
use crate::claim::Claim;
use crate::error::JobError;
use crate::lost_lease;

/// The file that is edited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditBase {
    /// Its index, and what the index refers to, are stored under this ID.
    pub(crate) source: SourceId,
    /// The source with its original bytes.
    pub(crate) original: SourceId,
    /// Whether another media plays it already, so that its first segment need not be encoded to know that
    /// it decodes.
    pub(crate) is_playing: bool,
}

/// An edited media whose objects are stored: only its commit is missing.
#[derive(Debug, Clone)]
pub(crate) struct EditedMedia {
    /// The sources with its bytes.
    pub(crate) used_sources: Vec<SourceId>,
    /// The rest of its last commit.
    pub(crate) ready: ReadyMedia,
}

/// Downloads the other files, stores the edited index, and encodes the first segments that have no copy.
///
/// May run twice: each run writes under an ID of its own, which its first commit gives to the media. That
/// commit, or the last one of a clip, releases the files of an earlier run; the failure of the media
/// releases those of this one. Errors: `Fatal` with the field of the request; `LeaseLost` when the media or
/// the job is gone, after the objects of this run were queued for removal.
pub(crate) async fn edit_timeline(
    context: &Context,
    job: &Claim,
    media: &Media,
    base: EditBase,
) -> Result<EditedMedia, JobError> {
    let source = SourceId::new(context.clock.now(), &*context.random);
    let mut files = EditFiles::default();
    let edited = async {
        begin(context, job, media.id, base, source).await?;
        files.download_all(context, job, media).await?;
        let timeline = Box::pin(edited_index(context, job, media, base, source, &files)).await?;
        store(context, job, media, base, source, timeline).await
    };
    let edited = edited.await;
    if let Err(JobError::LeaseLost) = edited {
        let all = files.sources().into_iter().chain([source]);
        lost_lease::enqueue_removal(context, job, all.collect()).await?;
    }
    edited
}

/// The first commit: the media refers to the index of this run, and uses the base. Errors: `LeaseLost` when
/// the job or the media is gone, or the media is ready or failed.
async fn begin(
    context: &Context,
    job: &Claim,
    media: MediaId,
    base: EditBase,
    source: SourceId,
) -> Result<(), JobError> {
    let (job, now) = (job.cloned_job(), context.clock.now());
    let used = [base.source, base.original];
    context
        .store
        .write(async move |tx| {
            tx.lock_job(&job).await?;
            let media = tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            let (id, old_source) = (media.id, media.source().filter(|old| !used.contains(old)));
            let media = media.begin_edit(source, base.original, now)?;
            tx.save_media(&media).await?;
            // The sources of a clip's origin stay in use: its index refers to them.
            let mut all = if media.clip_of.is_some() { tx.used_sources(id).await? } else { Vec::new() };
            all.extend(&used);
            tx.set_used_sources(id, &all, job.workspace, now).await?;
            if let Some(source) = old_source {
                tx.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

/// The files of an edit besides its base.
#[derive(Debug, Default)]
struct EditFiles {
    /// A file that is used twice is downloaded once.
    source_by_url: Vec<(String, SourceId)>,
    /// The watermark, whose image is a source too.
    overlay: Option<Overlay>,
}

impl EditFiles {
    fn sources(&self) -> Vec<SourceId> {
        let files = self.source_by_url.iter().map(|(_, source)| *source);
        files.chain(self.overlay.iter().map(image_source)).collect()
    }

    fn source(&self, url: &str) -> Option<SourceId> {
        self.source_by_url.iter().find(|(fetched, _)| fetched == url).map(|(_, source)| *source)
    }

    async fn download_all(&mut self, context: &Context, job: &Claim, media: &Media) -> Result<(), JobError> {
        for (url, role) in media.settings.timeline_edit.iter().flat_map(TimelineEdit::files) {
            if self.source(url).is_none() {
                let downloaded = self.download(context, job, media.id, url).await;
                downloaded.map_err(|error| with_field_name(error, &role.field()))?;
            }
        }
        if let Some(watermark) = &media.settings.watermark {
            let overlay = Box::pin(store_image(context, job, watermark)).await?;
            self.overlay = Some(overlay);
            use_source(context, job, media.id, image_source(&overlay)).await?;
        }
        Ok(())
    }

    /// Downloads a file. The media uses it before its objects can be read, so they are deleted with the
    /// media, or by the next run.
    async fn download(
        &mut self,
        context: &Context,
        job: &Claim,
        media: MediaId,
        url: &str,
    ) -> Result<(), JobError> {
        let source = SourceId::new(context.clock.now(), &*context.random);
        let mut sink = SourceSink::begin(context, job, Owner::Unreferenced, source).await?;
        sink.download(url).await?;
        let downloaded = sink.finish().await?;
        let source = downloaded.source();
        use_source(context, job, media, source).await?;
        self.source_by_url.push((url.to_owned(), source));
        downloaded.store(context, job, |_| ()).await
    }
}

/// From this commit on the media uses a file, until it is deleted, fails, or another run begins.
///
/// Errors: `LeaseLost` when the job or the media is gone.
pub(crate) async fn use_source(
    context: &Context,
    job: &Claim,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let job = job.cloned_job();
    context
        .store
        .write(async move |tx| {
            tx.lock_job(&job).await?;
            tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            tx.add_used_source(media, source).await?;
            Ok::<_, JobError>(())
        })
        .await
}

/// The index of the edited timeline, with its audio edited too.
async fn edited_index(
    context: &Context,
    job: &Claim,
    media: &Media,
    base: EditBase,
    source: SourceId,
    files: &EditFiles,
) -> Result<EditedTimeline, JobError> {
    let packaged = context.packager.packaged(PresentationId::of(base.source)).await?;
    let duration_us = packaged.index().facts().duration_us;
    let whole = TimelineEdit::default();
    let edit = media.settings.timeline_edit.as_ref().unwrap_or(&whole);
    let timeline = edit.parts(Some(Duration::from_micros(duration_us))).map_err(edit_job_error)?;
    let mut parts = Vec::new();
    for part in timeline {
        parts.push(match part {
            TimelinePart::Base(range) => EditPart {
                source: base.source,
                packaged: Arc::clone(&packaged),
                range_us: micros(range.start)..micros(range.end),
                role: None,
            },
            TimelinePart::File { url, role } => {
                let source = files.source(url).ok_or_else(|| JobError::Retry("a file is missing".into()))?;
                let packaged = context.packager.packaged(PresentationId::of(source)).await?;
                let range_us = 0..packaged.index().facts().duration_us;
                EditPart { source, packaged, range_us, role: Some(role) }
            }
        });
    }
    if media.settings.audio_edit.is_some() {
        for part in &parts {
            reject_overlapping_samples(part.packaged.index(), &field_of(part.role))?;
        }
    }
    let overlay = files.overlay;
    let timeline = tokio::task::spawn_blocking(move || {
        let (parts, base_ranges) = shown_parts(parts)?;
        let index = match (index_of_parts(&parts)?, overlay) {
            (index, Some(overlay)) => draw(index, overlay)?,
            (index, None) => index,
        };
        Ok::<_, JobError>(EditedTimeline { index, base_ranges })
    });
    let timeline = timeline.await.map_err(|panic| JobError::Retry(Box::new(panic)))??;
    match &media.settings.audio_edit {
        None => Ok(timeline),
        Some(edit) => {
            let spilled = context.scan_limits.spill_index(timeline.index).await?;
            let (index, _) = Box::pin(edit_audio(context, job, source, spilled, edit)).await?;
            Ok(EditedTimeline { index, ..timeline })
        }
    }
}

/// An edited timeline.
struct EditedTimeline {
    index: Index,
    base_ranges: Vec<BaseRange>,
}

/// The parts without ranges of the base that show no frame, and where the others play. A file often ends with
/// some audio after its last frame, and a range may lie inside one frame.
fn shown_parts(parts: Vec<EditPart>) -> Result<(Vec<EditPart>, Vec<BaseRange>), JobError> {
    let (mut shown_parts, mut ranges, mut at) = (Vec::new(), Vec::new(), 0_u64);
    let mut last_frame_us = None;
    for part in parts {
        let clip = match Index::of_parts(&[part.source_part()], 0) {
            Err(JoinError::Outside { duration_us, .. }) if part.role.is_none() => {
                last_frame_us = Some(duration_us);
                continue;
            }
            clip => clip.map_err(|error| join_job_error(&error, std::slice::from_ref(&part)))?,
        };
        let len = clip.facts().duration_us;
        if part.role.is_none() {
            // The first frame at or after the start plays first. A base that is edited itself has other
            // parts, whose times are not its own.
            let is_file = part.packaged.index().parts.is_empty();
            let shown = clip.parts.first().filter(|_| is_file).map(|part| part.shown_us.start);
            let start = shown.unwrap_or(part.range_us.start);
            let base = Duration::from_micros(start)..Duration::from_micros(start.saturating_add(len));
            ranges.push(BaseRange { base, at: Duration::from_micros(at) });
        }
        at = at.saturating_add(len);
        shown_parts.push(part);
    }
    match last_frame_us {
        Some(duration_us) if ranges.is_empty() => {
            let seconds = Duration::from_micros(duration_us).as_secs_f64();
            let sentence = format!("startTime leaves no frame of the media, which lasts {seconds:.3} s");
            Err(failure(FailureCode::ClipOutsideMedia, sentence))
        }
        _ => Ok((shown_parts, ranges)),
    }
}

/// A part of the edited timeline, with the index of its file.
struct EditPart {
    source: SourceId,
    packaged: Arc<Packaged>,
    range_us: std::ops::Range<u64>,
    /// `None` for the base.
    role: Option<FileRole>,
}

impl EditPart {
    fn source_part(&self) -> SourcePart<'_> {
        SourcePart {
            source: *self.source.as_uuid().as_bytes(),
            index: self.packaged.index(),
            range_us: self.range_us.clone(),
        }
    }
}

fn index_of_parts(parts: &[EditPart]) -> Result<Index, JobError> {
    const { assert!(TimelineEdit::PARTS_MAX == kinora_index::PARTS_MAX) };
    let source_parts: Vec<_> = parts.iter().map(EditPart::source_part).collect();
    let base = parts.iter().position(|part| part.role.is_none()).unwrap_or(0);
    Index::of_parts(&source_parts, base).map_err(|error| join_job_error(&error, parts))
}

/// Stores the index, and encodes the first segments without a copy.
async fn store(
    context: &Context,
    job: &Claim,
    media: &Media,
    base: EditBase,
    source: SourceId,
    timeline: EditedTimeline,
) -> Result<EditedMedia, JobError> {
    let EditedTimeline { index, base_ranges } = timeline;
    let max = media.settings.max_resolution;
    let mut facts = facts_of_index(&index, max, context.clock.now(), &*context.random);
    let encoded = match base.is_playing {
        true => RequiredEncodes { video: false, audio: false, ..RequiredEncodes::of(&index, max) },
        false => RequiredEncodes::of(&index, max),
    };
    let names = index.objects.iter().filter_map(|object| object.source);
    let mut used_sources: Vec<_> = names.map(SourceId::from_bytes).collect();
    used_sources.extend(index.overlay.iter().map(image_source));
    used_sources.push(base.original);
    used_sources.sort_unstable();
    used_sources.dedup();
    let bytes = Bytes::from(index.to_bytes());
    drop(index); // its tables may be large, and what follows may take minutes
    if let Err(error) = Index::from_bytes(&bytes) {
        tracing::error!(media.id = %media.id, error = %error_chain(&error), "an edited index cannot be read");
        return Err(failure(FailureCode::Internal, "the edit has more parts than can be stored"));
    }
    context.blob.put_once(ObjectKey::Index(PresentationId::of(source)), bytes).await?;
    facts.does_not_decode =
        first_segments::encode_with_retry(context, job, source, max, encoded).await?.video;
    let ready = ReadyMedia { source, facts, base_ranges, encoded };
    Ok(EditedMedia { used_sources, ready })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn edit_job_error(rejected: EditRejected) -> JobError {
    failure(FailureCode::ClipOutsideMedia, rejected.to_string())
}

/// The field with the URL of a part.
fn field_of(role: Option<FileRole>) -> String {
    role.map_or("url".to_owned(), FileRole::field)
}

/// The failure for parts that cannot be joined, with the field of the part.
fn join_job_error(error: &JoinError, parts: &[EditPart]) -> JobError {
    let (part, code, sentence) = match error {
        JoinError::NoVideo { part } => {
            (*part, FailureCode::CodecUnsupported, "has no video; only videos can be joined".to_owned())
        }
        JoinError::Outside { part, .. } => {
            (*part, FailureCode::ClipOutsideMedia, "shows nothing in this range".to_owned())
        }
        JoinError::Empty { part } | JoinError::Timing { part } => {
            (*part, FailureCode::NotMedia, format!("cannot be joined: {error}"))
        }
        JoinError::PartPlan { part, source } => {
            (*part, FailureCode::NotMedia, format!("cannot be cut: {source}"))
        }
        JoinError::NoParts | JoinError::NoBase { .. } | JoinError::TooMany | JoinError::Plan(_) => {
            return failure(FailureCode::NotMedia, error.to_string());
        }
    };
    let field = field_of(parts.get(part).and_then(|part| part.role));
    failure(code, format!("{field} {sentence}"))
}

fn failure(code: FailureCode, sentence: impl Into<String>) -> JobError {
    JobError::Fatal(Failure::new(code, sentence))
}
