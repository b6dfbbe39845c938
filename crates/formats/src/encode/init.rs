//! Init segments of encoded renditions.

use kinora_index::{
    Index, Rung, Timeline,
    codec::{colour::Colour, h264::AvcConfig},
};
use kinora_isobmff::write::{BoxWriter, IDENTITY_MATRIX, InitKind, InitTrack, write_init};

use super::{
    fragments::{Avc, FragmentReader},
    segmenter::SegmenterError,
};

/// 72 pixels per inch in 16.16, the value of all writers. ISO/IEC 14496-12, 12.1.3.
const RESOLUTION: u32 = 0x0048_0000;
/// Colour with no transparency. ISO/IEC 14496-12, 12.1.3.
const DEPTH: u16 = 0x0018;

/// Why there is no init segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    /// The index has no video.
    #[error("the index has no video")]
    NoVideo,
    /// The decoder configuration is invalid, or differs from the rung.
    #[error("the avcC is not one of {rung}")]
    Configuration {
        /// The codec and size of the rung.
        rung: String,
    },
}

/// The init segment of a rung, on the timeline of the copy: same clock, same edit list.
///
/// `avcc` is the body of the `avcC` box that the encoder wrote. Same arguments, same bytes.
pub fn init_of_rung(index: &Index, rung: &Rung, avcc: &[u8]) -> Result<Vec<u8>, InitError> {
    let (track, _) = index.video().ok_or(InitError::NoVideo)?;
    let mismatch =
        || InitError::Configuration { rung: format!("{} of {}x{}", rung.codec, rung.width, rung.height) };
    let config =
        AvcConfig::parse(avcc).filter(|config| config.codec_string() == rung.codec).ok_or_else(mismatch)?;
    let sps = config.parameter_sets.first().ok_or_else(mismatch)?;
    let (width, height) =
        u16::try_from(rung.width).ok().zip(u16::try_from(rung.height).ok()).ok_or_else(mismatch)?;
    if (sps.width, sps.height) != (rung.width, rung.height) {
        return Err(mismatch());
    }
    let timeline = Timeline::of(index, track);
    Ok(write_init(&InitTrack {
        timescale: timeline.timescale,
        media_time: Some(timeline.media_time),
        language: &track.language,
        kind: InitKind::Video { matrix: &IDENTITY_MATRIX, size: (rung.width, rung.height) },
        sample_entry: &sample_entry((width, height), avcc, sps.colour),
    }))
}

/// The stored init segment of a rung.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RungInit {
    /// The body of its `avcC` box.
    pub avcc: Vec<u8>,
    /// The colour description of all frames of the rung.
    pub colour: Colour,
}

impl RungInit {
    /// Reads an init segment, or a whole output of the encoder with one track.
    ///
    /// Errors: [`SegmenterError`] if it is not the output of an encoder or of [`init_of_rung`].
    pub fn parse(bytes: &[u8]) -> Result<Self, SegmenterError> {
        let mut reader = FragmentReader::<Avc>::default();
        reader.push(bytes, |_, _| Ok(()))?;
        reader.finish()?;
        let [track] = reader.tracks() else {
            return Err(SegmenterError::Tracks { found: reader.tracks().len(), expected: 1 });
        };
        let Avc { avcc, config } = &track.description;
        let colour = config.parameter_sets.first().and_then(|sps| sps.colour).unwrap_or(Colour::UNSPECIFIED);
        Ok(Self { avcc: avcc.clone(), colour })
    }
}

/// An `avc1` box. ISO/IEC 14496-12, 12.1.3; ISO/IEC 14496-15, 5.4.2.1.
pub(crate) fn sample_entry((width, height): (u16, u16), avcc: &[u8], colour: Option<Colour>) -> Vec<u8> {
    let mut boxes = BoxWriter::with_capacity(160 + avcc.len());
    boxes.write_box(b"avc1", |boxes| {
        boxes.zeros(6);
        boxes.u16(1); // data reference
        boxes.zeros(16);
        boxes.u16(width);
        boxes.u16(height);
        boxes.u32(RESOLUTION);
        boxes.u32(RESOLUTION);
        boxes.zeros(4);
        boxes.u16(1); // frame_count: frames in a sample
        boxes.zeros(32); // no name of a compressor
        boxes.u16(DEPTH);
        boxes.u16(u16::MAX);
        boxes.write_box(b"avcC", |boxes| boxes.raw(avcc));
        // The same description as in the bitstream. ISO/IEC 14496-12, 12.1.5.
        if let Some(colour) = colour {
            boxes.write_box(b"colr", |boxes| {
                boxes.raw(b"nclx");
                boxes.u16(colour.primaries);
                boxes.u16(colour.transfer);
                boxes.u16(colour.matrix);
                boxes.raw(&[if colour.is_full_range { 0x80 } else { 0 }]);
            });
        }
        boxes.write_box(b"pasp", |boxes| {
            boxes.u32(1);
            boxes.u32(1);
        });
    });
    boxes.finish()
}
