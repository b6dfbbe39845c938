//! Reads AAC sample entries and decides which of them can be copied.

use kinora_index::{
    AudioTrack, LAYOUT_CHANNELS_MAX, NotCopied, SampleEntry,
    codec::aac::{AudioConfig, Esds, Extension},
};

use super::{
    super::{
        super::{
            boxes::{BoxRef, children},
            error::ReadError,
        },
        codec_names::{
            OBJECT_TYPES_NOT_DECODED, audio_object_type_name, decodable_object_type, mpeg4_codec_name,
        },
        sample_entry::build_sample_entry,
    },
    FIELDS_LEN, track_to_decode, unsupported_codec, version_0_fields,
};

/// Bytes that QuickTime's versions 1 and 2 put between the fields and the boxes. QuickTime File Format,
/// sound sample descriptions.
const EXTRA_LENS: [usize; 3] = [0, 16, 36];
/// Audio object type of AAC-LC.
const AAC_LC: u32 = 2;
/// The highest sample rate of AAC. ISO/IEC 14496-3, table 1.18.
const SAMPLE_RATE_MAX: u32 = 96_000;

/// Reads an `mp4a` sample entry: AAC, or another codec with an MPEG-4 number. AAC-LC of up to 8 channels is
/// copied.
pub(super) fn track(entry: &BoxRef<'_>, timescale: u32) -> Result<AudioTrack, ReadError> {
    let (head, esds_box) =
        fields_and_esds(entry).ok_or_else(|| ReadError::damaged("its audio sample entry is cut short"))?;
    let esds = Esds::parse(esds_box.body)
        .ok_or_else(|| ReadError::damaged("its AAC configuration cannot be read"))?;
    if !esds.is_aac_family() {
        let indication = esds.object_type_indication;
        return match decodable_object_type(indication) {
            Some(name) => track_to_decode(entry, timescale, esds.codec_string(None), name),
            None => unsupported_codec(&mpeg4_codec_name(entry.kind, indication)),
        };
    }
    let config = esds
        .decoder_specific_info
        .and_then(AudioConfig::parse)
        .ok_or_else(|| ReadError::damaged("its AAC configuration cannot be read"))?;
    let codec = esds.codec_string(Some(config.object_type));
    let channels = match copied_channels(&config) {
        Ok(channels) => channels,
        Err(found) if OBJECT_TYPES_NOT_DECODED.contains(&config.object_type) => {
            return unsupported_codec(&format!("{found} ({codec})"));
        }
        Err(found) => {
            // Packet times may have to be computed: they follow the rate of the AAC core.
            let track = track_to_decode(entry, timescale, codec, &found)?;
            let (sample_rate, packet_samples) = (config.sample_rate, config.packet_samples);
            // Up to 8 channels, the entry has the number of output channels: HE-AAC v2 outputs two, but its
            // configuration says one.
            let many_channels = config.channels.filter(|channels| LAYOUT_CHANNELS_MAX < *channels);
            let channels = many_channels.unwrap_or(track.channels);
            let not_copied = Some(NotCopied::unsupported_audio_codec(&found, channels));
            return Ok(AudioTrack { sample_rate, packet_samples, channels, not_copied, ..track });
        }
    };
    if config.sample_rate > SAMPLE_RATE_MAX {
        return Err(ReadError::damaged(format!("an AAC sample rate of {} Hz", config.sample_rate)));
    }
    Ok(AudioTrack {
        sample_entry: SampleEntry::Iso(build_sample_entry(
            b"mp4a",
            &version_0_fields(head, channels, config.sample_rate),
            [esds_box],
        )?),
        not_copied: None,
        codec,
        sample_rate: config.sample_rate,
        channels,
        packet_samples: config.packet_samples,
    })
}

/// The number of channels if the configuration can be copied, or else the name of its format.
fn copied_channels(config: &AudioConfig) -> Result<u32, String> {
    match config.extension {
        Some(Extension::Sbr) => return Err("HE-AAC".into()),
        Some(Extension::Ps) => return Err("HE-AAC v2".into()),
        None => {}
    }
    if config.object_type != AAC_LC {
        return Err(audio_object_type_name(config.object_type).into());
    }
    match config.channels {
        Some(channels @ 1..=LAYOUT_CHANNELS_MAX) => Ok(channels),
        Some(_) => Err("AAC-LC".into()),
        None => Err("AAC-LC of an unknown channel layout".into()),
    }
}

/// The fields that all versions share, and the `esds` box, which QuickTime nests in a `wave` box.
fn fields_and_esds<'a>(entry: &BoxRef<'a>) -> Option<(&'a [u8], BoxRef<'a>)> {
    let (head, rest) = entry.body.split_at_checked(FIELDS_LEN)?;
    // Writers disagree whether version 1 in an MP4 has QuickTime's extra fields. The position of the box
    // decides.
    let esds = EXTRA_LENS.iter().filter_map(|&extra| rest.get(extra..)).find_map(|boxes| {
        children(boxes).find_map(|child| match &child.kind.0 {
            b"esds" => Some(child),
            b"wave" => child.child(b"esds"),
            _ => None,
        })
    })?;
    Some((head, esds))
}
