//! Rungs match their announcement.

use kinora_formats::encode::{Feed, init_of_rung, ladder_without_copy};
use kinora_index::{RungName, codec::h264::AvcConfig};

use crate::{
    Clip,
    boxes::find,
    encoder::{collected, encoded},
};

/// Encodes a few frames of all rungs; a collector rejects codecs and sizes that were not announced.
fn check(size: &str, rate: u32, expected: &[(RungName, &str)]) {
    let clip = Clip::made_by(&format!(
        "-f lavfi -i testsrc2=s={size}:r={rate} -frames:v 6 -c:v libx264 -preset ultrafast -pix_fmt yuv420p"
    ));
    let rungs = ladder_without_copy(&clip.index, 2160);
    let announced: Vec<_> = rungs.iter().map(|rung| (rung.name, rung.codec.as_str())).collect();
    assert_eq!(announced, expected, "{size} at {rate}");

    let feed = Feed::of_segments(&clip.index, 0..1).unwrap();
    let made = collected(&feed, &rungs, &encoded(&feed, &clip.bytes, &rungs), 1 << 16).unwrap();
    assert_eq!(made.segments.len(), rungs.len());
    for (rung, avcc) in rungs.iter().zip(&made.avcc) {
        let config = AvcConfig::parse(avcc).unwrap();
        assert_eq!(config.codec_string(), rung.codec, "{}", rung.name);
        assert_eq!(config.parameter_sets[0].pixel_aspect.unwrap_or((1, 1)), (1, 1));
        let init = init_of_rung(&clip.index, rung, avcc).unwrap();
        let tkhd = find(&init, "moov/trak/tkhd").body;
        let words: Vec<u32> =
            tkhd[76..].chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [rung.width << 16, rung.height << 16]);
    }
}

#[test]
fn rung_codec_string_matches_encoder_output() {
    check(
        "3840x2160",
        30,
        &[
            (RungName::P2160, "avc1.640033"),
            (RungName::P1440, "avc1.640032"),
            (RungName::P1080, "avc1.640028"),
            (RungName::P720, "avc1.64001f"),
            (RungName::P480, "avc1.64001f"),
            (RungName::P360, "avc1.64001e"),
            (RungName::P240, "avc1.640015"),
        ],
    );
    check(
        "1920x1080",
        60,
        &[
            (RungName::P1080, "avc1.64002a"),
            (RungName::P720, "avc1.640020"),
            (RungName::P480, "avc1.64001f"),
            (RungName::P360, "avc1.64001f"),
            (RungName::P240, "avc1.64001e"),
        ],
    );
    check("96x128", 30, &[(RungName::P240, "avc1.640014")]);
}
