//! Which audio can be copied, and what its sample entry says of it.
//!
//! What is true of all codecs stands here; [`aac`] and [`opus`] know what may be copied of each.

mod aac;
mod opus;

use super::{
    super::{boxes::BoxRef, error::ReadError},
    names::{codec_name, is_encrypted},
};
use crate::index::AudioTrack;

/// Bytes of an audio sample entry before its child boxes. ISO/IEC 14496-12, 12.2.3.
const FIELDS_LEN: usize = 28;
/// Most channels that are passed through: 7.1.
const CHANNELS_MAX: u32 = 8;

/// Reads the sample entry of an audio track. Errors: `Unsupported` for everything but AAC-LC and Opus of up to 8 channels.
pub(crate) fn audio_track(entry: &BoxRef<'_>) -> Result<AudioTrack, ReadError> {
    match &entry.kind.0 {
        _ if is_encrypted(entry.kind) => Err(ReadError::unsupported("the audio is encrypted")),
        b"mp4a" => aac::track(entry),
        b"Opus" => opus::track(entry),
        _ => unsupported(codec_name(entry.kind)),
    }
}

fn unsupported<T>(found: String) -> Result<T, ReadError> {
    Err(ReadError::unsupported(format!(
        "the audio codec is {found}; only AAC-LC and Opus are supported so far"
    )))
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
