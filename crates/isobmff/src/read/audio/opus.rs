//! Reads Opus sample entries and decides which of them can be copied.

use kinora_index::{
    AudioTrack, LAYOUT_CHANNELS_MAX, NotCopied, SampleEntry,
    codec::opus::{CODEC, OpusConfig, PACKET_SAMPLES_DEFAULT, SAMPLE_RATE},
};

use super::{
    super::{
        super::{
            boxes::{BoxRef, children},
            error::ReadError,
        },
        sample_entry::build_sample_entry,
    },
    FIELDS_LEN, track_to_decode, version_0_fields,
};

/// Mapping families whose channels have a defined meaning: mono and stereo, and the Vorbis layouts. RFC
/// 7845, 5.1.1.
const MAPPING_FAMILIES: [u8; 2] = [0, 1];

/// Reads an `Opus` sample entry. The caller sets the packet duration, because only the packets contain it.
///
/// More than 8 channels and layouts without a defined meaning are not copied.
pub(super) fn track(entry: &BoxRef<'_>, timescale: u32) -> Result<AudioTrack, ReadError> {
    let damaged = || ReadError::damaged("its Opus configuration cannot be read");
    let (head, boxes) = entry
        .body
        .split_at_checked(FIELDS_LEN)
        .ok_or_else(|| ReadError::damaged("its audio sample entry is cut short"))?;
    let dops = children(boxes).find(|child| &child.kind.0 == b"dOps").ok_or_else(damaged)?;
    let config = OpusConfig::parse(dops.body).ok_or_else(damaged)?;
    let channels = u32::from(config.channels);
    if channels > LAYOUT_CHANNELS_MAX {
        let track = track_to_decode(entry, timescale, CODEC.to_owned(), CODEC)?;
        return Ok(AudioTrack {
            channels,
            not_copied: Some(NotCopied::unsupported_audio_codec(CODEC, channels)),
            ..track
        });
    }
    // One or two channels must be one stream, because our silent packets contain one stream.
    let is_usual = channels > 2 || (config.streams, u32::from(config.coupled)) == (1, channels - 1);
    if !MAPPING_FAMILIES.contains(&config.mapping_family) || !is_usual {
        return track_to_decode(entry, timescale, CODEC.to_owned(), "Opus of an unknown channel layout");
    }
    Ok(AudioTrack {
        sample_entry: SampleEntry::Iso(build_sample_entry(
            b"Opus",
            &version_0_fields(head, channels, SAMPLE_RATE),
            [dops],
        )?),
        not_copied: None,
        codec: CODEC.to_owned(),
        sample_rate: SAMPLE_RATE,
        channels,
        packet_samples: PACKET_SAMPLES_DEFAULT,
    })
}
