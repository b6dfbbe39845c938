//! Matroska and WebM: reads sources, and writes the feed of a decoder. RFC 9559.
//!
//! Contains no playlist and no encoder; does no I/O. Begin with [`Reader`], which reads the bytes of a source
//! in order, or with [`write_feed`], which passes the frames of one track to a decoder.
//!
//! The pipeline of a file: `walk` (elements) → `track_entry`, `video`, `audio`, `selected_tracks` (which
//! tracks are played) → `block`, `packet_duration`, `collect` (their frames with written times) → `times`
//! (corrected times) → `movie`, which then shares the pipeline of MP4 (`kinora-isobmff`).

mod audio;
mod block;
mod codec_names;
mod collect;
mod ebml;
mod feed;
mod movie;
mod packet_duration;
mod rounding;
mod selected_tracks;
mod times;
mod track_entry;
mod video;
mod vorbis;
mod walk;

use kinora_isobmff::{ReadError, read::Playable};
use serde::{Deserialize, Serialize};

use self::{selected_tracks::Unreadable, walk::ElementWalker};

pub use feed::{FeedFrame, feed_header, write_feed, write_feed_frame};
pub use walk::{LACED_BLOCK_LEN_MAX, TRACKS_LEN_MAX};

/// Reads a Matroska file from its bytes in order, and stores only the packed times and positions of the
/// frames.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reader {
    walk: ElementWalker,
}

impl Default for Reader {
    /// A reader at the first byte.
    fn default() -> Self {
        Reader { walk: ElementWalker::new() }
    }
}

impl Reader {
    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub fn is_valid(&self, len: u64) -> bool {
        self.walk.is_valid(len)
    }

    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        self.walk.memory_len()
    }

    /// Takes the next bytes. Returns whether this reader supports them; if not, the caller must push no more
    /// bytes.
    ///
    /// Errors: final.
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, ReadError> {
        none_if_needs_remux(self.walk.push(bytes)).map(|read| read.is_some())
    }

    /// The playable tracks, after all `len` bytes; `None` if another reader can read the file. Errors:
    /// final.
    pub fn finish(self, len: u64) -> Result<Option<Playable>, ReadError> {
        none_if_needs_remux(movie::playable(self.walk.finish(), len))
    }
}

fn none_if_needs_remux<T>(result: Result<T, Unreadable>) -> Result<Option<T>, ReadError> {
    match result {
        Ok(read) => Ok(Some(read)),
        Err(Unreadable::NeedsRemux) => Ok(None),
        Err(Unreadable::Final(error)) => Err(error),
    }
}

/// The `DocType` of an EBML file, from its first bytes.
pub fn doc_type(head: &[u8]) -> Option<&str> {
    let header = ebml::elements(head).next().filter(|element| element.id == ebml::id::EBML)?;
    header.child(ebml::id::DOC_TYPE)?.as_text()
}
