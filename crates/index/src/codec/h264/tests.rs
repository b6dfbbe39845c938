//! Parameter sets written bit by bit, so that every field has a case.

use proptest::prelude::*;

use super::*;
use crate::codec::testing::Writer;

/// The fields of a parameter set; the rest is as x264 writes it for 1920x1080.
struct Wanted {
    profile: u32,
    chroma_format: u32,
    depths: [u32; 2],
    has_scaling_matrix: bool,
    poc_type: u32,
    size_mbs: (u32, u32),
    is_frames_only: bool,
    crop: Option<[u32; 4]>,
    aspect: Option<(u32, Option<(u32, u32)>)>,
    transfer: Option<u32>,
    /// Ticks of a field, and ticks per second.
    field_ticks: Option<(u32, u32)>,
}

const USUAL: Wanted = Wanted {
    profile: 100,
    chroma_format: 1,
    depths: [8, 8],
    has_scaling_matrix: false,
    poc_type: 0,
    size_mbs: (120, 68),
    is_frames_only: true,
    crop: Some([0, 0, 0, 4]),
    aspect: None,
    transfer: None,
    field_ticks: None,
};

fn written(fields: &Wanted) -> Vec<u8> {
    let mut bits = Writer::default();
    bits.u(8, fields.profile).u(8, 0).u(8, 40).ue(0);
    if has_chroma_format(fields.profile as u8) {
        bits.ue(fields.chroma_format);
        if fields.chroma_format == 3 {
            bits.u(1, 0);
        }
        bits.ue(fields.depths[0] - 8).ue(fields.depths[1] - 8).u(1, 0).u(1, fields.has_scaling_matrix.into());
        if fields.has_scaling_matrix {
            // A flat list, a list that falls back after its first entry, the rest absent.
            bits.u(1, 1);
            bits.u(16, 0xffff); // sixteen times se(0)
            bits.u(1, 1).se(-8);
            bits.u(6, 0);
        }
    }
    bits.ue(0).ue(fields.poc_type);
    match fields.poc_type {
        0 => bits.ue(2),
        1 => bits.u(1, 0).se(-3).se(4).ue(2).se(1).se(-1),
        _ => &mut bits,
    };
    bits.ue(4).u(1, 0).ue(fields.size_mbs.0 - 1).ue(fields.size_mbs.1 - 1).u(1, fields.is_frames_only.into());
    if !fields.is_frames_only {
        bits.u(1, 1);
    }
    bits.u(1, 1).u(1, fields.crop.is_some().into());
    for crop in fields.crop.into_iter().flatten() {
        bits.ue(crop);
    }
    let has_usability = fields.aspect.is_some() || fields.transfer.is_some() || fields.field_ticks.is_some();
    bits.u(1, has_usability.into());
    if has_usability {
        bits.u(1, fields.aspect.is_some().into());
        if let Some((idc, extended)) = fields.aspect {
            bits.u(8, idc);
            if let Some((horizontal, vertical)) = extended {
                bits.u(16, horizontal).u(16, vertical);
            }
        }
        bits.u(1, 1).u(1, 0); // overscan
        bits.u(1, fields.transfer.is_some().into());
        if let Some(transfer) = fields.transfer {
            bits.u(4, 0b1010).u(1, 1).u(8, 9).u(8, transfer).u(8, 9);
        }
        bits.u(1, 0).u(1, fields.field_ticks.is_some().into());
        if let Some((units, scale)) = fields.field_ticks {
            bits.u(16, units >> 16).u(16, units & 0xffff).u(16, scale >> 16).u(16, scale & 0xffff);
        }
        bits.u(3, 0);
    }
    bits.nal(&[0x67])
}

const EXPECTED: Sps = Sps {
    profile: 100,
    level: 40,
    chroma_format: 1,
    bit_depth: 8,
    is_frames_only: true,
    width: 1920,
    height: 1080,
    pixel_aspect: None,
    colour: None,
    frame_rate: None,
};

#[test]
fn sps_gives_frame_size_and_format() {
    fn check(name: &str, fields: Wanted, expected: Sps) {
        assert_eq!(Sps::parse(&written(&fields)), Some(expected), "{name}");
    }
    check("High 1080p", USUAL, EXPECTED);
    check(
        "25 frames of two fields",
        Wanted { field_ticks: Some((1, 50)), ..USUAL },
        Sps { frame_rate: Some((50, 2)), ..EXPECTED },
    );
    check("no ticks", Wanted { field_ticks: Some((0, 50)), ..USUAL }, EXPECTED);
    check("Baseline", Wanted { profile: 66, ..USUAL }, Sps { profile: 66, ..EXPECTED });
    check("no cropping", Wanted { crop: None, ..USUAL }, Sps { height: 1088, ..EXPECTED });
    check(
        "cropped on all sides",
        Wanted { crop: Some([1, 2, 3, 4]), ..USUAL },
        Sps { width: 1914, height: 1074, ..EXPECTED },
    );
    check(
        "interlaced: units of two rows",
        Wanted { is_frames_only: false, size_mbs: (120, 34), crop: Some([0, 0, 0, 2]), ..USUAL },
        Sps { is_frames_only: false, ..EXPECTED },
    );
    check(
        "deep luma",
        Wanted { profile: 110, depths: [10, 8], ..USUAL },
        Sps { profile: 110, bit_depth: 10, ..EXPECTED },
    );
    check(
        "deep chroma",
        Wanted { profile: 110, depths: [8, 14], ..USUAL },
        Sps { profile: 110, bit_depth: 14, ..EXPECTED },
    );
    check(
        "monochrome",
        Wanted { chroma_format: 0, crop: Some([0, 0, 0, 8]), ..USUAL },
        Sps { chroma_format: 0, ..EXPECTED },
    );
    check(
        "4:2:2",
        Wanted { profile: 122, chroma_format: 2, crop: Some([0, 0, 0, 8]), ..USUAL },
        Sps { profile: 122, chroma_format: 2, ..EXPECTED },
    );
    check(
        "4:4:4",
        Wanted { profile: 244, chroma_format: 3, crop: Some([0, 0, 0, 8]), ..USUAL },
        Sps { profile: 244, chroma_format: 3, ..EXPECTED },
    );
    check("scaling matrices", Wanted { has_scaling_matrix: true, ..USUAL }, EXPECTED);
    check("picture order in a cycle", Wanted { poc_type: 1, ..USUAL }, EXPECTED);
    check("picture order as decoded", Wanted { poc_type: 2, ..USUAL }, EXPECTED);
    check(
        "a listed pixel aspect",
        Wanted { aspect: Some((14, None)), ..USUAL },
        Sps { pixel_aspect: Some((4, 3)), ..EXPECTED },
    );
    check("an unspecified pixel aspect", Wanted { aspect: Some((0, None)), ..USUAL }, EXPECTED);
    check("a reserved pixel aspect", Wanted { aspect: Some((17, None)), ..USUAL }, EXPECTED);
    check(
        "a pixel aspect of its own",
        Wanted { aspect: Some((255, Some((0, 1)))), transfer: Some(16), ..USUAL },
        Sps {
            pixel_aspect: Some((0, 1)),
            colour: Some(Colour { primaries: 9, transfer: 16, matrix: 9, is_full_range: false }),
            ..EXPECTED
        },
    );
}

#[test]
fn invalid_sps_is_rejected() {
    let nal = written(&USUAL);
    // Truncated anywhere before its last field; the stop bit after that may be missing.
    for len in 0..nal.len() - 1 {
        assert_eq!(Sps::parse(&nal[..len]), None, "{len} bytes");
    }
    let slice = [&[0x65][..], &nal[1..]].concat();
    assert_eq!(Sps::parse(&slice), None, "another kind of NAL unit");
    for (name, fields) in [
        ("crops all", Wanted { crop: Some([0, 0, 0, 544]), ..USUAL }),
        ("crops more than all", Wanted { crop: Some([0, 70_000, 0, 4]), ..USUAL }),
        ("wider than any level", Wanted { size_mbs: (2000, 68), ..USUAL }),
        ("a depth that does not exist", Wanted { depths: [8, 15], ..USUAL }),
        ("a picture order that does not exist", Wanted { poc_type: 3, ..USUAL }),
        ("a chroma format that does not exist", Wanted { chroma_format: 4, ..USUAL }),
    ] {
        assert_eq!(Sps::parse(&written(&fields)), None, "{name}");
    }
}

#[test]
fn records_hold_profile_and_parameter_sets() {
    let nal = written(&USUAL);
    let sets = [&(nal.len() as u16).to_be_bytes()[..], &nal].concat();
    let record = |head: [u8; 6], rest: &[u8]| AvcConfig::parse(&[&head, rest].concat());
    let good = [1, 0x64, 0x00, 0x28, 0xff, 0xe1];
    let config = record(good, &sets).unwrap();
    assert_eq!(config.codec_string(), "avc1.640028");
    assert_eq!((config.length_size, config.parameter_sets), (4, vec![EXPECTED]));

    assert_eq!(record([2, 0x64, 0x00, 0x28, 0xff, 0xe1], &sets), None, "another version");
    assert_eq!(record([1, 0x64, 0x00, 0x28, 0xfe, 0xe1], &sets), None, "lengths of three bytes");
    assert_eq!(record([1, 0x64, 0x00, 0x28, 0xff, 0xe0], &sets), None, "no parameter set");
    assert_eq!(record([1, 0x64, 0x00, 0x28, 0xff, 0xe2], &sets), None, "one of two parameter sets");
    assert_eq!(record(good, &sets[..sets.len() - 1]), None, "cut short");
    assert_eq!(AvcConfig::parse(&good[..5]), None, "shorter than its head");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = Sps::parse(&[&[0x67, 100], &bytes[..]].concat());
        let _ = Sps::parse(&bytes);
        let _ = AvcConfig::parse(&bytes);
    }
}
