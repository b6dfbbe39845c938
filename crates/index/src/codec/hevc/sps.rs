//! Sequence parameter sets of HEVC. ISO/IEC 23008-2, 7.3.2.2.

use super::super::{
    bits::{Bits, without_emulation_prevention},
    colour::Colour,
    vui::Vui,
};

/// Largest side in pixels: sqrt(8 × 35,651,584) at the largest level, 6.2. ISO/IEC 23008-2, A.4.1.
const SIDE_MAX: u32 = 16_888;
/// Longest list of short-term reference picture sets. ISO/IEC 23008-2, 7.4.3.2.1.
const SHORT_TERM_SETS_MAX: u32 = 64;
/// Most reference pictures before, and after, in one such set: no level allows more. ISO/IEC 23008-2, A.4.2.
const REFERENCES_MAX: u32 = 16;
/// Longest list of long-term reference pictures. ISO/IEC 23008-2, 7.4.3.2.1.
const LONG_TERM_MAX: u32 = 32;

/// The video properties in a sequence parameter set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sps {
    /// `chroma_format_idc`: 0 is monochrome, 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4.
    pub chroma_format: u32,
    /// The larger of luma and chroma bit depth.
    pub bit_depth: u32,
    /// Coded pictures are fields.
    pub is_field_coded: bool,
    /// Width in pixels, after cropping to the conformance window.
    pub width: u32,
    /// Height in pixels, after cropping to the conformance window.
    pub height: u32,
    /// Pixel aspect ratio, if present.
    pub pixel_aspect: Option<(u32, u32)>,
    /// Colour description, if present.
    pub colour: Option<Colour>,
}

/// Whether a NAL unit belongs to the base layer, which every decoder decodes: `nuh_layer_id` is 0. ISO/IEC
/// 23008-2, 7.4.2.2.
pub(super) fn is_of_base_layer(nal: &[u8]) -> bool {
    !matches!(nal, [first, second, ..] if first & 1 != 0 || second & 0xf8 != 0)
}

impl Sps {
    /// Parses one sequence parameter set NAL unit, its two header bytes included.
    pub fn parse(nal: &[u8]) -> Option<Self> {
        let (header, payload) = nal.split_first_chunk::<2>()?;
        if header[0] >> 1 != super::SEQUENCE_PARAMETER_SET {
            return None;
        }
        let payload = without_emulation_prevention(payload);
        let mut bits = Bits::new(&payload);

        bits.skip(4)?; // sps_video_parameter_set_id
        let sub_layers = bits.u(3).filter(|&sub_layers| sub_layers < 7)?;
        bits.skip(1)?; // sps_temporal_id_nesting_flag
        skip_profile_tier_level(&mut bits, sub_layers)?;
        bits.ue()?; // sps_seq_parameter_set_id
        let chroma_format = bits.ue().filter(|&format| format <= 3)?;
        if chroma_format == 3 {
            bits.skip(1)?; // separate_colour_plane_flag
        }
        let (mut width, mut height) = (side(&mut bits)?, side(&mut bits)?);
        let crop_unit = match chroma_format {
            1 => (2, 2),
            2 => (2, 1),
            _ => (1, 1),
        };
        if bits.flag()? {
            let [left, right, top, bottom] = [bits.ue()?, bits.ue()?, bits.ue()?, bits.ue()?];
            width = cropped(width, left, right, crop_unit.0)?;
            height = cropped(height, top, bottom, crop_unit.1)?;
        }
        // bit_depth_luma_minus8 and bit_depth_chroma_minus8, at most 8. ISO/IEC 23008-2, 7.4.3.2.1.
        let bit_depth = 8 + bits.ue()?.max(bits.ue()?);
        if bit_depth > 16 {
            return None;
        }
        skip_coding_tools(&mut bits, sub_layers)?;

        let (mut usability, mut is_field_coded) = (Vui::default(), false);
        if bits.flag()? {
            usability = Vui::parse(&mut bits)?;
            if bits.flag()? {
                bits.ue()?; // chroma_sample_loc_type_top_field
                bits.ue()?; // chroma_sample_loc_type_bottom_field
            }
            bits.skip(1)?; // neutral_chroma_indication_flag
            is_field_coded = bits.flag()?;
        }
        Some(Sps {
            chroma_format,
            bit_depth,
            is_field_coded,
            width,
            height,
            pixel_aspect: usability.pixel_aspect,
            colour: usability.colour,
        })
    }
}

fn side(bits: &mut Bits<'_>) -> Option<u32> {
    bits.ue().filter(|side| (1..=SIDE_MAX).contains(side))
}

fn cropped(side: u32, before: u32, after: u32, unit: u32) -> Option<u32> {
    let crop = before.checked_add(after)?.checked_mul(unit)?;
    side.checked_sub(crop).filter(|&side| side > 0)
}

/// Skips `profile_tier_level` with this number of sub-layers below the highest. ISO/IEC 23008-2, 7.3.3.
fn skip_profile_tier_level(bits: &mut Bits<'_>, sub_layers: u32) -> Option<()> {
    const PROFILE: usize = 88;
    const LEVEL: usize = 8;
    bits.skip(PROFILE + LEVEL)?;
    let mut present = Vec::new();
    for _ in 0..sub_layers {
        present.push((bits.flag()?, bits.flag()?));
    }
    if sub_layers > 0 {
        bits.skip(2 * (8 - sub_layers as usize))?; // aligns
    }
    for (has_profile, has_level) in present {
        bits.skip(if has_profile { PROFILE } else { 0 } + if has_level { LEVEL } else { 0 })?;
    }
    Some(())
}

/// Skips the picture order count up to the flag before the video usability information.
fn skip_coding_tools(bits: &mut Bits<'_>, sub_layers: u32) -> Option<()> {
    let poc_width = bits.ue().filter(|&width| width <= 12)? as usize + 4;
    let listed = if bits.flag()? { sub_layers + 1 } else { 1 };
    for _ in 0..listed {
        skip_numbers(bits, 3)?; // buffering, reordering, latency
    }
    skip_numbers(bits, 6)?; // sizes of coding and transform blocks
    if bits.flag()? && bits.flag()? {
        skip_scaling_lists(bits)?;
    }
    bits.skip(2)?; // amp_enabled_flag, sample_adaptive_offset_enabled_flag
    if bits.flag()? {
        bits.skip(8)?; // bit depths of PCM
        skip_numbers(bits, 2)?; // sizes of PCM blocks
        bits.skip(1)?; // pcm_loop_filter_disabled_flag
    }
    skip_short_term_sets(bits)?;
    if bits.flag()? {
        for _ in 0..bits.ue().filter(|&count| count <= LONG_TERM_MAX)? {
            bits.skip(poc_width + 1)?; // lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag
        }
    }
    bits.skip(2) // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
}

fn skip_numbers(bits: &mut Bits<'_>, count: u32) -> Option<()> {
    (0..count).try_for_each(|_| bits.ue().map(drop))
}

/// Skips the scaling lists. ISO/IEC 23008-2, 7.3.4.
fn skip_scaling_lists(bits: &mut Bits<'_>) -> Option<()> {
    for size in 0..4 {
        for _ in 0..if size == 3 { 2 } else { 6 } {
            if !bits.flag()? {
                bits.ue()?; // scaling_list_pred_matrix_id_delta
                continue;
            }
            if size > 1 {
                bits.se()?; // scaling_list_dc_coef_minus8
            }
            for _ in 0..if size == 0 { 16 } else { 64 } {
                bits.se()?; // scaling_list_delta_coef
            }
        }
    }
    Some(())
}

/// Skips the short-term reference picture sets, each explicit or predicted from the one before. ISO/IEC
/// 23008-2, 7.3.7.
fn skip_short_term_sets(bits: &mut Bits<'_>) -> Option<()> {
    let mut references_before = 0;
    for number in 0..bits.ue().filter(|&count| count <= SHORT_TERM_SETS_MAX)? {
        let is_predicted = number > 0 && bits.flag()?;
        references_before = if is_predicted {
            bits.skip(1)?; // delta_rps_sign
            bits.ue()?; // abs_delta_rps_minus1
            let mut used = 0;
            for _ in 0..=references_before {
                let is_used = bits.flag()?; // used_by_curr_pic_flag
                used += u32::from(is_used || bits.flag()?); // use_delta_flag
            }
            used
        } else {
            let mut count = || bits.ue().filter(|&count| count <= REFERENCES_MAX);
            let references = count()? + count()?;
            for _ in 0..references {
                bits.ue()?; // delta_poc_minus1
                bits.skip(1)?; // used_by_curr_pic_flag
            }
            references
        };
        if references_before > 2 * REFERENCES_MAX {
            return None;
        }
    }
    Some(())
}
