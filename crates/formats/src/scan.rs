//! Reads a source of any kind from its bytes in order.

use kinora_index::{
    Container, Index, SampleObject,
    checkpoint::{self, CheckpointError, byte_string},
};
use kinora_isobmff::{BoxSpill, PushError, ReadError, read::Playable, walk::BoxWalker};
use kinora_matroska::Reader;
use serde::{Deserialize, Serialize};
use sha2::{
    Digest, Sha256,
    digest::common::hazmat::{SerializableState, SerializedState},
};

use crate::{
    remux_source::{RemuxFacts, RemuxFactsParser},
    sniff::{Family, HEAD_LEN, sniff},
};

/// Builds an [`Index`] from the bytes of one source, pushed in order and in pieces of any size.
///
/// Detects the container from the first bytes. Of ISO base media files it buffers the `moov` and each `moof`
/// until they are complete; of Matroska the bytes before the frames. After that it stores the packed sample
/// tables, and skips all other bytes. If a `moov` comes first, tables and plan are available before the last
/// byte. The result does not depend on how the bytes are cut.
///
/// A large `moov` or `moof` may be spilled outside while it arrives: see [`Scanner::push_spilled`].
#[derive(Debug)]
pub struct Scanner {
    len: u64,
    hash: Sha256,
    expected_len: Option<u64>,
    state: Result<State, ReadError>,
    /// Length and hash of the bytes before the body that is being spilled: a checkpoint covers only these.
    before_spill: Option<(u64, Sha256)>,
    /// The large box that is arriving, if the caller does not spill it.
    large_box: Vec<u8>,
}

/// The result of a scan.
#[derive(Debug, Clone, PartialEq)]
pub enum Scanned {
    /// Its samples are indexed and can be read at their positions.
    Index(Index),
    /// Media in a container that is not read here, a damaged or compressed Matroska, or an MP4 with
    /// unsupported times or edits: it must be remuxed into another container first.
    NeedsRemux {
        /// The container of the source.
        container: Container,
        /// Length of the source in bytes.
        len: u64,
        /// SHA-256 of the source.
        sha256: [u8; 32],
        /// The unsupported feature, if our own reader rejected the source: a sentence, reported if a remux
        /// also fails. `None` without a reader.
        rejection: Option<String>,
        /// Information that a remuxed copy loses.
        facts: RemuxFacts,
    },
}

#[derive(Debug, Serialize, Deserialize)]
enum State {
    /// The first bytes, until they are enough to detect the format.
    Head(#[serde(with = "byte_string")] Vec<u8>),
    Boxes(Box<BoxWalker>),
    Matroska(Container, Box<Reader>),
    /// Bytes are skipped.
    NeedsRemux(Box<RemuxSource>),
}

/// A source that is not read here.
#[derive(Debug, Serialize, Deserialize)]
struct RemuxSource {
    container: Container,
    rejection: Option<String>,
    facts_parser: RemuxFactsParser,
}

impl RemuxSource {
    /// A source that our reader rejected after it had read the first bytes.
    fn rejected(container: Container, rejection: Option<String>) -> Box<Self> {
        Box::new(Self { container, rejection, facts_parser: RemuxFactsParser::Ignored })
    }
}

impl State {
    /// Detects the format of a source from its first bytes. Errors: `NotMedia` and `Unsupported`.
    fn detect(head: &[u8], expected_len: Option<u64>) -> Result<Self, ReadError> {
        let kind = sniff(head);
        Ok(match kind.family() {
            Family::NotMedia => {
                let name = kind.name();
                return Err(ReadError::NotMedia(format!("the source is {name}, not a video or audio file")));
            }
            Family::Unsupported => {
                let (name, remedy) = (kind.name(), "convert it, for instance to MP4");
                return Err(ReadError::Unsupported(format!(
                    "the source is {name}, which is not supported; {remedy}"
                )));
            }
            Family::Media(container @ (Container::Mp4 | Container::Mov)) => {
                State::Boxes(Box::new(BoxWalker::new(container, expected_len)))
            }
            Family::Media(container @ (Container::Matroska | Container::WebM)) => {
                State::Matroska(container, Box::default())
            }
            Family::Media(container) => State::NeedsRemux(Box::new(RemuxSource {
                container,
                rejection: None,
                facts_parser: RemuxFactsParser::new(container),
            })),
        })
    }

    /// Adds bytes after the first ones, but none after a large box that must be read first. Returns how many
    /// it added.
    fn push(&mut self, bytes: &[u8], spill: &mut dyn BoxSpill) -> Result<usize, PushError> {
        match self {
            State::Head(_) => {}
            State::NeedsRemux(remux_source) => remux_source.facts_parser.push(bytes),
            State::Boxes(walk) => match walk.push(bytes, spill) {
                // All further bytes are skipped.
                Err(PushError::Read(ReadError::NeedsRemux(rejection))) => self.reject(rejection),
                result => return result,
            },
            State::Matroska(container, reader) => {
                if !reader.push(bytes)? {
                    *self = State::NeedsRemux(RemuxSource::rejected(*container, None));
                }
            }
        }
        Ok(bytes.len())
    }

    /// Skips the rest of a source that our reader does not support.
    fn reject(&mut self, rejection: String) {
        if let State::Boxes(walk) = self {
            *self = State::NeedsRemux(RemuxSource::rejected(walk.container(), Some(rejection)));
        }
    }

    /// The length in bytes of the large box that must be read next.
    fn spilled_len(&self) -> Option<u64> {
        if let State::Boxes(walk) = self { walk.spilled_len() } else { None }
    }

    /// Start position of the body that is being spilled.
    fn spill_start(&self) -> Option<u64> {
        if let State::Boxes(walk) = self { walk.spill_start() } else { None }
    }

    /// Reads the large box that arrived last.
    fn read_spilled(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let State::Boxes(walk) = self else { return Ok(()) };
        match walk.read_spilled(body) {
            Err(ReadError::NeedsRemux(rejection)) => {
                self.reject(rejection);
                Ok(())
            }
            result => result,
        }
    }

    /// Ends the input.
    fn end(&mut self) -> Result<(), ReadError> {
        if let State::Boxes(walk) = self { walk.end() } else { Ok(()) }
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    fn is_valid(&self, len: u64) -> bool {
        match self {
            State::Head(head) => head.len() < HEAD_LEN && head.len() as u64 == len,
            State::Boxes(walk) => walk.is_valid(len),
            State::Matroska(_, reader) => reader.is_valid(len),
            State::NeedsRemux(remux_source) => remux_source.facts_parser.is_valid(len),
        }
    }

    /// The container and its content, after the last byte.
    fn finish(self, len: u64) -> Result<(Container, Result<Playable, Box<RemuxSource>>), ReadError> {
        match self {
            State::Head(head) => {
                let (mut state, mut spill) = (State::detect(&head, Some(len))?, Vec::new());
                state.push(&head, &mut spill).map_err(PushError::into_read)?;
                state.end()?;
                state.read_spilled(&spill)?;
                state.finish(len)
            }
            State::NeedsRemux(remux_source) => Ok((
                remux_source.facts_parser.container().unwrap_or(remux_source.container),
                Err(remux_source),
            )),
            State::Boxes(walk) => {
                let container = walk.container();
                match walk.finish().and_then(|movie| movie.into_playable(len)) {
                    Err(ReadError::NeedsRemux(rejection)) => {
                        Ok((container, Err(RemuxSource::rejected(container, Some(rejection)))))
                    }
                    playable => Ok((container, Ok(playable?))),
                }
            }
            State::Matroska(container, reader) => {
                let playable = reader.finish(len)?;
                Ok((container, playable.ok_or_else(|| RemuxSource::rejected(container, None))))
            }
        }
    }
}

impl Scanner {
    /// A scanner at the first byte. `expected_len` may come from `Content-Length`; it is a hint for memory
    /// and never changes the result.
    pub fn new(expected_len: Option<u64>) -> Self {
        let state = Ok(State::Head(Vec::new()));
        Scanner {
            len: 0,
            hash: Sha256::new(),
            expected_len,
            state,
            before_spill: None,
            large_box: Vec::new(),
        }
    }

    /// Adds the next bytes, and buffers a large box in memory while it arrives.
    ///
    /// An error is final and comes early, so that a download can stop. Every later call returns the same
    /// error.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), ReadError> {
        let mut large_box = std::mem::take(&mut self.large_box);
        loop {
            let consumed = self.push_spilled(bytes, &mut large_box).map_err(PushError::into_read)?;
            bytes = &bytes[consumed..];
            if self.spilled_len().is_some() {
                self.read_spilled(&std::mem::take(&mut large_box))?;
            }
            if bytes.is_empty() {
                self.large_box = large_box;
                return Ok(());
            }
        }
    }

    /// Adds the next bytes, and writes a `moov` or `moof` of more than 64 KiB to `spill` while it arrives.
    /// Adds no bytes after such a box: the caller must first pass its body of [`Scanner::spilled_len`] bytes
    /// to [`Scanner::read_spilled`]. Returns how many bytes it added.
    ///
    /// Errors: as [`Scanner::push`]; [`PushError::Spill`] if the spool failed, after which the scanner is
    /// unusable.
    pub fn push_spilled(&mut self, bytes: &[u8], spill: &mut dyn BoxSpill) -> Result<usize, PushError> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        // The head is already counted, but a body may begin in it.
        let head = if let State::Head(head) = state { head.clone() } else { Vec::new() };
        let result = push_bytes(state, self.expected_len, bytes, spill);
        if let Err(PushError::Read(error)) = &result {
            self.state = Err(error.clone());
        }
        let consumed = result?;
        self.count(&head, &bytes[..consumed]);
        Ok(consumed)
    }

    /// Counts bytes that were added. If a spilled body begins in them or in the `head`, stores the length
    /// and hash before it.
    fn count(&mut self, head: &[u8], bytes: &[u8]) {
        let aside_from = self.state.as_ref().ok().and_then(State::spill_start);
        let is_known = self.before_spill.as_ref().map(|(at, _)| *at) == aside_from;
        if let Some(at) = aside_from.filter(|at| !is_known && *at < self.len) {
            let bytes_before = &head[..usize::try_from(at).unwrap_or(usize::MAX).min(head.len())];
            self.before_spill = Some((at, Sha256::new_with_prefix(bytes_before)));
            self.hash.update(bytes);
            self.len += bytes.len() as u64;
            return;
        }
        // A body begins after its header, which ends in these bytes.
        let len_before = aside_from.filter(|_| !is_known).map_or(0, |at| at.saturating_sub(self.len));
        let (front, rest) =
            bytes.split_at(usize::try_from(len_before).unwrap_or(usize::MAX).min(bytes.len()));
        self.hash.update(front);
        self.len += front.len() as u64;
        if !is_known {
            self.before_spill = aside_from.map(|_| (self.len, self.hash.clone()));
        }
        self.hash.update(rest);
        self.len += rest.len() as u64;
    }

    /// The length of the body of the large box that was spilled completely, in bytes.
    pub fn spilled_len(&self) -> Option<u64> {
        self.state.as_ref().ok().and_then(State::spilled_len)
    }

    /// Reads the large box that arrived last; `body` is the spilled body.
    ///
    /// Errors: as [`Scanner::push`].
    pub fn read_spilled(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        let result = state.read_spilled(body);
        self.before_spill = None;
        if let Err(error) = &result {
            self.state = Err(error.clone());
        }
        result
    }

    /// Takes the sample tables and the plan of a complete movie out as bytes, if they are more than
    /// `len_min`. The caller must restore them with [`Scanner::restore_tables`] before a checkpoint and
    /// before the end.
    pub fn offload_tables(&mut self, len_min: usize) -> Option<Vec<u8>> {
        if let Ok(State::Boxes(walk)) = &mut self.state { walk.offload_movie(len_min) } else { None }
    }

    /// Restores the bytes from [`Scanner::offload_tables`].
    pub fn restore_tables(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        if let Ok(State::Boxes(walk)) = &mut self.state { walk.restore_movie(bytes) } else { Ok(()) }
    }

    /// Ends the input: completes a large box that lasts to the end of the file. If it was spilled, the caller
    /// must now pass it to [`Scanner::read_spilled`].
    ///
    /// Errors: as [`Scanner::push`].
    pub fn end(&mut self) -> Result<(), ReadError> {
        self.state.as_mut().map_err(|error| error.clone())?.end()
    }

    /// Number of bytes added so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no byte has come yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes in memory of the sample tables so far, and of an incomplete box.
    pub fn memory_len(&self) -> usize {
        match &self.state {
            Ok(State::Boxes(walk)) => walk.memory_len(),
            Ok(State::Matroska(_, reader)) => reader.memory_len(),
            // A few hundred bytes.
            Ok(State::Head(_) | State::NeedsRemux(_)) | Err(_) => 0,
        }
    }

    /// Whether the sample tables are already read and planned, so that [`Scanner::finish`] is fast.
    pub fn has_sample_tables(&self) -> bool {
        matches!(&self.state, Ok(State::Boxes(walk)) if walk.is_planned())
    }

    /// The state of the scanner as bytes: [`Scanner::from_checkpoint`] restores a scanner that continues in
    /// the same way, on any machine.
    ///
    /// It contains the first bytes of up to 4 KiB, an incomplete `moov` or `moof`, or else the packed tables
    /// and the plan. The same state always has the same bytes.
    ///
    /// Measured with 2 h at 30 frames per second with audio: 1.2 MB after a `moov` of 4.1 MB (and half of
    /// that in the middle of it), 0.9 MB after the last fragment and 1.9 MB after the last cluster of
    /// Matroska. It grows with the bytes so far. Writing takes about 1 ms per MB. Reading takes 7 ms,
    /// because it decodes every sample once.
    ///
    /// While a large box is being spilled, the checkpoint is that of the scanner before its body: see
    /// [`Scanner::checkpoint_len`].
    pub fn to_checkpoint(&mut self) -> Vec<u8> {
        let rewound = if let Ok(State::Boxes(walk)) = &mut self.state { walk.rewind() } else { None };
        let (len, hash) =
            self.before_spill.as_ref().map_or((self.len, &self.hash), |(len, hash)| (*len, hash));
        let checkpoint_bytes =
            checkpoint::encode(&(len, &hash.serialize()[..], self.expected_len, &self.state));
        if let (Ok(State::Boxes(walk)), Some(stepped)) = (&mut self.state, rewound) {
            walk.undo_rewind(stepped);
        }
        checkpoint_bytes
    }

    /// The number of bytes of the source that the result of [`Scanner::to_checkpoint`] covers now.
    pub fn checkpoint_len(&self) -> u64 {
        self.before_spill.as_ref().map_or(self.len, |(len, _)| *len)
    }

    /// Reads the output of [`Scanner::to_checkpoint`] of this version. Bytes of any other origin are
    /// rejected, or give an arbitrary scanner; neither panics. Memory use is proportional to the length of
    /// the bytes, independent of their content.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let (len, hash, expected_len, state): (u64, &[u8], Option<u64>, Result<State, ReadError>) =
            checkpoint::decode(bytes)?;
        let is_valid = state.as_ref().map_or(true, |state| state.is_valid(len));
        let hash = hash_after(len, hash).filter(|_| is_valid).ok_or(CheckpointError::Damaged)?;
        Ok(Scanner { len, hash, expected_len, state, before_spill: None, large_box: Vec::new() })
    }

    /// Ends the source and builds its index: checks that the samples are inside it.
    ///
    /// Errors: as [`ReadError`] says; `Truncated` also if the file was cut before its `moov`.
    pub fn finish(mut self) -> Result<Scanned, ReadError> {
        self.end()?;
        if self.spilled_len().is_some() {
            let large_box = std::mem::take(&mut self.large_box);
            self.read_spilled(&large_box)?;
        }
        let (container, playable) = self.state?.finish(self.len)?;
        let (len, sha256) = (self.len, self.hash.finalize().into());
        let Playable { tracks, plan, is_truncated, left_out } = match playable {
            Ok(playable) => playable,
            Err(remux_source) => {
                let RemuxSource { rejection, facts_parser, .. } = *remux_source;
                return Ok(Scanned::NeedsRemux {
                    container,
                    len,
                    sha256,
                    rejection,
                    facts: facts_parser.finish(len),
                });
            }
        };
        Ok(Scanned::Index(Index {
            source_len: len,
            source_sha256: sha256,
            container,
            objects: vec![SampleObject::source(len)],
            parts: Vec::new(),
            is_truncated,
            left_out,
            overlay: None,
            tracks,
            plan,
        }))
    }
}

impl Scanned {
    /// The index, for callers that cannot remux a source.
    ///
    /// Errors: `Unsupported` for [`Scanned::NeedsRemux`].
    pub fn into_index(self) -> Result<Index, ReadError> {
        match self {
            Scanned::Index(index) => Ok(index),
            Scanned::NeedsRemux { rejection: Some(rejection), .. } => Err(ReadError::NeedsRemux(rejection)),
            Scanned::NeedsRemux { container, .. } => Err(ReadError::Unsupported(format!(
                "the source is a file of the kind {}; only MP4, QuickTime, Matroska and WebM files are supported so far",
                container.name()
            ))),
        }
    }
}

/// Maximum length of a source, more than any storage holds; sums of positions stay in range.
const LEN_MAX: u64 = i64::MAX as u64;

/// Restores the hash of `len` bytes from its intermediate state. `None` if the state belongs to another
/// length.
fn hash_after(len: u64, state: &[u8]) -> Option<Sha256> {
    /// The state contains the eight words and the number of hashed blocks; after it, the bytes of the next
    /// block so far. sha2 0.11.
    const WORDS_LEN: usize = 32;
    const BLOCK_LEN: u64 = 64;
    let (blocks, rest) = state.get(WORDS_LEN..)?.split_first_chunk::<8>()?;
    let buffered = u64::from(*rest.first()?);
    if LEN_MAX < len || (u64::from_le_bytes(*blocks), buffered) != (len / BLOCK_LEN, len % BLOCK_LEN) {
        return None;
    }
    Sha256::deserialize(&SerializedState::<Sha256>::try_from(state).ok()?).ok()
}

/// Collects the first bytes and detects the format from them, then passes all bytes on to the reader.
fn push_bytes(
    state: &mut State,
    expected_len: Option<u64>,
    bytes: &[u8],
    spill: &mut dyn BoxSpill,
) -> Result<usize, PushError> {
    let State::Head(head) = state else { return state.push(bytes, spill) };
    let missing = HEAD_LEN - head.len();
    let (start, rest) = bytes.split_at(missing.min(bytes.len()));
    head.extend_from_slice(start);
    if head.len() < HEAD_LEN {
        return Ok(bytes.len());
    }
    let head = std::mem::take(head);
    *state = State::detect(&head, expected_len)?;
    // No large box ends in these few bytes.
    let consumed = state.push(&head, spill)?;
    debug_assert_eq!(consumed, head.len());
    Ok(start.len() + state.push(rest, spill)?)
}

impl Scanner {
    /// Whether the source is in a container that is not read here, as far as detected.
    pub fn needs_remux(&self) -> bool {
        matches!(&self.state, Ok(State::NeedsRemux(_)))
    }
}
