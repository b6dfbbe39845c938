//! Corrects written times, which are mostly whole milliseconds.
//!
//! Frames with a steady rate are on a grid. If one grid explains all of their times, they move to it, in a
//! timescale that can represent it. Audio packets follow one another: if their lengths are known, the
//! lengths are added up. Times that do not fit stay as written. M-14.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use kinora_isobmff::{
    ReadError,
    read::{RawSample, round_frame_rate},
};

use crate::{
    collect::{FrameRecord, FrameTable},
    rounding::{SECOND_NS, div_rounded},
};

/// Maximum number of frames that wait for one that is decoded later and presented earlier. H.264 and HEVC
/// store at most 16. ISO/IEC 14496-10, A.3.1.
const REORDERED_MAX: usize = 32;
/// Maximum spread of time errors that a grid explains, in units: writers round twice if they add two rounded
/// numbers.
const SPREAD_UNITS_MAX: i128 = 2;
/// Minimum grid step in units: a finer grid would explain all times.
const GRID_UNITS_MIN: i128 = 4;
/// Ticks per second of times that no grid explains: the units of most files, and every usual frame rate, are
/// whole ticks.
const TIMESCALE_USUAL: u32 = 90_000;
/// The same for finer units.
const TIMESCALE_FINE: u32 = 1_000_000;
/// If the lengths of more than one in this many packets contradict the times, all lengths are ignored.
const DURATION_ERROR_PARTS: u64 = 8;

/// Units of time: the nanoseconds per unit, and the base time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Units {
    pub(crate) scale_ns: u64,
    /// The earliest time of all tracks.
    pub(crate) base: i64,
}

impl Units {
    /// A written time in nanoseconds since the first.
    fn ns(self, time: i64) -> i128 {
        (i128::from(time) - i128::from(self.base)) * i128::from(self.scale_ns)
    }

    fn ticks(self, time: i64, timescale: u32) -> i64 {
        in_ticks(self.ns(time), timescale)
    }

    fn duration_ticks(self, units: u32, timescale: u32) -> u32 {
        let ticks = in_ticks(i128::from(units) * i128::from(self.scale_ns), timescale);
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }
}

fn in_ticks(ns: i128, timescale: u32) -> i64 {
    // Times are below 2^62 ns and timescales below 2^24, which leaves less than 2^57.
    div_rounded(ns * i128::from(timescale), SECOND_NS) as i64
}

/// Presentation times of the frames of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameClock {
    pub(crate) timescale: u32,
    grid: Option<Grid>,
    default_duration_ns: Option<u64>,
}

/// Frames per second as a fraction, and the written time of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    rate: (u64, u64),
    anchor: i64,
}

impl Grid {
    /// The number of the grid point nearest to a written time, and the distance to it, in nanoseconds times
    /// the numerator of the rate.
    fn nearest_point(&self, time: i64, scale_ns: u64) -> (i128, i128) {
        let since = (i128::from(time) - i128::from(self.anchor)) * i128::from(scale_ns);
        let (number, step) = (since * i128::from(self.rate.0), self.step());
        let point = div_rounded(number, step);
        (point, number - point * step)
    }

    /// Distance between two grid points, in nanoseconds times the numerator of the rate.
    fn step(&self) -> i128 {
        i128::from(self.rate.1) * SECOND_NS
    }

    /// Whether its points explain the times of all presented frames.
    fn explains(&self, rows: &FrameTable, scale_ns: u64) -> bool {
        let unit = i128::from(scale_ns) * i128::from(self.rate.0);
        if self.step() < GRID_UNITS_MIN * unit {
            return false;
        }
        let (mut least, mut most) = (0, 0);
        for row in rows.rows().filter(|row| !row.is_untimed) {
            let (_, error) = self.nearest_point(row.time, scale_ns);
            (least, most) = (error.min(least), error.max(most));
            if most - least > SPREAD_UNITS_MAX * unit {
                return false;
            }
        }
        true
    }
}

impl FrameClock {
    /// Selects the clock of a track: the declared frame duration, else the measured rate, else the written
    /// times.
    pub(crate) fn of(rows: &FrameTable, units: Units, default_duration_ns: Option<u64>) -> Self {
        let grid = rows.rows().find(|row| !row.is_untimed).and_then(|first| {
            let declared_ns = default_duration_ns;
            let named = declared_ns.and_then(|ns| round_frame_rate(SECOND_NS as u128, ns.into())).map(wide);
            let exact = declared_ns.map(|ns| (SECOND_NS as u64, ns));
            let shown = rows.rows().filter(|row| !row.is_untimed).count() as u128;
            let span = units.ns(rows.times.1) - units.ns(rows.times.0);
            let measured = u128::try_from(span).ok().filter(|&span| span > 0 && shown > 1);
            let measured =
                measured.and_then(|span| round_frame_rate((shown - 1) * SECOND_NS as u128, span)).map(wide);
            let grids = [named, exact, measured].into_iter().flatten();
            grids
                .map(|rate| Grid { rate, anchor: first.time })
                .find(|grid| grid.explains(rows, units.scale_ns))
        });
        let is_whole = i128::from(units.scale_ns) * i128::from(TIMESCALE_USUAL) % SECOND_NS == 0;
        let timescale = match grid {
            Some(Grid { rate: (rate, 1001), .. }) => u32::try_from(rate).unwrap_or(TIMESCALE_FINE),
            Some(_) => TIMESCALE_USUAL,
            None if is_whole => TIMESCALE_USUAL,
            None => TIMESCALE_FINE,
        };
        FrameClock { timescale, grid, default_duration_ns }
    }

    /// Presentation time of a frame with this written time.
    fn ticks(&self, time: i64, units: Units) -> i64 {
        let Some(grid) = self.grid else { return units.ticks(time, self.timescale) };
        let (point, _) = grid.nearest_point(time, units.scale_ns);
        units.ticks(grid.anchor, self.timescale) + self.ticks_to_point(point, grid)
    }

    /// Ticks from the anchor of a grid to one of its points.
    fn ticks_to_point(&self, point: i128, grid: Grid) -> i64 {
        let (rate, unit) = grid.rate;
        div_rounded(point * i128::from(self.timescale) * i128::from(unit), rate.into()) as i64
    }

    /// Duration of a frame without a successor; 0 if it is not declared.
    fn frame_duration(&self, row: &FrameRecord, units: Units) -> u32 {
        match (self.grid, row.duration, self.default_duration_ns) {
            (Some(grid), units_long, _) => {
                let ns = i128::from(units_long) * i128::from(units.scale_ns) * i128::from(grid.rate.0);
                let points = div_rounded(ns, grid.step()).max(1);
                u32::try_from(self.ticks_to_point(points, grid)).unwrap_or(u32::MAX)
            }
            (None, 0, None) => 0,
            (None, 0, Some(ns)) => u32::try_from(in_ticks(ns.into(), self.timescale)).unwrap_or(u32::MAX),
            (None, units_long, _) => units.duration_ticks(units_long, self.timescale),
        }
    }

    /// Emits the frames in decode order.
    ///
    /// Matroska has no decode times: they are the presentation times in rising order. A frame that is not
    /// presented gets a free time between its neighbours.
    pub(crate) fn for_each_sample(
        &self,
        rows: &FrameTable,
        units: Units,
        emit: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut reorder = Reorder { waiting: VecDeque::new(), times: BinaryHeap::new(), emit };
        let mut hidden: Vec<FrameRecord> = Vec::new();
        let mut last = None;
        for row in rows.rows() {
            if row.is_untimed && hidden.len() < REORDERED_MAX {
                hidden.push(row);
                continue;
            }
            let at = self.ticks(row.time, units);
            let from = last.filter(|&last| last < at).unwrap_or(at);
            let parts = hidden.len() as i64 + 1;
            for (number, hidden) in (1..).zip(hidden.drain(..)) {
                reorder.push(
                    hidden,
                    from + (at - from) * number / parts,
                    self.frame_duration(&hidden, units),
                )?;
            }
            reorder.push(row, at, self.frame_duration(&row, units))?;
            last = Some(at);
        }
        for (number, hidden) in (1..).zip(hidden) {
            reorder.push(hidden, last.unwrap_or(0) + number, 1)?;
        }
        reorder.finish()
    }
}

fn wide((rate, unit): (u32, u32)) -> (u64, u64) {
    (rate.into(), unit.into())
}

/// Frames in decode order that wait until their decode times are known.
struct Reorder<F> {
    waiting: VecDeque<(FrameRecord, i64, u32)>,
    times: BinaryHeap<Reverse<i64>>,
    emit: F,
}

impl<F: FnMut(RawSample) -> Result<(), ReadError>> Reorder<F> {
    fn push(&mut self, row: FrameRecord, pts: i64, duration: u32) -> Result<(), ReadError> {
        self.waiting.push_back((row, pts, duration));
        self.times.push(Reverse(pts));
        if self.waiting.len() > REORDERED_MAX { self.pop() } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<(), ReadError> {
        let (Some((row, pts, delta)), Some(Reverse(dts))) = (self.waiting.pop_front(), self.times.pop())
        else {
            return Ok(());
        };
        let composition = i32::try_from(pts - dts)
            .map_err(|_| ReadError::Damaged("its frames are decoded hours before they are shown".into()))?;
        let FrameRecord { offset, size, is_key: is_sync, .. } = row;
        (self.emit)(RawSample { dts, delta, composition_offset: composition, offset, size, is_sync })
    }

    fn finish(mut self) -> Result<(), ReadError> {
        while !self.waiting.is_empty() {
            self.pop()?;
        }
        Ok(())
    }
}

/// Presentation times of the packets of a track, in ticks of its sample rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketClock {
    pub(crate) rate: u32,
    /// The rows contain their number of PCM samples.
    pub(crate) has_lengths: bool,
    pub(crate) default_duration_ns: Option<u64>,
}

/// The end of a packet.
#[derive(Debug, Clone, Copy)]
struct PacketEnd {
    /// In ticks of the sample rate.
    at: i64,
    /// The written time of the packet, in units.
    written: i64,
}

impl PacketEnd {
    fn of(row: &FrameRecord, begin: i64) -> Self {
        PacketEnd { at: begin + i64::from(row.duration), written: row.time }
    }
}

impl PacketClock {
    /// The same clock, without lengths if the times contradict them repeatedly.
    pub(crate) fn checked(self, rows: &FrameTable, units: Units) -> Self {
        let mut jumps = 0;
        let mut previous: Option<PacketEnd> = None;
        for row in rows.rows().filter(|_| self.has_lengths) {
            let at = self.start(&row, units, previous);
            jumps += u64::from(previous.is_some_and(|before| before.at != at));
            previous = Some(PacketEnd::of(&row, at));
        }
        let is_trusted = jumps * DURATION_ERROR_PARTS <= u64::from(rows.len());
        PacketClock { has_lengths: self.has_lengths && is_trusted, ..self }
    }

    /// Start of a packet: the end of the previous one, unless the written time differs by more than a
    /// packet.
    ///
    /// Packets of one lace have one time, and some writers write one time for all packets.
    fn start(&self, row: &FrameRecord, units: Units, previous: Option<PacketEnd>) -> i64 {
        if let Some(before) = previous.filter(|before| row.is_untimed || row.time == before.written) {
            return before.at;
        }
        let written = units.ticks(row.time, self.rate);
        let is_near = |end: &i64| {
            let off = (written - end).abs();
            off <= i64::from(row.duration) || off <= 2 * i64::from(units.duration_ticks(1, self.rate)) + 1
        };
        previous.map(|before| before.at).filter(is_near).unwrap_or(written)
    }

    /// Emits the packets in order.
    pub(crate) fn for_each_sample(
        &self,
        rows: &FrameTable,
        units: Units,
        mut emit: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        if !self.has_lengths {
            return self.for_each_sample_as_written(rows, units, emit);
        }
        let mut previous = None;
        for row in rows.rows() {
            let at = self.start(&row, units, previous);
            previous = Some(PacketEnd::of(&row, at));
            emit(packet(&row, at, row.duration))?;
        }
        Ok(())
    }

    /// Emits the packets without known lengths: those of one lace share the time to the next lace.
    fn for_each_sample_as_written(
        &self,
        rows: &FrameTable,
        units: Units,
        mut emit: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut lace: Vec<FrameRecord> = Vec::new();
        let mut duration = self.default_duration_ns.map_or(0, |ns| in_ticks(ns.into(), self.rate)).max(0);
        let mut emit_lace = |lace: &mut Vec<FrameRecord>, next: Option<i64>| {
            let Some(first) = lace.first() else { return Ok(()) };
            let at = units.ticks(first.time, self.rate);
            let parts = lace.len() as i64;
            duration = next.map_or(duration, |next| (next - at) / parts).max(1);
            let delta = u32::try_from(duration).unwrap_or(u32::MAX);
            for (number, row) in (0..).zip(lace.drain(..)) {
                emit(packet(&row, at + duration * number, delta))?;
            }
            Ok(())
        };
        for row in rows.rows() {
            if !row.is_untimed {
                emit_lace(&mut lace, Some(units.ticks(row.time, self.rate)))?;
            }
            lace.push(row);
        }
        emit_lace(&mut lace, None)
    }

    /// Start of the first packet.
    pub(crate) fn first_start(&self, rows: &FrameTable, units: Units) -> i64 {
        rows.rows().next().map_or(0, |row| units.ticks(row.time, self.rate))
    }
}

fn packet(row: &FrameRecord, dts: i64, delta: u32) -> RawSample {
    RawSample { dts, delta, composition_offset: 0, offset: row.offset, size: row.size, is_sync: true }
}

#[cfg(test)]
mod tests;
