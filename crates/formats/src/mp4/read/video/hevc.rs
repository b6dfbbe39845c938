//! HEVC that can be copied.

use super::{
    super::super::{boxes::FourCc, error::ReadError},
    Entry, Stream,
};
use crate::codec::hevc::{HevcConfig, Sps};

/// Profiles of 4:2:0 pictures of 8 bits, and of up to 10. Pipeline, 6: class B.
const MAIN: u8 = 1;
const MAIN_10: u8 = 2;
/// The deeper of the two.
const BIT_DEPTH_MAX: u32 = 10;
/// Boxes of Dolby Vision. What remains is the HDR10, HLG or SDR picture that it improves on, which every player shows. Decision 0031.
const DOLBY_VISION: [&[u8; 4]; 4] = [b"dvcC", b"dvvC", b"dvwC", b"hvcE"];

/// Errors: `Unsupported` for everything but progressive 4:2:0 of Main or Main 10 with its parameter sets in the entry.
pub(super) fn stream(kind: FourCc, entry: Entry<'_>) -> Result<Stream, ReadError> {
    let config = entry
        .find(b"hvcC")
        .and_then(|hvcc| HevcConfig::parse(hvcc.body))
        .ok_or_else(|| ReadError::damaged("its HEVC configuration cannot be read"))?;
    if !config.is_complete {
        return Err(ReadError::unsupported(format!(
            "the video is HEVC with parameter sets between the frames only ({kind}); they must be in the sample entry"
        )));
    }
    check(&config)?;
    if DOLBY_VISION[..3].iter().filter_map(|kind| entry.find(kind)).any(|dolby| is_dolby_alone(dolby.body)) {
        return Err(ReadError::unsupported("the video is Dolby Vision without a picture for other players"));
    }
    let sps = &config.parameter_sets[0];
    Ok(Stream {
        // Parameter sets may lie between the frames of `hev1`. They repeat those of the entry, and a decoder of `hvc1` takes what is
        // repeated as it is: it is the entry that players ask for by name. Decision 0031.
        kind: b"hvc1",
        codec: config.codec_string(),
        width: sps.width,
        height: sps.height,
        pixel_aspect: sps.pixel_aspect,
        colour: sps.colour,
        left_out: &DOLBY_VISION,
    })
}

fn check(config: &HevcConfig) -> Result<(), ReadError> {
    let unsupported = |found: String| {
        Err(ReadError::unsupported(format!(
            "the video is {found}; only progressive 4:2:0 HEVC of 8 or 10 bits is supported so far"
        )))
    };
    let first = &config.parameter_sets[0];
    let shape = |sps: &Sps| (sps.width, sps.height);
    for sps in &config.parameter_sets {
        if sps.chroma_format != 1 {
            return unsupported(format!(
                "HEVC {}",
                ["monochrome", "4:2:0", "4:2:2", "4:4:4"][sps.chroma_format as usize & 3]
            ));
        }
        if sps.bit_depth > BIT_DEPTH_MAX {
            return unsupported(format!("{}-bit HEVC", sps.bit_depth));
        }
        if sps.has_fields || config.is_interlaced() {
            return unsupported("interlaced HEVC".into());
        }
        if shape(sps) != shape(first) {
            return unsupported("HEVC of several picture sizes".into());
        }
    }
    if !config.conforms_to(MAIN) && !config.conforms_to(MAIN_10) {
        return unsupported(format!("HEVC of profile {}", config.profile));
    }
    Ok(())
}

/// Whether the picture below the enhancement is none that others show: `dv_bl_signal_compatibility_id` is 0.
/// Dolby Vision Streams within the ISO Base Media File Format, 3.2.
fn is_dolby_alone(body: &[u8]) -> bool {
    // Version (2 bytes), profile, level and flags (2 bytes), then four bits of the id.
    body.get(4).is_none_or(|byte| byte >> 4 == 0)
}
