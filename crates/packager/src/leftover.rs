//! What is written for a media while that is deleted.

use bytes::Bytes;
use kinora_blob::{ObjectKey, PutOutcome};
use kinora_domain::PresentationId;

use crate::{Error, Packager};

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is kept.
    Written,
    /// Another one was faster, whose bytes are everybody's.
    AlreadyThere,
    /// Its media was deleted meanwhile, and it is not kept.
    Gone,
}

impl Packager {
    /// Writes an object that was made of a presentation; none stays of a presentation that no row names.
    ///
    /// A media's row goes before its objects. So either whoever writes finds no row afterwards, or the object
    /// lay there before those were listed. It is done to its end, though the run that asks for it is ended,
    /// as the deletion of a media does. What a process that ends in between leaves is swept a day later.
    ///
    /// Errors: those of the store of objects, and [`Error::Busy`] when the packager stops.
    pub(crate) async fn put(
        &self,
        presentation: PresentationId,
        key: ObjectKey,
        bytes: Bytes,
    ) -> Result<Put, Error> {
        let packager = self.clone();
        // A store that is slow does not hold up a process that stops.
        let put = async move { packager.unless_stopped(packager.put_once(presentation, key, bytes)).await? };
        // A panic is a bug, and was told where it happened.
        self.spawn_run(put).await.unwrap_or(Err(Error::Busy))
    }

    async fn put_once(
        &self,
        presentation: PresentationId,
        key: ObjectKey,
        bytes: Bytes,
    ) -> Result<Put, Error> {
        if self.blob.put_once(key, bytes).await? == PutOutcome::AlreadyThere {
            return Ok(Put::AlreadyThere);
        }
        match self.store.workspace_of_presentation(presentation).await {
            Ok(Some(_)) => Ok(Put::Written),
            Ok(None) => {
                self.blob.delete(key).await?;
                Ok(Put::Gone)
            }
            // It is there for all who wait; whose it is concerns the sweep alone.
            Err(error) => {
                tracing::warn!(presentation.id = %presentation, error = %error, "it is not known whether the media of an object is still there");
                Ok(Put::Written)
            }
        }
    }
}
