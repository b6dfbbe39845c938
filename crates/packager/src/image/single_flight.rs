//! Serves images from memory, from the store, or by a run: one run for all requests, which ends even if all
//! clients disconnect.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_blob::{ImageHash, ObjectKey, ObjectReader, Prefix};
use kinora_domain::PresentationId;

use super::image_quota::{IMAGES_PER_SOURCE_MAX, is_within_quota};
use super::in_flight::{InFlight, MakeFuture};
use super::queue::ImageCost;
use crate::derived_object::DerivedPut;
use crate::segment::{CACHED_BYTES_MAX, Segment};
use crate::{Error, Packaged, Packager, PlaybackClient};

/// Key of an image.
pub(super) type ImageKey = (PresentationId, ImageHash);

/// A requested image.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageTask {
    pub(super) cost: ImageCost,
    pub(super) hash: ImageHash,
    /// Whether it is stored even above the limit of images: every page of the media shows it, so requests for
    /// many other images must not cause it to be made again each time.
    pub(super) is_quota_exempt: bool,
}

/// A thumbnail, a clip or a sheet.
pub struct Image {
    content: Segment,
    is_placeholder: bool,
}

impl Image {
    /// Whether it shows the keyframe because the requested frame exceeds a limit now. No cache
    /// may store it for the requested frame.
    pub fn is_placeholder(&self) -> bool {
        self.is_placeholder
    }

    /// The content to send: in memory if it is small, else read while it is sent.
    pub fn into_content(self) -> Segment {
        self.content
    }

    /// Marks it as a fallback for the requested image.
    pub(super) fn into_placeholder(self) -> Self {
        Self { is_placeholder: true, ..self }
    }

    /// All bytes in one piece.
    ///
    /// Errors: those of the store.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        self.content.bytes().await
    }
}

/// The bytes of an image, for all requests of it.
#[derive(Debug, Clone)]
pub(super) enum ImageContent {
    Whole(Bytes),
    /// Stored, and too large to buffer for a slow client.
    Object(ObjectReader),
}

impl ImageContent {
    /// Bytes of its own memory.
    pub(super) fn weight(&self) -> u32 {
        match self {
            Self::Whole(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            Self::Object(_) => 1,
        }
    }
}

impl From<ImageContent> for Image {
    fn from(ready: ImageContent) -> Self {
        let content = match ready {
            ImageContent::Whole(bytes) => Segment::of_bytes(bytes),
            ImageContent::Object(reader) => Segment::of_object(reader),
        };
        Self { content, is_placeholder: false }
    }
}

/// Why an image could not be made recently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachedFailure {
    NoImage,
    LimitExceeded,
}

impl CachedFailure {
    /// `None` if a retry may succeed.
    fn of(error: &Error) -> Option<Self> {
        match error.root() {
            Error::NoImage => Some(Self::NoImage),
            Error::LimitExceeded => Some(Self::LimitExceeded),
            _ => None,
        }
    }
}

impl From<CachedFailure> for Error {
    fn from(failure: CachedFailure) -> Self {
        match failure {
            CachedFailure::NoImage => Self::NoImage,
            CachedFailure::LimitExceeded => Self::LimitExceeded,
        }
    }
}

impl Packager {
    /// The image stored under this hash, or the output of `make`, which runs once for all requests. A
    /// request that leaves the queue has no effect. A run that has begun ends even when all clients
    /// disconnect, because they will request the image again; its permits are in use until then.
    ///
    /// Errors: those of `make`, which are cached [for a while](super::image_cache) if the image is the cause;
    /// [`Error::Busy`] when too many [wait](super::queue), after the timeout, and when the packager stops.
    pub(super) async fn get_or_make(
        &self,
        packaged: &Packaged,
        task: ImageTask,
        client: PlaybackClient,
        make: BoxFuture<'static, Result<Bytes, Error>>,
    ) -> Result<Image, Error> {
        let key = (packaged.presentation, task.hash);
        if let Some(content) = self.images.contents.get(&key).await {
            return Ok(content.into());
        }
        let in_flight = self.images.in_flight.get(key, InFlight::new);
        if let Some(ready) = in_flight.find_once(Box::pin(self.find(key))).await? {
            return Ok(ready.into());
        }
        let own_run = async {
            let permit = self.images.queues.acquire(client, key.0, task.cost).await?;
            let permits = (permit, self.client_encode_permit(client)?);
            let guards = (Arc::clone(&in_flight), permits);
            Ok::<_, Error>(in_flight.start_once(|| self.begin_run(key, task, make, guards)))
        };
        let run = Box::pin(async {
            tokio::select! {
                biased;
                // A request that joins a run needs no permit.
                run = in_flight.wait_until_started() => Ok(run),
                run = own_run => run,
            }
        });
        let result = self.unless_stopped(run).await??.await;
        Ok(result.map_err(Error::Shared)?.into())
    }

    /// The stored image, which is cached in memory from now on. `None` if it must be made; the cached error
    /// if it cannot.
    async fn find(&self, key: ImageKey) -> Result<Option<ImageContent>, Error> {
        match self.stored_image(key).await {
            Ok(Some(content)) => {
                self.cache_image(key, &content).await;
                return Ok(Some(content));
            }
            Ok(None) => {}
            Err(error @ Error::Unavailable(_)) => return Err(error),
            // An error of this object is not fatal: the image can be made again.
            Err(error) => {
                tracing::warn!(presentation.id = %key.0, error = %error, "a stored image could not be read");
            }
        }
        match self.images.failures.get(&key).await {
            Some(failure) => Err(failure.into()),
            None => Ok(None),
        }
    }

    /// Starts a task that makes and stores an image. `guards` are dropped at its end.
    fn begin_run(
        &self,
        key: ImageKey,
        task: ImageTask,
        make: BoxFuture<'static, Result<Bytes, Error>>,
        guards: impl Send + 'static,
    ) -> MakeFuture {
        let packager = self.clone();
        let run = self.spawn_run(async move {
            let _guards = guards;
            let content = packager.unless_stopped(packager.make_and_store(key, task, make)).await??;
            packager.cache_image(key, &content).await;
            Ok(content)
        });
        // A panic is a bug, and was already reported.
        run.map(|result| result.unwrap_or(Err(Error::Busy)).map_err(Arc::new)).boxed().shared()
    }

    async fn make_and_store(
        &self,
        key: ImageKey,
        task: ImageTask,
        make: BoxFuture<'static, Result<Bytes, Error>>,
    ) -> Result<ImageContent, Error> {
        let bytes = match make.await {
            Ok(bytes) => bytes,
            Err(error) => {
                if let Some(failure) = CachedFailure::of(&error) {
                    self.images.failures.insert(key, failure).await;
                }
                return Err(error);
            }
        };
        match self.store_image(key, task, &bytes).await {
            Ok(Some(stored)) => Ok(stored),
            Ok(None) => Ok(ImageContent::Whole(bytes)),
            // The requester gets the image although it could not be stored.
            Err(error) => {
                tracing::warn!(presentation.id = %key.0, error = %error, "an image could not be stored");
                Ok(ImageContent::Whole(bytes))
            }
        }
    }

    /// Caches an image in memory for the next requests. It keeps no file open.
    async fn cache_image(&self, key: ImageKey, content: &ImageContent) {
        if let ImageContent::Whole(_) = content {
            self.images.contents.insert(key, content.clone()).await;
        }
    }

    /// The image in the store.
    async fn stored_image(&self, (presentation, hash): ImageKey) -> Result<Option<ImageContent>, Error> {
        let Some(reader) = self.blob.reader(ObjectKey::Image(presentation, hash)).await? else {
            return Ok(None);
        };
        if CACHED_BYTES_MAX < reader.len() {
            return Ok(Some(ImageContent::Object(reader)));
        }
        Ok(Some(ImageContent::Whole(reader.read_at(0..reader.len()).await?)))
    }

    /// Stores an image if its presentation is within its limits of count and bytes. Returns the stored one:
    /// two nodes may race, and both serve the one of the first writer.
    async fn store_image(
        &self,
        key: ImageKey,
        task: ImageTask,
        bytes: &Bytes,
    ) -> Result<Option<ImageContent>, Error> {
        let (presentation, hash) = key;
        if !task.is_quota_exempt {
            let stored = self.blob.list(Prefix::ImagesOf(presentation), None, IMAGES_PER_SOURCE_MAX).await?;
            if !is_within_quota(&stored, bytes.len() as u64) {
                return Ok(None);
            }
        }
        match self.put_derived(presentation, ObjectKey::Image(presentation, hash), bytes.clone()).await? {
            DerivedPut::Gone => Ok(None),
            DerivedPut::Written if bytes.len() as u64 <= CACHED_BYTES_MAX => {
                Ok(Some(ImageContent::Whole(bytes.clone())))
            }
            DerivedPut::Written | DerivedPut::AlreadyThere => self.stored_image(key).await,
        }
    }
}
