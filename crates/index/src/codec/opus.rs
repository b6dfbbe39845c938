//! Opus: the `dOps` record. Encapsulation of Opus in ISO Base Media File Format, 4.3.2; RFC 7845, 5.1.

/// Samples per second of every Opus stream, independent of the rate of its input. RFC 7845, 5.1.
pub const SAMPLE_RATE: u32 = 48_000;
/// Samples of the shortest and the usual packet: 2.5 ms and 20 ms. RFC 6716, 2.1.4.
pub const PACKET_SAMPLES_MIN: u32 = 120;
/// See [`PACKET_SAMPLES_MIN`].
pub const PACKET_SAMPLES_DEFAULT: u32 = 960;
/// Samples of the longest packet: 120 ms. RFC 6716, 3.2.5.
const PACKET_SAMPLES_MAX: u32 = 5760;
/// Samples that a decoder needs before its output is correct: 80 ms. RFC 7845, 4.6.
pub const PRIMING_SAMPLES: u32 = 3840;
/// The RFC 6381 string: the name of the sample entry, in the same case. Safari accepts no other. Current
/// Chrome, Firefox and hls.js accept both this and `opus`.
pub const CODEC: &str = "Opus";

/// The fields of a `dOps` box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpusConfig {
    /// Number of channels, 1 or more.
    pub channels: u8,
    /// Samples at 48 kHz at the start of the decoder output that are not part of the audio.
    pub pre_skip: u16,
    /// Mapping of streams to channels: 0 is mono or stereo, 1 the layouts of Vorbis up to 7.1.
    pub mapping_family: u8,
    /// Streams in a packet.
    pub streams: u8,
    /// Number of coupled (stereo) streams among them.
    pub coupled: u8,
}

impl OpusConfig {
    /// Parses the body of a `dOps` box. `None` when it is truncated, of another version, or its streams do
    /// not match its channels.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (&[version, channels, skip_high, skip_low, _, _, _, _, _, _, mapping_family], rest) =
            body.split_first_chunk::<11>()?;
        if version != 0 || channels == 0 {
            return None;
        }
        let (streams, coupled) = if mapping_family == 0 {
            (1, channels.checked_sub(1).filter(|&coupled| coupled <= 1)?)
        } else {
            let (&[streams, coupled], mapping) = rest.split_first_chunk::<2>()?;
            // Decoded channels have the numbers below streams + coupled; 255 is silence. RFC 7845, 5.1.1.
            let decoded = u16::from(streams) + u16::from(coupled);
            let mapping = mapping.get(..usize::from(channels))?;
            let is_decoded = |&number: &u8| number == 255 || u16::from(number) < decoded;
            if streams == 0 || coupled > streams || !mapping.iter().all(is_decoded) {
                return None;
            }
            (streams, coupled)
        };
        let pre_skip = u16::from_be_bytes([skip_high, skip_low]);
        Some(OpusConfig { channels, pre_skip, mapping_family, streams, coupled })
    }
}

/// PCM samples that a packet decodes to, from its first bytes.
///
/// `None` where these are too few, and for more than 120 ms. RFC 6716, 3.1 and 3.2.
pub fn packet_samples(packet: &[u8]) -> Option<u32> {
    let (&toc, rest) = packet.split_first()?;
    let configuration = toc >> 3;
    let frame_samples = match configuration {
        0..12 => [480, 960, 1920, 2880][usize::from(configuration % 4)], // SILK
        12..16 => [480, 960][usize::from(configuration % 2)],            // hybrid
        _ => PACKET_SAMPLES_MIN << (configuration % 4),                  // CELT
    };
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(rest.first()? & 0x3f),
    };
    Some(frames * frame_samples).filter(|samples| (1..=PACKET_SAMPLES_MAX).contains(samples))
}

/// A silent packet of at most `samples_max` samples, and its number of samples.
///
/// `None` for more than two channels, whose packets hold several streams. The packet is one frame of the
/// fullband CELT mode with the silence flag set. RFC 6716, 3.1 and 4.3.
pub fn silent_packet(channels: u32, samples_max: u32) -> Option<(Vec<u8>, u32)> {
    // Configurations 28 to 31 last 2.5, 5, 10 and 20 ms. RFC 6716, table 2.
    let (configuration, samples) = (0..4)
        .rev()
        .map(|n| (28 + n, PACKET_SAMPLES_MIN << n))
        .find(|&(_, samples)| samples <= samples_max)?;
    let stereo: u8 = match channels {
        1 => 0,
        2 => 4,
        _ => return None,
    };
    Some((vec![configuration << 3 | stereo, 0xff, 0xfe], samples))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dops_gives_channels_and_pre_skip() {
        let stereo = [0, 2, 0x01, 0x38, 0, 0, 0xbb, 0x80, 0, 0, 0];
        let expected = OpusConfig { channels: 2, pre_skip: 312, mapping_family: 0, streams: 1, coupled: 1 };
        assert_eq!(OpusConfig::parse(&stereo), Some(expected));
        let surround = [&[0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 2][..], &[0, 4, 1, 2, 3, 5]].concat();
        let expected = OpusConfig { channels: 6, pre_skip: 0, mapping_family: 1, streams: 4, coupled: 2 };
        assert_eq!(OpusConfig::parse(&surround), Some(expected));

        let changed = |at: usize, value: u8| {
            let mut bytes = surround.clone();
            bytes[at] = value;
            OpusConfig::parse(&bytes)
        };
        assert_eq!(changed(0, 1), None, "another version");
        assert_eq!(changed(1, 0), None, "no channel");
        assert_eq!(changed(1, 7), None, "more channels than are mapped");
        assert_eq!(changed(10, 0), None, "six channels in the family of two");
        assert_eq!(changed(11, 0), None, "no stream");
        assert_eq!(changed(12, 5), None, "more stereo streams than streams");
        assert_eq!(changed(13, 6), None, "a channel of no stream");
        assert!(changed(13, 255).is_some(), "a silent channel");
        for len in 0..surround.len() {
            assert_eq!(OpusConfig::parse(&surround[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn opus_packet_duration_is_read_from_toc() {
        for (packet, expected) in [
            (&[0xfc][..], Some(960)),
            (&[0xe0], Some(120)),
            (&[0x18], Some(2880)),
            (&[0x79], Some(1920)),
            (&[0xfb, 3], Some(2880)),
            (&[0xfb, 6], Some(5760)),
            (&[0xfb, 7], None),
            (&[0xfb, 0], None),
            (&[0xfb], None),
            (&[], None),
        ] {
            assert_eq!(packet_samples(packet), expected, "{packet:x?}");
        }
        let silent = silent_packet(2, 480).unwrap();
        assert_eq!(packet_samples(&silent.0), Some(silent.1));
    }

    #[test]
    fn silent_packets_match_known_bytes() {
        assert_eq!(silent_packet(1, 960), Some((vec![0xf8, 0xff, 0xfe], 960)));
        assert_eq!(silent_packet(2, 2880), Some((vec![0xfc, 0xff, 0xfe], 960)));
        assert_eq!(silent_packet(2, 500), Some((vec![0xf4, 0xff, 0xfe], 480)));
        assert_eq!(silent_packet(1, 120), Some((vec![0xe0, 0xff, 0xfe], 120)));
        assert_eq!(silent_packet(1, 119), None);
        assert_eq!(silent_packet(6, 960), None);
        assert_eq!(silent_packet(0, 960), None);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(config) = OpusConfig::parse(&bytes) {
                prop_assert!(config.channels > 0 && config.streams > 0);
            }
        }
    }
}
