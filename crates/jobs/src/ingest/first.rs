//! First segments of a media that does not play as a copy. They are encoded before it is ready.

use kinora_domain::{Failure, FailureCode, PresentationId, Resolution, SourceId, error_chain};
use kinora_index::NotCopied;
use kinora_intake::Missing;
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// How often a beginning is tried that the engine could not make, for a reason that another try may not meet.
const TRIES_MAX: u32 = 2;

/// What does not decode of a source that plays nevertheless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Undecoded {
    /// The pictures do not decode: only the sound is offered.
    pub(crate) picture: bool,
}

/// Makes the first segments that are missing; tries again while the store or the engine does not answer. May
/// run twice.
///
/// Pictures or sound that do not decode are left out if the other one can be played.
///
/// Errors: as [`make`].
pub(crate) async fn made(
    context: &Context,
    job: &ClaimedJob,
    source: SourceId,
    max: Resolution,
    missing: Missing,
) -> Result<Undecoded, JobError> {
    if missing.is_nothing() {
        return Ok(Undecoded::default());
    }
    let _place = context.beginnings.acquire(job.workspace).await;
    keep_trying(Waiter::Job(job.id), PATIENCE, || Box::pin(make(context, source, max, missing))).await
}

/// Makes the beginnings that are missing. The objects of the source must be there. May run twice.
///
/// Errors: `Fatal` when nothing decodes, `Away` while the engine or a store is, `LeaseLost` when the media
/// was deleted.
async fn make(
    context: &Context,
    source: SourceId,
    max: Resolution,
    missing: Missing,
) -> Result<Undecoded, JobError> {
    let packaged = context
        .packager
        .packaged(PresentationId::of(source))
        .await
        .map_err(|error| explain(error, What::Pictures, None))?;
    let index = packaged.index();
    let why = index.video().and_then(|(_, video)| video.not_copied.as_ref());
    let why_sound = index.audio().and_then(|(_, audio)| audio.not_copied.as_ref());
    let pictures = async {
        if !missing.picture {
            return Ok(());
        }
        // The segment that players begin with is stored before the ready event.
        let start = context.prepares_start.then(|| packaged.start_rung(max)).flatten();
        let lowest = || packaged.rungs(max).into_iter().min_by_key(|rung| rung.name);
        let rung = start.or_else(lowest).ok_or(Error::NotInPlan)?;
        try_twice(|| context.packager.first_segment(&packaged, &rung)).await
    };
    let sound = async {
        let Some(number) = index.audio_number().filter(|_| missing.sound) else { return Ok(()) };
        try_twice(|| context.packager.first_audio_segment(&packaged, number)).await
    };
    // Beside each other, and what is said of the pictures goes before what is said of the sound.
    let (pictures, sound) = tokio::join!(pictures, sound);
    match (pictures, sound) {
        (Ok(()), Ok(())) => Ok(Undecoded::default()),
        (Err(error), Ok(())) if error.is_of_file() && index.audio().is_some() => {
            Ok(Undecoded { picture: true })
        }
        (Ok(()), Err(error)) if error.is_of_file() && index.video().is_some() => {
            if let Some(number) = index.audio_number() {
                let gone = context.packager.give_up_sound(&packaged, number).await;
                gone.map_err(|error| explain(error, What::Sound, None))?;
            }
            Ok(Undecoded::default())
        }
        (Err(error), _) => Err(explain(error, What::Pictures, why)),
        (_, Err(error)) => Err(explain(error, What::Sound, why_sound)),
    }
}

async fn try_twice<Begin: Future<Output = Result<(), Error>>>(
    begin: impl Fn() -> Begin,
) -> Result<(), Error> {
    let mut tries = 1;
    loop {
        match begin().await {
            Err(error) if matches!(error.root(), Error::Unmade(_)) && tries < TRIES_MAX => tries += 1,
            ended => return ended,
        }
    }
}

/// What was to be made, as a sentence begins.
#[derive(Debug, Clone, Copy)]
enum What {
    Pictures,
    Sound,
}

fn explain(error: Error, what: What, why: Option<&NotCopied>) -> JobError {
    match error.root() {
        _ if error.is_full() => JobError::Full,
        // The media was deleted meanwhile.
        Error::Gone => JobError::LeaseLost,
        Error::Busy | Error::Store(_) | Error::Engine(_) => JobError::Away(Box::new(error)),
        Error::NoFrame | Error::NoPicture | Error::NotInPlan | Error::Unmade(_) => {
            let found = why.map(|why| format!(" ({})", why.detail)).unwrap_or_default();
            tracing::warn!(error = %error_chain(&error), "the beginning of a media could not be made");
            let what = match what {
                What::Pictures => "the pictures",
                What::Sound => "the sound",
            };
            let sentence = format!("{what} of the source cannot be decoded{found}");
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
    fn the_source_is_blamed_for_what_it_did_and_nothing_else() {
        let unmade = |error: EngineError| Error::Unmade(Box::new(error));
        for error in [Error::Busy, Error::EngineAway(EngineError::NotFound("ffmpeg".into()))] {
            assert!(matches!(explain(error, What::Pictures, None), JobError::Away(_)));
        }
        let killed = Error::EngineAway(EngineError::Killed);
        assert!(matches!(explain(killed, What::Pictures, None), JobError::Retry(_)));
        assert!(matches!(explain(Error::Gone, What::Sound, None), JobError::LeaseLost));
        let why = NotCopied::new(NotCopiedReason::Codec, "ProRes");
        for error in [Error::NoFrame, unmade(EngineError::Failed { exit: None })] {
            let JobError::Fatal(failure) = explain(error, What::Pictures, Some(&why)) else {
                panic!("it is final")
            };
            assert_eq!(failure.code, FailureCode::CodecUnsupported);
            assert_eq!(failure.message, "the pictures of the source cannot be decoded (ProRes)");
        }
    }
}
