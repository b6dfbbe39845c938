//! The frames of the chosen tracks, as they come: packed, with the times that are written.
//!
//! What the times mean is decided when all are there ([`super::times`]).

use std::ops::RangeInclusive;

use kinora_index::{AUDIO_TRACKS_MAX, Sample, SampleTable, SampleTableBuilder};
use kinora_isobmff::{
    ReadError,
    read::{AUDIO_SAMPLES_MAX, TRACK_SAMPLES_MAX},
};
use serde::{Deserialize, Serialize};

use crate::{
    block::BlockHead,
    chosen::{Chosen, Unreadable},
    packets::RowCodec,
};

/// Bytes of a frame that are looked at.
pub(crate) const FRAME_HEAD_LEN: usize = 16;
/// A temporal delimiter of AV1, which blocks should not hold and samples of MP4 do not. AV1 Bitstream, 5.6.
const TEMPORAL_DELIMITER: [u8; 2] = [0x12, 0];
/// Nanoseconds beyond which times are damage: 146 years. Keeps the arithmetic in range.
const TIME_NS_MAX: i128 = i64::MAX as i128 / 2;
/// Units beyond which times are damage, so that a little can always be added.
pub(crate) const TIME_MAX: i64 = i64::MAX / 2;
/// Times that a block can have, in units.
const TIMES: RangeInclusive<i64> = i16::MIN as i64..=TIME_MAX + i16::MAX as i64;

/// What a block says of its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    /// A decoder can begin here.
    pub(crate) is_key: bool,
    /// Units that they last together.
    pub(crate) duration: Option<u64>,
    /// Nanoseconds at the end of the last one that are not heard.
    pub(crate) discarded_ns: u64,
}

/// One frame, and how it begins.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Frame {
    offset: u64,
    size: u32,
    head: [u8; FRAME_HEAD_LEN],
}

impl Frame {
    /// A frame at a place, and what is there of its bytes.
    pub(crate) fn new(offset: u64, size: u32, bytes: &[u8]) -> Self {
        let mut head = [0; FRAME_HEAD_LEN];
        let len = bytes.len().min(FRAME_HEAD_LEN).min(size as usize);
        head[..len].copy_from_slice(&bytes[..len]);
        Frame { offset, size, head }
    }
}

impl Frame {
    /// Whether what came back from a checkpoint lies in 64 bits.
    pub(crate) fn is_sound(&self) -> bool {
        self.offset.checked_add(self.size.into()).is_some()
    }
}

/// All chosen tracks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Collector {
    tracks: Vec<Rows>,
    audio_count: u64,
}

/// The frames of one track, as rows of a table of samples.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Rows {
    number: u64,
    codec: RowCodec,
    builder: SampleTableBuilder,
    /// PCM samples a second; 0 of pictures.
    rate: u32,
    /// What its packets tell of those behind them.
    before: u32,
    pub(crate) count: u32,
    /// Earliest and latest time, in units.
    pub(crate) times: Option<(i64, i64)>,
}

/// One frame as it is kept: packed in a [`Sample`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// In units; of a frame in a lace that of its block.
    pub(crate) time: i64,
    /// It has no time of its own: it follows another in a lace. Or, of video: it is decoded and not shown.
    pub(crate) is_special: bool,
    /// Of audio whose packets tell it: PCM samples. Else the units it says to last, 0 where it does not.
    pub(crate) duration: u32,
    pub(crate) offset: u64,
    pub(crate) size: u32,
    pub(crate) is_key: bool,
}

impl Collector {
    pub(crate) fn new(chosen: &Chosen) -> Self {
        let tracks = chosen
            .tracks()
            .map(|track| Rows::new(track.number, track.row_codec, track.sample_rate()))
            .collect();
        Collector { tracks, audio_count: 0 }
    }

    /// Whether what came back from a checkpoint can go on.
    pub(crate) fn is_sound(&self) -> bool {
        self.tracks.len() <= 1 + AUDIO_TRACKS_MAX
            && self.tracks.iter().all(Rows::is_sound)
            && self.audio_count <= AUDIO_SAMPLES_MAX
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.tracks.iter().map(|track| track.builder.memory_len()).sum()
    }

    /// Whether the track with this number was chosen.
    pub(crate) fn wants(&self, number: u64) -> bool {
        self.tracks.iter().any(|track| track.number == number)
    }

    /// Takes the frames of a block: at which time, and what it says of them.
    pub(crate) fn push(
        &mut self,
        head: &BlockHead,
        time: i64,
        said: Said,
        frames: &[Frame],
    ) -> Result<(), Unreadable> {
        let Some(track) = self.tracks.iter_mut().find(|track| track.number == head.track) else {
            return Ok(());
        };
        let is_audio = matches!(track.codec, RowCodec::Audio(_));
        let count = frames.len() as u64;
        if count > 1 && !is_audio {
            return Err(Unreadable::Foreign); // nobody would know their times
        }
        let each =
            said.duration.and_then(|duration| u32::try_from(duration / count.max(1)).ok()).unwrap_or(0);
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
            let discarded_ns = if number + 1 == frames.len() { said.discarded_ns } else { 0 };
            track.push(head, time, Place { number, is_key: said.is_key, each, discarded_ns }, *frame);
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
    pub(crate) fn into_tracks(self) -> Vec<Rows> {
        self.tracks
    }
}

/// Where in its block a frame lies, and what the block says of it.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    is_key: bool,
    each: u32,
    discarded_ns: u64,
}

impl Rows {
    fn new(number: u64, codec: RowCodec, rate: u32) -> Self {
        Rows { number, codec, rate, builder: SampleTableBuilder::default(), before: 0, count: 0, times: None }
    }

    fn is_sound(&self) -> bool {
        let mut times = None;
        let is_built = self.builder.is_sound(|row| {
            let (first, last) = times.get_or_insert((row.dts, row.dts));
            (*first, *last) = (row.dts.min(*first), row.dts.max(*last));
            TIMES.contains(&row.dts)
        });
        let is_packed = match self.codec {
            RowCodec::Audio(packets) => packets.is_sound(self.before),
            RowCodec::Vp8 | RowCodec::Av1 | RowCodec::OtherVideo => true,
        };
        is_built && is_packed && self.count == self.builder.len() && self.times == times
    }

    fn push(&mut self, block: &BlockHead, time: i64, place: Place, mut frame: Frame) {
        let follows = place.number > 0;
        let (mut is_special, mut duration) = (follows, place.each);
        match self.codec {
            // show_frame. RFC 6386, 9.1.
            RowCodec::Vp8 => is_special = block.is_invisible() || frame.head[0] & 0x10 == 0,
            RowCodec::Av1 if frame.size > 2 && frame.head.starts_with(&TEMPORAL_DELIMITER) => {
                frame.offset += 2;
                frame.size -= 2;
                is_special = block.is_invisible();
            }
            RowCodec::Av1 | RowCodec::OtherVideo => is_special = block.is_invisible(),
            RowCodec::Audio(packets) => {
                if let Some(samples) = packets.samples(&frame.head, frame.size, &mut self.before) {
                    duration = self.heard(samples, place.discarded_ns);
                }
            }
        }
        let times = self.times.get_or_insert((time, time));
        *times = (times.0.min(time), times.1.max(time));
        self.count += 1;
        self.builder.push(Sample {
            dts: time,
            pts: time + i64::from(is_special),
            duration,
            object: 0,
            offset: frame.offset,
            size: frame.size,
            is_sync: place.is_key,
        });
    }

    /// What is heard of so many samples where the end is discarded. Padding that leaves nothing is damage.
    fn heard(&self, samples: u32, discarded_ns: u64) -> u32 {
        let discarded = (u128::from(discarded_ns) * u128::from(self.rate) + 500_000_000) / 1_000_000_000;
        let discarded = u32::try_from(discarded).ok().filter(|discarded| *discarded < samples);
        samples - discarded.unwrap_or(0)
    }

    /// The packed rows. Errors: `Damaged` when times leave the range of times.
    pub(crate) fn finish(self, scale_ns: u64) -> Result<RowTable, ReadError> {
        let (first, last) = self.times.unwrap_or((0, 0));
        let is_far = |time: i64| (i128::from(time) * i128::from(scale_ns)).abs() > TIME_NS_MAX;
        if is_far(first) || is_far(last) {
            return Err(ReadError::Damaged("its times leave the range of times".into()));
        }
        Ok(RowTable { table: self.builder.finish(), times: (first, last) })
    }
}

/// The rows of one track.
#[derive(Debug)]
pub(crate) struct RowTable {
    table: SampleTable,
    /// Earliest and latest time, in units.
    pub(crate) times: (i64, i64),
}

impl RowTable {
    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }

    /// Rows at these times, for tests of what becomes of them: (time, is_special, duration).
    #[cfg(test)]
    pub(crate) fn of(rows: impl IntoIterator<Item = (i64, bool, u32)>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let times = rows.iter().map(|row| row.0);
        let times = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
        let sample = |(n, (time, is_special, duration)): (usize, (i64, bool, u32))| Sample {
            dts: time,
            pts: time + i64::from(is_special),
            duration,
            object: 0,
            offset: n as u64,
            size: 1,
            is_sync: n == 0,
        };
        RowTable { table: rows.into_iter().enumerate().map(sample).collect(), times }
    }

    /// The rows, in the order of the file.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        self.table.iter().map(|sample| Row {
            time: sample.dts,
            is_special: sample.pts != sample.dts,
            duration: sample.duration,
            offset: sample.offset,
            size: sample.size,
            is_key: sample.is_sync,
        })
    }
}
