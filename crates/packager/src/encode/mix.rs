//! Audio that is mixed: before a media is ready, replaced by another source, or with overlays (D-0080); and
//! that of several parts of a presentation, one after another.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_domain::{AudioOverlay, PresentationId};
use kinora_engine::{
    AudioLevel, EngineError, MIX_PARTS_MAX, MIX_START_OFFSET_SAMPLES, Mix, MixPart, OutputStream, Priority,
};
use kinora_formats::encode::{AudioFeed, FeedChunks, MARGIN_SAMPLES, encoded_audio_times};
use kinora_index::{ENCODED_AUDIO_RATE, Index, Track};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::audio::encode_failed;
use super::encode_spec;
use super::run::{FeedInput, feed_stream, from_engine_error};
use crate::{Error, Packaged, Packager};

/// A source whose first audio track is laid over a media.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The source of the audio, with an index of its own.
    pub audio_source: Arc<Packaged>,
    /// The time range and fades of the overlay.
    pub overlay: AudioOverlay,
}

/// A running mix. Dropping it ends its process and removes its files.
#[derive(Debug)]
pub struct AudioMix {
    encoding: OutputStream,
    _files: Vec<NamedTempFile>,
}

impl AudioMix {
    /// Start of the mix in its output, in samples at 48 kHz. The samples before it are the encoder's
    /// priming.
    pub const START: u64 = MIX_START_OFFSET_SAMPLES;

    /// The next bytes of a fragmented MP4, as [`Engine::mix`](kinora_engine::Engine::mix) describes it.
    /// `None` after the last ones.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Error>> {
        self.encoding.chunk().await.map(|chunk| chunk.map_err(from_engine_error))
    }
}

impl Packager {
    /// A source whose index is not stored yet. Its samples must be stored.
    ///
    /// Errors: [`Error::Damaged`].
    pub fn packaged_of_index(
        &self,
        presentation: PresentationId,
        index: &Index,
    ) -> Result<Arc<Packaged>, Error> {
        Packaged::read(presentation, &index.to_bytes()).map(Arc::new)
    }

    /// The bytes of all samples of an audio track, concatenated in decode order. The stream ends after its
    /// first error.
    ///
    /// Errors: [`Error::Gone`] without the source, those of the store.
    pub fn audio_samples(
        &self,
        packaged: &Packaged,
        track: &Track,
    ) -> impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + use<> {
        let samples = self.samples(packaged);
        let read = stream::iter(FeedChunks::of_track(track)).then(move |chunk| {
            let samples = samples.clone();
            async move { Ok::<_, Error>(Bytes::from(samples.read(&chunk.ranges).await?.concat())) }
        });
        read.boxed()
    }

    /// Starts a mix of overlays with an audio track of a source, which may be absent. Audio past the given
    /// length of the media is left out.
    ///
    /// `None` if there is nothing to hear. The input of the engine is first written into `scratch`, and
    /// removed with the mix. `has_room` reports whether the given number of bytes still fits. Errors: that
    /// of `has_room`, [`Error::TooManyPauses`], [`Error::EncodeFailed`], [`Error::Gone`] without a source,
    /// those of the store.
    pub async fn mix(
        &self,
        len: Duration,
        base_audio: Option<(&Packaged, u8)>,
        overlays: &[Overlay],
        scratch: &Path,
        has_room: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<Option<AudioMix>, Error> {
        let len = samples(len);
        let mut planned = Vec::new();
        if let Some((packaged, number)) = base_audio {
            plan(packaged, number, &AudioOverlay::whole(""), len, &mut planned)?;
        }
        for overlay in overlays {
            plan(&overlay.audio_source, 0, &overlay.overlay, len, &mut planned)?;
        }
        if planned.is_empty() {
            return Ok(None);
        }
        let bytes = |part: &PlannedPart<'_>| part.feed.chunks().map(|chunk| chunk.len).sum::<u64>();
        has_room(planned.iter().map(bytes).fold(0, u64::saturating_add))?;
        let (mut files, mut parts) = (Vec::new(), Vec::new());
        for part in planned {
            parts.push(self.write_part(part, scratch, &mut files).await?);
        }
        let seconds = |samples: u64| samples.div_ceil(ENCODED_AUDIO_RATE.into());
        let limits = encode_spec::mix_limits(seconds(len), parts.iter().map(|part| seconds(part.len)));
        // A long media takes minutes, so requests of viewers have priority.
        let mix = Mix { parts, len, level: None, lead: 0, priority: Priority::Background, limits };
        Ok(Some(AudioMix { encoding: self.engine.mix(&mix), _files: files }))
    }

    /// A mix of these parts of an audio track, which are heard one after another in some segments. Its output
    /// begins with [`MARGIN_SAMPLES`] before the segments; the lead of the feeds precedes it.
    ///
    /// Its input is in the returned files. Drop them after the run.
    pub(super) async fn join_audio(
        &self,
        packaged: &Packaged,
        feeds: Vec<AudioFeed>,
        level: Option<AudioLevel>,
        priority: Priority,
    ) -> Result<(Vec<NamedTempFile>, Mix), Error> {
        let first = feeds.first().ok_or(Error::NotListed)?;
        let (positions, with_lead) = (first.positions(), first.positions_with_lead());
        let lead = positions.start - with_lead.start;
        let start = with_lead.start.saturating_sub(MARGIN_SAMPLES);
        let len = (positions.end + MARGIN_SAMPLES).saturating_sub(start);
        let (mut files, mut parts) = (Vec::new(), Vec::new());
        for feed in feeds {
            let heard = feed.heard();
            let planned = PlannedPart {
                audio_source: packaged,
                feed,
                start: heard.start,
                len: heard.end.saturating_sub(heard.start),
                at: heard.start.saturating_sub(start),
                fade_in: 0,
                fade_out: 0,
            };
            parts.push(self.write_part(planned, &self.scratch, &mut files).await?);
        }
        let seconds = |samples: u64| samples.div_ceil(ENCODED_AUDIO_RATE.into());
        let limits = encode_spec::mix_limits(seconds(len), parts.iter().map(|part| seconds(part.len)));
        Ok((files, Mix { parts, len, level, lead, priority, limits }))
    }

    /// Writes the input of a run to a file, which is removed when the result is dropped.
    ///
    /// Errors: that of `bytes`, [`Error::Blob`] on a full disk.
    pub(crate) async fn write_scratch(
        &self,
        bytes: impl Stream<Item = io::Result<Bytes>>,
        scratch: &Path,
    ) -> Result<NamedTempFile, Error> {
        let file = NamedTempFile::new_in(scratch).map_err(scratch_error)?;
        let mut writer = tokio::fs::File::from_std(file.reopen().map_err(scratch_error)?);
        let mut bytes = Box::pin(bytes);
        while let Some(bytes) = bytes.next().await {
            let bytes = bytes.map_err(|error| from_engine_error(EngineError::Input(error)))?;
            writer.write_all(&bytes).await.map_err(scratch_error)?;
        }
        writer.flush().await.map_err(scratch_error)?;
        Ok(file)
    }

    /// One part of a mix, with its feed written to a file.
    async fn write_part(
        &self,
        planned: PlannedPart<'_>,
        scratch: &Path,
        files: &mut Vec<NamedTempFile>,
    ) -> Result<MixPart, Error> {
        let PlannedPart { audio_source, feed, start, len, at, fade_in, fade_out } = planned;
        let container = encode_spec::container(feed.format());
        let downmix = encode_spec::downmix(feed.channels());
        let feed_input = FeedInput {
            header: Bytes::from(feed.header()),
            chunks: feed.chunks(),
            on_start: Box::new(|| {}),
        };
        let bytes = feed_stream(self, audio_source, feed_input, move |chunk, bytes| feed.wrap(chunk, bytes));
        let file = self.write_scratch(bytes, scratch).await?;
        let path = file.path().to_owned();
        files.push(file);
        Ok(MixPart { file: path, container, downmix, start, len, start_in_mix: at, fade_in, fade_out })
    }
}

/// A planned part of a mix; times in samples.
struct PlannedPart<'a> {
    audio_source: &'a Packaged,
    feed: AudioFeed,
    /// The first sample that is heard, as a position in the feed.
    start: u64,
    len: u64,
    /// Start in the mix.
    at: u64,
    fade_in: u64,
    fade_out: u64,
}

/// Appends the audible parts of an audio track in a media of `media_len` samples. Long pauses are left out,
/// because an encoder would make the silence of a whole pause at once.
///
/// Errors: [`Error::TooManyPauses`], [`Error::EncodeFailed`].
fn plan<'a>(
    audio_source: &'a Packaged,
    audio: u8,
    overlay: &AudioOverlay,
    media_len: u64,
    planned: &mut Vec<PlannedPart<'a>>,
) -> Result<(), Error> {
    let index = audio_source.index();
    let begin = samples(overlay.start);
    let len_max = overlay.end.map_or(media_len, |end| samples(end).min(media_len)).saturating_sub(begin);
    let times = encoded_audio_times(index, audio.into());
    // Reads no segment past the audible part of a long file.
    let audible = times.iter().take_while(|segment| segment.start.unsigned_abs() < len_max).count();
    let count = u32::try_from(audible).unwrap_or(u32::MAX);
    let first_part_index = planned.len();
    let feeds_of = |numbers| AudioFeed::of_segments(index, audio.into(), numbers).map_err(encode_failed);
    let mut plan_feeds = |feeds: Vec<AudioFeed>| {
        for feed in feeds {
            if planned.len() == MIX_PARTS_MAX {
                return Err(Error::TooManyPauses);
            }
            // Without the margins, which belong to the segments around.
            let (positions, heard) = (feed.positions(), feed.heard());
            let span = positions.start.max(heard.start)..positions.end.min(heard.end);
            let offset = span.start.saturating_sub(MIX_START_OFFSET_SAMPLES);
            let len = span.end.saturating_sub(span.start).min(len_max.saturating_sub(offset));
            if 0 < len {
                let (start, at) = (span.start, begin + offset);
                planned.push(PlannedPart { audio_source, feed, start, len, at, fade_in: 0, fade_out: 0 });
            }
        }
        Ok(())
    };
    let has_parts =
        index.audio_tracks().nth(audio.into()).is_some_and(|(track, _)| !track.edit_points.is_empty());
    // The joined parts of a presentation are one feed each.
    let mut first = if has_parts && 0 < count { count } else { 0 };
    if 0 < first {
        plan_feeds(feeds_of(0..count)?)?;
    }
    while first < count {
        if feeds_of(first..first + 1)?.is_empty() {
            first += 1;
            continue;
        }
        let rest = AudioFeed::of_segments_from(index, audio.into(), first).map_err(encode_failed)?.numbers();
        let end = rest.end.max(first + 1).min(count);
        plan_feeds(feeds_of(first..end)?)?;
        first = end;
    }
    if let Some([first, ..]) = planned.get_mut(first_part_index..) {
        first.fade_in = samples(overlay.fade_in);
    }
    if let Some([.., last]) = planned.get_mut(first_part_index..) {
        last.fade_out = samples(overlay.fade_out);
    }
    Ok(())
}

/// Converts a time to samples of the encode.
fn samples(time: Duration) -> u64 {
    let samples = time.as_micros() * u128::from(ENCODED_AUDIO_RATE) / 1_000_000;
    u64::try_from(samples).unwrap_or(u64::MAX)
}

/// Maps an error of the folder for temporary files.
fn scratch_error(error: impl Into<io::Error>) -> Error {
    let error = error.into();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Blob(kinora_blob::Error::Full),
        _ => from_engine_error(EngineError::Spawn(error)),
    }
}
