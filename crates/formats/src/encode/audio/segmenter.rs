//! Converts the output of an audio encoder to segments of whole frames.

use kinora_index::{
    ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Index, plan::silent_stereo_aac_packet,
};

use super::{LEAD_SAMPLES, cuts, segment};
use crate::encode::{
    fragments::{Aac, CodedSamples, EncodedTrack, FragmentReader},
    segmenter::SegmenterError,
};

/// Audio object type of AAC-LC. ISO/IEC 14496-3, table 1.17.
const AAC_LC: u32 = 2;
/// Maximum packet length in bytes: 6144 bits for each of two channels. ISO/IEC 14496-3, 4.5.3.
const PACKET_LEN_MAX: u32 = 6144 * 2 / 8;

/// Frames at the end of a feed that may be missing: the last packets of a file are often damaged. Half a
/// second.
const MISSING_FRAMES_MAX: u64 = 24;

/// One segment of encoded audio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedAudioSegment {
    /// Its number in the encoded plan of its track.
    pub number: u32,
    /// The whole segment, `moof` and `mdat`.
    pub bytes: Vec<u8>,
}

/// Builds segments from the output of an encoder for one [`AudioFeed`](super::AudioFeed).
#[derive(Debug)]
pub struct AudioSegmenter {
    reader: FragmentReader<Aac>,
    pending: Pending,
    failure: Option<SegmenterError>,
}

#[derive(Debug)]
struct Pending {
    /// The cuts from the current segment on.
    cuts: std::collections::VecDeque<u64>,
    number: u32,
    /// The next frame; the frame before 0 is the priming of the encoder.
    next: i64,
    packets: Vec<Vec<u8>>,
    /// Added to the frame number that the times of the encoder give.
    frame_offset: i64,
}

impl AudioSegmenter {
    /// For an encoder that reads the feed of these segments of an audio track, counted from 0 in the order
    /// of the source.
    ///
    /// `None` if the plan does not list them.
    pub fn new(index: &Index, audio_number: usize, numbers: std::ops::Range<u32>) -> Option<Self> {
        let cuts = cuts(index, audio_number)?.get(numbers.start as usize..=numbers.end as usize)?;
        let first = i64::try_from(*cuts.first()?).ok()?;
        let next = if numbers.start == 0 { first - 1 } else { first };
        let pending = Pending {
            cuts: cuts.iter().copied().collect(),
            number: numbers.start,
            next,
            packets: Vec::new(),
            frame_offset: 0,
        };
        Some(Self { reader: FragmentReader::default(), pending, failure: None })
    }

    /// For an encoder of joined parts: its output begins [`MARGIN_SAMPLES`](super::MARGIN_SAMPLES) before the
    /// segments, and its times count from there.
    ///
    /// Call it before the first bytes.
    #[must_use]
    pub fn with_output_from_margin(mut self) -> Self {
        let margin = i64::try_from(super::MARGIN_SAMPLES).unwrap_or(0) / i64::from(ENCODED_AUDIO_FRAME);
        let first = self.pending.cuts.front().and_then(|frame| i64::try_from(*frame).ok()).unwrap_or(0);
        self.pending.frame_offset = first - margin;
        self
    }

    /// Adds bytes of the output, cut anywhere. Returns the segments that they complete, in order.
    ///
    /// After an error every further call gives the same error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<EncodedAudioSegment>, SegmenterError> {
        let mut segments = Vec::new();
        self.until_failure(|this| {
            let Self { reader, pending, .. } = this;
            reader.push(bytes, |tracks, coded| pending.push_samples(tracks, coded, &mut segments))
        })?;
        Ok(segments)
    }

    /// Ends the output of the encoder, and returns the remaining segments. If the audio ended before the
    /// plan does, the rest is silent. `audible_end` is the frame up to which audio must have come
    /// ([`AudioFeed::audible_end`](super::AudioFeed::audible_end)), with half a second of tolerance. Pass 0
    /// for an encoder that pads the silent end of its feed.
    ///
    /// Errors: [`SegmenterError::Truncated`] if no audio came at all, or not enough. A second call returns no
    /// segments.
    pub fn finish(&mut self, audible_end: u64) -> Result<Vec<EncodedAudioSegment>, SegmenterError> {
        let mut segments = Vec::new();
        self.until_failure(|this| {
            this.reader.finish()?;
            let heard_until =
                i64::try_from(audible_end.saturating_sub(MISSING_FRAMES_MAX)).unwrap_or(i64::MAX);
            if this.pending.end().is_some() && this.pending.next < heard_until {
                return Err(SegmenterError::Truncated);
            }
            while let Some(end) = this.pending.end() {
                while this.pending.next < end {
                    this.pending.push(&silent_stereo_aac_packet(), &mut segments);
                }
            }
            Ok(())
        })?;
        Ok(segments)
    }

    fn until_failure(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), SegmenterError>,
    ) -> Result<(), SegmenterError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let outcome = work(self);
        self.failure = outcome.as_ref().err().cloned();
        outcome
    }
}

impl Pending {
    fn push_samples(
        &mut self,
        tracks: &[EncodedTrack<Aac>],
        coded: CodedSamples<'_>,
        segments: &mut Vec<EncodedAudioSegment>,
    ) -> Result<(), SegmenterError> {
        let [track] = tracks else { return Err(SegmenterError::Malformed("several audio tracks")) };
        let config = track.description.config;
        let is_expected = config.object_type == AAC_LC
            && config.channels == Some(ENCODED_AUDIO_CHANNELS)
            && (config.sample_rate, track.timescale) == (ENCODED_AUDIO_RATE, ENCODED_AUDIO_RATE);
        if !is_expected {
            return Err(SegmenterError::Malformed("audio other than AAC-LC, 48 kHz, stereo"));
        }
        let mut bytes = coded.bytes;
        for packet in coded.samples {
            if PACKET_LEN_MAX < packet.size {
                return Err(SegmenterError::TooLarge { what: "an audio packet", bytes: packet.size.into() });
            }
            let (packet_bytes, rest) = bytes
                .split_at_checked(packet.size as usize)
                .ok_or(SegmenterError::Malformed("samples outside their data"))?;
            bytes = rest;
            let frame = frame_at(packet.pts)
                .ok_or(SegmenterError::Malformed("an audio packet off the frame grid"))?;
            let frame = frame.saturating_add(self.frame_offset);
            if self.end().is_none() || frame < self.next {
                continue; // around what was ordered
            }
            if frame != self.next {
                return Err(SegmenterError::Malformed("audio with a gap"));
            }
            self.push(packet_bytes, segments);
        }
        Ok(())
    }

    /// The first frame after the current segment; `None` when all are made.
    fn end(&self) -> Option<i64> {
        self.cuts.get(1).and_then(|end| i64::try_from(*end).ok())
    }

    /// Adds the next packet, and builds the segment that it completes.
    fn push(&mut self, packet: &[u8], segments: &mut Vec<EncodedAudioSegment>) {
        self.packets.push(packet.to_vec());
        self.next += 1;
        if self.end() == Some(self.next) {
            let first = self.next - i64::try_from(self.packets.len()).unwrap_or(i64::MAX);
            segments.push(EncodedAudioSegment {
                number: self.number,
                bytes: segment(self.number, first, &self.packets),
            });
            self.packets.clear();
            self.cuts.pop_front();
            self.number += 1;
        }
    }
}

/// The frame of the grid that begins at this position of the feed.
fn frame_at(position: i64) -> Option<i64> {
    let from_zero = position.checked_sub(i64::try_from(LEAD_SAMPLES).ok()?)?;
    let frame = i64::from(ENCODED_AUDIO_FRAME);
    (from_zero.rem_euclid(frame) == 0).then(|| from_zero.div_euclid(frame))
}
