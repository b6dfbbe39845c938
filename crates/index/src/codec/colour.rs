//! What the numbers of a picture mean as colours. ISO/IEC 23091-2.

use super::bits::Bits;

/// A characteristic of this number is left open. ISO/IEC 23091-2, tables 2 to 4.
pub const UNSPECIFIED: u16 = 2;

/// Code points of a description of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// Colour primaries: 1 is BT.709, 9 is BT.2020.
    pub primaries: u16,
    /// Transfer characteristics: 16 is PQ, 18 is HLG.
    pub transfer: u16,
    /// Matrix coefficients.
    pub matrix: u16,
    /// All values of a sample are used, not only those of studio video.
    pub is_full_range: bool,
}

impl Colour {
    /// Colours as every player assumes them where nothing is said: BT.709 in studio range.
    pub const USUAL: Self = Self { primaries: 1, transfer: 1, matrix: 1, is_full_range: false };

    /// Nothing is said.
    pub const OPEN: Self =
        Self { primaries: UNSPECIFIED, transfer: UNSPECIFIED, matrix: UNSPECIFIED, is_full_range: false };

    /// Reads the three code points of 8 bits.
    pub(super) fn parse(bits: &mut Bits<'_>, is_full_range: bool) -> Option<Self> {
        let mut number = || bits.u(8).map(|number| number as u16);
        Some(Self { primaries: number()?, transfer: number()?, matrix: number()?, is_full_range })
    }

    /// The transfer characteristics, unless they are left open.
    pub fn known_transfer(self) -> Option<u16> {
        Some(self.transfer).filter(|&transfer| transfer != UNSPECIFIED)
    }
}
