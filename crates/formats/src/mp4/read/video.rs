//! Which video can be copied, and what its sample entry says of it.

use super::{
    super::{
        boxes::{BoxRef, Fields, children},
        error::ReadError,
    },
    entry::rebuilt,
    names::{avc_profile_name, codec_name, is_encrypted},
};
use crate::{
    codec::h264::{AvcConfig, Sps},
    index::VideoTrack,
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;
/// Highest level that is copied, times ten. Pipeline, 6: class A.
const LEVEL_MAX: u8 = 51;
/// Profiles whose streams every player of H.264 decodes: Baseline, Main, High.
const PROFILES: [u8; 3] = [66, 77, 100];

/// Reads the sample entry of a video track. The composition shift and the frame rate are left for those who see the samples.
///
/// Errors: `Unsupported` for everything but progressive 8-bit 4:2:0 H.264 up to High 5.1 with its parameter sets in the entry.
pub(super) fn video_track(entry: &BoxRef<'_>, matrix: [i32; 9]) -> Result<VideoTrack, ReadError> {
    let (head, rest) = accepted(entry)?;
    let boxes = || children(rest);
    let find = |kind: &[u8; 4]| boxes().find(|child| &child.kind.0 == kind);
    let config = find(b"avcC")
        .and_then(|avcc| AvcConfig::parse(avcc.body))
        .ok_or_else(|| ReadError::damaged("its H.264 configuration cannot be read"))?;
    check_config(&config)?;
    let sps = &config.parameter_sets[0];

    let pasp = find(b"pasp").and_then(|pasp| {
        let mut fields = Fields::new(pasp.body);
        Some((fields.u32()?, fields.u32()?))
    });
    Ok(VideoTrack {
        sample_entry: rebuilt(b"avc1", head, boxes())?,
        codec: config.codec_string(),
        width: sps.width,
        height: sps.height,
        pixel_aspect: reduced(pasp).or(reduced(sps.pixel_aspect)).unwrap_or((1, 1)),
        matrix,
        rotation: rotation(&matrix),
        transfer: find(b"colr").and_then(|colr| transfer(&colr)).or(sps.transfer),
        frame_rate: None,
        composition_shift: 0,
    })
}

/// The fields of an `avc1` entry and the bytes of its child boxes.
fn accepted<'a>(entry: &BoxRef<'a>) -> Result<(&'a [u8], &'a [u8]), ReadError> {
    match &entry.kind.0 {
        b"avc1" => entry
            .body
            .split_at_checked(FIELDS_LEN)
            .ok_or_else(|| ReadError::damaged("its video sample entry is cut short")),
        b"avc3" => Err(ReadError::unsupported(
            "the video is H.264 with parameter sets between the frames (avc3); only avc1 is supported so far",
        )),
        _ if is_encrypted(entry.kind) => Err(ReadError::unsupported("the video is encrypted")),
        _ => Err(ReadError::unsupported(format!(
            "the video codec is {}; only H.264 is supported so far",
            codec_name(entry.kind)
        ))),
    }
}

fn check_config(config: &AvcConfig) -> Result<(), ReadError> {
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

/// In lowest terms; `None` for a ratio with a zero.
fn reduced(aspect: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let (horizontal, vertical) = aspect.filter(|&(horizontal, vertical)| horizontal > 0 && vertical > 0)?;
    let (mut divisor, mut rest) = (horizontal, vertical);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Some((horizontal / divisor, vertical / divisor))
}

/// Transfer characteristics of a `colr` box, when it lists them. ISO/IEC 14496-12, 12.1.5.
fn transfer(colr: &BoxRef<'_>) -> Option<u16> {
    let mut fields = Fields::new(colr.body);
    let kind = fields.array::<4>()?;
    if !matches!(&kind, b"nclx" | b"nclc") {
        return None;
    }
    fields.u16()?; // colour primaries
    fields.u16()
}

/// The quarter turn nearest to what the matrix does, clockwise. ISO/IEC 14496-12, 8.3.2: x' = a x + c y, y' = b x + d y.
fn rotation(matrix: &[i32; 9]) -> u16 {
    let [a, b, _, c, d, ..] = *matrix;
    let is_sideways = a.unsigned_abs().max(d.unsigned_abs()) < b.unsigned_abs().max(c.unsigned_abs());
    match (is_sideways, a < 0, b < 0) {
        (false, false, _) => 0,
        (true, _, false) => 90,
        (false, true, _) => 180,
        (true, _, true) => 270,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_told_apart_by_their_quarter_turn() {
        const ONE: i32 = 0x1_0000;
        let check = |[a, b, c, d]: [i32; 4], expected| {
            assert_eq!(rotation(&[a, b, 0, c, d, 0, 0, 0, 0x4000_0000]), expected, "{a} {b} {c} {d}");
        };
        check([ONE, 0, 0, ONE], 0);
        check([0, ONE, -ONE, 0], 90);
        check([-ONE, 0, 0, -ONE], 180);
        check([0, -ONE, ONE, 0], 270);
        check([0, 0, 0, 0], 0);
        check([ONE / 2, 0, 0, ONE / 2], 0);
        check([0, i32::MIN, i32::MAX, 0], 270);
    }

    #[test]
    fn pixel_aspects_are_reduced_and_zeros_ignored() {
        assert_eq!(reduced(Some((64, 48))), Some((4, 3)));
        assert_eq!(reduced(Some((1, 1))), Some((1, 1)));
        assert_eq!(reduced(Some((0, 1))), None);
        assert_eq!(reduced(Some((1, 0))), None);
        assert_eq!(reduced(None), None);
    }
}
