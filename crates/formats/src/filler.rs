//! Black video and silence, for sources in a sequence that have no video, or no audio.
//!
//! Both use the grid of encoded audio. The first frame and the number of frames name a segment, and
//! determine its bytes.

use kinora_index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Segment, plan::silent_stereo_aac_packet};
use kinora_isobmff::write::{
    FLAGS_SYNC, IDENTITY_MATRIX, InitKind, InitTrack, TrunEntry, write_head, write_init,
};

use crate::encode::{avc_sample_entry, encoded_sample_entry, frames_segment};

/// The kind of a filler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filler {
    /// A still black frame: H.264, 256x144.
    Black,
    /// Silence: AAC-LC, 48 kHz, two channels.
    Silence,
}

/// Frames of a filler segment that is not the last of its sequence: 4 s, as other segments have, and four
/// video frames.
pub const FILLER_FRAMES_MAX: u32 = 4 * BLACK_GOP_FRAMES;
/// Maximum end of a filler in frames: 99 h.
pub const FILLER_FRAME_END_MAX: u32 = 1 << 24;
/// RFC 6381 string of [`Filler::Black`]: Constrained Baseline, level 1.1.
pub const BLACK_CODEC: &str = "avc1.42c00b";

/// Duration of a black frame in audio frames: a second. Players stall if video frames are rarer.
const BLACK_GOP_FRAMES: u32 = 47;
const BLACK_SIZE: (u16, u16) = (256, 144);
// Two black frames, as x264 writes them: `ffmpeg -f lavfi -i color=black:s=256x144:r=1:d=2 -c:v libx264
// -profile:v baseline -level 1.1 -x264-params keyint=1`. They differ in `idr_pic_id`, as consecutive IDR
// frames must (ITU-T H.264, 7.4.3).
const SPS: [u8; 23] =
    *b"\x67\x42\xc0\x0b\xdc\x10\x13\xb0\x11\x00\x00\x03\x00\x01\x00\x00\x03\x00\x02\x0f\x14\x2b\x80";
const PPS: [u8; 5] = *b"\x68\xce\x0f\x2c\x80";
const BLACK_SLICES: [&[u8]; 2] = [
    b"\x65\x88\x84\x04\xbc\x98\xa0\x00\x38\xa3\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x27\x5d\x75\xd7\x5d\x75\xd7\x5d\
        \x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\
        \x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\
        \xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x80",
    b"\x65\x88\x82\x01\x7f\xff\xff\xc3\xd1\x40\x00\x55\xe7\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xc9\xd7\x5d\x75\xd7\
        \x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\
        \xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\
        \x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xd7\x5d\x75\xe0",
];

impl Filler {
    /// Its init segment.
    pub fn init(self) -> Vec<u8> {
        let (entry, kind, media_time) = match self {
            Self::Black => {
                let (width, height) = BLACK_SIZE;
                let size = (u32::from(width), u32::from(height));
                (
                    avc_sample_entry(BLACK_SIZE, &avcc(), None),
                    InitKind::Video { matrix: &IDENTITY_MATRIX, size },
                    0,
                )
            }
            Self::Silence => (encoded_sample_entry(), InitKind::Audio, i64::from(ENCODED_AUDIO_FRAME)),
        };
        write_init(&InitTrack {
            timescale: ENCODED_AUDIO_RATE,
            media_time: Some(media_time),
            language: "und",
            kind,
            sample_entry: &entry,
        })
    }

    /// The segment of `count` frames from `first` on; `None` beyond the limits.
    pub fn segment(self, first: u32, count: u32) -> Option<Vec<u8>> {
        let end = first.checked_add(count)?;
        if count == 0 || FILLER_FRAMES_MAX < count || FILLER_FRAME_END_MAX < end {
            return None;
        }
        Some(match self {
            Self::Black => black(first, count),
            Self::Silence => {
                // A filler at the start of its source begins with the priming that the edit list removes.
                let priming = u32::from(first == 0);
                let packets = vec![silent_stereo_aac_packet(); (count + priming) as usize];
                frames_segment(first, i64::from(first) - i64::from(priming), &packets)
            }
        })
    }

    /// The segments of the frames `first..end`, in ticks of [`ENCODED_AUDIO_RATE`]; none beyond the limits.
    pub fn segments(first: u64, end: u64) -> Vec<Segment> {
        if u64::from(FILLER_FRAME_END_MAX) < end {
            return Vec::new();
        }
        let at = |frame: u64| i64::try_from(frame * u64::from(ENCODED_AUDIO_FRAME)).unwrap_or(i64::MAX);
        let step = u64::from(FILLER_FRAMES_MAX);
        let starts = (0..).map(|number| first + number * step).take_while(|start| *start < end);
        starts
            .map(|start| Segment { samples: 0..0, start: at(start), end: at(end.min(start + step)) })
            .collect()
    }

    /// The name of a segment from [`Filler::segments`]: first frame and number of frames.
    pub fn frames(segment: &Segment) -> (u32, u32) {
        let frame = i64::from(ENCODED_AUDIO_FRAME);
        let number = |ticks: i64| u32::try_from(ticks / frame).unwrap_or(u32::MAX);
        (number(segment.start), number(segment.end.saturating_sub(segment.start)))
    }
}

fn black(first: u32, count: u32) -> Vec<u8> {
    let frames = (0..).map(|number| number * BLACK_GOP_FRAMES).take_while(|start| *start < count);
    let slices: Vec<(u32, &[u8])> = frames
        .zip(BLACK_SLICES.into_iter().cycle())
        .map(|(start, slice)| (BLACK_GOP_FRAMES.min(count - start) * ENCODED_AUDIO_FRAME, slice))
        .collect();
    let mut bytes = Vec::new();
    let mut entries = Vec::with_capacity(slices.len());
    for (duration, slice) in slices {
        let size = u32::try_from(slice.len()).expect("some hundred bytes");
        bytes.extend_from_slice(&size.to_be_bytes());
        bytes.extend_from_slice(slice);
        entries.push(TrunEntry { duration, size: size + 4, flags: FLAGS_SYNC, composition_offset: 0 });
    }
    let decode_time = u64::from(first) * u64::from(ENCODED_AUDIO_FRAME);
    let mut segment = write_head(first, decode_time, &entries, bytes.len() as u64);
    segment.extend_from_slice(&bytes);
    segment
}

/// The body of an `avcC` box. ISO/IEC 14496-15, 5.3.3.1.2.
fn avcc() -> Vec<u8> {
    let mut bytes = vec![1, SPS[1], SPS[2], SPS[3], 0xff]; // lengths of four bytes
    for (count, set) in [(0xe1, &SPS[..]), (1, &PPS[..])] {
        bytes.push(count);
        bytes.extend_from_slice(&u16::try_from(set.len()).expect("some bytes").to_be_bytes());
        bytes.extend_from_slice(set);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinora_index::codec::h264::AvcConfig;

    #[test]
    fn black_filler_codec_string_matches_sps() {
        let config = AvcConfig::parse(&avcc()).unwrap();
        assert_eq!(config.codec_string(), BLACK_CODEC);
        let sps = &config.parameter_sets[0];
        assert_eq!((sps.width, sps.height), (u32::from(BLACK_SIZE.0), u32::from(BLACK_SIZE.1)));
    }

    #[test]
    fn filler_segments_cover_the_gap() {
        let check = |first, end, expected: &[(u32, u32)]| {
            let segments = Filler::segments(first, end);
            let names: Vec<_> = segments.iter().map(Filler::frames).collect();
            assert_eq!(names, expected, "{first}..{end}");
            for (first, count) in names {
                for filler in [Filler::Black, Filler::Silence] {
                    assert!(filler.segment(first, count).is_some());
                }
            }
        };
        check(0, 0, &[]);
        check(0, 1, &[(0, 1)]);
        check(0, 188, &[(0, 188)]);
        check(5, 400, &[(5, 188), (193, 188), (381, 19)]);
        assert_eq!(Filler::segments(0, u64::MAX), []);
        for (first, count) in [(0, 0), (0, 189), (FILLER_FRAME_END_MAX, 1), (u32::MAX, 1)] {
            assert_eq!(Filler::Black.segment(first, count), None);
            assert_eq!(Filler::Silence.segment(first, count), None);
        }
    }
}
