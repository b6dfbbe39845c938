//! Records and parameter sets written bit by bit.

use proptest::prelude::*;

use super::*;
use crate::codec::{colour::Colour, testing::Writer};

/// Header of a sequence parameter set of the base layer.
const SPS_HEADER: [u8; 2] = [0x42, 0x01];

/// The fields of a parameter set; the rest is as encoders write it for 1920x1080.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Sub-layers below the highest: whether each has its profile and its level.
    sub_layers: &'a [(bool, bool)],
    chroma_format: u32,
    size: (u32, u32),
    crop: Option<[u32; 4]>,
    depths: [u32; 2],
    has_scaling_lists: bool,
    has_pcm: bool,
    /// For each short-term set: none for one predicted from the set before, else its references before and
    /// after.
    short_term_sets: &'a [Option<(u32, u32)>],
    long_term: Option<u32>,
    aspect: Option<(u32, Option<(u32, u32)>)>,
    transfer: Option<u32>,
    has_fields: bool,
}

const USUAL: Wanted<'_> = Wanted {
    sub_layers: &[],
    chroma_format: 1,
    size: (1920, 1088),
    crop: Some([0, 0, 0, 4]),
    depths: [8, 8],
    has_scaling_lists: false,
    has_pcm: false,
    short_term_sets: &[],
    long_term: None,
    aspect: None,
    transfer: None,
    has_fields: false,
};

fn written(fields: &Wanted<'_>) -> Vec<u8> {
    let mut bits = Writer::default();
    bits.u(4, 0).u(3, fields.sub_layers.len() as u32).u(1, 1);
    bits.u(8, 1).u(32, 0x6000_0000).u(24, 0x90_0000).u(24, 0).u(8, 120); // profile, tier, level
    for &(has_profile, has_level) in fields.sub_layers {
        bits.u(1, has_profile.into()).u(1, has_level.into());
    }
    if !fields.sub_layers.is_empty() {
        bits.u(2 * (8 - fields.sub_layers.len() as u32), 0);
    }
    for &(has_profile, has_level) in fields.sub_layers {
        if has_profile {
            bits.u(32, u32::MAX).u(32, u32::MAX).u(24, 0xff_ffff);
        }
        if has_level {
            bits.u(8, 0xff);
        }
    }
    bits.ue(0).ue(fields.chroma_format);
    if fields.chroma_format == 3 {
        bits.u(1, 0);
    }
    bits.ue(fields.size.0).ue(fields.size.1).u(1, fields.crop.is_some().into());
    for crop in fields.crop.into_iter().flatten() {
        bits.ue(crop);
    }
    bits.ue(fields.depths[0] - 8).ue(fields.depths[1] - 8);
    bits.ue(4).u(1, 0); // picture order counts of 8 bits; the ordering of the highest sub-layer alone
    bits.ue(4).ue(2).ue(0);
    bits.ue(0).ue(3).ue(0).ue(3).ue(1).ue(1);
    bits.u(1, fields.has_scaling_lists.into());
    if fields.has_scaling_lists {
        bits.u(1, 1);
        // The first list of each size is written, the others refer to it.
        for (coefficients, lists, has_dc) in [(16, 6, false), (64, 6, false), (64, 6, true), (64, 2, true)] {
            bits.u(1, 1);
            for _ in 0..coefficients + i32::from(has_dc) {
                bits.se(-3);
            }
            for _ in 1..lists {
                bits.u(1, 0).ue(1);
            }
        }
    }
    bits.u(2, 0b11).u(1, fields.has_pcm.into());
    if fields.has_pcm {
        bits.u(8, 0x77).ue(0).ue(2).u(1, 1);
    }
    bits.ue(fields.short_term_sets.len() as u32);
    let mut references = 0;
    for (number, set) in fields.short_term_sets.iter().enumerate() {
        if number > 0 {
            bits.u(1, set.is_none().into());
        }
        match *set {
            Some((before, after)) => {
                references = before + after;
                bits.ue(before).ue(after);
                for n in 0..references {
                    bits.ue(n).u(1, 1);
                }
            }
            None => {
                bits.u(1, 1).ue(0);
                // The first is used, the second stays a reference, the others are dropped.
                for n in 0..=references {
                    match n {
                        0 => bits.u(1, 1),
                        1 => bits.u(2, 0b01),
                        _ => bits.u(2, 0b00),
                    };
                }
                references = (references + 1).min(2);
            }
        }
    }
    bits.u(1, fields.long_term.is_some().into());
    if let Some(count) = fields.long_term {
        bits.ue(count);
        for n in 0..count {
            bits.u(8, n).u(1, 1);
        }
    }
    bits.u(2, 0b11);
    let has_usability = fields.aspect.is_some() || fields.transfer.is_some() || fields.has_fields;
    bits.u(1, has_usability.into());
    if has_usability {
        bits.u(1, fields.aspect.is_some().into());
        if let Some((idc, extended)) = fields.aspect {
            bits.u(8, idc);
            if let Some((horizontal, vertical)) = extended {
                bits.u(16, horizontal).u(16, vertical);
            }
        }
        bits.u(1, 0).u(1, fields.transfer.is_some().into());
        if let Some(transfer) = fields.transfer {
            bits.u(3, 5).u(1, 0).u(1, 1).u(8, 9).u(8, transfer).u(8, 9);
        }
        bits.u(1, 1).ue(2).ue(2); // places of chroma
        bits.u(1, 0).u(1, fields.has_fields.into()).u(1, 0);
    }
    bits.u(8, 0);
    bits.nal(&SPS_HEADER)
}

const EXPECTED: Sps = Sps {
    chroma_format: 1,
    bit_depth: 8,
    is_field_coded: false,
    width: 1920,
    height: 1080,
    pixel_aspect: None,
    colour: None,
};

#[test]
fn sps_gives_frame_size_and_format() {
    fn check(name: &str, fields: Wanted<'_>, expected: Sps) {
        assert_eq!(Sps::parse(&written(&fields)), Some(expected), "{name}");
    }
    // The aspect ratio follows all other fields: if it is right, the parser read all of them.
    let far = Wanted { aspect: Some((14, None)), ..USUAL };
    let expected = Sps { pixel_aspect: Some((4, 3)), ..EXPECTED };
    check("Main 1080p", USUAL, EXPECTED);
    check("no cropping", Wanted { crop: None, ..USUAL }, Sps { height: 1088, ..EXPECTED });
    check(
        "cropped on all sides",
        Wanted { crop: Some([1, 2, 3, 4]), ..USUAL },
        Sps { width: 1914, height: 1074, ..EXPECTED },
    );
    check("deep luma", Wanted { depths: [10, 8], ..USUAL }, Sps { bit_depth: 10, ..EXPECTED });
    check("deep chroma", Wanted { depths: [8, 16], ..USUAL }, Sps { bit_depth: 16, ..EXPECTED });
    for (chroma_format, height) in [(0, 1084), (2, 1084), (3, 1084)] {
        let wanted = Wanted { chroma_format, ..USUAL };
        check("another chroma format", wanted, Sps { chroma_format, height, ..EXPECTED });
    }
    let sub_layers = &[(true, true), (false, true), (true, false), (false, false)];
    check("four sub-layers", Wanted { sub_layers, ..far }, expected.clone());
    check("scaling lists", Wanted { has_scaling_lists: true, ..far }, expected.clone());
    check("PCM", Wanted { has_pcm: true, ..far }, expected.clone());
    let short_term_sets = &[Some((4, 0)), None, None, Some((2, 3)), None, Some((0, 0)), None];
    check("reference picture sets", Wanted { short_term_sets, ..far }, expected.clone());
    check("long-term pictures", Wanted { long_term: Some(5), ..far }, expected.clone());
    check("fields", Wanted { has_fields: true, ..USUAL }, Sps { is_field_coded: true, ..EXPECTED });
    let colour = Some(Colour { primaries: 9, transfer: 18, matrix: 9, is_full_range: false });
    check("HLG", Wanted { transfer: Some(18), ..USUAL }, Sps { colour, ..EXPECTED });
    check(
        "a pixel aspect of its own",
        Wanted { aspect: Some((255, Some((64, 45)))), ..USUAL },
        Sps { pixel_aspect: Some((64, 45)), ..EXPECTED },
    );
}

#[test]
fn x265_sps_is_parsed() {
    // x265 at 96x54, 10 bits, PQ; the expected values come from ffprobe.
    let nal = [
        0x42, 0x01, 0x01, 0x02, 0x20, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00,
        0x1e, 0xa0, 0x30, 0x81, 0x07, 0xcc, 0xd9, 0x65, 0x65, 0x4a, 0x4c, 0x2f, 0x01, 0x6a, 0x12, 0x20, 0x12,
        0x08, 0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x00, 0x78, 0x40,
    ];
    let colour = Some(Colour { primaries: 9, transfer: 16, matrix: 9, is_full_range: false });
    assert_eq!(
        Sps::parse(&nal),
        Some(Sps { width: 96, height: 54, bit_depth: 10, pixel_aspect: Some((1, 1)), colour, ..EXPECTED })
    );
}

#[test]
fn invalid_sps_is_rejected() {
    let nal = written(&Wanted { transfer: Some(16), ..USUAL });
    // The last byte is padding.
    for len in 0..nal.len() - 2 {
        assert_eq!(Sps::parse(&nal[..len]), None, "{len} bytes");
    }
    assert_eq!(Sps::parse(&[&[0x44, 0x01][..], &nal[2..]].concat()), None, "another kind of NAL unit");
    for (name, fields) in [
        ("crops all", Wanted { crop: Some([0, 0, 0, 544]), ..USUAL }),
        ("crops more than all", Wanted { crop: Some([0, u32::MAX - 2, 0, 4]), ..USUAL }),
        ("no width", Wanted { size: (0, 1088), ..USUAL }),
        ("wider than any level", Wanted { size: (16_896, 1088), ..USUAL }),
        ("a depth that does not exist", Wanted { depths: [8, 17], ..USUAL }),
        ("a chroma format that does not exist", Wanted { chroma_format: 4, ..USUAL }),
        ("too many long-term pictures", Wanted { long_term: Some(33), ..USUAL }),
        ("too many short-term sets", Wanted { short_term_sets: &[Some((0, 0)); 65], ..USUAL }),
        ("too many pictures in a set", Wanted { short_term_sets: &[Some((17, 0))], ..USUAL }),
        ("too many sub-layers", Wanted { sub_layers: &[(false, false); 7], ..USUAL }),
    ] {
        assert_eq!(Sps::parse(&written(&fields)), None, "{name}");
    }
}

/// A record with these arrays of NAL units.
fn record(arrays: &[(u8, &[&[u8]])]) -> Vec<u8> {
    let mut bytes =
        vec![1, 0x01, 0x60, 0, 0, 0, 0xb0, 0, 0, 0, 0, 0, 93, 0xf0, 0, 0xfc, 0xfd, 0xf8, 0xf8, 0, 0, 0x0f];
    bytes.push(arrays.len() as u8);
    for (kind, units) in arrays {
        bytes.extend([0x80 | kind, 0, units.len() as u8]);
        for unit in *units {
            bytes.extend((unit.len() as u16).to_be_bytes());
            bytes.extend(*unit);
        }
    }
    bytes
}

#[test]
fn records_hold_profile_and_parameter_sets() {
    let sps = written(&USUAL);
    let second_layer = [&[0x42, 0x09][..], &sps[2..]].concat();
    let all_arrays: [(u8, &[&[u8]]); 4] =
        [(32, &[&[0x40, 1]]), (33, &[&sps, &second_layer]), (34, &[&[0x44, 1]]), (39, &[&[]])];
    let config = HevcConfig::parse(&record(&all_arrays)).unwrap();
    let expected = HevcConfig {
        profile_space: 0,
        is_high_tier: false,
        profile: 1,
        compatibility: 0x6000_0000,
        constraints: [0xb0, 0, 0, 0, 0, 0],
        level: 93,
        length_size: 4,
        is_complete: true,
        parameter_sets: vec![EXPECTED],
    };
    assert_eq!(config, expected);
    assert!(config.conforms_to(1) && config.conforms_to(2) && !config.conforms_to(4));
    assert!(!config.is_interlaced());
    assert!(HevcConfig { constraints: [0x40, 0, 0, 0, 0, 0], ..config }.is_interlaced());

    for missing in 0..3 {
        let mut arrays = all_arrays.to_vec();
        arrays.remove(missing);
        assert!(!HevcConfig::parse(&record(&arrays)).unwrap().is_complete, "without array {missing}");
    }
    assert!(!HevcConfig::parse(&record(&[])).unwrap().is_complete, "none at all");
    let bytes = record(&all_arrays);
    for len in 0..bytes.len() {
        assert_eq!(HevcConfig::parse(&bytes[..len]), None, "{len} bytes");
    }
    let changed =
        |at: usize, value: u8| HevcConfig::parse(&[&bytes[..at], &[value], &bytes[at + 1..]].concat());
    assert_eq!(changed(0, 0), None, "another version");
    assert_eq!(changed(21, 0x0e), None, "lengths of three bytes");
    assert_eq!(changed(21, 0x0d).unwrap().length_size, 2);
    assert_eq!(HevcConfig::parse(&record(&[(33, &[&sps[..5]])])), None, "a parameter set cut short");
    assert_eq!(
        HevcConfig::parse(&record(&[(33, &[sps.as_slice(); 17])])),
        None,
        "more parameter sets than numbers"
    );
}

#[test]
fn codec_strings_match_the_standard() {
    fn check(head: (u8, u8, u32, bool, u8), constraints: [u8; 6], expected: &str) {
        let (profile_space, profile, compatibility, is_high_tier, level) = head;
        let config = HevcConfig {
            profile_space,
            is_high_tier,
            profile,
            compatibility,
            constraints,
            level,
            length_size: 4,
            is_complete: true,
            parameter_sets: Vec::new(),
        };
        assert_eq!(config.codec_string(), expected);
    }
    check((0, 1, 0x6000_0000, false, 93), [0xb0, 0, 0, 0, 0, 0], "hvc1.1.6.L93.B0");
    check((0, 2, 0x2000_0000, false, 153), [0xb0, 0, 0, 0, 0, 0], "hvc1.2.4.L153.B0");
    check((0, 1, 0x4000_0000, false, 93), [0xb0, 0, 0, 0, 0, 0], "hvc1.1.2.L93.B0");
    check((1, 4, 0x8200_0000, true, 120), [0xb0, 0x23, 0, 0, 0, 0], "hvc1.A4.41.H120.B0.23");
    check((0, 1, 0x6000_0000, false, 120), [0; 6], "hvc1.1.6.L120");
    check((3, 31, u32::MAX, true, 255), [0, 0, 0, 0, 0, 8], "hvc1.C31.FFFFFFFF.H255.0.0.0.0.0.8");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Sps::parse(&[&SPS_HEADER, &bytes[..]].concat());
        let _ = Sps::parse(&bytes);
        let _ = HevcConfig::parse(&bytes);
        let _ = HevcConfig::parse(&record(&[(33, &[&[&SPS_HEADER, &bytes[..]].concat()])]));
    }

    #[test]
    fn changed_parameter_sets_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let short_term_sets = &[Some((4, 0)), None, None, Some((2, 3)), None];
        let mut nal = written(&Wanted { short_term_sets, has_scaling_lists: true, long_term: Some(4), ..USUAL });
        for (at, value) in changes {
            let at = at.index(nal.len() - 2) + 2;
            nal[at] = value;
        }
        let _ = Sps::parse(&nal);
    }
}
