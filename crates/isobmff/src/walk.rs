//! Walks the boxes at top level: buffers and parses some of them, skips the others, and checks the end of
//! the file.

use std::ops::Range;

use kinora_index::{
    Container,
    checkpoint::{self, CheckpointError, byte_string},
};
use serde::{Deserialize, Serialize};

use crate::{
    boxes::FourCc,
    error::ReadError,
    read::{Movie, ParsedMoov},
};

/// Maximum length of a `moov`.
///
/// A 12 h recording at 120 frames per second with tables of maximum width takes 213 MB: 8 `stts`, 8 `ctts`,
/// 4 `stsz`, 12 `stsc`, 8 `co64` and 1 `sdtp` bytes for each of 5.18 million frames. Its audio takes 16 MB
/// more.
///
/// Measured: 12 h at 60 frames per second with audio are 40.5 MB (4.6 million samples). Reading them took
/// 0.6 s of CPU and 52 MB at its peak; 9.4 MB stay, about 2 bytes per sample.
pub const MOOV_LEN_MAX: u64 = 256 << 20;
/// Maximum length of a `moof`.
///
/// Some writers put a whole recording into one fragment: 12 h at 120 frames per second with 16 bytes per
/// sample take 83 MB, and audio of 96 kHz takes 65 MB.
pub const MOOF_LEN_MAX: u64 = 160 << 20;
/// Maximum length of a box that is buffered in memory while it arrives; its size is a claim until the bytes
/// have arrived. Larger ones are spilled: the `moov` of two minutes at 30 frames per second with audio has
/// 70 kB.
pub(crate) const IN_MEMORY_MAX: u64 = 64 << 10;
/// Longest box header: size, kind and a 64-bit size. ISO/IEC 14496-12, 4.2.
const BOX_HEADER_LEN_MAX: usize = 16;

/// The state of the walk over the boxes at top level.
#[derive(Debug, Serialize, Deserialize)]
pub struct BoxWalker {
    container: Container,
    state: WalkState,
    movie: Option<ParsedMoov>,
    has_mdat: bool,
    /// Bytes consumed so far: the position of the next byte in the source.
    position: u64,
    /// Expected remaining bytes of the source; only a hint.
    expected_left: u64,
}

#[derive(Debug, Serialize, Deserialize)]
enum WalkState {
    /// In a header: its bytes so far.
    Header(#[serde(with = "byte_string")] Vec<u8>),
    /// In a skipped box, with its remaining bytes; `None` means to the end of the file.
    Skipping(Option<u64>),
    /// In a box that is buffered or spilled.
    Buffering(BufferedBox),
    /// After a box that was spilled completely and must be read.
    Spilled(BufferedBox),
    /// After an invalid header.
    InvalidHeader,
}

/// A box that is collected until it is complete.
#[derive(Debug, Serialize, Deserialize)]
struct BufferedBox {
    is_moov: bool,
    /// Position of its first byte.
    start: u64,
    /// The bytes of its body so far; empty if it is spilled.
    #[serde(with = "byte_string")]
    body: Vec<u8>,
    /// Bytes of its body so far, and the remaining ones; `None` means to the end of the file.
    len: u64,
    left: Option<u64>,
}

/// Storage outside memory for the body of a large box until it is complete.
pub trait BoxSpill {
    /// Appends the next bytes of the box that is being spilled.
    ///
    /// Errors: those of the storage; then the box and the scanner are unusable.
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()>;
}

/// Storage in memory.
impl BoxSpill for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl BoxWalker {
    /// A walk at the first byte. `expected_len` is a hint for memory.
    pub fn new(container: Container, expected_len: Option<u64>) -> Self {
        BoxWalker {
            container,
            state: WalkState::Header(Vec::new()),
            movie: None,
            has_mdat: false,
            position: 0,
            expected_left: expected_len.unwrap_or(u64::MAX),
        }
    }

    /// Consumes the next bytes, but none after a large box that is complete: see [`BoxWalker::spilled_len`].
    /// Returns how many it consumed.
    pub fn push(&mut self, all: &[u8], spill: &mut dyn BoxSpill) -> Result<usize, PushError> {
        let mut bytes = all;
        while !bytes.is_empty() && self.spilled_len().is_none() {
            let consumed = match &mut self.state {
                WalkState::Header(header) => {
                    let byte = bytes[0];
                    header.push(byte);
                    if let Some(next) = self.end_header()? {
                        self.state = next;
                    }
                    1
                }
                WalkState::Skipping(left) => {
                    let taken = consume(left, bytes.len());
                    if let Some(ParsedMoov::Fragmented(movie)) = &mut self.movie {
                        movie.push_media_data(self.position, &bytes[..taken]);
                    }
                    if *left == Some(0) {
                        self.state = WalkState::Header(Vec::new());
                    }
                    taken
                }
                WalkState::Buffering(buffered) => {
                    let taken = consume(&mut buffered.left, bytes.len());
                    buffered.push(&bytes[..taken], spill)?;
                    if buffered.left == Some(0) {
                        self.end_box(taken as u64)?;
                    }
                    taken
                }
                WalkState::Spilled(_) => 0,
                WalkState::InvalidHeader => bytes.len(),
            };
            self.position += consumed as u64;
            self.expected_left = self.expected_left.saturating_sub(consumed as u64);
            bytes = &bytes[consumed..];
        }
        Ok(all.len() - bytes.len())
    }

    /// Ends a box whose last byte has arrived: parses it, or waits for its body if it was spilled. Its last
    /// `consumed` bytes are not counted yet.
    fn end_box(&mut self, consumed: u64) -> Result<(), ReadError> {
        let state = std::mem::replace(&mut self.state, WalkState::Header(Vec::new()));
        let WalkState::Buffering(buffered) = state else { return Ok(()) };
        if buffered.is_spilled() {
            self.state = WalkState::Spilled(buffered);
            return Ok(());
        }
        self.read(&buffered.body, buffered.is_moov, buffered.start..self.position + consumed)
    }

    /// The length in bytes of the body of a large box that was spilled completely. The caller must pass this
    /// body to [`BoxWalker::read_spilled`] before the next byte.
    pub fn spilled_len(&self) -> Option<u64> {
        match &self.state {
            WalkState::Spilled(spilled) => Some(spilled.len),
            _ => None,
        }
    }

    /// Parses the box that was spilled completely.
    pub fn read_spilled(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let WalkState::Spilled(spilled) = &self.state else { return Ok(()) };
        let (is_moov, start) = (spilled.is_moov, spilled.start);
        self.state = WalkState::Header(Vec::new());
        self.read(body, is_moov, start..self.position)
    }

    /// Ends the input: a box that lasts to the end of the file is complete.
    pub fn end(&mut self) -> Result<(), ReadError> {
        match &self.state {
            WalkState::Buffering(buffered) if buffered.is_moov && buffered.left.is_none() => self.end_box(0),
            _ => Ok(()),
        }
    }

    /// Start position of the body that is being spilled, if any.
    pub fn spill_start(&self) -> Option<u64> {
        match &self.state {
            WalkState::Buffering(buffered) | WalkState::Spilled(buffered) if buffered.is_spilled() => {
                Some(self.position - buffered.len)
            }
            _ => None,
        }
    }

    /// Rewinds to the start of the body that is being spilled. The result restores the state with
    /// [`BoxWalker::undo_rewind`].
    pub fn rewind(&mut self) -> Option<Rewind> {
        let position = self.spill_start()?;
        let (WalkState::Buffering(buffered) | WalkState::Spilled(buffered)) = &self.state else {
            return None;
        };
        let left = buffered.left.map(|left| left + buffered.len);
        let rewound = BufferedBox { body: Vec::new(), len: 0, left, ..*buffered };
        let state = std::mem::replace(&mut self.state, WalkState::Buffering(rewound));
        Some(Rewind { state, position: std::mem::replace(&mut self.position, position) })
    }

    /// Undoes [`BoxWalker::rewind`].
    pub fn undo_rewind(&mut self, rewind: Rewind) {
        (self.state, self.position) = (rewind.state, rewind.position);
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        let buffered_len =
            if let WalkState::Buffering(buffered) = &self.state { buffered.body.len() } else { 0 };
        buffered_len + self.movie.as_ref().map_or(0, ParsedMoov::memory_len)
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub fn is_valid(&self, len: u64) -> bool {
        let is_state_valid = match &self.state {
            WalkState::Header(header) => {
                header.len() < BOX_HEADER_LEN_MAX && header.len() as u64 <= self.position
            }
            // A checkpoint does not contain spilled bytes.
            WalkState::Buffering(buffered) => {
                let is_len_valid =
                    if buffered.is_spilled() { buffered.len == 0 } else { buffered.len <= IN_MEMORY_MAX };
                buffered.start <= self.position && buffered.body.len() as u64 == buffered.len && is_len_valid
            }
            WalkState::Spilled(_) => false,
            WalkState::Skipping(_) | WalkState::InvalidHeader => true,
        };
        self.position == len && is_state_valid && self.movie.as_ref().is_none_or(ParsedMoov::is_valid)
    }

    /// The state after the header in `self.state`; `None` while it is incomplete.
    fn end_header(&mut self) -> Result<Option<WalkState>, ReadError> {
        let WalkState::Header(header) = &self.state else { return Ok(None) };
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
                    None => return Ok(Some(WalkState::InvalidHeader)),
                },
                None => return Ok(None),
            },
            2..8 => return Ok(Some(WalkState::InvalidHeader)),
            _ => Some(size - 8),
        };
        match &kind.0 {
            b"mdat" => self.has_mdat = true,
            // A second one is an outdated copy of an editor: the first counts.
            b"moov" if self.movie.is_none() => return self.begin_box(true, header.len(), left).map(Some),
            b"moof" => match &self.movie {
                None => return Err(ReadError::not_media(NO_MOOV_BEFORE_MOOF)),
                Some(ParsedMoov::Fragmented(_)) => {
                    return self.begin_box(false, header.len(), left).map(Some);
                }
                // The `moov` declared that it contains all samples.
                Some(ParsedMoov::Whole(_) | ParsedMoov::Offloaded) => {}
            },
            _ => {}
        }
        Ok(Some(if left == Some(0) { WalkState::Header(Vec::new()) } else { WalkState::Skipping(left) }))
    }

    /// Begins to collect the box whose header is complete except for its last byte, which is not counted
    /// yet.
    fn begin_box(&self, is_moov: bool, header_len: usize, left: Option<u64>) -> Result<WalkState, ReadError> {
        let start = self.position + 1 - header_len as u64;
        let buffered = BufferedBox { is_moov, start, body: Vec::new(), len: 0, left };
        if left.is_some_and(|left| left > buffered.len_max()) {
            return Err(buffered.too_long());
        }
        if left == Some(0) {
            return match is_moov {
                true => Err(ReadError::damaged("it lacks its movie header")),
                false => Ok(WalkState::Header(Vec::new())),
            };
        }
        let reserve =
            if buffered.is_spilled() { 0 } else { left.unwrap_or(0).min(self.expected_left) as usize };
        Ok(WalkState::Buffering(BufferedBox { body: Vec::with_capacity(reserve), ..buffered }))
    }

    /// Parses the body of the box at `range` of the source.
    fn read(&mut self, body: &[u8], is_moov: bool, range: Range<u64>) -> Result<(), ReadError> {
        match &mut self.movie {
            Some(ParsedMoov::Fragmented(movie)) if !is_moov => movie.push(body, range),
            _ => {
                self.movie = Some(ParsedMoov::parse(body, self.container)?);
                Ok(())
            }
        }
    }

    /// The container of the source.
    pub fn container(&self) -> Container {
        self.container
    }

    /// Whether all samples are read and planned.
    pub fn is_planned(&self) -> bool {
        matches!(self.movie, Some(ParsedMoov::Whole(_) | ParsedMoov::Offloaded))
    }

    /// Removes the complete movie and returns it as bytes, if they are more than `len_min`.
    pub fn offload_movie(&mut self, len_min: usize) -> Option<Vec<u8>> {
        let Some(ParsedMoov::Whole(movie)) = &self.movie else { return None };
        let bytes = checkpoint::encode(movie);
        if bytes.len() <= len_min {
            return None;
        }
        self.movie = Some(ParsedMoov::Offloaded);
        Some(bytes)
    }

    /// Restores a movie from [`BoxWalker::offload_movie`].
    pub fn restore_movie(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        let movie: Movie = checkpoint::decode(bytes)?;
        if !movie.is_valid() {
            return Err(CheckpointError::Damaged);
        }
        self.movie = Some(ParsedMoov::Whole(movie));
        Ok(())
    }

    /// The movie, after the last byte has come.
    pub fn finish(self) -> Result<Movie, ReadError> {
        let truncated = |what: &str| Err(ReadError::Truncated(what.into()));
        if let WalkState::Buffering(buffered) = &self.state
            && buffered.is_moov
        {
            return truncated("its movie header (moov) is cut off");
        }
        let ends_inside = match &self.state {
            WalkState::Header(header) => !header.is_empty(),
            WalkState::Skipping(left) => left.is_some(),
            WalkState::Buffering(_) | WalkState::Spilled(_) | WalkState::InvalidHeader => true,
        };
        match (self.movie, self.state) {
            (Some(ParsedMoov::Whole(movie)), _) => Ok(movie),
            (Some(ParsedMoov::Fragmented(movie)), _) => movie.finish(ends_inside),
            (Some(ParsedMoov::Offloaded), _) => {
                Err(ReadError::damaged("its movie header was not brought back"))
            }
            // A recorder that was stopped leaves a media box of unknown or wrong length, and no index.
            (None, WalkState::Skipping(_)) => truncated("its movie header (moov) is missing"),
            (None, WalkState::Header(_)) if ends_inside => truncated("its movie header (moov) is missing"),
            (None, WalkState::InvalidHeader) if self.has_mdat => {
                truncated("its movie header (moov) is missing")
            }
            (None, _) => Err(ReadError::not_media("the file has no movie header (moov)")),
        }
    }
}

impl BufferedBox {
    /// Whether its body is spilled. The length of a box that lasts to the end of the file is unknown until
    /// then.
    fn is_spilled(&self) -> bool {
        self.left.is_none_or(|left| self.len + left > IN_MEMORY_MAX)
    }

    /// Appends the next bytes of its body.
    fn push(&mut self, bytes: &[u8], spill: &mut dyn BoxSpill) -> Result<(), PushError> {
        self.len += bytes.len() as u64;
        if self.len > self.len_max() {
            return Err(self.too_long().into());
        }
        if !self.is_spilled() {
            self.body.extend_from_slice(bytes);
            return Ok(());
        }
        spill.append(bytes).map_err(PushError::Spill)
    }

    fn len_max(&self) -> u64 {
        if self.is_moov { MOOV_LEN_MAX } else { MOOF_LEN_MAX }
    }

    fn too_long(&self) -> ReadError {
        let name = if self.is_moov { "its movie header (moov)" } else { "the header of a fragment (moof)" };
        ReadError::unsupported(format!("{name} is longer than {} MiB", self.len_max() >> 20))
    }
}

/// The state that [`BoxWalker::rewind`] saves.
pub struct Rewind {
    state: WalkState,
    position: u64,
}

/// Why bytes could not be consumed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A large box could not be spilled.
    #[error("a part of the source could not be stored")]
    Spill(#[source] std::io::Error),
}

impl PushError {
    /// Extracts the read error, for callers that spill to memory, which never fails.
    pub fn into_read(self) -> ReadError {
        match self {
            Self::Read(error) => error,
            Self::Spill(_) => ReadError::damaged("a part of it could not be stored"),
        }
    }
}

/// The error message for a media segment without its init segment.
const NO_MOOV_BEFORE_MOOF: &str =
    "the file is a piece of a stream, without the movie header (moov) in front of its fragments";

/// Consumes up to `available` of the remaining bytes, and returns how many.
fn consume(left: &mut Option<u64>, available: usize) -> usize {
    let Some(left) = left else { return available };
    let consumed = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= consumed as u64;
    consumed
}
