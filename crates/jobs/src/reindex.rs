//! After the migration of an unreleased database: makes the index of a ready media anew where its layout is
//! no longer read, and brings the facts of the media up to date (D-0125).

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{Failure, FailureCode, Media, MediaFacts, MediaId, PresentationId, SourceId};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_intake::{ScanTurn, Whole, of_index};
use kinora_store::{JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::delete_objects::remove_rendition;
use crate::error::JobError;
use crate::ingest::remux::{self, Foreign};
use crate::ingest::{has_its_bytes, scanned_again};

/// Bytes of a stored index that name its layout.
const HEAD_LEN: u64 = 12;

/// The facts of an index that is stored and read as it is.
#[derive(Clone)]
struct Indexed {
    facts: MediaFacts,
    /// Whether this run or a stopped one made it. Jobs that did not find it meanwhile have ended, and its
    /// renditions were removed: the jobs are queued again.
    may_be_new: bool,
}

/// Saves the facts of the stored or the new index, with `video.media.updated` where they changed.
///
/// May run twice, and stop after any step: each run reads the facts from the index. A media whose source
/// cannot be read stays as it is, with an error in the log.
pub(crate) async fn run(
    context: &Context,
    job: &Claim,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let found = context.store.media_by_id(media).await?;
    let indexed = match found.filter(|media| media.is_ready() && media.source() == Some(source)) {
        None => None, // deleted
        Some(found) => match indexed(context, job, &found, source).await {
            Ok(indexed) => Some(indexed),
            Err(JobError::Fatal(failure)) => {
                tracing::error!(media.id = %media, reason = failure.message, "a media does not play: its index cannot be made anew");
                None
            }
            Err(error) => return Err(error),
        },
    };
    let (job, now) = (job.claimed(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(Indexed { facts, may_be_new }) = indexed.clone() else { return Ok(()) };
            let Some(found) = tx.media_by_id(media).await? else { return Ok(()) };
            let wants_files = !found.settings.mp4_support.is_none();
            let Ok(changed) = found.reindex(source, facts, now) else { return Ok(()) };
            if let Some((changed, event)) = changed {
                tx.save_media(&changed).await?;
                tx.push_event(&event).await?;
            }
            if may_be_new {
                let prepare = wants_files.then_some(JobKind::PrepareFiles { media, source });
                let jobs = [JobKind::ProbeDecode { media, source }, JobKind::HashPicture { media, source }];
                for kind in jobs.into_iter().chain(prepare) {
                    tx.enqueue_once(NewJob::soon(kind, job.workspace, now)).await?;
                }
            }
            Ok::<_, JobError>(())
        })
        .await
}

async fn indexed(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<Indexed, JobError> {
    let stored = stored(context, media, source).await?;
    let may_be_new = stored.is_none() || 1 < job.attempt;
    let (index, _turn) = match stored {
        Some(stored) => stored,
        None => remade(context, job, media, source).await?,
    };
    let max = media.settings.max_resolution;
    Ok(Indexed { facts: of_index(&index, max, context.clock.now(), &*context.random), may_be_new })
}

/// The stored index; `None` where it must be made anew: it has an unreleased layout, an earlier run stopped
/// after it was removed, or two runs removed each other's bytes.
async fn stored(
    context: &Context,
    media: &Media,
    source: SourceId,
) -> Result<Option<(Index, ScanTurn)>, JobError> {
    let key = ObjectKey::Index(PresentationId::of(source));
    let Some(reader) = context.blob.reader(key).await? else { return Ok(None) };
    if Index::is_unreleased(&reader.read_at(0..HEAD_LEN.min(reader.len())).await?) {
        return Ok(None);
    }
    let turn = context.scans.turn(reader.len(), Some(media.workspace)).await;
    let bytes = reader.read_at(0..reader.len()).await?;
    let index = Index::from_bytes(&bytes).map_err(|error| JobError::Retry(Box::new(error)))?;
    Ok(has_its_bytes(context, source, &index).await?.then_some((index, turn)))
}

async fn remade(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<(Index, ScanTurn), JobError> {
    // Audio was edited by later versions only: such an index never had an unreleased layout.
    if media.settings.sound.is_some() {
        return Err(cannot_be_read("the index of a media with edited audio is missing"));
    }
    if context.blob.reader(ObjectKey::Source(source)).await?.is_none() {
        return Err(cannot_be_read("its source is missing"));
    }
    let workspace = Some(media.workspace);
    let Whole { scanned, turn } = scanned_again(context, source, media.workspace).await?;
    let (index, turn) = match scanned {
        Scanned::Index(index) => {
            remove_derived(context, job, source).await?;
            (index, turn)
        }
        Scanned::Foreign { container, len, sha256, refusal, facts } => {
            drop(turn);
            let foreign = Foreign { source, workspace, container, len, sha256, refusal, facts };
            // The old copy is removed only when there is a new one: this source may not be read any more.
            let copied = remux::copied(context, job, &foreign).await?;
            remove_derived(context, job, source).await?;
            copied.store().await?.load_in_turn(&context.scans, workspace).await?
        }
    };
    let key = ObjectKey::Index(PresentationId::of(source));
    context.blob.put_once(key, Bytes::from(index.to_bytes())).await?;
    tracing::info!(media.id = %media.id, source.id = %source, "made the index of a media anew");
    Ok((index, turn))
}

/// Removes the old index and all that was made by it: its cuts may be others. A run that lost the job removes
/// nothing of the run that has it now.
async fn remove_derived(context: &Context, job: &Claim, source: SourceId) -> Result<(), JobError> {
    let (presentation, held) = (PresentationId::of(source), job.claimed());
    context.store.write(async move |tx| tx.hold_job(&held).await).await?;
    context.packager.forget(source);
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
