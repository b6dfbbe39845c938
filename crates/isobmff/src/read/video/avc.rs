//! Reads H.264 sample entries and decides which of them can be copied.

use kinora_index::{
    NotCopied, NotCopiedReason,
    codec::h264::{AvcConfig, Sps},
};

use super::{
    super::{super::error::ReadError, codec_names::avc_profile_name},
    CodecInfo, VisualSampleEntry,
};

/// Highest level that is copied, times ten. M-4: class A.
const LEVEL_MAX: u8 = 51;
/// Profiles that every H.264 player decodes: Baseline, Main, High.
const PROFILES: [u8; 3] = [66, 77, 100];
/// Extended: also 8-bit 4:2:0, with tools that players lack.
const EXTENDED: u8 = 88;

/// Everything but progressive 8-bit 4:2:0 up to High 5.1 is not copied. Errors: `Damaged` without parameter
/// sets in the entry.
pub(super) fn codec_info(entry: VisualSampleEntry<'_>) -> Result<CodecInfo, ReadError> {
    let config = entry
        .find(b"avcC")
        .and_then(|avcc| AvcConfig::parse(avcc.body))
        .ok_or_else(|| ReadError::damaged("its H.264 configuration cannot be read"))?;
    let sps = &config.parameter_sets[0];
    Ok(CodecInfo {
        kind: *b"avc1",
        codec: config.codec_string(),
        not_copied: not_copied(&config),
        // Only the slices show whether such frames really consist of fields: interlacing is assumed.
        is_interlaced: config.parameter_sets.iter().any(|sps| !sps.is_frames_only),
        width: sps.width,
        height: sps.height,
        pixel_aspect: sps.pixel_aspect,
        colour: sps.colour,
        dropped_boxes: &[],
    })
}

fn not_copied(config: &AvcConfig) -> Option<NotCopied> {
    use NotCopiedReason::{Codec, FormatChanges, Interlaced, PixelFormat, TooLarge};
    let first = &config.parameter_sets[0];
    let shape = |sps: &Sps| (sps.width, sps.height);
    config.parameter_sets.iter().find_map(|sps| {
        let (reason, detail) = if !PROFILES.contains(&sps.profile) {
            let reason = if sps.profile == EXTENDED { Codec } else { PixelFormat };
            (reason, format!("H.264 {}", avc_profile_name(sps.profile)))
        } else if sps.bit_depth != 8 {
            (PixelFormat, format!("{}-bit H.264", sps.bit_depth))
        } else if sps.chroma_format != 1 {
            let format = ["monochrome", "4:2:0", "4:2:2", "4:4:4"][sps.chroma_format as usize & 3];
            (PixelFormat, format!("H.264 {format}"))
        } else if sps.level > LEVEL_MAX {
            (TooLarge, format!("H.264 level {}.{}", sps.level / 10, sps.level % 10))
        } else if !sps.is_frames_only {
            (Interlaced, "interlaced H.264".into())
        } else if shape(sps) != shape(first) {
            (FormatChanges, "H.264 with several frame sizes".into())
        } else {
            return None;
        };
        Some(NotCopied::new(reason, detail))
    })
}
