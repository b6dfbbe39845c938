//! Sound that is put together before a media is ready: taken from another source, or with more of it laid
//! over. D-0080.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_domain::{PresentationId, SoundOverlay};
use kinora_engine::{Encoding, EngineError, MIX_PARTS_MAX, MIX_START, Mix, MixPart, Priority};
use kinora_formats::encode::{AudioFeed, FeedChunks, encoded_audio_times};
use kinora_index::{ENCODED_AUDIO_RATE, Index, Track};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;

use super::audio::unmade;
use super::order;
use super::run::{Fed, of_engine, read};
use crate::{Error, Packaged, Packager};

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

    /// The next bytes of a fragmented MP4, as [`Engine::mix`](kinora_engine::Engine::mix) describes it;
    /// `None` when all have come.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Error>> {
        self.encoding.chunk().await.map(|chunk| chunk.map_err(of_engine))
    }
}

impl Packager {
    /// A source whose index is not stored yet. Its samples must be there.
    ///
    /// Errors: [`Error::Damaged`].
    pub fn unstored(&self, presentation: PresentationId, index: &Index) -> Result<Arc<Packaged>, Error> {
        Packaged::read(presentation, &index.to_bytes()).map(Arc::new)
    }

    /// The bytes of all samples of a track of sound, one behind the other in decode order. The stream ends
    /// after its first error.
    ///
    /// Errors: [`Error::Gone`] without the source, those of the store.
    pub fn sound_samples(
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

    /// Begins to lay sounds over an audio track of a source, which may be none, for a media of this length:
    /// what would be heard later is left out.
    ///
    /// `None` where there is nothing to be heard. What the engine reads is written into `scratch` first, of
    /// which `has_room` says whether so many bytes more fit, and removed with the mix. Errors: that of
    /// `has_room`, [`Error::TooManyPauses`], [`Error::Unmade`], [`Error::Gone`] without a source, those of
    /// the store.
    pub async fn mix(
        &self,
        len: Duration,
        below: Option<(&Packaged, u8)>,
        overlays: &[Overlay],
        scratch: &Path,
        has_room: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<Option<SoundMix>, Error> {
        let len = samples(len);
        let mut planned = Vec::new();
        if let Some((sound, number)) = below {
            plan(sound, number, &SoundOverlay::whole(""), len, &mut planned)?;
        }
        for overlay in overlays {
            plan(&overlay.sound, 0, &overlay.wanted, len, &mut planned)?;
        }
        if planned.is_empty() {
            return Ok(None);
        }
        let bytes = |part: &Planned<'_>| part.feed.chunks().map(|chunk| chunk.len).sum::<u64>();
        has_room(planned.iter().map(bytes).fold(0, u64::saturating_add))?;
        let (mut files, mut parts) = (Vec::new(), Vec::new());
        for part in planned {
            parts.push(self.part(part, scratch, &mut files).await?);
        }
        let seconds = |samples: u64| samples.div_ceil(ENCODED_AUDIO_RATE.into());
        let limits = order::limits_of_mix(seconds(len), parts.iter().map(|part| seconds(part.len)));
        // Minutes, for a long media: whoever watches goes first.
        let mix = Mix { parts, len, priority: Priority::Background, limits };
        Ok(Some(SoundMix { encoding: self.engine.mix(&mix), _files: files }))
    }

    /// One part of a mix, its feed written down.
    async fn part(
        &self,
        planned: Planned<'_>,
        scratch: &Path,
        files: &mut Vec<NamedTempFile>,
    ) -> Result<MixPart, Error> {
        let Planned { sound, audio, feed, len, at, fade_in, fade_out } = planned;
        let (container, start) = (order::container(feed.format()), feed.positions().start);
        let file = NamedTempFile::new_in(scratch).map_err(of_disk)?;
        let path = file.path().to_owned();
        let mut to = tokio::fs::File::from_std(file.reopen().map_err(of_disk)?);
        files.push(file);
        let fed = Fed { header: Bytes::from(feed.header()), chunks: feed.chunks(), begun: Box::new(|| {}) };
        let mut bytes = Box::pin(read(self, sound, fed, move |chunk, bytes| feed.wrap(chunk, bytes)));
        while let Some(bytes) = bytes.next().await {
            let bytes = bytes.map_err(|error| of_engine(EngineError::Input(error)))?;
            to.write_all(&bytes).await.map_err(of_disk)?;
        }
        to.flush().await.map_err(of_disk)?;
        let downmix = order::downmix(sound, audio);
        Ok(MixPart { file: path, container, downmix, start, len, at, fade_in, fade_out })
    }
}

/// What will be a part of a mix; times in samples.
struct Planned<'a> {
    sound: &'a Packaged,
    audio: u8,
    feed: AudioFeed,
    len: u64,
    at: u64,
    fade_in: u64,
    fade_out: u64,
}

/// Appends what is heard of an audio track in a media of `media_len` samples, without its long pauses: an
/// encoder would make silence of a whole one at once.
///
/// Errors: [`Error::TooManyPauses`], [`Error::Unmade`].
fn plan<'a>(
    sound: &'a Packaged,
    audio: u8,
    wanted: &SoundOverlay,
    media_len: u64,
    planned: &mut Vec<Planned<'a>>,
) -> Result<(), Error> {
    let index = sound.index();
    let begin = samples(wanted.start);
    let room = wanted.end.map_or(media_len, |end| samples(end).min(media_len)).saturating_sub(begin);
    let times = encoded_audio_times(index, audio.into());
    // Of a long file that is heard for a while no more is read.
    let heard = times.iter().take_while(|segment| segment.start.unsigned_abs() < room).count();
    let count = u32::try_from(heard).unwrap_or(u32::MAX);
    let (mut first, of_this) = (0, planned.len());
    while first < count {
        let of = |numbers| AudioFeed::of_segments(index, audio.into(), numbers).map_err(unmade);
        if of(first..first + 1)?.is_silent() {
            first += 1;
            continue;
        }
        if planned.len() == MIX_PARTS_MAX {
            return Err(Error::TooManyPauses);
        }
        let rest = AudioFeed::of_rest(index, audio.into(), first).map_err(unmade)?.numbers();
        let end = rest.end.max(first + 1).min(count);
        let feed = of(first..end)?;
        let heard = feed.positions();
        let after = heard.start.saturating_sub(MIX_START);
        let len = (heard.end - heard.start).min(room.saturating_sub(after));
        if 0 < len {
            planned.push(Planned { sound, audio, feed, len, at: begin + after, fade_in: 0, fade_out: 0 });
        }
        first = end;
    }
    if let Some([first, ..]) = planned.get_mut(of_this..) {
        first.fade_in = samples(wanted.fade_in);
    }
    if let Some([.., last]) = planned.get_mut(of_this..) {
        last.fade_out = samples(wanted.fade_out);
    }
    Ok(())
}

/// A time in samples of what is encoded.
fn samples(time: Duration) -> u64 {
    let samples = time.as_micros() * u128::from(ENCODED_AUDIO_RATE) / 1_000_000;
    u64::try_from(samples).unwrap_or(u64::MAX)
}

/// Of the folder for files that do not stay.
fn of_disk(error: impl Into<io::Error>) -> Error {
    let error = error.into();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Blob(kinora_blob::Error::Full),
        _ => of_engine(EngineError::Spawn(error)),
    }
}
