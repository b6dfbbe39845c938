//! What stands where the source does not decode: the last picture in front of it, black where there is none,
//! and silence. D-0057.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{EngineError, Priority};
use kinora_formats::encode::{CollectError, EncodedAudio, Last, Still, StillFeed, silent_segment};
use kinora_index::Rung;

use super::RungLine;
use super::audio::AudioRun;
use super::order::{Order, spec_of_still};
use super::run::{Made, Run, of_engine};
use crate::{Error, Packaged, Packager};

/// A source of which nothing decodes in so many segments from its beginning on, some minute, is taken for
/// none.
pub(super) const UNDECODED_MAX: u32 = 16;
/// So many segments in front of one that does not decode are tried for its picture, the nearest first: half a
/// minute. Whoever watches without a jump finds the one in front at once, for it was made before.
const LOOK_BACK_MAX: u32 = 8;

impl Error {
    /// Whether a run says of its input that nothing in it decodes. What ended by a limit of ours says
    /// nothing.
    pub(super) fn is_of_damage(&self) -> bool {
        let Self::Unmade(cause) = self.root() else { return false };
        matches!(cause.downcast_ref(), Some(EngineError::Failed { .. } | EngineError::NoPicture))
            // An encoder that was given nothing ends early, or counts its sound from nowhere.
            || matches!(cause.downcast_ref(), Some(CollectError::CutShort | CollectError::Malformed(_)))
    }
}

impl Packager {
    /// Segment `n` of a rung where no picture of it decodes: the last picture in front of it, else black.
    ///
    /// Errors: [`Error::NoFrame`] where nothing decodes near it nor in the [beginning](UNDECODED_MAX) of the
    /// source, and those of every run.
    pub(super) async fn still_segment(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        rung: &Rung,
        n: u32,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let still = match self.picture_before(packaged, line, rung, n, priority).await? {
            Some(last) => match Last::of(&self.init(packaged, line).await?.bytes, &last).map_err(unmade)? {
                Last::Still(still) => still,
                Last::Picture(feed) => self.keyframe(packaged, line, rung, feed, false, priority).await?,
            },
            None => {
                let shown = self.first_that_decodes(packaged, line, rung, priority).await?;
                let feed =
                    StillFeed::of_first(&self.init(packaged, line).await?.bytes, &shown).map_err(unmade)?;
                self.keyframe(packaged, line, rung, feed, true, priority).await?
            }
        };
        let segment = still.segment(packaged.index(), n).map_err(|error| Error::Unmade(Box::new(error)))?;
        tracing::warn!(rendition.id = %line.id, segment = n, "a segment that does not decode shows a still picture");
        self.note_in_part(line).await?;
        Ok(Bytes::from(segment))
    }

    /// The nearest segment in front of `n` that is kept or decodes.
    async fn picture_before(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        rung: &Rung,
        n: u32,
        priority: Priority,
    ) -> Result<Option<Bytes>, Error> {
        for before in (n.saturating_sub(LOOK_BACK_MAX)..n).rev() {
            let found = self.kept_or_decoded(packaged, line, rung, before..before + 1, priority).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The first segment of the beginning of the source that is kept or decodes. [`Error::NoFrame`] without
    /// one.
    async fn first_that_decodes(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        rung: &Rung,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let beginning = 0..packaged.encoded_count().min(UNDECODED_MAX);
        for numbers in packaged.index().encoded_runs(beginning) {
            if let Some(found) = self.kept_or_decoded(packaged, line, rung, numbers, priority).await? {
                return Ok(found);
            }
        }
        Err(Error::NoFrame)
    }

    /// The first of these segments that is kept, else the first that decodes, which is kept then.
    async fn kept_or_decoded(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        rung: &Rung,
        numbers: Range<u32>,
        priority: Priority,
    ) -> Result<Option<Bytes>, Error> {
        for n in numbers.clone() {
            if let Some(bytes) = self.blob.get(line.key(n)).await? {
                return Ok(Some(bytes));
            }
        }
        let begun = Box::new(|| {});
        let order = Order { numbers, rungs: vec![rung.clone()], priority, is_tolerant: true, begun };
        let mut run = Run::begin(self, packaged, order).await?;
        loop {
            match run.next().await {
                Ok(Some(Made { number, outcome: Ok(bytes), .. })) => {
                    let bytes = self.keep(packaged, line, number, bytes).await?;
                    line.state().kept(number);
                    return Ok(Some(bytes));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) if error.is_of_damage() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a keyframe of one picture of a rung.
    async fn keyframe(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        rung: &Rung,
        feed: StillFeed,
        is_black: bool,
        priority: Priority,
    ) -> Result<Still, Error> {
        let init = self.init(packaged, line).await?;
        let spec = spec_of_still(rung, init.says.colour, &feed, is_black, priority);
        let mut encoding = self.engine.encode_video(spec, stream::iter([Ok(Bytes::from(feed.bytes))]));
        let mut output = Vec::new();
        while let Some(chunk) = encoding.chunk().await {
            output.extend_from_slice(&chunk.map_err(of_engine)?);
        }
        Still::of_output(&init.bytes, &output).map_err(unmade)
    }

    /// The sound of segment `n` of an audio track where it does not decode: none.
    ///
    /// Errors: [`Error::NoFrame`] where nothing is to be heard in the [beginning](UNDECODED_MAX) of the
    /// source either, and those of every run.
    pub(super) async fn silence(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        audio: u8,
        n: u32,
        priority: Priority,
    ) -> Result<Bytes, Error> {
        let silent = || silent_segment(packaged.index(), audio.into(), n).ok_or(Error::NotInPlan);
        for other in (0..packaged.encoded_audio_count(audio).min(UNDECODED_MAX)).filter(|other| *other != n) {
            if self.sounds(packaged, line, audio, other, priority).await? {
                tracing::warn!(rendition.id = %line.id, segment = n, "a segment that does not decode is silent");
                self.note_in_part(line).await?;
                return silent().map(Bytes::from);
            }
        }
        Err(Error::NoFrame)
    }

    /// Whether a segment of sound is kept, or can be made and is kept then.
    async fn sounds(
        &self,
        packaged: &Arc<Packaged>,
        line: &RungLine,
        audio: u8,
        n: u32,
        priority: Priority,
    ) -> Result<bool, Error> {
        if self.blob.reader(line.key(n)).await?.is_some() {
            return Ok(true);
        }
        let run = AudioRun::begin(self, packaged, audio, n..n + 1, priority, Box::new(|| {}));
        let mut run = match run {
            // Silence that the source itself has says nothing of a decoder.
            Ok(run) if run.is_silent() => return Ok(false),
            run => run?,
        };
        match run.next().await {
            Ok(Some(EncodedAudio { bytes, .. })) => {
                self.keep(packaged, line, n, bytes.into()).await?;
                line.state().kept(n);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) if error.is_of_damage() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes down, once, that a rendition has segments that the source does not give. It stays what players
    /// are offered.
    async fn note_in_part(&self, line: &RungLine) -> Result<(), Error> {
        if line.is_in_part.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let (presentation, now) = (line.presentation, self.clock.now());
        let (id, name) = line.work.rendition().in_part(presentation);
        let write = async move |tx: &mut kinora_store::Tx| {
            if tx.begin_rendition(id, presentation, &name, now).await? {
                tx.set_rendition_broken(id, now).await?;
            }
            Ok::<_, kinora_store::Error>(())
        };
        let written = self.store.write(write).await;
        if written.is_err() {
            line.is_in_part.store(false, Ordering::Release);
        }
        Ok(written?)
    }
}

fn unmade(error: CollectError) -> Error {
    Error::Unmade(Box::new(error))
}
