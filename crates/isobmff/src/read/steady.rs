//! Packets of sound whose written times jitter, put back on the grid they were made on.
//!
//! A writer that makes a fragment of every packet before it knows the next one writes times that run ahead:
//! packets in pairs at one instant, and a gap in front of each pair. ffmpeg does, beside pictures. Every
//! packet of AAC decodes to the same length, so a time that leaves the grid of these lengths and soon comes
//! back to it was never the time of the sound.
//!
//! What does not come back is left as written: a gap where sound was lost, an overlap where files were
//! joined.

use std::collections::VecDeque;

use kinora_index::{AudioTrack, checkpoint::is_time, codec::opus};
use serde::{Deserialize, Serialize};

use super::tables::RawSample;

/// Most packets in a row that leave the grid together and are put back. Wider is a gap or a joint of its own.
///
/// It bounds how far one is moved, too: times never run back, so a packet that is ahead by so many needs as
/// many to come back. ffmpeg 5.1 is ahead by one packet for one or two.
const JITTER_PACKETS: usize = 4;
/// Packets on either side that decide about one: peaks are taken off, then dips of what is left.
const REACH: usize = 2 * JITTER_PACKETS;
const WINDOW: usize = 2 * REACH + 1;

/// Takes the packets of one track in decode order, and hands them out again, later, with steady times.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SteadyTimes {
    /// `None` where packets have no common length, or one too short to be told in ticks: then nothing is
    /// moved.
    grid: Option<Grid>,
    /// Those that decide about the next one, and it.
    window: VecDeque<RawSample>,
    /// Its place in the window.
    next: usize,
}

/// The length of a packet in ticks, as a fraction.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Grid {
    ticks: u64,
    per: u64,
}

impl Grid {
    /// When packet `number` begins, if packet 0 begins at 0.
    fn at(self, number: usize) -> i64 {
        // At most 17 packets of 2^42 ticks.
        (number as u64 * self.ticks / self.per).cast_signed()
    }
}

impl SteadyTimes {
    /// For a track with so many ticks a second.
    pub(super) fn new(audio: &AudioTrack, timescale: u32) -> Self {
        let ticks = u64::from(audio.packet_samples) * u64::from(timescale);
        let per = u64::from(audio.sample_rate);
        let is_told = audio.codec != opus::CODEC && 0 < per && 2 * per <= ticks;
        SteadyTimes { grid: is_told.then_some(Grid { ticks, per }), window: VecDeque::new(), next: 0 }
    }

    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        self.grid.is_none_or(|grid| 0 < grid.per && i64::try_from(grid.ticks).is_ok_and(is_time))
            && self.next <= REACH
            && self.window.len() <= self.next + REACH
            && self
                .window
                .iter()
                .all(|row| is_time(row.dts) && row.offset.checked_add(row.size.into()).is_some())
    }

    /// Takes the next packet, which holds bytes and is not decoded before the last one. Hands out an earlier
    /// one, if enough have come.
    pub(super) fn push(&mut self, row: RawSample) -> Option<RawSample> {
        let Some(grid) = self.grid else { return Some(row) };
        self.window.push_back(row);
        (self.next + REACH < self.window.len()).then(|| self.take(grid)).flatten()
    }

    /// Hands out one more at the end of the track, where nothing follows; `None` when all are out.
    pub(super) fn pop(&mut self) -> Option<RawSample> {
        self.take(self.grid?)
    }

    fn take(&mut self, grid: Grid) -> Option<RawSample> {
        let mut row = *self.window.get(self.next)?;
        row.dts -= self.ahead(grid);
        if self.next == REACH {
            self.window.pop_front();
        } else {
            self.next += 1;
        }
        Some(row)
    }

    /// By how many ticks the written time of the next packet is ahead of its own; 0 for less than half a
    /// packet, which does no harm.
    fn ahead(&self, grid: Grid) -> i64 {
        let first = self.window[0].dts;
        let mut drift = [0; WINDOW];
        let drift = &mut drift[..self.window.len()];
        for (number, row) in self.window.iter().enumerate() {
            drift[number] = row.dts - first - grid.at(number);
        }
        let half = grid.at(1) / 2;
        let (least, most) =
            drift.iter().fold((i64::MAX, i64::MIN), |(least, most), at| (least.min(*at), most.max(*at)));
        if most - least < half {
            return 0;
        }
        let written = drift[self.next];
        take_off_peaks(drift);
        drift.iter_mut().for_each(|at| *at = -*at);
        take_off_peaks(drift);
        let ahead = written + drift[self.next];
        if half <= ahead.abs() { ahead } else { 0 }
    }
}

/// Brings down what rises for at most [`JITTER_PACKETS`]; a step that lasts stays, up or down, where it is.
///
/// The morphological opening of a row of numbers: each becomes the highest floor it stands on with its
/// neighbours.
fn take_off_peaks(values: &mut [i64]) {
    let mut floors = [0; WINDOW + JITTER_PACKETS];
    let floors = &mut floors[..values.len() + JITTER_PACKETS];
    for (end, floor) in floors.iter_mut().enumerate() {
        let span = &values[end.saturating_sub(JITTER_PACKETS)..values.len().min(end + 1)];
        *floor = span.iter().copied().min().expect("holds the last value or the one at its end");
    }
    for (value, floors) in values.iter_mut().zip(floors.windows(JITTER_PACKETS + 1)) {
        *value = floors.iter().copied().max().expect("a window is not empty");
    }
}

#[cfg(test)]
mod tests;
