//! Init segments of encoded audio.

use kinora_index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Index};
use kinora_isobmff::write::{BoxWriter, InitKind, InitTrack, write_init};

/// AAC-LC, 48 kHz, two channels. ISO/IEC 14496-3, 1.6.2.1.
const AUDIO_SPECIFIC_CONFIG: [u8; 2] = [0x11, 0x90];
/// Announced bitrate in bits per second; decoders do not need it.
const BITRATE: u32 = 128_000;

/// The init segment of the encoded rendition of an audio track, counted from 0 in the order of the source;
/// `None` without such a track.
pub fn encoded_audio_init(index: &Index, audio_number: usize) -> Option<Vec<u8>> {
    let (track, _) = index.audio_tracks().nth(audio_number)?;
    Some(write_init(&InitTrack {
        timescale: ENCODED_AUDIO_RATE,
        media_time: Some(i64::from(ENCODED_AUDIO_FRAME)),
        language: &track.language,
        kind: InitKind::Audio,
        sample_entry: &sample_entry(),
    }))
}

/// An `mp4a` box. ISO/IEC 14496-12, 12.2.3; ISO/IEC 14496-14, 5.6; ISO/IEC 14496-1, 7.2.6.
pub(crate) fn sample_entry() -> Vec<u8> {
    const DESCRIPTOR_HEAD: u8 = 2; // tag and length
    let specific_len = u8::try_from(AUDIO_SPECIFIC_CONFIG.len()).expect("two bytes");
    let decoder_len = 13 + DESCRIPTOR_HEAD + specific_len;
    let es_len = 3 + DESCRIPTOR_HEAD + decoder_len + DESCRIPTOR_HEAD + 1;
    let mut boxes = BoxWriter::with_capacity(96);
    boxes.write_box(b"mp4a", |boxes| {
        boxes.zeros(6);
        boxes.u16(1); // data reference
        boxes.zeros(8);
        boxes.u16(2); // channels
        boxes.u16(16); // bits
        boxes.zeros(4);
        boxes.u32(ENCODED_AUDIO_RATE << 16);
        boxes.write_full_box(b"esds", 0, 0, |boxes| {
            boxes.raw(&[0x03, es_len, 0, 0, 0]); // ES_Descriptor: no id, no flags
            // DecoderConfigDescriptor: MPEG-4 audio, an audio stream.
            boxes.raw(&[0x04, decoder_len, 0x40, 0x15, 0, 0, 0]);
            boxes.u32(BITRATE); // largest
            boxes.u32(BITRATE); // average
            boxes.raw(&[0x05, specific_len]);
            boxes.raw(&AUDIO_SPECIFIC_CONFIG);
            boxes.raw(&[0x06, 1, 0x02]); // SLConfigDescriptor: as MP4 files have it
        });
    });
    boxes.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinora_index::codec::aac::{AudioConfig, Esds};
    use kinora_index::{ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC};

    #[test]
    fn aac_sample_entry_matches_encoder_settings() {
        let entry = sample_entry();
        let esds = Esds::parse(&entry[8 + 28 + 8..]).unwrap();
        assert_eq!(esds.codec_string(Some(2)), ENCODED_AUDIO_CODEC);
        let config = AudioConfig::parse(esds.decoder_specific_info.unwrap()).unwrap();
        let declared = (config.object_type, config.sample_rate, config.channels, config.packet_samples);
        assert_eq!(declared, (2, ENCODED_AUDIO_RATE, Some(ENCODED_AUDIO_CHANNELS), ENCODED_AUDIO_FRAME));
    }
}
