//! Sound that is put together before a media is ready: taken from another source, or with more of it laid over. Decision 0080.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_domain::{SoundOverlay, SourceId};
use kinora_engine::{Encoding, MIX_PARTS_MAX, MIX_START, Mix, MixPart, Priority};
use kinora_formats::encode::{AudioFeed, FeedChunks, encoded_audio_segments, encoded_audio_times};
use kinora_formats::index::Index;
use kinora_formats::plan::ENCODED_AUDIO_RATE;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::order;
use super::run::{Fed, of_engine, read};
use crate::{Error, Packaged, Packager, Rendition};

/// Why a mix of more parts than an engine takes is not begun.
const TOO_MANY_PAUSES: &str = "the sound has too many long pauses to lay other sound over it";

/// A source whose first audio track is laid over a media.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// Its index was cut by itself.
    pub sound: Arc<Packaged>,
    /// When it is heard.
    pub wanted: SoundOverlay,
}

/// A mix under way. Dropping it ends its process and removes its files.
#[derive(Debug)]
pub struct SoundMix {
    encoding: Encoding,
    _files: Vec<NamedTempFile>,
}

impl SoundMix {
    /// When the mix begins in its output, in samples at 48 kHz: what lies before is the encoder's priming.
    pub const START: u64 = MIX_START;

    /// The next bytes of a fragmented MP4, as [`Engine::mix`](kinora_engine::Engine::mix) describes it; `None` when all have come.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Error>> {
        self.encoding.chunk().await.map(|chunk| chunk.map_err(of_engine))
    }
}

impl Packager {
    /// A source whose index is not stored yet. Its samples must be there.
    ///
    /// Errors: [`Error::Damaged`].
    pub fn unstored(&self, source: SourceId, index: &Index) -> Result<Arc<Packaged>, Error> {
        Packaged::read(source, &index.to_bytes()).map(Arc::new)
    }

    /// The bytes of all samples of the first audio track, one behind the other in decode order. The stream ends after its first error.
    ///
    /// Errors: [`Error::NotInPlan`] without sound, [`Error::Gone`] without the source, those of the store.
    pub async fn sound_samples(
        &self,
        packaged: &Packaged,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + use<>, Error> {
        let track = packaged.track(Rendition::Audio(0))?;
        let reader = self.blob.reader(packaged.samples_key(Rendition::Audio(0))).await?.ok_or(Error::Gone)?;
        let read = stream::iter(FeedChunks::of_track(track)).then(move |chunk| {
            let reader = reader.clone();
            async move {
                let ranges: Vec<_> = chunk.ranges.iter().map(|range| range.offset..range.end()).collect();
                Ok::<_, Error>(Bytes::from(reader.read_many(&ranges).await?.concat()))
            }
        });
        Ok(read.boxed())
    }

    /// Begins to lay sounds over an audio track of a source, which may be none, for a media of this length: what would be heard later is left out.
    ///
    /// `None` where there is nothing to be heard. What the engine reads is written into `scratch` first, and removed with the mix.
    /// Errors: [`Error::Unmade`], [`Error::Gone`] without a source, those of the store.
    pub async fn mix(
        &self,
        len: Duration,
        below: Option<(&Packaged, u8)>,
        overlays: &[Overlay],
        scratch: &Path,
    ) -> Result<Option<SoundMix>, Error> {
        let len = samples(len);
        let (mut files, mut parts) = (Vec::new(), Vec::new());
        if let Some((sound, number)) = below {
            let room = MIX_PARTS_MAX.saturating_sub(overlays.len());
            for feed in stretches(sound.index(), number, room)? {
                let heard = feed.positions();
                let at = heard.start.saturating_sub(MIX_START);
                if at < len {
                    let place = (at, heard.end - heard.start);
                    let whole = SoundOverlay::whole("");
                    parts.push(self.part((sound, number), feed, place, &whole, scratch, &mut files).await?);
                }
            }
        }
        for overlay in overlays {
            let at = samples(overlay.wanted.start);
            let room = overlay.wanted.end.map_or(len, |end| samples(end).min(len)).saturating_sub(at);
            let Some((feed, heard)) = beginning(overlay.sound.index(), room)? else { continue };
            let key = (&*overlay.sound, 0);
            let part = self.part(key, feed, (at, heard), &overlay.wanted, scratch, &mut files).await?;
            parts.push(part);
        }
        if parts.is_empty() || len == 0 {
            return Ok(None);
        }
        let limits = order::limits_of_mix(len.div_ceil(ENCODED_AUDIO_RATE.into()), parts.len() as u64);
        let mix = Mix { parts, len, priority: Priority::Prepare, limits };
        Ok(Some(SoundMix { encoding: self.engine.mix(&mix), _files: files }))
    }

    /// One part of a mix, its feed written down.
    async fn part(
        &self,
        (packaged, audio): (&Packaged, u8),
        feed: AudioFeed,
        (at, len): (u64, u64),
        wanted: &SoundOverlay,
        scratch: &Path,
        files: &mut Vec<NamedTempFile>,
    ) -> Result<MixPart, Error> {
        let (container, start) = (order::container(feed.format()), feed.positions().start);
        let file = NamedTempFile::new_in(scratch).map_err(of_disk)?;
        let path = file.path().to_owned();
        let mut to = tokio::fs::File::from_std(file.reopen().map_err(of_disk)?);
        files.push(file);
        let fed = Fed { header: Bytes::from(feed.header()), chunks: feed.chunks(), begun: Box::new(|| {}) };
        let key = packaged.samples_key(Rendition::Aac(audio));
        let mut bytes = Box::pin(read(self, key, fed, move |chunk, bytes| feed.wrap(chunk, bytes)));
        while let Some(bytes) = bytes.next().await {
            let bytes = bytes.map_err(|error| of_engine(kinora_engine::EngineError::Input(error)))?;
            to.write_all(&bytes).await.map_err(of_disk)?;
        }
        to.flush().await.map_err(of_disk)?;
        let (fade_in, fade_out) = (samples(wanted.fade_in), samples(wanted.fade_out));
        Ok(MixPart { file: path, container, start, len, at, fade_in, fade_out })
    }
}

/// The sound of a track without its long pauses, of which an encoder would make silence all at once.
///
/// Errors: [`Error::Unmade`] for more than `max`.
fn stretches(index: &Index, audio: u8, max: usize) -> Result<Vec<AudioFeed>, Error> {
    let count = encoded_audio_segments(index, audio.into());
    let (mut feeds, mut first) = (Vec::new(), 0);
    while first < count {
        let alone = AudioFeed::of_segments(index, audio.into(), first..first + 1).map_err(unmade)?;
        if alone.is_silent() {
            first += 1;
            continue;
        }
        if feeds.len() == max {
            return Err(Error::Unmade(TOO_MANY_PAUSES.into()));
        }
        let feed = AudioFeed::of_rest(index, audio.into(), first).map_err(unmade)?;
        first = feed.numbers().end.max(first + 1);
        feeds.push(feed);
    }
    Ok(feeds)
}

/// What is heard of the first audio track in so many samples, and how many those are. `None` where that is nothing.
fn beginning(index: &Index, room: u64) -> Result<Option<(AudioFeed, u64)>, Error> {
    let times = encoded_audio_times(index, 0);
    let begun = times.iter().take_while(|segment| segment.start.unsigned_abs() < room).count();
    let Some(last) = begun.checked_sub(1).and_then(|last| times.get(last)) else { return Ok(None) };
    let numbers = 0..u32::try_from(begun).unwrap_or(u32::MAX);
    let feed = AudioFeed::of_segments(index, 0, numbers).map_err(unmade)?;
    let heard = last.end.unsigned_abs().min(room);
    Ok((!feed.is_silent() && 0 < heard).then_some((feed, heard)))
}

/// A time in samples of what is encoded.
fn samples(time: Duration) -> u64 {
    let samples = time.as_micros() * u128::from(ENCODED_AUDIO_RATE) / 1_000_000;
    u64::try_from(samples).unwrap_or(u64::MAX)
}

fn unmade(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Unmade(Box::new(error))
}

/// The folder for files that do not stay.
fn of_disk(error: impl Into<io::Error>) -> Error {
    of_engine(kinora_engine::EngineError::Spawn(error.into()))
}
