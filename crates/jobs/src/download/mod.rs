//! Brings in a source: from its address into the store, its index built from the passing bytes, and at the
//! last byte one commit.

use kinora_blob::ObjectKey;
use kinora_domain::{Failure, FailureCode, Media, MediaFacts, MediaId, SourceId};
use kinora_fetch::Sink as _;
use kinora_index::Index;
use kinora_intake::{Missing, of_index};
use kinora_store::{ClaimedJob, JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure};
use crate::ingest::first;
use crate::ingest::sink::{Arrived, Owner, SourceSink};
use crate::ingest::sound;
use crate::lost_lease;
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// Fetches a media and makes it ready, or failed with its reason.
///
/// May run twice: each attempt writes under a source id of its own, the last commit names it only if the
/// media still waits for that attempt, and a settled media stays as it is.
pub(crate) async fn run(context: &Context, job: &Claim, media: MediaId) -> Result<(), JobError> {
    let source = SourceId::new(context.clock.now(), &*context.random);
    let Some(media) = begin(context, job, media, source).await? else {
        return Ok(()); // deleted, or settled by an earlier run
    };
    let id = media.id;
    let ended = match bring_in(context, job, &media, source).await {
        Ok(arrived) => make_ready(context, job, media, arrived).await,
        Err(error) => Err(error),
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, id, failure.clone());
            keep_trying(Waiter::Job(job.id), PATIENCE, step).await
        }
        ended => ended,
    }
}

/// Ends a media whose attempts are used up by faults of ours.
pub(crate) async fn give_up(context: &Context, job: &ClaimedJob, media: MediaId) -> Result<(), JobError> {
    fail(context, job, media, internal_failure()).await
}

/// Commits that an attempt begins. `None`, with the job completed, when there is nothing left to do.
async fn begin(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<Option<Media>, JobError> {
    let _place = context.commits.acquire(job.workspace).await;
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            let Some(media) = tx.media_by_id(media).await?.filter(|media| !media.is_settled()) else {
                tx.complete_job(&job).await?;
                return Ok(None);
            };
            let left_behind = media.source();
            let media = media.start_download(source, now)?;
            tx.save_media(&media).await?;
            if let Some(source) = left_behind {
                tx.enqueue(NewJob::soon(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
            }
            Ok::<_, JobError>(Some(media))
        })
        .await
}

/// Reads the whole source into the store.
async fn bring_in(
    context: &Context,
    job: &Claim,
    media: &Media,
    source: SourceId,
) -> Result<Arrived, JobError> {
    let url = &media.inputs.first().ok_or_else(|| JobError::Fatal(internal_failure()))?.url;
    let owner = Owner::Media(media.id);
    let mut sink = SourceSink::begin(context, job, owner, source).await?;
    if **url == *context.demo_url {
        read_demo(context, &mut sink).await?;
    } else {
        sink.download(url).await?;
    }
    sink.arrive().await
}

/// The demonstration clip lies in the store; its address is answered by this server, which the guard rightly
/// forbids.
async fn read_demo(context: &Context, sink: &mut SourceSink<'_>) -> Result<(), JobError> {
    use futures_util::StreamExt as _;

    let missing =
        || Failure::new(FailureCode::SourceNotFound, "there is no demonstration clip; run kinora demo");
    let reader = context.blob.reader(ObjectKey::DemoClip).await?.ok_or_else(|| JobError::Fatal(missing()))?;
    let mut bytes = reader.stream(0..reader.len())?;
    while let Some(bytes) = bytes.next().await {
        if let Err(error) = sink.write(bytes?).await {
            return Err(sink.explain(error).await);
        }
    }
    Ok(())
}

/// The one commit between the last byte and `Ready`: row, event and job. What does not play as a copy begins
/// to be made before it.
async fn make_ready(context: &Context, job: &Claim, media: Media, arrived: Arrived) -> Result<(), JobError> {
    let (source, max, now) = (arrived.source(), media.settings.max_resolution, context.clock.now());
    let ended = async {
        let look = |index: &Index| (of_index(index, max, now, &*context.random), Missing::of(index, max));
        let (mut facts, missing) = match &media.settings.sound {
            None => arrived.keep(context, job, look).await?,
            Some(edit) => {
                let edited = async |own| Box::pin(sound::edited(context, job, source, own, edit)).await;
                arrived.keep_as(context, job, edited, look).await?
            }
        };
        facts.does_not_decode = first::made(context, job, source, max, missing).await?.picture;
        let name = || name_source(context, job, media.id, source, facts.clone(), missing);
        keep_trying(Waiter::Job(job.id), PATIENCE, name).await
    };
    lost_lease::clean_up(context, job, source, ended.await).await
}

/// Ready, with its event: the media names its source from now on.
async fn name_source(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
    facts: MediaFacts,
    missing: Missing,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: whoever lost the lease changes nothing
            let media = tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            let id = media.id;
            let (media, event) = media.finish(source, facts.clone(), now)?;
            tx.save_ready(&media, &event, now).await?;
            // What was encoded has been decoded already.
            if !missing.picture {
                tx.enqueue(NewJob::soon(JobKind::ProbeDecode { media: id, source }, job.workspace, now))
                    .await?;
            }
            if missing.encodes_sound {
                tx.enqueue(NewJob::soon(JobKind::EncodeAudio { media: id, source }, job.workspace, now))
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
            let Some(media) = tx.media_by_id(media).await?.filter(|media| !media.is_settled()) else {
                return Ok(());
            };
            if let Some(source) = media.source() {
                tx.enqueue(NewJob::soon(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
            }
            let (media, event) = media.fail(failure.clone(), now)?;
            tx.save_failed(&media, &event, now).await?;
            Ok::<_, JobError>(())
        })
        .await
}
