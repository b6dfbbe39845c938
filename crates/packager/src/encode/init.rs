//! Init segments of rungs. Each depends on its rung and the encoder only. So it is made once, before any
//! segment, and never waits for an encode of the source. D-0109.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_engine::Priority;
use kinora_formats::encode::{RungInit, colour_of_pictures, init_of_rung};
use kinora_index::{Rung, RungName, codec::colour::Colour};

use super::flight::patiently;
use super::order::{self, Order};
use super::run::{Run, of_engine};
use super::still::UNDECODED_MAX;
use super::{RungLine, Work};
use crate::leftover::Put;
use crate::{Error, Packaged, Packager, Rendition};

/// How much of a segment is encoded, in microseconds, to learn how its decoder describes the colours of the
/// first picture. The first picture may come up to half a second after the beginning of the window.
const TASTE_US: i64 = 1_000_000;

/// An init segment.
#[derive(Debug, Clone)]
pub(super) struct Init {
    pub(super) bytes: Bytes,
    /// What it says.
    pub(super) says: RungInit,
    /// Another process finds it, too. Without room it is made again each time, until it is kept.
    is_kept: bool,
}

/// What the configuration of a rung depends on, besides the encoder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    size: (u32, u32),
    level: String,
    bframes: u8,
    colour: (u16, u16, u16),
}

impl Packager {
    /// The init segment of a rung, kept or made now.
    ///
    /// Making goes on when the caller leaves. Errors: those of the stores and of the engine.
    pub(crate) async fn init_of_rung(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
    ) -> Result<Bytes, Error> {
        if let Some(init) = self.encoders.inits.get(&line.id).await {
            return Ok(init.bytes);
        }
        let (packager, packaged, line) = (self.clone(), Arc::clone(packaged), Arc::clone(line));
        let flight = self.spawn_run(async move {
            let init = packager.unless_stopped(packager.init(&packaged, &line)).await??;
            Ok(init.bytes)
        });
        // A panic is a bug, and was told where it happened.
        patiently(async { flight.await.unwrap_or(Err(Error::Busy)) }).await
    }

    /// The same with what it says. Several calls at once make it once.
    pub(super) async fn init(&self, packaged: &Arc<Packaged>, line: &RungLine) -> Result<Init, Error> {
        let make = Box::pin(self.make_init(packaged, line));
        let init = self.encoders.inits.try_get_with(line.id, make).await.map_err(Error::Shared)?;
        if !init.is_kept {
            self.encoders.inits.invalidate(&line.id).await;
        }
        Ok(init)
    }

    async fn make_init(&self, packaged: &Arc<Packaged>, line: &RungLine) -> Result<Init, Error> {
        let Work::Rung(rung) = &line.work else { return Err(Error::NotInPlan) };
        if let Some(bytes) = self.blob.get(ObjectKey::Init(line.id)).await? {
            return Init::read(bytes, true);
        }
        let colour = match rung.colour {
            Some(colour) => colour,
            None => self.colour_of(packaged, rung).await?,
        };
        let avcc = self.configuration(rung, colour).await?;
        let bytes = init_of_rung(packaged.index(), rung, &avcc).map(Bytes::from).map_err(unmade)?;
        self.keep_init(line, bytes).await
    }

    /// What the encoder says of every picture of this rung.
    async fn configuration(&self, rung: &Rung, colour: Colour) -> Result<Arc<[u8]>, Error> {
        let shape = Shape {
            size: (rung.width, rung.height),
            level: rung.level.clone(),
            bframes: rung.bframes,
            colour: (colour.primaries, colour.transfer, colour.matrix),
        };
        let make = Box::pin(async {
            let (rung, memory) = order::blank(rung, colour);
            let output = self.engine.encode_blank(&rung, memory).await.map_err(of_engine)?;
            RungInit::parse(&output).map(|says| Arc::from(says.avcc)).map_err(unmade)
        });
        let made = self.encoders.configurations.try_get_with(shape, make).await;
        made.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// What rungs of this source say of their colours where only a decoder knows: what a rung that was begun
    /// before says, else what the first picture that decodes is.
    async fn colour_of(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Colour, Error> {
        let find = Box::pin(async {
            for name in RungName::ALL {
                let Some(id) = Rendition::Rung(name).id(packaged.presentation) else { continue };
                if let Some(bytes) = self.blob.get(ObjectKey::Init(id)).await? {
                    return Ok(Init::read(bytes, true)?.says.colour);
                }
            }
            let said = self.taste(packaged, rung).await?.unwrap_or(Colour::OPEN);
            let (_, video) = packaged.index().video().ok_or(Error::NotInPlan)?;
            Ok(colour_of_pictures(video, said))
        });
        let found = self.encoders.colours.try_get_with(packaged.presentation, find).await;
        found.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// How the decoder describes the first pictures that decode: of the first segment, of one in the middle,
    /// or of another one near the beginning. `None` where none does.
    async fn taste(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Option<Colour>, Error> {
        let (count, middle) = (packaged.encoded_count(), packaged.encoded_count() / 2);
        let near_beginning = (1..count.min(UNDECODED_MAX)).filter(|number| *number != middle);
        for number in [0, middle].into_iter().chain(near_beginning) {
            let order = Order {
                numbers: number..number + 1,
                rungs: vec![rung.clone()],
                priority: Priority::Viewer,
                is_tolerant: true,
                begun: Box::new(|| {}),
            };
            let mut taste = Run::taste(self, packaged, order, |feed| {
                let window = feed.window_us();
                window.start..window.end.min(window.start.saturating_add(TASTE_US))
            })?;
            match taste.colour(rung.name).await {
                Ok(Some(colour)) => return Ok(Some(colour)),
                Ok(None) => {}
                Err(error) if error.is_of_run() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Keeps the init segment, where there is room for it. Another one may have been faster: its bytes count.
    async fn keep_init(&self, line: &RungLine, bytes: Bytes) -> Result<Init, Error> {
        let key = ObjectKey::Init(line.id);
        let keep = async {
            line.begin(&self.store, self.clock.now()).await?;
            match self.put(line.presentation, key, bytes.clone()).await? {
                Put::Written => Ok(bytes.clone()),
                Put::AlreadyThere => self.blob.get(key).await?.ok_or(Error::Gone),
                Put::Gone => Err(Error::Gone),
            }
        };
        match keep.await {
            Ok(bytes) => Init::read(bytes, true),
            Err(error) if error.is_full() => Init::read(bytes, false),
            Err(error) => Err(error),
        }
    }
}

impl Init {
    fn read(bytes: Bytes, is_kept: bool) -> Result<Self, Error> {
        let says = RungInit::parse(&bytes).map_err(unmade)?;
        Ok(Self { bytes, says, is_kept })
    }
}

fn unmade(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Unmade(Box::new(error))
}
