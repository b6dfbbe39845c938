//! Reads an MP4 or QuickTime file from its passing bytes.

mod walk;

use sha2::{Digest, Sha256};

use self::walk::Walk;
pub use self::walk::{MOOF_LEN_MAX, MOOV_LEN_MAX};
use super::{error::ReadError, read::Playable};
use crate::{index::Index, sniff::HEAD_LEN};

/// Builds an [`Index`] from the bytes of one source, fed in order and in pieces of any size.
///
/// Keeps the `moov` and each `moof` while it is incomplete, and the packed sample tables after; everything else passes by. Where the
/// `moov` lies in front, tables and plan are there before the last byte; the samples of fragments are, too. The result does not depend
/// on how the bytes are cut.
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
        matches!(&self.state, Ok(State::Boxes(walk)) if walk.is_planned())
    }

    /// Ends the source and makes its index: checks that the samples lie inside it.
    ///
    /// Errors: as [`ReadError`] says; `Truncated` also when the file was cut before its `moov`.
    pub fn finish(self) -> Result<Index, ReadError> {
        let walk = match self.state? {
            State::Head(head) => Walk::begin(&head, Some(self.len))?,
            State::Boxes(walk) => walk,
        };
        let container = walk.container();
        let Playable { tracks, plan, is_truncated } = walk.finish()?.within(self.len)?;
        Ok(Index {
            source_len: self.len,
            source_sha256: self.hash.finalize().into(),
            container,
            normalised: None,
            is_truncated,
            tracks,
            plan,
        })
    }
}
