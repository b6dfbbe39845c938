//! Makes a media from the file of a direct upload if that takes longer than a request may: it needs a remux
//! or first encoded segments.

use bytes::Bytes;
use kinora_blob::{ObjectKey, PutOutcome};
use kinora_domain::{AudioEdit, Failure, MediaId, PresentationId, SourceId, Upload};
use kinora_formats::{Scanned, Scanner};
use kinora_index::Index;
use kinora_intake::{
    ReadyMedia, RequiredEncodes, Scan, ScanPermit, ScanResult, SpilledIndex, complete_media, facts_of_index,
    fail_uploaded_media,
};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure};
use crate::ingest::audio_edit;
use crate::ingest::remux::{self, SourceToRemux};
use crate::ingest::timeline_edit::{EditBase, EditedMedia, edit_timeline};
use crate::ingest::watermark::{add_watermark, image_source, remove_image};
use crate::ingest::{first_segments, has_sample_bytes, rescan};
use crate::lost_lease;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// Makes the media ready, or failed with the reason. May run twice: until the last commit no row refers to
/// its output.
pub(crate) async fn run(context: &Context, job: &Claim, media: MediaId) -> Result<(), JobError> {
    let upload = context.store.upload_by_id(media).await?;
    let Some(upload) = upload.filter(|upload| upload.is_settled() && upload.holds_source()) else {
        let job = job.cloned_job();
        return Ok(context.store.write(async move |tx| tx.complete_job(&job).await).await?);
    };
    match make_ready(context, job, &upload).await {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, media, failure.clone());
            retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, step).await
        }
        ended => ended,
    }
}

/// Fails a media whose attempts are exhausted by internal errors.
pub(crate) async fn fail_exhausted(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
) -> Result<(), JobError> {
    fail(context, job, media, internal_failure()).await
}

async fn make_ready(context: &Context, job: &Claim, upload: &Upload) -> Result<(), JobError> {
    let (source, max, media) = (upload.source, upload.settings.max_resolution, upload.id);
    let (index, permit) = index(context, job, upload).await?;
    if upload.settings.timeline_edit.is_some() {
        drop((index, permit));
        return make_edited_ready(context, job, upload).await;
    }
    let mut facts = facts_of_index(&index, max, context.clock.now(), &*context.random);
    let missing = RequiredEncodes::of(&index, max);
    let image = index.overlay.as_ref().map(image_source);
    drop((index, permit)); // its tables may be large, and what follows may take minutes
    facts.does_not_decode =
        first_segments::encode_with_retry(context, job, source, max, missing).await?.video;
    let commit = || async {
        let (job, facts, now) = (job.cloned_job(), facts.clone(), context.clock.now());
        let workspace = upload.workspace;
        context
            .store
            .write(async move |tx| {
                tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
                if let Some(image) = image {
                    tx.set_used_sources(media, &[image], workspace, now).await?;
                }
                complete_media(tx, media, ReadyMedia::of_source(source, facts.clone(), missing), now).await
            })
            .await?;
        Ok(())
    };
    let ended = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, commit).await;
    match image {
        Some(image) => clean_up_image(context, job, upload, image, ended).await,
        None => ended,
    }
}

/// After a lost lease, removes the image of a watermark, unless another run has the upload now: its index
/// names the same image.
async fn clean_up_image(
    context: &Context,
    job: &Claim,
    upload: &Upload,
    image: SourceId,
    ended: Result<(), JobError>,
) -> Result<(), JobError> {
    let Err(JobError::LeaseLost) = ended else { return ended };
    let upload = context.store.upload_by_id(upload.id).await?;
    if !upload.is_some_and(|upload| upload.holds_source()) {
        lost_lease::enqueue_removal(context, job, vec![image]).await?;
    }
    ended
}

/// Edits the timeline of the media, and makes it ready. Its file is stored with its index.
async fn make_edited_ready(context: &Context, job: &Claim, upload: &Upload) -> Result<(), JobError> {
    let media = context.store.media_by_id(upload.id).await?.ok_or(JobError::LeaseLost)?;
    let base = EditBase { source: upload.source, original: upload.source, is_playing: false };
    let EditedMedia { used_sources, ready } = edit_timeline(context, job, &media, base).await?;
    let source = ready.source;
    let commit = || async {
        let (job, now) = (job.cloned_job(), context.clock.now());
        let (id, workspace) = (upload.id, upload.workspace);
        let (ready, used_sources) = (ready.clone(), used_sources.clone());
        context
            .store
            .write(async move |tx| {
                tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
                tx.set_used_sources(id, &used_sources, workspace, now).await?;
                complete_media(tx, id, ready.clone(), now).await
            })
            .await?;
        Ok(())
    };
    let ended = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, commit).await;
    lost_lease::clean_up(context, job, source, ended).await
}

/// The index of the file, and the permit for its memory. The upload or an earlier run stored it, or it is
/// new.
async fn index(context: &Context, job: &Claim, upload: &Upload) -> Result<(Index, ScanPermit), JobError> {
    let (source, workspace) = (upload.source, job.workspace);
    // With an edit of the timeline, the others are made after it.
    let is_file = upload.settings.timeline_edit.is_none();
    let audio_edit = upload.settings.audio_edit.as_ref().filter(|_| is_file);
    let watermark = upload.settings.watermark.as_ref().filter(|_| is_file);
    if let Some(reader) = context.blob.reader(ObjectKey::Index(PresentationId::of(source))).await? {
        let turn = context.scan_limits.acquire(reader.len(), workspace).await;
        let bytes = reader.read_at(0..reader.len()).await?;
        let index = Index::from_bytes(&bytes).map_err(|error| JobError::Retry(Box::new(error)))?;
        if has_sample_bytes(context, source, &index).await? {
            return Ok((index, turn));
        }
        // Two runs interfered: the index of one refers to objects that the other has deleted.
        context.blob.delete(ObjectKey::Index(PresentationId::of(source))).await?;
    }
    let ScanResult { scanned, permit } = scan_result(context, upload).await?;
    let mut spilled_index = match scanned {
        Scanned::Index(index) if audio_edit.is_none() && watermark.is_none() => {
            put_index(context, source, &index).await?;
            return Ok((index, permit));
        }
        Scanned::Index(index) => {
            let stored = context.scan_limits.spill_index(index).await?;
            drop(permit);
            stored
        }
        Scanned::NeedsRemux { container, len, sha256, rejection, facts } => {
            drop(permit);
            // Deletes the copy of an earlier run: without an index it has no reader.
            context.blob.delete(ObjectKey::Normalised(source)).await?;
            let source_to_remux =
                SourceToRemux { source, workspace, container, len, sha256, rejection, facts };
            remux::remux_and_store(context, job, &source_to_remux).await?
        }
    };
    let mut image = None;
    if let Some(watermark) = watermark {
        (spilled_index, image) = Box::pin(add_watermark(context, job, watermark, spilled_index)).await?;
    }
    let edited = edit_and_put(context, job, source, spilled_index, audio_edit).await;
    if let Some(image) = image.filter(|_| !matches!(edited, Ok((_, _, PutOutcome::Written)))) {
        // No index names it.
        remove_image(context, image).await;
    }
    let (index, permit, put) = edited?;
    match put {
        PutOutcome::AlreadyThere if watermark.is_some() => {
            // Another run of this job was first. Its index names another image.
            Err(JobError::Retry("another run has stored the index".into()))
        }
        PutOutcome::AlreadyThere | PutOutcome::Written => Ok((index, permit)),
    }
}

/// Edits the audio, and stores the index.
async fn edit_and_put(
    context: &Context,
    job: &Claim,
    source: SourceId,
    spilled_index: SpilledIndex,
    audio_edit: Option<&AudioEdit>,
) -> Result<(Index, ScanPermit, PutOutcome), JobError> {
    let workspace = job.workspace;
    let (index, index_permit) = match audio_edit {
        None => spilled_index.load_limited(&context.scan_limits, workspace).await?,
        Some(edit) => {
            // Deletes the audio of an earlier run. A run that has lost the job must not delete objects of
            // the current run.
            let claimed_job = job.cloned_job();
            context.store.write(async move |tx| tx.lock_job(&claimed_job).await).await?;
            context.blob.delete(ObjectKey::Audio(source)).await?;
            Box::pin(audio_edit::edit_audio(context, job, source, spilled_index, edit)).await?
        }
    };
    let put = put_index(context, source, &index).await?;
    Ok((index, index_permit, put))
}

async fn put_index(context: &Context, source: SourceId, index: &Index) -> Result<PutOutcome, JobError> {
    let key = ObjectKey::Index(PresentationId::of(source));
    Ok(context.blob.put_once(key, Bytes::from(index.to_bytes())).await?)
}

/// The scan result of the file, from the upload; scans again if it is not stored.
async fn scan_result(context: &Context, upload: &Upload) -> Result<ScanResult, JobError> {
    let checkpoint = context.blob.latest_checkpoint(upload.source).await?;
    let complete_checkpoint = checkpoint.filter(|(at, _)| Some(*at) == upload.length);
    match complete_checkpoint.map(|(_, state)| Scanner::from_checkpoint(&state)) {
        Some(Ok(scanner)) if Some(scanner.len()) == upload.length => {
            let scan = Scan::resume(&context.scan_limits, Some(upload.workspace), scanner);
            Ok(scan.finish().await?)
        }
        _ => rescan(context, upload.source, upload.workspace).await,
    }
}

async fn fail(context: &Context, job: &ClaimedJob, media: MediaId, failure: Failure) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            fail_uploaded_media(tx, media, failure.clone(), now).await
        })
        .await?;
    Ok(())
}
