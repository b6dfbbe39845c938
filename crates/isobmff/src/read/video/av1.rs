//! Reads AV1 sample entries and decides which of them can be copied.

use kinora_index::{NotCopied, NotCopiedReason, codec::av1::Av1Config};

use super::{super::super::error::ReadError, CodecInfo, VisualSampleEntry};

/// `seq_profile` of video of 8 or 10 bits, 4:2:0 or without chroma. M-4, M-5: class B.
const MAIN: u8 = 0;

/// Everything but the Main profile is not copied.
pub(super) fn codec_info(entry: VisualSampleEntry<'_>) -> Result<CodecInfo, ReadError> {
    let damaged = || ReadError::damaged("its AV1 configuration cannot be read");
    let config = entry.find(b"av1C").and_then(|av1c| Av1Config::parse(av1c.body)).ok_or_else(damaged)?;
    let not_copied = (config.profile != MAIN).then(|| {
        let name = ["Main", "High", "Professional"].get(usize::from(config.profile)).unwrap_or(&"unknown");
        NotCopied::new(NotCopiedReason::PixelFormat, format!("AV1 {name} profile"))
    });
    let entry_size = || entry.size().filter(|&(width, height)| width > 0 && height > 0);
    let (width, height) = match &config.sequence {
        Some(sequence) => (sequence.width, sequence.height),
        None => entry_size().ok_or_else(damaged)?,
    };
    Ok(CodecInfo {
        kind: *b"av01",
        codec: config.codec_string(entry.colour()),
        not_copied,
        is_interlaced: false,
        width,
        height,
        pixel_aspect: None,
        colour: config.sequence.and_then(|sequence| sequence.colour),
        dropped_boxes: &[],
    })
}
