//! Records and sequence headers: from encoders, and written bit by bit.

use proptest::prelude::*;

use super::*;
use crate::codec::testing::Writer;

/// `av1C` of libaom: 96x54, 8 bits. The expected values come from ffprobe.
const AOM: [u8; 16] = [0x81, 0, 0x0c, 0, 0x0a, 0x0a, 0, 0, 0, 0x03, 0x2d, 0xfd, 0x4d, 0xaf, 0x90, 0x04];
/// The same with 10 bits, BT.2020 and PQ.
const AOM_HDR: [u8; 19] =
    [0x81, 0, 0x4c, 0, 0x0a, 0x0d, 0, 0, 0, 0x03, 0x2d, 0xfd, 0x4d, 0xaf, 0x95, 0x09, 0x10, 0x09, 0x04];
const HDR: Colour = Colour { primaries: 9, transfer: 16, matrix: 9, is_full_range: false };

#[test]
fn records_of_encoders_are_read() {
    let config = Av1Config::parse(&AOM).unwrap();
    let expected = Av1Config {
        profile: 0,
        level: 0,
        is_high_tier: false,
        bit_depth: 8,
        is_monochrome: false,
        subsampling: (true, true),
        sequence: Some(SequenceHeader { width: 96, height: 54, colour: None, chroma_position: 0 }),
    };
    assert_eq!(config, expected);
    assert_eq!(config.codec_string(None), "av01.0.00M.08");

    let config = Av1Config::parse(&AOM_HDR).unwrap();
    let sequence = SequenceHeader { width: 96, height: 54, colour: Some(HDR), chroma_position: 0 };
    assert_eq!((config.bit_depth, &config.sequence), (10, &Some(sequence)));
    assert_eq!(config.codec_string(None), "av01.0.00M.10.0.110.09.16.09.0");
}

#[test]
fn invalid_av1c_is_rejected() {
    for len in 0..AOM.len() {
        // The record alone is complete; its OBU is not.
        assert_eq!(Av1Config::parse(&AOM[..len]).is_some(), len == 4, "{len} bytes");
    }
    let changed = |at: usize, value: u8| {
        let mut bytes = AOM;
        bytes[at] = value;
        Av1Config::parse(&bytes)
    };
    assert_eq!(changed(0, 0x82), None, "another version");
    assert_eq!(changed(0, 0x01), None, "without its marker");
    assert_eq!(changed(5, 0xff), None, "a size without an end");
    assert_eq!(changed(5, 0x0b), None, "a unit longer than the record");
    assert_eq!(Av1Config::parse(&[&AOM[..4], &[0x0a, 2, 0, 0]].concat()), None, "a unit of nothing");
    let padding = [&AOM[..4], &[0x7a, 1, 0], &AOM[4..]].concat();
    assert_eq!(Av1Config::parse(&padding), Av1Config::parse(&AOM), "a unit in front");
}

#[test]
fn av1_codec_strings_match_the_binding() {
    let usual = Av1Config {
        profile: 0,
        level: 4,
        is_high_tier: false,
        bit_depth: 8,
        is_monochrome: false,
        subsampling: (true, true),
        sequence: None,
    };
    let with_sequence = |colour, chroma_position| Av1Config {
        sequence: Some(SequenceHeader { width: 1, height: 1, colour, chroma_position }),
        ..usual.clone()
    };
    let check = |config: &Av1Config, colour: Option<Colour>, expected: &str| {
        assert_eq!(config.codec_string(colour), expected);
    };
    check(&usual, None, "av01.0.04M.08");
    check(
        &Av1Config { level: 31, is_high_tier: true, bit_depth: 10, ..usual.clone() },
        None,
        "av01.0.31H.10",
    );
    check(&usual, Some(Colour::BT709), "av01.0.04M.08");
    check(&usual, Some(HDR), "av01.0.04M.08.0.110.09.16.09.0");
    let full = Colour { is_full_range: true, ..Colour::BT709 };
    check(&usual, Some(full), "av01.0.04M.08.0.110.01.01.01.1");
    check(&Av1Config { is_monochrome: true, ..usual.clone() }, None, "av01.0.04M.08.1.110.01.01.01.0");
    check(&with_sequence(None, 2), None, "av01.0.04M.08");
    check(&with_sequence(Some(HDR), 2), Some(full), "av01.0.04M.08.0.112.09.16.09.0");
    check(&with_sequence(None, 1), Some(HDR), "av01.0.04M.08.0.111.09.16.09.0");
}

/// The fields of a sequence header of the Main profile.
#[derive(Clone, Copy)]
struct Wanted {
    is_reduced: bool,
    /// Timing with equal intervals, and the decoder model.
    has_timing: bool,
    has_display_delay: bool,
    operating_points: u32,
    has_frame_ids: bool,
    has_order_hint: bool,
    /// Forced on or off, or chosen by each frame.
    screen_content: Option<u32>,
    is_monochrome: bool,
    colour: Option<[u32; 3]>,
}

const USUAL: Wanted = Wanted {
    is_reduced: false,
    has_timing: false,
    has_display_delay: false,
    operating_points: 1,
    has_frame_ids: false,
    has_order_hint: true,
    screen_content: None,
    is_monochrome: false,
    colour: Some([9, 18, 9]),
};

fn written(fields: Wanted) -> Vec<u8> {
    let mut bits = Writer::default();
    bits.u(3, 0).u(1, 0).u(1, fields.is_reduced.into());
    if fields.is_reduced {
        bits.u(5, 8);
    } else {
        bits.u(1, fields.has_timing.into());
        if fields.has_timing {
            bits.u(32, 1001).u(32, 30_000).u(1, 1).u(3, 0b001).u(2, 0b10); // ticks of a frame: 5
            bits.u(1, 1).u(5, 9).u(32, 1).u(5, 3).u(5, 3); // delays of 10 bits
        }
        bits.u(1, fields.has_display_delay.into()).u(5, fields.operating_points - 1);
        for n in 0..fields.operating_points {
            let level = 7 + n; // from 8 on there is a tier
            bits.u(12, 1).u(5, level);
            if level > 7 {
                bits.u(1, 1);
            }
            if fields.has_timing {
                bits.u(1, 1).u(10, 1).u(10, 2).u(1, 0);
            }
            if fields.has_display_delay {
                bits.u(1, 1).u(4, 9);
            }
        }
    }
    bits.u(4, 10).u(4, 10).u(11, 1919).u(11, 1079);
    if !fields.is_reduced {
        bits.u(1, fields.has_frame_ids.into());
        if fields.has_frame_ids {
            bits.u(7, 0);
        }
    }
    bits.u(3, 0b111);
    if !fields.is_reduced {
        bits.u(4, 0b1111).u(1, fields.has_order_hint.into());
        if fields.has_order_hint {
            bits.u(2, 0b11);
        }
        match fields.screen_content {
            None => bits.u(1, 1),
            Some(forced) => bits.u(1, 0).u(1, forced),
        };
        if fields.screen_content != Some(0) {
            bits.u(1, 0).u(1, 1);
        }
        if fields.has_order_hint {
            bits.u(3, 6);
        }
    }
    bits.u(3, 0b111).u(1, 0).u(1, fields.is_monochrome.into()).u(1, fields.colour.is_some().into());
    for number in fields.colour.into_iter().flatten() {
        bits.u(8, number);
    }
    if fields.colour != Some([1, 13, 0]) || fields.is_monochrome {
        bits.u(1, 1);
        if !fields.is_monochrome {
            bits.u(2, 2);
        }
    }
    bits.bytes()
}

#[test]
fn sequence_header_gives_frame_size_and_format() {
    fn check(name: &str, fields: Wanted) {
        let colour = fields.colour.map(|[primaries, transfer, matrix]| Colour {
            primaries: primaries as u16,
            transfer: transfer as u16,
            matrix: matrix as u16,
            is_full_range: true,
        });
        let has_position = !fields.is_monochrome && fields.colour != Some([1, 13, 0]);
        let chroma_position = if has_position { 2 } else { 0 };
        let expected = SequenceHeader { width: 1920, height: 1080, colour, chroma_position };
        assert_eq!(SequenceHeader::parse(&written(fields)), Some(expected), "{name}");
    }
    check("usual", USUAL);
    check("of still pictures", Wanted { is_reduced: true, ..USUAL });
    check("timing", Wanted { has_timing: true, ..USUAL });
    check("display delay", Wanted { has_display_delay: true, ..USUAL });
    check("all", Wanted { has_timing: true, has_display_delay: true, operating_points: 20, ..USUAL });
    check("frame ids", Wanted { has_frame_ids: true, ..USUAL });
    check("no order hint", Wanted { has_order_hint: false, ..USUAL });
    check("screen content", Wanted { screen_content: Some(1), ..USUAL });
    check("no screen content", Wanted { screen_content: Some(0), ..USUAL });
    check("monochrome", Wanted { is_monochrome: true, ..USUAL });
    check("RGB", Wanted { colour: Some([1, 13, 0]), ..USUAL });
    check("no description", Wanted { colour: None, ..USUAL });
}

#[test]
fn truncated_sequence_header_is_rejected() {
    let bytes = written(USUAL);
    for len in 0..bytes.len() {
        assert_eq!(SequenceHeader::parse(&bytes[..len]), None, "{len} bytes");
    }
    // Timing with a `uvlc` number of too many leading zeros (ticks per frame).
    assert_eq!(
        SequenceHeader::parse(&[&[0b0000_0100, 0, 0, 0, 0, 0, 0, 0, 0b10][..], &[0; 60]].concat()),
        None
    );
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = SequenceHeader::parse(&bytes);
        let _ = Av1Config::parse(&bytes);
        if let Some(config) = Av1Config::parse(&[&AOM[..4], &bytes[..]].concat()) {
            prop_assert!(config.codec_string(Some(HDR)).starts_with("av01.0.00M.08."));
        }
    }

    #[test]
    fn changed_sequence_headers_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = written(Wanted { has_timing: true, has_display_delay: true, operating_points: 9, ..USUAL });
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = SequenceHeader::parse(&bytes);
    }
}
