//! HEVC: the `hvcC` record. ISO/IEC 14496-15, 8.3.3.
//!
//! [`Sps`] parses the sequence parameter sets inside.

mod sps;

use std::fmt::Write as _;

pub use sps::Sps;

/// NAL unit types. ISO/IEC 23008-2, table 7-1.
const VIDEO_PARAMETER_SET: u8 = 32;
const SEQUENCE_PARAMETER_SET: u8 = 33;
const PICTURE_PARAMETER_SET: u8 = 34;
/// Sequence parameter sets have a number from 0 to 15. ISO/IEC 23008-2, 7.4.3.2.1.
const SEQUENCE_PARAMETER_SETS_MAX: usize = 16;
/// Letters of `general_profile_space` 0 to 3. ISO/IEC 14496-15, E.3.
const PROFILE_SPACES: [&str; 4] = ["", "A", "B", "C"];

/// The configuration of an `hvc1` or `hev1` track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HevcConfig {
    /// `general_profile_space`, 0 to 3; profiles of spaces other than 0 are not defined.
    pub profile_space: u8,
    /// `general_tier_flag`: the high tier.
    pub is_high_tier: bool,
    /// `general_profile_idc`: 1 is Main, 2 is Main 10.
    pub profile: u8,
    /// `general_profile_compatibility_flags`, the flag of profile 0 in the highest bit.
    pub compatibility: u32,
    /// The 48 bits after them. The first two are the flags of a progressive and of an interlaced source.
    pub constraints: [u8; 6],
    /// `general_level_idc`: thirty times the level.
    pub level: u8,
    /// Length in bytes of the size field before each NAL unit: 1, 2 or 4.
    pub length_size: u8,
    /// The record has a parameter set of each of the three kinds, so decoding needs none in band.
    pub is_complete: bool,
    /// The sequence parameter sets of the base layer, parsed.
    pub parameter_sets: Vec<Sps>,
}

impl HevcConfig {
    /// Parses the body of an `hvcC` box. `None` when it is truncated, or a sequence parameter set is
    /// invalid.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (head, rest) = body.split_first_chunk::<23>()?;
        let length_size = (head[21] & 3) + 1;
        if head[0] != 1 || length_size == 3 {
            return None;
        }
        let [c0, c1, c2, c3] = [head[2], head[3], head[4], head[5]];
        let mut config = HevcConfig {
            profile_space: head[1] >> 6,
            is_high_tier: head[1] & 0x20 != 0,
            profile: head[1] & 0x1f,
            compatibility: u32::from_be_bytes([c0, c1, c2, c3]),
            constraints: [head[6], head[7], head[8], head[9], head[10], head[11]],
            level: head[12],
            length_size,
            is_complete: false,
            parameter_sets: Vec::new(),
        };
        config.read_arrays(head[22], rest)?;
        Some(config)
    }

    /// Parses the arrays of NAL units, each of one type.
    fn read_arrays(&mut self, count: u8, mut rest: &[u8]) -> Option<()> {
        let (mut has_vps, mut has_pps) = (false, false);
        for _ in 0..count {
            let (&[kind, high, low], after) = rest.split_first_chunk::<3>()?;
            rest = after;
            for _ in 0..u16::from_be_bytes([high, low]) {
                let (len, after) = rest.split_first_chunk::<2>()?;
                let (nal, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
                rest = after;
                match kind & 0x3f {
                    VIDEO_PARAMETER_SET => has_vps = true,
                    PICTURE_PARAMETER_SET => has_pps = true,
                    SEQUENCE_PARAMETER_SET if sps::is_of_base_layer(nal) => {
                        if self.parameter_sets.len() == SEQUENCE_PARAMETER_SETS_MAX {
                            return None;
                        }
                        self.parameter_sets.push(Sps::parse(nal)?);
                    }
                    _ => {} // supplemental information, and what later editions add
                }
            }
        }
        self.is_complete = has_vps && has_pps && !self.parameter_sets.is_empty();
        Some(())
    }

    /// Whether a decoder of this profile (1 Main, 2 Main 10) can decode the stream, by its own declaration.
    pub fn conforms_to(&self, profile: u8) -> bool {
        self.profile_space == 0
            && (self.profile == profile || self.compatibility & (0x8000_0000 >> (profile & 31)) != 0)
    }

    /// The stream is marked interlaced, and not also progressive.
    pub fn is_interlaced(&self) -> bool {
        // general_progressive_source_flag, general_interlaced_source_flag. ISO/IEC 23008-2, 7.4.4.
        self.constraints[0] & 0xc0 == 0x40
    }

    /// The RFC 6381 string with the sample entry `hvc1`, for instance `hvc1.1.6.L93.B0`. ISO/IEC 14496-15,
    /// E.3.
    pub fn codec_string(&self) -> String {
        let mut text = format!(
            "hvc1.{}{}.{:X}.{}{}",
            PROFILE_SPACES[usize::from(self.profile_space & 3)],
            self.profile,
            self.compatibility.reverse_bits(),
            if self.is_high_tier { 'H' } else { 'L' },
            self.level,
        );
        let len = self.constraints.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        for byte in &self.constraints[..len] {
            let _ = write!(text, ".{byte:X}"); // writing to a String cannot fail
        }
        text
    }
}

#[cfg(test)]
mod tests;
