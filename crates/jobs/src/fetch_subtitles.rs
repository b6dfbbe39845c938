//! Downloads added subtitles of a media from a URL, or reads those of the origin of a clip. Stores them as
//! WebVTT, then commits once. `fetch_audio_track.rs` does this for audio.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{AddedTrack, Failure, FailureCode, Media, MediaId, SourceId, Timestamp, TrackId};
use kinora_fetch::{DownloadError, NextAttempt, Pause, Sink};
use kinora_hls::subtitles::{Subtitles, SubtitlesError};
use kinora_store::{ClaimedJob, JobKind, NewJob, Tx};

use crate::Context;
use crate::error::{JobError, internal_failure_of_track};
use crate::lost_lease;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};
use crate::reschedule;

/// Largest subtitle file in bytes. Those of a film have some hundred KiB; the rest allows for styles and for
/// 16 bits per letter (D-0071).
pub(crate) const SUBTITLES_BYTES_MAX: usize = 10 << 20;

/// The track to fetch, and the source id of its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackFetch {
    pub(crate) media: MediaId,
    pub(crate) track: TrackId,
    pub(crate) source: SourceId,
}

/// Fetches a track and makes it available, or failed with the reason; the media itself does not change.
///
/// May run twice: the first object stored under the source is final. The last commit changes a track only if
/// it still waits for this source.
pub(crate) async fn run(context: &Context, job: &ClaimedJob, fetch: TrackFetch) -> Result<(), JobError> {
    let Some((media, track)) = pending_track(context, fetch).await? else {
        // The track was deleted, changed, or settled by an earlier run.
        let job = job.clone();
        context.store.write(async move |tx| tx.complete_job(&job).await).await?;
        return Ok(());
    };
    let stored = async {
        let file = match track.cut_from {
            Some(origin) => read_stored(context, origin).await?,
            None => download(context, job, &track).await?,
        };
        store(context, edited_ranges(&media, &track), file, fetch.source).await
    };
    let ended = match stored.await {
        Ok(()) => make_available(context, job, fetch).await,
        Err(error) => Err(error),
    };
    match ended {
        Err(JobError::Fatal(failure)) => {
            let step = || finish_track(context, job, fetch, Some(failure.clone()));
            retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, step).await
        }
        ended => ended,
    }
}

/// Fails a track whose attempts are exhausted by internal errors.
pub(crate) async fn fail_exhausted(
    context: &Context,
    job: &ClaimedJob,
    fetch: TrackFetch,
) -> Result<(), JobError> {
    finish_track(context, job, fetch, Some(internal_failure_of_track())).await
}

/// The track with its media, if it still waits for this source.
async fn pending_track(
    context: &Context,
    fetch: TrackFetch,
) -> Result<Option<(Media, AddedTrack)>, JobError> {
    let Some(media) = context.store.media_by_id(fetch.media).await? else { return Ok(None) };
    let track = media.added_track(fetch.track).cloned();
    let track = track.filter(|track| track.preparing() == Some(fetch.source));
    Ok(track.map(|track| (media, track)))
}

/// Where the ranges of the base play, in milliseconds; `None` if the times of the track are those that play.
fn edited_ranges(media: &Media, track: &AddedTrack) -> Option<Vec<(Range<u64>, u64)>> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let ranges = media.base_ranges.iter();
    let ranges = ranges.map(|range| (millis(range.base.start)..millis(range.base.end), millis(range.at)));
    (track.is_on_base && !media.base_ranges.is_empty()).then(|| ranges.collect())
}

/// The stored subtitles of a track of the origin. The clip uses them until this track is settled, so they
/// exist even if the origin was deleted.
async fn read_stored(context: &Context, origin: SourceId) -> Result<Vec<u8>, JobError> {
    let text = context.blob.get(ObjectKey::Subtitle(origin)).await?;
    Ok(text.ok_or_else(|| JobError::Fatal(internal_failure_of_track()))?.into())
}

/// Fetches the file.
async fn download(context: &Context, job: &ClaimedJob, track: &AddedTrack) -> Result<Vec<u8>, JobError> {
    let address = kinora_fetch::parse_source_url(&track.spec.url).map_err(|problem| {
        JobError::Fatal(Failure::new(FailureCode::SourceUnreachable, format!("the URL {problem}")))
    })?;
    let mut file = SmallFile(Vec::new());
    let budget = reschedule::retry_budget(context, job);
    match context.fetcher.download(&address, &mut file, &*context.random, budget).await {
        Ok(_) => Ok(file.0),
        Err(DownloadError::Fetch(error)) => Err(JobError::Fatal(error.failure())),
        Err(DownloadError::Sink(SmallFileError::TooLarge)) => Err(too_large("is")),
        Err(DownloadError::Sink(SmallFileError::Retry(pause))) => Err(JobError::SourceRetry(pause)),
    }
}

/// Parses a file, and stores it as WebVTT with the times that play.
async fn store(
    context: &Context,
    ranges: Option<Vec<(Range<u64>, u64)>>,
    file: Vec<u8>,
    source: SourceId,
) -> Result<(), JobError> {
    // Some MiB of text would block this thread for too long.
    let read = tokio::task::spawn_blocking(move || {
        let read = Subtitles::read(&file)?;
        let played = ranges.map_or(Ok(read.clone()), |ranges| read.edited(&ranges))?;
        Ok::<_, SubtitlesError>(played.to_webvtt())
    });
    let text = match read.await {
        // Some letters are longer in WebVTT. A larger text would be parsed again for each viewer.
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
    let sentence = format!("the subtitle file {how} larger than {SUBTITLES_BYTES_MAX} bytes");
    JobError::Fatal(Failure::new(FailureCode::SourceTooLarge, sentence))
}

/// The commit after the bytes: row, events and job.
async fn make_available(context: &Context, job: &ClaimedJob, fetch: TrackFetch) -> Result<(), JobError> {
    let step = || finish_track(context, job, fetch, None);
    let ended = retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, step).await;
    lost_lease::clean_up(context, job, fetch.source, ended).await
}

/// Ends the job and, if its track still waits for this source, makes the track available or failed.
async fn finish_track(
    context: &Context,
    job: &ClaimedJob,
    fetch: TrackFetch,
    failure: Option<Failure>,
) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    let TrackFetch { media, track, source } = fetch;
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
            let media = tx.media_by_id(media).await?;
            let cut_from = media.as_ref().and_then(|media| media.added_track(track)?.cut_from);
            let updated = media.and_then(|media| match failure.clone() {
                None => media.finish_track(track, source, now),
                Some(failure) => media.fail_track(track, source, failure, now),
            });
            if let Some((media, events)) = updated {
                tx.save_tracks(&media, &events).await?;
                if let Some(origin) = cut_from {
                    tx.release_source(media.id, origin, job.workspace, now).await?;
                }
                if failure.is_some() {
                    enqueue_object_deletion(tx, &job, source, now).await?;
                }
            }
            Ok::<_, JobError>(())
        })
        .await
}

pub(crate) async fn enqueue_object_deletion(
    tx: &mut Tx,
    job: &ClaimedJob,
    source: SourceId,
    now: Timestamp,
) -> Result<(), JobError> {
    tx.enqueue_unique(NewJob::due_now(JobKind::DeleteObjects { source }, job.workspace, now)).await?;
    Ok(())
}

/// A small file in memory.
struct SmallFile(Vec<u8>);

/// Why the download of a small file failed.
enum SmallFileError {
    /// The file is too large.
    TooLarge,
    /// The download was interrupted and must start from the first byte.
    Retry(Pause),
}

impl Sink for SmallFile {
    type Error = SmallFileError;

    async fn restart(&mut self) -> Result<(), SmallFileError> {
        self.0.clear();
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), SmallFileError> {
        if self.0.len() + bytes.len() > SUBTITLES_BYTES_MAX {
            return Err(SmallFileError::TooLarge);
        }
        self.0.extend_from_slice(&bytes);
        Ok(())
    }

    async fn pause(&mut self, pause: Pause) -> Result<NextAttempt, SmallFileError> {
        Err(SmallFileError::Retry(pause))
    }

    async fn resume(&mut self) -> Result<(), SmallFileError> {
        Ok(())
    }
}
