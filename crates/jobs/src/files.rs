//! The files that a client wants of a media beside playback: what they need is made, what they do not need
//! any more is removed, and when all of them can be fetched it is told.
//!
//! What is copied needs nothing, so most media say so at once. What is encoded waits in the line of the
//! fills.

use kinora_domain::{MediaId, MediaState, PresentationId, SourceId, error_chain};
use kinora_packager::{Error, FileBounds, MediaFile, Packaged, Rendition, whole_of};
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, Tx};

use crate::Context;
use crate::error::JobError;

/// What the files of a media need, as it is now.
struct Needs {
    bounds: FileBounds,
    /// At least one of the files that are wanted can be made of the source.
    has_some: bool,
    /// The renditions that must be there as a whole.
    wholes: Vec<Rendition>,
}

/// Looks what the files of a ready media need. Says that they can be fetched, or has the rest encoded.
///
/// May run twice. The event is in the commit that ends the job, and whoever wants other files ends the job
/// first: a wish is told once.
pub(crate) async fn prepare(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    match look(context, media, source).await? {
        Some((packaged, needs)) => {
            remove_unwanted(context, job, source, &needs).await?;
            let missing = missing(context, &packaged, &needs).await?;
            if missing.is_empty() {
                tell(context, job, media, needs.has_some).await
            } else {
                encode_next(context, job, media, source).await
            }
        }
        None => done(context, job).await,
    }
}

/// Encodes what the files of a ready media need, and says that they can be fetched.
///
/// May run twice, and goes on where an earlier run ended. Its processes give way to all others. What cannot
/// be encoded is in no file: then nothing is told.
pub(crate) async fn encode(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let Some((packaged, needs)) = look(context, media, source).await? else {
        return done(context, job).await;
    };
    let mut is_whole = true;
    for rendition in &needs.wholes {
        let told = |progress: kinora_packager::FillProgress| {
            tracing::debug!(source.id = %source, rendition = %rendition, done = progress.done, of = progress.of, "a file is encoded");
        };
        let max = needs.bounds.max_resolution;
        let made = context.packager.make_whole(job, &packaged, *rendition, max, told).await;
        match made {
            Ok(()) => {}
            Err(error) if matches!(error.root(), Error::NoFrame | Error::Unmade(_) | Error::NotInPlan) => {
                tracing::warn!(source.id = %source, rendition = %rendition, error = %error_chain(&error), "a file cannot be made");
                // Another file may be made of the others.
                give_up(context, job, source, *rendition).await?;
                is_whole = false;
            }
            // The media was deleted meanwhile.
            Err(error) if matches!(error.root(), Error::Gone) => return done(context, job).await,
            Err(error) if matches!(error.root(), Error::Busy) => return Err(JobError::Away(Box::new(error))),
            Err(error) => return Err(error.into()),
        }
    }
    tell(context, job, media, needs.has_some && is_whole).await
}

/// Removes what was made for files that nobody wants any more.
///
/// May run twice. The rows go while this job is the last wish; then nothing is made or read under their ids
/// any more, so the objects may go whenever it is, and are swept otherwise.
async fn remove_unwanted(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    needs: &Needs,
) -> Result<(), JobError> {
    let rows = context.store.renditions_of(PresentationId::of(source)).await?;
    let is_unwanted = |name: &str| whole_of(name).is_some_and(|whole| !needs.wholes.contains(&whole));
    let unwanted: Vec<_> = rows.iter().filter(|row| is_unwanted(&row.name)).map(|row| row.id).collect();
    if unwanted.is_empty() {
        return Ok(());
    }
    let (job, rows) = (job.clone(), unwanted.clone());
    let forget = async move |tx: &mut Tx| {
        tx.hold_job(&job).await?;
        for id in &rows {
            tx.delete_rendition(*id).await?;
        }
        Ok::<_, JobError>(())
    };
    context.store.write(forget).await?;
    for id in unwanted {
        context.packager.remove_whole(id).await?;
    }
    Ok(())
}

/// This rendition cannot be made as a whole, and who asks for its file is told so.
async fn give_up(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    rendition: Rendition,
) -> Result<(), JobError> {
    let whole = context.store.renditions_of(PresentationId::of(source)).await?;
    let whole = whole.into_iter().find(|row| whole_of(&row.name) == Some(rendition));
    let (job, now) = (job.clone(), context.clock.now());
    let give_up = async move |tx: &mut Tx| {
        tx.hold_job(&job).await?;
        if let Some(row) = &whole {
            tx.set_rendition_broken(row.id, now).await?;
        }
        Ok::<_, JobError>(())
    };
    context.store.write(give_up).await
}

/// What the media needs; `None` when it is gone or has another source by now.
async fn look(
    context: &Context,
    media: MediaId,
    source: SourceId,
) -> Result<Option<(std::sync::Arc<Packaged>, Needs)>, JobError> {
    let Some(media) = context.store.media_by_id(media).await? else { return Ok(None) };
    let MediaState::Ready { source: current, facts, .. } = &media.state else { return Ok(None) };
    if *current != source {
        return Ok(None);
    }
    let packaged = match context.packager.packaged(PresentationId::of(source)).await {
        Err(error) if matches!(error.root(), Error::Gone) => return Ok(None),
        packaged => packaged?,
    };
    let bounds = FileBounds {
        max_resolution: media.settings.max_resolution,
        is_video_withdrawn: facts.does_not_decode,
    };
    let wanted = media.settings.mp4_support;
    let files = [(MediaFile::Capped4k, wanted.capped_4k), (MediaFile::AudioOnly, wanted.audio_only)];
    let (mut has_some, mut wholes) = (false, Vec::new());
    for (file, _) in files.into_iter().filter(|(_, is_wanted)| *is_wanted) {
        for rendition in file.renditions(&packaged, bounds).inspect(|_| has_some = true).into_iter().flatten()
        {
            if rendition.is_encoded() && !wholes.contains(&rendition) {
                wholes.push(rendition);
            }
        }
    }
    Ok(Some((packaged, Needs { bounds, has_some, wholes })))
}

async fn missing(context: &Context, packaged: &Packaged, needs: &Needs) -> Result<Vec<Rendition>, JobError> {
    let mut missing = Vec::new();
    for rendition in &needs.wholes {
        if !context.packager.has_whole(packaged, *rendition).await? {
            missing.push(*rendition);
        }
    }
    Ok(missing)
}

/// Ends the job with the event that the files can be fetched, where there are any.
async fn tell(context: &Context, job: &ClaimedJob, media: MediaId, has_some: bool) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: whoever lost the lease tells nothing
            let media = tx.media_by_id(media).await?.ok_or(JobError::LeaseLost)?;
            if has_some && !media.settings.mp4_support.is_none() {
                tx.push_event(&media.files_ready(now)).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

/// Ends the job; the rest is done in the line of the fills.
async fn encode_next(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let kind = JobKind::EncodeFiles { media, source };
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            // Before fills that nobody asked for.
            let workspace = job.workspace;
            tx.enqueue(NewJob { kind, workspace, run_at: now, priority: Priority::Normal }).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn done(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let job = job.clone();
    let complete = async move |tx: &mut Tx| tx.complete_job(&job).await;
    context.store.write(complete).await?;
    Ok(())
}
