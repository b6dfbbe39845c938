//! Reads an MP4 or QuickTime file from its passing bytes.

use sha2::{Digest, Sha256};

use super::{
    boxes::FourCc,
    error::ReadError,
    read::{FRAGMENTED, Movie, Playable},
};
use crate::{
    index::{Container, Index},
    sniff::{Family, FileKind, HEAD_LEN, sniff},
};

/// Largest `moov` that is kept.
///
/// A 12 h recording at 120 frames a second whose tables are as wide as they get (8 `stts`, 8 `ctts`, 4 `stsz`, 12 `stsc`, 8 `co64` and
/// 1 `sdtp` bytes for each of 5.18 million frames) takes 213 MB, its audio 16 MB more.
pub const MOOV_LEN_MAX: u64 = 256 << 20;
/// What is reserved at once for a `moov`: its size is a claim until the bytes are there.
const MOOV_RESERVE_MAX: u64 = 1 << 20;
/// Longest box header: size, kind and a 64-bit size. ISO/IEC 14496-12, 4.2.
const BOX_HEADER_LEN_MAX: usize = 16;

/// Builds an [`Index`] from the bytes of one source, fed in order and in pieces of any size.
///
/// Keeps the `moov` while it is incomplete and the packed sample tables after; everything else passes by. Where the `moov` lies in
/// front, tables and plan are there before the last byte. The result does not depend on how the bytes are cut.
#[derive(Debug)]
pub struct Scanner {
    len: u64,
    hash: Sha256,
    expected_len: Option<u64>,
    state: Result<State, ReadError>,
}

#[derive(Debug)]
enum State {
    /// The first bytes, until they are enough to tell what this is.
    Head(Vec<u8>),
    Boxes(Walk),
}

/// The walk over the boxes at top level.
#[derive(Debug)]
struct Walk {
    container: Container,
    place: Place,
    movie: Option<Movie>,
    has_mdat: bool,
    /// Bytes the source should have left; only a hint.
    expected_left: u64,
}

#[derive(Debug)]
enum Place {
    /// In a header: what of it has come.
    Header(Vec<u8>),
    /// In a box that passes by, with so many bytes to come; `None` up to the end of the file.
    Passing(Option<u64>),
    /// In the `moov`: what of it has come, and how much is to come.
    Movie(Vec<u8>, Option<u64>),
    /// Behind a header that makes no sense.
    Lost,
}

impl Scanner {
    /// A scanner that has seen no byte. `expected_len` may come from `Content-Length`; it is a hint for memory and never decides anything.
    pub fn new(expected_len: Option<u64>) -> Self {
        Scanner { len: 0, hash: Sha256::new(), expected_len, state: Ok(State::Head(Vec::new())) }
    }

    /// Takes the next bytes.
    ///
    /// An error is final and says early that the file is hopeless, so that a download can stop. Every later call answers the same.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        let result = match state {
            State::Head(head) => {
                let missing = HEAD_LEN - head.len();
                let (start, rest) = bytes.split_at(missing.min(bytes.len()));
                head.extend_from_slice(start);
                if head.len() < HEAD_LEN {
                    return Ok(());
                }
                Walk::begin(&std::mem::take(head), self.expected_len).and_then(|mut walk| {
                    walk.push(rest)?;
                    *state = State::Boxes(walk);
                    Ok(())
                })
            }
            State::Boxes(walk) => walk.push(bytes),
        };
        if let Err(error) = &result {
            self.state = Err(error.clone());
        }
        result
    }

    /// Bytes taken so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no byte has come yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the sample tables are read and planned already, so that hardly anything is left for [`Scanner::finish`].
    pub fn has_sample_tables(&self) -> bool {
        matches!(&self.state, Ok(State::Boxes(Walk { movie: Some(_), .. })))
    }

    /// Ends the source and makes its index: checks that the samples lie inside it.
    ///
    /// Errors: as [`ReadError`] says; `Truncated` also when the file was cut before its `moov`.
    pub fn finish(self) -> Result<Index, ReadError> {
        let walk = match self.state? {
            State::Head(head) => Walk::begin(&head, Some(self.len))?,
            State::Boxes(walk) => walk,
        };
        let container = walk.container;
        let Playable { tracks, plan, is_truncated } = walk.finish()?.within(self.len)?;
        Ok(Index {
            source_len: self.len,
            source_sha256: self.hash.finalize().into(),
            container,
            is_truncated,
            tracks,
            plan,
        })
    }
}

impl Walk {
    /// Tells from the first bytes whether this is a file to walk over, and walks over them.
    fn begin(head: &[u8], expected_len: Option<u64>) -> Result<Self, ReadError> {
        let kind = sniff(head);
        match kind.family() {
            Family::NotMedia => {
                return Err(ReadError::not_media(format!(
                    "the source is {}, not a video or audio file",
                    kind.name()
                )));
            }
            Family::OtherMedia => {
                return Err(ReadError::unsupported(format!(
                    "the source is {}; only MP4 and QuickTime files are supported so far",
                    kind.name()
                )));
            }
            Family::IsoMedia => {}
        }
        let mut walk = Walk {
            container: if kind == FileKind::Mov { Container::Mov } else { Container::Mp4 },
            place: Place::Header(Vec::new()),
            movie: None,
            has_mdat: false,
            expected_left: expected_len.unwrap_or(u64::MAX),
        };
        walk.push(head)?;
        Ok(walk)
    }

    fn push(&mut self, mut bytes: &[u8]) -> Result<(), ReadError> {
        while !bytes.is_empty() {
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
                    if *left == Some(0) {
                        self.place = Place::Header(Vec::new());
                    }
                    taken
                }
                Place::Movie(body, left) => {
                    let taken = take(left, bytes.len());
                    if (body.len() + taken) as u64 > MOOV_LEN_MAX {
                        return Err(moov_too_long());
                    }
                    body.extend_from_slice(&bytes[..taken]);
                    if *left == Some(0) {
                        let body = std::mem::take(body);
                        self.movie = Some(Movie::parse(&body, self.container)?);
                        self.place = Place::Header(Vec::new());
                    }
                    taken
                }
                Place::Lost => bytes.len(),
            };
            self.expected_left = self.expected_left.saturating_sub(taken as u64);
            bytes = &bytes[taken..];
        }
        Ok(())
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
            b"moof" => return Err(ReadError::unsupported(FRAGMENTED)),
            b"mdat" => self.has_mdat = true,
            // A second one is a copy that an editor left behind: the first counts.
            b"moov" if self.movie.is_none() => {
                let len = left.unwrap_or(self.expected_left);
                if left.is_some_and(|left| left > MOOV_LEN_MAX) {
                    return Err(moov_too_long());
                }
                let reserve = len.min(self.expected_left).min(MOOV_RESERVE_MAX) as usize;
                if left == Some(0) {
                    return Err(ReadError::damaged("it lacks its movie header"));
                }
                return Ok(Some(Place::Movie(Vec::with_capacity(reserve), left)));
            }
            _ => {}
        }
        Ok(Some(if left == Some(0) { Place::Header(Vec::new()) } else { Place::Passing(left) }))
    }

    /// The movie, once the last byte has come.
    fn finish(self) -> Result<Movie, ReadError> {
        let truncated = |what: &str| Err(ReadError::Truncated(what.into()));
        match (self.movie, self.place) {
            (Some(movie), _) => Ok(movie),
            (None, Place::Movie(body, None)) => Movie::parse(&body, self.container),
            (None, Place::Movie(_, Some(_))) => truncated("its movie header (moov) is cut off"),
            // A recorder that was stopped leaves a media box of unknown or wrong length, and no index of it.
            (None, Place::Passing(_)) => truncated("its movie header (moov) is missing"),
            (None, Place::Header(header)) if !header.is_empty() => {
                truncated("its movie header (moov) is missing")
            }
            (None, Place::Lost) if self.has_mdat => truncated("its movie header (moov) is missing"),
            (None, _) => Err(ReadError::not_media("the file has no movie header (moov)")),
        }
    }
}

fn moov_too_long() -> ReadError {
    ReadError::unsupported(format!("its movie header (moov) is longer than {} MiB", MOOV_LEN_MAX >> 20))
}

/// Takes up to `available` of the bytes that are left, and says how many.
fn take(left: &mut Option<u64>, available: usize) -> usize {
    let Some(left) = left else { return available };
    let taken = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= taken as u64;
    taken
}
