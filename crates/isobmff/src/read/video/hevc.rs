//! Reads HEVC sample entries and decides which of them can be copied.

use kinora_index::{
    NotCopied, NotCopiedReason,
    codec::hevc::{HevcConfig, Sps},
};

use super::{
    super::super::{boxes::FourCc, error::ReadError},
    CodecInfo, VisualSampleEntry,
};

/// Profiles of 4:2:0 video of 8 bits, and of up to 10. M-4, M-5: class B.
const MAIN: u8 = 1;
const MAIN_10: u8 = 2;
/// The bit depth of Main 10.
const BIT_DEPTH_MAX: u32 = 10;
/// Boxes of Dolby Vision. Without them, the HDR10, HLG or SDR base layer remains, which every player shows.
/// D-0031.
const DOLBY_VISION: [&[u8; 4]; 4] = [b"dvcC", b"dvvC", b"dvwC", b"hvcE"];

/// Everything but progressive 4:2:0 of Main or Main 10 with its parameter sets in the entry is not copied.
pub(super) fn codec_info(kind: FourCc, entry: VisualSampleEntry<'_>) -> Result<CodecInfo, ReadError> {
    let damaged = || ReadError::damaged("its HEVC configuration cannot be read");
    let config = entry.find(b"hvcC").and_then(|hvcc| HevcConfig::parse(hvcc.body)).ok_or_else(damaged)?;
    let is_dolby_vision_only = DOLBY_VISION[..3]
        .iter()
        .filter_map(|kind| entry.find(kind))
        .any(|dolby| has_incompatible_base_layer(dolby.body));
    let not_copied = not_copied(kind, &config).or_else(|| {
        let detail = "Dolby Vision without a base layer for other players";
        is_dolby_vision_only.then(|| NotCopied::new(NotCopiedReason::Codec, detail))
    });
    let is_copied = not_copied.is_none();
    let sps = config.parameter_sets.first();
    let size = sps.map(|sps| (sps.width, sps.height)).or_else(|| entry.size());
    let (width, height) = size.filter(|&(width, height)| width > 0 && height > 0).ok_or_else(damaged)?;
    Ok(CodecInfo {
        // Parameter sets may occur between the frames of `hev1`. They repeat those of the entry, and a
        // decoder of `hvc1` ignores repetitions. Players request `hvc1` by name. D-0031.
        kind: if is_copied { *b"hvc1" } else { kind.0 },
        codec: config.codec_string(),
        not_copied,
        is_interlaced: config.is_interlaced() || config.parameter_sets.iter().any(|sps| sps.is_field_coded),
        width,
        height,
        pixel_aspect: sps.and_then(|sps| sps.pixel_aspect),
        colour: sps.and_then(|sps| sps.colour),
        dropped_boxes: if is_copied { &DOLBY_VISION } else { &[] },
    })
}

fn not_copied(kind: FourCc, config: &HevcConfig) -> Option<NotCopied> {
    use NotCopiedReason::{Codec, FormatChanges, Interlaced, PixelFormat};
    if !config.is_complete {
        let detail = format!("HEVC with parameter sets between the frames only ({kind})");
        return Some(NotCopied::new(Codec, detail));
    }
    let first = config.parameter_sets.first()?;
    let shape = |sps: &Sps| (sps.width, sps.height);
    let from_parameter_sets = config.parameter_sets.iter().find_map(|sps| {
        let (reason, found) = if sps.chroma_format != 1 {
            let format = ["monochrome", "4:2:0", "4:2:2", "4:4:4"][sps.chroma_format as usize & 3];
            (PixelFormat, format!("HEVC {format}"))
        } else if sps.bit_depth > BIT_DEPTH_MAX {
            (PixelFormat, format!("{}-bit HEVC", sps.bit_depth))
        } else if sps.is_field_coded || config.is_interlaced() {
            (Interlaced, "interlaced HEVC".into())
        } else if shape(sps) != shape(first) {
            (FormatChanges, "HEVC with several frame sizes".into())
        } else {
            return None;
        };
        Some(NotCopied::new(reason, found))
    });
    from_parameter_sets.or_else(|| {
        let is_known = config.conforms_to(MAIN) || config.conforms_to(MAIN_10);
        (!is_known).then(|| NotCopied::new(Codec, format!("HEVC of profile {}", config.profile)))
    })
}

/// Whether other players cannot show the base layer: `dv_bl_signal_compatibility_id` is 0. Dolby Vision
/// Streams within the ISO Base Media File Format, 3.2.
fn has_incompatible_base_layer(body: &[u8]) -> bool {
    // Version (2 bytes), profile, level and flags (2 bytes), then four bits of the id.
    body.get(4).is_none_or(|byte| byte >> 4 == 0)
}
