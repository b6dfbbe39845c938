//! Collects the frames of the chosen tracks: packed, with their written times.
//!
//! [`super::times`] interprets the times when all frames have arrived.

use std::ops::RangeInclusive;

use kinora_index::{AUDIO_TRACKS_MAX, Sample, SampleTable, SampleTableBuilder};
use kinora_isobmff::{
    ReadError,
    read::{AUDIO_SAMPLES_MAX, TRACK_SAMPLES_MAX},
};
use serde::{Deserialize, Serialize};

use crate::{
    block::BlockHead,
    packet_duration::FrameCodec,
    selected_tracks::{SelectedTracks, Unreadable},
};

/// Bytes of a frame that are read.
pub(crate) const FRAME_HEAD_LEN: usize = 16;
/// A temporal delimiter of AV1, which blocks should not contain and samples of MP4 do not. AV1 Bitstream,
/// 5.6.
const TEMPORAL_DELIMITER: [u8; 2] = [0x12, 0];
/// Nanoseconds beyond which times are damage: 146 years. Limits the arithmetic to its range.
const TIME_NS_MAX: i128 = i64::MAX as i128 / 2;
/// Units beyond which times are damage, so that a small addition never overflows.
pub(crate) const TIME_MAX: i64 = i64::MAX / 2;
/// Valid times of a block, in units.
const TIMES: RangeInclusive<i64> = i16::MIN as i64..=TIME_MAX + i16::MAX as i64;

/// The properties that a block gives its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockInfo {
    /// Decoding can begin here.
    pub(crate) is_key: bool,
    /// Duration of all frames together, in units.
    pub(crate) duration: Option<u64>,
    /// Nanoseconds at the end of the last frame that are not presented.
    pub(crate) discarded_ns: u64,
}

/// One frame, with its first bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Frame {
    offset: u64,
    size: u32,
    head: [u8; FRAME_HEAD_LEN],
}

impl Frame {
    /// A frame at an offset, with its bytes as far as available.
    pub(crate) fn new(offset: u64, size: u32, bytes: &[u8]) -> Self {
        let mut head = [0; FRAME_HEAD_LEN];
        let len = bytes.len().min(FRAME_HEAD_LEN).min(size as usize);
        head[..len].copy_from_slice(&bytes[..len]);
        Frame { offset, size, head }
    }
}

impl Frame {
    /// Whether a frame that was read from a checkpoint ends within 64 bits.
    pub(crate) fn is_valid(&self) -> bool {
        self.offset.checked_add(self.size.into()).is_some()
    }
}

/// All chosen tracks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Collector {
    tracks: Vec<TrackFrames>,
    audio_count: u64,
}

/// The frames of one track, as rows of a table of samples.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TrackFrames {
    number: u64,
    codec: FrameCodec,
    builder: SampleTableBuilder,
    /// PCM samples per second; 0 for video.
    rate: u32,
    /// The state that a packet leaves for the length of the next one.
    before: u32,
    pub(crate) count: u32,
    /// Earliest and latest time, in units.
    pub(crate) times: Option<(i64, i64)>,
}

/// One frame in its stored form: packed in a [`Sample`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameRecord {
    /// In units; for a frame of a lace, the time of its block.
    pub(crate) time: i64,
    /// Whether its written time does not apply. Audio: it follows another frame in a lace. Video: it is
    /// decoded and not presented.
    pub(crate) is_untimed: bool,
    /// PCM samples, if the audio packets contain their length. Otherwise the declared units, 0 if none are
    /// declared.
    pub(crate) duration: u32,
    pub(crate) offset: u64,
    pub(crate) size: u32,
    pub(crate) is_key: bool,
}

impl Collector {
    pub(crate) fn new(chosen: &SelectedTracks) -> Self {
        let tracks = chosen
            .tracks()
            .map(|track| TrackFrames::new(track.number, track.row_codec, track.sample_rate()))
            .collect();
        Collector { tracks, audio_count: 0 }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(crate) fn is_valid(&self) -> bool {
        self.tracks.len() <= 1 + AUDIO_TRACKS_MAX
            && self.tracks.iter().all(TrackFrames::is_valid)
            && self.audio_count <= AUDIO_SAMPLES_MAX
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.tracks.iter().map(|track| track.builder.memory_len()).sum()
    }

    /// Whether the track with this number was chosen.
    pub(crate) fn has_track(&self, number: u64) -> bool {
        self.tracks.iter().any(|track| track.number == number)
    }

    /// Takes the frames of a block, with its time and their properties.
    pub(crate) fn push(
        &mut self,
        head: &BlockHead,
        time: i64,
        info: BlockInfo,
        frames: &[Frame],
    ) -> Result<(), Unreadable> {
        let Some(track) = self.tracks.iter_mut().find(|track| track.number == head.track) else {
            return Ok(());
        };
        let is_audio = matches!(track.codec, FrameCodec::Audio(_));
        let count = frames.len() as u64;
        if count > 1 && !is_audio {
            return Err(Unreadable::NeedsRemux); // their times would be unknown
        }
        let each =
            info.duration.and_then(|duration| u32::try_from(duration / count.max(1)).ok()).unwrap_or(0);
        for (number, frame) in frames.iter().enumerate() {
            if frame.size == 0 {
                continue;
            }
            if track.count >= TRACK_SAMPLES_MAX {
                return Err(ReadError::Unsupported(format!(
                    "a track has more than {TRACK_SAMPLES_MAX} samples, which is not supported"
                ))
                .into());
            }
            let discarded_ns = if number + 1 == frames.len() { info.discarded_ns } else { 0 };
            track.push(
                head,
                time,
                FrameInBlock { number, is_key: info.is_key, duration: each, discarded_ns },
                *frame,
            );
        }
        if is_audio {
            self.audio_count += count;
            if self.audio_count > AUDIO_SAMPLES_MAX {
                return Err(ReadError::Unsupported(format!(
                    "its audio tracks have more than {} samples, which is not supported",
                    AUDIO_SAMPLES_MAX
                ))
                .into());
            }
        }
        Ok(())
    }

    /// The tracks, in the order in which they were chosen.
    pub(crate) fn into_tracks(self) -> Vec<TrackFrames> {
        self.tracks
    }
}

/// The position of a frame in its block, and the properties from the block.
#[derive(Clone, Copy)]
struct FrameInBlock {
    number: usize,
    is_key: bool,
    duration: u32,
    discarded_ns: u64,
}

impl TrackFrames {
    fn new(number: u64, codec: FrameCodec, rate: u32) -> Self {
        TrackFrames {
            number,
            codec,
            rate,
            builder: SampleTableBuilder::default(),
            before: 0,
            count: 0,
            times: None,
        }
    }

    fn is_valid(&self) -> bool {
        let mut times = None;
        let are_rows_valid = self.builder.is_valid(|row| {
            let (first, last) = times.get_or_insert((row.dts, row.dts));
            (*first, *last) = (row.dts.min(*first), row.dts.max(*last));
            TIMES.contains(&row.dts)
        });
        let is_state_valid = match self.codec {
            FrameCodec::Audio(packets) => packets.is_valid(self.before),
            FrameCodec::Vp8 | FrameCodec::Av1 | FrameCodec::OtherVideo => true,
        };
        are_rows_valid && is_state_valid && self.count == self.builder.len() && self.times == times
    }

    fn push(&mut self, block: &BlockHead, time: i64, position: FrameInBlock, mut frame: Frame) {
        let follows = position.number > 0;
        let (mut is_untimed, mut duration) = (follows, position.duration);
        match self.codec {
            // show_frame. RFC 6386, 9.1.
            FrameCodec::Vp8 => is_untimed = block.is_invisible() || frame.head[0] & 0x10 == 0,
            FrameCodec::Av1 if frame.size > 2 && frame.head.starts_with(&TEMPORAL_DELIMITER) => {
                frame.offset += 2;
                frame.size -= 2;
                is_untimed = block.is_invisible();
            }
            FrameCodec::Av1 | FrameCodec::OtherVideo => is_untimed = block.is_invisible(),
            FrameCodec::Audio(packets) => {
                if let Some(samples) = packets.samples(&frame.head, frame.size, &mut self.before) {
                    duration = self.audible_samples(samples, position.discarded_ns);
                }
            }
        }
        let times = self.times.get_or_insert((time, time));
        *times = (times.0.min(time), times.1.max(time));
        self.count += 1;
        self.builder.push(Sample {
            dts: time,
            pts: time + i64::from(is_untimed),
            duration,
            object: 0,
            offset: frame.offset,
            size: frame.size,
            is_sync: position.is_key,
        });
    }

    /// The presented samples of a packet if its end is discarded. Padding that leaves no sample is damage.
    fn audible_samples(&self, samples: u32, discarded_ns: u64) -> u32 {
        let discarded = (u128::from(discarded_ns) * u128::from(self.rate) + 500_000_000) / 1_000_000_000;
        let discarded = u32::try_from(discarded).ok().filter(|discarded| *discarded < samples);
        samples - discarded.unwrap_or(0)
    }

    /// The packed rows. Errors: `Damaged` if times leave the range of times.
    pub(crate) fn finish(self, scale_ns: u64) -> Result<FrameTable, ReadError> {
        let (first, last) = self.times.unwrap_or((0, 0));
        let is_far = |time: i64| (i128::from(time) * i128::from(scale_ns)).abs() > TIME_NS_MAX;
        if is_far(first) || is_far(last) {
            return Err(ReadError::Damaged("its times leave the range of times".into()));
        }
        Ok(FrameTable { table: self.builder.finish(), times: (first, last) })
    }
}

/// The rows of one track.
#[derive(Debug)]
pub(crate) struct FrameTable {
    table: SampleTable,
    /// Earliest and latest time, in units.
    pub(crate) times: (i64, i64),
}

impl FrameTable {
    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }

    /// Rows at these times, for tests: (time, is_untimed, duration).
    #[cfg(test)]
    pub(crate) fn of(rows: impl IntoIterator<Item = (i64, bool, u32)>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let times = rows.iter().map(|row| row.0);
        let times = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let sample = |(n, (time, is_untimed, duration)): (usize, (i64, bool, u32))| Sample {
            dts: time,
            pts: time + i64::from(is_untimed),
            duration,
            object: 0,
            offset: n as u64,
            size: 1,
            is_sync: n == 0,
        };
        FrameTable { table: rows.into_iter().enumerate().map(sample).collect(), times }
    }

    /// The rows, in the order of the file.
    pub(crate) fn rows(&self) -> impl Iterator<Item = FrameRecord> {
        self.table.iter().map(|sample| FrameRecord {
            time: sample.dts,
            is_untimed: sample.pts != sample.dts,
            duration: sample.duration,
            offset: sample.offset,
            size: sample.size,
            is_key: sample.is_sync,
        })
    }
}
