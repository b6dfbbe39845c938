//! Progressive MP4: one `moov` in front of all samples, for players and programs that know no playlists.
//!
//! Nothing is copied: a [`MovieFile`] is a head made here and byte ranges of the objects in which the samples
//! lie, in chunks of half a second, those of several tracks in turn. Its length, and the bytes of any part of
//! it, are known before a sample is read.
//!
//! Times are those of the source, not those of its segments: no picture is pressed into a segment here, and
//! an edit list hides what is not presented. Begin with [`MovieFile::new`]; `tables.rs` says what the `moov`
//! tells of the samples, `chunks.rs` where they lie.

mod chunks;
mod head;
mod tables;

use std::ops::Range;

use chunks::Chunk;
use kinora_index::{Index, Track};
use tables::Tables;

use super::{ByteRange, WriteError};

/// A track of a file.
#[derive(Debug, Clone)]
pub struct FileTrack<'a> {
    /// What is in it; one that has a sample entry.
    pub track: &'a Track,
    /// Which samples, in decode order; of pictures the first is a sync sample.
    pub samples: Range<u32>,
    /// When 0 on the timeline of the track is in the file, in ticks of the track; not negative. 0 for the
    /// tracks of a source; more for one that was read by itself, whose 0 is its own first instant.
    pub start: i64,
}

impl<'a> FileTrack<'a> {
    /// All of a copied track that its plan lists. `None` of one that is not copied.
    pub fn copied(index: &'a Index, track: &'a Track) -> Option<Self> {
        let segments = index.segments(track);
        let samples = segments.first()?.samples.start..segments.last()?.samples.end;
        Some(Self { track, samples, start: 0 })
    }
}

/// A progressive MP4 that can be sent, in whole or in part.
///
/// Takes memory for its head, and 24 bytes for each half second of each track; the samples stay where they
/// are.
#[derive(Debug, Clone)]
pub struct MovieFile {
    /// The head in pieces, each with its position.
    head: Vec<(u64, head::Piece)>,
    head_len: u64,
    /// In the order of the file.
    chunks: Vec<Chunk>,
    total_len: u64,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePiece<'a> {
    /// Of the head.
    Head(&'a [u8]),
    /// Samples of one track, where they lie in its object; adjacent ones joined.
    Samples {
        /// The track, as they were given.
        track: usize,
        /// Where they lie.
        ranges: Vec<ByteRange>,
    },
}

impl MovieFile {
    /// The file of these tracks; the first one's clock tells how exactly the ends of tracks are said.
    ///
    /// Same tracks, same bytes. Errors: [`WriteError::SampleEntry`] for a track without one,
    /// [`WriteError::FileTiming`] where times do not fit a table, [`WriteError::FileTooLong`],
    /// [`WriteError::NoSamples`] for an empty one.
    pub fn new(tracks: &[FileTrack<'_>]) -> Result<Self, WriteError> {
        let tables = tracks.iter().map(Tables::of).collect::<Result<Vec<_>, _>>()?;
        let (mut chunks, payload_len) = chunks::interleaved(&tables);
        let mut head = Vec::new();
        let mut head_len = 0;
        for piece in head::write(tracks, tables, &chunks, payload_len)? {
            let len = piece.len() as u64;
            head.push((head_len, piece));
            head_len += len;
        }
        chunks.iter_mut().for_each(|chunk| chunk.position += head_len);
        Ok(Self { head, head_len, chunks, total_len: head_len.saturating_add(payload_len) })
    }

    /// Its length in bytes.
    pub fn total_len(&self) -> u64 {
        self.total_len
    }

    /// Bytes in front of the first sample.
    pub fn head_len(&self) -> u64 {
        self.head_len
    }

    /// About what it takes in memory, in bytes.
    pub fn weight(&self) -> u64 {
        self.head_len + (self.chunks.len() * size_of::<Chunk>()) as u64
    }

    /// The piece that begins at `from` and ends at `to` or before, and the position behind it; `None` at
    /// `to`, and past the end.
    ///
    /// Of the head, or of one chunk. `tracks` are those the file was made of.
    pub fn piece(&self, tracks: &[FileTrack<'_>], from: u64, to: u64) -> Option<(FilePiece<'_>, u64)> {
        let to = to.min(self.total_len);
        if to <= from {
            return None;
        }
        if from < self.head_len {
            let at = self.head.partition_point(|(start, _)| *start <= from).checked_sub(1)?;
            let (start, bytes) = self.head.get(at)?;
            let end = to.min(start + bytes.len() as u64);
            let part = usize::try_from(from - start).ok()?..usize::try_from(end - start).ok()?;
            return Some((FilePiece::Head(bytes.get(part)?), end));
        }
        // Of chunks at one place all but the last have no bytes.
        let at = self.chunks.partition_point(|chunk| chunk.position <= from).checked_sub(1)?;
        let chunk = self.chunks.get(at)?;
        let end = self.chunks.get(at + 1).map_or(self.total_len, |next| next.position).min(to);
        let track = usize::from(chunk.track);
        let ranges = chunk.ranges(tracks.get(track)?.track, from - chunk.position..end - chunk.position);
        Some((FilePiece::Samples { track, ranges }, end))
    }
}
