//! The fields of an audio sample entry in its three versions. ISO/IEC 14496-12, 12.2.3; QuickTime File
//! Format, sound sample descriptions.

use super::{
    super::{
        super::boxes::{BoxRef, FieldReader},
        codec_names::is_pcm,
    },
    FIELDS_LEN,
};

/// Offset of the version among the fields.
const VERSION_AT: usize = 8;
/// Offset of the number of channels.
const CHANNELS_AT: usize = 16;
/// PCM samples that are grouped into one packet: enough to keep tables small, few enough to cut at.
pub(in super::super) const PACKET_PCM_SAMPLES: u32 = 1024;
/// A packet of a codec with at least this many samples is not grouped with others.
const UNGROUPED_SAMPLES_MIN: u32 = 160;

/// The parsed fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AudioEntryFields {
    pub(super) channels: u32,
    /// Samples per second; 0 if the field is too small.
    pub(super) sample_rate: u32,
    /// The block of samples of constant size.
    pub(super) block: BlockAlign,
}

/// A block: the smallest group of audio samples that can be decoded, and its bytes; 0 if the fields do not
/// say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct BlockAlign {
    pub(in super::super) samples: u32,
    pub(in super::super) bytes: u32,
}

impl BlockAlign {
    /// Number of samples in a full packet.
    pub(in super::super) fn packet_samples(self) -> u32 {
        match self.samples.max(1) {
            samples if UNGROUPED_SAMPLES_MIN <= samples => samples,
            samples => PACKET_PCM_SAMPLES / samples * samples,
        }
    }
}

impl AudioEntryFields {
    /// `None` if they are cut short.
    pub(super) fn parse(entry: &BoxRef<'_>) -> Option<Self> {
        let head = entry.body.get(..FIELDS_LEN)?;
        let version = FieldReader::new(&head[VERSION_AT..]).u16()?;
        let mut fields = FieldReader::new(&head[CHANNELS_AT..]);
        let (channels, bits) = (u32::from(fields.u16()?), u32::from(fields.u16()?));
        fields.skip(4)?; // compression id, packet size
        let sample_rate = fields.u32()? >> 16;
        let mut fields = AudioEntryFields { channels, sample_rate, block: BlockAlign::default() };
        let pcm = |bits: u32, channels: u32| BlockAlign { samples: 1, bytes: bits.div_ceil(8) * channels };
        match version {
            // Some MP4 writers write version 1 and mean ISO's version 1: boxes follow then. For PCM, version
            // 1 is QuickTime's.
            2 => fields.read_version_2(entry),
            _ if is_pcm(entry.kind) => fields.block = pcm(pcm_bits(&entry.kind.0).unwrap_or(bits), channels),
            1 => fields.block = block_of_version_1(entry).unwrap_or_default(),
            _ => {}
        }
        Some(fields)
    }

    /// Size of the structure, rate as a 64-bit float, channels, a constant, bits, flags, bytes and samples
    /// of a packet.
    fn read_version_2(&mut self, entry: &BoxRef<'_>) {
        let read = || {
            let mut fields = FieldReader::new(entry.body.get(FIELDS_LEN + 4..)?);
            let rate = f64::from_bits(fields.u64()?);
            let channels = fields.u32()?;
            fields.skip(12)?;
            Some((rate, channels, BlockAlign { bytes: fields.u32()?, samples: fields.u32()? }))
        };
        if let Some((rate, channels, block)) = read() {
            // A cast of a float saturates, and converts NaN to 0.
            (self.sample_rate, self.channels, self.block) = (rate as u32, channels, block);
        }
    }
}

/// Reads samples per packet, bytes per channel of it, bytes of all channels, bytes per sample.
fn block_of_version_1(entry: &BoxRef<'_>) -> Option<BlockAlign> {
    let mut fields = FieldReader::new(entry.body.get(FIELDS_LEN..)?);
    let samples = fields.u32()?;
    fields.skip(4)?;
    Some(BlockAlign { samples, bytes: fields.u32()? })
}

/// Bits of one sample, if the kind of PCM defines them.
fn pcm_bits(kind: &[u8; 4]) -> Option<u32> {
    match kind {
        b"in24" => Some(24),
        b"in32" | b"fl32" => Some(32),
        b"fl64" => Some(64),
        b"ulaw" | b"alaw" => Some(8),
        _ => None,
    }
}

/// The block of the samples of constant size that an entry describes.
pub(in super::super) fn block_align(entry: &BoxRef<'_>) -> Option<BlockAlign> {
    Some(AudioEntryFields::parse(entry)?.block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::FourCc;

    fn entry(version: u16, channels: u16, bits: u16, rate: u32, more: &[u8]) -> Vec<u8> {
        let mut body = [0; FIELDS_LEN];
        body[8..10].copy_from_slice(&version.to_be_bytes());
        body[16..18].copy_from_slice(&channels.to_be_bytes());
        body[18..20].copy_from_slice(&bits.to_be_bytes());
        body[24..28].copy_from_slice(&(rate << 16).to_be_bytes());
        [&body[..], more].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn audio_entry_versions_give_packet_size() {
        let check = |kind: &[u8; 4], body: &[u8], expected: (u32, u32, (u32, u32))| {
            let fields = AudioEntryFields::parse(&BoxRef { kind: FourCc(*kind), body }).unwrap();
            let block = (fields.block.samples, fields.block.bytes);
            assert_eq!((fields.channels, fields.sample_rate, block), expected, "{kind:?}");
        };
        check(b"sowt", &entry(0, 2, 16, 48_000, &[]), (2, 48_000, (1, 4)));
        check(b"raw ", &entry(0, 1, 8, 22_050, &[]), (1, 22_050, (1, 1)));
        check(b"in24", &entry(1, 2, 16, 48_000, &words(&[1, 3, 6, 3])), (2, 48_000, (1, 6)));
        check(b"ulaw", &entry(0, 2, 16, 8000, &[]), (2, 8000, (1, 2)));
        check(b"ima4", &entry(1, 2, 16, 44_100, &words(&[64, 34, 68, 2])), (2, 44_100, (64, 68)));
        check(b"ima4", &entry(1, 2, 16, 44_100, &words(&[64])), (2, 44_100, (0, 0)));
        check(b"ac-3", &entry(0, 2, 16, 48_000, &[]), (2, 48_000, (0, 0)));
        let rate = 96_000f64.to_be_bytes();
        let more = [&words(&[72])[..], &rate, &words(&[6, 0x7f00_0000, 24, 12, 18, 1])].concat();
        check(b"lpcm", &entry(2, 3, 16, 1, &more), (6, 96_000, (1, 18)));
        check(b"lpcm", &entry(2, 3, 16, 1, &more[..20]), (3, 1, (0, 0)));
        assert_eq!(AudioEntryFields::parse(&BoxRef { kind: FourCc(*b"sowt"), body: &[0; 27] }), None);
    }

    #[test]
    fn packets_have_whole_blocks() {
        let check =
            |samples, expected| assert_eq!(BlockAlign { samples, bytes: 1 }.packet_samples(), expected);
        check(0, 1024);
        check(1, 1024);
        check(6, 1020);
        check(64, 1024);
        check(160, 160);
        check(1152, 1152);
    }
}
