//! H.264 that can be copied.

use super::{
    super::{super::error::ReadError, names::avc_profile_name},
    Entry, Stream,
};
use crate::codec::h264::{AvcConfig, Sps};

/// Highest level that is copied, times ten. Pipeline, 6: class A.
const LEVEL_MAX: u8 = 51;
/// Profiles whose streams every player of H.264 decodes: Baseline, Main, High.
const PROFILES: [u8; 3] = [66, 77, 100];

/// Errors: `Unsupported` for everything but progressive 8-bit 4:2:0 up to High 5.1 with its parameter sets in the entry.
pub(super) fn stream(entry: Entry<'_>) -> Result<Stream, ReadError> {
    let config = entry
        .find(b"avcC")
        .and_then(|avcc| AvcConfig::parse(avcc.body))
        .ok_or_else(|| ReadError::damaged("its H.264 configuration cannot be read"))?;
    check(&config)?;
    let sps = &config.parameter_sets[0];
    Ok(Stream {
        kind: b"avc1",
        codec: config.codec_string(),
        width: sps.width,
        height: sps.height,
        pixel_aspect: sps.pixel_aspect,
        colour: sps.colour,
        left_out: &[],
    })
}

fn check(config: &AvcConfig) -> Result<(), ReadError> {
    let unsupported = |found: String| {
        Err(ReadError::unsupported(format!(
            "the video is {found}; only progressive 8-bit 4:2:0 H.264 up to High 5.1 is supported so far"
        )))
    };
    let first = &config.parameter_sets[0];
    let shape = |sps: &Sps| (sps.width, sps.height);
    for sps in &config.parameter_sets {
        if !PROFILES.contains(&sps.profile) {
            return unsupported(format!("H.264 {}", avc_profile_name(sps.profile)));
        }
        if sps.bit_depth != 8 {
            return unsupported(format!("{}-bit H.264", sps.bit_depth));
        }
        if sps.chroma_format != 1 {
            return unsupported(format!(
                "H.264 {}",
                ["monochrome", "4:2:0", "4:2:2", "4:4:4"][sps.chroma_format as usize & 3]
            ));
        }
        if sps.level > LEVEL_MAX {
            return unsupported(format!("H.264 level {}.{}", sps.level / 10, sps.level % 10));
        }
        if !sps.is_frames_only {
            return unsupported("interlaced H.264".into());
        }
        if shape(sps) != shape(first) {
            return unsupported("H.264 of several picture sizes".into());
        }
    }
    Ok(())
}
