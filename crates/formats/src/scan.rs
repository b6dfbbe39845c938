//! Reads a source of any kind from its passing bytes.

use kinora_index::{
    Container, Index, SampleObject,
    checkpoint::{self, CheckpointError, byte_string},
};
use kinora_isobmff::{Aside, PushError, ReadError, read::Playable, walk::Walk};
use kinora_matroska::Reader;
use serde::{Deserialize, Serialize};
use sha2::{
    Digest, Sha256,
    digest::common::hazmat::{SerializableState, SerializedState},
};

use crate::{
    foreign::{ForeignFacts, Observer},
    sniff::{Family, HEAD_LEN, sniff},
};

/// Builds an [`Index`] from the bytes of one source, fed in order and in pieces of any size.
///
/// Tells from the first bytes what they are packed in. Of ISO base media files it keeps the `moov` and each
/// `moof` while it is incomplete, of Matroska what stands in front of the frames, and the packed sample
/// tables after; everything else passes by. Where a `moov` lies in front, tables and plan are there before
/// the last byte. The result does not depend on how the bytes are cut.
///
/// A large `moov` or `moof` may be kept elsewhere while it comes: see [`Scanner::push_beside`].
#[derive(Debug)]
pub struct Scanner {
    len: u64,
    hash: Sha256,
    expected_len: Option<u64>,
    state: Result<State, ReadError>,
    /// Length and hash of what came in front of the body that is laid aside now: a checkpoint is as old as
    /// that.
    in_front: Option<(u64, Sha256)>,
    /// The large box that comes now, where nobody else keeps it.
    own: Vec<u8>,
}

/// What a source turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Scanned {
    /// Its samples can be told from one another and read where they lie.
    Index(Index),
    /// Media in a container that is not read here, a damaged or packed Matroska, or an MP4 whose times or
    /// edits are not followed here: it must be brought into another container first.
    Foreign {
        /// What the bytes are packed in.
        container: Container,
        /// Length of the source in bytes.
        len: u64,
        /// SHA-256 of the source.
        sha256: [u8; 32],
        /// What our own reader does not follow of it, for where nobody else does either: a sentence. `None`
        /// without a reader.
        refusal: Option<String>,
        /// What a copy in another container cannot say.
        facts: ForeignFacts,
    },
}

#[derive(Debug, Serialize, Deserialize)]
enum State {
    /// The first bytes, until they are enough to tell what this is.
    Head(#[serde(with = "byte_string")] Vec<u8>),
    Boxes(Box<Walk>),
    Matroska(Container, Box<Reader>),
    /// Passes by.
    Foreign(Box<Passing>),
}

/// A source that is not read here.
#[derive(Debug, Serialize, Deserialize)]
struct Passing {
    container: Container,
    refusal: Option<String>,
    observer: Observer,
}

impl Passing {
    /// What our reader refused, whose beginning has passed.
    fn refused(container: Container, refusal: Option<String>) -> Box<Self> {
        Box::new(Self { container, refusal, observer: Observer::Blind })
    }
}

impl State {
    /// What the source is, from its first bytes, which it takes. Errors: `NotMedia` and `Unsupported`.
    fn of(head: &[u8], expected_len: Option<u64>) -> Result<Self, ReadError> {
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
                State::Boxes(Box::new(Walk::new(container, expected_len)))
            }
            Family::Media(container @ (Container::Matroska | Container::WebM)) => {
                State::Matroska(container, Box::default())
            }
            Family::Media(container) => State::Foreign(Box::new(Passing {
                container,
                refusal: None,
                observer: Observer::new(container),
            })),
        })
    }

    /// Takes the next bytes, once the first have come, but none behind a large box that is due. Returns how
    /// many it took.
    fn push(&mut self, bytes: &[u8], aside: &mut dyn Aside) -> Result<usize, PushError> {
        match self {
            State::Head(_) => {}
            State::Foreign(passing) => passing.observer.push(bytes),
            State::Boxes(walk) => match walk.push(bytes, aside) {
                // All other bytes pass by.
                Err(PushError::Read(ReadError::NeedsRemux(refusal))) => self.refuse(refusal),
                result => return result,
            },
            State::Matroska(container, reader) => {
                if !reader.push(bytes)? {
                    *self = State::Foreign(Passing::refused(*container, None));
                }
            }
        }
        Ok(bytes.len())
    }

    /// What our reader does not follow passes by from now on.
    fn refuse(&mut self, refusal: String) {
        if let State::Boxes(walk) = self {
            *self = State::Foreign(Passing::refused(walk.container(), Some(refusal)));
        }
    }

    /// The length of the large box that is due.
    fn due(&self) -> Option<u64> {
        if let State::Boxes(walk) = self { walk.due() } else { None }
    }

    /// Where the body begins that is laid aside now.
    fn aside_from(&self) -> Option<u64> {
        if let State::Boxes(walk) = self { walk.aside_from() } else { None }
    }

    /// Reads the large box that is due.
    fn read_due(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let State::Boxes(walk) = self else { return Ok(()) };
        match walk.read_due(body) {
            Err(ReadError::NeedsRemux(refusal)) => {
                self.refuse(refusal);
                Ok(())
            }
            result => result,
        }
    }

    /// No more bytes come.
    fn end(&mut self) -> Result<(), ReadError> {
        if let State::Boxes(walk) = self { walk.end() } else { Ok(()) }
    }

    /// Whether what came back from a checkpoint of a scanner that took `len` bytes can go on.
    fn is_sound(&self, len: u64) -> bool {
        match self {
            State::Head(head) => head.len() < HEAD_LEN && head.len() as u64 == len,
            State::Boxes(walk) => walk.is_sound(len),
            State::Matroska(_, reader) => reader.is_sound(len),
            State::Foreign(passing) => passing.observer.is_sound(len),
        }
    }

    /// What is packed in what, once the last byte has come.
    fn finish(self, len: u64) -> Result<(Container, Result<Playable, Box<Passing>>), ReadError> {
        match self {
            State::Head(head) => {
                let (mut known, mut aside) = (State::of(&head, Some(len))?, Vec::new());
                known.push(&head, &mut aside).map_err(PushError::into_read)?;
                known.end()?;
                known.read_due(&aside)?;
                known.finish(len)
            }
            State::Foreign(passing) => {
                Ok((passing.observer.container().unwrap_or(passing.container), Err(passing)))
            }
            State::Boxes(walk) => {
                let container = walk.container();
                match walk.finish().and_then(|movie| movie.within(len)) {
                    Err(ReadError::NeedsRemux(refusal)) => {
                        Ok((container, Err(Passing::refused(container, Some(refusal)))))
                    }
                    playable => Ok((container, Ok(playable?))),
                }
            }
            State::Matroska(container, reader) => {
                let playable = reader.finish(len)?;
                Ok((container, playable.ok_or_else(|| Passing::refused(container, None))))
            }
        }
    }
}

impl Scanner {
    /// A scanner that has seen no byte. `expected_len` may come from `Content-Length`; it is a hint for
    /// memory and never decides anything.
    pub fn new(expected_len: Option<u64>) -> Self {
        let state = Ok(State::Head(Vec::new()));
        Scanner { len: 0, hash: Sha256::new(), expected_len, state, in_front: None, own: Vec::new() }
    }

    /// Takes the next bytes, and keeps a large box in memory while it comes.
    ///
    /// An error is final and says early that the file is hopeless, so that a download can stop. Every later
    /// call answers the same.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), ReadError> {
        let mut own = std::mem::take(&mut self.own);
        loop {
            let taken = self.push_beside(bytes, &mut own).map_err(PushError::into_read)?;
            bytes = &bytes[taken..];
            if self.due().is_some() {
                self.read_due(&std::mem::take(&mut own))?;
            }
            if bytes.is_empty() {
                self.own = own;
                return Ok(());
            }
        }
    }

    /// Takes the next bytes, and lays a `moov` or `moof` of more than 64 KiB `aside` while it comes. Takes
    /// none behind such a box: that is [`due`](Scanner::due), and goes to [`Scanner::read_due`] first.
    /// Returns how many bytes it took.
    ///
    /// Errors: as [`Scanner::push`]; [`PushError::Aside`] where laying aside failed, after which the scanner
    /// is lost.
    pub fn push_beside(&mut self, bytes: &[u8], aside: &mut dyn Aside) -> Result<usize, PushError> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        // Counted already, and yet a body may begin in them.
        let head = if let State::Head(head) = state { head.clone() } else { Vec::new() };
        let result = take(state, self.expected_len, bytes, aside);
        if let Err(PushError::Read(error)) = &result {
            self.state = Err(error.clone());
        }
        let taken = result?;
        self.count(&head, &bytes[..taken]);
        Ok(taken)
    }

    /// Counts bytes that were taken, and remembers what was in front of a body that has begun in them to be
    /// laid aside, or in the `head` that was only looked at with them.
    fn count(&mut self, head: &[u8], bytes: &[u8]) {
        let aside_from = self.state.as_ref().ok().and_then(State::aside_from);
        let is_known = self.in_front.as_ref().map(|(at, _)| *at) == aside_from;
        if let Some(at) = aside_from.filter(|at| !is_known && *at < self.len) {
            let in_front = &head[..usize::try_from(at).unwrap_or(usize::MAX).min(head.len())];
            self.in_front = Some((at, Sha256::new_with_prefix(in_front)));
            self.hash.update(bytes);
            self.len += bytes.len() as u64;
            return;
        }
        // A body begins where its header ends, which is in these bytes.
        let in_front = aside_from.filter(|_| !is_known).map_or(0, |at| at.saturating_sub(self.len));
        let (front, rest) = bytes.split_at(usize::try_from(in_front).unwrap_or(usize::MAX).min(bytes.len()));
        self.hash.update(front);
        self.len += front.len() as u64;
        if !is_known {
            self.in_front = aside_from.map(|_| (self.len, self.hash.clone()));
        }
        self.hash.update(rest);
        self.len += rest.len() as u64;
    }

    /// The length of the body of the large box that was laid aside whole.
    pub fn due(&self) -> Option<u64> {
        self.state.as_ref().ok().and_then(State::due)
    }

    /// Reads the box that is due, as it was laid aside.
    ///
    /// Errors: as [`Scanner::push`].
    pub fn read_due(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let state = self.state.as_mut().map_err(|error| error.clone())?;
        let result = state.read_due(body);
        self.in_front = None;
        if let Err(error) = &result {
            self.state = Err(error.clone());
        }
        result
    }

    /// Hands out the sample tables and the plan of a movie that is whole, as bytes, if those are more than
    /// `len_min`. They come back by [`Scanner::put_tables`] before a checkpoint and before the end.
    pub fn take_tables(&mut self, len_min: usize) -> Option<Vec<u8>> {
        if let Ok(State::Boxes(walk)) = &mut self.state { walk.take_movie(len_min) } else { None }
    }

    /// Takes back what [`Scanner::take_tables`] handed out.
    pub fn put_tables(&mut self, bytes: &[u8]) -> Result<(), CheckpointError> {
        if let Ok(State::Boxes(walk)) = &mut self.state { walk.put_movie(bytes) } else { Ok(()) }
    }

    /// No more bytes come: a large box that lasts up to the end of the file is [`due`](Scanner::due) now.
    ///
    /// Errors: as [`Scanner::push`].
    pub fn end(&mut self) -> Result<(), ReadError> {
        self.state.as_mut().map_err(|error| error.clone())?.end()
    }

    /// Bytes taken so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no byte has come yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes in memory of the sample tables so far, and of a box that is not whole yet.
    pub fn memory_len(&self) -> usize {
        match &self.state {
            Ok(State::Boxes(walk)) => walk.memory_len(),
            Ok(State::Matroska(_, reader)) => reader.memory_len(),
            // A few hundred bytes.
            Ok(State::Head(_) | State::Foreign(_)) | Err(_) => 0,
        }
    }

    /// Whether the sample tables are read and planned already, so that hardly anything is left for
    /// [`Scanner::finish`].
    pub fn has_sample_tables(&self) -> bool {
        matches!(&self.state, Ok(State::Boxes(walk)) if walk.is_planned())
    }

    /// All that the scanner has come to, as bytes: one that [`Scanner::from_checkpoint`] makes of them goes
    /// on as this one does, wherever it runs.
    ///
    /// It holds what a scanner holds: of the first 4 KiB what has come, a `moov` or `moof` that is not whole
    /// yet, else the packed tables and the plan. The same state always has the same bytes.
    ///
    /// Measured: of 2 h at 30 frames a second with sound, 1.2 MB behind a `moov` of 4.1 MB (and half of that
    /// in the middle of it), 0.9 MB behind the last fragment and 1.9 MB behind the last cluster of Matroska,
    /// growing with what has come. Written in about 1 ms a MB, and read in 7 ms, in which every sample is
    /// decoded once.
    ///
    /// While a large box is laid aside, it is that of the scanner as it was in front of its body: see
    /// [`Scanner::checkpoint_len`].
    pub fn to_checkpoint(&mut self) -> Vec<u8> {
        let stepped = if let Ok(State::Boxes(walk)) = &mut self.state { walk.step_back() } else { None };
        let (len, hash) = self.in_front.as_ref().map_or((self.len, &self.hash), |(len, hash)| (*len, hash));
        let sealed = checkpoint::sealed(&(len, &hash.serialize()[..], self.expected_len, &self.state));
        if let (Ok(State::Boxes(walk)), Some(stepped)) = (&mut self.state, stepped) {
            walk.step_forth(stepped);
        }
        sealed
    }

    /// How many bytes lie in front of what [`Scanner::to_checkpoint`] answers now.
    pub fn checkpoint_len(&self) -> u64 {
        self.in_front.as_ref().map_or(self.len, |(len, _)| *len)
    }

    /// Reads what [`Scanner::to_checkpoint`] wrote, in this version. Bytes of any other origin are refused,
    /// or give some scanner; neither they nor it panic. Takes memory in proportion to the bytes, whatever
    /// they say.
    pub fn from_checkpoint(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let (len, hash, expected_len, state): (u64, &[u8], Option<u64>, Result<State, ReadError>) =
            checkpoint::opened(bytes)?;
        let is_sound = state.as_ref().map_or(true, |state| state.is_sound(len));
        let hash = hash_after(len, hash).filter(|_| is_sound).ok_or(CheckpointError::Damaged)?;
        Ok(Scanner { len, hash, expected_len, state, in_front: None, own: Vec::new() })
    }

    /// Ends the source and makes its index: checks that the samples lie inside it.
    ///
    /// Errors: as [`ReadError`] says; `Truncated` also when the file was cut before its `moov`.
    pub fn finish(mut self) -> Result<Scanned, ReadError> {
        self.end()?;
        if self.due().is_some() {
            let own = std::mem::take(&mut self.own);
            self.read_due(&own)?;
        }
        let (container, playable) = self.state?.finish(self.len)?;
        let (len, sha256) = (self.len, self.hash.finalize().into());
        let Playable { tracks, plan, is_truncated, left_out } = match playable {
            Ok(playable) => playable,
            Err(passing) => {
                let Passing { refusal, observer, .. } = *passing;
                return Ok(Scanned::Foreign { container, len, sha256, refusal, facts: observer.finish(len) });
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
            tracks,
            plan,
        }))
    }
}

impl Scanned {
    /// The index, for callers that cannot bring a source into another container.
    ///
    /// Errors: `Unsupported` for what is [`Scanned::Foreign`].
    pub fn into_index(self) -> Result<Index, ReadError> {
        match self {
            Scanned::Index(index) => Ok(index),
            Scanned::Foreign { refusal: Some(refusal), .. } => Err(ReadError::NeedsRemux(refusal)),
            Scanned::Foreign { container, .. } => Err(ReadError::Unsupported(format!(
                "the source is a file of the kind {}; only MP4, QuickTime, Matroska and WebM files are supported so far",
                container.name()
            ))),
        }
    }
}

/// A longer source would be one that nobody can store; keeps sums of places in range.
const LEN_MAX: u64 = i64::MAX as u64;

/// The hash of `len` bytes from its state in the middle. `None` where it is not that of so many.
fn hash_after(len: u64, state: &[u8]) -> Option<Sha256> {
    /// The state holds the eight words, and how many blocks they are made of; behind it, how much of the next
    /// block has come. sha2 0.11.
    const WORDS_LEN: usize = 32;
    const BLOCK_LEN: u64 = 64;
    let (blocks, rest) = state.get(WORDS_LEN..)?.split_first_chunk::<8>()?;
    let begun = u64::from(*rest.first()?);
    if LEN_MAX < len || (u64::from_le_bytes(*blocks), begun) != (len / BLOCK_LEN, len % BLOCK_LEN) {
        return None;
    }
    Sha256::deserialize(&SerializedState::<Sha256>::try_from(state).ok()?).ok()
}

/// Takes the first bytes, then the next ones.
fn take(
    state: &mut State,
    expected_len: Option<u64>,
    bytes: &[u8],
    aside: &mut dyn Aside,
) -> Result<usize, PushError> {
    let State::Head(head) = state else { return state.push(bytes, aside) };
    let missing = HEAD_LEN - head.len();
    let (start, rest) = bytes.split_at(missing.min(bytes.len()));
    head.extend_from_slice(start);
    if head.len() < HEAD_LEN {
        return Ok(bytes.len());
    }
    let head = std::mem::take(head);
    *state = State::of(&head, expected_len)?;
    // No large box ends in so few bytes.
    let taken = state.push(&head, aside)?;
    debug_assert_eq!(taken, head.len());
    Ok(start.len() + state.push(rest, aside)?)
}

impl Scanner {
    /// Whether what came is in a container that is not read here, as far as it is known.
    pub fn is_foreign(&self) -> bool {
        matches!(&self.state, Ok(State::Foreign(_)))
    }
}
