//! Duration of Vorbis packets: each has one of two block sizes, which its mode selects. Vorbis I
//! specification, 4.2 and 4.3.

use serde::{Deserialize, Serialize};

use crate::block::xiph_size;

/// The block sizes of a stream, and the block size of each mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VorbisBlocks {
    /// Samples of the short and of the long block.
    sizes: [u32; 2],
    /// Bits of a packet for the number of its mode.
    mode_bits: u32,
    /// One bit per mode, the first one lowest: set if its block is the long one.
    long_modes: u64,
}

/// Range of samples per block. 4.2.2.
const BLOCK_SAMPLES: std::ops::RangeInclusive<u32> = 64..=8192;
/// Offset of the block sizes in the identification header, as two exponents. 4.2.2.
const SIZES_AT: usize = 28;
/// Maximum number of modes: six bits store the number minus one. 4.2.4.
const MODES_MAX: u32 = 64;

impl VorbisBlocks {
    /// Reads the three headers in Matroska's form: their number minus one, the sizes of the first two, and
    /// then all.
    pub(crate) fn of_headers(private: &[u8]) -> Option<Self> {
        let (&2, mut rest) = private.split_first()? else { return None };
        let (identification, comments) = (xiph_size(&mut rest)?, xiph_size(&mut rest)?);
        let setup = rest.get(identification.checked_add(comments)?..)?.strip_prefix(b"\x05vorbis")?;
        let identification = rest.get(..identification)?.strip_prefix(b"\x01vorbis")?;
        let &exponents = identification.get(SIZES_AT - 7)?;
        let sizes = [1 << (exponents & 15), 1 << (exponents >> 4)];
        let is_possible = sizes.iter().all(|size| BLOCK_SAMPLES.contains(size)) && sizes[0] <= sizes[1];
        let (modes, long_modes) = modes(setup)?;
        is_possible.then_some(Self { sizes, mode_bits: u32::BITS - (modes - 1).leading_zeros(), long_modes })
    }

    /// Whether a state that was read from a checkpoint is valid after this block.
    pub(crate) fn is_valid(self, previous_block: u32) -> bool {
        self.sizes.iter().all(|size| BLOCK_SAMPLES.contains(size))
            && self.mode_bits <= (MODES_MAX - 1).ilog2() + 1
            && previous_block <= *BLOCK_SAMPLES.end()
    }

    /// The PCM samples that a packet adds, from its first byte: half of its block and half of the previous
    /// one, which overlap by a half each. `previous_block` is the previous block size; it is set to
    /// that of this packet.
    ///
    /// `None` for a packet that is no audio.
    pub(crate) fn samples(self, first: u8, previous_block: &mut u32) -> Option<u32> {
        if first & 1 != 0 {
            return None;
        }
        let mode = u32::from(first >> 1) & ((1 << self.mode_bits) - 1);
        let is_long = self.long_modes >> mode & 1 == 1;
        let block = self.sizes[usize::from(is_long)];
        let previous_samples = match *previous_block {
            // A long block declares the previous block size. The very first block primes the decoder like a
            // short one.
            _ if is_long => self.sizes[usize::from(first >> (1 + self.mode_bits) & 1)],
            0 => self.sizes[0],
            size => size,
        };
        *previous_block = block;
        Some((previous_samples + block) / 4)
    }
}

/// The number of modes in a setup header, and which have the long block.
///
/// The part before them needs a full parser, so they are read backwards from the end. A framing bit comes
/// last, and before it 41 bits per mode, 32 of them zero. Before the modes, six bits store their number
/// minus one. 4.2.4.
fn modes(setup: &[u8]) -> Option<(u32, u64)> {
    let bits = setup.len().checked_mul(8)?;
    // Bits are packed from the lowest on: backwards, the highest bit of a number comes first.
    let bit = |position: usize| u64::from(setup[setup.len() - 1 - position / 8] >> (7 - position % 8) & 1);
    let number = |place: usize, len: usize| (place..place + len).fold(0, |all, place| all << 1 | bit(place));
    let framing = (0..8.min(bits)).find(|place| bit(*place) == 1)?;
    let (mut found, mut long_modes) = (None, 0);
    for count in 1..=MODES_MAX {
        let at = framing + 1 + 41 * (count as usize - 1);
        // Mapping, transform and window; then the block flag; then perhaps the number of modes.
        if bits < at + 41 + 6 || number(at, 8) >= 64 || number(at + 8, 32) != 0 {
            break;
        }
        // The last mode comes first.
        long_modes = long_modes << 1 | number(at + 40, 1);
        if number(at + 41, 6) + 1 == u64::from(count) {
            found = Some((count, long_modes));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs numbers of the given bit lengths, from the lowest bit on.
    fn packed(numbers: &[(u64, usize)]) -> Vec<u8> {
        let bits: Vec<u8> = numbers
            .iter()
            .flat_map(|(number, len)| (0..*len).map(move |bit| (number >> bit & 1) as u8))
            .collect();
        bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |all, bit| all << 1 | bit)).collect()
    }

    /// Headers of blocks of 256 and 2048 samples, with these modes: whether they are long.
    fn headers(modes: &[bool]) -> Vec<u8> {
        let mut identification = b"\x01vorbis\0\0\0\0\x02\x80\xbb\0\0".to_vec();
        identification.extend([0; 12]);
        identification.extend([0xb8, 1]);
        let mut setup = vec![(0x1b5, 11), (modes.len() as u64 - 1, 6)];
        for is_long in modes {
            setup.extend([(u64::from(*is_long), 1), (0, 16), (0, 16), (0, 8)]);
        }
        setup.push((1, 1));
        let comments = [&b"\x03vorbis"[..], &[7; 300]].concat();
        let setup = [&b"\x05vorbis"[..], &packed(&setup)].concat();
        [&[2, 30, 255, 52][..], &identification, &comments, &setup].concat()
    }

    #[test]
    fn vorbis_packet_duration_uses_previous_block_size() {
        let blocks = VorbisBlocks::of_headers(&headers(&[false, true])).unwrap();
        assert_eq!(blocks, VorbisBlocks { sizes: [256, 2048], mode_bits: 1, long_modes: 0b10 });
        let mut before = 0;
        // Short; long after a short one, after a long one; short after a long one; not audio.
        let samples = [0b000, 0b0010, 0b0110, 0b000, 0b001].map(|first| blocks.samples(first, &mut before));
        assert_eq!(samples, [Some(128), Some(576), Some(1024), Some(576), None]);
    }

    #[test]
    fn vorbis_modes_are_read_from_the_end() {
        let of = |modes: &[bool]| VorbisBlocks::of_headers(&headers(modes)).unwrap();
        assert_eq!((of(&[true]).mode_bits, of(&[true]).long_modes), (0, 1));
        let three = of(&[false, true, true]);
        assert_eq!((three.mode_bits, three.long_modes), (2, 0b110));
    }

    #[test]
    fn truncated_vorbis_headers_are_none() {
        let whole = headers(&[false, true]);
        for len in 0..350 {
            assert_eq!(VorbisBlocks::of_headers(&whole[..len]), None, "{len}");
        }
        assert_eq!(VorbisBlocks::of_headers(&[2, 255, 255, 255]), None);
    }
}
