//! Init segments of rungs: known with the first picture that was encoded, kept, and the same ever after.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_engine::Priority;
use kinora_formats::encode::{Rung, init_of_rung};

use super::flight::patiently;
use super::order::Order;
use super::run::Run;
use super::still::UNDECODED_MAX;
use super::{Asker, RungLine, Work};
use crate::leftover::Put;
use crate::{Error, Packaged, Packager};

/// Of a segment so much is encoded to learn what an init segment says: the encoder tells with the first picture. Up to half a second
/// of the window lies in front of that.
const TASTE_US: i64 = 1_000_000;

/// An encode whose pictures need another init segment than the one that is kept.
#[derive(Debug, thiserror::Error)]
#[error("the encoder needs another init segment than before")]
struct OtherInit;

/// An init segment.
#[derive(Debug, Clone)]
pub(super) struct Init {
    bytes: Bytes,
    /// Another process finds it, too. Without room it is learnt again each time, until it is kept.
    is_kept: bool,
}

impl Packager {
    /// The init segment of a rung, from the store or learnt now by encoding a few pictures.
    ///
    /// Learning takes a place among the segments that are made for `asker`, goes on when whoever asked leaves, and is tried again
    /// only [some time](super::UNMADE_KNOWN_FOR) after it failed. Errors: as for a segment.
    pub(crate) async fn init_of_rung(
        &self,
        packaged: &Arc<Packaged>,
        line: &Arc<RungLine>,
        asker: Asker,
    ) -> Result<Bytes, Error> {
        if let Some(init) = self.encoders.inits.get(&line.id).await {
            return Ok(init.bytes);
        }
        let (packager, packaged, line) = (self.clone(), Arc::clone(packaged), Arc::clone(line));
        let flight = async move {
            let learn = packager.learn_init(&packaged, &line, asker);
            let init = packager.encoders.inits.try_get_with(line.id, learn);
            let init = packager.encoders.stop.run_until_cancelled(init).await;
            let init = init.unwrap_or_else(|| Err(Arc::new(Error::Busy))).map_err(Error::Shared)?;
            if !init.is_kept {
                packager.encoders.inits.invalidate(&line.id).await;
            }
            Ok(init.bytes)
        };
        // A panic is a bug, and was told where it happened.
        let flight = self.encoders.running.spawn(flight);
        patiently(async { flight.await.unwrap_or(Err(Error::Busy)) }).await
    }

    async fn learn_init(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        asker: Asker,
    ) -> Result<Init, Error> {
        let Work::Rung(rung) = &line.work else { return Err(Error::NotInPlan) };
        if let Some(bytes) = self.blob.get(ObjectKey::Init(line.id)).await? {
            return Ok(Init { bytes, is_kept: true });
        }
        if line.is_broken() || self.encoders.unmade_inits.contains_key(&line.id) {
            return Err(Error::NoFrame);
        }
        let _place = self.encoders.cold.enter(asker)?;
        let avcc = match self.taste(packaged, rung).await {
            Err(error) if error.is_of_run() || matches!(error.root(), Error::NoFrame) => {
                self.encoders.unmade_inits.insert(line.id, ()).await;
                return Err(error);
            }
            tasted => tasted?,
        };
        self.keep_init(packaged, rung, line, &avcc).await
    }

    /// The init segment of a rung of which some segment was made.
    pub(crate) async fn init_known(&self, line: &RungLine) -> Result<Bytes, Error> {
        if let Some(init) = self.encoders.inits.get(&line.id).await {
            return Ok(init.bytes);
        }
        // It is kept before any segment, unless there was no room.
        self.blob.get(ObjectKey::Init(line.id)).await?.ok_or(Error::Busy)
    }

    /// What the encoder says of itself, from a few pictures of the first segment; else of one in the middle, or of another one near the
    /// beginning.
    async fn taste(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<Vec<u8>, Error> {
        let mut last = Error::NoFrame;
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
            let taste = Run::begin_within(self, packaged, order, |feed| {
                let window = feed.window_us();
                window.start..window.end.min(window.start.saturating_add(TASTE_US))
            });
            match taste?.avcc(rung.name).await {
                Ok(Some(avcc)) => return Ok(avcc),
                Ok(None) => {}
                Err(error) if error.is_of_run() => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Refuses an encode whose pictures could not be decoded after the init segment that is kept. Keeps the first one.
    pub(super) async fn check_init(
        &self,
        packaged: &Arc<Packaged>,
        rung: &Rung,
        avcc: &[u8],
    ) -> Result<(), Error> {
        let line = self.line(packaged, rung).await?;
        let own = init(packaged, rung, avcc)?;
        let kept = match self.encoders.inits.get(&line.id).await {
            Some(kept) => kept,
            None => {
                let kept = self.keep_init(packaged, rung, &line, avcc).await?;
                if kept.is_kept {
                    self.encoders.inits.insert(line.id, kept.clone()).await;
                }
                kept
            }
        };
        if kept.bytes == own {
            return Ok(());
        }
        tracing::error!(rendition.id = %line.id, "the encoder needs another init segment than before");
        Err(Error::Unmade(Box::new(OtherInit)))
    }

    /// Keeps the init segment, where there is room for it.
    async fn keep_init(
        &self,
        packaged: &Packaged,
        rung: &Rung,
        line: &RungLine,
        avcc: &[u8],
    ) -> Result<Init, Error> {
        let (key, bytes) = (ObjectKey::Init(line.id), init(packaged, rung, avcc)?);
        let keep = async {
            line.begin(&self.store, self.clock.now()).await?;
            match self.put(line.source, key, bytes.clone()).await? {
                Put::Written => Ok(bytes.clone()),
                Put::AlreadyThere => self.blob.get(key).await?.ok_or(Error::Gone),
                Put::Gone => Err(Error::Gone),
            }
        };
        match keep.await {
            Ok(bytes) => Ok(Init { bytes, is_kept: true }),
            Err(error) if error.is_full() => Ok(Init { bytes, is_kept: false }),
            Err(error) => Err(error),
        }
    }
}

fn init(packaged: &Packaged, rung: &Rung, avcc: &[u8]) -> Result<Bytes, Error> {
    let bytes = init_of_rung(packaged.index(), rung, avcc).map_err(|error| Error::Unmade(Box::new(error)))?;
    Ok(Bytes::from(bytes))
}
