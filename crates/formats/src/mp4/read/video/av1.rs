//! AV1 that can be copied.

use super::{
    super::super::{boxes::Fields, error::ReadError},
    Entry, Stream,
};
use crate::codec::av1::Av1Config;

/// `seq_profile` of pictures of 8 or 10 bits, 4:2:0 or without chroma. Pipeline, 6: class B.
const MAIN: u8 = 0;
/// Where width and height lie among the fields of the entry. ISO/IEC 14496-12, 12.1.3.
const SIZE_AT: usize = 24;

/// Errors: `Unsupported` for everything but the Main profile.
pub(super) fn stream(entry: Entry<'_>) -> Result<Stream, ReadError> {
    let damaged = || ReadError::damaged("its AV1 configuration cannot be read");
    let config = entry.find(b"av1C").and_then(|av1c| Av1Config::parse(av1c.body)).ok_or_else(damaged)?;
    if config.profile != MAIN {
        let name = ["Main", "High", "Professional"].get(usize::from(config.profile)).unwrap_or(&"unknown");
        return Err(ReadError::unsupported(format!(
            "the video is AV1 of the {name} profile; only the Main profile is supported so far"
        )));
    }
    let of_entry = || {
        let mut fields = Fields::new(entry.fields.get(SIZE_AT..)?);
        Some((u32::from(fields.u16()?), u32::from(fields.u16()?)))
    };
    let (width, height) = match &config.sequence {
        Some(sequence) => (sequence.width, sequence.height),
        None => of_entry().filter(|&(width, height)| width > 0 && height > 0).ok_or_else(damaged)?,
    };
    Ok(Stream {
        kind: b"av01",
        codec: config.codec_string(entry.colour()),
        width,
        height,
        pixel_aspect: None,
        colour: config.sequence.and_then(|sequence| sequence.colour),
        left_out: &[],
    })
}
