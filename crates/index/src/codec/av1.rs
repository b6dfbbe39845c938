//! AV1: the `av1C` record and the sequence header inside. AV1 Codec ISO Media File Format Binding, 2.3; AV1
//! Bitstream, 5.5.

mod sequence;

use std::fmt::Write as _;

use super::colour::Colour;
pub use sequence::SequenceHeader;

/// The configuration of an `av01` track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Av1Config {
    /// `seq_profile`: 0 is Main, 1 High, 2 Professional.
    pub profile: u8,
    /// `seq_level_idx_0`: 0 is level 2.0, 4 is 3.0, 31 has no limits.
    pub level: u8,
    /// `seq_tier_0`: the high tier.
    pub is_high_tier: bool,
    /// Bits of a sample: 8, 10 or 12.
    pub bit_depth: u8,
    /// The stream has no chroma.
    pub is_monochrome: bool,
    /// Whether chroma has half the columns, and half the rows.
    pub subsampling: (bool, bool),
    /// The sequence header, if the record has one. Otherwise it is in the first sample.
    pub sequence: Option<SequenceHeader>,
}

impl Av1Config {
    /// Parses the body of an `av1C` box. `None` when it is truncated, of another version, or its sequence
    /// header is invalid.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (&[version, profile_level, format, _delay], obus) = body.split_first_chunk::<4>()?;
        if version != 0x81 {
            return None; // marker bit and version 1
        }
        let flag = |mask: u8| format & mask != 0;
        Some(Av1Config {
            profile: profile_level >> 5,
            level: profile_level & 0x1f,
            is_high_tier: flag(0x80),
            bit_depth: match (flag(0x40), flag(0x20)) {
                (false, _) => 8,
                (true, false) => 10,
                (true, true) => 12,
            },
            is_monochrome: flag(0x10),
            subsampling: (flag(0x08), flag(0x04)),
            sequence: sequence::first_sequence_header(obus)?,
        })
    }

    /// The RFC 6381 string, for instance `av01.0.04M.08`. AV1 Codec ISO Media File Format Binding, 5.
    ///
    /// The optional tail, from monochrome to the value range, is written only where it differs from the
    /// defaults. `colour` comes from the container and applies where the sequence header has none.
    pub fn codec_string(&self, colour: Option<Colour>) -> String {
        let mut text = format!(
            "av01.{}.{:02}{}.{:02}",
            self.profile,
            self.level,
            if self.is_high_tier { 'H' } else { 'M' },
            self.bit_depth
        );
        let declared = self.sequence.as_ref().and_then(|sequence| sequence.colour).or(colour);
        let colour = declared.unwrap_or(Colour::BT709);
        if self.is_monochrome || colour != Colour::BT709 {
            let _ = write!(
                text,
                ".{}.{}{}{}.{:02}.{:02}.{:02}.{}",
                u8::from(self.is_monochrome),
                u8::from(self.subsampling.0),
                u8::from(self.subsampling.1),
                self.sequence.as_ref().map_or(0, |sequence| sequence.chroma_position),
                colour.primaries,
                colour.transfer,
                colour.matrix,
                u8::from(colour.is_full_range)
            ); // writing to a String cannot fail
        }
        text
    }
}

#[cfg(test)]
mod tests;
