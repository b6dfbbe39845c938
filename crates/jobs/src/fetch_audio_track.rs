//! Downloads added audio of a media from its URL into the store, like the source of a media. Cuts its index
//! at the segments of the media, then commits once.

use kinora_domain::{AddedTrack, Failure, Media, MediaId, MediaState, PresentationId, SourceId, TrackId};
use kinora_intake::RequiredEncodes;
use kinora_store::{ClaimedJob, JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure_of_track};
use crate::fetch_subtitles::enqueue_object_deletion;
use crate::ingest::audio_edit::plan_audio_index;
use crate::ingest::first_segments;
use crate::ingest::sink::{FetchedSource, Owner, SourceSink};
use crate::lost_lease;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// An attempt to fetch a track.
struct Attempt {
    media: Media,
    track: AddedTrack,
    /// Its own source id: no other attempt writes under it.
    source: SourceId,
}

/// Fetches the audio of a track and makes it available, or failed with the reason; the media itself does not
/// change.
///
/// The media is in a final state, ready or failed. May run twice: each attempt writes under its own source
/// id, and the last commit changes a track only if it still waits for that attempt.
pub(crate) async fn run(
    context: &Context,
    job: &Claim,
    media: MediaId,
    track: TrackId,
) -> Result<(), JobError> {
    let source = SourceId::new(context.clock.now(), &*context.random);
    let Some(attempt) = begin(context, job, media, track, source).await? else {
        return Ok(()); // deleted, or settled by an earlier run
    };
    let ended = match fetch_source(context, job, &attempt).await {
        Ok(fetched) => make_available(context, job, &attempt, fetched).await,
        Err(error) => Err(error),
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, media, track, failure.clone());
            retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, step).await
        }
        ended => ended,
    }
}

/// Fails a track whose attempts are exhausted by internal errors.
pub(crate) async fn fail_exhausted(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    track: TrackId,
) -> Result<(), JobError> {
    fail(context, job, media, track, internal_failure_of_track()).await
}

/// Commits the start of an attempt. `None`, with the job completed, when nothing is left to do.
async fn begin(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    track: TrackId,
    source: SourceId,
) -> Result<Option<Attempt>, JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            // A track with a newer file has another job, whose attempt must not be ended here.
            tx.lock_job(&job).await?;
            let found = tx.media_by_id(media).await?.and_then(|media| {
                let track = media.added_track(track)?.clone();
                let before = track.preparing()?;
                Some((media.begin_track_attempt(track.id, before, source)?, track, before))
            });
            let Some((media, track, before)) = found else {
                tx.complete_job(&job).await?;
                return Ok(None);
            };
            tx.save_track_attempt(&media, track.id).await?;
            enqueue_object_deletion(tx, &job, before, now).await?;
            Ok::<_, JobError>(Some(Attempt { media, track, source }))
        })
        .await
}

/// Downloads the whole file into the store.
async fn fetch_source(context: &Context, job: &Claim, attempt: &Attempt) -> Result<FetchedSource, JobError> {
    let owner = Owner::Track(attempt.media.id, attempt.track.id);
    let mut sink = SourceSink::begin(context, job, owner, attempt.source).await?;
    sink.download(&attempt.track.spec.url).await?;
    sink.finish().await
}

/// The commit after the bytes: row, events and jobs. Audio without a copy rendition gets its first encoded
/// segments before.
async fn make_available(
    context: &Context,
    job: &ClaimedJob,
    attempt: &Attempt,
    fetched: FetchedSource,
) -> Result<(), JobError> {
    let (source, max) = (fetched.source(), attempt.media.settings.max_resolution);
    let ended = async {
        let packaged = packaged_media(context, &attempt.media).await?;
        let plan_index = async |spilled_index| plan_audio_index(context, job, spilled_index, packaged).await;
        let missing =
            fetched.store_with(context, job, plan_index, |index| RequiredEncodes::of(index, max)).await?;
        first_segments::encode_with_retry(context, job, source, max, missing).await?;
        let commit = || commit_available(context, job, attempt, source, missing);
        retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, commit).await
    };
    lost_lease::clean_up(context, job, source, ended.await).await
}

/// The media that the audio is aligned with; `None` for a failed media, which never plays.
async fn packaged_media(
    context: &Context,
    media: &Media,
) -> Result<Option<std::sync::Arc<kinora_packager::Packaged>>, JobError> {
    let MediaState::Ready { source, .. } = media.state else { return Ok(None) };
    match context.packager.packaged(PresentationId::of(source)).await {
        Ok(packaged) => Ok(Some(packaged)),
        // The media was deleted.
        Err(error) if matches!(error.root(), kinora_packager::Error::Gone) => Err(JobError::LeaseLost),
        Err(error) => Err(error.into()),
    }
}

/// Makes the track available, with its events: it refers to its source from now on.
async fn commit_available(
    context: &Context,
    job: &ClaimedJob,
    attempt: &Attempt,
    source: SourceId,
    missing: RequiredEncodes,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let (media, track) = (attempt.media.id, attempt.track.id);
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
            let found = tx.media_by_id(media).await?;
            let updated = found.and_then(|media| media.finish_track(track, source, now));
            let (media, events) = updated.ok_or(JobError::LeaseLost)?;
            tx.save_tracks(&media, &events).await?;
            if missing.has_encoded_audio {
                tx.enqueue(NewJob::due_now(
                    JobKind::EncodeAudio { media: media.id, source },
                    media.workspace,
                    now,
                ))
                .await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

/// Fails a waiting track with a reason. Deletes its objects.
async fn fail(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    track: TrackId,
    failure: Failure,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            // A track that waits here waits for this job: another file would have another job.
            let found = tx.media_by_id(media).await?.and_then(|media| {
                let source = media.added_track(track)?.preparing()?;
                Some((source, media.fail_track(track, source, failure.clone(), now)?))
            });
            if let Some((source, (media, events))) = found {
                tx.save_tracks(&media, &events).await?;
                enqueue_object_deletion(tx, &job, source, now).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}
