//! Progressive MP4: one `moov` before all samples, for players and programs without playlist support.
//!
//! No sample is copied: a [`MovieFile`] is a generated head and byte ranges of the objects that contain the
//! samples. Chunks last half a second, and those of several tracks are interleaved. Its length, and the
//! bytes of any part of it, are computed without reading a sample.
//!
//! Times are those of the source, not those of its segments: no sample moves to fit a segment, and an edit
//! list hides the samples that are not presented. Begin with [`MovieFile::new`]; `tables.rs` builds the
//! sample tables of the `moov`, `chunks.rs` the order of the samples.

mod chunks;
mod head;
mod tables;

use std::ops::Range;

use chunks::Chunk;
use kinora_index::{Index, Track};
use tables::TrackTables;

use super::{ByteRange, WriteError};

/// A track of a file.
#[derive(Debug, Clone)]
pub struct FileTrack<'a> {
    /// Its content; the track must have a sample entry.
    pub track: &'a Track,
    /// The samples, in decode order; for video the first is a sync sample.
    pub samples: Range<u32>,
    /// Position in the file of time 0 of the track, in ticks of the track; not negative. 0 for the tracks of
    /// a source; more for a track that was read separately, whose time 0 is its own first instant.
    pub start: i64,
}

impl<'a> FileTrack<'a> {
    /// All samples of a copied track in its plan. `None` if the track is not copied.
    pub fn copied(index: &'a Index, track: &'a Track) -> Option<Self> {
        let segments = index.segments(track);
        let samples = segments.first()?.samples.start..segments.last()?.samples.end;
        Some(Self { track, samples, start: 0 })
    }
}

/// A progressive MP4, readable in whole or in part.
///
/// Uses memory for its head, and 24 bytes for each half second of each track; the samples stay in their
/// objects.
#[derive(Debug, Clone)]
pub struct MovieFile {
    /// The head in pieces, each with its position.
    head: Vec<(u64, head::HeadPart)>,
    head_len: u64,
    /// In file order.
    chunks: Vec<Chunk>,
    total_len: u64,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePiece<'a> {
    /// A part of the head.
    Head(&'a [u8]),
    /// Samples of one track, as ranges of its object; adjacent ranges are joined.
    Samples {
        /// Index of the track in the tracks given.
        track: usize,
        /// The byte ranges.
        ranges: Vec<ByteRange>,
    },
}

impl MovieFile {
    /// Builds the file of these tracks; the clock of the first one sets the precision for the ends of
    /// tracks.
    ///
    /// Same tracks, same bytes. Errors: [`WriteError::SampleEntry`] for a track without one,
    /// [`WriteError::FileTiming`] if times do not fit a table, [`WriteError::FileTooLong`],
    /// [`WriteError::NoSamples`] for an empty track.
    pub fn new(tracks: &[FileTrack<'_>]) -> Result<Self, WriteError> {
        let tables = tracks.iter().map(TrackTables::of).collect::<Result<Vec<_>, _>>()?;
        let (mut chunks, payload_len) = chunks::interleaved(&tables);
        let mut head = Vec::new();
        let mut head_len = 0;
        for part in head::write(tracks, tables, &chunks, payload_len)? {
            let len = part.len() as u64;
            head.push((head_len, part));
            head_len += len;
        }
        chunks.iter_mut().for_each(|chunk| chunk.position += head_len);
        Ok(Self { head, head_len, chunks, total_len: head_len.saturating_add(payload_len) })
    }

    /// Its length in bytes.
    pub fn total_len(&self) -> u64 {
        self.total_len
    }

    /// Bytes before the first sample.
    pub fn head_len(&self) -> u64 {
        self.head_len
    }

    /// Approximate memory use, in bytes.
    pub fn weight(&self) -> u64 {
        self.head_len + (self.chunks.len() * size_of::<Chunk>()) as u64
    }

    /// The piece that begins at `from` and ends at `to` or before, and the position after it; `None` at
    /// `to`, and past the end.
    ///
    /// It is part of the head, or of one chunk. `tracks` are those that the file was built from.
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
        // Of several chunks at one position, all but the last are empty.
        let at = self.chunks.partition_point(|chunk| chunk.position <= from).checked_sub(1)?;
        let chunk = self.chunks.get(at)?;
        let end = self.chunks.get(at + 1).map_or(self.total_len, |next| next.position).min(to);
        let track = usize::from(chunk.track);
        let ranges = chunk.ranges(tracks.get(track)?.track, from - chunk.position..end - chunk.position);
        Some((FilePiece::Samples { track, ranges }, end))
    }
}
