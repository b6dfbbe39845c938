//! The sample entry: copied from the source, or made ISO where QuickTime spells it another way.

use super::WriteError;
use super::bytes::{Boxes, children};
use crate::index::{AudioTrack, Track, TrackMedia};

/// Bytes of a box's size and type, then six reserved bytes: here stands the number of the data reference.
const DATA_REFERENCE: std::ops::Range<usize> = 14..16;
/// ISO/IEC 14496-12, 12.2.3: fixed fields of an audio sample entry, its box header included.
const AUDIO_FIELDS_LEN: usize = 36;
/// ISO/IEC 14496-12, 12.1.3: fixed fields of a visual sample entry, its box header included.
const VISUAL_FIELDS_LEN: usize = 86;
/// QuickTime File Format, "Sound Sample Description (Version 1)": four more 32-bit fields.
const SOUND_V1_LEN: usize = AUDIO_FIELDS_LEN + 16;
/// QuickTime File Format, "Sound Sample Description (Version 2)": 36 more bytes.
const SOUND_V2_LEN: usize = AUDIO_FIELDS_LEN + 36;

/// The sample entry of the track we write.
///
/// The source's bytes where a player can read them, with the data reference set to the only one we have.
pub(super) fn sample_entry(track: &Track) -> Result<Vec<u8>, WriteError> {
    match &track.media {
        TrackMedia::Video(video) => copied(&video.sample_entry, VISUAL_FIELDS_LEN),
        TrackMedia::Audio(audio) => {
            let entry = audio.sample_entry.as_slice();
            if version(entry)? == 0
                && decoder_config(entry, AUDIO_FIELDS_LEN).is_some_and(|found| !found.in_wave)
            {
                return copied(entry, AUDIO_FIELDS_LEN);
            }
            // An ISO version 1 entry has no extra fields: a walk that begins at the wrong place finds no esds.
            let config = [SOUND_V1_LEN, SOUND_V2_LEN, AUDIO_FIELDS_LEN]
                .into_iter()
                .find_map(|fields_len| decoder_config(entry, fields_len))
                .ok_or(WriteError::SampleEntry { reason: "has no decoder configuration" })?;
            Ok(iso_audio(audio, config.esds))
        }
    }
}

/// The version of a sound description, zero in ISO files.
fn version(entry: &[u8]) -> Result<u16, WriteError> {
    let bytes = entry.get(16..18).ok_or(WriteError::SampleEntry { reason: "is too short" })?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn copied(entry: &[u8], fields_len: usize) -> Result<Vec<u8>, WriteError> {
    if entry.len() < fields_len {
        return Err(WriteError::SampleEntry { reason: "is too short" });
    }
    let announced = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
    if usize::try_from(announced) != Ok(entry.len()) {
        return Err(WriteError::SampleEntry { reason: "does not have the length it says" });
    }
    let mut copy = entry.to_vec();
    copy[DATA_REFERENCE].copy_from_slice(&1_u16.to_be_bytes());
    Ok(copy)
}

struct DecoderConfig<'a> {
    /// Content of the box, version and flags included.
    esds: &'a [u8],
    in_wave: bool,
}

/// Looks for `esds` among the boxes behind `fields_len` bytes, and in QuickTime's `wave` among them.
fn decoder_config(entry: &[u8], fields_len: usize) -> Option<DecoderConfig<'_>> {
    let boxes = entry.get(fields_len..)?;
    let esds = |boxes| children(boxes).find(|(kind, _)| kind == b"esds").map(|(_, content)| content);
    if let Some(esds) = esds(boxes) {
        return Some(DecoderConfig { esds, in_wave: false });
    }
    let (_, wave) = children(boxes).find(|(kind, _)| kind == b"wave")?;
    esds(wave).map(|esds| DecoderConfig { esds, in_wave: true })
}

/// An ISO `mp4a` entry around a decoder configuration.
fn iso_audio(audio: &AudioTrack, esds: &[u8]) -> Vec<u8> {
    let mut boxes = Boxes::with_capacity(AUDIO_FIELDS_LEN + 8 + esds.len());
    boxes.boxed(b"mp4a", |boxes| {
        boxes.zeros(6);
        boxes.u16(1); // data reference
        boxes.zeros(8);
        boxes.u16(u16::try_from(audio.channels).unwrap_or(2));
        boxes.u16(16); // bits a sample: a template value
        boxes.zeros(4);
        // 16.16; a rate that does not fit is left to the decoder configuration.
        boxes.u32(u16::try_from(audio.sample_rate).map_or(0, |rate| u32::from(rate) << 16));
        boxes.boxed(b"esds", |boxes| boxes.raw(esds));
    });
    boxes.finish()
}
