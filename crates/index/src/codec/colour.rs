//! Colour description: primaries, transfer, matrix and range. ISO/IEC 23091-2.

use super::bits::Bits;

/// The code point for an unspecified characteristic. ISO/IEC 23091-2, tables 2 to 4.
pub const UNSPECIFIED: u16 = 2;

/// Code points of a colour description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// Colour primaries: 1 is BT.709, 9 is BT.2020.
    pub primaries: u16,
    /// Transfer characteristics: 16 is PQ, 18 is HLG.
    pub transfer: u16,
    /// Matrix coefficients.
    pub matrix: u16,
    /// Full range: samples use all values, not only those of studio video.
    pub is_full_range: bool,
}

impl Colour {
    /// The default of every player without a description: BT.709 in studio range.
    pub const BT709: Self = Self { primaries: 1, transfer: 1, matrix: 1, is_full_range: false };

    /// No description.
    pub const UNSPECIFIED: Self =
        Self { primaries: UNSPECIFIED, transfer: UNSPECIFIED, matrix: UNSPECIFIED, is_full_range: false };

    /// Parses three code points of 8 bits each.
    pub(super) fn parse(bits: &mut Bits<'_>, is_full_range: bool) -> Option<Self> {
        let mut number = || bits.u(8).map(|number| number as u16);
        Some(Self { primaries: number()?, transfer: number()?, matrix: number()?, is_full_range })
    }

    /// The transfer characteristics, unless they are unspecified.
    pub fn known_transfer(self) -> Option<u16> {
        Some(self.transfer).filter(|&transfer| transfer != UNSPECIFIED)
    }
}
