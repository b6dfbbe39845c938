//! Samples of a track in strictly rising decode time, and the values that are computed from them.

use kinora_index::{
    AudioTrack, Sample, SampleTable, SampleTableBuilder, checkpoint::is_valid_time, codec::opus,
};
use serde::{Deserialize, Serialize};

use super::{super::error::ReadError, audio_jitter::JitterFilter, rates::RateMeter, tables::RawSample};

/// All samples of one track.
#[derive(Debug)]
pub(super) struct TrackSamples {
    pub(super) table: SampleTable,
    /// Earliest presentation time.
    pub(super) first_pts: i64,
    /// End of the last sample.
    pub(super) end_pts: i64,
    /// First byte of the source after all samples.
    pub(super) end_offset: u64,
    /// The rates measured while the samples arrived; `None` if an edit list changed the samples.
    pub(super) meter: Option<RateMeter>,
}

/// Maximum duration of a recording, four times the supported one: playlists, plans and sums of ticks grow
/// with it.
const RECORDING_S_MAX: i64 = 48 * 3600;

impl TrackSamples {
    /// Average duration of a sample; at least 1 tick.
    pub(super) fn mean_sample_duration(&self) -> i64 {
        self.end_pts.saturating_sub(self.first_pts) / i64::from(self.table.len().max(1)) + 1
    }

    /// From the first decode time to the end of the last sample.
    pub(super) fn decode_duration(&self) -> i64 {
        let last = self.table.get(self.table.len().saturating_sub(1));
        let ends = self.table.get(0).zip(last);
        ends.map_or(0, |(first, last)| last.dts.saturating_sub(first.dts) + i64::from(last.duration))
    }

    /// The keyframe of the GOP that contains the last frame before the first one presented at `pts` or
    /// later; 0 if no sample is marked as a keyframe.
    pub(super) fn gop_keyframe_before(&self, pts: i64) -> u32 {
        let before = match self.table.first_at_or_after_pts(pts) {
            Some(number) => match self.table.get(number) {
                // A following keyframe ends the previous GOP: its leading frames are searched there.
                Some(sample) if sample.is_sync => number.saturating_sub(1),
                _ => number,
            },
            None => self.table.len().saturating_sub(1),
        };
        self.table.sync_at_or_before(before).unwrap_or(0)
    }

    /// Whether a video that is presented from `media_time` on needs earlier frames; decoding begins at the
    /// keyframe `key`.
    ///
    /// Leading frames of the keyframe do not count: a decoder that begins there skips them.
    pub(super) fn needs_earlier_frames(&self, key: u32, media_time: i64) -> bool {
        let Some(keyframe) = self.table.get(key) else { return false };
        let others = self.table.range(key.saturating_add(1)..self.table.len());
        others
            .take_while(|sample| !sample.is_sync)
            .any(|sample| keyframe.pts < sample.pts && sample.pts <= media_time)
    }

    /// Whether a video that ends at `end` needs a frame that is presented later: it ends between B-frames.
    pub(super) fn needs_later_frames(&self, end: i64) -> bool {
        let Some(first) = self.table.first_at_or_after_pts(end) else { return false };
        // Frames that are presented earlier follow in its GOP, or lead the next keyframe.
        let mut keyframes = 0;
        let following = self.table.range(first + 1..self.table.len()).take_while(|sample| {
            keyframes += u32::from(sample.is_sync);
            keyframes < 2
        });
        let is_keyframe = self.table.get(first).is_some_and(|sample| sample.is_sync);
        following.map(|sample| sample.pts).any(|pts| pts < end) && !is_keyframe
    }

    /// Rejects a track whose samples span more than 48 hours.
    pub(super) fn check_length(&self, timescale: u32) -> Result<(), ReadError> {
        let ticks = self.end_pts.saturating_sub(self.first_pts);
        if ticks > RECORDING_S_MAX * i64::from(timescale) {
            return Err(ReadError::unsupported("the movie lasts more than 48 hours, which is not supported"));
        }
        Ok(())
    }
}

/// Collects the samples of an audio track. Leaves out empty packets, removes jitter from times, and moves
/// equal times apart by a tick.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AudioSamples {
    jitter_filter: JitterFilter,
    normalizer: SampleNormalizer,
    builder: SampleTableBuilder,
    meter: RateMeter,
    first_pts: Option<i64>,
    last_pts: Option<i64>,
    end_pts: i64,
    end_offset: u64,
}

impl AudioSamples {
    /// `timescale` is in ticks per second.
    pub(super) fn new(audio: &AudioTrack, timescale: u32) -> Self {
        AudioSamples {
            jitter_filter: JitterFilter::new(audio, timescale),
            normalizer: SampleNormalizer::default(),
            builder: SampleTableBuilder::default(),
            meter: RateMeter::new(timescale),
            first_pts: None,
            last_pts: None,
            end_pts: 0,
            end_offset: 0,
        }
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.builder.memory_len() + self.meter.memory_len()
    }

    /// Whether a state that was read from a checkpoint is valid; `timescale` is in ticks per second.
    pub(super) fn is_valid(&self, timescale: u32) -> bool {
        let mut times = [self.end_pts].into_iter().chain(self.first_pts).chain(self.last_pts);
        times.all(is_valid_time)
            && self.jitter_filter.is_valid()
            && self.normalizer.is_valid()
            && self.builder.is_valid(is_valid)
            && self.meter.is_valid(timescale)
    }

    /// Adds the next sample in decode order.
    pub(super) fn push(&mut self, row: RawSample) -> Result<(), ReadError> {
        // An empty row is no packet and has no position on the grid.
        let Some(row) = Some(row).filter(|row| row.size > 0).and_then(|row| self.jitter_filter.push(row))
        else {
            return Ok(());
        };
        self.push_corrected(row)
    }

    fn push_corrected(&mut self, row: RawSample) -> Result<(), ReadError> {
        if let Some(packet) = self.normalizer.push(row)? {
            self.add(packet);
        }
        Ok(())
    }

    /// Ends the track. Errors: as [`AudioSamples::push`].
    pub(super) fn finish(mut self) -> Result<TrackSamples, ReadError> {
        while let Some(row) = self.jitter_filter.pop() {
            self.push_corrected(row)?;
        }
        // The decoded length of a packet is fixed: the last one is not longer than the longest of the
        // others.
        let longest = self.normalizer.longest;
        if let Some(packet) = self.normalizer.finish(longest) {
            self.add(packet);
        }
        Ok(TrackSamples {
            table: self.builder.finish(),
            first_pts: self.first_pts.unwrap_or(0),
            end_pts: self.end_pts,
            end_offset: self.end_offset,
            meter: Some(self.meter),
        })
    }

    fn add(&mut self, mut packet: Sample) {
        if let Some(last) = self.last_pts {
            packet.pts = packet.pts.max(last + 1);
        }
        // Every packet can be decoded alone, also if a table of sync samples denies it.
        packet.is_sync = true;
        self.first_pts.get_or_insert(packet.pts);
        self.last_pts = Some(packet.pts);
        self.end_pts = packet.pts + i64::from(packet.duration);
        self.end_offset = self.end_offset.max(packet.offset + u64::from(packet.size));
        self.meter.push(&packet);
        self.builder.push(packet);
    }
}

/// Sets the packet duration for a codec whose packets contain their own: the shortest one, without the last
/// packet.
///
/// So no packet counts as shorter than its decoded length, and silence fills any gap.
pub(super) fn set_packet_samples(audio: &mut AudioTrack, timescale: u32, table: &SampleTable) {
    if audio.codec != opus::CODEC {
        return;
    }
    let before_last = table.range(0..table.len().saturating_sub(1));
    let shortest = before_last.map(|packet| u64::from(packet.duration)).min();
    let samples = shortest.map(|ticks| ticks * u64::from(opus::SAMPLE_RATE) / u64::from(timescale.max(1)));
    let samples =
        samples.and_then(|samples| u32::try_from(samples).ok()).unwrap_or(opus::PACKET_SAMPLES_DEFAULT);
    audio.packet_samples = samples.clamp(opus::PACKET_SAMPLES_MIN, opus::PACKET_SAMPLES_DEFAULT);
}

/// Converts rows to samples: empty ones are left out, decode times rise strictly, durations extend to the
/// next sample.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SampleNormalizer {
    /// Emitted when the next sample defines its duration.
    pending: Option<Sample>,
    /// The duration that the pending sample declares.
    declared_duration: u32,
    /// Duration of the last emitted sample.
    duration_before: u32,
    /// Longest duration of the emitted samples.
    longest: u32,
}

/// Whether a sample that was read from a checkpoint is in the range of times and offsets.
pub(super) fn is_valid(sample: &Sample) -> bool {
    is_valid_time(sample.dts) && is_valid_time(sample.pts) && sample.end_offset().is_some()
}

impl SampleNormalizer {
    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        self.pending.as_ref().is_none_or(is_valid)
    }

    /// Adds the next row in decode order, and emits the sample before it.
    pub(super) fn push(&mut self, row: RawSample) -> Result<Option<Sample>, ReadError> {
        if row.size == 0 {
            return Ok(None);
        }
        // A duration of 0 would put two samples at one instant: the second comes a tick later, and no other
        // moves.
        let dts = self.pending.map_or(row.dts, |pending| row.dts.max(pending.dts + 1));
        let next = Sample {
            dts,
            pts: dts + i64::from(row.composition_offset),
            duration: 0,
            object: 0,
            offset: row.offset,
            size: row.size,
            is_sync: row.is_sync,
        };
        self.declared_duration = row.delta;
        let Some(mut sample) = self.pending.replace(next) else { return Ok(None) };
        let Ok(duration) = u32::try_from(dts - sample.dts) else {
            return Err(ReadError::damaged("one sample lasts more than 2^32 ticks"));
        };
        sample.duration = duration;
        self.duration_before = duration;
        self.longest = self.longest.max(duration);
        Ok(Some(sample))
    }

    /// Ends the track: the last sample, without a successor.
    ///
    /// Writers that do not know its duration write 0 or an arbitrary number. In that case, and beyond
    /// `longest`, it lasts as long as the previous one.
    pub(super) fn finish(&mut self, longest: u32) -> Option<Sample> {
        let mut last = self.pending.take()?;
        let is_known =
            0 < self.declared_duration && (self.declared_duration <= longest || self.duration_before == 0);
        last.duration = if is_known { self.declared_duration } else { self.duration_before.max(1) };
        Some(last)
    }
}
