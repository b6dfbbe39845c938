//! Makes a media of the file of a direct upload, where that takes longer than a request may: it must be
//! repacked, or begun to be encoded.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{Failure, MediaId, PresentationId, SourceId, Upload};
use kinora_formats::{Scanned, Scanner};
use kinora_index::Index;
use kinora_intake::{Missing, Scan, ScanTurn, Whole, give_up as give_up_upload, of_index, take_over};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::claim::Claim;
use crate::error::{JobError, internal_failure};
use crate::ingest::remux::{self, Foreign};
use crate::ingest::sound;
use crate::ingest::{first, has_its_bytes, scanned_again};
use crate::patience::{PATIENCE, Waiter, keep_trying};

/// Makes the media ready, or failed with its reason. May run twice: until the last commit nothing names what
/// it makes.
pub(crate) async fn run(context: &Context, job: &Claim, media: MediaId) -> Result<(), JobError> {
    let upload = context.store.upload_by_id(media).await?;
    let Some(upload) = upload.filter(|upload| upload.is_settled() && upload.holds_source()) else {
        let job = job.claimed();
        return Ok(context.store.write(async move |tx| tx.complete_job(&job).await).await?);
    };
    match make_ready(context, job, &upload).await {
        Err(JobError::Fatal(failure)) => {
            let step = || fail(context, job, media, failure.clone());
            keep_trying(Waiter::Job(job.id), PATIENCE, step).await
        }
        ended => ended,
    }
}

/// Ends a media whose attempts are used up by faults of ours.
pub(crate) async fn give_up(context: &Context, job: &ClaimedJob, media: MediaId) -> Result<(), JobError> {
    fail(context, job, media, internal_failure()).await
}

async fn make_ready(context: &Context, job: &Claim, upload: &Upload) -> Result<(), JobError> {
    let (source, max, media) = (upload.source, upload.settings.max_resolution, upload.id);
    let (index, turn) = index(context, job, upload).await?;
    let mut facts = of_index(&index, max, context.clock.now(), &*context.random);
    let missing = Missing::of(&index, max);
    drop((index, turn)); // its tables may be large, and what follows may take minutes
    facts.does_not_decode = first::made(context, job, source, max, missing).await?.picture;
    let commit = || async {
        let (job, facts, now) = (job.claimed(), facts.clone(), context.clock.now());
        context
            .store
            .write(async move |tx| {
                tx.complete_job(&job).await?; // first: whoever lost the lease changes nothing
                take_over(tx, media, facts.clone(), missing, now).await
            })
            .await?;
        Ok(())
    };
    keep_trying(Waiter::Job(job.id), PATIENCE, commit).await
}

/// The index of the file, and the turn in which it is in memory. It is the one that the upload or an earlier
/// run stored, or a new one.
async fn index(context: &Context, job: &Claim, upload: &Upload) -> Result<(Index, ScanTurn), JobError> {
    let (source, workspace) = (upload.source, job.workspace);
    if let Some(reader) = context.blob.reader(ObjectKey::Index(PresentationId::of(source))).await? {
        let turn = context.scans.turn(reader.len(), workspace).await;
        let bytes = reader.read_at(0..reader.len()).await?;
        let index = Index::from_bytes(&bytes).map_err(|error| JobError::Retry(Box::new(error)))?;
        if has_its_bytes(context, source, &index).await? {
            return Ok((index, turn));
        }
        // Two runs stood in each other's way: what one of them wrote speaks of what the other has removed.
        context.blob.delete(ObjectKey::Index(PresentationId::of(source))).await?;
    }
    let Whole { scanned, turn } = scanned(context, upload).await?;
    let stored = match scanned {
        Scanned::Index(index) if upload.settings.sound.is_none() => {
            put(context, source, &index).await?;
            return Ok((index, turn));
        }
        Scanned::Index(index) => {
            let stored = context.scans.store_index(index).await?;
            drop(turn);
            stored
        }
        Scanned::Foreign { container, len, sha256, refusal, facts } => {
            drop(turn);
            // What an earlier run left: without an index nobody reads it.
            context.blob.delete(ObjectKey::Normalised(source)).await?;
            let foreign = Foreign { source, workspace, container, len, sha256, refusal, facts };
            remux::normalise(context, job, &foreign).await?
        }
    };
    let (index, turn) = match &upload.settings.sound {
        None => stored.load_in_turn(&context.scans, workspace).await?,
        Some(edit) => {
            // What an earlier run left. Whoever has lost the job meanwhile takes nothing from a media that
            // another one made.
            let held = job.claimed();
            context.store.write(async move |tx| tx.hold_job(&held).await).await?;
            context.blob.delete(ObjectKey::Sound(source)).await?;
            Box::pin(sound::edited(context, job, source, stored, edit)).await?
        }
    };
    put(context, source, &index).await?;
    Ok((index, turn))
}

async fn put(context: &Context, source: SourceId, index: &Index) -> Result<(), JobError> {
    context
        .blob
        .put_once(ObjectKey::Index(PresentationId::of(source)), Bytes::from(index.to_bytes()))
        .await?;
    Ok(())
}

/// What the file is, as it was read while it came; read once more where that is not known.
async fn scanned(context: &Context, upload: &Upload) -> Result<Whole, JobError> {
    let checkpoint = context.blob.checkpoint(upload.source).await?;
    let whole = checkpoint.filter(|(at, _)| Some(*at) == upload.length);
    match whole.map(|(_, state)| Scanner::from_checkpoint(&state)) {
        Some(Ok(scanner)) if Some(scanner.len()) == upload.length => {
            let scan = Scan::resume(&context.scans, Some(upload.workspace), scanner);
            Ok(scan.finish().await?)
        }
        _ => scanned_again(context, upload.source, upload.workspace).await,
    }
}

async fn fail(context: &Context, job: &ClaimedJob, media: MediaId, failure: Failure) -> Result<(), JobError> {
    let (job, now) = (job.clone(), context.clock.now());
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            give_up_upload(tx, media, failure.clone(), now).await
        })
        .await?;
    Ok(())
}
