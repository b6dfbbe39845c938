//! The head of a progressive file: `ftyp`, `moov`, and the header of the `mdat`.
//!
//! Tables of long media have many MB, so the head is a list of pieces in which each table is the one that was
//! collected.

use std::sync::Arc;

use kinora_index::TrackMedia;

use super::FileTrack;
use super::chunks::Chunk;
use super::tables::Tables;
use crate::write::bytes::{BoxType, Boxes};
use crate::write::init::{self, IDENTITY, InitKind, ONE};
use crate::write::{WriteError, sample_entry};

/// A piece of a head.
pub(super) type Piece = Arc<Vec<u8>>;

/// Smallest movie timescale: so fine is the end of an edit told.
const MOVIE_TIMESCALE_MIN: u32 = 90_000;
/// Pieces below that are joined.
const PIECE_LEN_MIN: usize = 16 << 10;

/// The head of a file of these tracks, whose chunks come in this order and have so many bytes.
pub(super) fn write(
    tracks: &[FileTrack<'_>],
    tables: Vec<Tables>,
    order: &[Chunk],
    payload_len: u64,
) -> Result<Vec<Piece>, WriteError> {
    let movie = Movie::of(tracks, &tables);
    let mut parts = Vec::with_capacity(tracks.len());
    for ((number, file), tables) in (1_u32..).zip(tracks).zip(tables) {
        parts.push(Part::of(number, file, tables, &movie)?);
    }
    let len_of = |is_wide| {
        let moov = movie.write(&parts, &offsets(tracks.len(), order, 0, is_wide));
        len(&moov) + len(&file_type(tracks)) + len(&media_data(payload_len))
    };
    let is_wide = u32::try_from(len_of(false).saturating_add(payload_len)).is_err();
    let offsets = offsets(tracks.len(), order, len_of(is_wide), is_wide);
    let head = [file_type(tracks), movie.write(&parts, &offsets), media_data(payload_len)].concat();
    Ok(joined(head))
}

fn len(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

/// Short pieces joined with their neighbours.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let (mut all, mut short) = (Vec::new(), Vec::new());
    for piece in pieces {
        if piece.len() < PIECE_LEN_MIN {
            short.extend_from_slice(&piece);
        } else {
            if !short.is_empty() {
                all.push(Arc::new(std::mem::take(&mut short)));
            }
            all.push(piece);
        }
    }
    if !short.is_empty() {
        all.push(Arc::new(short));
    }
    all
}

fn written(write: impl FnOnce(&mut Boxes)) -> Piece {
    let mut boxes = Boxes::with_capacity(0);
    write(&mut boxes);
    Arc::new(boxes.finish())
}

/// A box around pieces.
fn boxed(kind: BoxType, parts: Vec<Vec<Piece>>) -> Vec<Piece> {
    let size = 8 + parts.iter().map(|part| len(part)).sum::<u64>();
    let header = written(|boxes| {
        boxes.u32(
            u32::try_from(size).expect("the number of samples is limited so that tables are below 4 GiB"),
        );
        boxes.raw(&kind);
    });
    std::iter::once(vec![header]).chain(parts).flatten().collect()
}

/// A full box that is a table: what stands in front of its entries, then these.
fn table(kind: BoxType, front: &[u32], entries: &Piece) -> Vec<Piece> {
    let front = written(|boxes| {
        boxes.u32(0); // version and flags
        front.iter().for_each(|word| boxes.u32(*word));
    });
    boxed(kind, vec![vec![front], vec![Arc::clone(entries)]])
}

/// A table whose entries have so many bytes each.
fn counted(kind: BoxType, entries: &Piece, entry_len: usize) -> Vec<Piece> {
    table(kind, &[u32::try_from(entries.len() / entry_len).unwrap_or(u32::MAX)], entries)
}

fn file_type(tracks: &[FileTrack<'_>]) -> Vec<Piece> {
    let is_sound = tracks.iter().all(|file| matches!(file.track.media, TrackMedia::Audio(_)));
    // Programs of Apple tell songs by the brand.
    let brands: &[&[u8; 4]] =
        if is_sound { &[b"M4A ", b"isom", b"iso2", b"mp42"] } else { &[b"isom", b"iso2", b"mp41", b"mp42"] };
    vec![written(|boxes| {
        boxes.boxed(b"ftyp", |boxes| {
            boxes.raw(brands[0]);
            boxes.u32(0x200);
            brands.iter().for_each(|brand| boxes.raw(*brand));
        });
    })]
}

fn media_data(payload_len: u64) -> Vec<Piece> {
    vec![written(|boxes| crate::write::head::media_data_header(boxes, payload_len))]
}

/// Where the chunks of each track begin, when the first of all lies at `base`: 32 bits each, or 64.
fn offsets(tracks: usize, order: &[Chunk], base: u64, is_wide: bool) -> Vec<(BoxType, Piece)> {
    let mut offsets = vec![Vec::new(); tracks];
    for chunk in order {
        let position = chunk.position.saturating_add(base);
        let Some(of_track) = offsets.get_mut(usize::from(chunk.track)) else { continue };
        if is_wide {
            of_track.extend_from_slice(&position.to_be_bytes());
        } else {
            // Where it does not fit, the wide form is written.
            of_track.extend_from_slice(&u32::try_from(position).unwrap_or(u32::MAX).to_be_bytes());
        }
    }
    let kind = if is_wide { *b"co64" } else { *b"stco" };
    offsets.into_iter().map(|offsets| (kind, Arc::new(offsets))).collect()
}

/// What is told of all tracks together.
struct Movie {
    timescale: u32,
    /// In ticks of that.
    duration: u64,
    tracks: u32,
}

impl Movie {
    fn of(tracks: &[FileTrack<'_>], tables: &[Tables]) -> Self {
        let first = tracks.first().map_or(1, |file| file.track.timescale.max(1));
        // A multiple of the first track's, so that the end of the pictures is told to the tick.
        let timescale = first.saturating_mul(MOVIE_TIMESCALE_MIN.div_ceil(first));
        let mut movie =
            Self { timescale, duration: 0, tracks: u32::try_from(tracks.len()).unwrap_or(u32::MAX) };
        for (file, tables) in tracks.iter().zip(tables) {
            movie.duration = movie.duration.max(movie.end(file, tables));
        }
        movie
    }

    /// Ticks of a track in those of the movie, rounded up: nothing is cut off that is shown.
    fn ticks(&self, ticks: u64, file: &FileTrack<'_>) -> u64 {
        let scaled = u128::from(ticks) * u128::from(self.timescale);
        u64::try_from(scaled.div_ceil(u128::from(file.track.timescale.max(1)))).unwrap_or(u64::MAX)
    }

    fn end(&self, file: &FileTrack<'_>, tables: &Tables) -> u64 {
        self.ticks(tables.begins, file).saturating_add(self.ticks(tables.lasts, file))
    }

    fn write(&self, parts: &[Part], offsets: &[(BoxType, Piece)]) -> Vec<Piece> {
        let mut inside = vec![vec![self.header()]];
        inside.extend(parts.iter().zip(offsets).map(|(part, offsets)| part.write(offsets)));
        boxed(*b"moov", inside)
    }

    fn header(&self) -> Piece {
        written(|boxes| {
            boxes.full_box(b"mvhd", version(self.duration), 0, |boxes| {
                times(boxes, self.duration, |boxes| boxes.u32(self.timescale));
                boxes.i32(ONE); // rate
                boxes.u16(0x0100); // volume
                boxes.zeros(10);
                init::matrix(boxes, &IDENTITY);
                boxes.zeros(24);
                boxes.u32(self.tracks.saturating_add(1));
            });
        })
    }
}

/// The version of a box with this duration: 1 where it does not fit 32 bits.
fn version(duration: u64) -> u8 {
    u8::from(u32::try_from(duration).is_err())
}

/// Creation and modification, which are unknown so that bytes stay the same; what stands between; and the
/// duration.
fn times(boxes: &mut Boxes, duration: u64, between: impl FnOnce(&mut Boxes)) {
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

/// One track, without the places of its chunks.
struct Part {
    /// `tkhd` and `edts`.
    front: Piece,
    /// `mdhd` and `hdlr`.
    media: Piece,
    /// `vmhd` or `smhd`, and `dinf`.
    information: Piece,
    /// `stsd`.
    description: Piece,
    times: Piece,
    offsets: Piece,
    syncs: Option<Piece>,
    sizes: Piece,
    count: u32,
    /// `stsc`: runs of chunks with equally many samples.
    chunks: Piece,
}

impl Part {
    fn of(number: u32, file: &FileTrack<'_>, tables: Tables, movie: &Movie) -> Result<Self, WriteError> {
        let (kind, entry) = (InitKind::of(&file.track.media), sample_entry(&file.track.media)?);
        let front = written(|boxes| {
            let duration = movie.end(file, &tables);
            boxes.full_box(b"tkhd", version(duration), init::TRACK_ENABLED_IN_MOVIE, |boxes| {
                times(boxes, duration, |boxes| {
                    boxes.u32(number);
                    boxes.zeros(4);
                });
                init::track_header_rest(boxes, &kind);
            });
            boxes.boxed(b"edts", |boxes| edit_list(boxes, file, &tables, movie));
        });
        let media = written(|boxes| {
            boxes.full_box(b"mdhd", version(tables.ticks), 0, |boxes| {
                times(boxes, tables.ticks, |boxes| boxes.u32(file.track.timescale));
                boxes.u16(init::packed_language(&file.track.language));
                boxes.u16(0);
            });
            init::handler(boxes, &kind);
        });
        let information = written(|boxes| init::media_information(boxes, &kind));
        let description = written(|boxes| {
            boxes.full_box(b"stsd", 0, 0, |boxes| {
                boxes.u32(1);
                boxes.raw(entry);
            });
        });
        Ok(Self {
            front,
            media,
            information,
            description,
            chunks: Arc::new(sample_counts(&tables)),
            times: Arc::new(tables.times),
            offsets: Arc::new(tables.offsets),
            syncs: tables.syncs.map(Arc::new),
            sizes: Arc::new(tables.sizes),
            count: tables.count,
        })
    }

    fn write(&self, (kind, chunk_offsets): &(BoxType, Piece)) -> Vec<Piece> {
        let mut tables = vec![vec![Arc::clone(&self.description)], counted(*b"stts", &self.times, 8)];
        if !self.offsets.is_empty() {
            tables.push(counted(*b"ctts", &self.offsets, 8));
        }
        tables.extend(self.syncs.as_ref().map(|syncs| counted(*b"stss", syncs, 4)));
        tables.push(counted(*b"stsc", &self.chunks, 12));
        tables.push(table(*b"stsz", &[0, self.count], &self.sizes));
        tables.push(counted(*kind, chunk_offsets, if kind == b"co64" { 8 } else { 4 }));
        let information = boxed(*b"minf", vec![vec![Arc::clone(&self.information)], boxed(*b"stbl", tables)]);
        let media = boxed(*b"mdia", vec![vec![Arc::clone(&self.media)], information]);
        boxed(*b"trak", vec![vec![Arc::clone(&self.front)], media])
    }
}

/// `stsc`: from which chunk on chunks have how many samples. ISO/IEC 14496-12, 8.7.4.
fn sample_counts(tables: &Tables) -> Vec<u8> {
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

/// Nothing until the track begins, then its media from where it is presented on, for as long as it is.
fn edit_list(boxes: &mut Boxes, file: &FileTrack<'_>, tables: &Tables, movie: &Movie) {
    let begins = movie.ticks(tables.begins, file);
    let wait = (begins > 0).then_some((begins, None));
    let edits = [wait, Some((movie.ticks(tables.lasts, file), Some(tables.media_time)))];
    boxes.full_box(b"elst", 1, 0, |boxes| {
        boxes.u32(1 + u32::from(begins > 0));
        for (duration, media_time) in edits.into_iter().flatten() {
            boxes.u64(duration);
            // -1 is an edit without media.
            boxes.i64(media_time.map_or(-1, |time| i64::try_from(time).unwrap_or(i64::MAX)));
            boxes.i32(ONE); // rate
        }
    });
}
