//! Brings in subtitles that were added to a media: from an address, kept as WebVTT, and then one commit.
//! Sound is in `fetch_sound.rs`.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{AddedTrack, Failure, FailureCode, MediaId, SourceId, Timestamp, TrackId};
use kinora_fetch::{DownloadError, NextAttempt, Pause, Sink};
use kinora_hls::subtitles::Subtitles;
use kinora_store::{ClaimedJob, JobKind, NewJob, Tx};

use crate::Context;
use crate::error::{JobError, internal_failure_of_track};
use crate::later;
use crate::lost_lease;
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// Bytes of the largest file of subtitles. Those of a film have some hundred KiB; the rest is for styles and
/// for 16 bits a letter (D-0071).
pub(crate) const SUBTITLES_BYTES_MAX: usize = 10 << 20;

/// What a track is and where it will lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) media: MediaId,
    pub(crate) track: TrackId,
    pub(crate) source: SourceId,
}

/// Fetches a track and makes it available, or failed with its reason; the media is what it was in both cases.
///
/// May run twice: what is kept under the source first is what it is, and the last commit changes a track only
/// if it still waits for this source.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, wanted: Wanted) -> Result<(), JobError> {
    let Some(track) = waiting(context, wanted).await? else {
        // Deleted, changed, or settled by an earlier run.
        let job = job.clone();
        context.store.write(async move |tx| tx.complete_job(&job).await).await?;
        return Ok(());
    };
    let ended = match bring_in(context, job, &track, wanted.source).await {
        Ok(()) => make_available(context, job, wanted).await,
        Err(error) => Err(error),
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || end(context, job, wanted, Some(failure.clone()));
            keep_trying(Waiter::Job(job.id), PATIENCE, step).await
        }
        ended => ended,
    }
}

/// Ends a track whose attempts are used up by faults of ours.
pub(crate) async fn give_up(context: &Context, job: &ClaimedJob, wanted: Wanted) -> Result<(), JobError> {
    end(context, job, wanted, Some(internal_failure_of_track())).await
}

/// The track, if it still waits for this.
async fn waiting(context: &Context, wanted: Wanted) -> Result<Option<AddedTrack>, JobError> {
    let media = context.store.media_by_id(wanted.media).await?;
    let track = media.and_then(|media| media.added_track(wanted.track).cloned());
    Ok(track.filter(|track| track.preparing() == Some(wanted.source)))
}

/// Fetches the file, reads it, and keeps it as players get it.
async fn bring_in(
    context: &Context,
    job: &ClaimedJob,
    track: &AddedTrack,
    source: SourceId,
) -> Result<(), JobError> {
    let address = kinora_fetch::parse_source_url(&track.wanted.url).map_err(|problem| {
        JobError::Fatal(Failure::new(FailureCode::SourceUnreachable, format!("the address {problem}")))
    })?;
    let mut file = File(Vec::new());
    let tries = later::tries(context, job);
    match context.fetcher.download(&address, &mut file, &*context.random, tries).await {
        Ok(_) => {}
        Err(DownloadError::Fetch(error)) => return Err(JobError::Fatal(error.failure())),
        Err(DownloadError::Sink(FileError::TooLarge)) => return Err(too_large("is")),
        Err(DownloadError::Sink(FileError::Later(pause))) => return Err(JobError::Later(pause)),
    }
    // Some MiB of text take longer than others should wait for this thread.
    let read = tokio::task::spawn_blocking(move || Subtitles::read(&file.0).map(|read| read.to_webvtt()));
    let text = match read.await {
        // Some letters take more room in WebVTT. Beyond this bound it would be read anew for each viewer.
        Ok(Ok(text)) if text.len() > SUBTITLES_BYTES_MAX => {
            return Err(too_large("would as WebVTT be"));
        }
        Ok(Ok(text)) => text,
        Ok(Err(error)) => {
            return Err(JobError::Fatal(Failure::new(FailureCode::NotSubtitles, error.to_string())));
        }
        Err(panic) => return Err(JobError::Retry(Box::new(panic))),
    };
    context.blob.put_once(ObjectKey::Subtitle(source), Bytes::from(text)).await?;
    Ok(())
}

fn too_large(how: &str) -> JobError {
    let sentence = format!("the file of subtitles {how} larger than {SUBTITLES_BYTES_MAX} bytes");
    JobError::Fatal(Failure::new(FailureCode::SourceTooLarge, sentence))
}

/// The commit behind the bytes: row, events and job.
async fn make_available(context: &Context, job: &ClaimedJob, wanted: Wanted) -> Result<(), JobError> {
    let step = || end(context, job, wanted, None);
    let ended = keep_trying(Waiter::Job(job.id), PATIENCE, step).await;
    lost_lease::clean_up(context, job, wanted.source, ended).await
}

/// Ends the job, and the waiting of its track if that still waits for this: well, or with a reason.
async fn end(
    context: &Context,
    job: &ClaimedJob,
    wanted: Wanted,
    failure: Option<Failure>,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let Wanted { media, track, source } = wanted;
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: whoever lost the lease changes nothing
            let media = tx.media_by_id(media).await?;
            let moved = media.and_then(|media| match failure.clone() {
                None => media.track_ready(track, source, now),
                Some(failure) => media.track_failed(track, source, failure, now),
            });
            if let Some((media, events)) = moved {
                tx.save_tracks(&media, &events).await?;
                if failure.is_some() {
                    remove(tx, &job, source, now).await?;
                }
            }
            Ok::<_, JobError>(())
        })
        .await
}

pub(crate) async fn remove(
    tx: &mut Tx,
    job: &ClaimedJob,
    source: SourceId,
    now: Timestamp,
) -> Result<(), JobError> {
    tx.enqueue_once(NewJob::soon(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
    Ok(())
}

/// A small file, in memory.
struct File(Vec<u8>);

/// Why the download of a small file ended.
enum FileError {
    /// It is not so small.
    TooLarge,
    /// It was cut and begins anew then.
    Later(Pause),
}

impl Sink for File {
    type Error = FileError;

    async fn restart(&mut self) -> Result<(), FileError> {
        self.0.clear();
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), FileError> {
        if self.0.len() + bytes.len() > SUBTITLES_BYTES_MAX {
            return Err(FileError::TooLarge);
        }
        self.0.extend_from_slice(&bytes);
        Ok(())
    }

    async fn pause(&mut self, pause: Pause) -> Result<NextAttempt, FileError> {
        Err(FileError::Later(pause))
    }

    async fn resume(&mut self) -> Result<(), FileError> {
        Ok(())
    }
}
