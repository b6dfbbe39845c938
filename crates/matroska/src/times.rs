//! From the times that are written, which are whole units of mostly a millisecond, to those that were meant.
//!
//! Pictures of a steady rate lie on a grid: where one explains all of their times, they are put on it, in a
//! timescale that can say it. Packets of sound follow one another: where they tell their lengths, these are
//! added up. What does not fit is believed as it is written. M-14.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use kinora_isobmff::{
    ReadError,
    read::{RawSample, named_rate},
};

use crate::{
    collect::{Row, RowTable},
    rounding::{SECOND_NS, nearest},
};

/// Pictures that wait for one that is decoded later and shown earlier. H.264 and HEVC hold 16 at most.
/// ISO/IEC 14496-10, A.3.1.
const REORDERED_MAX: usize = 32;
/// How far apart the errors of times may lie that a grid explains, in units: writers round twice where they
/// add two rounded numbers.
const SPREAD_UNITS_MAX: i128 = 2;
/// A grid is no finer than so many units, or it would explain everything.
const GRID_UNITS_MIN: i128 = 4;
/// Ticks a second of times that no grid explains: whole units of most files, and every usual frame rate, are
/// whole ticks.
const TIMESCALE_USUAL: u32 = 90_000;
/// The same for finer units.
const TIMESCALE_FINE: u32 = 1_000_000;
/// Of packets whose lengths contradict their times every how many is enough to distrust the lengths.
const DISTRUST_PARTS: u64 = 8;

/// Units of time: how many nanoseconds one is, and which is the first.
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

    fn lasting(self, units: u32, timescale: u32) -> u32 {
        let ticks = in_ticks(i128::from(units) * i128::from(self.scale_ns), timescale);
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }
}

fn in_ticks(ns: i128, timescale: u32) -> i64 {
    // Times are below 2^62 ns and timescales below 2^24, which leaves less than 2^57.
    nearest(ns * i128::from(timescale), SECOND_NS) as i64
}

/// When the pictures of a track are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PictureClock {
    pub(crate) timescale: u32,
    grid: Option<Grid>,
    default_duration_ns: Option<u64>,
}

/// Pictures a second as a fraction, and the written time of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    rate: (u64, u64),
    anchor: i64,
}

impl Grid {
    /// The number of the place nearest to a written time, and how far from it that is, in nanoseconds times
    /// the numerator of the rate.
    fn place(&self, time: i64, scale_ns: u64) -> (i128, i128) {
        let since = (i128::from(time) - i128::from(self.anchor)) * i128::from(scale_ns);
        let (number, step) = (since * i128::from(self.rate.0), self.step());
        let place = nearest(number, step);
        (place, number - place * step)
    }

    /// From one place to the next, in nanoseconds times the numerator of the rate.
    fn step(&self) -> i128 {
        i128::from(self.rate.1) * SECOND_NS
    }

    /// Whether its places explain the times of all pictures that are shown.
    fn explains(&self, rows: &RowTable, scale_ns: u64) -> bool {
        let unit = i128::from(scale_ns) * i128::from(self.rate.0);
        if self.step() < GRID_UNITS_MIN * unit {
            return false;
        }
        let (mut least, mut most) = (0, 0);
        for row in rows.rows().filter(|row| !row.is_special) {
            let (_, error) = self.place(row.time, scale_ns);
            (least, most) = (error.min(least), error.max(most));
            if most - least > SPREAD_UNITS_MAX * unit {
                return false;
            }
        }
        true
    }
}

impl PictureClock {
    /// The clock of a track: that of the duration it says, else that of the rate it has, else as its times
    /// are written.
    pub(crate) fn of(rows: &RowTable, units: Units, default_duration_ns: Option<u64>) -> Self {
        let grid = rows.rows().find(|row| !row.is_special).and_then(|first| {
            let said = default_duration_ns;
            let named = said.and_then(|ns| named_rate(SECOND_NS as u128, ns.into())).map(wide);
            let exact = said.map(|ns| (SECOND_NS as u64, ns));
            let shown = rows.rows().filter(|row| !row.is_special).count() as u128;
            let span = units.ns(rows.times.1) - units.ns(rows.times.0);
            let measured = u128::try_from(span).ok().filter(|&span| span > 0 && shown > 1);
            let measured =
                measured.and_then(|span| named_rate((shown - 1) * SECOND_NS as u128, span)).map(wide);
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
        PictureClock { timescale, grid, default_duration_ns }
    }

    /// When a picture is shown that has this time written.
    fn ticks(&self, time: i64, units: Units) -> i64 {
        let Some(grid) = self.grid else { return units.ticks(time, self.timescale) };
        let (place, _) = grid.place(time, units.scale_ns);
        units.ticks(grid.anchor, self.timescale) + self.after(place, grid)
    }

    /// Ticks from the anchor of a grid to one of its places.
    fn after(&self, place: i128, grid: Grid) -> i64 {
        let (rate, unit) = grid.rate;
        nearest(place * i128::from(self.timescale) * i128::from(unit), rate.into()) as i64
    }

    /// How long a picture lasts that nothing follows; 0 where nobody says.
    fn lasting(&self, row: &Row, units: Units) -> u32 {
        match (self.grid, row.duration, self.default_duration_ns) {
            (Some(grid), units_long, _) => {
                let ns = i128::from(units_long) * i128::from(units.scale_ns) * i128::from(grid.rate.0);
                let places = nearest(ns, grid.step()).max(1);
                u32::try_from(self.after(places, grid)).unwrap_or(u32::MAX)
            }
            (None, 0, None) => 0,
            (None, 0, Some(ns)) => u32::try_from(in_ticks(ns.into(), self.timescale)).unwrap_or(u32::MAX),
            (None, units_long, _) => units.lasting(units_long, self.timescale),
        }
    }

    /// Hands the pictures out in decode order.
    ///
    /// Their decode times are the times at which pictures are shown, in rising order: Matroska writes none. A
    /// picture that is not shown gets a time between its neighbours, where nothing else is.
    pub(crate) fn each(
        &self,
        rows: &RowTable,
        units: Units,
        take: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut order = Reorder { waiting: VecDeque::new(), times: BinaryHeap::new(), take };
        let mut hidden: Vec<Row> = Vec::new();
        let mut last = None;
        for row in rows.rows() {
            if row.is_special && hidden.len() < REORDERED_MAX {
                hidden.push(row);
                continue;
            }
            let at = self.ticks(row.time, units);
            let from = last.filter(|&last| last < at).unwrap_or(at);
            let parts = hidden.len() as i64 + 1;
            for (number, hidden) in (1..).zip(hidden.drain(..)) {
                order.push(hidden, from + (at - from) * number / parts, self.lasting(&hidden, units))?;
            }
            order.push(row, at, self.lasting(&row, units))?;
            last = Some(at);
        }
        for (number, hidden) in (1..).zip(hidden) {
            order.push(hidden, last.unwrap_or(0) + number, 1)?;
        }
        order.finish()
    }
}

fn wide((rate, unit): (u32, u32)) -> (u64, u64) {
    (rate.into(), unit.into())
}

/// Pictures in decode order that wait until their decode times are known.
struct Reorder<F> {
    waiting: VecDeque<(Row, i64, u32)>,
    times: BinaryHeap<Reverse<i64>>,
    take: F,
}

impl<F: FnMut(RawSample) -> Result<(), ReadError>> Reorder<F> {
    fn push(&mut self, row: Row, pts: i64, lasting: u32) -> Result<(), ReadError> {
        self.waiting.push_back((row, pts, lasting));
        self.times.push(Reverse(pts));
        if self.waiting.len() > REORDERED_MAX { self.pop() } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<(), ReadError> {
        let (Some((row, pts, delta)), Some(Reverse(dts))) = (self.waiting.pop_front(), self.times.pop())
        else {
            return Ok(());
        };
        let composition = i32::try_from(pts - dts)
            .map_err(|_| ReadError::Damaged("its pictures are decoded hours before they are shown".into()))?;
        let Row { offset, size, is_key: is_sync, .. } = row;
        (self.take)(RawSample { dts, delta, composition, offset, size, is_sync })
    }

    fn finish(mut self) -> Result<(), ReadError> {
        while !self.waiting.is_empty() {
            self.pop()?;
        }
        Ok(())
    }
}

/// When the packets of a track are heard: in ticks of its sample rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketClock {
    pub(crate) rate: u32,
    /// The rows say how many PCM samples they have.
    pub(crate) has_lengths: bool,
    pub(crate) default_duration_ns: Option<u64>,
}

/// Where a packet ends.
#[derive(Debug, Clone, Copy)]
struct End {
    /// In ticks of the sample rate.
    at: i64,
    /// The written time of the packet, in units.
    written: i64,
}

impl End {
    fn of(row: &Row, begin: i64) -> Self {
        End { at: begin + i64::from(row.duration), written: row.time }
    }
}

impl PacketClock {
    /// The same, without lengths that the times contradict again and again.
    pub(crate) fn checked(self, rows: &RowTable, units: Units) -> Self {
        let mut jumps = 0;
        let mut before: Option<End> = None;
        for row in rows.rows().filter(|_| self.has_lengths) {
            let at = self.begin(&row, units, before);
            jumps += u64::from(before.is_some_and(|before| before.at != at));
            before = Some(End::of(&row, at));
        }
        let is_trusted = jumps * DISTRUST_PARTS <= u64::from(rows.len());
        PacketClock { has_lengths: self.has_lengths && is_trusted, ..self }
    }

    /// When a packet begins: where the one before it ends, unless more than a packet is missing or too many.
    ///
    /// Packets of one lace have one time, and there are writers that write one time for all packets.
    fn begin(&self, row: &Row, units: Units, before: Option<End>) -> i64 {
        if let Some(before) = before.filter(|before| row.is_special || row.time == before.written) {
            return before.at;
        }
        let written = units.ticks(row.time, self.rate);
        let is_near = |end: &i64| {
            let off = (written - end).abs();
            off <= i64::from(row.duration) || off <= 2 * i64::from(units.lasting(1, self.rate)) + 1
        };
        before.map(|before| before.at).filter(is_near).unwrap_or(written)
    }

    /// Hands the packets out in order.
    pub(crate) fn each(
        &self,
        rows: &RowTable,
        units: Units,
        mut take: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        if !self.has_lengths {
            return self.each_as_written(rows, units, take);
        }
        let mut before = None;
        for row in rows.rows() {
            let at = self.begin(&row, units, before);
            before = Some(End::of(&row, at));
            take(packet(&row, at, row.duration))?;
        }
        Ok(())
    }

    /// The same where nobody says how long packets are: those of one lace share the time to the next one.
    fn each_as_written(
        &self,
        rows: &RowTable,
        units: Units,
        mut take: impl FnMut(RawSample) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut lace: Vec<Row> = Vec::new();
        let mut each = self.default_duration_ns.map_or(0, |ns| in_ticks(ns.into(), self.rate)).max(0);
        let mut hand_out = |lace: &mut Vec<Row>, next: Option<i64>| {
            let Some(first) = lace.first() else { return Ok(()) };
            let at = units.ticks(first.time, self.rate);
            let parts = lace.len() as i64;
            each = next.map_or(each, |next| (next - at) / parts).max(1);
            let lasting = u32::try_from(each).unwrap_or(u32::MAX);
            for (number, row) in (0..).zip(lace.drain(..)) {
                take(packet(&row, at + each * number, lasting))?;
            }
            Ok(())
        };
        for row in rows.rows() {
            if !row.is_special {
                hand_out(&mut lace, Some(units.ticks(row.time, self.rate)))?;
            }
            lace.push(row);
        }
        hand_out(&mut lace, None)
    }

    /// When the first packet begins.
    pub(crate) fn first(&self, rows: &RowTable, units: Units) -> i64 {
        rows.rows().next().map_or(0, |row| units.ticks(row.time, self.rate))
    }
}

fn packet(row: &Row, dts: i64, delta: u32) -> RawSample {
    RawSample { dts, delta, composition: 0, offset: row.offset, size: row.size, is_sync: true }
}

#[cfg(test)]
mod tests;
