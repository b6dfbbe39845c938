//! Init segments: `ftyp` and a `moov` without samples.

use kinora_index::{Index, Timeline, Track, TrackMedia};

use super::box_writer::BoxWriter;
use super::{TRACK_ID, WriteError};

/// 1.0 in 16.16 fixed point.
pub(super) const FIXED_POINT_ONE: i32 = 0x0001_0000;
/// The identity matrix, which changes nothing. ISO/IEC 14496-12, 8.2.2.
pub const IDENTITY_MATRIX: [i32; 9] = [FIXED_POINT_ONE, 0, 0, 0, FIXED_POINT_ONE, 0, 0, 0, 0x4000_0000];
/// Track is enabled and part of the presentation. ISO/IEC 14496-12, 8.3.2.
pub(super) const TRACK_ENABLED_IN_MOVIE: u32 = 0x3;
/// The media is in this file. ISO/IEC 14496-12, 8.7.2.
const SELF_CONTAINED: u32 = 0x1;
/// `und` as three letters of five bits. ISO/IEC 14496-12, 8.4.2.
const LANGUAGE_UNKNOWN: u16 = 0x55c4;

/// The properties of the one track of an init segment.
#[derive(Debug, Clone, Copy)]
pub struct InitTrack<'a> {
    /// Ticks per second.
    pub timescale: u32,
    /// Start of the presentation in the media, in ticks; `None` without an edit list.
    pub media_time: Option<i64>,
    /// A tag or a code of three letters.
    pub language: &'a str,
    /// The kind of the track.
    pub kind: InitKind<'a>,
    /// One whole sample entry box.
    pub sample_entry: &'a [u8],
}

/// The kind of the track of an init segment.
#[derive(Debug, Clone, Copy)]
pub enum InitKind<'a> {
    /// Video.
    Video {
        /// Display matrix, which rotates it. 16.16 and 2.30 fixed point.
        matrix: &'a [i32; 9],
        /// Width and height in square pixels, before rotation.
        size: (u32, u32),
    },
    /// Audio.
    Audio,
}

/// The init segment for a configuration of a track: the decoder configuration for all segments that use it.
///
/// Same index, same bytes. Errors: [`WriteError::SampleEntry`].
pub fn init_segment(index: &Index, track: &Track, configuration: u8) -> Result<Vec<u8>, WriteError> {
    let timeline = Timeline::of_configuration(index, track, configuration);
    let media = track.configuration(configuration);
    Ok(write_init(&InitTrack {
        timescale: timeline.timescale,
        media_time: Some(timeline.media_time),
        language: &track.language,
        kind: InitKind::of(media),
        sample_entry: sample_entry(media)?,
    }))
}

impl<'a> InitKind<'a> {
    /// The kind of a track of the source.
    pub fn of(media: &'a TrackMedia) -> Self {
        match media {
            TrackMedia::Video(video) => {
                // The size before the matrix rotates it.
                let size = match (video.display_size(), video.rotation % 180) {
                    ((width, height), 90) => (height, width),
                    (size, _) => size,
                };
                Self::Video { matrix: &video.matrix, size }
            }
            TrackMedia::Audio(_) => Self::Audio,
        }
    }
}

/// The bytes of an init segment.
pub fn write_init(track: &InitTrack<'_>) -> Vec<u8> {
    let mut boxes = BoxWriter::with_capacity(700 + track.sample_entry.len());
    boxes.write_box(b"ftyp", |boxes| {
        boxes.raw(b"iso6"); // the brand of default-base-is-moof and 64-bit tfdt
        boxes.u32(0);
        boxes.raw(b"iso6");
        boxes.raw(b"mp41");
    });
    boxes.write_box(b"moov", |boxes| {
        movie_header(boxes, track.timescale);
        boxes.write_box(b"trak", |boxes| {
            track_header(boxes, &track.kind);
            if let Some(media_time) = track.media_time {
                edit_list(boxes, media_time);
            }
            boxes.write_box(b"mdia", |boxes| media(boxes, track));
        });
        boxes.write_box(b"mvex", |boxes| {
            boxes.write_full_box(b"trex", 0, 0, |boxes| {
                boxes.u32(TRACK_ID);
                boxes.u32(1); // sample description
                boxes.zeros(12); // duration, size and flags stand in each fragment
            });
        });
    });
    boxes.finish()
}

/// The sample entry in the index: one whole box. Its data reference is also ours.
pub fn sample_entry(media: &TrackMedia) -> Result<&[u8], WriteError> {
    let entry = media.sample_entry().iso().ok_or(WriteError::SampleEntry)?;
    let announced = entry.first_chunk::<4>().map(|size| u32::from_be_bytes(*size));
    match announced.and_then(|size| usize::try_from(size).ok()) {
        Some(size) if size == entry.len() => Ok(entry),
        _ => Err(WriteError::SampleEntry),
    }
}

fn movie_header(boxes: &mut BoxWriter, timescale: u32) {
    boxes.write_full_box(b"mvhd", 0, 0, |boxes| {
        boxes.zeros(8); // creation, modification: unknown, and bytes stay the same
        boxes.u32(timescale);
        boxes.u32(0); // duration: in the fragments
        boxes.i32(FIXED_POINT_ONE); // rate
        boxes.u16(0x0100); // volume
        boxes.zeros(10);
        write_matrix(boxes, &IDENTITY_MATRIX);
        boxes.zeros(24);
        boxes.u32(TRACK_ID + 1);
    });
}

fn track_header(boxes: &mut BoxWriter, kind: &InitKind<'_>) {
    boxes.write_full_box(b"tkhd", 0, TRACK_ENABLED_IN_MOVIE, |boxes| {
        boxes.zeros(8);
        boxes.u32(TRACK_ID);
        boxes.zeros(4);
        boxes.u32(0); // duration
        track_header_rest(boxes, kind);
    });
}

/// The fields after the duration in a `tkhd`.
pub(super) fn track_header_rest(boxes: &mut BoxWriter, kind: &InitKind<'_>) {
    boxes.zeros(8);
    boxes.zeros(4); // layer, alternate group
    match *kind {
        InitKind::Video { matrix, size: (width, height) } => {
            boxes.u16(0);
            boxes.zeros(2);
            write_matrix(boxes, matrix);
            boxes.u32(fixed_point(width));
            boxes.u32(fixed_point(height));
        }
        InitKind::Audio => {
            boxes.u16(0x0100);
            boxes.zeros(2);
            write_matrix(boxes, &IDENTITY_MATRIX);
            boxes.zeros(8);
        }
    }
}

fn fixed_point(pixels: u32) -> u32 {
    u32::from(u16::try_from(pixels).unwrap_or(u16::MAX)) << 16
}

pub(super) fn write_matrix(boxes: &mut BoxWriter, matrix: &[i32; 9]) {
    for value in matrix {
        boxes.i32(*value);
    }
}

/// One entry that makes `media_time` the start. Its duration 0 means: to the end of the fragments.
fn edit_list(boxes: &mut BoxWriter, media_time: i64) {
    boxes.write_box(b"edts", |boxes| match i32::try_from(media_time) {
        Ok(media_time) => boxes.write_full_box(b"elst", 0, 0, |boxes| {
            boxes.u32(1);
            boxes.u32(0);
            boxes.i32(media_time);
            boxes.i32(FIXED_POINT_ONE); // rate
        }),
        Err(_) => boxes.write_full_box(b"elst", 1, 0, |boxes| {
            boxes.u32(1);
            boxes.u64(0);
            boxes.i64(media_time);
            boxes.i32(FIXED_POINT_ONE);
        }),
    });
}

fn media(boxes: &mut BoxWriter, track: &InitTrack<'_>) {
    boxes.write_full_box(b"mdhd", 0, 0, |boxes| {
        boxes.zeros(8);
        boxes.u32(track.timescale);
        boxes.u32(0);
        boxes.u16(packed_language(track.language));
        boxes.u16(0);
    });
    handler(boxes, &track.kind);
    boxes.write_box(b"minf", |boxes| {
        media_information(boxes, &track.kind);
        boxes.write_box(b"stbl", |boxes| sample_tables(boxes, track.sample_entry));
    });
}

/// The `hdlr` box of a track.
pub(super) fn handler(boxes: &mut BoxWriter, kind: &InitKind<'_>) {
    let (handler, name): (&[u8; 4], &[u8]) = match kind {
        InitKind::Video { .. } => (b"vide", b"video\0"),
        InitKind::Audio => (b"soun", b"audio\0"),
    };
    boxes.write_full_box(b"hdlr", 0, 0, |boxes| {
        boxes.zeros(4);
        boxes.raw(handler);
        boxes.zeros(12);
        boxes.raw(name);
    });
}

/// The boxes before the sample tables of a track.
pub(super) fn media_information(boxes: &mut BoxWriter, kind: &InitKind<'_>) {
    match kind {
        InitKind::Video { .. } => boxes.write_full_box(b"vmhd", 0, 1, |boxes| boxes.zeros(8)),
        InitKind::Audio => boxes.write_full_box(b"smhd", 0, 0, |boxes| boxes.zeros(4)),
    }
    boxes.write_box(b"dinf", |boxes| {
        boxes.write_full_box(b"dref", 0, 0, |boxes| {
            boxes.u32(1);
            boxes.write_full_box(b"url ", 0, SELF_CONTAINED, |_| {});
        });
    });
}

/// The sample entry, and tables without samples.
fn sample_tables(boxes: &mut BoxWriter, entry: &[u8]) {
    boxes.write_full_box(b"stsd", 0, 0, |boxes| {
        boxes.u32(1);
        boxes.raw(entry);
    });
    boxes.write_full_box(b"stts", 0, 0, |boxes| boxes.u32(0));
    boxes.write_full_box(b"stsc", 0, 0, |boxes| boxes.u32(0));
    boxes.write_full_box(b"stsz", 0, 0, |boxes| boxes.zeros(8));
    boxes.write_full_box(b"stco", 0, 0, |boxes| boxes.u32(0));
}

/// ISO 639-2/T in the form of `mdhd`.
pub(super) fn packed_language(language: &str) -> u16 {
    match language.as_bytes() {
        letters @ [_, _, _] if letters.iter().all(u8::is_ascii_lowercase) => {
            letters.iter().fold(0, |packed, letter| packed << 5 | u16::from(letter - 0x60))
        }
        _ => LANGUAGE_UNKNOWN,
    }
}
