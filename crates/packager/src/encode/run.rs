//! One call of the engine: the samples of some segments in, segments of some rungs out.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_domain::PresentationId;
use kinora_engine::{EngineError, OutputStream};
use kinora_formats::encode::{Feed, FeedChunk, FeedChunks, FeedError, RungInit, SegmentError, Segmenter};
use kinora_index::{Rung, RungName, TrackMedia, codec::colour::Colour};

use super::encode_spec::{self, EncodeSpec, RunVideo};
use crate::overlay_image::OverlayImage;
use crate::{Error, Packaged, Packager};

/// A segment that a run delivered.
#[derive(Debug)]
pub(super) struct EncodedSegment {
    pub(super) rung: RungName,
    pub(super) number: u32,
    pub(super) outcome: Result<Bytes, SegmentError>,
}

/// A running encode. Dropping it kills its process.
pub(super) struct EncodeRun {
    presentation: PresentationId,
    rungs: Vec<Rung>,
    encoding: OutputStream,
    /// The file that its process reads.
    _overlay: Option<OverlayImage>,
    segmenter: Segmenter,
    ready: VecDeque<EncodedSegment>,
    are_inits_checked: bool,
    is_over: bool,
}

impl EncodeRun {
    /// Starts a run. It encodes in its own process as long as the caller takes the output.
    ///
    /// Before that it gets the init segment of each rung, for which all frames of the run are encoded.
    pub(super) async fn begin(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        spec: EncodeSpec,
    ) -> Result<Self, Error> {
        let mut inits = Vec::new();
        for rung in &spec.rungs {
            let rendition = packager.active_rendition(packaged, rung).await?;
            inits.push((rung.name, packager.init(packaged, &rendition).await?.parsed));
        }
        let overlay = packager.overlay_image(packaged).await?;
        Self::begin_with_inits(packager, packaged, spec, &inits, overlay, |feed| feed.window_us())
    }

    /// A run of a part of the feed's window that leaves the colours of the source unchanged, without an
    /// overlay. No viewer sees its frames.
    pub(super) fn begin_colour_probe(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        spec: EncodeSpec,
        keep_us: impl FnOnce(&Feed) -> Range<i64>,
    ) -> Result<Self, Error> {
        Self::begin_with_inits(packager, packaged, spec, &[], None, keep_us)
    }

    fn begin_with_inits(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        run_spec: EncodeSpec,
        inits: &[(RungName, RungInit)],
        overlay: Option<OverlayImage>,
        keep_us: impl FnOnce(&Feed) -> Range<i64>,
    ) -> Result<Self, Error> {
        let index = packaged.index();
        let (track, base) = index.video().ok_or(Error::NotListed)?;
        let feed = Feed::of_segments(index, run_spec.numbers.clone())
            .map_err(|error| Error::EncodeFailed(Box::new(error)))?;
        let planned_segments =
            index.plan.encoded_video.get(run_spec.numbers.start as usize..run_spec.numbers.end as usize);
        let ticks: u64 = planned_segments.unwrap_or(&[]).iter().map(kinora_index::Segment::duration).sum();
        let seconds = ticks.div_ceil(u64::from(track.timescale.max(1)));
        let keep_us = keep_us(&feed);
        let init_of = |rung: &Rung| inits.iter().find(|(name, _)| *name == rung.name).map(|(_, init)| init);
        let colours: Vec<_> =
            run_spec.rungs.iter().map(|rung| init_of(rung).map(|init| init.colour)).collect();
        let TrackMedia::Video(part) = track.media_at(feed.samples().start) else {
            return Err(Error::NotListed);
        };
        let video = RunVideo { part, base, overlay: overlay.as_ref() };
        let spec = encode_spec::video_encode(&feed, video, &run_spec, &colours, keep_us, seconds);
        let segmenter = Segmenter::new(&feed, &run_spec.rungs);
        let collector = inits
            .iter()
            .fold(segmenter, |collector, (name, init)| collector.with_stored_avcc(*name, &init.avcc));
        let feed_input = FeedInput {
            header: Bytes::from(feed.header()),
            chunks: feed.chunks(),
            on_start: run_spec.on_start,
        };
        let input = feed_stream(packager, packaged, feed_input, move |chunk, bytes| feed.wrap(chunk, bytes));
        Ok(Self {
            presentation: packaged.presentation,
            rungs: run_spec.rungs,
            encoding: packager.engine.encode_video(spec, input),
            _overlay: overlay,
            segmenter: collector,
            ready: VecDeque::new(),
            are_inits_checked: false,
            is_over: false,
        })
    }

    /// The next segment of any rung; those of one rung come in order. `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<EncodedSegment>, Error> {
        loop {
            if let Some(segment) = self.ready.pop_front() {
                self.check_inits();
                return Ok(Some(segment));
            }
            if self.is_over {
                return Ok(None);
            }
            self.read_chunk().await?;
        }
    }

    /// How the decoder describes the colours of the first frame. `None` if there is no output at all.
    pub(super) async fn colour(&mut self, rung: RungName) -> Result<Option<Colour>, Error> {
        loop {
            if let Some(colour) = self.segmenter.colour(rung) {
                return Ok(Some(colour));
            }
            if self.is_over {
                return Ok(None);
            }
            self.read_chunk().await?;
        }
    }

    async fn read_chunk(&mut self) -> Result<(), Error> {
        let encode_error = |error| Error::EncodeFailed(Box::new(error));
        let segments = match self.encoding.chunk().await {
            Some(Ok(chunk)) => self.segmenter.push(&chunk).map_err(encode_error)?,
            Some(Err(error)) => return Err(from_engine_error(error)),
            None => {
                self.is_over = true;
                self.segmenter.finish().map_err(encode_error)?
            }
        };
        self.ready.extend(segments.into_iter().map(|segment| EncodedSegment {
            rung: segment.rung,
            number: segment.number,
            outcome: segment.outcome.map(Bytes::from),
        }));
        Ok(())
    }

    /// Logs once if the encoder differs from the one that the init segment was made with.
    fn check_inits(&mut self) {
        if std::mem::replace(&mut self.are_inits_checked, true) {
            return;
        }
        for rung in self.rungs.iter().filter(|rung| self.segmenter.differs_from_stored_avcc(rung.name)) {
            tracing::warn!(
                presentation.id = %self.presentation,
                rung = %rung.name,
                "the encoder needs another init segment than the stored one: segments have their own parameter sets"
            );
        }
    }
}

/// Input of a run.
pub(crate) struct FeedInput {
    pub(crate) header: Bytes,
    pub(crate) chunks: FeedChunks,
    /// Called when its process begins to read.
    pub(crate) on_start: Box<dyn FnOnce() + Send>,
}

/// The bytes of a feed, each read from its object when the engine can take it. `wrap` converts the bytes of
/// a chunk.
pub(crate) fn feed_stream(
    packager: &Packager,
    packaged: &Packaged,
    input: FeedInput,
    wrap: impl Fn(&FeedChunk, &[u8]) -> Result<Vec<u8>, FeedError> + Clone + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let samples = packager.samples(packaged);
    let begin = async move {
        let FeedInput { header, chunks, on_start } = input;
        on_start();
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

pub(crate) fn from_engine_error(error: EngineError) -> Error {
    match error {
        EngineError::Busy => Error::Busy,
        // The samples could not be read: the cause is the error of their store.
        EngineError::Input(error) => match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::EncodeFailed(Box::new(error)),
        },
        unavailable if unavailable.is_machine_fault() => Error::EngineUnavailable(unavailable),
        other => Error::EncodeFailed(Box::new(other)),
    }
}
