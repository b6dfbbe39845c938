//! How frames are inspected, and the duration of audio packets, by their codec. Durations in a container are
//! rounded; these are exact.

use kinora_index::codec::opus;
use serde::{Deserialize, Serialize};

use crate::vorbis::VorbisBlocks;

/// How a frame is inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FrameCodec {
    Vp8,
    Av1,
    OtherVideo,
    Audio(PacketDuration),
}

/// How the decoded length of the packets of a track is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PacketDuration {
    /// All packets decode to the same number of PCM samples.
    Same(u32),
    /// Each packet contains it.
    Opus,
    /// Each packet contains it, at 48 kHz.
    Dts,
    /// It follows from a packet and the previous one.
    Vorbis(VorbisBlocks),
    /// Bytes of a PCM sample of all channels.
    Pcm(u32),
    /// Blocks of constant size and sample count.
    Blocks {
        /// Bytes of a block; not 0.
        bytes: u32,
        /// Samples of each channel in a block.
        samples: u32,
    },
    /// Only a decoder can determine it.
    Unknown,
    /// This number of PCM samples, except for packets that contain their own: the last one.
    Alac(u32),
    /// This number of PCM samples, except for the last packet; each contains it.
    Flac(u32),
    /// Each packet contains it.
    WavPack,
}

impl PacketDuration {
    /// Whether the state after a packet that was read from a checkpoint is valid.
    pub(crate) fn is_valid(self, state: u32) -> bool {
        match self {
            PacketDuration::Vorbis(blocks) => blocks.is_valid(state),
            _ => true,
        }
    }

    /// The PCM samples of a packet, from its first bytes and its size; `None` if it does not contain them.
    /// `state` is what the next packet of the same track needs of this one; 0 before the first.
    pub(crate) fn samples(self, head: &[u8], size: u32, state: &mut u32) -> Option<u32> {
        match self {
            PacketDuration::Same(samples) => Some(samples),
            PacketDuration::Opus => opus::packet_samples(head.get(..2.min(size as usize))?),
            PacketDuration::Dts => dts_samples(head),
            PacketDuration::Vorbis(blocks) => blocks.samples(*head.first().filter(|_| size > 0)?, state),
            PacketDuration::Pcm(bytes) => size.checked_div(bytes).filter(|&samples| samples > 0),
            PacketDuration::Blocks { bytes, samples } => {
                let samples = u64::from(size) * u64::from(samples) / u64::from(bytes.max(1));
                u32::try_from(samples).ok().filter(|&samples| samples > 0)
            }
            PacketDuration::Unknown => None,
            PacketDuration::Alac(usual) => Some(alac_samples(head).unwrap_or(usual)),
            PacketDuration::Flac(usual) => {
                Some(flac_samples(head).filter(|&samples| samples < usual).unwrap_or(usual))
            }
            PacketDuration::WavPack => {
                head.first_chunk().map(|&first| u32::from_le_bytes(first)).filter(|&samples| samples > 0)
            }
        }
    }

    /// The packets of a codec that is not copied. `rate` is in Hz, `frame_bytes` is the size of a PCM sample
    /// of all channels, 0 if unknown.
    pub(crate) fn of_codec(codec_id: &str, private: &[u8], rate: u32, frame_bytes: u32) -> Self {
        match codec_id {
            // ISO/IEC 11172-3, 2.4.2.1; ISO/IEC 13818-3, 2.4.2.3: half of it at the low rates.
            "A_MPEG/L3" => PacketDuration::Same(if rate >= 32_000 { 1152 } else { 576 }),
            "A_MPEG/L2" => PacketDuration::Same(1152),
            "A_MPEG/L1" => PacketDuration::Same(384),
            // ETSI TS 102 366, 4.1: six blocks of 256. Most packets of E-AC-3 also have six.
            id if id == "A_EAC3" || id.starts_with("A_AC3") => PacketDuration::Same(1536),
            "A_FLAC" => flac_duration(private),
            "A_VORBIS" => {
                VorbisBlocks::of_headers(private).map_or(PacketDuration::Unknown, PacketDuration::Vorbis)
            }
            // With extensions it is a multiple of that of the core. A player may lack the extensions: then
            // the written times apply.
            id if id.starts_with("A_DTS") => PacketDuration::Dts,
            // The configuration begins with the number. ALAC Specific Config, "Apple Lossless Format
            // Description".
            "A_ALAC" => match private.first_chunk().map(|&first| u32::from_be_bytes(first)) {
                Some(usual @ 1..=ALAC_SAMPLES_MAX) => PacketDuration::Alac(usual),
                _ => PacketDuration::Unknown,
            },
            // A block in Matroska begins with the number. Matroska, codec mappings, "A_WAVPACK4".
            "A_WAVPACK4" => PacketDuration::WavPack,
            "A_TRUEHD" | "A_MLP" => true_hd_duration(rate),
            id if id.starts_with("A_PCM/") && frame_bytes > 0 => PacketDuration::Pcm(frame_bytes),
            "A_MS/ACM" => acm_duration(private).unwrap_or(PacketDuration::Unknown),
            _ => PacketDuration::Unknown,
        }
    }
}

/// The packet length of a `WAVEFORMATEX`. Microsoft, "Multimedia Data Standards Update", 1994; RFC 2361.
fn acm_duration(private: &[u8]) -> Option<PacketDuration> {
    const PCM: u16 = 0x0001;
    const MS_ADPCM: u16 = 0x0002;
    const FLOAT: u16 = 0x0003;
    const A_LAW: u16 = 0x0006;
    const MU_LAW: u16 = 0x0007;
    const IMA_ADPCM: u16 = 0x0011;
    const GSM: u16 = 0x0031;

    let number = |at: usize| Some(u16::from_le_bytes(*private.get(at..)?.first_chunk()?));
    let (tag, block_len) = (number(0)?, u32::from(number(12)?));
    match tag {
        PCM | FLOAT | A_LAW | MU_LAW => Some(PacketDuration::Pcm(block_len)).filter(|_| block_len > 0),
        // `wSamplesPerBlock` is the first field of the extension.
        MS_ADPCM | IMA_ADPCM | GSM if block_len > 0 => {
            Some(PacketDuration::Blocks { bytes: block_len, samples: number(18)?.into() })
        }
        _ => None,
    }
}

/// Maximum accepted PCM samples of an ALAC packet; encoders write 4096.
const ALAC_SAMPLES_MAX: u32 = 1 << 16;

/// The number in a packet of ALAC, if it has one. It follows 3 bits of the element's kind, 4 of its number,
/// 12 unused bits, a flag and 3 other bits. "Apple Lossless Format Description".
fn alac_samples(head: &[u8]) -> Option<u32> {
    let bits = u64::from_be_bytes(*head.first_chunk()?);
    let has_number = bits >> (63 - 19) & 1 == 1;
    let number = (bits >> (63 - 54)) as u32;
    (has_number && (1..=ALAC_SAMPLES_MAX).contains(&number)).then_some(number)
}

/// The head of a frame of the core contains the number of blocks of 32 samples. ETSI TS 102 114, 5.3.1.
fn dts_samples(head: &[u8]) -> Option<u32> {
    let &[a, b] = head.strip_prefix(&[0x7f, 0xfe, 0x80, 0x01])?.first_chunk()?;
    let blocks = u32::from(a & 1) << 6 | u32::from(b >> 2);
    Some(32 * (blocks + 1)).filter(|_| blocks >= 5)
}

/// An access unit is 40 samples at 44.1 and 48 kHz, and has the same duration at their multiples. Meridian
/// Lossless Packing, 3.
fn true_hd_duration(rate: u32) -> PacketDuration {
    let base = [48_000, 44_100].into_iter().find(|base| rate > 0 && rate.is_multiple_of(*base));
    base.map_or(PacketDuration::Unknown, |base| PacketDuration::Same(40 * (rate / base)))
}

/// `STREAMINFO` after the magic and the header of its block: all blocks have one size if the minimum equals
/// the maximum. RFC 9639, 8.2.
fn flac_duration(private: &[u8]) -> PacketDuration {
    let sizes = private.strip_prefix(b"fLaC").and_then(|rest| rest.get(4..8));
    match sizes {
        Some(&[a, b, c, d]) if [a, b] == [c, d] && (a, b) != (0, 0) => {
            PacketDuration::Flac(u16::from_be_bytes([a, b]).into())
        }
        _ => PacketDuration::Unknown,
    }
}

/// The number in the header of a frame of FLAC: a code of 4 bits, or 8 or 16 bits after the number of the
/// frame, which is coded like a UTF-8 character. RFC 9639, 9.1.
fn flac_samples(head: &[u8]) -> Option<u32> {
    let &[0xff, 0xf8 | 0xf9, codes, _, first, ..] = head else { return None };
    let number_len = match first.leading_ones() {
        0 => 1,
        len @ 2..=7 => len as usize,
        _ => return None,
    };
    let after_number = head.get(4 + number_len..)?;
    Some(match codes >> 4 {
        1 => 192,
        code @ 2..=5 => 144 << code,
        6 => u32::from(*after_number.first()?) + 1,
        7 => u32::from(u16::from_be_bytes(*after_number.first_chunk()?)) + 1,
        code @ 8..=15 => 1 << code,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_duration_is_read_by_codec() {
        let of = |id: &str, rate| PacketDuration::of_codec(id, b"", rate, 4);
        assert_eq!(of("A_MPEG/L3", 44_100), PacketDuration::Same(1152));
        assert_eq!(of("A_MPEG/L3", 22_050), PacketDuration::Same(576));
        assert_eq!(of("A_AC3", 48_000), PacketDuration::Same(1536));
        assert_eq!(of("A_AC3/BSID9", 48_000), PacketDuration::Same(1536));
        assert_eq!(of("A_PCM/INT/LIT", 48_000), PacketDuration::Pcm(4));
        assert_eq!(of("A_VORBIS", 48_000), PacketDuration::Unknown);
        let flac = |sizes: [u8; 4]| {
            PacketDuration::of_codec("A_FLAC", &[&b"fLaC\0\0\0\x22"[..], &sizes].concat(), 48_000, 0)
        };
        assert_eq!(flac([0x10, 0, 0x10, 0]), PacketDuration::Flac(4096));
        assert_eq!(flac([0x08, 0, 0x10, 0]), PacketDuration::Unknown);
        assert_eq!(PacketDuration::of_codec("A_FLAC", b"fLaC", 48_000, 0), PacketDuration::Unknown);

        assert_eq!(of("A_DTS", 48_000), PacketDuration::Dts);
        assert_eq!(of("A_TRUEHD", 48_000), PacketDuration::Same(40));
        assert_eq!(of("A_TRUEHD", 192_000), PacketDuration::Same(160));
        assert_eq!(of("A_MLP", 88_200), PacketDuration::Same(80));
        assert_eq!(of("A_MLP", 12_345), PacketDuration::Unknown);

        // Tag, channels, rate, bytes per second, block, bits, length of the extension, samples in a block.
        let wave = |tag: u16, block: u16, samples: u16| {
            let numbers = [tag, 1, 8000, 0, 8000, 0, block, 4, 2, samples];
            let private = numbers.map(u16::to_le_bytes).concat();
            PacketDuration::of_codec("A_MS/ACM", &private, 8000, 0)
        };
        let ima = PacketDuration::Blocks { bytes: 1024, samples: 2041 };
        assert_eq!(wave(0x11, 1024, 2041), ima);
        assert_eq!(wave(0x07, 1, 0), PacketDuration::Pcm(1));
        assert_eq!(wave(0x11, 0, 2041), PacketDuration::Unknown);
        assert_eq!(wave(0x161, 743, 0), PacketDuration::Unknown);
        assert_eq!(PacketDuration::of_codec("A_MS/ACM", &[0x11, 0], 8000, 0), PacketDuration::Unknown);

        let samples = |packets: PacketDuration, head: &[u8], size| packets.samples(head, size, &mut 0);
        assert_eq!(samples(ima, &[], 4096), Some(8164));
        assert_eq!(samples(ima, &[], 0), None);
        assert_eq!(samples(PacketDuration::Pcm(4), &[], 4096), Some(1024));
        assert_eq!(samples(PacketDuration::Pcm(4), &[], 3), None);
        assert_eq!(samples(PacketDuration::Opus, &[0xfc, 0xff], 1), Some(960));
        assert_eq!(samples(PacketDuration::Opus, &[], 0), None);
        let frame = |head: &[u8]| samples(PacketDuration::Flac(4096), head, 90);
        assert_eq!(frame(&[0xff, 0xf8, 0xc9, 0x18, 0x00, 0xc2]), Some(4096));
        assert_eq!(frame(&[0xff, 0xf8, 0x79, 0x18, 0x2b, 0x02, 0x0f]), Some(528));
        assert_eq!(frame(&[0xff, 0xf8, 0x69, 0x18, 0xc3, 0x80, 0x63]), Some(100));
        assert_eq!(frame(&[0xff, 0xf8, 0x79, 0x18, 0xc3]), Some(4096));
        assert_eq!(frame(&[0xff, 0xf8, 0xd9, 0x18, 0x00, 0xc2]), Some(4096), "more than the stream says");
        assert_eq!(samples(PacketDuration::WavPack, &[0x22, 0x56, 0, 0, 1, 2, 3, 4], 90), Some(0x5622));
        assert_eq!(samples(PacketDuration::WavPack, &[0; 8], 90), None);
        let alac = PacketDuration::of_codec("A_ALAC", &[0, 0, 0x10, 0, 0, 16], 44_100, 0);
        assert_eq!(alac, PacketDuration::Alac(4096));
        assert_eq!(samples(alac, &[0x20, 0, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff], 90), Some(4096));
        // 272, after the flag.
        assert_eq!(samples(alac, &[0x20, 0, 0x10, 0, 0, 0x02, 0x20, 0xff], 90), Some(272));
        assert_eq!(PacketDuration::of_codec("A_ALAC", &[0; 4], 44_100, 0), PacketDuration::Unknown);
        // 16 blocks of 32.
        assert_eq!(samples(PacketDuration::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfc, 0x3c, 0, 0], 9), Some(512));
        assert_eq!(samples(PacketDuration::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfd, 0xfc], 9), Some(4096));
        assert_eq!(samples(PacketDuration::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfc], 9), None);
        assert_eq!(samples(PacketDuration::Dts, &[0x64, 0x58, 0x20, 0x25, 0, 0], 9), None);
    }
}
