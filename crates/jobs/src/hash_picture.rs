//! Looks what the picture of a ready media looks like from afar, so that pages have something to show until
//! they have the picture (D-0096).

use kinora_domain::{Media, MediaId, MediaState, PresentationId, SourceId};
use kinora_packager::Error;
use kinora_store::ClaimedJob;

use crate::Context;
use crate::error::JobError;

/// Keeps the hash of the picture that stands for the media now. When another one stands for it meanwhile,
/// that one's job is on its way.
///
/// May run twice: the same picture has the same hash, and what is known is not looked at again.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let found = context.store.media_by_id(media).await?.filter(|media| is_wanted(media, source));
    let thumbnail_ms = found.as_ref().and_then(|media| media.thumbnail_ms);
    let hash = match found {
        Some(_) => hash(context, source, thumbnail_ms).await?,
        None => None,
    };
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let Some(hash) = &hash else { return Ok(()) };
            // The job of another picture may have been quicker than this one.
            let found = tx.media_by_id(media).await?.filter(|media| is_wanted(media, source));
            if found.is_some_and(|media| media.thumbnail_ms == thumbnail_ms) {
                tx.save_blur_hash(media, source, thumbnail_ms, hash).await?;
            }
            Ok::<_, JobError>(())
        })
        .await
}

fn is_wanted(media: &Media, source: SourceId) -> bool {
    let is_current = matches!(&media.state, MediaState::Ready { source: current, .. } if *current == source);
    is_current && media.blur_hash.is_none()
}

/// `None` where there is no picture, or none that decodes: the media has none to show either.
async fn hash(
    context: &Context,
    source: SourceId,
    thumbnail_ms: Option<u64>,
) -> Result<Option<String>, JobError> {
    let look = async {
        let packaged = context.packager.packaged(PresentationId::of(source)).await?;
        context.packager.blur_hash(&packaged, thumbnail_ms).await
    };
    match look.await {
        Ok(hash) => Ok(Some(hash)),
        Err(error) if matches!(error.root(), Error::Gone | Error::NoPicture) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, created, ready, source_id};

    #[test]
    fn only_a_ready_media_of_that_source_without_a_hash_wants_one() {
        let check = |media: &Media, expected: bool| {
            assert_eq!(is_wanted(media, source_id(5)), expected, "{:?} {:?}", media.state, media.blur_hash);
        };
        check(&created(), false);
        check(&created().start_download(source_id(5), at(2)).unwrap(), false);
        check(&ready(source_id(5)), true);
        check(&ready(source_id(6)), false);
        check(&Media { blur_hash: Some("L00000fQ".into()), ..ready(source_id(5)) }, false);
    }
}
