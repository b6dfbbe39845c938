//! How long packets of sound last, by their codec. What a container writes of it is rounded; this is exact.

use crate::codec::opus;

/// How the packets of a track say what they decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packets {
    /// All decode to so many PCM samples.
    Same(u32),
    /// Each says it.
    Opus,
    /// So many bytes are a PCM sample of all channels.
    Pcm(u32),
    /// Only a decoder knows.
    Unknown,
}

impl Packets {
    /// The PCM samples of a packet, from its first bytes and its size; `None` where it does not say.
    pub(super) fn samples(self, head: &[u8], size: u32) -> Option<u32> {
        match self {
            Packets::Same(samples) => Some(samples),
            Packets::Opus => opus::packet_samples(head.get(..2.min(size as usize))?),
            Packets::Pcm(bytes) => size.checked_div(bytes).filter(|&samples| samples > 0),
            Packets::Unknown => None,
        }
    }

    /// Those of a codec that is not copied. `rate` is in Hz, `frame_bytes` those of a PCM sample of all channels, 0 where unknown.
    pub(super) fn of_codec(codec_id: &str, private: &[u8], rate: u32, frame_bytes: u32) -> Self {
        match codec_id {
            // ISO/IEC 11172-3, 2.4.2.1; ISO/IEC 13818-3, 2.4.2.3: half of it at the low rates.
            "A_MPEG/L3" => Packets::Same(if rate >= 32_000 { 1152 } else { 576 }),
            "A_MPEG/L2" => Packets::Same(1152),
            "A_MPEG/L1" => Packets::Same(384),
            // ETSI TS 102 366, 4.1: six blocks of 256. The blocks of E-AC-3 are mostly six, too.
            id if id == "A_EAC3" || id.starts_with("A_AC3") => Packets::Same(1536),
            "A_FLAC" => flac(private),
            id if id.starts_with("A_PCM/") && frame_bytes > 0 => Packets::Pcm(frame_bytes),
            _ => Packets::Unknown,
        }
    }
}

/// `STREAMINFO` behind the magic and the header of its block: all blocks have one size where the least is the largest. RFC 9639, 8.2.
fn flac(private: &[u8]) -> Packets {
    let sizes = private.strip_prefix(b"fLaC").and_then(|rest| rest.get(4..8));
    match sizes {
        Some(&[a, b, c, d]) if [a, b] == [c, d] && (a, b) != (0, 0) => {
            Packets::Same(u16::from_be_bytes([a, b]).into())
        }
        _ => Packets::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_last_as_long_as_their_codec_says() {
        let of = |id: &str, rate| Packets::of_codec(id, b"", rate, 4);
        assert_eq!(of("A_MPEG/L3", 44_100), Packets::Same(1152));
        assert_eq!(of("A_MPEG/L3", 22_050), Packets::Same(576));
        assert_eq!(of("A_AC3", 48_000), Packets::Same(1536));
        assert_eq!(of("A_AC3/BSID9", 48_000), Packets::Same(1536));
        assert_eq!(of("A_PCM/INT/LIT", 48_000), Packets::Pcm(4));
        assert_eq!(of("A_VORBIS", 48_000), Packets::Unknown);
        let flac = |sizes: [u8; 4]| {
            Packets::of_codec("A_FLAC", &[&b"fLaC\0\0\0\x22"[..], &sizes].concat(), 48_000, 0)
        };
        assert_eq!(flac([0x10, 0, 0x10, 0]), Packets::Same(4096));
        assert_eq!(flac([0x08, 0, 0x10, 0]), Packets::Unknown);
        assert_eq!(Packets::of_codec("A_FLAC", b"fLaC", 48_000, 0), Packets::Unknown);

        assert_eq!(Packets::Pcm(4).samples(&[], 4096), Some(1024));
        assert_eq!(Packets::Pcm(4).samples(&[], 3), None);
        assert_eq!(Packets::Opus.samples(&[0xfc, 0xff], 1), Some(960));
        assert_eq!(Packets::Opus.samples(&[], 0), None);
    }
}
