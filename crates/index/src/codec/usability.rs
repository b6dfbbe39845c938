//! What H.264 and HEVC say in the same words about how pictures are shown: the front of the video usability
//! information. ISO/IEC 14496-10, E.1.1; ISO/IEC 23008-2, E.2.1.

use super::{bits::Bits, colour::Colour};

/// `aspect_ratio_idc` that is followed by a ratio of its own. ISO/IEC 14496-10, table E-1.
const EXTENDED_SAR: u32 = 255;
/// The ratios of `aspect_ratio_idc` 1 to 16. ISO/IEC 14496-10, table E-1.
const SAMPLE_ASPECTS: [(u32, u32); 16] = [
    (1, 1),
    (12, 11),
    (10, 11),
    (16, 11),
    (40, 33),
    (24, 11),
    (20, 11),
    (32, 11),
    (80, 33),
    (18, 11),
    (15, 11),
    (64, 33),
    (160, 99),
    (4, 3),
    (3, 2),
    (2, 1),
];

/// What is kept of it.
#[derive(Debug, Default)]
pub(super) struct Usability {
    /// Shape of a pixel, when said.
    pub(super) pixel_aspect: Option<(u32, u32)>,
    /// Meaning of the colours, when said.
    pub(super) colour: Option<Colour>,
}

impl Usability {
    /// Reads up to and with the description of the colours.
    pub(super) fn parse(bits: &mut Bits<'_>) -> Option<Self> {
        let mut pixel_aspect = None;
        if bits.flag()? {
            pixel_aspect = match bits.u(8)? {
                EXTENDED_SAR => Some((bits.u(16)?, bits.u(16)?)),
                known => (known as usize).checked_sub(1).and_then(|n| SAMPLE_ASPECTS.get(n).copied()),
            };
        }
        if bits.flag()? {
            bits.skip(1)?; // overscan_appropriate_flag
        }
        let mut colour = None;
        if bits.flag()? {
            bits.skip(3)?; // video_format
            let is_full_range = bits.flag()?;
            if bits.flag()? {
                colour = Some(Colour::parse(bits, is_full_range)?);
            }
        }
        Some(Usability { pixel_aspect, colour })
    }
}
