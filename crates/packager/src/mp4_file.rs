//! Downloads of a media as one file, for clients without playlists: `capped-4k.mp4` and `audio.m4a`.
//!
//! Copied tracks stay in the sources and are not written again: the file is a head made in memory and ranges
//! of objects. Encoded tracks are joined to one object first, see [`rendition_file`](crate::rendition_file).
//! M-43.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_blob::ObjectReader;
use kinora_domain::{AudioGain, Resolution};
use kinora_formats::encode::encoded_audio_times;
use kinora_index::{ENCODED_AUDIO_RATE, IndexId};
use kinora_isobmff::write::{ByteRange, FilePiece, FileTrack, MovieFile};

use crate::rendition_file::RenditionFile;
use crate::samples::{SampleReader, positions};
use crate::segment::WINDOW_BYTES;
use crate::{Error, Packaged, Packager, Rendition};

/// Memory for heads of files, in bytes. The head of a 2 h media takes about 4 MB, that of a 10 h one with 60
/// frames a second 35 MB.
pub(crate) const HEADS_BYTES_MAX: u64 = 128 << 20;
/// A longer head would evict all others, and might be made again for each range.
const HEAD_BYTES_MAX: u64 = HEADS_BYTES_MAX / 2;
/// Windows that are read concurrently for one viewer. In a bucket each is a request.
const WINDOWS_AHEAD: usize = 4;

/// A file that a media may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mp4File {
    /// Video and audio, of 2160p at most.
    Capped4k,
    /// Audio alone.
    AudioOnly,
}

/// Settings that decide which renditions a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mp4FileLimits {
    /// Upper limit of the resolution.
    pub max_resolution: Resolution,
    /// The video turned out not to decode.
    pub is_video_withdrawn: bool,
}

/// Key of a cached head. Indexes make it unique: equal sources share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HeadKey {
    index: IndexId,
    renditions: Vec<Rendition>,
    rendition_files: Vec<IndexId>,
}

/// A file, ready to be sent in full or by ranges.
#[derive(Clone)]
pub struct Mp4FileReader {
    parts: Arc<Parts>,
    movie: Arc<MovieFile>,
    etag: String,
}

/// The tracks of a file with their readers.
struct Parts {
    packaged: Arc<Packaged>,
    tracks: Vec<(Rendition, Option<Arc<RenditionFile>>)>,
    /// Reader of copied samples.
    samples: SampleReader,
    /// For each track its object, if it is encoded.
    rendition_files: Vec<Option<ObjectReader>>,
}

impl Mp4File {
    /// All kinds of files.
    pub const ALL: [Self; 2] = [Self::Capped4k, Self::AudioOnly];

    /// The last part of its address (C-122).
    pub fn name(self) -> &'static str {
        match self {
            Self::Capped4k => "capped-4k.mp4",
            Self::AudioOnly => "audio.m4a",
        }
    }

    /// The renditions that it is made of, video first. `None` if the source has nothing to make it of.
    ///
    /// Video is the copy if players get it and it is not of several parts, else the largest offered rung.
    /// Audio is the rendition that plays everywhere, with its gain in `levels`, which
    /// [`Packager::playable_levels`] returns.
    pub fn renditions(
        self,
        packaged: &Packaged,
        bounds: Mp4FileLimits,
        levels: &[Option<AudioGain>],
    ) -> Option<Vec<Rendition>> {
        let max = bounds.max_resolution.min(Resolution::P2160);
        let audio = audio_rendition(packaged, levels);
        if self == Self::AudioOnly {
            return audio.map(|rendition| vec![rendition]);
        }
        let video = if bounds.is_video_withdrawn {
            None
        } else if packaged.is_video_copied(max) && packaged.has_one_configuration(Rendition::Video) {
            Some(Rendition::Video)
        } else {
            packaged.rungs(max).first().map(|rung| Rendition::Rung(rung.name))
        };
        video.map(|video| std::iter::once(video).chain(audio).collect())
    }
}

/// The default audio: encoded if it has a gain, or if the copy does not play everywhere.
fn audio_rendition(packaged: &Packaged, levels: &[Option<AudioGain>]) -> Option<Rendition> {
    let index = packaged.index();
    let (number, (_, audio)) = index.audio_number().zip(index.audio())?;
    if let Some(gain) = levels.get(usize::from(number)).copied().flatten() {
        Some(Rendition::Levelled { audio: number, gain })
    } else if packaged.is_audio_encoded(number) {
        Some(Rendition::Aac(number))
    } else {
        audio.not_copied.is_none().then_some(Rendition::Audio(number))
    }
}

impl Packager {
    /// A file of a media. `levels` has the gain of each audio track.
    ///
    /// Errors: [`Error::NotListed`] if the source has nothing to make it of, [`Error::Pending`] until its
    /// encoded tracks are made, [`Error::NotPossible`] if they could not be made or the head would be too
    /// long, [`Error::Gone`] without the source, [`Error::Damaged`], those of the store.
    pub async fn file(
        &self,
        packaged: &Arc<Packaged>,
        file: Mp4File,
        bounds: Mp4FileLimits,
        levels: &[Option<AudioGain>],
    ) -> Result<Mp4FileReader, Error> {
        let levels = self.playable_levels(packaged, levels).await?;
        let renditions = file.renditions(packaged, bounds, &levels).ok_or(Error::NotListed)?;
        let parts = Arc::new(self.parts(packaged, &renditions).await?);
        let key = HeadKey {
            index: packaged.id(),
            rendition_files: parts
                .tracks
                .iter()
                .filter_map(|(_, rendition_file)| Some(rendition_file.as_ref()?.id))
                .collect(),
            renditions,
        };
        let etag = key.etag();
        let build = async {
            let parts = Arc::clone(&parts);
            // Reads hundreds of thousands of samples.
            let built = tokio::task::spawn_blocking(move || {
                let tracks = parts.tracks();
                let is_complete = tracks.len() == parts.tracks.len();
                is_complete.then(|| MovieFile::new(&tracks))
            });
            let built = built.await.map_err(|panic| Error::Damaged(Box::new(panic)))?;
            let built = built.ok_or_else(|| Error::Damaged("a track of a file has no samples".into()))?;
            let built = built.map_err(|error| Error::Damaged(Box::new(error)))?;
            // A head that is too long is cached as such.
            let fits = built.weight() <= HEAD_BYTES_MAX;
            Ok(fits.then(|| Arc::new(built)))
        };
        let movie = self.heads.try_get_with(key, build).await;
        let movie = movie.map_err(|error: Arc<Error>| Error::Shared(error))?.ok_or(Error::NotPossible)?;
        Ok(Mp4FileReader { parts, movie, etag })
    }

    async fn parts(&self, packaged: &Arc<Packaged>, renditions: &[Rendition]) -> Result<Parts, Error> {
        let (mut tracks, mut rendition_files) = (Vec::new(), Vec::new());
        let samples = self.samples(packaged);
        for rendition in renditions {
            if rendition.id(packaged.presentation).is_some() {
                let (file, reader) =
                    self.rendition_file(packaged, *rendition).await?.ok_or(Error::Pending)?;
                rendition_files.push(Some(reader));
                tracks.push((*rendition, Some(file)));
            } else {
                samples.open_all(packaged.track(*rendition)?).await?;
                rendition_files.push(None);
                tracks.push((*rendition, None));
            }
        }
        Ok(Parts { packaged: Arc::clone(packaged), tracks, samples, rendition_files })
    }
}

impl HeadKey {
    /// Names the bytes: equal indexes give equal bytes.
    fn etag(&self) -> String {
        let mut etag = format!("\"{}", self.index);
        for rendition in &self.renditions {
            etag = format!("{etag}-{rendition}");
        }
        for file_id in &self.rendition_files {
            etag = format!("{etag}-{file_id}");
        }
        etag + "\""
    }
}

impl Parts {
    /// The tracks, in the chosen order. Some are missing if an index is damaged, and then no file is made.
    fn tracks(&self) -> Vec<FileTrack<'_>> {
        let index = self.packaged.index();
        let tracks = self.tracks.iter().filter_map(|(rendition, file)| match file {
            None => FileTrack::copied(index, self.packaged.track(*rendition).ok()?),
            Some(rendition_file) => {
                let track = rendition_file.index.tracks.first()?;
                let start = self.start(*rendition, track.timescale);
                Some(FileTrack { start, ..FileTrack::copied(&rendition_file.index, track)? })
            }
        });
        tracks.collect()
    }

    /// Start time of an encoded rendition, in ticks of `timescale`. Its own index begins at 0.
    fn start(&self, rendition: Rendition, timescale: u32) -> i64 {
        let index = self.packaged.index();
        let (start, start_timescale) = match rendition {
            Rendition::Aac(audio) | Rendition::Levelled { audio, .. } => {
                let first = encoded_audio_times(index, audio.into()).first().map(|segment| segment.start);
                (first.unwrap_or(0), ENCODED_AUDIO_RATE)
            }
            _ => {
                let first = index.plan.encoded_video.first().map(|segment| segment.start);
                (first.unwrap_or(0), index.video().map_or(1, |(track, _)| track.timescale))
            }
        };
        let scaled = i128::from(start.max(0)) * i128::from(timescale) / i128::from(start_timescale.max(1));
        i64::try_from(scaled).unwrap_or(0)
    }
}

/// Bytes that are sent in sequence.
enum Window {
    Head(Bytes),
    /// Copied samples of any track.
    Copied(Vec<ByteRange>),
    /// Bytes of the object of an encoded track.
    RenditionFile(usize, Vec<ByteRange>),
}

impl Mp4FileReader {
    /// Its length in bytes, known before any is read.
    pub fn len(&self) -> u64 {
        self.movie.total_len()
    }

    /// Whether it is empty, which no file is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of its `ETag`, with quotes. Equal bytes have an equal one.
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// The bytes of a range, with some windows in memory at a time. Omits bytes past the end. The stream
    /// ends after its first error.
    pub fn stream(self, range: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        let readers = Arc::clone(&self.parts);
        let mut at = range.start;
        let windows = std::iter::from_fn(move || {
            let (windows, end) = self.windows(at, range.end);
            at = end;
            (!windows.is_empty()).then_some(windows)
        });
        let read = stream::iter(windows).map(move |windows| {
            let parts = Arc::clone(&readers);
            async move {
                let mut pieces = Vec::new();
                for window in windows {
                    match window {
                        Window::Head(bytes) => pieces.push(bytes),
                        Window::Copied(ranges) => pieces.extend(parts.samples.read(&ranges).await?),
                        Window::RenditionFile(track, ranges) => {
                            let reader = parts
                                .rendition_files
                                .get(track)
                                .and_then(Option::as_ref)
                                .ok_or(Error::Gone)?;
                            pieces.extend(reader.read_many(&positions(&ranges)).await?);
                        }
                    }
                }
                Ok::<_, Error>(pieces)
            }
        });
        let pieces = read.buffered(WINDOWS_AHEAD).flat_map(|read| match read {
            Ok(pieces) => stream::iter(pieces).map(Ok).left_stream(),
            Err(error) => stream::iter([Err(error)]).right_stream(),
        });
        // Bytes after an error would be at the wrong offset.
        pieces.scan(false, |failed, piece| {
            let go_on = !*failed;
            *failed |= piece.is_err();
            futures_util::future::ready(go_on.then_some(piece))
        })
    }

    /// About [`WINDOW_BYTES`] from a position on, grouped by object, and the position after them.
    fn windows(&self, from: u64, to: u64) -> (Vec<Window>, u64) {
        let tracks = self.parts.tracks();
        let end = to.min(from.saturating_add(WINDOW_BYTES));
        let (mut windows, mut at) = (Vec::new(), from);
        while let Some((piece, next)) = self.movie.piece(&tracks, at, end) {
            at = next;
            match piece {
                FilePiece::Head(bytes) => windows.push(Window::Head(Bytes::copy_from_slice(bytes))),
                FilePiece::Samples { track, ranges } => {
                    let is_copied = self.parts.rendition_files.get(track).is_none_or(Option::is_none);
                    match windows.last_mut() {
                        Some(Window::Copied(joined)) if is_copied => joined.extend(ranges),
                        Some(Window::RenditionFile(before, joined)) if *before == track => {
                            joined.extend(ranges)
                        }
                        _ if is_copied => windows.push(Window::Copied(ranges)),
                        _ => windows.push(Window::RenditionFile(track, ranges)),
                    }
                }
            }
        }
        (windows, at)
    }
}
