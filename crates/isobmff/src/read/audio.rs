//! What the sample entry of an audio track says of it, and whether it can be copied.
//!
//! What is true of all codecs stands here; [`aac`] and [`opus`] know what may be copied of each. What may not
//! is kept with the reason, for a decoder, its sample entry as the source has it.

mod aac;
mod fields;
mod opus;

use kinora_index::{AudioTrack, NotCopied, SampleEntry};

use self::fields::SoundFields;
pub(super) use self::fields::{Unit, unit};
use super::{
    super::{boxes::BoxRef, error::ReadError},
    entry::verbatim,
    names::{codec_name, decoded_codec, is_encrypted},
};

/// Bytes of an audio sample entry before its child boxes. ISO/IEC 14496-12, 12.2.3.
const FIELDS_LEN: usize = 28;

/// Most channels that a decoder is asked for.
const DECODED_CHANNELS_MAX: u32 = 64;

/// Reads the sample entry of an audio track with so many ticks a second.
///
/// Copied are AAC-LC and Opus of up to 8 channels. Errors: `Unsupported` for codecs that nobody decodes, and
/// for encrypted ones.
pub fn audio_track(entry: &BoxRef<'_>, timescale: u32) -> Result<AudioTrack, ReadError> {
    match &entry.kind.0 {
        _ if is_encrypted(entry.kind) => Err(ReadError::unsupported("the audio is encrypted")),
        b"mp4a" => aac::track(entry, timescale),
        b"Opus" => opus::track(entry, timescale),
        _ => match decoded_codec(entry.kind) {
            Some(name) => not_copied(entry, timescale, entry.kind.to_string(), name),
            None => not_decoded(&codec_name(entry.kind)),
        },
    }
}

fn not_decoded<T>(found: &str) -> Result<T, ReadError> {
    Err(ReadError::unsupported(format!("the audio codec is {found}, which cannot be decoded")))
}

/// A track for a decoder: what the fields of its entry say. How long its packets are is not known.
fn not_copied(
    entry: &BoxRef<'_>,
    timescale: u32,
    codec: String,
    found: &str,
) -> Result<AudioTrack, ReadError> {
    let fields =
        SoundFields::parse(entry).ok_or_else(|| ReadError::damaged("its audio sample entry is cut short"))?;
    if DECODED_CHANNELS_MAX < fields.channels {
        return Err(ReadError::unsupported(format!(
            "the audio has {} channels; at most {DECODED_CHANNELS_MAX} are supported",
            fields.channels
        )));
    }
    Ok(AudioTrack {
        sample_entry: SampleEntry::Iso(verbatim(entry)?),
        not_copied: Some(NotCopied::codec(found, fields.channels)),
        codec,
        sample_rate: if fields.sample_rate > 0 { fields.sample_rate } else { timescale },
        channels: fields.channels.max(1),
        packet_samples: 0,
    })
}

/// The fields of a version 0 entry: what every player reads.
fn plain_fields(head: &[u8], channels: u32, sample_rate: u32) -> [u8; FIELDS_LEN] {
    let mut fields = [0; FIELDS_LEN];
    fields[..8].copy_from_slice(&head[..8]);
    fields[16..18].copy_from_slice(&(channels as u16).to_be_bytes());
    fields[18..20].copy_from_slice(&16u16.to_be_bytes()); // samplesize, a fixed value
    // 16.16; rates above 65535 do not fit and are left to the configuration.
    let rate = u16::try_from(sample_rate).map_or(0, |rate| u32::from(rate) << 16);
    fields[24..28].copy_from_slice(&rate.to_be_bytes());
    fields
}
