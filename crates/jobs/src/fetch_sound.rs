//! Brings in sound that was added to a media: from its address into the store as the source of a media is,
//! its index cut along the media's, and then one commit.

use kinora_domain::{AddedTrack, Failure, Media, MediaId, MediaState, PresentationId, SourceId, TrackId};
use kinora_intake::Missing;
use kinora_store::{ClaimedJob, JobKind, NewJob};

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure_of_track};
use crate::fetch_track::remove;
use crate::ingest::first;
use crate::ingest::sink::{Arrived, Owner, SourceSink};
use crate::ingest::sound::cut_along;
use crate::lost_lease;
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// An attempt to fetch a track.
struct Attempt {
    media: Media,
    track: AddedTrack,
    /// Its own: nothing is written under that of another one.
    source: SourceId,
}

/// Fetches the sound of a track and makes it available, or failed with its reason; the media is what it was
/// in both cases.
///
/// The media is ready, or failed, for good. May run twice: each attempt writes under a source id of its own,
/// and the last commit changes a track only if it still waits for that attempt.
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
    let ended = match bring_in(context, job, &attempt).await {
        Ok(arrived) => make_available(context, job, &attempt, arrived).await,
        Err(error) => Err(error),
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, media, track, failure.clone());
            keep_trying(Waiter::Job(job.id), PATIENCE, step).await
        }
        ended => ended,
    }
}

/// Ends a track whose attempts are used up by faults of ours.
pub(crate) async fn give_up(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    track: TrackId,
) -> Result<(), JobError> {
    fail(context, job, media, track, internal_failure_of_track()).await
}

/// Commits that an attempt begins. `None`, with the job completed, when there is nothing left to do.
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
            // A track that was given another file has another job, whose attempt is not to be ended.
            tx.hold_job(&job).await?;
            let found = tx.media_by_id(media).await?.and_then(|media| {
                let track = media.added_track(track)?.clone();
                let before = track.preparing()?;
                Some((media.track_attempt(track.id, before, source)?, track, before))
            });
            let Some((media, track, before)) = found else {
                tx.complete_job(&job).await?;
                return Ok(None);
            };
            tx.save_track_attempt(&media, track.id).await?;
            remove(tx, &job, before, now).await?;
            Ok::<_, JobError>(Some(Attempt { media, track, source }))
        })
        .await
}

/// Reads the whole file into the store.
async fn bring_in(context: &Context, job: &Claim, attempt: &Attempt) -> Result<Arrived, JobError> {
    let owner = Owner::Track(attempt.media.id, attempt.track.id);
    let mut sink = SourceSink::begin(context, job, owner, attempt.source).await?;
    sink.download(&attempt.track.wanted.url).await?;
    sink.arrive().await
}

/// The commit behind the bytes: row, events and jobs. Sound that does not play as a copy begins to be made
/// before it.
async fn make_available(
    context: &Context,
    job: &ClaimedJob,
    attempt: &Attempt,
    arrived: Arrived,
) -> Result<(), JobError> {
    let (source, max) = (arrived.source(), attempt.media.settings.max_resolution);
    let ended = async {
        let along = along(context, &attempt.media).await?;
        let cut = async |stored| cut_along(context, job, stored, along).await;
        let missing = arrived.keep_as(context, job, cut, |index| Missing::of(index, max)).await?;
        first::made(context, job, source, max, missing).await?;
        let name = || name_source(context, job, attempt, source, missing);
        keep_trying(Waiter::Job(job.id), PATIENCE, name).await
    };
    lost_lease::clean_up(context, job, source, ended.await).await
}

/// What the sound is cut along; `None` for a media that failed, with which nothing is ever heard.
async fn along(
    context: &Context,
    media: &Media,
) -> Result<Option<std::sync::Arc<kinora_packager::Packaged>>, JobError> {
    let MediaState::Ready { source, .. } = media.state else { return Ok(None) };
    match context.packager.packaged(PresentationId::of(source)).await {
        Ok(packaged) => Ok(Some(packaged)),
        Err(error) if matches!(error.root(), kinora_packager::Error::Gone) => Err(JobError::LeaseLost), // deleted
        Err(error) => Err(error.into()),
    }
}

/// Available, with its events: the track names its source from now on.
async fn name_source(
    context: &Context,
    job: &ClaimedJob,
    attempt: &Attempt,
    source: SourceId,
    missing: Missing,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let (media, track) = (attempt.media.id, attempt.track.id);
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: whoever lost the lease changes nothing
            let found = tx.media_by_id(media).await?;
            let moved = found.and_then(|media| media.track_ready(track, source, now));
            let (media, events) = moved.ok_or(JobError::LeaseLost)?;
            tx.save_tracks(&media, &events).await?;
            if missing.encodes_sound {
                tx.enqueue(NewJob::soon(
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

/// Ends the waiting of a track with a reason. What came of it is removed.
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
            // Whatever it waits for is of this job: another file would have another one.
            let found = tx.media_by_id(media).await?.and_then(|media| {
                let source = media.added_track(track)?.preparing()?;
                Some((source, media.track_failed(track, source, failure.clone(), now)?))
            });
            if let Some((source, (media, events))) = found {
                tx.save_tracks(&media, &events).await?;
                remove(tx, &job, source, now).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}
