//! The video usability information up to the colour description, which H.264 and HEVC share. ISO/IEC
//! 14496-10, E.1.1; ISO/IEC 23008-2, E.2.1.

use super::{bits::Bits, colour::Colour};

/// The `aspect_ratio_idc` with an explicit ratio after it. ISO/IEC 14496-10, table E-1.
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

/// The parsed fields.
#[derive(Debug, Default)]
pub(super) struct Vui {
    /// Pixel aspect ratio, if present.
    pub(super) pixel_aspect: Option<(u32, u32)>,
    /// Colour description, if present.
    pub(super) colour: Option<Colour>,
}

impl Vui {
    /// Parses up to and including the colour description.
    pub(super) fn parse(bits: &mut Bits<'_>) -> Option<Self> {
        let mut pixel_aspect = None;
        if bits.flag()? {
            pixel_aspect = match bits.u(8)? {
                EXTENDED_SAR => Some((bits.u(16)?, bits.u(16)?)),
                idc => (idc as usize).checked_sub(1).and_then(|n| SAMPLE_ASPECTS.get(n).copied()),
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
        Some(Vui { pixel_aspect, colour })
    }
}
