//! AAC: the `AudioSpecificConfig` and the descriptors of `esds` around it. ISO/IEC 14496-3, 1.6; ISO/IEC
//! 14496-1, 7.2.6.

use super::bits::Bits;

/// Audio object type of AAC-LC. ISO/IEC 14496-3, table 1.17.
const AAC_LC: u32 = 2;
/// Spectral band replication, and parametric stereo on top of it.
const SBR: u32 = 5;
const PS: u32 = 29;
/// Marks a signalling of SBR that old decoders ignore. ISO/IEC 14496-3, 1.6.6.1.
const SYNC_EXTENSION: u32 = 0x2b7;
/// ISO/IEC 14496-3, table 1.18.
const SAMPLE_RATES: [u32; 13] =
    [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350];
/// `objectTypeIndication` of MPEG-4 audio and of MPEG-2 AAC-LC. ISO/IEC 14496-1, table 5.
const MPEG4_AUDIO: u8 = 0x40;
const MPEG2_AAC_LC: u8 = 0x67;

/// The fields of an `AudioSpecificConfig`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioConfig {
    /// Audio object type of the core: 2 is AAC-LC.
    pub object_type: u32,
    /// Set when SBR or parametric stereo is signalled, by object type or after the configuration.
    pub extension: Option<Extension>,
    /// Samples per second of the core.
    pub sample_rate: u32,
    /// Number of channels; `None` for a layout that is reserved or cannot be counted.
    pub channels: Option<u32>,
    /// PCM samples of one packet of the core.
    pub packet_samples: u32,
}

/// The extension that turns AAC-LC into HE-AAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Spectral band replication: HE-AAC.
    Sbr,
    /// With parametric stereo: HE-AAC v2.
    Ps,
}

/// The fields of the descriptors of an `esds` box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Esds<'a> {
    /// The family of codecs.
    pub object_type_indication: u8,
    /// The codec-specific configuration, if present.
    pub decoder_specific_info: Option<&'a [u8]>,
}

impl AudioConfig {
    /// Parses an `AudioSpecificConfig`. `None` when it is truncated or its sample rate is reserved.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(bytes);
        let mut object_type = object_type_of(&mut bits)?;
        let sample_rate = sample_rate_of(&mut bits)?;
        let layout = bits.u(4)?;
        let mut extension = None;
        if object_type == SBR || object_type == PS {
            extension = Some(if object_type == PS { Extension::Ps } else { Extension::Sbr });
            sample_rate_of(&mut bits)?; // of the extension
            object_type = object_type_of(&mut bits)?;
        }
        let mut config =
            AudioConfig { object_type, extension, sample_rate, channels: None, packet_samples: 1024 };
        if object_type != AAC_LC {
            return Some(config);
        }

        // GASpecificConfig. ISO/IEC 14496-3, 4.4.1.
        if bits.flag()? {
            config.packet_samples = 960;
        }
        if bits.flag()? {
            bits.skip(14)?; // coreCoderDelay
        }
        bits.skip(1)?; // extensionFlag, nothing follows it for AAC-LC
        config.channels = if layout == 0 { program_channels(&mut bits) } else { channels_of_layout(layout) };

        if config.extension.is_none() && bits.left() >= 16 && bits.u(11)? == SYNC_EXTENSION {
            config.extension = sync_extension(&mut bits);
        }
        Some(config)
    }
}

impl<'a> Esds<'a> {
    /// Parses the body of an `esds` box, version and flags included.
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        let (_, rest) = body.split_first_chunk::<4>()?;
        let stream = descriptor(rest, 0x03)?;
        let (&[_, _, flags], mut rest) = stream.split_first_chunk::<3>()?;
        if flags & 0x80 != 0 {
            rest = rest.get(2..)?; // dependsOn_ES_ID
        }
        if flags & 0x40 != 0 {
            let (&len, after) = rest.split_first()?;
            rest = after.get(usize::from(len)..)?; // URL
        }
        if flags & 0x20 != 0 {
            rest = rest.get(2..)?; // OCR_ES_Id
        }
        let decoder = descriptor(rest, 0x04)?;
        let (head, rest) = decoder.split_first_chunk::<13>()?;
        Some(Esds { object_type_indication: head[0], decoder_specific_info: descriptor(rest, 0x05) })
    }

    /// The RFC 6381 string, for instance `mp4a.40.2`.
    ///
    /// The object type is that of the configuration, for the two families that have one.
    pub fn codec_string(&self, object_type: Option<u32>) -> String {
        match object_type {
            Some(object_type) if self.object_type_indication == MPEG4_AUDIO => {
                format!("mp4a.40.{object_type}")
            }
            _ => format!("mp4a.{:02X}", self.object_type_indication),
        }
    }

    /// Whether the configuration is an `AudioSpecificConfig` of MPEG-4 audio or MPEG-2 AAC-LC.
    pub fn is_aac_family(&self) -> bool {
        matches!(self.object_type_indication, MPEG4_AUDIO | MPEG2_AAC_LC)
    }
}

/// The body of the first descriptor, if it has this tag. Sizes are 7 bits per byte, in at most 4 bytes.
/// ISO/IEC 14496-1, 8.3.3.
fn descriptor(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (&found, mut rest) = bytes.split_first()?;
    if found != tag {
        return None;
    }
    let mut size = 0usize;
    for _ in 0..4 {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        size = size << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            // Some writers declare a larger size than they write; the bytes present are enough.
            return Some(&rest[..size.min(rest.len())]);
        }
    }
    None
}

fn object_type_of(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.u(5)? {
        31 => Some(32 + bits.u(6)?),
        object_type => Some(object_type),
    }
}

fn sample_rate_of(bits: &mut Bits<'_>) -> Option<u32> {
    match bits.u(4)? {
        15 => bits.u(24).filter(|&rate| rate > 0),
        index => SAMPLE_RATES.get(index as usize).copied(),
    }
}

/// ISO/IEC 14496-3, table 1.19.
fn channels_of_layout(layout: u32) -> Option<u32> {
    match layout {
        1..=6 => Some(layout),
        7 | 12 | 14 => Some(8),
        11 => Some(7),
        _ => None,
    }
}

/// Counts the channels of a `program_config_element`. ISO/IEC 14496-3, table 4.2.
fn program_channels(bits: &mut Bits<'_>) -> Option<u32> {
    bits.skip(4 + 2 + 4)?; // element_instance_tag, object_type, sampling_frequency_index
    let [front, side, back] = [bits.u(4)?, bits.u(4)?, bits.u(4)?];
    let [lfe, _data, _coupling] = [bits.u(2)?, bits.u(3)?, bits.u(4)?];
    for mixdown_width in [4, 4, 3] {
        if bits.flag()? {
            bits.skip(mixdown_width)?;
        }
    }
    let mut channels = lfe;
    for _ in 0..front + side + back {
        channels += if bits.flag()? { 2 } else { 1 }; // a pair or a single channel
        bits.skip(4)?; // its tag
    }
    Some(channels)
}

fn sync_extension(bits: &mut Bits<'_>) -> Option<Extension> {
    if object_type_of(bits)? != SBR || !bits.flag()? {
        return None;
    }
    sample_rate_of(bits)?;
    // psPresentFlag follows its own sync word.
    let has_ps = bits.left() >= 12 && bits.u(11)? == 0x548 && bits.flag()?;
    Some(if has_ps { Extension::Ps } else { Extension::Sbr })
}

#[cfg(test)]
mod tests;
