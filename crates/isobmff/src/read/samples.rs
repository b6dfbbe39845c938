//! Samples of a track in strictly rising decode time, and what is found out on the way through them.

use kinora_index::{AudioTrack, Sample, SampleTable, SampleTableBuilder, checkpoint::is_time, codec::opus};
use serde::{Deserialize, Serialize};

use super::{super::error::ReadError, measure::Meter, steady::SteadyTimes, tables::RawSample};

/// All samples of one track.
#[derive(Debug)]
pub(super) struct TrackSamples {
    pub(super) table: SampleTable,
    /// Earliest presentation time.
    pub(super) first_pts: i64,
    /// When the last sample is over.
    pub(super) natural_end: i64,
    /// First byte of the source behind all samples.
    pub(super) end_offset: u64,
    /// What they were measured with as they came; `None` when they are not those that came.
    pub(super) meter: Option<Meter>,
}

/// Longest recording that is taken, four times the one we are built for: playlists, plans and sums of ticks
/// grow with it.
const RECORDING_S_MAX: i64 = 48 * 3600;

impl TrackSamples {
    /// How long one sample lasts, on average; at least 1 tick.
    pub(super) fn ticks_of_one(&self) -> i64 {
        self.natural_end.saturating_sub(self.first_pts) / i64::from(self.table.len().max(1)) + 1
    }

    /// From the first decode time to the end of the last sample.
    pub(super) fn decode_ticks(&self) -> i64 {
        let last = self.table.get(self.table.len().saturating_sub(1));
        let ends = self.table.get(0).zip(last);
        ends.map_or(0, |(first, last)| last.dts.saturating_sub(first.dts) + i64::from(last.duration))
    }

    /// The keyframe of the group that holds the picture in front of the first one shown at `behind` or later;
    /// 0 where none is marked.
    pub(super) fn key_before(&self, behind: i64) -> u32 {
        let before = match self.table.first_at_or_after_pts(behind) {
            Some(number) => match self.table.get(number) {
                // A keyframe behind ends the group in front: whatever leads it is found in that.
                Some(sample) if sample.is_sync => number.saturating_sub(1),
                _ => number,
            },
            None => self.table.len().saturating_sub(1),
        };
        self.table.sync_at_or_before(before).unwrap_or(0)
    }

    /// Whether a video that is shown from `media_time` on, and decoded from the keyframe `key` on, needs
    /// pictures that are over by then.
    ///
    /// Pictures that lead the keyframe are not among them: a decoder that begins there leaves them out.
    pub(super) fn hides_pictures(&self, key: u32, media_time: i64) -> bool {
        let Some(keyframe) = self.table.get(key) else { return false };
        let others = self.table.range(key.saturating_add(1)..self.table.len());
        others
            .take_while(|sample| !sample.is_sync)
            .any(|sample| keyframe.pts < sample.pts && sample.pts <= media_time)
    }

    /// Whether a video that is shown until `end` needs a picture for it that is not shown before then: it
    /// ends between B-frames.
    pub(super) fn hides_behind(&self, end: i64) -> bool {
        let Some(first) = self.table.first_at_or_after_pts(end) else { return false };
        // Those in front of it follow it in its group, or lead the keyframe behind.
        let mut keyframes = 0;
        let behind = self.table.range(first + 1..self.table.len()).take_while(|sample| {
            keyframes += u32::from(sample.is_sync);
            keyframes < 2
        });
        let is_keyframe = self.table.get(first).is_some_and(|sample| sample.is_sync);
        behind.map(|sample| sample.pts).any(|pts| pts < end) && !is_keyframe
    }

    /// Refuses a track whose samples span more than 48 hours.
    pub(super) fn check_length(&self, timescale: u32) -> Result<(), ReadError> {
        let ticks = self.natural_end.saturating_sub(self.first_pts);
        if ticks > RECORDING_S_MAX * i64::from(timescale) {
            return Err(ReadError::unsupported("the movie lasts more than 48 hours, which is not supported"));
        }
        Ok(())
    }
}

/// Takes the samples of an audio track one by one. Leaves out empty packets, takes the jitter out of times,
/// and moves equal ones apart by a tick.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AudioSamples {
    steady: SteadyTimes,
    order: InOrder,
    builder: SampleTableBuilder,
    meter: Meter,
    first_pts: Option<i64>,
    last_pts: Option<i64>,
    natural_end: i64,
    end_offset: u64,
}

impl AudioSamples {
    /// For a track with so many ticks a second.
    pub(super) fn new(audio: &AudioTrack, timescale: u32) -> Self {
        AudioSamples {
            steady: SteadyTimes::new(audio, timescale),
            order: InOrder::default(),
            builder: SampleTableBuilder::default(),
            meter: Meter::new(timescale),
            first_pts: None,
            last_pts: None,
            natural_end: 0,
            end_offset: 0,
        }
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.builder.memory_len() + self.meter.memory_len()
    }

    /// Whether what came back from a checkpoint of a track with so many ticks a second can go on.
    pub(super) fn is_sound(&self, timescale: u32) -> bool {
        let mut times = [self.natural_end].into_iter().chain(self.first_pts).chain(self.last_pts);
        times.all(is_time)
            && self.steady.is_sound()
            && self.order.is_sound()
            && self.builder.is_sound(is_sound)
            && self.meter.is_sound(timescale)
    }

    /// Takes the next sample in decode order.
    pub(super) fn push(&mut self, row: RawSample) -> Result<(), ReadError> {
        // An empty row is no packet, and has no place on the grid.
        let Some(row) = Some(row).filter(|row| row.size > 0).and_then(|row| self.steady.push(row)) else {
            return Ok(());
        };
        self.take(row)
    }

    fn take(&mut self, row: RawSample) -> Result<(), ReadError> {
        if let Some(packet) = self.order.push(row)? {
            self.add(packet);
        }
        Ok(())
    }

    /// Ends the track. Errors: as [`AudioSamples::push`].
    pub(super) fn finish(mut self) -> Result<TrackSamples, ReadError> {
        while let Some(row) = self.steady.pop() {
            self.take(row)?;
        }
        // A packet decodes to what it decodes to: the last one is no longer than the longest of the others.
        let longest = self.order.longest;
        if let Some(packet) = self.order.take_last(longest) {
            self.add(packet);
        }
        Ok(TrackSamples {
            table: self.builder.finish(),
            first_pts: self.first_pts.unwrap_or(0),
            natural_end: self.natural_end,
            end_offset: self.end_offset,
            meter: Some(self.meter),
        })
    }

    fn add(&mut self, mut packet: Sample) {
        if let Some(last) = self.last_pts {
            packet.pts = packet.pts.max(last + 1);
        }
        // Every packet can be decoded alone, whatever a table of sync samples says.
        packet.is_sync = true;
        self.first_pts.get_or_insert(packet.pts);
        self.last_pts = Some(packet.pts);
        self.natural_end = packet.pts + i64::from(packet.duration);
        self.end_offset = self.end_offset.max(packet.offset + u64::from(packet.size));
        self.meter.push(&packet);
        self.builder.push(packet);
    }
}

/// Finds how long packets are, for a codec whose packets say it each for itself: as long as the shortest, the
/// very last left out.
///
/// So none counts as shorter than what it decodes to, and silence fills any wait.
pub(super) fn set_packet_samples(audio: &mut AudioTrack, timescale: u32, table: &SampleTable) {
    if audio.codec != opus::CODEC {
        return;
    }
    let before_last = table.range(0..table.len().saturating_sub(1));
    let shortest = before_last.map(|packet| u64::from(packet.duration)).min();
    let samples = shortest.map(|ticks| ticks * u64::from(opus::SAMPLE_RATE) / u64::from(timescale.max(1)));
    let samples =
        samples.and_then(|samples| u32::try_from(samples).ok()).unwrap_or(opus::PACKET_SAMPLES_USUAL);
    audio.packet_samples = samples.clamp(opus::PACKET_SAMPLES_MIN, opus::PACKET_SAMPLES_USUAL);
}

/// Rows as samples: empty ones left out, decode times strictly rising, durations reaching to the next sample.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct InOrder {
    /// Taken, but not handed out before the next one says how long it lasts.
    held: Option<Sample>,
    /// What the held sample says of how long it lasts.
    delta: u32,
    /// Duration of the sample handed out last.
    duration_before: u32,
    /// Longest of those handed out.
    longest: u32,
}

/// Whether a sample that came back from a checkpoint can be reckoned with.
pub(super) fn is_sound(sample: &Sample) -> bool {
    is_time(sample.dts) && is_time(sample.pts) && sample.end_offset().is_some()
}

impl InOrder {
    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        self.held.as_ref().is_none_or(is_sound)
    }

    /// Takes the next row in decode order, and hands out the sample before it.
    pub(super) fn push(&mut self, row: RawSample) -> Result<Option<Sample>, ReadError> {
        if row.size == 0 {
            return Ok(None);
        }
        // A delta of 0 would put two samples at one instant: the second comes a tick later, and no other
        // moves.
        let dts = self.held.map_or(row.dts, |held| row.dts.max(held.dts + 1));
        let next = Sample {
            dts,
            pts: dts + i64::from(row.composition),
            duration: 0,
            object: 0,
            offset: row.offset,
            size: row.size,
            is_sync: row.is_sync,
        };
        self.delta = row.delta;
        let Some(mut held) = self.held.replace(next) else { return Ok(None) };
        let Ok(duration) = u32::try_from(dts - held.dts) else {
            return Err(ReadError::damaged("one sample lasts more than 2^32 ticks"));
        };
        held.duration = duration;
        self.duration_before = duration;
        self.longest = self.longest.max(duration);
        Ok(Some(held))
    }

    /// The last sample, which nothing follows.
    ///
    /// Writers that do not know how long it lasts write 0, or anything: then, and beyond `longest`, it lasts
    /// as long as the one before it.
    pub(super) fn take_last(&mut self, longest: u32) -> Option<Sample> {
        let mut last = self.held.take()?;
        let is_known = 0 < self.delta && (self.delta <= longest || self.duration_before == 0);
        last.duration = if is_known { self.delta } else { self.duration_before.max(1) };
        Some(last)
    }
}
