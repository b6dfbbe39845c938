//! Init segments of rungs. Each depends on its rung and the encoder only. So it is made once, before any
//! segment, and never waits for an encode of the source. D-0109.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_engine::Priority;
use kinora_formats::encode::{RungInit, init_of_rung, rung_colour_from_decoder};
use kinora_index::{Rung, RungName, codec::colour::Colour};

use super::encode_spec::{self, EncodeSpec};
use super::placeholder::UNDECODED_SEGMENTS_MAX;
use super::run::{EncodeRun, from_engine_error};
use super::segment_request::with_request_timeout;
use super::{ActiveRendition, EncodeTarget};
use crate::derived_object::DerivedPut;
use crate::{Error, Packaged, Packager, Rendition};

/// How much of a segment is encoded, in microseconds, to learn how its decoder describes the colours of the
/// first frame. The first frame may come up to half a second after the beginning of the window.
const COLOUR_PROBE_US: i64 = 1_000_000;

/// An init segment.
#[derive(Debug, Clone)]
pub(super) struct Init {
    pub(super) bytes: Bytes,
    /// Its parsed content.
    pub(super) parsed: RungInit,
    /// Whether it is stored, so that other processes find it. On a full disk it is made again each time,
    /// until it is stored.
    is_stored: bool,
}

/// What the configuration of a rung depends on, besides the encoder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ConfigurationKey {
    size: (u32, u32),
    level: String,
    bframes: u8,
    colour: (u16, u16, u16),
}

impl Packager {
    /// The init segment of a rung, from the store or made now.
    ///
    /// The work continues when the caller leaves. Errors: those of the stores and of the engine.
    pub(crate) async fn init_of_rung(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &Arc<ActiveRendition>,
    ) -> Result<Bytes, Error> {
        if let Some(init) = self.encoders.inits.get(&rendition.id).await {
            return Ok(init.bytes);
        }
        let (packager, packaged, active) = (self.clone(), Arc::clone(packaged), Arc::clone(rendition));
        let task = self.spawn_run(async move {
            let init = packager.unless_stopped(packager.init(&packaged, &active)).await??;
            Ok(init.bytes)
        });
        // A panic is a bug, and was already reported.
        with_request_timeout(async { task.await.unwrap_or(Err(Error::Busy)) }).await
    }

    /// The init segment with its parsed content. Concurrent calls share one run.
    pub(super) async fn init(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
    ) -> Result<Init, Error> {
        let make = Box::pin(self.make_init(packaged, rendition));
        let init = self.encoders.inits.try_get_with(rendition.id, make).await.map_err(Error::Shared)?;
        if !init.is_stored {
            self.encoders.inits.invalidate(&rendition.id).await;
        }
        Ok(init)
    }

    async fn make_init(&self, packaged: &Arc<Packaged>, rendition: &ActiveRendition) -> Result<Init, Error> {
        let EncodeTarget::Rung(rung) = &rendition.target else { return Err(Error::NotListed) };
        if let Some(bytes) = self.blob.get(ObjectKey::Init(rendition.id)).await? {
            return Init::read(bytes, true);
        }
        let colour = match rung.colour {
            Some(colour) => colour,
            None => self.colour_from_decoder(packaged, rung).await?,
        };
        let avcc = self.configuration(rung, colour).await?;
        let bytes = init_of_rung(packaged.index(), rung, &avcc).map(Bytes::from).map_err(encode_failed)?;
        self.store_init(rendition, bytes).await
    }

    /// The `avcC` body that the encoder uses for every frame of this rung.
    async fn configuration(&self, rung: &Rung, colour: Colour) -> Result<Arc<[u8]>, Error> {
        let key = ConfigurationKey {
            size: (rung.width, rung.height),
            level: rung.level.clone(),
            bframes: rung.bframes,
            colour: (colour.primaries, colour.transfer, colour.matrix),
        };
        let make = Box::pin(async {
            let (rung, memory) = encode_spec::black_frame_spec(rung, colour);
            let output = self.engine.encode_black_frame(&rung, memory).await.map_err(from_engine_error)?;
            RungInit::parse(&output).map(|init| Arc::from(init.avcc)).map_err(encode_failed)
        });
        let result = self.encoders.configurations.try_get_with(key, make).await;
        result.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The colours of the rungs of this source if only a decoder knows them: those of a rung that was begun
    /// earlier, else those of the first frame that decodes.
    async fn colour_from_decoder(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Colour, Error> {
        let find = Box::pin(async {
            for name in RungName::ALL {
                let Some(id) = Rendition::Rung(name).id(packaged.presentation) else { continue };
                if let Some(bytes) = self.blob.get(ObjectKey::Init(id)).await? {
                    return Ok(Init::read(bytes, true)?.parsed.colour);
                }
            }
            let probed = self.probe_colour(packaged, rung).await?.unwrap_or(Colour::UNSPECIFIED);
            let (_, video) = packaged.index().video().ok_or(Error::NotListed)?;
            Ok(rung_colour_from_decoder(video, probed))
        });
        let found = self.encoders.colours.try_get_with(packaged.presentation, find).await;
        found.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// Colours of the first frames that decode: of the first segment, of one in the middle, or of another
    /// one near the beginning. `None` if no frame decodes.
    async fn probe_colour(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Option<Colour>, Error> {
        let (count, middle) = (packaged.rung_segment_count(), packaged.rung_segment_count() / 2);
        let near_beginning = (1..count.min(UNDECODED_SEGMENTS_MAX)).filter(|number| *number != middle);
        let numbers = [0, middle].into_iter().chain(near_beginning);
        // Of several parts of a presentation the base has configuration 0.
        let index = packaged.index();
        let is_of_base = |number: &u32| {
            let segment = index.plan.encoded_video.get(*number as usize);
            let track = index.video().map(|(track, _)| track);
            segment
                .zip(track)
                .is_some_and(|(segment, track)| track.configuration_at(segment.samples.start) == 0)
        };
        let base_first = (0..count).find(is_of_base);
        for number in base_first.into_iter().chain(numbers.filter(|number| Some(*number) != base_first)) {
            let spec = EncodeSpec {
                numbers: number..number + 1,
                rungs: vec![rung.clone()],
                priority: Priority::Viewer,
                tolerates_damage: true,
                on_start: Box::new(|| {}),
            };
            let mut probe = EncodeRun::begin_colour_probe(self, packaged, spec, |feed| {
                let window = feed.window_us();
                window.start..window.end.min(window.start.saturating_add(COLOUR_PROBE_US))
            })?;
            match probe.colour(rung.name).await {
                Ok(Some(colour)) => return Ok(Some(colour)),
                Ok(None) => {}
                Err(error) if error.is_run_failure() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Stores the init segment if the disk has space. If another writer stored one first, returns that one.
    async fn store_init(&self, rendition: &ActiveRendition, bytes: Bytes) -> Result<Init, Error> {
        let key = ObjectKey::Init(rendition.id);
        let write = async {
            rendition.ensure_row(&self.store, self.clock.now()).await?;
            match self.put_derived(rendition.presentation, key, bytes.clone()).await? {
                DerivedPut::Written => Ok(bytes.clone()),
                DerivedPut::AlreadyThere => self.blob.get(key).await?.ok_or(Error::Gone),
                DerivedPut::Gone => Err(Error::Gone),
            }
        };
        match write.await {
            Ok(bytes) => Init::read(bytes, true),
            Err(error) if error.is_disk_full() => Init::read(bytes, false),
            Err(error) => Err(error),
        }
    }
}

impl Init {
    fn read(bytes: Bytes, is_stored: bool) -> Result<Self, Error> {
        let parsed = RungInit::parse(&bytes).map_err(encode_failed)?;
        Ok(Self { bytes, parsed, is_stored })
    }
}

fn encode_failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::EncodeFailed(Box::new(error))
}
