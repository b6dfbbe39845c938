//! The downloadable files of a media: encodes the renditions they need, deletes those no longer needed, and
//! emits an event when all of them can be downloaded.
//!
//! Copied tracks need no encoding, so most media emit the event at once. Encoding waits in the backfill
//! queue.

use std::sync::Arc;

use kinora_domain::{AudioGain, MediaId, MediaState, PresentationId, SourceId, error_chain};
use kinora_packager::{Error, Mp4File, Mp4FileLimits, Packaged, Rendition, rendition_from_row_name};
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, Tx};

use crate::Context;
use crate::error::JobError;

/// The current needs of the files of a media.
struct Mp4FileNeeds {
    limits: Mp4FileLimits,
    /// Whether at least one requested file can be made from the source.
    has_file: bool,
    /// The renditions that must be encoded completely.
    rendition_files: Vec<Rendition>,
    /// These, and those with the other audio of a media that is or was levelled: viewers get them while the
    /// others are encoded.
    retained: Vec<Rendition>,
}

/// Determines the needs of the files of a ready media. Emits the event if nothing is missing, or queues the
/// encoding.
///
/// May run twice. The event is in the commit that ends the job, and a change of the file settings ends the
/// job first: each setting emits one event.
pub(crate) async fn prepare(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    match needs(context, media, source).await? {
        Some((packaged, needs)) => {
            remove_unwanted(context, job, source, &needs).await?;
            let missing = missing(context, &packaged, &needs).await?;
            if missing.is_empty() {
                emit_files_ready(context, job, media, needs.has_file).await
            } else {
                enqueue_encode(context, job, media, source).await
            }
        }
        None => complete_job(context, job).await,
    }
}

/// Encodes the renditions for the files of a ready media, and emits the event.
///
/// May run twice, and continues where an earlier run ended. Its processes have the lowest priority. If a
/// rendition cannot be encoded, its file is unavailable and no event is emitted.
pub(crate) async fn encode(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let Some((packaged, needs)) = needs(context, media, source).await? else {
        return complete_job(context, job).await;
    };
    match encode_missing(context, job, source, &packaged, &needs).await? {
        Some(is_complete) => emit_files_ready(context, job, media, needs.has_file && is_complete).await,
        None => complete_job(context, job).await,
    }
}

/// Encodes the renditions for the files of a ready media whose audio has other gains now. Emits no event: the
/// files are available meanwhile, with the audio of before.
///
/// May run twice, as [`encode`].
pub(crate) async fn refresh(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    if let Some((packaged, needs)) = needs(context, media, source).await?
        && encode_missing(context, job, source, &packaged, &needs).await?.is_some()
    {
        remove_unwanted(context, job, source, &needs).await?;
    }
    complete_job(context, job).await
}

/// Encodes the renditions that the files need, as far as they are not stored. `Some(false)`: one of them
/// cannot be encoded. `None`: the media was deleted.
async fn encode_missing(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    packaged: &Arc<Packaged>,
    needs: &Mp4FileNeeds,
) -> Result<Option<bool>, JobError> {
    let mut is_complete = true;
    for rendition in &needs.rendition_files {
        let on_progress = |progress: kinora_packager::BackfillProgress| {
            tracing::debug!(source.id = %source, rendition = %rendition, done = progress.done, of = progress.total, "a file is encoded");
        };
        let max = needs.limits.max_resolution;
        let result = context.packager.make_rendition_file(job, packaged, *rendition, max, on_progress).await;
        match result {
            Ok(()) => {}
            Err(error)
                if matches!(error.root(), Error::NoFrame | Error::EncodeFailed(_) | Error::NotListed) =>
            {
                tracing::warn!(source.id = %source, rendition = %rendition, error = %error_chain(&error), "a file cannot be created");
                // Other files may still be possible with the other renditions.
                mark_broken(context, job, source, *rendition).await?;
                is_complete = false;
            }
            Err(error) if matches!(error.root(), Error::Gone) => return Ok(None),
            Err(error) if matches!(error.root(), Error::Busy) => {
                return Err(JobError::Unavailable(Box::new(error)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(is_complete))
}

/// Deletes renditions of files that are no longer requested.
///
/// May run twice. The rows are deleted while this job has the latest settings. Afterwards no code writes or
/// reads under their ids, so the objects may be deleted at any later time; otherwise the sweep deletes them.
async fn remove_unwanted(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    needs: &Mp4FileNeeds,
) -> Result<(), JobError> {
    let rows = context.store.renditions_of(PresentationId::of(source)).await?;
    let is_unwanted = |name: &str| {
        rendition_from_row_name(name).is_some_and(|rendition| !needs.retained.contains(&rendition))
    };
    let unwanted: Vec<_> = rows.iter().filter(|row| is_unwanted(&row.name)).map(|row| row.id).collect();
    if unwanted.is_empty() {
        return Ok(());
    }
    let (job, rows) = (job.clone(), unwanted.clone());
    let delete_rows = async move |tx: &mut Tx| {
        tx.lock_job(&job).await?;
        for id in &rows {
            tx.delete_rendition(*id).await?;
        }
        Ok::<_, JobError>(())
    };
    context.store.write(delete_rows).await?;
    for id in unwanted {
        context.packager.remove_rendition_file(id).await?;
    }
    Ok(())
}

/// Marks the rendition as broken, so that requests for its file fail.
async fn mark_broken(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    rendition: Rendition,
) -> Result<(), JobError> {
    let rows = context.store.renditions_of(PresentationId::of(source)).await?;
    let found = rows.into_iter().find(|row| rendition_from_row_name(&row.name) == Some(rendition));
    let (job, now) = (job.clone(), context.clock.now());
    let mark = async move |tx: &mut Tx| {
        tx.lock_job(&job).await?;
        if let Some(row) = &found {
            tx.set_rendition_broken(row.id, now).await?;
        }
        Ok::<_, JobError>(())
    };
    context.store.write(mark).await
}

/// The needs of the media; `None` when it was deleted or has another source now.
async fn needs(
    context: &Context,
    media: MediaId,
    source: SourceId,
) -> Result<Option<(Arc<Packaged>, Mp4FileNeeds)>, JobError> {
    let Some(media) = context.store.media_by_id(media).await? else { return Ok(None) };
    let MediaState::Ready { source: current, facts, .. } = &media.state else { return Ok(None) };
    if *current != source {
        return Ok(None);
    }
    let packaged = match context.packager.packaged(PresentationId::of(source)).await {
        Err(error) if matches!(error.root(), Error::Gone) => return Ok(None),
        packaged => packaged?,
    };
    let limits = Mp4FileLimits {
        max_resolution: media.settings.max_resolution,
        is_video_withdrawn: facts.does_not_decode,
    };
    let mp4_support = media.settings.mp4_support;
    let gains = context.packager.playable_levels(&packaged, &media.gains()).await?;
    let files = [(Mp4File::Capped4k, mp4_support.capped_4k), (Mp4File::AudioOnly, mp4_support.audio_only)];
    let files = files.into_iter().filter(|(_, is_enabled)| *is_enabled).map(|(file, _)| file);
    let has_file = files.clone().any(|file| file.renditions(&packaged, limits, &gains).is_some());
    let encoded = |levels: &[Option<AudioGain>]| {
        let renditions = files.clone().filter_map(|file| file.renditions(&packaged, limits, levels));
        let mut encoded: Vec<Rendition> = Vec::new();
        for rendition in renditions.flatten().filter(|rendition| rendition.is_encoded()) {
            if !encoded.contains(&rendition) {
                encoded.push(rendition);
            }
        }
        encoded
    };
    let rendition_files = encoded(&gains);
    let retained = [rendition_files.clone(), encoded(&[]), encoded(&media.measured_gains())].concat();
    Ok(Some((packaged, Mp4FileNeeds { limits, has_file, rendition_files, retained })))
}

async fn missing(
    context: &Context,
    packaged: &Packaged,
    needs: &Mp4FileNeeds,
) -> Result<Vec<Rendition>, JobError> {
    let mut missing = Vec::new();
    for rendition in &needs.rendition_files {
        if !context.packager.has_rendition_file(packaged, *rendition).await? {
            missing.push(*rendition);
        }
    }
    Ok(missing)
}

/// Ends the job with the event for available files, if there are any.
async fn emit_files_ready(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    has_file: bool,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: a worker that lost the lease emits nothing
            let media = tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            if has_file && !media.settings.mp4_support.is_none() {
                tx.push_event(&media.mp4_ready_event(now)).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

/// Ends the job; the encoding continues in the backfill queue.
async fn enqueue_encode(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let kind = JobKind::EncodeMp4 { media, source };
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            // Before backfills without a request.
            let workspace = job.workspace;
            tx.enqueue(NewJob { kind, workspace, run_at: now, priority: Priority::Normal }).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn complete_job(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let job = job.clone();
    let complete = async move |tx: &mut Tx| tx.complete_job(&job).await;
    context.store.write(complete).await?;
    Ok(())
}
