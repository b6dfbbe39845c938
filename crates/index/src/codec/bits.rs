//! Bits of a codec configuration, most significant first.

/// Longest Exp-Golomb prefix: 32 zeros lead a 32-bit value. ISO/IEC 14496-10, 9.1.
const GOLOMB_ZEROS_MAX: u32 = 32;

/// Reads bits from the front; `None` past the end.
#[derive(Debug, Clone)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0 }
    }

    /// Number of bits left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() * 8 - self.at
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// An unsigned number of up to 32 bits.
    pub(super) fn u(&mut self, width: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..width {
            value = value << 1 | u32::from(self.flag()?);
        }
        Some(value)
    }

    pub(super) fn skip(&mut self, width: usize) -> Option<()> {
        self.at = self.at.checked_add(width).filter(|&at| at <= self.bytes.len() * 8)?;
        Some(())
    }

    /// `ue(v)`: an unsigned Exp-Golomb number.
    pub(super) fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros > GOLOMB_ZEROS_MAX {
                return None;
            }
        }
        let suffix = u64::from(self.u(zeros)?);
        u32::try_from((1u64 << zeros) - 1 + suffix).ok()
    }

    /// `se(v)`: a signed Exp-Golomb number.
    pub(super) fn se(&mut self) -> Option<i64> {
        let number = i64::from(self.ue()?);
        Some(if number % 2 == 1 { number / 2 + 1 } else { -(number / 2) })
    }
}

/// The payload of a NAL unit without emulation prevention: drops the 3 of each 0 0 3. ISO/IEC 14496-10,
/// 7.4.1.1; ISO/IEC 23008-2, 7.4.2.1.
pub(super) fn without_emulation_prevention(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len());
    let mut zeros = 0;
    for &byte in payload {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        bytes.push(byte);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_golomb_numbers_are_read_as_the_standard_lists_them() {
        // ISO/IEC 14496-10, table 9-2: 1, 010, 011, 00100, 00101.
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        assert_eq!(std::array::from_fn(|_| bits.ue()), [Some(0), Some(1), Some(2), Some(3), Some(4)]);
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        assert_eq!(std::array::from_fn(|_| bits.se()), [Some(0), Some(1), Some(-1), Some(2), Some(-2)]);
    }

    #[test]
    fn exp_golomb_over_32_bits_is_rejected() {
        let largest = [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe];
        assert_eq!(Bits::new(&largest[..]).ue(), Some(u32::MAX - 1));
        assert_eq!(Bits::new(&[0; 16]).ue(), None);
        assert_eq!(Bits::new(&[]).flag(), None);
        assert_eq!(Bits::new(&[0xff]).skip(9), None);
        assert_eq!(Bits::new(&[0xff]).u(9), None);
    }
}
