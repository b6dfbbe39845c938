//! The walk over the boxes at top level: which are kept and read, and how the file ends.

use std::ops::Range;

use kinora_index::{
    Container,
    checkpoint::{self, CheckpointError, byte_string},
};
use serde::{Deserialize, Serialize};

use crate::{
    boxes::FourCc,
    error::ReadError,
    read::{Header, Movie},
};

/// Largest `moov` that is kept.
///
/// A 12 h recording at 120 frames a second whose tables are as wide as they get (8 `stts`, 8 `ctts`, 4
/// `stsz`, 12 `stsc`, 8 `co64` and 1 `sdtp` bytes for each of 5.18 million frames) takes 213 MB, its audio 16
/// MB more.
///
/// Measured: 12 h at 60 frames a second with sound are 40.5 MB (4.6 million samples). Reading them took 0.6 s
/// of CPU and 52 MB at its peak; 9.4 MB stay, about 2 bytes a sample.
pub const MOOV_LEN_MAX: u64 = 256 << 20;
/// Largest `moof` that is kept.
///
/// Some writers put a whole recording into one fragment: 12 h at 120 frames a second with 16 bytes a sample
/// take 83 MB, audio of 96 kHz beside it 65 MB.
pub const MOOF_LEN_MAX: u64 = 160 << 20;
/// Largest box that is kept in memory while it comes; its size is a claim until the bytes are there. Larger
/// ones are laid aside: the `moov` of two minutes at 30 frames a second with sound has 70 kB.
pub(crate) const IN_MEMORY_MAX: u64 = 64 << 10;
/// Longest box header: size, kind and a 64-bit size. ISO/IEC 14496-12, 4.2.
const BOX_HEADER_LEN_MAX: usize = 16;

/// The walk over the boxes at top level.
#[derive(Debug, Serialize, Deserialize)]
pub struct Walk {
    container: Container,
    place: Place,
    movie: Option<Header>,
    has_mdat: bool,
    /// Bytes behind us: where the next byte lies in the source.
    at: u64,
    /// Bytes the source should have left; only a hint.
    expected_left: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum Place {
    /// In a header: what of it has come.
    Header(#[serde(with = "byte_string")] Vec<u8>),
    /// In a box that passes by, with so many bytes to come; `None` up to the end of the file.
    Passing(Option<u64>),
    /// In a box that is kept.
    Keeping(Kept),
    /// Behind a box that was laid aside whole and is to be read.
    Due(Kept),
    /// Behind a header that makes no sense.
    Lost,
}

/// A box that is kept until it is whole.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    is_moov: bool,
    /// Where its first byte lies.
    start: u64,
    /// What of its body has come; empty where it is laid aside.
    #[serde(with = "byte_string")]
    body: Vec<u8>,
    /// Bytes of its body that have come, and how many are to come; `None` up to the end of the file.
    len: u64,
    left: Option<u64>,
}

/// Where the body of a large box is laid aside until it is whole.
pub trait Aside {
    /// Takes the next bytes of the one box that is laid aside.
    ///
    /// Errors: those of the place; then the box is lost, and the scanner with it.
    fn lay(&mut self, bytes: &[u8]) -> std::io::Result<()>;
}

/// In memory, for whoever has some.
impl Aside for Vec<u8> {
    fn lay(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl Walk {
    /// A walk that has seen no byte. `expected_len` is a hint for memory.
    pub fn new(container: Container, expected_len: Option<u64>) -> Self {
        Walk {
            container,
            place: Place::Header(Vec::new()),
            movie: None,
            has_mdat: false,
            at: 0,
            expected_left: expected_len.unwrap_or(u64::MAX),
        }
    }

    /// Takes the next bytes, but none behind a large box that is whole: see [`Walk::due`]. Returns how many
    /// it took.
    pub fn push(&mut self, all: &[u8], aside: &mut dyn Aside) -> Result<usize, PushError> {
        let mut bytes = all;
        while !bytes.is_empty() && self.due().is_none() {
            let taken = match &mut self.place {
                Place::Header(header) => {
                    let byte = bytes[0];
                    header.push(byte);
                    if let Some(next) = self.end_header()? {
                        self.place = next;
                    }
                    1
                }
                Place::Passing(left) => {
                    let taken = take(left, bytes.len());
                    if let Some(Header::Fragmented(movie)) = &mut self.movie {
                        movie.pass(self.at, &bytes[..taken]);
                    }
                    if *left == Some(0) {
                        self.place = Place::Header(Vec::new());
                    }
                    taken
                }
                Place::Keeping(kept) => {
                    let taken = take(&mut kept.left, bytes.len());
                    kept.keep(&bytes[..taken], aside)?;
                    if kept.left == Some(0) {
                        self.end_box(taken as u64)?;
                    }
                    taken
                }
                Place::Due(_) => 0,
                Place::Lost => bytes.len(),
            };
            self.at += taken as u64;
            self.expected_left = self.expected_left.saturating_sub(taken as u64);
            bytes = &bytes[taken..];
        }
        Ok(all.len() - bytes.len())
    }

    /// A box whose last byte is there: read, or due where it was laid aside. Its last `taken` bytes have not
    /// been counted yet.
    fn end_box(&mut self, taken: u64) -> Result<(), ReadError> {
        let place = std::mem::replace(&mut self.place, Place::Header(Vec::new()));
        let Place::Keeping(kept) = place else { return Ok(()) };
        if kept.is_aside() {
            self.place = Place::Due(kept);
            return Ok(());
        }
        self.read(&kept.body, kept.is_moov, kept.start..self.at + taken)
    }

    /// The length of the body of a large box that has been laid aside whole. It goes to [`Walk::read_due`]
    /// before the next byte.
    pub fn due(&self) -> Option<u64> {
        match &self.place {
            Place::Due(kept) => Some(kept.len),
            _ => None,
        }
    }

    /// Reads the box that is due.
    pub fn read_due(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let Place::Due(kept) = &self.place else { return Ok(()) };
        let (is_moov, start) = (kept.is_moov, kept.start);
        self.place = Place::Header(Vec::new());
        self.read(body, is_moov, start..self.at)
    }

    /// No more bytes come: a box that lasts up to the end of the file is whole.
    pub fn end(&mut self) -> Result<(), ReadError> {
        match &self.place {
            Place::Keeping(kept) if kept.is_moov && kept.left.is_none() => self.end_box(0),
            _ => Ok(()),
        }
    }

    /// Where the body begins that is laid aside now, if one is.
    pub fn aside_from(&self) -> Option<u64> {
        match &self.place {
            Place::Keeping(kept) | Place::Due(kept) if kept.is_aside() => Some(self.at - kept.len),
            _ => None,
        }
    }

    /// Steps back in front of the body that is laid aside now, and returns what leads there again:
    /// [`Walk::step_forth`].
    pub fn step_back(&mut self) -> Option<StepBack> {
        let at = self.aside_from()?;
        let (Place::Keeping(kept) | Place::Due(kept)) = &self.place else { return None };
        let left = kept.left.map(|left| left + kept.len);
        let in_front = Kept { body: Vec::new(), len: 0, left, ..*kept };
        let place = std::mem::replace(&mut self.place, Place::Keeping(in_front));
        Some(StepBack { place, at: std::mem::replace(&mut self.at, at) })
    }

    /// Undoes a step back.
    pub fn step_forth(&mut self, back: StepBack) {
        (self.place, self.at) = (back.place, back.at);
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        let kept = if let Place::Keeping(kept) = &self.place { kept.body.len() } else { 0 };
        kept + self.movie.as_ref().map_or(0, Header::memory_len)
    }

    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub fn is_sound(&self, len: u64) -> bool {
        let is_in_place = match &self.place {
            Place::Header(header) => header.len() < BOX_HEADER_LEN_MAX && header.len() as u64 <= self.at,
            // What was laid aside is not written down.
            Place::Keeping(kept) => {
                let is_whole = if kept.is_aside() { kept.len == 0 } else { kept.len <= IN_MEMORY_MAX };
                kept.start <= self.at && kept.body.len() as u64 == kept.len && is_whole
            }
            Place::Due(_) => false,
            Place::Passing(_) | Place::Lost => true,
        };
        self.at == len && is_in_place && self.movie.as_ref().is_none_or(Header::is_sound)
    }

    /// What follows the header in `self.place`; `None` while it is incomplete.
    fn end_header(&mut self) -> Result<Option<Place>, ReadError> {
        let Place::Header(header) = &self.place else { return Ok(None) };
        let Some((size, kind)) = header.first_chunk::<8>().map(|head| head.split_at(4)) else {
            return Ok(None);
        };
        let size = size.iter().fold(0u64, |size, &byte| size << 8 | u64::from(byte));
        let kind = FourCc([kind[0], kind[1], kind[2], kind[3]]);
        let left = match size {
            0 => None,
            1 => match header.get(8..BOX_HEADER_LEN_MAX).and_then(|wide| wide.first_chunk::<8>()) {
                Some(wide) => match u64::from_be_bytes(*wide).checked_sub(BOX_HEADER_LEN_MAX as u64) {
                    Some(left) => Some(left),
                    None => return Ok(Some(Place::Lost)),
                },
                None => return Ok(None),
            },
            2..8 => return Ok(Some(Place::Lost)),
            _ => Some(size - 8),
        };
        match &kind.0 {
            b"mdat" => self.has_mdat = true,
            // A second one is a copy that an editor left behind: the first counts.
            b"moov" if self.movie.is_none() => return self.keep(true, header.len(), left).map(Some),
            b"moof" => match &self.movie {
                None => return Err(ReadError::not_media(NO_MOOV_BEFORE_MOOF)),
                Some(Header::Fragmented(_)) => return self.keep(false, header.len(), left).map(Some),
                // The `moov` said that all samples are in it.
                Some(Header::Whole(_) | Header::Elsewhere) => {}
            },
            _ => {}
        }
        Ok(Some(if left == Some(0) { Place::Header(Vec::new()) } else { Place::Passing(left) }))
    }

    /// Begins to keep the box whose header has come, but for its last byte.
    fn keep(&self, is_moov: bool, header_len: usize, left: Option<u64>) -> Result<Place, ReadError> {
        let start = self.at + 1 - header_len as u64;
        let kept = Kept { is_moov, start, body: Vec::new(), len: 0, left };
        if left.is_some_and(|left| left > kept.len_max()) {
            return Err(kept.too_long());
        }
        if left == Some(0) {
            return match is_moov {
                true => Err(ReadError::damaged("it lacks its movie header")),
                false => Ok(Place::Header(Vec::new())),
            };
        }
        let reserve = if kept.is_aside() { 0 } else { left.unwrap_or(0).min(self.expected_left) as usize };
        Ok(Place::Keeping(Kept { body: Vec::with_capacity(reserve), ..kept }))
    }

    /// Reads the body of a box that lies at `place`.
    fn read(&mut self, body: &[u8], is_moov: bool, place: Range<u64>) -> Result<(), ReadError> {
        match &mut self.movie {
            Some(Header::Fragmented(movie)) if !is_moov => movie.push(body, place),
            _ => {
                self.movie = Some(Header::parse(body, self.container)?);
                Ok(())
            }
        }
    }

    /// What the samples are packed in.
    pub fn container(&self) -> Container {
        self.container
    }

    /// Whether all samples are known and planned.
    pub fn is_planned(&self) -> bool {
        matches!(self.movie, Some(Header::Whole(_) | Header::Elsewhere))
    }

    /// Hands out the movie that is whole, as bytes, if those are more than `len_min`.
    pub fn take_movie(&mut self, len_min: usize) -> Option<Vec<u8>> {
        let Some(Header::Whole(movie)) = &self.movie else { return None };
        let bytes = checkpoint::sealed(movie);
        if bytes.len() <= len_min {
            return None;
        }
        self.movie = Some(Header::Elsewhere);
        Some(bytes)
    }

    /// Takes a movie back.
    pub fn put_movie(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let movie: Movie = checkpoint::opened(bytes)?;
        if !movie.is_sound() {
            return Err(CheckpointError::Damaged);
        }
        self.movie = Some(Header::Whole(movie));
        Ok(())
    }

    /// The movie, once the last byte has come.
    pub fn finish(self) -> Result<Movie, ReadError> {
        let truncated = |what: &str| Err(ReadError::Truncated(what.into()));
        if let Place::Keeping(kept) = &self.place
            && kept.is_moov
        {
            return truncated("its movie header (moov) is cut off");
        }
        let ends_inside = match &self.place {
            Place::Header(header) => !header.is_empty(),
            Place::Passing(left) => left.is_some(),
            Place::Keeping(_) | Place::Due(_) | Place::Lost => true,
        };
        match (self.movie, self.place) {
            (Some(Header::Whole(movie)), _) => Ok(movie),
            (Some(Header::Fragmented(movie)), _) => movie.finish(ends_inside),
            (Some(Header::Elsewhere), _) => Err(ReadError::damaged("its movie header was not brought back")),
            // A recorder that was stopped leaves a media box of unknown or wrong length, and no index of it.
            (None, Place::Passing(_)) => truncated("its movie header (moov) is missing"),
            (None, Place::Header(_)) if ends_inside => truncated("its movie header (moov) is missing"),
            (None, Place::Lost) if self.has_mdat => truncated("its movie header (moov) is missing"),
            (None, _) => Err(ReadError::not_media("the file has no movie header (moov)")),
        }
    }
}

impl Kept {
    /// Whether its body is laid aside. The length of one that lasts up to the end of the file is not known
    /// before.
    fn is_aside(&self) -> bool {
        self.left.is_none_or(|left| self.len + left > IN_MEMORY_MAX)
    }

    /// Takes the next bytes of its body.
    fn keep(&mut self, bytes: &[u8], aside: &mut dyn Aside) -> Result<(), PushError> {
        self.len += bytes.len() as u64;
        if self.len > self.len_max() {
            return Err(self.too_long().into());
        }
        if !self.is_aside() {
            self.body.extend_from_slice(bytes);
            return Ok(());
        }
        aside.lay(bytes).map_err(PushError::Aside)
    }

    fn len_max(&self) -> u64 {
        if self.is_moov { MOOV_LEN_MAX } else { MOOF_LEN_MAX }
    }

    fn too_long(&self) -> ReadError {
        let name = if self.is_moov { "its movie header (moov)" } else { "the header of a fragment (moof)" };
        ReadError::unsupported(format!("{name} is longer than {} MiB", self.len_max() >> 20))
    }
}

/// The way forth again from a step back.
pub struct StepBack {
    place: Place,
    at: u64,
}

/// Why bytes could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The file is hopeless.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A large box could not be laid aside.
    #[error("a part of the source could not be laid aside")]
    Aside(#[source] std::io::Error),
}

impl PushError {
    /// For whoever lays aside in memory, which never fails.
    pub fn into_read(self) -> ReadError {
        match self {
            Self::Read(error) => error,
            Self::Aside(_) => ReadError::damaged("a part of it could not be laid aside"),
        }
    }
}

/// What is said of a media segment without the init segment it belongs to.
const NO_MOOV_BEFORE_MOOF: &str =
    "the file is a piece of a stream, without the movie header (moov) in front of its fragments";

/// Takes up to `available` of the bytes that are left, and says how many.
fn take(left: &mut Option<u64>, available: usize) -> usize {
    let Some(left) = left else { return available };
    let taken = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= taken as u64;
    taken
}
