//! Sound: one call of the engine makes some segments of an audio track, or all that are left of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_engine::{AudioEncode, AudioSpan, Encoding, Priority};
use kinora_formats::encode::{AudioCollector, AudioFeed, EncodedAudio, FeedError, silent_segment};
use kinora_index::ENCODED_AUDIO_RATE;

use super::order;
use super::run::{Fed, of_engine, read};
use crate::{Error, FillProgress, Packaged, Packager};

/// How much sound a whole encode says at once: about a segment.
const FRAGMENT: Duration = Duration::from_secs(4);

/// A run of sound under way. Dropping it kills its process.
pub(super) struct AudioRun {
    /// `None` where nothing sounds.
    encoder: Option<(Encoding, AudioCollector)>,
    /// The frame without which the encoder was cut short.
    heard_until: u64,
    ready: VecDeque<EncodedAudio>,
}

impl AudioRun {
    /// Begins a run of these segments, which works on its own from now on as far as somebody takes what it
    /// makes.
    pub(super) fn begin(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: u8,
        numbers: Range<u32>,
        priority: Priority,
        begun: Box<dyn FnOnce() + Send>,
    ) -> Result<Self, Error> {
        let index = packaged.index();
        let feed = AudioFeed::of_segments(index, audio.into(), numbers.clone()).map_err(unmade)?;
        if feed.is_silent() {
            begun();
            let silent = |number| {
                let bytes = silent_segment(index, audio.into(), number)?;
                Some(EncodedAudio { number, bytes })
            };
            let ready = numbers.map(silent).collect::<Option<_>>().ok_or(Error::NotInPlan)?;
            return Ok(Self { encoder: None, heard_until: 0, ready });
        }
        let span = AudioSpan::Piece(feed.positions());
        Self::encode(packager, packaged, audio, numbers, feed, span, priority, begun)
    }

    /// Begins a run from segment `first` to the end of the track, or to a long pause in it.
    fn begin_rest(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: u8,
        first: u32,
    ) -> Result<Self, Error> {
        let alone = first..first + 1;
        let piece = AudioFeed::of_segments(packaged.index(), audio.into(), alone.clone()).map_err(unmade)?;
        if piece.is_silent() {
            return Self::begin(packager, packaged, audio, alone, Priority::Background, Box::new(|| {}));
        }
        let feed = AudioFeed::of_rest(packaged.index(), audio.into(), first).map_err(unmade)?;
        let numbers = feed.numbers();
        // Two frames of lead, as a piece has: what follows is the same to the ear as if it had begun at 0.
        let start = feed.positions().start - if first == 0 { 0 } else { LEAD_SAMPLES };
        let span = AudioSpan::Whole { start, fragment: FRAGMENT };
        Self::encode(packager, packaged, audio, numbers, feed, span, Priority::Background, Box::new(|| {}))
    }

    #[expect(clippy::too_many_arguments, reason = "what both ways to begin have found out")]
    fn encode(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: u8,
        numbers: Range<u32>,
        feed: AudioFeed,
        span: AudioSpan,
        priority: Priority,
        begun: Box<dyn FnOnce() + Send>,
    ) -> Result<Self, Error> {
        let collector =
            AudioCollector::new(packaged.index(), audio.into(), numbers).ok_or(Error::NotInPlan)?;
        // An encoder of a piece fills up what does not sound.
        let heard_until = if matches!(span, AudioSpan::Whole { .. }) { feed.heard_until() } else { 0 };
        let positions = feed.positions();
        let seconds = (positions.end - positions.start).div_ceil(u64::from(ENCODED_AUDIO_RATE));
        let limits = order::limits_of_sound(seconds);
        let container = order::container(feed.format());
        let downmix = order::downmix(packaged, audio);
        let spec = AudioEncode { container, span, downmix, priority, limits };
        let fed = Fed { header: Bytes::from(feed.header()), chunks: feed.chunks(), begun };
        let input = read(packager, packaged, fed, move |chunk, bytes| feed.wrap(chunk, bytes));
        let encoder = Some((packager.engine.encode_audio(spec, input), collector));
        Ok(Self { encoder, heard_until, ready: VecDeque::new() })
    }

    /// Whether the source has no sound there, so that nothing is decoded.
    pub(super) fn is_silent(&self) -> bool {
        self.encoder.is_none()
    }

    /// The next segment. `None` when all have come.
    pub(super) async fn next(&mut self) -> Result<Option<EncodedAudio>, Error> {
        loop {
            if let Some(made) = self.ready.pop_front() {
                return Ok(Some(made));
            }
            let Some((encoding, collector)) = &mut self.encoder else { return Ok(None) };
            let made = match encoding.chunk().await {
                Some(Ok(chunk)) => collector.push(&chunk),
                Some(Err(error)) => return Err(of_engine(error)),
                None => {
                    let made = collector.finish(self.heard_until);
                    self.encoder = None;
                    made
                }
            };
            self.ready.extend(made.map_err(|error| Error::Unmade(Box::new(error)))?);
        }
    }
}

/// Two frames.
const LEAD_SAMPLES: u64 = 2 * kinora_index::ENCODED_AUDIO_FRAME as u64;

pub(super) fn unmade(error: FeedError) -> Error {
    Error::Unmade(Box::new(error))
}

impl Packager {
    /// Makes what is missing of the encoded sound of an audio track, from the first missing segment to the
    /// end, and tells how far it is after each.
    ///
    /// Skips what is kept, so it goes on where an earlier call ended; dropping it ends it. Its process gives
    /// way to all others. Errors: those of the stores, [`Error::Busy`], [`Error::Unmade`] where it cannot be
    /// encoded.
    pub async fn fill_audio(
        &self,
        packaged: &Arc<Packaged>,
        audio: u8,
        mut progress: impl FnMut(FillProgress),
    ) -> Result<(), Error> {
        let count = packaged.encoded_audio_count(audio);
        let line = self.audio_line(packaged, audio).await?;
        line.begin(&self.store, self.clock.now()).await?;
        let mut kept = self.kept(line.id).await?;
        let mut tell = |done: usize| progress(FillProgress { done: done as u64, of: count.into() });
        tell(kept.len());
        let (mut is_alone, mut from) = (false, 0);
        while let Some(first) = (from..count).find(|n| !kept.contains(n)) {
            from = first;
            let mut run = if is_alone {
                let alone = first..first + 1;
                AudioRun::begin(self, packaged, audio, alone, Priority::Background, Box::new(|| {}))?
            } else {
                AudioRun::begin_rest(self, packaged, audio, first)?
            };
            let ended = loop {
                let (number, bytes) = match run.next().await {
                    Ok(Some(EncodedAudio { number, bytes })) => (number, bytes),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                };
                if kept.insert(number) {
                    self.keep(packaged, &line, number, bytes.into()).await?;
                    line.state().kept(number);
                    tell(kept.len());
                }
                // What viewers had made meanwhile is not made again where that is most of it.
                if (number..count).all(|n| kept.contains(&n)) {
                    break Ok(());
                }
            };
            let ended = match ended {
                Err(error) if is_alone && error.is_of_damage() => {
                    let silent = self.silence(packaged, &line, audio, first, Priority::Background).await;
                    let silent = silent.map_err(|why| match why {
                        Error::NoFrame => error,
                        other => other,
                    });
                    self.keep(packaged, &line, first, silent?).await?;
                    line.state().kept(first);
                    kept.insert(first);
                    tell(kept.len());
                    Ok(())
                }
                ended => ended,
            };
            is_alone = match ended {
                // It came to nothing, or ended before its sound did. What it stopped at is made alone, and it
                // goes on behind that.
                Err(error) if error.is_of_run() && !is_alone => {
                    tracing::warn!(rendition.id = %line.id, error = %error, "a run of sound was cut short");
                    true
                }
                ended => {
                    ended?;
                    false
                }
            };
        }
        Ok(())
    }
}
