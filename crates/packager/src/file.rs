//! Files of a media in one piece, for those who want no playlists: `capped-4k.mp4` and `audio.m4a`.
//!
//! What is copied lies in the sources, and nothing of it is written a second time: the file is a head made in
//! memory and ranges of objects. What is encoded is joined to one object first, see [`whole`](crate::whole).
//! M-43.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use kinora_blob::ObjectReader;
use kinora_domain::Resolution;
use kinora_formats::encode::encoded_audio_times;
use kinora_index::{ENCODED_AUDIO_RATE, IndexId};
use kinora_isobmff::write::{ByteRange, FilePiece, FileTrack, MovieFile};

use crate::samples::{SampleReader, positions};
use crate::segment::WINDOW_BYTES;
use crate::whole::Whole;
use crate::{Error, Packaged, Packager, Rendition};

/// Heads of files in memory. That of a 2 h media takes about 4 MB, of a 10 h one with 60 pictures a second 35
/// MB.
pub(crate) const HEADS_BYTES_MAX: u64 = 128 << 20;
/// A longer head would push out all others, and might be made anew for each range.
const HEAD_BYTES_MAX: u64 = HEADS_BYTES_MAX / 2;
/// Windows that are read at once for one viewer: of a bucket each is a request.
const WINDOWS_AHEAD: usize = 4;

/// A file that a media may offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaFile {
    /// Pictures and sound, of 2160p at most.
    Capped4k,
    /// The sound alone.
    AudioOnly,
}

/// What decides of which renditions a file is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileBounds {
    /// Nothing larger is given.
    pub max_resolution: Resolution,
    /// The picture turned out not to decode.
    pub is_video_withdrawn: bool,
}

/// Names a head in memory. Indexes make it unique: equal sources share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HeadKey {
    index: IndexId,
    renditions: Vec<Rendition>,
    wholes: Vec<IndexId>,
}

/// A file, ready to be sent in whole or in part.
#[derive(Clone)]
pub struct FileReader {
    parts: Arc<Parts>,
    movie: Arc<MovieFile>,
    etag: String,
}

/// Of what a file is made, track by track.
struct Parts {
    packaged: Arc<Packaged>,
    tracks: Vec<(Rendition, Option<Arc<Whole>>)>,
    /// Of what is copied.
    samples: SampleReader,
    /// For each track its object, where it is encoded.
    wholes: Vec<Option<ObjectReader>>,
}

impl MediaFile {
    /// Every file.
    pub const ALL: [Self; 2] = [Self::Capped4k, Self::AudioOnly];

    /// The last part of its address (C-122).
    pub fn name(self) -> &'static str {
        match self {
            Self::Capped4k => "capped-4k.mp4",
            Self::AudioOnly => "audio.m4a",
        }
    }

    /// Of which renditions it is made, pictures first. `None` where the source has nothing to make it of.
    ///
    /// What is copied where players get the copy, else the largest rung that they are offered; of sound what
    /// plays everywhere.
    pub fn renditions(self, packaged: &Packaged, bounds: FileBounds) -> Option<Vec<Rendition>> {
        // A track of a file has one sample entry.
        if packaged.index().audio_tracks().any(|(track, _)| !track.configurations.is_empty()) {
            return None;
        }
        let max = bounds.max_resolution.min(Resolution::P2160);
        let sound = sound(packaged);
        if self == Self::AudioOnly {
            return sound.map(|sound| vec![sound]);
        }
        let video = if bounds.is_video_withdrawn {
            None
        } else if packaged.is_video_copied(max) && packaged.is_decoded_alike(Rendition::Video) {
            Some(Rendition::Video)
        } else {
            packaged.rungs(max).first().map(|rung| Rendition::Rung(rung.name))
        };
        video.map(|video| std::iter::once(video).chain(sound).collect())
    }
}

/// The sound that plays when nobody chose: encoded where the copy does not play everywhere.
fn sound(packaged: &Packaged) -> Option<Rendition> {
    let index = packaged.index();
    let (number, (_, audio)) = index.audio_number().zip(index.audio())?;
    if packaged.is_sound_encoded(number) {
        Some(Rendition::Aac(number))
    } else {
        audio.not_copied.is_none().then_some(Rendition::Audio(number))
    }
}

impl Packager {
    /// A file of a media.
    ///
    /// Errors: [`Error::NotInPlan`] where the source has nothing to make it of, [`Error::NotYet`] until what
    /// is encoded of it was made, [`Error::NoFile`] when it could not be made, or would have too long a head,
    /// [`Error::Gone`] without the source, [`Error::Damaged`], those of the store.
    pub async fn file(
        &self,
        packaged: &Arc<Packaged>,
        file: MediaFile,
        bounds: FileBounds,
    ) -> Result<FileReader, Error> {
        let renditions = file.renditions(packaged, bounds).ok_or(Error::NotInPlan)?;
        let parts = Arc::new(self.parts(packaged, &renditions).await?);
        let key = HeadKey {
            index: packaged.id(),
            wholes: parts.tracks.iter().filter_map(|(_, whole)| Some(whole.as_ref()?.id)).collect(),
            renditions,
        };
        let etag = key.etag();
        let build = async {
            let parts = Arc::clone(&parts);
            // Hundreds of thousands of samples are looked at.
            let built = tokio::task::spawn_blocking(move || {
                let tracks = parts.tracks();
                let is_whole = tracks.len() == parts.tracks.len();
                is_whole.then(|| MovieFile::new(&tracks))
            });
            let built = built.await.map_err(|panic| Error::Damaged(Box::new(panic)))?;
            let built = built.ok_or_else(|| Error::Damaged("a track of a file has no samples".into()))?;
            let built = built.map_err(|error| Error::Damaged(Box::new(error)))?;
            // That it is too long is remembered like what is not.
            let fits = built.weight() <= HEAD_BYTES_MAX;
            Ok(fits.then(|| Arc::new(built)))
        };
        let movie = self.heads.try_get_with(key, build).await;
        let movie = movie.map_err(|error: Arc<Error>| Error::Shared(error))?.ok_or(Error::NoFile)?;
        Ok(FileReader { parts, movie, etag })
    }

    async fn parts(&self, packaged: &Arc<Packaged>, renditions: &[Rendition]) -> Result<Parts, Error> {
        let (mut tracks, mut wholes) = (Vec::new(), Vec::new());
        let samples = self.samples(packaged);
        for rendition in renditions {
            if rendition.id(packaged.presentation).is_some() {
                let (whole, reader) = self.whole(packaged, *rendition).await?.ok_or(Error::NotYet)?;
                wholes.push(Some(reader));
                tracks.push((*rendition, Some(whole)));
            } else {
                samples.open_all(packaged.track(*rendition)?).await?;
                wholes.push(None);
                tracks.push((*rendition, None));
            }
        }
        Ok(Parts { packaged: Arc::clone(packaged), tracks, samples, wholes })
    }
}

impl HeadKey {
    /// Names the bytes: of equal indexes equal ones come.
    fn etag(&self) -> String {
        let mut etag = format!("\"{}", self.index);
        for rendition in &self.renditions {
            etag = format!("{etag}-{rendition}");
        }
        for whole in &self.wholes {
            etag = format!("{etag}-{whole}");
        }
        etag + "\""
    }
}

impl Parts {
    /// The tracks, in the order they were chosen; some are missing where an index is damaged, and then no
    /// file is made.
    fn tracks(&self) -> Vec<FileTrack<'_>> {
        let index = self.packaged.index();
        let tracks = self.tracks.iter().filter_map(|(rendition, whole)| match whole {
            None => FileTrack::copied(index, self.packaged.track(*rendition).ok()?),
            Some(whole) => {
                let track = whole.index.tracks.first()?;
                let start = self.start(*rendition, track.timescale);
                Some(FileTrack { start, ..FileTrack::copied(&whole.index, track)? })
            }
        });
        tracks.collect()
    }

    /// When an encoded rendition begins, in ticks of this clock: what was read by itself begins at 0.
    fn start(&self, rendition: Rendition, timescale: u32) -> i64 {
        let index = self.packaged.index();
        let (start, of) = match rendition {
            Rendition::Aac(audio) => {
                let first = encoded_audio_times(index, audio.into()).first().map(|segment| segment.start);
                (first.unwrap_or(0), ENCODED_AUDIO_RATE)
            }
            _ => {
                let first = index.plan.encoded_video.first().map(|segment| segment.start);
                (first.unwrap_or(0), index.video().map_or(1, |(track, _)| track.timescale))
            }
        };
        let scaled = i128::from(start.max(0)) * i128::from(timescale) / i128::from(of.max(1));
        i64::try_from(scaled).unwrap_or(0)
    }
}

/// Bytes that are sent one after another.
enum Window {
    Made(Bytes),
    /// Of samples that are copied, of any track.
    Copied(Vec<ByteRange>),
    /// Of the object of an encoded track.
    Whole(usize, Vec<ByteRange>),
}

impl FileReader {
    /// Its length in bytes, known before any is read.
    pub fn len(&self) -> u64 {
        self.movie.total_len()
    }

    /// Whether it has no bytes, which no file has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of its `ETag`, with quotes: the same bytes have the same one.
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// The bytes of a part, some windows in memory at a time. What lies past the end is left out; the stream
    /// ends after its first error.
    pub fn stream(self, part: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send + 'static {
        let readers = Arc::clone(&self.parts);
        let mut at = part.start;
        let windows = std::iter::from_fn(move || {
            let (windows, end) = self.windows(at, part.end);
            at = end;
            (!windows.is_empty()).then_some(windows)
        });
        let read = stream::iter(windows).map(move |windows| {
            let parts = Arc::clone(&readers);
            async move {
                let mut pieces = Vec::new();
                for window in windows {
                    match window {
                        Window::Made(bytes) => pieces.push(bytes),
                        Window::Copied(ranges) => pieces.extend(parts.samples.read(&ranges).await?),
                        Window::Whole(track, ranges) => {
                            let reader =
                                parts.wholes.get(track).and_then(Option::as_ref).ok_or(Error::Gone)?;
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
        // What comes behind an error would lie at the wrong place.
        pieces.scan(false, |failed, piece| {
            let go_on = !*failed;
            *failed |= piece.is_err();
            futures_util::future::ready(go_on.then_some(piece))
        })
    }

    /// About [`WINDOW_BYTES`] from a position on, those of one object together, and the position behind them.
    fn windows(&self, from: u64, to: u64) -> (Vec<Window>, u64) {
        let tracks = self.parts.tracks();
        let end = to.min(from.saturating_add(WINDOW_BYTES));
        let (mut windows, mut at) = (Vec::new(), from);
        while let Some((piece, next)) = self.movie.piece(&tracks, at, end) {
            at = next;
            match piece {
                FilePiece::Head(bytes) => windows.push(Window::Made(Bytes::copy_from_slice(bytes))),
                FilePiece::Samples { track, ranges } => {
                    let is_copied = self.parts.wholes.get(track).is_none_or(Option::is_none);
                    match windows.last_mut() {
                        Some(Window::Copied(joined)) if is_copied => joined.extend(ranges),
                        Some(Window::Whole(before, joined)) if *before == track => joined.extend(ranges),
                        _ if is_copied => windows.push(Window::Copied(ranges)),
                        _ => windows.push(Window::Whole(track, ranges)),
                    }
                }
            }
        }
        (windows, at)
    }
}
