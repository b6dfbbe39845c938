//! One call of the engine: the samples of some segments in, segments of some rungs out.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_domain::PresentationId;
use kinora_engine::{Encoding, EngineError};
use kinora_formats::encode::{Collector, Feed, FeedChunk, FeedChunks, FeedError, RungInit, SegmentError};
use kinora_index::{Rung, RungName, TrackMedia, codec::colour::Colour};

use super::order::{self, Order};
use crate::{Error, Packaged, Packager};

/// A segment that a run came to.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) rung: RungName,
    pub(super) number: u32,
    pub(super) outcome: Result<Bytes, SegmentError>,
}

/// A run under way. Dropping it kills its process.
pub(super) struct Run {
    presentation: PresentationId,
    rungs: Vec<Rung>,
    encoding: Encoding,
    collector: Collector,
    ready: VecDeque<Made>,
    are_inits_checked: bool,
    is_over: bool,
}

impl Run {
    /// Begins a run, which works on its own from now on as far as somebody takes what it makes.
    ///
    /// First the init segment of each rung is there, which all pictures of the run are made for.
    pub(super) async fn begin(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        order: Order,
    ) -> Result<Self, Error> {
        let mut inits = Vec::new();
        for rung in &order.rungs {
            let line = packager.line(packaged, rung).await?;
            inits.push((rung.name, packager.init(packaged, &line).await?.says));
        }
        Self::with(packager, packaged, order, &inits, |feed| feed.window_us())
    }

    /// A run of a part of the feed's window that leaves the colours of the source as they are.
    pub(super) fn taste(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        order: Order,
        keep_us: impl FnOnce(&Feed) -> Range<i64>,
    ) -> Result<Self, Error> {
        Self::with(packager, packaged, order, &[], keep_us)
    }

    fn with(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        order: Order,
        inits: &[(RungName, RungInit)],
        keep_us: impl FnOnce(&Feed) -> Range<i64>,
    ) -> Result<Self, Error> {
        let index = packaged.index();
        let (track, _) = index.video().ok_or(Error::NotInPlan)?;
        let feed =
            Feed::begin(index, order.numbers.clone()).map_err(|error| Error::Unmade(Box::new(error)))?;
        let of_plan = index.plan.encoded_video.get(order.numbers.start as usize..order.numbers.end as usize);
        let ticks: u64 = of_plan.unwrap_or(&[]).iter().map(kinora_index::Segment::duration).sum();
        let seconds = ticks.div_ceil(u64::from(track.timescale.max(1)));
        let keep_us = keep_us(&feed);
        let of = |rung: &Rung| inits.iter().find(|(name, _)| *name == rung.name).map(|(_, init)| init);
        let colours: Vec<_> = order.rungs.iter().map(|rung| of(rung).map(|init| init.colour)).collect();
        let TrackMedia::Video(video) = track.media_at(feed.samples().start) else {
            return Err(Error::NotInPlan);
        };
        let spec = order::spec(&feed, video, &order, &colours, keep_us, seconds);
        let collector = Collector::new(&feed, &order.rungs);
        let collector =
            inits.iter().fold(collector, |collector, (name, init)| collector.with_kept(*name, &init.avcc));
        let fed = Fed { header: Bytes::from(feed.header()), chunks: feed.chunks(), begun: order.begun };
        let input = read(packager, packaged, fed, move |chunk, bytes| feed.wrap(chunk, bytes));
        Ok(Self {
            presentation: packaged.presentation,
            rungs: order.rungs,
            encoding: packager.engine.encode_video(spec, input),
            collector,
            ready: VecDeque::new(),
            are_inits_checked: false,
            is_over: false,
        })
    }

    /// The next segment of any rung; those of one rung come in order. `None` when all have come.
    pub(super) async fn next(&mut self) -> Result<Option<Made>, Error> {
        loop {
            if let Some(made) = self.ready.pop_front() {
                self.check_inits();
                return Ok(Some(made));
            }
            if self.is_over {
                return Ok(None);
            }
            self.take_chunk().await?;
        }
    }

    /// How the decoder describes the colours of the first picture. `None` where nothing came out at all.
    pub(super) async fn colour(&mut self, rung: RungName) -> Result<Option<Colour>, Error> {
        loop {
            if let Some(colour) = self.collector.colour(rung) {
                return Ok(Some(colour));
            }
            if self.is_over {
                return Ok(None);
            }
            self.take_chunk().await?;
        }
    }

    async fn take_chunk(&mut self) -> Result<(), Error> {
        let unmade = |error| Error::Unmade(Box::new(error));
        let made = match self.encoding.chunk().await {
            Some(Ok(chunk)) => self.collector.push(&chunk).map_err(unmade)?,
            Some(Err(error)) => return Err(of_engine(error)),
            None => {
                self.is_over = true;
                self.collector.finish().map_err(unmade)?
            }
        };
        self.ready.extend(made.into_iter().map(|made| Made {
            rung: made.rung,
            number: made.number,
            outcome: made.outcome.map(Bytes::from),
        }));
        Ok(())
    }

    /// Tells once where the encoder is not the one that the init segment was made with.
    fn check_inits(&mut self) {
        if std::mem::replace(&mut self.are_inits_checked, true) {
            return;
        }
        for rung in self.rungs.iter().filter(|rung| self.collector.is_other_than_kept(rung.name)) {
            tracing::warn!(
                presentation.id = %self.presentation,
                rung = %rung.name,
                "the encoder needs another init segment than the one that is kept: segments bring their own parameter sets"
            );
        }
    }
}

/// What is fed to a run.
pub(crate) struct Fed {
    pub(crate) header: Bytes,
    pub(crate) chunks: FeedChunks,
    /// Called when its process begins to read.
    pub(crate) begun: Box<dyn FnOnce() + Send>,
}

/// The bytes of a feed, each read from its object when the engine has room for it. `wrap` makes them of those
/// of a chunk.
pub(crate) fn read(
    packager: &Packager,
    packaged: &Packaged,
    fed: Fed,
    wrap: impl Fn(&FeedChunk, &[u8]) -> Result<Vec<u8>, FeedError> + Clone + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let samples = packager.samples(packaged);
    let begin = async move {
        let Fed { header, chunks, begun } = fed;
        begun();
        let chunks = stream::iter(chunks).then(move |chunk| {
            let (wrap, samples) = (wrap.clone(), samples.clone());
            async move {
                let pieces = samples.read(&chunk.ranges).await.map_err(io::Error::other)?;
                wrap(&chunk, &pieces.concat()).map(Bytes::from).map_err(io::Error::other)
            }
        });
        stream::iter([Ok(header)]).chain(chunks)
    };
    stream::once(begin).flatten()
}

pub(crate) fn of_engine(error: EngineError) -> Error {
    match error {
        EngineError::Busy => Error::Busy,
        // The samples could not be read: their store says why.
        EngineError::Input(error) => match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::Unmade(Box::new(error)),
        },
        away if away.is_of_machine() => Error::EngineAway(away),
        other => Error::Unmade(Box::new(other)),
    }
}
