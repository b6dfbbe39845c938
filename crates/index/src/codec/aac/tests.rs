//! Hand-written configurations.

use proptest::prelude::*;

use super::*;

fn lc(sample_rate: u32, channels: u32) -> AudioConfig {
    AudioConfig {
        object_type: 2,
        extension: None,
        sample_rate,
        channels: Some(channels),
        packet_samples: 1024,
    }
}

#[test]
fn audio_specific_config_is_parsed() {
    fn check(name: &str, bytes: &[u8], expected: Option<AudioConfig>) {
        assert_eq!(AudioConfig::parse(bytes), expected, "{name}");
    }
    check("44.1 kHz stereo", &[0x12, 0x10], Some(lc(44_100, 2)));
    check("48 kHz stereo, SBR said to be absent", &[0x11, 0x90, 0x56, 0xe5, 0x00], Some(lc(48_000, 2)));
    check("48 kHz 5.1", &[0x11, 0xb0], Some(lc(48_000, 6)));
    check("48 kHz 7.1", &[0x11, 0xb8], Some(lc(48_000, 8)));
    check(
        "48 kHz mono, 960 samples",
        &[0x11, 0x8c],
        Some(AudioConfig { packet_samples: 960, ..lc(48_000, 1) }),
    );
    check("a rate written out", &[0x17, 0x80, 0x56, 0x22, 0x10], Some(lc(44_100, 2)));
    check(
        "HE-AAC by object type, 22.05 kHz core",
        &[0x2b, 0x92, 0x08, 0x00],
        Some(AudioConfig { extension: Some(Extension::Sbr), ..lc(22_050, 2) }),
    );
    check(
        "HE-AAC v2 by object type",
        &[0xeb, 0x8a, 0x08, 0x00],
        Some(AudioConfig { extension: Some(Extension::Ps), ..lc(22_050, 1) }),
    );
    check(
        "HE-AAC behind the configuration",
        &[0x13, 0x90, 0x56, 0xe5, 0xa0],
        Some(AudioConfig { extension: Some(Extension::Sbr), ..lc(22_050, 2) }),
    );
    check("AAC main", &[0x0a, 0x10], Some(AudioConfig { object_type: 1, channels: None, ..lc(44_100, 2) }));
    check("a reserved layout", &[0x12, 0x78], Some(AudioConfig { channels: None, ..lc(44_100, 2) }));
    check("a reserved rate", &[0x16, 0x90], None);
    check("cut short", &[0x12], None);
    check("nothing", &[], None);
}

#[test]
fn channels_of_a_program_config_element_are_counted() {
    // Layout 0: front one single and one pair, back one pair, one low frequency channel: 5.1.
    let mut bits = String::from("00010" /* LC */);
    bits += "0011"; // 48 kHz
    bits += "0000"; // layout in the element
    bits += "000"; // GASpecificConfig
    bits += "0000010011"; // tag, LC, 48 kHz
    bits += "001000000001"; // 2 front, 0 side, 1 back
    bits += "010000000"; // 1 low frequency, no data, no coupling
    bits += "000"; // no mixdowns
    bits += "00000"; // single, tag 0
    bits += "10000"; // pair, tag 0
    bits += "10001"; // pair, tag 1
    let bytes: Vec<u8> = bits
        .as_bytes()
        .chunks(8)
        .map(|chunk| {
            let chunk = format!("{:0<8}", std::str::from_utf8(chunk).unwrap());
            u8::from_str_radix(&chunk, 2).unwrap()
        })
        .collect();
    assert_eq!(AudioConfig::parse(&bytes).unwrap().channels, Some(6));
}

#[test]
fn esds_is_parsed_after_optional_fields() {
    let specific: &[u8] = &[0x05, 0x02, 0x12, 0x10];
    let decoder = [&[0x04, 17, 0x40, 0x15, 0, 0, 0, 0, 1, 0xf4, 0, 0, 1, 0xf4, 0], specific].concat();
    let expected = Esds { object_type_indication: 0x40, decoder_specific_info: Some(&[0x12, 0x10]) };

    let plain = [&[0, 0, 0, 0, 0x03, 22, 0, 1, 0], &decoder[..]].concat();
    assert_eq!(Esds::parse(&plain), Some(expected));
    let long_size = [&[0, 0, 0, 0, 0x03, 0x80, 0x80, 0x80, 22, 0, 1, 0], &decoder[..]].concat();
    assert_eq!(Esds::parse(&long_size), Some(expected));
    let all_fields = [&[0, 0, 0, 0, 0x03, 28, 0, 1, 0xe0, 9, 9, 1, b'u', 7, 7], &decoder[..]].concat();
    assert_eq!(Esds::parse(&all_fields), Some(expected));
    assert_eq!(Esds::parse(&plain[..12]), None);
    assert_eq!(expected.codec_string(Some(2)), "mp4a.40.2");
    assert_eq!(
        Esds { object_type_indication: 0x6b, decoder_specific_info: None }.codec_string(None),
        "mp4a.6B"
    );
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = AudioConfig::parse(&bytes);
        let _ = Esds::parse(&bytes);
    }
}
