//! Audio runs: one call of the engine encodes some segments of an audio track, or all that are missing.
//!
//! Where several parts of a presentation are heard, each part is decoded by itself, cut to its samples, and
//! the result is encoded once: a mix of parts that do not overlap.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_engine::{AudioEncode, AudioSpan, OutputStream, Priority};
use kinora_formats::encode::{AudioFeed, AudioSegmenter, EncodedAudioSegment, FeedError, silent_segment};
use kinora_index::ENCODED_AUDIO_RATE;
use tempfile::NamedTempFile;

use super::encode_spec;
use super::run::{FeedInput, feed_stream, from_engine_error};
use crate::{BackfillProgress, EncodedAudio, Error, Packaged, Packager};

/// Duration of an output fragment of a whole encode: about a segment.
const FRAGMENT: Duration = Duration::from_secs(4);

/// A running encode of audio. Dropping it kills its process.
pub(super) struct AudioEncodeRun {
    /// `None` if the range is silent.
    encoder: Option<(OutputStream, AudioSegmenter)>,
    /// Input of a run of several parts.
    _files: Vec<NamedTempFile>,
    /// The frame up to which audio must come out, else the encoder was cut short. 0 without this check.
    audible_end: u64,
    ready: VecDeque<EncodedAudioSegment>,
}

impl AudioEncodeRun {
    /// Starts a run of these segments. It encodes in its own process as long as the caller takes the output.
    pub(super) async fn begin(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: EncodedAudio,
        numbers: Range<u32>,
        priority: Priority,
        on_start: Box<dyn FnOnce() + Send>,
    ) -> Result<Self, Error> {
        let index = packaged.index();
        let lead = encode_spec::lead(audio.gain);
        let feeds = AudioFeed::of_segments_with_lead(index, audio.track.into(), numbers.clone(), lead)
            .map_err(encode_failed)?;
        match <[AudioFeed; 1]>::try_from(feeds) {
            Ok([feed]) if feed.is_alone() => {
                let span = AudioSpan::Piece(feed.positions());
                Self::encode(packager, packaged, audio, numbers, feed, span, priority, on_start)
            }
            Ok(part) => Self::join(packager, packaged, audio, numbers, part.into(), priority, on_start).await,
            Err(parts) if !parts.is_empty() => {
                Self::join(packager, packaged, audio, numbers, parts, priority, on_start).await
            }
            Err(_) => {
                on_start();
                let silent = |number| {
                    let bytes = silent_segment(index, audio.track.into(), number)?;
                    Some(EncodedAudioSegment { number, bytes })
                };
                let ready = numbers.map(silent).collect::<Option<_>>().ok_or(Error::NotListed)?;
                Ok(Self { encoder: None, _files: Vec::new(), audible_end: 0, ready })
            }
        }
    }

    /// Starts a run of segments in which these parts are heard, one after another.
    async fn join(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: EncodedAudio,
        numbers: Range<u32>,
        parts: Vec<AudioFeed>,
        priority: Priority,
        on_start: Box<dyn FnOnce() + Send>,
    ) -> Result<Self, Error> {
        let segmenter = AudioSegmenter::new(packaged.index(), audio.track.into(), numbers)
            .ok_or(Error::NotListed)?
            .with_output_from_margin();
        let level = audio.gain.map(encode_spec::audio_level);
        let (files, mix) = packager.join_audio(packaged, parts, level, priority).await?;
        let encoding = packager.engine.mix(&mix);
        on_start();
        let encoder = Some((encoding, segmenter));
        Ok(Self { encoder, _files: files, audible_end: 0, ready: VecDeque::new() })
    }

    /// Starts a run from segment `first` to the end of the track, or to a long pause in it.
    async fn begin_to_end(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: EncodedAudio,
        first: u32,
    ) -> Result<Self, Error> {
        let first_only = first..first + 1;
        let (index, number, lead) = (packaged.index(), audio.track.into(), encode_spec::lead(audio.gain));
        let first_feeds = AudioFeed::of_segments_with_lead(index, number, first_only.clone(), lead)
            .map_err(encode_failed)?;
        if !matches!(&first_feeds[..], [feed] if feed.is_alone()) {
            let no_callback = Box::new(|| {});
            return Self::begin(packager, packaged, audio, first_only, Priority::Background, no_callback)
                .await;
        }
        let feed =
            AudioFeed::of_segments_from_with_lead(index, number, first, lead).map_err(encode_failed)?;
        let numbers = feed.numbers();
        // Two frames of priming, as a piece has. To the ear, the result is the same as an encode from 0.
        let start = feed.positions().start - if first == 0 { 0 } else { PRIMING_SAMPLES };
        let span = AudioSpan::Whole { start, fragment: FRAGMENT };
        Self::encode(packager, packaged, audio, numbers, feed, span, Priority::Background, Box::new(|| {}))
    }

    #[expect(clippy::too_many_arguments, reason = "what both ways to begin have found out")]
    fn encode(
        packager: &Packager,
        packaged: &Arc<Packaged>,
        audio: EncodedAudio,
        numbers: Range<u32>,
        feed: AudioFeed,
        span: AudioSpan,
        priority: Priority,
        on_start: Box<dyn FnOnce() + Send>,
    ) -> Result<Self, Error> {
        let segmenter =
            AudioSegmenter::new(packaged.index(), audio.track.into(), numbers).ok_or(Error::NotListed)?;
        // The encoder of a piece pads its silent end.
        let audible_end = if matches!(span, AudioSpan::Whole { .. }) { feed.audible_end() } else { 0 };
        let positions = feed.positions();
        let seconds = (positions.end - positions.start).div_ceil(u64::from(ENCODED_AUDIO_RATE));
        let limits = encode_spec::audio_limits(seconds);
        let container = encode_spec::container(feed.format());
        let downmix = encode_spec::downmix(feed.channels());
        let level = audio.gain.map(encode_spec::audio_level);
        let spec = AudioEncode { container, span, downmix, level, priority, limits };
        let feed_input = FeedInput { header: Bytes::from(feed.header()), chunks: feed.chunks(), on_start };
        let input = feed_stream(packager, packaged, feed_input, move |chunk, bytes| feed.wrap(chunk, bytes));
        let encoder = Some((packager.engine.encode_audio(spec, input), segmenter));
        Ok(Self { encoder, _files: Vec::new(), audible_end, ready: VecDeque::new() })
    }

    /// Whether the source has no audio in the range, so that nothing is decoded.
    pub(super) fn is_silent(&self) -> bool {
        self.encoder.is_none()
    }

    /// The next segment. `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<EncodedAudioSegment>, Error> {
        loop {
            if let Some(segment) = self.ready.pop_front() {
                return Ok(Some(segment));
            }
            let Some((encoding, segmenter)) = &mut self.encoder else { return Ok(None) };
            let segments = match encoding.chunk().await {
                Some(Ok(chunk)) => segmenter.push(&chunk),
                Some(Err(error)) => return Err(from_engine_error(error)),
                None => {
                    let last_segments = segmenter.finish(self.audible_end);
                    self.encoder = None;
                    last_segments
                }
            };
            self.ready.extend(segments.map_err(|error| Error::EncodeFailed(Box::new(error)))?);
        }
    }
}

/// Samples that a run encodes before those of its first segment: two frames.
const PRIMING_SAMPLES: u64 = 2 * kinora_index::ENCODED_AUDIO_FRAME as u64;

pub(super) fn encode_failed(error: FeedError) -> Error {
    Error::EncodeFailed(Box::new(error))
}

impl Packager {
    /// Encodes the missing segments of an audio track from the first one to the end, and reports progress
    /// after each.
    ///
    /// Skips stored segments, so a second call continues where an earlier one ended. Dropping the future
    /// ends it. Its process has the lowest priority. Errors: those of the stores, [`Error::Busy`],
    /// [`Error::EncodeFailed`] if it cannot be encoded.
    pub async fn backfill_audio(
        &self,
        packaged: &Arc<Packaged>,
        audio: impl Into<EncodedAudio>,
        mut progress: impl FnMut(BackfillProgress),
    ) -> Result<(), Error> {
        let audio = audio.into();
        let count = packaged.aac_segment_count(audio.track);
        let active = self.active_audio(packaged, audio).await?;
        active.ensure_row(&self.store, self.clock.now()).await?;
        let mut stored = self.stored_segments(active.id).await?;
        let mut report = |done: usize| progress(BackfillProgress { done: done as u64, total: count.into() });
        report(stored.len());
        let (mut is_single_segment, mut search_from) = (false, 0);
        while let Some(first) = (search_from..count).find(|n| !stored.contains(n)) {
            search_from = first;
            let mut run = if is_single_segment {
                let first_only = first..first + 1;
                AudioEncodeRun::begin(
                    self,
                    packaged,
                    audio,
                    first_only,
                    Priority::Background,
                    Box::new(|| {}),
                )
                .await?
            } else {
                AudioEncodeRun::begin_to_end(self, packaged, audio, first).await?
            };
            let result = loop {
                let (number, bytes) = match run.next().await {
                    Ok(Some(EncodedAudioSegment { number, bytes })) => (number, bytes),
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                };
                if stored.insert(number) {
                    self.store_segment(packaged, &active, number, bytes.into()).await?;
                    active.state().note_stored(number);
                    report(stored.len());
                }
                // Stops early once every later segment is stored, because requests of viewers encoded them
                // meanwhile.
                if (number..count).all(|n| stored.contains(&n)) {
                    break Ok(());
                }
            };
            let ended = match result {
                Err(error) if is_single_segment && error.is_undecodable() => {
                    let silent = self
                        .placeholder_audio_segment(packaged, &active, audio, first, Priority::Background)
                        .await;
                    let silent = silent.map_err(|why| match why {
                        Error::NoFrame => error,
                        other => other,
                    });
                    self.store_segment(packaged, &active, first, silent?).await?;
                    active.state().note_stored(first);
                    stored.insert(first);
                    report(stored.len());
                    Ok(())
                }
                ended => ended,
            };
            is_single_segment = match ended {
                // The run failed, or ended before its audio did. The segment where it stopped is encoded
                // alone, and the next run starts after it.
                Err(error) if error.is_run_failure() && !is_single_segment => {
                    tracing::warn!(rendition.id = %active.id, error = %error, "an audio encode run ended early");
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
