//! After the migration of an unreleased database: rebuilds the index of a ready media if its layout is no
//! longer supported, and updates the facts of the media (D-0125).

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{Failure, FailureCode, Media, MediaFacts, MediaId, PresentationId, SourceId};
use kinora_formats::Scanned;
use kinora_index::{Index, Overlay};
use kinora_intake::{ScanPermit, ScanResult, facts_of_index};
use kinora_store::{JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::delete_objects::remove_rendition;
use crate::error::JobError;
use crate::ingest::remux::{self, SourceToRemux};
use crate::ingest::watermark::{draw, stored_image_overlay};
use crate::ingest::{has_sample_bytes, rescan};

/// Bytes at the start of a stored index that contain its layout.
const HEAD_LEN: u64 = 12;

/// The facts of an index with a supported layout.
#[derive(Clone)]
struct IndexFacts {
    facts: MediaFacts,
    /// Whether this run or an interrupted one built it. Jobs that missed the index in the meantime have
    /// ended, and its renditions were deleted: the jobs are queued again.
    may_be_new: bool,
}

/// Saves the facts of the stored or the new index, and emits `video.media.updated` if they changed.
///
/// May run twice, and may stop after any step: each run reads the facts from the index. A media whose source
/// cannot be read does not change, with an error in the log.
pub(crate) async fn run(
    context: &Context,
    job: &Claim,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let found = context.store.media_by_id(media).await?;
    let indexed = match found.filter(|media| media.is_ready() && media.source() == Some(source)) {
        None => None, // deleted
        Some(found) => match load_or_rebuild(context, job, &found, source).await {
            Ok(indexed) => Some(indexed),
            Err(JobError::Fatal(failure)) => {
                tracing::error!(media.id = %media, reason = failure.message, "a media does not play: its index cannot be rebuilt");
                None
            }
            Err(error) => return Err(error),
        },
    };
    let (job, now) = (job.cloned_job(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(IndexFacts { facts, may_be_new }) = indexed.clone() else { return Ok(()) };
            let Some(found) = tx.media_by_id(media).await? else { return Ok(()) };
            let wants_files = !found.settings.mp4_support.is_none();
            let Ok(changed) = found.reindex(source, facts, now) else { return Ok(()) };
            if let Some((changed, event)) = changed {
                tx.save_media(&changed).await?;
                tx.push_event(&event).await?;
            }
            if may_be_new {
                let prepare = wants_files.then_some(JobKind::PrepareMp4 { media, source });
                let jobs = [JobKind::ProbeDecode { media, source }, JobKind::BlurHash { media, source }];
                for kind in jobs.into_iter().chain(prepare) {
                    tx.enqueue_unique(NewJob::due_now(kind, job.workspace, now)).await?;
                }
            }
            Ok::<_, JobError>(())
        })
        .await
}

async fn load_or_rebuild(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<IndexFacts, JobError> {
    let stored = load_stored_index(context, media, source).await?;
    let may_be_new = stored.is_none() || 1 < job.attempt;
    let (index, _permit) = match stored {
        Some(stored) => stored,
        None => rebuild_index(context, job, media, source).await?,
    };
    let max = media.settings.max_resolution;
    Ok(IndexFacts { facts: facts_of_index(&index, max, context.clock.now(), &*context.random), may_be_new })
}

/// The stored index; `None` if it must be rebuilt: it has an unreleased layout, an earlier run stopped after
/// deleting it, or two runs deleted each other's objects.
async fn load_stored_index(
    context: &Context,
    media: &Media,
    source: SourceId,
) -> Result<Option<(Index, ScanPermit)>, JobError> {
    let key = ObjectKey::Index(PresentationId::of(source));
    let Some(reader) = context.blob.reader(key).await? else { return Ok(None) };
    if Index::has_unreleased_layout(&reader.read_at(0..HEAD_LEN.min(reader.len())).await?) {
        return Ok(None);
    }
    let permit = context.scan_limits.acquire(reader.len(), Some(media.workspace)).await;
    let bytes = reader.read_at(0..reader.len()).await?;
    let index = Index::from_bytes(&bytes).map_err(|error| JobError::Retry(Box::new(error)))?;
    Ok(has_sample_bytes(context, source, &index).await?.then_some((index, permit)))
}

async fn rebuild_index(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<(Index, ScanPermit), JobError> {
    // Audio edits exist only in later versions: such an index never had an unreleased layout.
    if media.settings.audio_edit.is_some() {
        return Err(cannot_be_read("the index of a media with edited audio is missing"));
    }
    if context.blob.reader(ObjectKey::Source(source)).await?.is_none() {
        return Err(cannot_be_read("its source is missing"));
    }
    let workspace = Some(media.workspace);
    let ScanResult { scanned, permit } = rescan(context, source, media.workspace).await?;
    let (index, index_permit) = match scanned {
        Scanned::Index(index) => {
            remove_derived(context, job, source).await?;
            (index, permit)
        }
        Scanned::NeedsRemux { container, len, sha256, rejection, facts } => {
            drop(permit);
            let source_to_remux =
                SourceToRemux { source, workspace, container, len, sha256, rejection, facts };
            // The old copy is deleted only once there is a new one: the source may no longer be readable.
            let copied = remux::remux_copy(context, job, &source_to_remux).await?;
            remove_derived(context, job, source).await?;
            copied.store().await?.load_limited(&context.scan_limits, workspace).await?
        }
    };
    let index = match stored_overlay(context, media).await? {
        Some(overlay) if index.video().is_some() => draw(index, overlay)?,
        _ => index,
    };
    let key = ObjectKey::Index(PresentationId::of(source));
    context.blob.put_once(key, Bytes::from(index.to_bytes())).await?;
    tracing::info!(media.id = %media.id, source.id = %source, "rebuilt the index of a media");
    Ok((index, index_permit))
}

/// The watermark of a media whose timeline is not edited. Its image is stored.
async fn stored_overlay(context: &Context, media: &Media) -> Result<Option<Overlay>, JobError> {
    let Some(watermark) = &media.settings.watermark else { return Ok(None) };
    let used = context.store.used_sources(media.id).await?;
    let Some(image) = used.into_iter().find(|source| media.original() != Some(*source)) else {
        return Ok(None); // audio alone
    };
    stored_image_overlay(context, watermark, image).await.map(Some)
}

/// Deletes the old index and all objects derived from it: its segments may differ. A run that lost the job
/// deletes nothing of the current run.
async fn remove_derived(context: &Context, job: &Claim, source: SourceId) -> Result<(), JobError> {
    let (presentation, claimed_job) = (PresentationId::of(source), job.cloned_job());
    context.store.write(async move |tx| tx.lock_job(&claimed_job).await).await?;
    context.packager.evict_source(source);
    for row in context.store.renditions_of(presentation).await? {
        remove_rendition(context, row.id).await?;
    }
    context.blob.delete(ObjectKey::Index(presentation)).await?;
    context.blob.delete(ObjectKey::Normalised(source)).await?;
    Ok(())
}

fn cannot_be_read(sentence: &str) -> JobError {
    JobError::Fatal(Failure::new(FailureCode::Internal, sentence))
}
