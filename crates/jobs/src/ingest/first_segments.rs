//! Encodes the first segments of a media without a copy rendition, before it is ready.

use kinora_domain::{Failure, FailureCode, PresentationId, Resolution, SourceId, error_chain};
use kinora_index::NotCopied;
use kinora_intake::RequiredEncodes;
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;
use crate::outage_retry::{OUTAGE_TIMEOUT, RetrySubject, retry_during_outage};

/// Number of tries of a first segment, if the engine fails for a reason that may be transient.
const TRIES_MAX: u32 = 2;

/// The tracks that do not decode in a source that is playable nevertheless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Undecodable {
    /// The video does not decode: only the audio is offered.
    pub(crate) video: bool,
}

/// Encodes the first segments that are missing; retries while the store or the engine is unavailable. May
/// run twice.
///
/// Video or audio that does not decode is left out if the other one can be played.
///
/// Errors: as [`encode_missing`].
pub(crate) async fn encode_with_retry(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    max: Resolution,
    missing: RequiredEncodes,
) -> Result<Undecodable, JobError> {
    if missing.is_empty() {
        return Ok(Undecodable::default());
    }
    let _permit = context.ingest_engine_permits.acquire(job.workspace).await;
    retry_during_outage(RetrySubject::Job(job.id), OUTAGE_TIMEOUT, || {
        Box::pin(encode_missing(context, source, max, missing))
    })
    .await
}

/// Encodes the first segments that are missing. The objects of the source must be stored. May run twice.
///
/// Errors: `Fatal` when nothing decodes, `Unavailable` while the engine or a store is unavailable,
/// `LeaseLost` when the media was deleted.
async fn encode_missing(
    context: &Context,
    source: SourceId,
    max: Resolution,
    missing: RequiredEncodes,
) -> Result<Undecodable, JobError> {
    let packaged = context
        .packager
        .packaged(PresentationId::of(source))
        .await
        .map_err(|error| encode_job_error(error, MediaPart::Video, None))?;
    let index = packaged.index();
    let video_reason = index.video().and_then(|(_, video)| video.not_copied.as_ref());
    let audio_reason = index.audio().and_then(|(_, audio)| audio.not_copied.as_ref());
    let video = async {
        if !missing.video {
            return Ok(());
        }
        // The first segment that players request is stored before the ready event.
        let start = context.prepares_start.then(|| packaged.start_rung(max)).flatten();
        let lowest = || packaged.rungs(max).into_iter().min_by_key(|rung| rung.name);
        let rung = start.or_else(lowest).ok_or(Error::NotListed)?;
        retry_once(|| context.packager.first_segment(&packaged, &rung)).await
    };
    let audio = async {
        let Some(number) = index.audio_number().filter(|_| missing.audio) else { return Ok(()) };
        retry_once(|| context.packager.first_audio_segment(&packaged, number)).await
    };
    // Concurrently; an error of the video takes precedence over one of the audio.
    let (video, audio) = tokio::join!(video, audio);
    match (video, audio) {
        (Ok(()), Ok(())) => Ok(Undecodable::default()),
        (Err(error), Ok(())) if error.is_source_fault() && index.audio().is_some() => {
            Ok(Undecodable { video: true })
        }
        (Ok(()), Err(error)) if error.is_source_fault() && index.video().is_some() => {
            if let Some(number) = index.audio_number() {
                let withdrawn = context.packager.withdraw_audio(&packaged, number).await;
                withdrawn.map_err(|error| encode_job_error(error, MediaPart::Audio, None))?;
            }
            Ok(Undecodable::default())
        }
        (Err(error), _) => Err(encode_job_error(error, MediaPart::Video, video_reason)),
        (_, Err(error)) => Err(encode_job_error(error, MediaPart::Audio, audio_reason)),
    }
}

async fn retry_once<Begin: Future<Output = Result<(), Error>>>(
    begin: impl Fn() -> Begin,
) -> Result<(), Error> {
    let mut tries = 1;
    loop {
        match begin().await {
            Err(error) if matches!(error.root(), Error::EncodeFailed(_)) && tries < TRIES_MAX => tries += 1,
            ended => return ended,
        }
    }
}

/// The media type, for the start of an error message.
#[derive(Debug, Clone, Copy)]
enum MediaPart {
    Video,
    Audio,
}

fn encode_job_error(error: Error, part: MediaPart, not_copied: Option<&NotCopied>) -> JobError {
    match error.root() {
        _ if error.is_disk_full() => JobError::DiskFull,
        // The media was deleted in the meantime.
        Error::Gone => JobError::LeaseLost,
        Error::Busy | Error::Store(_) | Error::Engine(_) => JobError::Unavailable(Box::new(error)),
        Error::NoFrame | Error::NoImage | Error::NotListed | Error::EncodeFailed(_) => {
            let detail = not_copied.map(|why| format!(" ({})", why.detail)).unwrap_or_default();
            tracing::warn!(error = %error_chain(&error), "the first segments of a media could not be created");
            let what = match part {
                MediaPart::Video => "the video",
                MediaPart::Audio => "the audio",
            };
            let sentence = format!("{what} of the source cannot be decoded{detail}");
            JobError::Fatal(Failure::new(FailureCode::CodecUnsupported, sentence))
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use kinora_engine::EngineError;
    use kinora_index::NotCopiedReason;

    use super::*;

    #[test]
    fn only_source_faults_fail_the_media() {
        let encode_failed = |error: EngineError| Error::EncodeFailed(Box::new(error));
        for error in [Error::Busy, Error::EngineUnavailable(EngineError::NotFound("ffmpeg".into()))] {
            assert!(matches!(encode_job_error(error, MediaPart::Video, None), JobError::Unavailable(_)));
        }
        let killed = Error::EngineUnavailable(EngineError::Killed);
        assert!(matches!(encode_job_error(killed, MediaPart::Video, None), JobError::Retry(_)));
        assert!(matches!(encode_job_error(Error::Gone, MediaPart::Audio, None), JobError::LeaseLost));
        let not_copied = NotCopied::new(NotCopiedReason::Codec, "ProRes");
        for error in [Error::NoFrame, encode_failed(EngineError::Failed { exit: None })] {
            let JobError::Fatal(failure) = encode_job_error(error, MediaPart::Video, Some(&not_copied))
            else {
                panic!("it is final")
            };
            assert_eq!(failure.code, FailureCode::CodecUnsupported);
            assert_eq!(failure.message, "the video of the source cannot be decoded (ProRes)");
        }
    }
}
