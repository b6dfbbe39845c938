//! Reads the sample entry of an audio track and decides whether the track can be copied.
//!
//! This file has the rules for all codecs; [`aac`] and [`opus`] have those of each codec. A track that
//! cannot be copied stores its reason and its original sample entry, which a decoder reads.

mod aac;
mod entry_fields;
mod opus;

use kinora_index::{AudioTrack, NotCopied, SampleEntry};

use self::entry_fields::AudioEntryFields;
pub(super) use self::entry_fields::{BlockAlign, block_align};
use super::{
    super::{boxes::BoxRef, error::ReadError},
    codec_names::{codec_name, decodable_codec, is_encrypted},
    sample_entry::copy_sample_entry,
};

/// Bytes of an audio sample entry before its child boxes. ISO/IEC 14496-12, 12.2.3.
const FIELDS_LEN: usize = 28;

/// Maximum number of channels for decoding.
const DECODED_CHANNELS_MAX: u32 = 64;

/// Reads the sample entry of an audio track; `timescale` is in ticks per second.
///
/// AAC-LC and Opus of up to 8 channels are copied. Errors: `Unsupported` for codecs without a decoder, and
/// for encrypted ones.
pub fn audio_track(entry: &BoxRef<'_>, timescale: u32) -> Result<AudioTrack, ReadError> {
    match &entry.kind.0 {
        _ if is_encrypted(entry.kind) => Err(ReadError::unsupported("the audio is encrypted")),
        b"mp4a" => aac::track(entry, timescale),
        b"Opus" => opus::track(entry, timescale),
        _ => match decodable_codec(entry.kind) {
            Some(name) => track_to_decode(entry, timescale, entry.kind.to_string(), name),
            None => unsupported_codec(&codec_name(entry.kind)),
        },
    }
}

fn unsupported_codec<T>(name: &str) -> Result<T, ReadError> {
    Err(ReadError::unsupported(format!("the audio codec is {name}, which cannot be decoded")))
}

/// A track that must be decoded, as the fields of its entry describe it. Its packet duration is unknown.
fn track_to_decode(
    entry: &BoxRef<'_>,
    timescale: u32,
    codec: String,
    name: &str,
) -> Result<AudioTrack, ReadError> {
    let fields = AudioEntryFields::parse(entry)
        .ok_or_else(|| ReadError::damaged("its audio sample entry is cut short"))?;
    if DECODED_CHANNELS_MAX < fields.channels {
        return Err(ReadError::unsupported(format!(
            "the audio has {} channels; at most {DECODED_CHANNELS_MAX} are supported",
            fields.channels
        )));
    }
    Ok(AudioTrack {
        sample_entry: SampleEntry::Iso(copy_sample_entry(entry)?),
        not_copied: Some(NotCopied::unsupported_audio_codec(name, fields.channels)),
        codec,
        sample_rate: if fields.sample_rate > 0 { fields.sample_rate } else { timescale },
        channels: fields.channels.max(1),
        packet_samples: 0,
    })
}

/// The fields of a version 0 entry, which every player reads.
fn version_0_fields(head: &[u8], channels: u32, sample_rate: u32) -> [u8; FIELDS_LEN] {
    let mut fields = [0; FIELDS_LEN];
    fields[..8].copy_from_slice(&head[..8]);
    fields[16..18].copy_from_slice(&(channels as u16).to_be_bytes());
    fields[18..20].copy_from_slice(&16u16.to_be_bytes()); // samplesize, a fixed value
    // 16.16; rates above 65535 do not fit, and players read those from the configuration.
    let rate = u16::try_from(sample_rate).map_or(0, |rate| u32::from(rate) << 16);
    fields[24..28].copy_from_slice(&rate.to_be_bytes());
    fields
}
