//! Computes the BlurHash of the thumbnail of a ready media, which pages show until the image has loaded
//! (D-0096).

use kinora_domain::{Media, MediaId, MediaState, PresentationId, SourceId};
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Stores the BlurHash of the current thumbnail. A change of the thumbnail queues its own job.
///
/// May run twice: the same image has the same hash, and a stored hash is not computed again.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let found = context.store.media_by_id(media).await?.filter(|media| needs_blurhash(media, source));
    let thumbnail_ms = found.as_ref().and_then(|media| media.thumbnail_ms);
    let hash = match found {
        Some(_) => compute_blurhash(context, source, thumbnail_ms).await?,
        None => None,
    };
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(hash) = &hash else { return Ok(()) };
            // The job of a newer thumbnail may have finished first.
            let found = tx.media_by_id(media).await?.filter(|media| needs_blurhash(media, source));
            if found.is_some_and(|media| media.thumbnail_ms == thumbnail_ms) {
                tx.save_blur_hash(media, source, thumbnail_ms, hash).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

fn needs_blurhash(media: &Media, source: SourceId) -> bool {
    let is_current = matches!(&media.state, MediaState::Ready { source: current, .. } if *current == source);
    is_current && media.blur_hash.is_none()
}

/// `None` if the media has no thumbnail, or the frame does not decode.
async fn compute_blurhash(
    context: &Context,
    source: SourceId,
    thumbnail_ms: Option<u64>,
) -> Result<Option<String>, JobError> {
    let compute = async {
        let packaged = context.packager.packaged(PresentationId::of(source)).await?;
        context.packager.blur_hash(&packaged, thumbnail_ms).await
    };
    match compute.await {
        Ok(hash) => Ok(Some(hash)),
        Err(error) if matches!(error.root(), Error::Gone | Error::NoImage) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, created, ready, source_id};

    #[test]
    fn blurhash_needs_ready_media_without_one() {
        let check = |media: &Media, expected: bool| {
            assert_eq!(
                needs_blurhash(media, source_id(5)),
                expected,
                "{:?} {:?}",
                media.state,
                media.blur_hash
            );
        };
        check(&created(), false);
        check(&created().start_download(source_id(5), at(2)).unwrap(), false);
        check(&ready(source_id(5)), true);
        check(&ready(source_id(6)), false);
        check(&Media { blur_hash: Some("L00000fQ".into()), ..ready(source_id(5)) }, false);
    }
}
