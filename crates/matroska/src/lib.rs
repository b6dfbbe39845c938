//! Matroska and WebM: what a source says, and the feed of a decoder. RFC 9559.
//!
//! Knows no playlist and no encoder; does no I/O. Begin with [`Reader`], which takes the passing bytes of a
//! source, or with [`write_feed`], which hands the frames of one track to a decoder.
//!
//! The way of a file: `walk` (elements) → `entry`, `video`, `audio`, `chosen` (which tracks are played) →
//! `block`, `packets`, `collect` (their frames, as written) → `times` (as meant) → `movie`, which from there
//! on shares the way of MP4 (`kinora-isobmff`).

mod audio;
mod block;
mod chosen;
mod collect;
mod ebml;
mod entry;
mod feed;
mod movie;
mod names;
mod packets;
mod rounding;
mod times;
mod video;
mod vorbis;
mod walk;

use kinora_isobmff::{ReadError, read::Playable};
use serde::{Deserialize, Serialize};

use self::{chosen::Unreadable, walk::Walk};

pub use feed::{FedFrame, feed_frame, feed_header, write_feed};
pub use walk::{LACED_BLOCK_LEN_MAX, TRACKS_LEN_MAX};

/// Reads a Matroska file from its passing bytes, of which it keeps the packed times and places of the frames.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reader {
    walk: Walk,
}

impl Default for Reader {
    /// A reader that has seen no byte.
    fn default() -> Self {
        Reader { walk: Walk::new() }
    }
}

impl Reader {
    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub fn is_sound(&self, len: u64) -> bool {
        self.walk.is_sound(len)
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        self.walk.memory_len()
    }

    /// Takes the next bytes; whether they can be read here. Once they cannot, nothing more is to be pushed.
    ///
    /// Errors: final.
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, ReadError> {
        readable(self.walk.push(bytes)).map(|read| read.is_some())
    }

    /// What can be played, once all `len` bytes have come; `None` where another reader can do better. Errors:
    /// final.
    pub fn finish(self, len: u64) -> Result<Option<Playable>, ReadError> {
        readable(movie::playable(self.walk.finish(), len))
    }
}

fn readable<T>(result: Result<T, Unreadable>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(read) => Ok(Some(read)),
        Err(Unreadable::Foreign) => Ok(None),
        Err(Unreadable::Final(error)) => Err(error),
    }
}

/// The `DocType` of an EBML file, from its first bytes.
pub fn doc_type(head: &[u8]) -> Option<&str> {
    let header = ebml::elements(head).next().filter(|element| element.id == ebml::id::EBML)?;
    header.child(ebml::id::DOC_TYPE)?.as_text()
}
