//! H.264: the `avcC` record and the sequence parameter sets inside. ISO/IEC 14496-15, 5.3.3; ISO/IEC
//! 14496-10, 7.3.2.1 and annex E.

use super::{
    bits::{Bits, without_emulation_prevention},
    colour::Colour,
    vui::Vui,
};

/// Largest coded side in macroblocks: no level allows more than sqrt(8 × 139264). ISO/IEC 14496-10, A.3.1.
const SIDE_MBS_MAX: u32 = 1056;
/// Longest list of offsets of a picture order count cycle. ISO/IEC 14496-10, 7.4.2.1.1.
const POC_CYCLE_MAX: u32 = 255;
/// The configuration of an `avc1` track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvcConfig {
    /// `AVCProfileIndication`.
    pub profile: u8,
    /// The constraint flags, which follow the profile.
    pub compatibility: u8,
    /// Ten times the level.
    pub level: u8,
    /// Length in bytes of the size field before each NAL unit: 1, 2 or 4.
    pub length_size: u8,
    /// The sequence parameter sets, parsed. At least one.
    pub parameter_sets: Vec<Sps>,
}

/// The video properties in a sequence parameter set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sps {
    /// `profile_idc`.
    pub profile: u8,
    /// `level_idc`, ten times the level.
    pub level: u8,
    /// `chroma_format_idc`: 0 is monochrome, 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4.
    pub chroma_format: u32,
    /// The larger of luma and chroma bit depth.
    pub bit_depth: u32,
    /// Every coded picture is a frame. Otherwise some may be fields: interlaced.
    pub is_frames_only: bool,
    /// Width in pixels, after cropping.
    pub width: u32,
    /// Height in pixels, after cropping.
    pub height: u32,
    /// Pixel aspect ratio, if present.
    pub pixel_aspect: Option<(u32, u32)>,
    /// Colour description, if present.
    pub colour: Option<Colour>,
    /// Frame rate as (frames, seconds), if present; neither is 0.
    pub frame_rate: Option<(u32, u32)>,
}

impl AvcConfig {
    /// Parses the body of an `avcC` box. `None` when it is truncated, or a parameter set is missing or
    /// invalid.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let &[version, profile, compatibility, level, lengths, sets, ref rest @ ..] = body else {
            return None;
        };
        let length_size = (lengths & 3) + 1;
        if version != 1 || length_size == 3 {
            return None;
        }
        let mut rest = rest;
        let mut parameter_sets = Vec::new();
        for _ in 0..sets & 0x1f {
            let (len, after) = rest.split_first_chunk::<2>()?;
            let (nal, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
            parameter_sets.push(Sps::parse(nal)?);
            rest = after;
        }
        if parameter_sets.is_empty() {
            return None;
        }
        Some(AvcConfig { profile, compatibility, level, length_size, parameter_sets })
    }

    /// The parameter sets of an `avcC` body in band, as they precede a sample: each with its length in 4
    /// bytes.
    ///
    /// `None` when the body is truncated.
    pub fn parameter_sets_in_band(body: &[u8]) -> Option<Vec<u8>> {
        let mut rest = body.get(5..)?;
        let mut units = Vec::new();
        // Sequence parameter sets, then picture parameter sets, each list after its count.
        for mask in [0x1f, 0xff] {
            let (&count, after) = rest.split_first()?;
            rest = after;
            for _ in 0..count & mask {
                let (len, after) = rest.split_first_chunk::<2>()?;
                let (unit, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
                units.extend_from_slice(&[0, 0]);
                units.extend_from_slice(len);
                units.extend_from_slice(unit);
                rest = after;
            }
        }
        Some(units)
    }

    /// The RFC 6381 string, for instance `avc1.640028`.
    pub fn codec_string(&self) -> String {
        format!("avc1.{:02x}{:02x}{:02x}", self.profile, self.compatibility, self.level)
    }
}

impl Sps {
    /// Parses one sequence parameter set NAL unit, its header byte included.
    pub fn parse(nal: &[u8]) -> Option<Self> {
        // nal_unit_type 7. ISO/IEC 14496-10, table 7-1.
        let (&header, payload) = nal.split_first()?;
        if header & 0x1f != 7 {
            return None;
        }
        let payload = without_emulation_prevention(payload);
        let mut bits = Bits::new(&payload);

        let profile = bits.u(8)? as u8;
        bits.skip(8)?; // constraint flags
        let level = bits.u(8)? as u8;
        bits.ue()?; // seq_parameter_set_id
        let (mut chroma_format, mut bit_depth, mut has_separate_planes) = (1, 8, false);
        if has_chroma_format(profile) {
            chroma_format = bits.ue().filter(|&format| format <= 3)?;
            if chroma_format == 3 {
                has_separate_planes = bits.flag()?;
            }
            // bit_depth_luma_minus8 and bit_depth_chroma_minus8, at most 6. ISO/IEC 14496-10, 7.4.2.1.1.
            bit_depth = 8 + bits.ue()?.max(bits.ue()?);
            if bit_depth > 14 {
                return None;
            }
            bits.skip(1)?; // qpprime_y_zero_transform_bypass_flag
            if bits.flag()? {
                skip_scaling_matrix(&mut bits, chroma_format)?;
            }
        }
        bits.ue()?; // log2_max_frame_num_minus4
        skip_picture_order_count(&mut bits)?;
        bits.ue()?; // max_num_ref_frames
        bits.skip(1)?; // gaps_in_frame_num_value_allowed_flag

        let width_mbs = bits.ue()?.checked_add(1).filter(|&mbs| mbs <= SIDE_MBS_MAX)?;
        let height_units = bits.ue()?.checked_add(1).filter(|&units| units <= SIDE_MBS_MAX)?;
        let is_frames_only = bits.flag()?;
        if !is_frames_only {
            bits.skip(1)?; // mb_adaptive_frame_field_flag
        }
        bits.skip(1)?; // direct_8x8_inference_flag
        let field_factor = if is_frames_only { 1 } else { 2 };
        let coded = (width_mbs * 16, height_units * 16 * field_factor);
        let crop_unit = match (chroma_format, has_separate_planes) {
            (1, _) => (2, 2 * field_factor),
            (2, _) => (2, field_factor),
            _ => (1, field_factor),
        };
        let (mut width, mut height) = coded;
        if bits.flag()? {
            let [left, right, top, bottom] = [bits.ue()?, bits.ue()?, bits.ue()?, bits.ue()?];
            width = cropped(width, left, right, crop_unit.0)?;
            height = cropped(height, top, bottom, crop_unit.1)?;
        }
        let has_usability = bits.flag()?;
        let Vui { pixel_aspect, colour } =
            if has_usability { Vui::parse(&mut bits)? } else { Vui::default() };
        let frame_rate = if has_usability { frame_rate(&mut bits) } else { None };
        Some(Sps {
            profile,
            level,
            chroma_format,
            bit_depth,
            is_frames_only,
            width,
            height,
            pixel_aspect,
            colour,
            frame_rate,
        })
    }
}

/// Parses the timing, which follows the colours in the video usability information: (frames, seconds).
/// `None` without timing, or if the information ends before it, as some writers produce. A tick is the
/// duration of a field (ISO/IEC 14496-10, E.1.1 and E.2.1).
fn frame_rate(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    if bits.flag()? {
        bits.ue()?; // chroma_sample_loc_type_top_field
        bits.ue()?; // chroma_sample_loc_type_bottom_field
    }
    if !bits.flag()? {
        return None;
    }
    let (units, scale) = (bits.u(32)?, bits.u(32)?);
    let seconds = units.checked_mul(2)?;
    (scale > 0 && seconds > 0).then_some((scale, seconds))
}

/// Profiles whose parameter sets contain chroma format and bit depth. ISO/IEC 14496-10, 7.3.2.1.1.
fn has_chroma_format(profile: u8) -> bool {
    matches!(profile, 100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135)
}

fn cropped(side: u32, before: u32, after: u32, unit: u32) -> Option<u32> {
    let crop = before.checked_add(after)?.checked_mul(unit)?;
    side.checked_sub(crop).filter(|&side| side > 0)
}

fn skip_scaling_matrix(bits: &mut Bits<'_>, chroma_format: u32) -> Option<()> {
    for list in 0..if chroma_format == 3 { 12 } else { 8 } {
        if !bits.flag()? {
            continue;
        }
        let (mut last, mut next) = (8, 8);
        for _ in 0..if list < 6 { 16 } else { 64 } {
            if next != 0 {
                next = (last + bits.se()?).rem_euclid(256);
            }
            if next != 0 {
                last = next;
            }
        }
    }
    Some(())
}

fn skip_picture_order_count(bits: &mut Bits<'_>) -> Option<()> {
    match bits.ue()? {
        0 => {
            bits.ue()?; // log2_max_pic_order_cnt_lsb_minus4
        }
        1 => {
            bits.skip(1)?; // delta_pic_order_always_zero_flag
            bits.se()?; // offset_for_non_ref_pic
            bits.se()?; // offset_for_top_to_bottom_field
            for _ in 0..bits.ue().filter(|&len| len <= POC_CYCLE_MAX)? {
                bits.se()?;
            }
        }
        2 => {}
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests;
