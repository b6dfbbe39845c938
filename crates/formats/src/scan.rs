//! Reads a source of any kind from its passing bytes.

use sha2::{Digest, Sha256};

use crate::{
    foreign::{ForeignFacts, Observer},
    index::{Container, Index},
    matroska::Reader,
    mp4::{ReadError, read::Playable, walk::Walk},
    sniff::{Family, HEAD_LEN, sniff},
};

/// Builds an [`Index`] from the bytes of one source, fed in order and in pieces of any size.
///
/// Tells from the first bytes what they are packed in. Of ISO base media files it keeps the `moov` and each `moof` while it is incomplete, of
/// Matroska what stands in front of the frames, and the packed sample tables after; everything else passes by. Where a `moov` lies in
/// front, tables and plan are there before the last byte. The result does not depend on how the bytes are cut.
#[derive(Debug)]
pub struct Scanner {
    len: u64,
    hash: Sha256,
    expected_len: Option<u64>,
    state: Result<State, ReadError>,
}

/// What a source turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Scanned {
    /// Its samples can be told from one another and read where they lie.
    Index(Index),
    /// Media in a container that is not read here, a damaged or packed Matroska, or an MP4 whose times or edits are not followed here: it must
    /// be brought into another container first.
    Foreign {
        /// What the bytes are packed in.
        container: Container,
        /// Length of the source in bytes.
        len: u64,
        /// SHA-256 of the source.
        sha256: [u8; 32],
        /// What our own reader does not follow of it, for where nobody else does either: a sentence. `None` without a reader.
        refusal: Option<String>,
        /// What a copy in another container cannot say.
        facts: ForeignFacts,
    },
}

#[derive(Debug)]
enum State {
    /// The first bytes, until they are enough to tell what this is.
    Head(Vec<u8>),
    Boxes(Box<Walk>),
    Matroska(Container, Box<Reader>),
    /// Passes by.
    Foreign(Box<Passing>),
}

/// A source that is not read here.
#[derive(Debug)]
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
    /// What the source is, from its first bytes, which it takes. Errors: `NotMedia`.
    fn of(head: &[u8], expected_len: Option<u64>) -> Result<Self, ReadError> {
        let kind = sniff(head);
        let mut state = match kind.family() {
            Family::NotMedia => {
                let name = kind.name();
                return Err(ReadError::NotMedia(format!("the source is {name}, not a video or audio file")));
            }
            Family::Media(container @ (Container::Mp4 | Container::Mov)) => {
                State::Boxes(Box::new(Walk::new(container, expected_len)))
            }
            Family::Media(container @ (Container::Matroska | Container::WebM)) => {
                State::Matroska(container, Box::new(Reader::new()))
            }
            Family::Media(container) => State::Foreign(Box::new(Passing {
                container,
                refusal: None,
                observer: Observer::new(container),
            })),
        };
        state.push(head)?;
        Ok(state)
    }

    /// Takes the next bytes, once the first have come.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        match self {
            State::Head(_) => {}
            State::Foreign(passing) => passing.observer.push(bytes),
            State::Boxes(walk) => match walk.push(bytes) {
                Err(ReadError::NeedsRemux(refusal)) => {
                    *self = State::Foreign(Passing::refused(walk.container(), Some(refusal)));
                }
                result => result?,
            },
            State::Matroska(container, reader) => {
                if !reader.push(bytes)? {
                    *self = State::Foreign(Passing::refused(*container, None));
                }
            }
        }
        Ok(())
    }

    /// What is packed in what, once the last byte has come.
    fn finish(self, len: u64) -> Result<(Container, Result<Playable, Box<Passing>>), ReadError> {
        match self {
            State::Head(head) => State::of(&head, Some(len))?.finish(len),
            State::Foreign(passing) => Ok((passing.container, Err(passing))),
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
                State::of(head, self.expected_len).and_then(|mut known| {
                    known.push(rest)?;
                    *state = known;
                    Ok(())
                })
            }
            state => state.push(bytes),
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
        matches!(&self.state, Ok(State::Boxes(walk)) if walk.is_planned())
    }

    /// Ends the source and makes its index: checks that the samples lie inside it.
    ///
    /// Errors: as [`ReadError`] says; `Truncated` also when the file was cut before its `moov`.
    pub fn finish(self) -> Result<Scanned, ReadError> {
        let (container, playable) = self.state?.finish(self.len)?;
        let (len, sha256) = (self.len, self.hash.finalize().into());
        let Playable { tracks, plan, is_truncated } = match playable {
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
            normalised: None,
            is_truncated,
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
