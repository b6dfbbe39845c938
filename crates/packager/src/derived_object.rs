//! Writes derived objects, and removes them if the media was deleted meanwhile.

use bytes::Bytes;
use kinora_blob::{ObjectKey, PutOutcome};
use kinora_domain::PresentationId;

use crate::{Error, Packager};

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DerivedPut {
    /// The object is stored.
    Written,
    /// Another writer stored the object first, and its bytes remain.
    AlreadyThere,
    /// Its media was deleted meanwhile, and the object was removed.
    Gone,
}

impl Packager {
    /// Writes an object of a presentation, and removes it if no row names the presentation.
    ///
    /// A media's row is deleted before its objects. So either the writer finds no row afterwards, or the
    /// object was there before the objects were listed. The write runs to its end even if its run is
    /// cancelled, which the deletion of a media does. If a process ends in between, a sweep removes the
    /// object a day later.
    ///
    /// Errors: those of the object store, and [`Error::Busy`] when the packager stops.
    pub(crate) async fn put_derived(
        &self,
        presentation: PresentationId,
        key: ObjectKey,
        bytes: Bytes,
    ) -> Result<DerivedPut, Error> {
        let packager = self.clone();
        // A slow store does not delay the stop of the process.
        let put = async move { packager.unless_stopped(packager.put_once(presentation, key, bytes)).await? };
        // A panic is a bug, and was already reported.
        self.spawn_run(put).await.unwrap_or(Err(Error::Busy))
    }

    async fn put_once(
        &self,
        presentation: PresentationId,
        key: ObjectKey,
        bytes: Bytes,
    ) -> Result<DerivedPut, Error> {
        if self.blob.put_once(key, bytes).await? == PutOutcome::AlreadyThere {
            return Ok(DerivedPut::AlreadyThere);
        }
        match self.store.workspace_of_presentation(presentation).await {
            Ok(Some(_)) => Ok(DerivedPut::Written),
            Ok(None) => {
                self.blob.delete(key).await?;
                Ok(DerivedPut::Gone)
            }
            // The object is there for all waiting requests; only the sweep needs its owner.
            Err(error) => {
                tracing::warn!(presentation.id = %presentation, error = %error, "cannot check whether the media of an object still exists");
                Ok(DerivedPut::Written)
            }
        }
    }
}
