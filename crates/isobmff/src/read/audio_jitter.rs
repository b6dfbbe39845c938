//! Removes jitter from the written times of audio packets: moves them back to their original grid.
//!
//! A writer that makes a fragment of every packet, before it knows the next one, writes times that run
//! ahead: packets in pairs at one instant, and a gap before each pair. ffmpeg does so if there is also
//! video. Every packet of AAC decodes to the same length. So a time that leaves the grid of these lengths
//! and soon returns to it was never the true time.
//!
//! Permanent deviations stay as written: a gap where audio was lost, an overlap where files were joined.

use std::collections::VecDeque;

use kinora_index::{AudioTrack, checkpoint::is_valid_time, codec::opus};
use serde::{Deserialize, Serialize};

use super::tables::RawSample;

/// Maximum number of consecutive packets that leave the grid together and are moved back. A wider deviation
/// is a real gap, or an overlap of joined files.
///
/// It also limits how far a packet moves: times never run back, so a packet that is ahead by n packets needs
/// n packets to return. ffmpeg 5.1 is ahead by one packet for one or two.
const JITTER_PACKETS: usize = 4;
/// Packets on either side that determine the correction of a packet: peaks are removed, then dips of the
/// result.
const CONTEXT_PACKETS: usize = 2 * JITTER_PACKETS;
const WINDOW_LEN: usize = 2 * CONTEXT_PACKETS + 1;

/// Buffers the packets of one track in decode order, and emits them later with corrected times.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct JitterFilter {
    /// `None` if packets have no common length, or one too short to measure in ticks: then no packet moves.
    grid: Option<Grid>,
    /// The next packet, and those that determine its correction.
    window: VecDeque<RawSample>,
    /// Index of the next packet in the window.
    next: usize,
}

/// The length of a packet in ticks, as a fraction.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Grid {
    numerator: u64,
    denominator: u64,
}

impl Grid {
    /// When packet `number` begins, if packet 0 begins at 0.
    fn at(self, number: usize) -> i64 {
        // At most 17 packets of 2^42 ticks.
        (number as u64 * self.numerator / self.denominator).cast_signed()
    }
}

impl JitterFilter {
    /// `timescale` is in ticks per second.
    pub(super) fn new(audio: &AudioTrack, timescale: u32) -> Self {
        let numerator = u64::from(audio.packet_samples) * u64::from(timescale);
        let denominator = u64::from(audio.sample_rate);
        let has_fixed_length = audio.codec != opus::CODEC && 0 < denominator && 2 * denominator <= numerator;
        JitterFilter {
            grid: has_fixed_length.then_some(Grid { numerator, denominator }),
            window: VecDeque::new(),
            next: 0,
        }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        self.grid
            .is_none_or(|grid| 0 < grid.denominator && i64::try_from(grid.numerator).is_ok_and(is_valid_time))
            && self.next <= CONTEXT_PACKETS
            && self.window.len() <= self.next + CONTEXT_PACKETS
            && self
                .window
                .iter()
                .all(|row| is_valid_time(row.dts) && row.offset.checked_add(row.size.into()).is_some())
    }

    /// Adds the next packet, which is not empty and is not decoded before the last one. Emits an earlier
    /// one, if enough have come.
    pub(super) fn push(&mut self, row: RawSample) -> Option<RawSample> {
        let Some(grid) = self.grid else { return Some(row) };
        self.window.push_back(row);
        (self.next + CONTEXT_PACKETS < self.window.len()).then(|| self.pop_corrected(grid)).flatten()
    }

    /// Emits one more packet at the end of the track; `None` if none is left.
    pub(super) fn pop(&mut self) -> Option<RawSample> {
        self.pop_corrected(self.grid?)
    }

    fn pop_corrected(&mut self, grid: Grid) -> Option<RawSample> {
        let mut row = *self.window.get(self.next)?;
        row.dts -= self.ahead(grid);
        if self.next == CONTEXT_PACKETS {
            self.window.pop_front();
        } else {
            self.next += 1;
        }
        Some(row)
    }

    /// The ticks by which the written time of the next packet is ahead of its true time; 0 for less than
    /// half a packet, which does no harm.
    fn ahead(&self, grid: Grid) -> i64 {
        let first = self.window[0].dts;
        let mut drift = [0; WINDOW_LEN];
        let drift = &mut drift[..self.window.len()];
        for (number, row) in self.window.iter().enumerate() {
            drift[number] = row.dts - first - grid.at(number);
        }
        let half = grid.at(1) / 2;
        let (least, most) = drift
            .iter()
            .fold((i64::MAX, i64::MIN), |(least, most), value| (least.min(*value), most.max(*value)));
        if most - least < half {
            return 0;
        }
        let written = drift[self.next];
        remove_peaks(drift);
        drift.iter_mut().for_each(|at| *at = -*at);
        remove_peaks(drift);
        let ahead = written + drift[self.next];
        if half <= ahead.abs() { ahead } else { 0 }
    }
}

/// Lowers peaks of at most [`JITTER_PACKETS`] values; a permanent step, up or down, stays in its position.
///
/// This is the morphological opening of a sequence: each value becomes the maximum of the minima of all
/// windows that contain it.
fn remove_peaks(values: &mut [i64]) {
    let mut floors = [0; WINDOW_LEN + JITTER_PACKETS];
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
