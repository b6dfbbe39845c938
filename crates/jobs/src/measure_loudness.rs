//! Measures the loudness of the audio of a ready media, and levels it from then on. It never delays the
//! ready event (C-192).

use kinora_domain::{
    LoudnessTarget, Media, MediaId, MediaLoudness, PresentationId, SourceId, Timestamp, TrackLoudness,
    WorkspaceId, error_chain,
};
use kinora_packager::Error;
use kinora_store::{ClaimedJob, Tx};

use crate::Context;
use crate::error::{JobError, encode_ahead_result};

/// Attempts of a track whose decoder fails.
const ATTEMPTS_MAX: u32 = 3;
/// A job that finds the engine busy, or too slow, waits and counts no attempt: at most for a day.
const BUSY_MAX_US: i64 = 24 * 60 * 60 * Timestamp::SECOND;

/// Measures each audio track of the media, for the target of its workspace, and stores the gains with their
/// events.
///
/// May run twice: a measured media is not measured again, and the commit changes nothing that is equal. A
/// track that does not decode is stored as such, so that the playback report names it.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let measured = match wanted(context, media, source).await? {
        Some(wanted) => measure(context, job, source, wanted).await?,
        None => None, // deleted, measured, or no longer to be levelled
    };
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?; // first: a worker that lost the lease changes nothing
            let Some(loudness) = &measured else { return Ok(()) };
            save(tx, media, source, loudness.clone(), now).await?;
            Ok::<_, JobError>(())
        })
        .await
}

/// Ends a job that has used up its attempts: its media stays as it is, and the playback report says so.
pub(crate) async fn fail_exhausted(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
    cause: &str,
) -> Result<(), JobError> {
    let wanted = wanted(context, media, source).await?;
    let (job, cause, now) = (job.clone(), cause.to_owned(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.fail_job(&job, &cause).await?;
            let Some(Wanted { target, track_count }) = wanted else { return Ok(()) };
            let loudness = MediaLoudness { target, tracks: vec![None; track_count] };
            save(tx, media, source, loudness, now).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn save(
    tx: &mut Tx,
    media: MediaId,
    source: SourceId,
    loudness: MediaLoudness,
    now: Timestamp,
) -> Result<(), JobError> {
    let Some(media) = tx.media_by_id(media).await? else { return Ok(()) };
    // A gain that is in force is better than none.
    if media.loudness.is_some() && !loudness.tracks.iter().any(Option::is_some) {
        return Ok(());
    }
    let Some((media, events)) = media.set_loudness(source, loudness, now) else { return Ok(()) };
    tx.save_loudness(&media, &events, now).await?;
    Ok(())
}

/// What is to be measured.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    target: LoudnessTarget,
    track_count: usize,
}

async fn wanted(context: &Context, media: MediaId, source: SourceId) -> Result<Option<Wanted>, JobError> {
    let Some(media) = context.store.media_by_id(media).await? else { return Ok(None) };
    let target = target_of(context, media.workspace).await?;
    Ok(is_wanted(&media, source, target).then(|| Wanted { target, track_count: media.audio_track_count() }))
}

async fn target_of(context: &Context, workspace: WorkspaceId) -> Result<LoudnessTarget, JobError> {
    Ok(context.store.loudness_target(workspace).await?.unwrap_or_default())
}

fn is_wanted(media: &Media, source: SourceId, target: LoudnessTarget) -> bool {
    media.needs_loudness(target) == Some(source)
}

/// `None` if the media was deleted meanwhile.
async fn measure(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    Wanted { target, track_count }: Wanted,
) -> Result<Option<MediaLoudness>, JobError> {
    let packaged = match context.packager.packaged(PresentationId::of(source)).await {
        Err(error) if matches!(error.root(), Error::Gone) => return Ok(None),
        packaged => packaged?,
    };
    let (mut tracks, now): (Vec<Option<TrackLoudness>>, _) = (Vec::new(), context.clock.now());
    for audio in (0..=u8::MAX).take(track_count) {
        match context.packager.level(&packaged, audio, target).await {
            Ok(track) => tracks.push(Some(track)),
            Err(error) if is_final(&error, job.attempt, now.micros_since(job.created_at)) => {
                tracing::warn!(source.id = %source, track = audio, error = %error_chain(&error), "the loudness of audio cannot be measured");
                tracks.push(None);
            }
            Err(error) => {
                encode_ahead_result(Err(error))?;
                return Ok(None); // deleted
            }
        }
    }
    Ok(Some(MediaLoudness { target, tracks }))
}

/// Whether audio that failed in this way is given up, for a job of this age. A decoder that failed is tried
/// again, a few times only: each try decodes all audio before the damage.
fn is_final(error: &Error, attempt: u32, age_us: i64) -> bool {
    let is_tried = error.is_run_failure() && ATTEMPTS_MAX <= attempt;
    let is_too_slow = matches!(error.root(), Error::Busy) && BUSY_MAX_US <= age_us;
    is_tried || is_too_slow || error.is_source_fault() || matches!(error.root(), Error::NotListed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, created, ready, source_id, with_audio};

    #[test]
    fn only_unmeasured_audio_of_the_current_source_is_measured() {
        const TARGET: LoudnessTarget = LoudnessTarget::DEFAULT;
        let check = |media: &Media, expected: bool| {
            assert_eq!(is_wanted(media, source_id(5), TARGET), expected, "{media:?}");
        };
        let levelled = |mut media: Media| {
            media.settings.optimize_audio = true;
            media
        };
        check(&levelled(created()), false);
        check(&levelled(created().start_download(source_id(5), at(2)).unwrap()), false);
        check(&levelled(ready(source_id(5))), false);
        check(&with_audio(ready(source_id(5))), false);
        check(&levelled(with_audio(ready(source_id(5)))), true);
        check(&levelled(with_audio(ready(source_id(6)))), false);
        let mut measured = levelled(with_audio(ready(source_id(5))));
        measured.loudness = Some(MediaLoudness { target: TARGET, tracks: vec![None] });
        check(&measured, true);
        let target = LoudnessTarget::new(-23).unwrap();
        measured.loudness = Some(MediaLoudness { target, tracks: Vec::new() });
        check(&measured, true);
        measured.loudness = Some(MediaLoudness { target: TARGET, tracks: Vec::new() });
        check(&measured, false);
    }

    #[test]
    fn decode_failure_is_final_after_three_attempts() {
        let check = |error: Error, expected: [bool; 3]| {
            let found = [1, 2, 3].map(|attempt| is_final(&error, attempt, BUSY_MAX_US - 1));
            assert_eq!(found, expected, "{error:?}");
        };
        assert!(is_final(&Error::Busy, 1, BUSY_MAX_US), "not for ever");
        assert!(!is_final(&Error::Gone, 1, BUSY_MAX_US));
        check(Error::EncodeFailed("the decoder ended".into()), [false, false, true]);
        check(Error::NoFrame, [true; 3]);
        check(Error::NotListed, [true; 3]);
        check(Error::Busy, [false; 3]);
        check(Error::Gone, [false; 3]);
    }
}
