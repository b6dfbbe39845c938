//! The head of a progressive file: `ftyp`, `moov`, and the header of the `mdat`.
//!
//! Tables of long media have many MB. So the head is a list of pieces that share the collected tables.

use std::sync::Arc;

use kinora_index::TrackMedia;

use super::FileTrack;
use super::chunks::Chunk;
use super::tables::TrackTables;
use crate::write::box_writer::{BoxType, BoxWriter};
use crate::write::init::{self, FIXED_POINT_ONE, IDENTITY_MATRIX, InitKind};
use crate::write::{WriteError, sample_entry};

/// A piece of a head.
pub(super) type HeadPart = Arc<Vec<u8>>;

/// Minimum movie timescale: the precision of the end of an edit.
const MOVIE_TIMESCALE_MIN: u32 = 90_000;
/// Shorter pieces are joined.
const PIECE_LEN_MIN: usize = 16 << 10;

/// The head of a file of these tracks. `chunks` are in file order; `payload_len` is their total length in
/// bytes.
pub(super) fn write(
    tracks: &[FileTrack<'_>],
    tables: Vec<TrackTables>,
    chunks: &[Chunk],
    payload_len: u64,
) -> Result<Vec<HeadPart>, WriteError> {
    let movie = MovieBox::of(tracks, &tables);
    let mut parts = Vec::with_capacity(tracks.len());
    for ((number, file), tables) in (1_u32..).zip(tracks).zip(tables) {
        parts.push(TrackBox::of(number, file, tables, &movie)?);
    }
    let len_of = |is_wide| {
        let moov = movie.write(&parts, &chunk_offsets(tracks.len(), chunks, 0, is_wide));
        len(&moov) + len(&file_type(tracks)) + len(&media_data(payload_len))
    };
    let is_wide = u32::try_from(len_of(false).saturating_add(payload_len)).is_err();
    let chunk_offsets = chunk_offsets(tracks.len(), chunks, len_of(is_wide), is_wide);
    let head = [file_type(tracks), movie.write(&parts, &chunk_offsets), media_data(payload_len)].concat();
    Ok(join_short_parts(head))
}

fn len(parts: &[HeadPart]) -> u64 {
    parts.iter().map(|part| part.len() as u64).sum()
}

/// Joins short pieces with their neighbours.
fn join_short_parts(parts: Vec<HeadPart>) -> Vec<HeadPart> {
    let (mut all, mut short) = (Vec::new(), Vec::new());
    for part in parts {
        if part.len() < PIECE_LEN_MIN {
            short.extend_from_slice(&part);
        } else {
            if !short.is_empty() {
                all.push(Arc::new(std::mem::take(&mut short)));
            }
            all.push(part);
        }
    }
    if !short.is_empty() {
        all.push(Arc::new(short));
    }
    all
}

fn head_part(write: impl FnOnce(&mut BoxWriter)) -> HeadPart {
    let mut boxes = BoxWriter::with_capacity(0);
    write(&mut boxes);
    Arc::new(boxes.finish())
}

/// A box around pieces.
fn box_around(kind: BoxType, parts: Vec<Vec<HeadPart>>) -> Vec<HeadPart> {
    let size = 8 + parts.iter().map(|part| len(part)).sum::<u64>();
    let header = head_part(|boxes| {
        boxes.u32(
            u32::try_from(size).expect("the number of samples is limited so that tables are below 4 GiB"),
        );
        boxes.raw(&kind);
    });
    std::iter::once(vec![header]).chain(parts).flatten().collect()
}

/// A full box that is a table: the fields before its entries, then the entries.
fn table(kind: BoxType, front: &[u32], entries: &HeadPart) -> Vec<HeadPart> {
    let front = head_part(|boxes| {
        boxes.u32(0); // version and flags
        front.iter().for_each(|word| boxes.u32(*word));
    });
    box_around(kind, vec![vec![front], vec![Arc::clone(entries)]])
}

/// A table with entries of `entry_len` bytes.
fn counted_table(kind: BoxType, entries: &HeadPart, entry_len: usize) -> Vec<HeadPart> {
    table(kind, &[u32::try_from(entries.len() / entry_len).unwrap_or(u32::MAX)], entries)
}

fn file_type(tracks: &[FileTrack<'_>]) -> Vec<HeadPart> {
    let is_audio_only = tracks.iter().all(|file| matches!(file.track.media, TrackMedia::Audio(_)));
    // Apple's programs recognise audio files by the brand.
    let brands: &[&[u8; 4]] = if is_audio_only {
        &[b"M4A ", b"isom", b"iso2", b"mp42"]
    } else {
        &[b"isom", b"iso2", b"mp41", b"mp42"]
    };
    vec![head_part(|boxes| {
        boxes.write_box(b"ftyp", |boxes| {
            boxes.raw(brands[0]);
            boxes.u32(0x200);
            brands.iter().for_each(|brand| boxes.raw(*brand));
        });
    })]
}

fn media_data(payload_len: u64) -> Vec<HeadPart> {
    vec![head_part(|boxes| crate::write::segment_head::media_data_header(boxes, payload_len))]
}

/// Start offsets of the chunks of each track if the first of all is at `base`: 32 bits each, or 64.
fn chunk_offsets(tracks: usize, chunks: &[Chunk], base: u64, is_wide: bool) -> Vec<(BoxType, HeadPart)> {
    let mut offsets = vec![Vec::new(); tracks];
    for chunk in chunks {
        let position = chunk.position.saturating_add(base);
        let Some(of_track) = offsets.get_mut(usize::from(chunk.track)) else { continue };
        if is_wide {
            of_track.extend_from_slice(&position.to_be_bytes());
        } else {
            // If it does not fit, the 64-bit form is written.
            of_track.extend_from_slice(&u32::try_from(position).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
    let kind = if is_wide { *b"co64" } else { *b"stco" };
    offsets.into_iter().map(|offsets| (kind, Arc::new(offsets))).collect()
}

/// The fields for all tracks together.
struct MovieBox {
    timescale: u32,
    /// In ticks of `timescale`.
    duration: u64,
    track_count: u32,
}

impl MovieBox {
    fn of(tracks: &[FileTrack<'_>], tables: &[TrackTables]) -> Self {
        let first = tracks.first().map_or(1, |file| file.track.timescale.max(1));
        // A multiple of the first track's timescale, so that the end of its video is exact.
        let timescale = first.saturating_mul(MOVIE_TIMESCALE_MIN.div_ceil(first));
        let mut movie =
            Self { timescale, duration: 0, track_count: u32::try_from(tracks.len()).unwrap_or(u32::MAX) };
        for (file, tables) in tracks.iter().zip(tables) {
            movie.duration = movie.duration.max(movie.end(file, tables));
        }
        movie
    }

    /// Converts ticks of a track to those of the movie, rounded up: no presented media is cut off.
    fn movie_ticks(&self, ticks: u64, file: &FileTrack<'_>) -> u64 {
        let scaled = u128::from(ticks) * u128::from(self.timescale);
        u64::try_from(scaled.div_ceil(u128::from(file.track.timescale.max(1)))).unwrap_or(u64::MAX)
    }

    fn end(&self, file: &FileTrack<'_>, tables: &TrackTables) -> u64 {
        self.movie_ticks(tables.start, file).saturating_add(self.movie_ticks(tables.duration, file))
    }

    fn write(&self, parts: &[TrackBox], chunk_offsets: &[(BoxType, HeadPart)]) -> Vec<HeadPart> {
        let mut inside = vec![vec![self.header()]];
        inside.extend(parts.iter().zip(chunk_offsets).map(|(part, offsets)| part.write(offsets)));
        box_around(*b"moov", inside)
    }

    fn header(&self) -> HeadPart {
        head_part(|boxes| {
            boxes.write_full_box(b"mvhd", version(self.duration), 0, |boxes| {
                write_times(boxes, self.duration, |boxes| boxes.u32(self.timescale));
                boxes.i32(FIXED_POINT_ONE); // rate
                boxes.u16(0x0100); // volume
                boxes.zeros(10);
                init::write_matrix(boxes, &IDENTITY_MATRIX);
                boxes.zeros(24);
                boxes.u32(self.track_count.saturating_add(1));
            });
        })
    }
}

/// The version of a box with this duration: 1 if it does not fit 32 bits.
fn version(duration: u64) -> u8 {
    u8::from(u32::try_from(duration).is_err())
}

/// Creation and modification times, the fields between, and the duration. Both times are 0 so that the bytes
/// stay the same.
fn write_times(boxes: &mut BoxWriter, duration: u64, between: impl FnOnce(&mut BoxWriter)) {
    match u32::try_from(duration) {
        Ok(duration) => {
            boxes.zeros(8);
            between(boxes);
            boxes.u32(duration);
        }
        Err(_) => {
            boxes.zeros(16);
            between(boxes);
            boxes.u64(duration);
        }
    }
}

/// One track, without the offsets of its chunks.
struct TrackBox {
    /// `tkhd` and `edts`.
    front: HeadPart,
    /// `mdhd` and `hdlr`.
    media: HeadPart,
    /// `vmhd` or `smhd`, and `dinf`.
    information: HeadPart,
    /// `stsd`.
    description: HeadPart,
    durations: HeadPart,
    composition_offsets: HeadPart,
    syncs: Option<HeadPart>,
    sizes: HeadPart,
    count: u32,
    /// `stsc`: runs of chunks with the same number of samples.
    samples_per_chunk: HeadPart,
}

impl TrackBox {
    fn of(
        number: u32,
        file: &FileTrack<'_>,
        tables: TrackTables,
        movie: &MovieBox,
    ) -> Result<Self, WriteError> {
        let (kind, entry) = (InitKind::of(&file.track.media), sample_entry(&file.track.media)?);
        let front = head_part(|boxes| {
            let duration = movie.end(file, &tables);
            boxes.write_full_box(b"tkhd", version(duration), init::TRACK_ENABLED_IN_MOVIE, |boxes| {
                write_times(boxes, duration, |boxes| {
                    boxes.u32(number);
                    boxes.zeros(4);
                });
                init::track_header_rest(boxes, &kind);
            });
            boxes.write_box(b"edts", |boxes| edit_list(boxes, file, &tables, movie));
        });
        let media = head_part(|boxes| {
            boxes.write_full_box(b"mdhd", version(tables.media_duration), 0, |boxes| {
                write_times(boxes, tables.media_duration, |boxes| boxes.u32(file.track.timescale));
                boxes.u16(init::packed_language(&file.track.language));
                boxes.u16(0);
            });
            init::handler(boxes, &kind);
        });
        let information = head_part(|boxes| init::media_information(boxes, &kind));
        let description = head_part(|boxes| {
            boxes.write_full_box(b"stsd", 0, 0, |boxes| {
                boxes.u32(1);
                boxes.raw(entry);
            });
        });
        Ok(Self {
            front,
            media,
            information,
            description,
            samples_per_chunk: Arc::new(sample_counts(&tables)),
            durations: Arc::new(tables.durations),
            composition_offsets: Arc::new(tables.composition_offsets),
            syncs: tables.syncs.map(Arc::new),
            sizes: Arc::new(tables.sizes),
            count: tables.count,
        })
    }

    fn write(&self, (kind, chunk_offsets): &(BoxType, HeadPart)) -> Vec<HeadPart> {
        let mut tables =
            vec![vec![Arc::clone(&self.description)], counted_table(*b"stts", &self.durations, 8)];
        if !self.composition_offsets.is_empty() {
            tables.push(counted_table(*b"ctts", &self.composition_offsets, 8));
        }
        tables.extend(self.syncs.as_ref().map(|syncs| counted_table(*b"stss", syncs, 4)));
        tables.push(counted_table(*b"stsc", &self.samples_per_chunk, 12));
        tables.push(table(*b"stsz", &[0, self.count], &self.sizes));
        tables.push(counted_table(*kind, chunk_offsets, if kind == b"co64" { 8 } else { 4 }));
        let information =
            box_around(*b"minf", vec![vec![Arc::clone(&self.information)], box_around(*b"stbl", tables)]);
        let media = box_around(*b"mdia", vec![vec![Arc::clone(&self.media)], information]);
        box_around(*b"trak", vec![vec![Arc::clone(&self.front)], media])
    }
}

/// `stsc`: first chunk and samples per chunk of each run. ISO/IEC 14496-12, 8.7.4.
fn sample_counts(tables: &TrackTables) -> Vec<u8> {
    let (mut bytes, mut last) = (Vec::new(), None);
    for (number, chunk) in (1_u32..).zip(&tables.chunks) {
        if last.replace(chunk.count) != Some(chunk.count) {
            for word in [number, chunk.count, 1] {
                bytes.extend_from_slice(&word.to_be_bytes());
            }
        }
    }
    bytes
}

/// An empty edit until the track begins, then its presented media.
fn edit_list(boxes: &mut BoxWriter, file: &FileTrack<'_>, tables: &TrackTables, movie: &MovieBox) {
    let begins = movie.movie_ticks(tables.start, file);
    let empty_edit = (begins > 0).then_some((begins, None));
    let edits = [empty_edit, Some((movie.movie_ticks(tables.duration, file), Some(tables.media_time)))];
    boxes.write_full_box(b"elst", 1, 0, |boxes| {
        boxes.u32(1 + u32::from(begins > 0));
        for (duration, media_time) in edits.into_iter().flatten() {
            boxes.u64(duration);
            // -1 is an edit without media.
            boxes.i64(media_time.map_or(-1, |time| i64::try_from(time).unwrap_or(i64::MAX)));
            boxes.i32(FIXED_POINT_ONE); // rate
        }
    });
}
