//! Blocks: their track, their time, and the positions of their frames. RFC 9559, 10.

use serde::{Deserialize, Serialize};

use crate::ebml::{Vint, vint};

/// Maximum number of frames in one block: a byte stores the number minus one.
pub(crate) const FRAMES_MAX: usize = 256;
/// Maximum length of a block head: number of the track, time in the cluster, flags.
pub(crate) const HEAD_LEN_MAX: usize = 8 + 2 + 1;

/// The head of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockHead {
    pub(crate) track: u64,
    /// Units since the time of the cluster.
    pub(crate) time: i16,
    flags: u8,
    /// Its length in bytes.
    pub(crate) len: usize,
}

/// How a block contains several frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lacing {
    None,
    Xiph,
    Fixed,
    Ebml,
}

impl BlockHead {
    /// Parses the head at the front of a block; `None` if it is cut short.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let Vint::Whole { value: track, len } = vint(bytes) else { return None };
        let &[high, low, flags] = bytes.get(len..)?.first_chunk()?;
        Some(BlockHead { track, time: i16::from_be_bytes([high, low]), flags, len: len + 3 })
    }

    /// In a `SimpleBlock`: decoding can begin here.
    pub(crate) fn is_key(&self) -> bool {
        self.flags & 0x80 != 0
    }

    /// It is decoded and not presented.
    pub(crate) fn is_invisible(&self) -> bool {
        self.flags & 0x08 != 0
    }

    pub(crate) fn lacing(&self) -> Lacing {
        match self.flags >> 1 & 3 {
            0 => Lacing::None,
            1 => Lacing::Xiph,
            2 => Lacing::Fixed,
            _ => Lacing::Ebml,
        }
    }

    /// The frames of a whole block, as first byte and length. `None` if the block contradicts itself.
    pub(crate) fn frames(&self, block: &[u8]) -> Option<Vec<(usize, usize)>> {
        let body = block.get(self.len..)?;
        if self.lacing() == Lacing::None {
            return Some(vec![(self.len, body.len())]);
        }
        let (&count, mut rest) = body.split_first()?;
        let others = usize::from(count);
        let mut sizes = Vec::with_capacity(FRAMES_MAX);
        match self.lacing() {
            Lacing::Xiph => {
                for _ in 0..others {
                    sizes.push(xiph_size(&mut rest)?);
                }
            }
            Lacing::Ebml if others > 0 => {
                let mut size = i64::try_from(read_vint(&mut rest)?.0).ok()?;
                sizes.push(usize::try_from(size).ok()?);
                for _ in 1..others {
                    // The difference to the previous size, with a bias so that it is not negative. RFC 9559,
                    // 10.3.3.
                    let (value, len) = read_vint(&mut rest)?;
                    let bias = (1i64 << (7 * len - 1)) - 1;
                    size = size.checked_add(i64::try_from(value).ok()? - bias)?;
                    sizes.push(usize::try_from(size).ok()?);
                }
            }
            Lacing::Fixed => {
                let size = rest.len() / (others + 1);
                if size * (others + 1) != rest.len() {
                    return None;
                }
                sizes.resize(others, size);
            }
            Lacing::Ebml | Lacing::None => {}
        }
        let mut at = block.len() - rest.len();
        let mut frames = Vec::with_capacity(others + 1);
        for size in sizes {
            frames.push((at, size));
            at = at.checked_add(size).filter(|&at| at <= block.len())?;
        }
        frames.push((at, block.len() - at));
        Some(frames)
    }
}

/// The sum of bytes of 255 and a last smaller one. RFC 9559, 10.3.2.
pub(crate) fn xiph_size(rest: &mut &[u8]) -> Option<usize> {
    let mut size = 0usize;
    loop {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        size += usize::from(byte);
        if byte < 255 {
            return Some(size);
        }
    }
}

/// A number of variable length, and its length.
fn read_vint(rest: &mut &[u8]) -> Option<(u64, usize)> {
    let Vint::Whole { value, len } = vint(rest) else { return None };
    *rest = &rest[len..];
    Some((value, len))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(block: &[u8]) -> Option<Vec<(usize, usize)>> {
        BlockHead::parse(block)?.frames(block)
    }

    #[test]
    fn block_header_gives_track_time_and_flags() {
        let head = BlockHead::parse(&[0x81, 0xff, 0xfe, 0x88, 9]).unwrap();
        assert_eq!((head.track, head.time, head.len), (1, -2, 4));
        assert!(head.is_key() && head.is_invisible());
        let wide = BlockHead::parse(&[0x40, 0x80, 0, 1, 0]).unwrap();
        assert_eq!((wide.track, wide.time, wide.len, wide.lacing()), (128, 1, 5, Lacing::None));
        for len in 0..4 {
            assert_eq!(BlockHead::parse(&[0x81, 0, 0, 0][..len]), None);
        }
    }

    #[test]
    fn frames_are_found_with_every_lacing() {
        let check = |name: &str, flags: u8, body: &[u8], expected: Option<&[(usize, usize)]>| {
            let block = [&[0x81, 0, 0, flags], body].concat();
            assert_eq!(frames(&block).as_deref(), expected, "{name}");
        };
        check("none", 0, &[1, 2, 3], Some(&[(4, 3)]));
        check("an empty frame", 0, &[], Some(&[(4, 0)]));
        check("Xiph", 2, &[&[2, 255, 1, 2][..], &[7; 260]].concat(), Some(&[(8, 256), (264, 2), (266, 2)]));
        check("Xiph, one frame", 2, &[0, 9, 9], Some(&[(5, 2)]));
        check("Xiph, more than there is", 2, &[1, 9, 9], None);
        check("Xiph, sizes cut short", 2, &[1, 255], None);
        check("fixed", 4, &[2, 1, 2, 3, 4, 5, 6], Some(&[(5, 2), (7, 2), (9, 2)]));
        check("fixed, not a whole number", 4, &[2, 1, 2, 3, 4], None);
        // 2 bytes, then 2 + 1, then the rest. RFC 9559, 10.3.3.
        check("EBML", 6, &[2, 0x82, 0xc0, 1, 1, 2, 2, 2, 3], Some(&[(7, 2), (9, 3), (12, 1)]));
        check("EBML, smaller", 6, &[2, 0x82, 0xbe, 1, 1, 2, 3], Some(&[(7, 2), (9, 1), (10, 1)]));
        check("EBML, below nothing", 6, &[2, 0x80, 0xbe, 1, 1, 2, 3], None);
        check("EBML, one frame", 6, &[0, 5, 5], Some(&[(5, 2)]));
        check("EBML, more than there is", 6, &[1, 0x84, 1], None);
        check("no number of frames", 6, &[], None);
    }

    proptest! {
        #[test]
        fn laced_frames_are_contiguous(
            mut block in prop::collection::vec(any::<u8>(), 4..600),
            lacing in 0u8..4,
        ) {
            block[0] = 0x81;
            block[3] = lacing << 1;
            if let Some(frames) = frames(&block) {
                let mut at = frames[0].0;
                for (start, len) in frames {
                    prop_assert_eq!(start, at);
                    at += len;
                }
                prop_assert_eq!(at, block.len());
            }
        }
    }
}
