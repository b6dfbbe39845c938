//! What is looked for in frames, and how long packets of sound last, by their codec. What a container writes
//! of it is rounded; this is exact.

use kinora_index::codec::opus;
use serde::{Deserialize, Serialize};

use crate::vorbis::VorbisBlocks;

/// What is looked for in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RowCodec {
    Vp8,
    Av1,
    OtherVideo,
    Audio(Packets),
}

/// How the packets of a track say what they decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Packets {
    /// All decode to so many PCM samples.
    Same(u32),
    /// Each says it.
    Opus,
    /// Each says it, of 48 kHz.
    Dts,
    /// Each says it, with the one before.
    Vorbis(VorbisBlocks),
    /// So many bytes are a PCM sample of all channels.
    Pcm(u32),
    /// Blocks of so many bytes are so many PCM samples.
    Blocks {
        /// Bytes of a block; not 0.
        bytes: u32,
        /// Samples of each channel in it.
        samples: u32,
    },
    /// Only a decoder knows.
    Unknown,
    /// As many PCM samples as said here, but for those that say it themselves: the last one.
    Alac(u32),
    /// As many PCM samples as said here, but for the last one; each says it.
    Flac(u32),
    /// Each says it.
    WavPack,
}

impl Packets {
    /// Whether they can go on behind a packet that came back from a checkpoint.
    pub(crate) fn is_sound(self, before: u32) -> bool {
        match self {
            Packets::Vorbis(blocks) => blocks.is_sound(before),
            _ => true,
        }
    }

    /// The PCM samples of a packet, from its first bytes and its size; `None` where it does not say. `before`
    /// is kept for the next packet of the same track; 0 in front of the first.
    pub(crate) fn samples(self, head: &[u8], size: u32, before: &mut u32) -> Option<u32> {
        match self {
            Packets::Same(samples) => Some(samples),
            Packets::Opus => opus::packet_samples(head.get(..2.min(size as usize))?),
            Packets::Dts => dts(head),
            Packets::Vorbis(blocks) => blocks.samples(*head.first().filter(|_| size > 0)?, before),
            Packets::Pcm(bytes) => size.checked_div(bytes).filter(|&samples| samples > 0),
            Packets::Blocks { bytes, samples } => {
                let samples = u64::from(size) * u64::from(samples) / u64::from(bytes.max(1));
                u32::try_from(samples).ok().filter(|&samples| samples > 0)
            }
            Packets::Unknown => None,
            Packets::Alac(usual) => Some(alac(head).unwrap_or(usual)),
            Packets::Flac(usual) => {
                Some(flac_frame(head).filter(|&samples| samples < usual).unwrap_or(usual))
            }
            Packets::WavPack => {
                head.first_chunk().map(|&first| u32::from_le_bytes(first)).filter(|&samples| samples > 0)
            }
        }
    }

    /// Those of a codec that is not copied. `rate` is in Hz, `frame_bytes` those of a PCM sample of all
    /// channels, 0 where unknown.
    pub(crate) fn of_codec(codec_id: &str, private: &[u8], rate: u32, frame_bytes: u32) -> Self {
        match codec_id {
            // ISO/IEC 11172-3, 2.4.2.1; ISO/IEC 13818-3, 2.4.2.3: half of it at the low rates.
            "A_MPEG/L3" => Packets::Same(if rate >= 32_000 { 1152 } else { 576 }),
            "A_MPEG/L2" => Packets::Same(1152),
            "A_MPEG/L1" => Packets::Same(384),
            // ETSI TS 102 366, 4.1: six blocks of 256. The blocks of E-AC-3 are mostly six, too.
            id if id == "A_EAC3" || id.starts_with("A_AC3") => Packets::Same(1536),
            "A_FLAC" => flac(private),
            "A_VORBIS" => VorbisBlocks::of_headers(private).map_or(Packets::Unknown, Packets::Vorbis),
            // A multiple of that of the core for extensions, which a player may lack: then the times tell.
            id if id.starts_with("A_DTS") => Packets::Dts,
            // The configuration begins with it. ALAC Specific Config, "Apple Lossless Format Description".
            "A_ALAC" => match private.first_chunk().map(|&first| u32::from_be_bytes(first)) {
                Some(usual @ 1..=ALAC_SAMPLES_MAX) => Packets::Alac(usual),
                _ => Packets::Unknown,
            },
            // Matroska's form of a block begins with the number. Matroska, codec mappings, "A_WAVPACK4".
            "A_WAVPACK4" => Packets::WavPack,
            "A_TRUEHD" | "A_MLP" => true_hd(rate),
            id if id.starts_with("A_PCM/") && frame_bytes > 0 => Packets::Pcm(frame_bytes),
            "A_MS/ACM" => of_windows(private).unwrap_or(Packets::Unknown),
            _ => Packets::Unknown,
        }
    }
}

/// What a `WAVEFORMATEX` says of its packets. Microsoft, "Multimedia Data Standards Update", 1994; RFC 2361.
fn of_windows(private: &[u8]) -> Option<Packets> {
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
        PCM | FLOAT | A_LAW | MU_LAW => Some(Packets::Pcm(block_len)).filter(|_| block_len > 0),
        // `wSamplesPerBlock` is the first field of the extension.
        MS_ADPCM | IMA_ADPCM | GSM if block_len > 0 => {
            Some(Packets::Blocks { bytes: block_len, samples: number(18)?.into() })
        }
        _ => None,
    }
}

/// Most PCM samples of a packet of ALAC that are believed; encoders write 4096.
const ALAC_SAMPLES_MAX: u32 = 1 << 16;

/// The number in a packet of ALAC, if it has one: behind 3 bits of the element's kind, 4 of its number, 12
/// that are free, and then a flag and 3 bits of other things. "Apple Lossless Format Description".
fn alac(head: &[u8]) -> Option<u32> {
    let bits = u64::from_be_bytes(*head.first_chunk()?);
    let has_number = bits >> (63 - 19) & 1 == 1;
    let number = (bits >> (63 - 54)) as u32;
    (has_number && (1..=ALAC_SAMPLES_MAX).contains(&number)).then_some(number)
}

/// The head of a frame of the core: so many blocks of 32 samples. ETSI TS 102 114, 5.3.1.
fn dts(head: &[u8]) -> Option<u32> {
    let &[a, b] = head.strip_prefix(&[0x7f, 0xfe, 0x80, 0x01])?.first_chunk()?;
    let blocks = u32::from(a & 1) << 6 | u32::from(b >> 2);
    Some(32 * (blocks + 1)).filter(|_| blocks >= 5)
}

/// A unit is 40 samples at 44.1 and 48 kHz, and as long at their multiples. Meridian Lossless Packing, 3.
fn true_hd(rate: u32) -> Packets {
    let base = [48_000, 44_100].into_iter().find(|base| rate > 0 && rate.is_multiple_of(*base));
    base.map_or(Packets::Unknown, |base| Packets::Same(40 * (rate / base)))
}

/// `STREAMINFO` behind the magic and the header of its block: all blocks have one size where the least is the
/// largest. RFC 9639, 8.2.
fn flac(private: &[u8]) -> Packets {
    let sizes = private.strip_prefix(b"fLaC").and_then(|rest| rest.get(4..8));
    match sizes {
        Some(&[a, b, c, d]) if [a, b] == [c, d] && (a, b) != (0, 0) => {
            Packets::Flac(u16::from_be_bytes([a, b]).into())
        }
        _ => Packets::Unknown,
    }
}

/// The number in the header of a frame of FLAC: a code of 4 bits, or 8 or 16 bits behind the number of the
/// frame, which is written like a character of UTF-8. RFC 9639, 9.1.
fn flac_frame(head: &[u8]) -> Option<u32> {
    let &[0xff, 0xf8 | 0xf9, codes, _, first, ..] = head else { return None };
    let number_len = match first.leading_ones() {
        0 => 1,
        len @ 2..=7 => len as usize,
        _ => return None,
    };
    let behind = head.get(4 + number_len..)?;
    Some(match codes >> 4 {
        1 => 192,
        code @ 2..=5 => 144 << code,
        6 => u32::from(*behind.first()?) + 1,
        7 => u32::from(u16::from_be_bytes(*behind.first_chunk()?)) + 1,
        code @ 8..=15 => 1 << code,
        _ => return None,
    })
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
        assert_eq!(flac([0x10, 0, 0x10, 0]), Packets::Flac(4096));
        assert_eq!(flac([0x08, 0, 0x10, 0]), Packets::Unknown);
        assert_eq!(Packets::of_codec("A_FLAC", b"fLaC", 48_000, 0), Packets::Unknown);

        assert_eq!(of("A_DTS", 48_000), Packets::Dts);
        assert_eq!(of("A_TRUEHD", 48_000), Packets::Same(40));
        assert_eq!(of("A_TRUEHD", 192_000), Packets::Same(160));
        assert_eq!(of("A_MLP", 88_200), Packets::Same(80));
        assert_eq!(of("A_MLP", 12_345), Packets::Unknown);

        // Tag, channels, rate, bytes a second, block, bits, length of the extension, samples in a block.
        let wave = |tag: u16, block: u16, samples: u16| {
            let numbers = [tag, 1, 8000, 0, 8000, 0, block, 4, 2, samples];
            let private = numbers.map(u16::to_le_bytes).concat();
            Packets::of_codec("A_MS/ACM", &private, 8000, 0)
        };
        let ima = Packets::Blocks { bytes: 1024, samples: 2041 };
        assert_eq!(wave(0x11, 1024, 2041), ima);
        assert_eq!(wave(0x07, 1, 0), Packets::Pcm(1));
        assert_eq!(wave(0x11, 0, 2041), Packets::Unknown);
        assert_eq!(wave(0x161, 743, 0), Packets::Unknown);
        assert_eq!(Packets::of_codec("A_MS/ACM", &[0x11, 0], 8000, 0), Packets::Unknown);

        let samples = |packets: Packets, head: &[u8], size| packets.samples(head, size, &mut 0);
        assert_eq!(samples(ima, &[], 4096), Some(8164));
        assert_eq!(samples(ima, &[], 0), None);
        assert_eq!(samples(Packets::Pcm(4), &[], 4096), Some(1024));
        assert_eq!(samples(Packets::Pcm(4), &[], 3), None);
        assert_eq!(samples(Packets::Opus, &[0xfc, 0xff], 1), Some(960));
        assert_eq!(samples(Packets::Opus, &[], 0), None);
        let frame = |head: &[u8]| samples(Packets::Flac(4096), head, 90);
        assert_eq!(frame(&[0xff, 0xf8, 0xc9, 0x18, 0x00, 0xc2]), Some(4096));
        assert_eq!(frame(&[0xff, 0xf8, 0x79, 0x18, 0x2b, 0x02, 0x0f]), Some(528));
        assert_eq!(frame(&[0xff, 0xf8, 0x69, 0x18, 0xc3, 0x80, 0x63]), Some(100));
        assert_eq!(frame(&[0xff, 0xf8, 0x79, 0x18, 0xc3]), Some(4096));
        assert_eq!(frame(&[0xff, 0xf8, 0xd9, 0x18, 0x00, 0xc2]), Some(4096), "more than the stream says");
        assert_eq!(samples(Packets::WavPack, &[0x22, 0x56, 0, 0, 1, 2, 3, 4], 90), Some(0x5622));
        assert_eq!(samples(Packets::WavPack, &[0; 8], 90), None);
        let alac = Packets::of_codec("A_ALAC", &[0, 0, 0x10, 0, 0, 16], 44_100, 0);
        assert_eq!(alac, Packets::Alac(4096));
        assert_eq!(samples(alac, &[0x20, 0, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff], 90), Some(4096));
        // 272, behind the flag.
        assert_eq!(samples(alac, &[0x20, 0, 0x10, 0, 0, 0x02, 0x20, 0xff], 90), Some(272));
        assert_eq!(Packets::of_codec("A_ALAC", &[0; 4], 44_100, 0), Packets::Unknown);
        // 16 blocks of 32.
        assert_eq!(samples(Packets::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfc, 0x3c, 0, 0], 9), Some(512));
        assert_eq!(samples(Packets::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfd, 0xfc], 9), Some(4096));
        assert_eq!(samples(Packets::Dts, &[0x7f, 0xfe, 0x80, 1, 0xfc], 9), None);
        assert_eq!(samples(Packets::Dts, &[0x64, 0x58, 0x20, 0x25, 0, 0], 9), None);
    }
}
