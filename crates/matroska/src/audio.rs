//! Describes an audio track: with a sample entry of MP4 if players may get the track unchanged, else with
//! the entry of Matroska.

use kinora_index::{AudioTrack, NotCopied, SampleEntry, codec::opus};
use kinora_isobmff::{
    ReadError,
    boxes::{BoxRef, FourCc},
    read::{audio_track, build_sample_entry},
};

use crate::{
    codec_names::codec_name,
    ebml::{Element, id},
    packet_duration::PacketDuration,
    track_entry::TrackEntry,
};

/// Bytes of an audio sample entry before its child boxes. ISO/IEC 14496-12, 12.2.3.
const FIELDS_LEN: usize = 28;
/// Maximum length of an AAC configuration: channel layouts and extensions take some tens of bytes.
const AAC_CONFIG_LEN_MAX: usize = 64;
/// Default sample rate of a track. RFC 9559, 5.1.4.1.29.
const SAMPLE_RATE_DEFAULT: f64 = 8000.0;
/// Maximum accepted rate; recordings have at most 384 kHz.
const SAMPLE_RATE_MAX: f64 = 768_000.0;
/// Maximum accepted number of channels.
const CHANNELS_MAX: u64 = 255;

/// An audio track, and how the length of its packets is found.
pub(crate) struct AudioInfo {
    pub(crate) track: AudioTrack,
    pub(crate) packet_duration: PacketDuration,
    /// PCM samples at the start of the decoder's output that are not presented, if the codec declares them.
    pub(crate) pre_skip: Option<u32>,
}

/// Reads the description of an audio track.
///
/// Errors: those of the MP4 reader for the same codec; `Damaged` for an impossible rate.
pub(crate) fn track(entry: &TrackEntry<'_>) -> Result<AudioInfo, ReadError> {
    let fields = AudioSettings::parse(entry.element.child(id::AUDIO).as_ref())?;
    match entry.codec_id {
        "A_AAC" if (2..=AAC_CONFIG_LEN_MAX).contains(&entry.private.len()) => {
            let track = copied_track(b"mp4a", *b"esds", &esds(entry.private), &fields)?;
            let packet_duration = PacketDuration::Same(track.packet_samples);
            Ok(AudioInfo { track, packet_duration, pre_skip: None })
        }
        "A_OPUS" => match opus_record(entry.private) {
            Some((record, pre_skip)) => {
                let track = copied_track(b"Opus", *b"dOps", &record, &fields)?;
                Ok(AudioInfo { track, packet_duration: PacketDuration::Opus, pre_skip: Some(pre_skip) })
            }
            None => Ok(AudioInfo {
                packet_duration: PacketDuration::Opus,
                ..not_copied_info(entry, &AudioSettings { rate: opus::SAMPLE_RATE, ..fields })
            }),
        },
        _ => Ok(not_copied_info(entry, &fields)),
    }
}

fn not_copied_info(entry: &TrackEntry<'_>, fields: &AudioSettings) -> AudioInfo {
    let frame_bytes = fields.channels * fields.bit_depth.div_ceil(8);
    let packet_duration = PacketDuration::of_codec(entry.codec_id, entry.private, fields.rate, frame_bytes);
    let track = AudioTrack {
        sample_entry: SampleEntry::Matroska(entry.element.whole.to_vec()),
        codec: entry.codec_id.to_owned(),
        not_copied: Some(NotCopied::unsupported_audio_codec(
            &codec_name(entry.codec_id, entry.private),
            fields.channels,
        )),
        sample_rate: fields.rate,
        channels: fields.channels,
        packet_samples: match packet_duration {
            PacketDuration::Same(samples) | PacketDuration::Flac(samples) => samples,
            _ => 0,
        },
    };
    AudioInfo { track, packet_duration, pre_skip: None }
}

/// The track that the MP4 reader makes of this sample entry.
fn copied_track(
    kind: &[u8; 4],
    config_kind: [u8; 4],
    config: &[u8],
    fields: &AudioSettings,
) -> Result<AudioTrack, ReadError> {
    let mut head = [0; FIELDS_LEN];
    head[16..18].copy_from_slice(&(fields.channels as u16).to_be_bytes());
    head[18..20].copy_from_slice(&16u16.to_be_bytes());
    let bytes = build_sample_entry(kind, &head, [BoxRef { kind: FourCc(config_kind), body: config }])?;
    audio_track(&BoxRef { kind: FourCc(*kind), body: &bytes[8..] }, fields.rate)
}

/// The fields of an `Audio` element.
#[derive(Clone, Copy)]
struct AudioSettings {
    rate: u32,
    channels: u32,
    bit_depth: u32,
}

impl AudioSettings {
    fn parse(audio: Option<&Element<'_>>) -> Result<Self, ReadError> {
        let rate =
            audio.and_then(|audio| audio.child(id::SAMPLING_FREQUENCY)).and_then(|rate| rate.as_float());
        let rate = rate.unwrap_or(SAMPLE_RATE_DEFAULT).round();
        if !(1.0..=SAMPLE_RATE_MAX).contains(&rate) {
            return Err(ReadError::Damaged(format!("an audio sample rate of {rate} Hz")));
        }
        let number =
            |id, max| audio.and_then(|audio| audio.uint(id)).filter(|number| (1..=max).contains(number));
        Ok(AudioSettings {
            rate: rate as u32,
            channels: number(id::CHANNELS, CHANNELS_MAX).unwrap_or(1) as u32,
            bit_depth: number(id::BIT_DEPTH, 64).unwrap_or(0) as u32,
        })
    }
}

/// The body of an `esds` box around a configuration of AAC. ISO/IEC 14496-1, 7.2.6.
fn esds(config: &[u8]) -> Vec<u8> {
    let descriptor = |tag: u8, body: &[u8]| [&[tag, body.len() as u8], body].concat();
    let specific = descriptor(0x05, config);
    // MPEG-4 audio, an audio stream; buffer size and bit rates are unspecified.
    let decoder = [&[0x40, 0x15][..], &[0; 11], &specific].concat();
    // No stream number, no flags; then the predefined configuration of the sync layer for MP4.
    let stream = [&[0, 0, 0][..], &descriptor(0x04, &decoder), &descriptor(0x06, &[2])].concat();
    [&[0; 4][..], &descriptor(0x03, &stream)].concat()
}

/// The body of a `dOps` box from the identification header of Opus, and its pre-skip. RFC 7845, 5.1;
/// Encapsulation of Opus in ISO Base Media File Format, 4.3.2.
fn opus_record(private: &[u8]) -> Option<(Vec<u8>, u32)> {
    let head = private.strip_prefix(b"OpusHead")?;
    let (&[version, channels, p0, p1, r0, r1, r2, r3, g0, g1, family], mapping) =
        head.split_first_chunk::<11>()?;
    if version >> 4 != 0 {
        return None;
    }
    let mut record = vec![0, channels, p1, p0, r3, r2, r1, r0, g1, g0, family];
    if family != 0 {
        record.extend_from_slice(mapping.get(..2 + usize::from(channels))?);
    }
    Some((record, u16::from_le_bytes([p0, p1]).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinora_index::codec::{aac::Esds, opus::OpusConfig};

    #[test]
    fn aac_config_round_trips_in_esds() {
        let body = esds(&[0x11, 0x90]);
        let read = Esds::parse(&body).unwrap();
        assert_eq!(
            (read.object_type_indication, read.decoder_specific_info),
            (0x40, Some(&[0x11, 0x90][..]))
        );
        let longest = [7; AAC_CONFIG_LEN_MAX];
        assert_eq!(Esds::parse(&esds(&longest)).unwrap().decoder_specific_info, Some(&longest[..]));
    }

    #[test]
    fn opus_head_becomes_dops() {
        let stereo = b"OpusHead\x01\x02\x38\x01\x80\xbb\0\0\0\0\0";
        let (record, pre_skip) = opus_record(stereo).unwrap();
        assert_eq!((record.as_slice(), pre_skip), (&[0, 2, 1, 0x38, 0, 0, 0xbb, 0x80, 0, 0, 0][..], 312));
        assert!(OpusConfig::parse(&record).is_some());
        let surround = b"OpusHead\x01\x06\x38\x01\x80\xbb\0\0\0\0\x01\x04\x02\0\x04\x01\x02\x03\x05";
        assert_eq!(OpusConfig::parse(&opus_record(surround).unwrap().0).unwrap().channels, 6);
        for len in 0..stereo.len() {
            assert_eq!(opus_record(&stereo[..len]), None);
        }
        assert_eq!(opus_record(&surround[..surround.len() - 1]), None);
    }
}
