//! Replacements for parts of the source that do not decode: the last frame before them, black without one,
//! and silence. D-0057.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{EngineError, Priority};
use kinora_formats::encode::{
    EncodedAudioSegment, FreezeFrame, FreezeFrameFeed, LastFrame, SegmenterError, silent_segment,
};
use kinora_index::Rung;

use super::ActiveRendition;
use super::audio::AudioEncodeRun;
use super::encode_spec::{EncodeSpec, placeholder_encode};
use super::run::{EncodeRun, EncodedSegment, from_engine_error};
use crate::{EncodedAudio, Error, Packaged, Packager};

/// A source counts as broken if none of this many first segments decodes: about a minute.
pub(super) const UNDECODED_SEGMENTS_MAX: u32 = 16;
/// Number of segments before a broken one that are searched for the last frame, the nearest first: half a
/// minute. Without a seek the one just before it is already stored.
const LOOK_BACK_MAX: u32 = 8;

impl Error {
    /// Whether the run failed because nothing in its input decodes. A run that was ended by a limit of ours
    /// does not count.
    pub(super) fn is_undecodable(&self) -> bool {
        let Self::EncodeFailed(cause) = self.root() else { return false };
        matches!(cause.downcast_ref(), Some(EngineError::Failed { .. } | EngineError::NoFrame))
            // An encoder without input ends early, or counts its audio from an invalid time.
            || matches!(cause.downcast_ref(), Some(SegmenterError::Truncated | SegmenterError::Malformed(_)))
    }
}

impl Packager {
    /// Segment `n` of a rung if no frame of it decodes: the last frame before it, else black.
    ///
    /// Errors: [`Error::NoFrame`] if nothing decodes near it nor in the first [`UNDECODED_SEGMENTS_MAX`]
    /// segments of the source, and those of every run.
    pub(super) async fn placeholder_segment(
        &self,
        packaged: &Arc<Packaged>,
        active: &ActiveRendition,
        rung: &Rung,
        n: u32,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let still = match self.segment_before(packaged, active, rung, n, priority).await? {
            Some(last) => {
                match LastFrame::of(&self.init(packaged, active).await?.bytes, &last)
                    .map_err(segmenter_error)?
                {
                    LastFrame::Keyframe(still) => still,
                    LastFrame::NeedsDecoding(feed) => {
                        self.encode_keyframe(packaged, active, rung, feed, false, priority).await?
                    }
                }
            }
            None => {
                let first_segment = self.first_decodable_segment(packaged, active, rung, priority).await?;
                let feed =
                    FreezeFrameFeed::of_first(&self.init(packaged, active).await?.bytes, &first_segment)
                        .map_err(segmenter_error)?;
                self.encode_keyframe(packaged, active, rung, feed, true, priority).await?
            }
        };
        let segment =
            still.segment(packaged.index(), n).map_err(|error| Error::EncodeFailed(Box::new(error)))?;
        tracing::warn!(rendition.id = %active.id, segment = n, "a still frame replaces a segment that does not decode");
        self.mark_partial(active).await?;
        Ok(Bytes::from(segment))
    }

    /// The nearest segment before `n` that is stored or decodes.
    async fn segment_before(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
        rung: &Rung,
        n: u32,
        priority: Priority,
    ) -> Result<Option<Bytes>, Error> {
        for number in (n.saturating_sub(LOOK_BACK_MAX)..n).rev() {
            let found =
                self.stored_or_decoded(packaged, rendition, rung, number..number + 1, priority).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The first segment in the beginning of the source that is stored or decodes. [`Error::NoFrame`]
    /// without one.
    async fn first_decodable_segment(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
        rung: &Rung,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let beginning = 0..packaged.rung_segment_count().min(UNDECODED_SEGMENTS_MAX);
        for numbers in packaged.index().encoded_runs(beginning) {
            if let Some(found) = self.stored_or_decoded(packaged, rendition, rung, numbers, priority).await? {
                return Ok(found);
            }
        }
        Err(Error::NoFrame)
    }

    /// The first of these segments that is stored, else the first that decodes, which is then stored.
    async fn stored_or_decoded(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
        rung: &Rung,
        numbers: Range<u32>,
        priority: Priority,
    ) -> Result<Option<Bytes>, Error> {
        for n in numbers.clone() {
            if let Some(bytes) = self.blob.get(rendition.key(n)).await? {
                return Ok(Some(bytes));
            }
        }
        let on_start = Box::new(|| {});
        let spec =
            EncodeSpec { numbers, rungs: vec![rung.clone()], priority, tolerates_damage: true, on_start };
        let mut run = EncodeRun::begin(self, packaged, spec).await?;
        loop {
            match run.next().await {
                Ok(Some(EncodedSegment { number, outcome: Ok(bytes), .. })) => {
                    let bytes = self.store_segment(packaged, rendition, number, bytes).await?;
                    rendition.state().note_stored(number);
                    return Ok(Some(bytes));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) if error.is_undecodable() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Encodes a keyframe from one frame of a rung.
    async fn encode_keyframe(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
        rung: &Rung,
        feed: FreezeFrameFeed,
        is_black: bool,
        priority: Priority,
    ) -> Result<FreezeFrame, Error> {
        let init = self.init(packaged, rendition).await?;
        let overlay = self.overlay_image(packaged).await?;
        let spec = placeholder_encode(rung, init.parsed.colour, &feed, is_black, overlay.as_ref(), priority);
        let mut encoding = self.engine.encode_video(spec, stream::iter([Ok(Bytes::from(feed.bytes))]));
        let mut output = Vec::new();
        while let Some(chunk) = encoding.chunk().await {
            output.extend_from_slice(&chunk.map_err(from_engine_error)?);
        }
        FreezeFrame::of_output(&init.bytes, &output).map_err(segmenter_error)
    }

    /// Silence for segment `n` of an audio track that does not decode.
    ///
    /// Errors: [`Error::NoFrame`] if no audio decodes in the first [`UNDECODED_SEGMENTS_MAX`] segments of the
    /// source either, and those of every run.
    pub(super) async fn placeholder_audio_segment(
        &self,
        packaged: &Arc<Packaged>,
        active: &ActiveRendition,
        audio: EncodedAudio,
        n: u32,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let silent = || silent_segment(packaged.index(), audio.track.into(), n).ok_or(Error::NotListed);
        for other in (0..packaged.aac_segment_count(audio.track).min(UNDECODED_SEGMENTS_MAX))
            .filter(|other| *other != n)
        {
            if self.audio_segment_decodes(packaged, active, audio, other, priority).await? {
                tracing::warn!(rendition.id = %active.id, segment = n, "silence replaces a segment that does not decode");
                self.mark_partial(active).await?;
                return silent().map(Bytes::from);
            }
        }
        Err(Error::NoFrame)
    }

    /// Whether an audio segment is stored, or decodes and is then stored.
    async fn audio_segment_decodes(
        &self,
        packaged: &Arc<Packaged>,
        rendition: &ActiveRendition,
        audio: EncodedAudio,
        n: u32,
        priority: Priority,
    ) -> Result<bool, Error> {
        if self.blob.reader(rendition.key(n)).await?.is_some() {
            return Ok(true);
        }
        let run = AudioEncodeRun::begin(self, packaged, audio, n..n + 1, priority, Box::new(|| {})).await;
        let mut run = match run {
            // Silence in the source itself says nothing about the decoder.
            Ok(run) if run.is_silent() => return Ok(false),
            run => run?,
        };
        match run.next().await {
            Ok(Some(EncodedAudioSegment { bytes, .. })) => {
                self.store_segment(packaged, rendition, n, bytes.into()).await?;
                rendition.state().note_stored(n);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.is_undecodable() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes once that a rendition has replaced segments. Players are still offered it.
    async fn mark_partial(&self, rendition: &ActiveRendition) -> Result<(), Error> {
        if rendition.is_partial.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let (presentation, now) = (rendition.presentation, self.clock.now());
        let (id, name) = rendition.target.rendition().partial_row(presentation);
        let write = async move |tx: &mut kinora_store::Tx| {
            if tx.insert_rendition(id, presentation, &name, now).await? {
                tx.set_rendition_broken(id, now).await?;
            }
            Ok::<_, kinora_store::Error>(())
        };
        let written = self.store.write(write).await;
        if written.is_err() {
            rendition.is_partial.store(false, Ordering::Release);
        }
        Ok(written?)
    }
}

fn segmenter_error(error: SegmenterError) -> Error {
    Error::EncodeFailed(Box::new(error))
}
