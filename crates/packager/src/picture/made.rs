//! What is asked for, from memory, from the store, or made now: once however many ask, and to its end whoever
//! leaves.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kinora_blob::{ObjectKey, ObjectReader, PictureHash, Prefix};
use kinora_domain::PresentationId;

use super::room::{COUNT_MAX, has_room};
use super::sought::{Run, Sought};
use super::turns::Kind;
use crate::leftover::Put;
use crate::segment::{CACHED_BYTES_MAX, Segment};
use crate::{Asker, Error, Packaged, Packager};

/// Names a picture.
pub(super) type Name = (PresentationId, PictureHash);

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) kind: Kind,
    pub(super) hash: PictureHash,
    /// One of the few that every page of the media shows. Viewers who ask for much else must not decide that
    /// it is made anew each time.
    pub(super) is_always_kept: bool,
}

/// A picture, a clip or a sheet.
pub struct Picture {
    content: Segment,
    is_stand_in: bool,
}

impl Picture {
    /// Whether it is another than was asked for: the keyframe of a frame that takes too much today. Then it
    /// must not be kept for that one.
    pub fn is_stand_in(&self) -> bool {
        self.is_stand_in
    }

    /// What is sent of it: in memory where it is small, else read as it is sent.
    pub fn into_content(self) -> Segment {
        self.content
    }

    /// The same in place of another one.
    pub(super) fn instead(self) -> Self {
        Self { is_stand_in: true, ..self }
    }

    /// All of it in one piece.
    ///
    /// Errors: those of the store.
    pub async fn bytes(&self) -> Result<Bytes, Error> {
        self.content.bytes().await
    }
}

/// The bytes of a picture, for all who asked.
#[derive(Debug, Clone)]
pub(super) enum Ready {
    Whole(Bytes),
    /// Kept, and too large to be held for somebody who reads slowly.
    Object(ObjectReader),
}

impl Ready {
    /// Bytes of memory that are its own.
    pub(super) fn weight(&self) -> u32 {
        match self {
            Self::Whole(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            Self::Object(_) => 1,
        }
    }
}

impl From<Ready> for Picture {
    fn from(ready: Ready) -> Self {
        let content = match ready {
            Ready::Whole(bytes) => Segment::of_bytes(bytes),
            Ready::Object(reader) => Segment::of_object(reader),
        };
        Self { content, is_stand_in: false }
    }
}

/// Why a picture could not be made a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unmade {
    NoPicture,
    TooMuch,
}

impl Unmade {
    /// `None` where another try may end otherwise.
    fn of(error: &Error) -> Option<Self> {
        match error.root() {
            Error::NoPicture => Some(Self::NoPicture),
            Error::TooMuch => Some(Self::TooMuch),
            _ => None,
        }
    }
}

impl From<Unmade> for Error {
    fn from(unmade: Unmade) -> Self {
        match unmade {
            Unmade::NoPicture => Self::NoPicture,
            Unmade::TooMuch => Self::TooMuch,
        }
    }
}

impl Packager {
    /// What is kept under this hash, or what `make` makes: once, however many ask. Whoever waits for its turn
    /// leaves as it came; what has begun is made to its end when all of them have left, for they come back
    /// for it, and its places are taken until then.
    ///
    /// Errors: those of `make`, which are remembered [for a while](super::flights) where the picture is the
    /// cause, and [`Error::Busy`] when too many [wait](super::turns), when that takes too long, and when the
    /// packager stops.
    pub(super) async fn made_once(
        &self,
        packaged: &Packaged,
        order: Order,
        asker: Asker,
        make: BoxFuture<'static, Result<Bytes, Error>>,
    ) -> Result<Picture, Error> {
        let name = (packaged.presentation, order.hash);
        if let Some(ready) = self.pictures.made.get(&name).await {
            return Ok(ready.into());
        }
        let sought = self.pictures.sought.get(name, Sought::new);
        if let Some(ready) = sought.look(Box::pin(self.find(name))).await? {
            return Ok(ready.into());
        }
        let own_turn = async {
            let turn = self.pictures.turns.take(asker, name.0, order.kind).await?;
            let places = (turn, self.cold_place(asker)?);
            let held = (Arc::clone(&sought), places);
            Ok::<_, Error>(sought.begin(|| self.begin_run(name, order, make, held)))
        };
        let run = Box::pin(async {
            tokio::select! {
                biased;
                // Whoever joins needs no turn.
                run = sought.begun() => Ok(run),
                run = own_turn => run,
            }
        });
        let made = self.unless_stopped(run).await??.await;
        Ok(made.map_err(Error::Shared)?.into())
    }

    /// The picture as it is kept, from now on also in memory. `None` where it has to be made; an error where
    /// it is known not to be.
    async fn find(&self, name: Name) -> Result<Option<Ready>, Error> {
        match self.kept_picture(name).await {
            Ok(Some(ready)) => {
                self.remember_picture(name, &ready).await;
                return Ok(Some(ready));
            }
            Ok(None) => {}
            Err(error @ Error::Unavailable(_)) => return Err(error),
            // Whatever is wrong with this object, the picture can be made.
            Err(error) => {
                tracing::warn!(presentation.id = %name.0, error = %error, "a kept picture could not be read");
            }
        }
        match self.pictures.unmade.get(&name).await {
            Some(unmade) => Err(unmade.into()),
            None => Ok(None),
        }
    }

    /// Begins to make and keep a picture. What is `held` is let go when that is over.
    fn begin_run(
        &self,
        name: Name,
        order: Order,
        make: BoxFuture<'static, Result<Bytes, Error>>,
        held: impl Send + 'static,
    ) -> Run {
        let packager = self.clone();
        let run = self.spawn_run(async move {
            let _held = held;
            let ready = packager.unless_stopped(packager.make_and_keep(name, order, make)).await??;
            packager.remember_picture(name, &ready).await;
            Ok(ready)
        });
        // A panic is a bug, and was told where it happened.
        run.map(|made| made.unwrap_or(Err(Error::Busy)).map_err(Arc::new)).boxed().shared()
    }

    async fn make_and_keep(
        &self,
        name: Name,
        order: Order,
        make: BoxFuture<'static, Result<Bytes, Error>>,
    ) -> Result<Ready, Error> {
        let bytes = match make.await {
            Ok(bytes) => bytes,
            Err(error) => {
                if let Some(unmade) = Unmade::of(&error) {
                    self.pictures.unmade.insert(name, unmade).await;
                }
                return Err(error);
            }
        };
        match self.keep_picture(name, order, &bytes).await {
            Ok(Some(kept)) => Ok(kept),
            Ok(None) => Ok(Ready::Whole(bytes)),
            // Whoever asks gets it all the same.
            Err(error) => {
                tracing::warn!(presentation.id = %name.0, error = %error, "a picture could not be kept");
                Ok(Ready::Whole(bytes))
            }
        }
    }

    /// Holds a picture in memory for those who come soon. No file is held open for them.
    async fn remember_picture(&self, name: Name, ready: &Ready) {
        if let Ready::Whole(_) = ready {
            self.pictures.made.insert(name, ready.clone()).await;
        }
    }

    /// The picture as it is in the store.
    async fn kept_picture(&self, (presentation, hash): Name) -> Result<Option<Ready>, Error> {
        let Some(reader) = self.blob.reader(ObjectKey::Picture(presentation, hash)).await? else {
            return Ok(None);
        };
        if CACHED_BYTES_MAX < reader.len() {
            return Ok(Some(Ready::Object(reader)));
        }
        Ok(Some(Ready::Whole(reader.read_at(0..reader.len()).await?)))
    }

    /// Keeps a picture, where its presentation has not many, nor much. Answers what is kept: two nodes may
    /// race, the first writer wins and both serve that one.
    async fn keep_picture(&self, name: Name, order: Order, bytes: &Bytes) -> Result<Option<Ready>, Error> {
        let (presentation, hash) = name;
        if !order.is_always_kept {
            let kept = self.blob.list(Prefix::PicturesOf(presentation), None, COUNT_MAX).await?;
            if !has_room(&kept, bytes.len() as u64) {
                return Ok(None);
            }
        }
        match self.put(presentation, ObjectKey::Picture(presentation, hash), bytes.clone()).await? {
            Put::Gone => Ok(None),
            Put::Written if bytes.len() as u64 <= CACHED_BYTES_MAX => Ok(Some(Ready::Whole(bytes.clone()))),
            Put::Written | Put::AlreadyThere => self.kept_picture(name).await,
        }
    }
}
