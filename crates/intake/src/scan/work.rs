//! A scanner and what of it is stored in files.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::Aside as _;

use super::aside::AsideFile;
use super::checkpoint::Checkpoint;
use super::turns::Memory;
use super::{Order, ScanError};

/// Tables of a whole movie that stay in memory while the rest of its source comes, where the limit of the
/// process allows it. Those of two hours at 30 frames a second with sound have about 1.4 MiB.
const TABLES_KEPT_MAX: usize = 4 << 20;
/// Bytes that come at least before a scanner is loaded that was stored for want of memory.
const WAKE_MIN: u64 = 1 << 20;
/// Bytes that the scanner takes between two looks at its memory.
const STEP: usize = 64 << 10;

/// A scanner and its temporary files.
pub(super) struct Work {
    scanner: Scanner,
    /// The large box that comes now.
    body: AsideFile,
    /// What `holds` says.
    stored: AsideFile,
    holds: Holds,
    /// Bytes of the source that came while the scanner is stored.
    late: AsideFile,
    /// Length of `late` at which the scanner is loaded again.
    wake_at: u64,
    memory: Memory,
}

/// Content of `stored`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    /// The tables of a whole movie.
    Tables,
    /// All that the scanner has read, as a checkpoint: the scanner itself is empty.
    Scanner,
}

impl Work {
    pub(super) fn new(scanner: Scanner, memory: Memory) -> Self {
        let file = || AsideFile::new(memory.folder());
        let (body, stored, late) = (file(), file(), file());
        Self { scanner, body, stored, holds: Holds::Nothing, late, wake_at: 0, memory }
    }

    /// How many bytes the next step brings into memory, if many.
    pub(super) fn needs(&self, next: Option<&Order>) -> Option<u64> {
        let len = match (self.holds, next) {
            (Holds::Scanner, Some(Order::Rest)) => 0,
            (Holds::Scanner, Some(Order::Take(bytes))) if self.comes_late(bytes) => 0,
            (Holds::Scanner, _) => self.stored.len() + self.late.len(),
            (Holds::Tables, Some(Order::Checkpoint(_))) => self.stored.len(),
            (Holds::Tables | Holds::Nothing, _) => self.scanner.due().unwrap_or(0),
        };
        Some(len).filter(|len| *len > self.memory.unasked() as u64)
    }

    /// The same for [`Work::finish`].
    pub(super) fn needs_to_finish(&self) -> Option<u64> {
        let len = self.stored.len() + self.late.len() + self.body.len();
        Some(len).filter(|len| *len > self.memory.unasked() as u64)
    }

    /// Executes orders up to the next one that needs large data in memory. Returns the remaining orders.
    pub(super) fn carry_out(
        mut self,
        mut orders: VecDeque<Order>,
    ) -> Result<(Self, VecDeque<Order>), ScanError> {
        self.read_due()?;
        self.fit_memory()?;
        let mut is_first = true;
        while let Some(order) = orders.pop_front() {
            if self.needs(Some(&order)).is_some() && !is_first {
                orders.push_front(order);
                break;
            }
            is_first = false;
            // A caller that was cancelled needs no answer.
            match order {
                Order::Take(bytes) if self.holds == Holds::Scanner && self.comes_late(&bytes) => {
                    self.late.lay(&bytes)?;
                }
                Order::Take(mut bytes) => {
                    self.wake()?;
                    self.read_due()?; // a small one needs no turn
                    let step = bytes.len().min(STEP);
                    let taken = self.scanner.push_beside(&bytes[..step], &mut self.body)?;
                    self.fit_memory()?;
                    let rest = bytes.split_off(taken);
                    if !rest.is_empty() {
                        orders.push_front(Order::Take(rest));
                    }
                }
                Order::Checkpoint(reply) => {
                    self.wake()?;
                    // Without a checkpoint a restarted upload is scanned from an earlier byte.
                    if let Ok(checkpoint) = self.checkpoint()? {
                        let _ = reply.send(checkpoint);
                    }
                    self.fit_memory()?;
                }
                Order::IsForeign(reply) => {
                    self.wake()?;
                    let _ = reply.send(self.scanner.is_foreign());
                    self.fit_memory()?;
                }
                Order::Rest => self.store_scanner(0)?,
            }
        }
        Ok((self, orders))
    }

    /// What the bytes were, and the memory that it holds.
    pub(super) fn finish(mut self) -> Result<(Scanned, Memory), ScanError> {
        self.wake()?;
        self.bring_tables_back()?;
        self.scanner.end()?;
        self.read_due()?;
        Ok((self.scanner.finish()?, self.memory))
    }

    /// Whether these bytes wait in the file, too, for there are few.
    fn comes_late(&self, bytes: &Bytes) -> bool {
        self.late.len() + (bytes.len() as u64) < self.wake_at
    }

    /// Reads the box that is due, if one is.
    fn read_due(&mut self) -> Result<(), ScanError> {
        if self.scanner.due().is_some() {
            self.scanner.read_due(&self.body.take()?)?;
        }
        Ok(())
    }

    /// Counts the memory of the scanner. Where the budget does not cover it, its tables are stored, or the
    /// whole scanner.
    ///
    /// A stored scanner is loaded when as many bytes have come, so all that is written and read is in
    /// proportion to the source.
    pub(super) fn fit_memory(&mut self) -> Result<(), ScanError> {
        let len = self.scanner.memory_len();
        if len <= self.memory.unasked() {
            self.memory.give_back();
            return Ok(());
        }
        let is_large_movie = self.scanner.has_sample_tables() && len > TABLES_KEPT_MAX;
        if !is_large_movie && self.memory.covers(len) {
            return Ok(());
        }
        if self.holds != Holds::Nothing || !self.store_tables()? {
            self.store_scanner(WAKE_MIN)?;
        }
        self.memory.give_back();
        Ok(())
    }

    /// Whether there were tables of a whole movie.
    fn store_tables(&mut self) -> Result<bool, ScanError> {
        let tables = self.scanner.take_tables(0);
        if let Some(tables) = &tables {
            self.stored.lay(tables)?;
            self.holds = Holds::Tables;
        }
        Ok(tables.is_some())
    }

    fn bring_tables_back(&mut self) -> Result<(), ScanError> {
        if self.holds == Holds::Tables {
            self.holds = Holds::Nothing;
            let tables = self.stored.take()?;
            self.scanner.put_tables(&tables).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// The inner error tells that the state could not be stored; the scanner goes on.
    fn checkpoint(&mut self) -> Result<io::Result<Checkpoint>, ScanError> {
        let had_tables_aside = self.holds == Holds::Tables;
        self.bring_tables_back()?;
        let (at, state) = (self.scanner.checkpoint_len(), self.scanner.to_checkpoint());
        // The tables first: without a checkpoint the scanner goes on, without them it cannot.
        if had_tables_aside {
            self.store_tables()?;
        }
        Ok(Checkpoint::new(at, state, &self.memory))
    }

    /// Stores the whole scanner until as many bytes have come as it has, and at least `late_min`. Does
    /// nothing where tables are stored already, or a box comes and little else is in memory.
    fn store_scanner(&mut self, late_min: u64) -> Result<(), ScanError> {
        let is_little = self.body.len() > 0 && self.scanner.memory_len() <= self.memory.unasked();
        if self.holds != Holds::Nothing || is_little {
            return Ok(());
        }
        self.stored.lay(&self.scanner.to_checkpoint())?;
        self.scanner = Scanner::new(None);
        self.holds = Holds::Scanner;
        // The checkpoint is that in front of the box that comes now.
        std::mem::swap(&mut self.late, &mut self.body);
        self.wake_at = self.late.len() + late_min.max(self.stored.len() + self.late.len());
        Ok(())
    }

    fn wake(&mut self) -> Result<(), ScanError> {
        if self.holds != Holds::Scanner {
            return Ok(());
        }
        self.holds = Holds::Nothing;
        self.wake_at = 0;
        self.scanner = Scanner::from_checkpoint(&self.stored.take()?).map_err(io::Error::other)?;
        let mut late = std::mem::replace(&mut self.late, AsideFile::new(self.memory.folder()));
        late.read_in_pieces(STEP, |mut piece| {
            while !piece.is_empty() {
                let taken = self.scanner.push_beside(piece, &mut self.body)?;
                piece = &piece[taken..];
                self.read_due()?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use kinora_testkit::fixture;

    use super::super::ScanTurns;
    use super::*;

    /// Pieces of a source that is cut into so many.
    const PIECES: usize = 40;

    /// Takes a source piece by piece. Returns what it was, and how often the scanner was stored.
    fn taken(source: &Bytes, unasked: usize, memory_kib: u64) -> (Scanned, usize) {
        let folder = tempfile::tempdir().unwrap();
        let turns = ScanTurns::limited(folder.path().into(), unasked, memory_kib);
        let (mut work, mut stored) = (Work::new(Scanner::new(None), turns.memory(None)), 0);
        for piece in source.chunks(source.len().div_ceil(PIECES)) {
            let mut orders = VecDeque::from([Order::Take(source.slice_ref(piece))]);
            while !orders.is_empty() {
                let was_awake = work.holds != Holds::Scanner;
                (work, orders) = work.carry_out(orders).unwrap();
                stored += usize::from(was_awake && work.holds == Holds::Scanner);
                let in_memory = work.scanner.memory_len();
                assert!(in_memory <= unasked.max((work.memory.kib() << 10) as usize), "{in_memory} bytes");
            }
        }
        let (scanned, memory) = work.finish().unwrap();
        drop(memory);
        assert_eq!(turns.memory_held_kib(), 0);
        (scanned, stored)
    }

    #[test]
    fn tables_that_grow_beyond_the_memory_are_stored_and_give_the_same_index() {
        for source in
            [fixture::fragmented(), fixture::vp9_webm(), fixture::two_seconds(), fixture::moov_at_end()]
        {
            let (whole, never) = taken(&source, 1 << 20, 0);
            assert_eq!(never, 0);
            for (unasked, memory_kib) in [(0, 0), (100, 0), (1000, 0), (100, 512)] {
                assert_eq!(
                    taken(&source, unasked, memory_kib).0,
                    whole,
                    "{unasked} bytes and {memory_kib} KiB"
                );
            }
        }
        assert!(taken(&fixture::fragmented(), 100, 0).1 > 0);
        assert!(taken(&fixture::vp9_webm(), 100, 0).1 > 0);
        assert_eq!(taken(&fixture::vp9_webm(), 100, 512).1, 0, "there is memory for it");
    }
}
