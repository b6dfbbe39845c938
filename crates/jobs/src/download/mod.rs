//! Downloads a source from its URL into the store, builds its index while the bytes arrive, and commits once
//! after the last byte.

use kinora_blob::ObjectKey;
use kinora_domain::{ClipOf, Failure, FailureCode, Media, MediaId, SourceId};
use kinora_fetch::Sink as _;
use kinora_index::Index;
use kinora_intake::{ReadyMedia, RequiredEncodes, SpilledIndex, facts_of_index};
use kinora_store::{ClaimedJob, JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure};
use crate::ingest::audio_edit;
use crate::ingest::first_segments;
use crate::ingest::sink::{FetchedSource, Owner, SourceSink};
use crate::ingest::timeline_edit::{EditBase, EditedMedia, edit_timeline, use_source};
use crate::ingest::watermark::{add_watermark, remove_image};
use crate::lost_lease;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// Fetches a media and makes it ready, or failed with the reason.
///
/// May run twice: each attempt writes under its own source id. The last commit names that id only if the
/// media still waits for that attempt. A ready or failed media stays as it is.
pub(crate) async fn run(context: &Context, job: &Claim, media: MediaId) -> Result<(), JobError> {
    let source = SourceId::new(context.clock.now(), &*context.random);
    let Some(media) = begin(context, job, media, source).await? else {
        return Ok(()); // deleted, or settled by an earlier run
    };
    let id = media.id;
    let ended = match media.clip_of {
        Some(clip_of) => make_clip_ready(context, job, media, clip_of).await,
        None => match fetch_source(context, job, &media, source).await {
            Ok(fetched) => make_ready(context, job, media, fetched).await,
            Err(error) => Err(error),
        },
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, id, failure.clone());
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

/// Commits the start of an attempt. `None`, with the job completed, when nothing is left to do.
async fn begin(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<Option<Media>, JobError> {
    let _permit = context.commits.acquire(job.workspace).await;
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            let Some(media) = tx.media_by_id(media).await?.filter(|media| !media.is_ready_or_failed()) else {
                tx.complete_job(&job).await?;
                return Ok(None);
            };
            if media.clip_of.is_some() {
                return Ok(Some(media)); // nothing to download
            }
            let old_source = media.source();
            let media = media.start_download(source, now)?;
            tx.save_media(&media).await?;
            tx.set_used_sources(media.id, &[], job.workspace, now).await?;
            if let Some(source) = old_source {
                tx.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
            }
            Ok::<_, JobError>(Some(media))
        })
        .await
}

/// Downloads the whole source into the store.
async fn fetch_source(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<FetchedSource, JobError> {
    let url = &media.inputs.first().ok_or_else(|| JobError::Fatal(internal_failure()))?.url;
    let owner = Owner::Media(media.id);
    let mut sink = SourceSink::begin(context, job, owner, source).await?;
    if **url == *context.demo_url {
        read_demo(context, &mut sink).await?;
    } else {
        sink.download(url).await?;
    }
    sink.finish().await
}

/// The demonstration clip is in the store. This server serves its URL, which the guard rightly forbids.
async fn read_demo(context: &Context, sink: &mut SourceSink<'_>) -> Result<(), JobError> {
    use futures_util::StreamExt as _;

    let missing = || Failure::new(FailureCode::SourceNotFound, "there is no demo clip; run kinora demo");
    let reader = context.blob.reader(ObjectKey::DemoClip).await?.ok_or_else(|| JobError::Fatal(missing()))?;
    let mut bytes = reader.stream(0..reader.len())?;
    while let Some(bytes) = bytes.next().await {
        if let Err(error) = sink.write(bytes?).await {
            return Err(sink.job_error_of(error).await);
        }
    }
    Ok(())
}

/// The single commit between the last byte and `Ready`: row, event and job. A media without a copy rendition
/// gets its first encoded segments before it.
async fn make_ready(
    context: &Context,
    job: &Claim,
    media: Media,
    fetched: FetchedSource,
) -> Result<(), JobError> {
    let source = fetched.source();
    let ended = async {
        if media.settings.timeline_edit.is_some() {
            fetched.store(context, job, |_| ()).await?;
            let base = EditBase { source, original: source, is_playing: false };
            return edit_and_commit(context, job, &media, base).await;
        }
        let mut image = None;
        let ready = match store_edited(context, job, &media, fetched, &mut image).await {
            Ok(ready) => ready,
            Err(error) => {
                // The index that names it belongs to this run alone.
                if let Some(image) = image {
                    remove_image(context, image).await;
                }
                return Err(error);
            }
        };
        let used: Vec<_> = image.into_iter().collect();
        let commit = || commit_ready(context, job, media.id, ready.clone(), used.clone());
        let ended = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, commit).await;
        match image {
            Some(image) => lost_lease::clean_up(context, job, image, ended).await,
            None => ended,
        }
    };
    lost_lease::clean_up(context, job, source, ended.await).await
}

/// Stores a source with its index, with its watermark and edited audio, and encodes the first segments
/// without a copy. `image` becomes the source of the stored image of the watermark.
async fn store_edited(
    context: &Context,
    job: &Claim,
    media: &Media,
    fetched: FetchedSource,
    image: &mut Option<SourceId>,
) -> Result<ReadyMedia, JobError> {
    let (source, max, now) = (fetched.source(), media.settings.max_resolution, context.clock.now());
    let inspect =
        |index: &Index| (facts_of_index(index, max, now, &*context.random), RequiredEncodes::of(index, max));
    let (watermark, audio_edit) = (&media.settings.watermark, &media.settings.audio_edit);
    let (mut facts, missing) = if watermark.is_none() && audio_edit.is_none() {
        fetched.store(context, job, inspect).await?
    } else {
        let edit_index = async |mut index: SpilledIndex| {
            if let Some(watermark) = watermark {
                (index, *image) = Box::pin(add_watermark(context, job, watermark, index)).await?;
                if let Some(image) = *image {
                    // The first encode may take minutes. If the process is killed meanwhile, the next run
                    // releases the image.
                    Box::pin(use_source(context, job, media.id, image)).await?;
                }
            }
            match audio_edit {
                Some(edit) => Box::pin(audio_edit::edit_audio(context, job, source, index, edit)).await,
                None => Ok(index.load_limited(&context.scan_limits, job.workspace).await?),
            }
        };
        fetched.store_with(context, job, edit_index, inspect).await?
    };
    facts.does_not_decode =
        first_segments::encode_with_retry(context, job, source, max, missing).await?.video;
    Ok(ReadyMedia::of_source(source, facts, missing))
}

/// Makes a clip ready. Fetches only the other files that its edit names, and copies no byte (C-197).
async fn make_clip_ready(
    context: &Context,
    job: &Claim,
    media: Media,
    clip_of: ClipOf,
) -> Result<(), JobError> {
    let has_files = media.settings.timeline_edit.as_ref().is_some_and(|edit| edit.files().next().is_some());
    let base = EditBase {
        source: clip_of.source,
        original: media.original.unwrap_or(clip_of.source),
        is_playing: !has_files && media.settings.audio_edit.is_none() && media.settings.watermark.is_none(),
    };
    edit_and_commit(context, job, &media, base).await
}

/// Edits the timeline of a media whose file is stored, and makes it ready.
async fn edit_and_commit(
    context: &Context,
    job: &Claim,
    media: &Media,
    base: EditBase,
) -> Result<(), JobError> {
    let EditedMedia { used_sources, ready } = edit_timeline(context, job, media, base).await?;
    let source = ready.source;
    let commit = || commit_ready(context, job, media.id, ready.clone(), used_sources.clone());
    let ended = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, commit).await;
    lost_lease::clean_up(context, job, source, ended).await
}

/// Makes the media ready, with its events: it refers to its source from now on. Its index refers to bytes of
/// `used_sources` too.
async fn commit_ready(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    ready: ReadyMedia,
    used_sources: Vec<SourceId>,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let ReadyMedia { source, facts, base_ranges, encoded } = ready;
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
            let media = tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            let id = media.id;
            let media = Media { base_ranges: base_ranges.clone(), ..media };
            let (media, event) = media.finish(source, facts.clone(), now)?;
            if media.original.is_some() || !used_sources.is_empty() {
                let all: Vec<_> = used_sources.iter().copied().chain(media.subtitles_to_cut()).collect();
                tx.set_used_sources(id, &all, job.workspace, now).await?;
            }
            tx.save_ready(&media, &event, now).await?;
            // Encoding already proved that it decodes.
            if !encoded.video {
                tx.enqueue(NewJob::due_now(JobKind::ProbeDecode { media: id, source }, job.workspace, now))
                    .await?;
            }
            if encoded.has_encoded_audio {
                tx.enqueue(NewJob::due_now(JobKind::EncodeAudio { media: id, source }, job.workspace, now))
                    .await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

async fn fail(context: &Context, job: &ClaimedJob, media: MediaId, failure: Failure) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(media) = tx.media_by_id(media).await?.filter(|media| !media.is_ready_or_failed()) else {
                return Ok(());
            };
            if let Some(source) = media.source() {
                tx.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
            }
            let (media, event) = media.fail(failure.clone(), now)?;
            tx.save_failed(&media, &event, now).await?;
            Ok::<_, JobError>(())
        })
        .await
}
