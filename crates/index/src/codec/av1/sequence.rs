//! Sequence headers of AV1. AV1 Bitstream, 5.5.

use super::super::{bits::Bits, colour::Colour};

/// OBU type of a sequence header. AV1 Bitstream, 6.2.2.
const SEQUENCE_HEADER: u32 = 1;
/// A size has 7 bits per byte, in at most 8 bytes. AV1 Bitstream, 4.10.5.
const SIZE_LEN_MAX: usize = 8;
/// Most leading zeros of a `uvlc` number. AV1 Bitstream, 4.10.3.
const UVLC_ZEROS_MAX: u32 = 32;
/// Colour primaries and transfer with which matrix 0 means RGB. AV1 Bitstream, 5.5.2.
const SRGB: (u16, u16, u16) = (1, 13, 0);
/// `seq_choose_screen_content_tools` and its like leave the choice to each frame.
const CHOSEN_BY_FRAME: u32 = 2;

/// The video properties in a sequence header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceHeader {
    /// Largest frame width in pixels.
    pub width: u32,
    /// Largest frame height in pixels.
    pub height: u32,
    /// Colour description, if present.
    pub colour: Option<Colour>,
    /// `chroma_sample_position`: 0 unknown, 1 vertical, 2 colocated.
    pub chroma_position: u8,
}

/// The first sequence header among these OBUs. The inner `None`: there is none. The outer `None`: the bytes
/// are invalid.
pub(super) fn first_sequence_header(mut obus: &[u8]) -> Option<Option<SequenceHeader>> {
    while !obus.is_empty() {
        let mut bits = Bits::new(obus);
        let (_, kind, has_extension, has_size) = (bits.flag()?, bits.u(4)?, bits.flag()?, bits.flag()?);
        let rest = obus.get(if has_extension { 2 } else { 1 }..)?;
        let (size, rest) = if has_size { read_size(rest)? } else { (rest.len(), rest) };
        let (payload, after) = rest.split_at_checked(size)?;
        if kind == SEQUENCE_HEADER {
            return Some(Some(SequenceHeader::parse(payload)?));
        }
        obus = after;
    }
    Some(None)
}

/// Reads a size from the front. AV1 Bitstream, 4.10.5.
fn read_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut size = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(SIZE_LEN_MAX) {
        size |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(size).ok()?, &bytes[index + 1..]));
        }
    }
    None
}

impl SequenceHeader {
    /// Parses the payload of a sequence header OBU.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(payload);
        let profile = bits.u(3)?;
        bits.skip(1)?; // `still_picture`
        let is_reduced = bits.flag()?;
        if is_reduced {
            bits.skip(5)?; // seq_level_idx
        } else {
            skip_operating_points(&mut bits)?;
        }

        let (width_bits, height_bits) = (bits.u(4)? + 1, bits.u(4)? + 1);
        let (width, height) = (bits.u(width_bits)? + 1, bits.u(height_bits)? + 1);
        if !is_reduced && bits.flag()? {
            bits.skip(4 + 3)?; // lengths of frame ids
        }
        bits.skip(3)?; // use_128x128_superblock, enable_filter_intra, enable_intra_edge_filter
        if !is_reduced {
            skip_tools(&mut bits)?;
        }
        bits.skip(3)?; // enable_superres, enable_cdef, enable_restoration
        let (colour, chroma_position) = colour_config(&mut bits, profile)?;
        Some(SequenceHeader { width, height, colour, chroma_position })
    }
}

/// Skips the timing information up to the last operating point. AV1 Bitstream, 5.5.1.
fn skip_operating_points(bits: &mut Bits<'_>) -> Option<()> {
    let mut delay_width = None;
    if bits.flag()? {
        bits.skip(64)?; // num_units_in_display_tick, time_scale
        if bits.flag()? {
            skip_uvlc(bits)?; // `num_ticks_per_picture_minus_1`
        }
        if bits.flag()? {
            delay_width = Some(bits.u(5)? as usize + 1);
            bits.skip(32 + 5 + 5)?; // num_units_in_decoding_tick, lengths of times
        }
    }
    let has_display_delay = bits.flag()?;
    for _ in 0..=bits.u(5)? {
        bits.skip(12)?; // operating_point_idc
        if bits.u(5)? > 7 {
            bits.skip(1)?; // seq_tier
        }
        if let Some(width) = delay_width
            && bits.flag()?
        {
            bits.skip(2 * width + 1)?; // delays of decoder and encoder, low_delay_mode_flag
        }
        if has_display_delay && bits.flag()? {
            bits.skip(4)?; // initial_display_delay_minus_1
        }
    }
    Some(())
}

fn skip_uvlc(bits: &mut Bits<'_>) -> Option<()> {
    let mut zeros = 0;
    while !bits.flag()? {
        zeros += 1;
        if zeros >= UVLC_ZEROS_MAX {
            return None;
        }
    }
    bits.skip(zeros as usize)
}

/// Skips the flags of coding tools.
fn skip_tools(bits: &mut Bits<'_>) -> Option<()> {
    bits.skip(4)?; // compounds, warped motion, dual filter
    let has_order_hint = bits.flag()?;
    if has_order_hint {
        bits.skip(2)?; // enable_jnt_comp, enable_ref_frame_mvs
    }
    let screen_content = if bits.flag()? { CHOSEN_BY_FRAME } else { bits.u(1)? };
    if screen_content > 0 && !bits.flag()? {
        bits.skip(1)?; // seq_force_integer_mv
    }
    bits.skip(if has_order_hint { 3 } else { 0 }) // order_hint_bits_minus_1
}

/// The colour description and the position of chroma samples. AV1 Bitstream, 5.5.2.
fn colour_config(bits: &mut Bits<'_>, profile: u32) -> Option<(Option<Colour>, u8)> {
    let is_high_bit_depth = bits.flag()?;
    let is_12_bit = profile == 2 && is_high_bit_depth && bits.flag()?;
    let is_monochrome = profile != 1 && bits.flag()?;
    let described = if bits.flag()? { Some(Colour::parse(bits, false)?) } else { None };
    let with_range = |range| described.map(|colour| Colour { is_full_range: range, ..colour });
    if is_monochrome {
        return Some((with_range(bits.flag()?), 0));
    }
    if described.is_some_and(|colour| (colour.primaries, colour.transfer, colour.matrix) == SRGB) {
        return Some((with_range(true), 0));
    }
    let colour = with_range(bits.flag()?);
    let (is_half_wide, is_half_high) = match profile {
        0 => (true, true),
        1 => (false, false),
        _ if is_12_bit => {
            let is_half_wide = bits.flag()?;
            (is_half_wide, is_half_wide && bits.flag()?)
        }
        _ => (true, false),
    };
    let position = if is_half_wide && is_half_high { bits.u(2)? as u8 } else { 0 };
    Some((colour, position))
}
