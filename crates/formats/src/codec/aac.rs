//! AAC: the `AudioSpecificConfig` and the descriptors of `esds` around it. ISO/IEC 14496-3, 1.6; ISO/IEC 14496-1, 7.2.6.

use super::bits::Bits;

/// Audio object type of AAC-LC. ISO/IEC 14496-3, table 1.17.
const AAC_LC: u32 = 2;
/// Spectral band replication, and parametric stereo on top of it.
const SBR: u32 = 5;
const PS: u32 = 29;
/// Announces a signalling of SBR that old decoders overlook. ISO/IEC 14496-3, 1.6.6.1.
const SYNC_EXTENSION: u32 = 0x2b7;
/// ISO/IEC 14496-3, table 1.18.
const SAMPLE_RATES: [u32; 13] =
    [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
/// `objectTypeIndication` of MPEG-4 audio and of MPEG-2 AAC-LC. ISO/IEC 14496-1, table 5.
const MPEG4_AUDIO: u8 = 0x40;
const MPEG2_AAC_LC: u8 = 0x67;

/// What an `AudioSpecificConfig` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioConfig {
    /// Audio object type of the core: 2 is AAC-LC.
    pub object_type: u32,
    /// Set when SBR or parametric stereo is signalled, by object type or behind the configuration.
    pub extension: Option<Extension>,
    /// Samples a second of the core.
    pub sample_rate: u32,
    /// Number of channels; `None` for a layout that is reserved or cannot be counted.
    pub channels: Option<u32>,
    /// PCM samples of one packet of the core.
    pub packet_samples: u32,
}

/// What makes AAC-LC into HE-AAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Spectral band replication: HE-AAC.
    Sbr,
    /// With parametric stereo: HE-AAC v2.
    Ps,
}

/// What the descriptors of an `esds` box say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Esds<'a> {
    /// Which family of codecs.
    pub object_type_indication: u8,
    /// The codec's own configuration, when there is one.
    pub specific: Option<&'a [u8]>,
}

impl AudioConfig {
    /// Reads an `AudioSpecificConfig`. `None` when it is cut short or its sample rate is reserved.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(bytes);
        let mut object_type = object_type_of(&mut bits)?;
        let sample_rate = sample_rate_of(&mut bits)?;
        let layout = bits.u(4)?;
        let mut extension = None;
        if object_type == SBR || object_type == PS {
            extension = Some(if object_type == PS { Extension::Ps } else { Extension::Sbr });
            sample_rate_of(&mut bits)?; // of the extension
            object_type = object_type_of(&mut bits)?;
        }
        let mut config =
            AudioConfig { object_type, extension, sample_rate, channels: None, packet_samples: 1024 };
        if object_type != AAC_LC {
            return Some(config);
        }

        // GASpecificConfig. ISO/IEC 14496-3, 4.4.1.
        if bits.flag()? {
            config.packet_samples = 960;
        }
        if bits.flag()? {
            bits.skip(14)?; // coreCoderDelay
        }
        bits.skip(1)?; // extensionFlag, nothing follows it for AAC-LC
        config.channels = if layout == 0 { program_channels(&mut bits) } else { channels_of_layout(layout) };

        if config.extension.is_none() && bits.left() >= 16 && bits.u(11)? == SYNC_EXTENSION {
            config.extension = sync_extension(&mut bits);
        }
        Some(config)
    }
}

impl<'a> Esds<'a> {
    /// Reads the body of an `esds` box, version and flags included.
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (_, rest) = body.split_first_chunk::<4>()?;
        let stream = descriptor(rest, 0x03)?;
        let (&[_, _, flags], mut rest) = stream.split_first_chunk::<3>()?;
        if flags & 0x80 != 0 {
            rest = rest.get(2..)?; // dependsOn_ES_ID
        }
        if flags & 0x40 != 0 {
            let (&len, after) = rest.split_first()?;
            rest = after.get(usize::from(len)..)?; // URL
        }
        if flags & 0x20 != 0 {
            rest = rest.get(2..)?; // OCR_ES_Id
        }
        let decoder = descriptor(rest, 0x04)?;
        let (head, rest) = decoder.split_first_chunk::<13>()?;
        Some(Esds { object_type_indication: head[0], specific: descriptor(rest, 0x05) })
    }

    /// The RFC 6381 string, for instance `mp4a.40.2`.
    ///
    /// The object type is that of the configuration, for the two families that carry one.
    pub fn codec_string(&self, object_type: Option<u32>) -> String {
        match object_type {
            Some(object_type) if self.object_type_indication == MPEG4_AUDIO => {
                format!("mp4a.40.{object_type}")
            }
            _ => format!("mp4a.{:02X}", self.object_type_indication),
        }
    }

    /// Whether the configuration is an `AudioSpecificConfig` of MPEG-4 audio or MPEG-2 AAC-LC.
    pub fn is_aac_family(&self) -> bool {
        matches!(self.object_type_indication, MPEG4_AUDIO | MPEG2_AAC_LC)
    }
}

/// The body of the first descriptor, if it has this tag. Sizes are 7 bits a byte, in at most 4 bytes. ISO/IEC 14496-1, 8.3.3.
fn descriptor(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (&found, mut rest) = bytes.split_first()?;
    if found != tag {
        return None;
    }
    let mut size = 0usize;
    for _ in 0..4 {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        size = size << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            // Some writers announce more than they write; what is there is enough.
            return Some(&rest[..size.min(rest.len())]);
        }
    }
    None
}

fn object_type_of(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.u(5)? {
        31 => Some(32 + bits.u(6)?),
        object_type => Some(object_type),
    }
}

fn sample_rate_of(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.u(4)? {
        15 => bits.u(24).filter(|&rate| rate > 0),
        index => SAMPLE_RATES.get(index as usize).copied(),
    }
}

/// ISO/IEC 14496-3, table 1.19.
fn channels_of_layout(layout: u32) -> Option<u32> {
    match layout {
        1..=6 => Some(layout),
        7 | 12 | 14 => Some(8),
        11 => Some(7),
        _ => None,
    }
}

/// Counts the channels of a `program_config_element`. ISO/IEC 14496-3, table 4.2.
fn program_channels(bits: &mut Bits<'_>) -> Option<u32> {
    bits.skip(4 + 2 + 4)?; // element_instance_tag, object_type, sampling_frequency_index
    let [front, side, back] = [bits.u(4)?, bits.u(4)?, bits.u(4)?];
    let [low, _data, _coupling] = [bits.u(2)?, bits.u(3)?, bits.u(4)?];
    for mixdown_width in [4, 4, 3] {
        if bits.flag()? {
            bits.skip(mixdown_width)?;
        }
    }
    let mut channels = low;
    for _ in 0..front + side + back {
        channels += if bits.flag()? { 2 } else { 1 }; // a pair or a single channel
        bits.skip(4)?; // its tag
    }
    Some(channels)
}

fn sync_extension(bits: &mut Bits<'_>) -> Option<Extension> {
    if object_type_of(bits)? != SBR || !bits.flag()? {
        return None;
    }
    sample_rate_of(bits)?;
    // psPresentFlag behind its own sync word.
    let has_ps = bits.left() >= 12 && bits.u(11)? == 0x548 && bits.flag()?;
    Some(if has_ps { Extension::Ps } else { Extension::Sbr })
}

#[cfg(test)]
mod tests {
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
    fn configurations_are_read_as_the_standard_says() {
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
        check(
            "AAC main",
            &[0x0a, 0x10],
            Some(AudioConfig { object_type: 1, channels: None, ..lc(44_100, 2) }),
        );
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
    fn descriptors_are_found_behind_optional_fields() {
        let specific: &[u8] = &[0x05, 0x02, 0x12, 0x10];
        let decoder = [&[0x04, 17, 0x40, 0x15, 0, 0, 0, 0, 1, 0xf4, 0, 0, 1, 0xf4, 0], specific].concat();
        let expected = Esds { object_type_indication: 0x40, specific: Some(&[0x12, 0x10]) };

        let plain = [&[0, 0, 0, 0, 0x03, 22, 0, 1, 0], &decoder[..]].concat();
        assert_eq!(Esds::parse(&plain), Some(expected));
        let long_size = [&[0, 0, 0, 0, 0x03, 0x80, 0x80, 0x80, 22, 0, 1, 0], &decoder[..]].concat();
        assert_eq!(Esds::parse(&long_size), Some(expected));
        let all_fields = [&[0, 0, 0, 0, 0x03, 28, 0, 1, 0xe0, 9, 9, 1, b'u', 7, 7], &decoder[..]].concat();
        assert_eq!(Esds::parse(&all_fields), Some(expected));
        assert_eq!(Esds::parse(&plain[..12]), None);
        assert_eq!(expected.codec_string(Some(2)), "mp4a.40.2");
        assert_eq!(Esds { object_type_indication: 0x6b, specific: None }.codec_string(None), "mp4a.6B");
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = AudioConfig::parse(&bytes);
            let _ = Esds::parse(&bytes);
        }
    }
}
