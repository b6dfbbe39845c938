//! A scanner and its data in temporary files.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use kinora_formats::{Scanned, Scanner};
use kinora_isobmff::BoxSpill as _;

use super::checkpoint::Checkpoint;
use super::limits::ScanMemory;
use super::spill::SpillFile;
use super::{ScanCommand, ScanError};

/// Tables of a complete movie that stay in memory while the rest of its source arrives, if the limit of the
/// process allows it. Those of two hours at 30 frames per second with audio have about 1.4 MiB.
const TABLES_IN_MEMORY_MAX: usize = 4 << 20;
/// Minimum number of bytes received before a scanner is loaded again that was stored for lack of memory.
const RELOAD_BYTES_MIN: u64 = 1 << 20;
/// Number of bytes scanned between two checks of the memory.
const STEP_BYTES: usize = 64 << 10;

/// A scanner and its temporary files.
pub(super) struct ScanWorker {
    scanner: Scanner,
    /// The large box in progress.
    large_box: SpillFile,
    /// Content according to `spill_content`.
    spill: SpillFile,
    spill_content: SpillContent,
    /// Source bytes that arrived while the scanner is stored.
    pending: SpillFile,
    /// Length of `pending` at which the scanner is loaded again.
    reload_at: u64,
    memory: ScanMemory,
}

/// Content of the file `spill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpillContent {
    Nothing,
    /// The tables of a complete movie.
    Tables,
    /// The whole state as a checkpoint: the scanner itself is empty.
    Scanner,
}

impl ScanWorker {
    pub(super) fn new(scanner: Scanner, memory: ScanMemory) -> Self {
        let file = || SpillFile::new(memory.folder());
        let (large_box, spill, pending) = (file(), file(), file());
        Self {
            scanner,
            large_box,
            spill,
            spill_content: SpillContent::Nothing,
            pending,
            reload_at: 0,
            memory,
        }
    }

    /// Number of bytes that the next step loads into memory, if many.
    pub(super) fn bytes_to_load(&self, next: Option<&ScanCommand>) -> Option<u64> {
        let len = match (self.spill_content, next) {
            (SpillContent::Scanner, Some(ScanCommand::Spill)) => 0,
            (SpillContent::Scanner, Some(ScanCommand::Push(bytes))) if self.is_spilled(bytes) => 0,
            (SpillContent::Scanner, _) => self.spill.len() + self.pending.len(),
            (SpillContent::Tables, Some(ScanCommand::Checkpoint(_))) => self.spill.len(),
            (SpillContent::Tables | SpillContent::Nothing, _) => self.scanner.spilled_len().unwrap_or(0),
        };
        Some(len).filter(|len| *len > self.memory.uncounted_bytes() as u64)
    }

    /// The same for [`ScanWorker::finish`].
    pub(super) fn bytes_to_load_at_finish(&self) -> Option<u64> {
        let len = self.spill.len() + self.pending.len() + self.large_box.len();
        Some(len).filter(|len| *len > self.memory.uncounted_bytes() as u64)
    }

    /// Executes commands up to the next one that needs large data in memory. Returns the remaining commands.
    pub(super) fn execute(
        mut self,
        mut commands: VecDeque<ScanCommand>,
    ) -> Result<(Self, VecDeque<ScanCommand>), ScanError> {
        self.read_due()?;
        self.fit_memory()?;
        let mut is_first = true;
        while let Some(command) = commands.pop_front() {
            if self.bytes_to_load(Some(&command)).is_some() && !is_first {
                commands.push_front(command);
                break;
            }
            is_first = false;
            // A cancelled caller needs no reply.
            match command {
                ScanCommand::Push(bytes)
                    if self.spill_content == SpillContent::Scanner && self.is_spilled(&bytes) =>
                {
                    self.pending.append(&bytes)?;
                }
                ScanCommand::Push(mut bytes) => {
                    self.reload()?;
                    self.read_due()?; // a small box needs no memory permit
                    let step = bytes.len().min(STEP_BYTES);
                    let consumed = self.scanner.push_spilled(&bytes[..step], &mut self.large_box)?;
                    self.fit_memory()?;
                    let rest = bytes.split_off(consumed);
                    if !rest.is_empty() {
                        commands.push_front(ScanCommand::Push(rest));
                    }
                }
                ScanCommand::Checkpoint(reply) => {
                    self.reload()?;
                    // Without a checkpoint a restarted upload is scanned from an earlier byte.
                    if let Ok(checkpoint) = self.checkpoint()? {
                        let _ = reply.send(checkpoint);
                    }
                    self.fit_memory()?;
                }
                ScanCommand::NeedsRemux(reply) => {
                    self.reload()?;
                    let _ = reply.send(self.scanner.needs_remux());
                    self.fit_memory()?;
                }
                ScanCommand::Spill => self.store_scanner(0)?,
            }
        }
        Ok((self, commands))
    }

    /// The scan result, and the memory that it uses.
    pub(super) fn finish(mut self) -> Result<(Scanned, ScanMemory), ScanError> {
        self.reload()?;
        self.reload_tables()?;
        self.scanner.end()?;
        self.read_due()?;
        Ok((self.scanner.finish()?, self.memory))
    }

    /// Whether these bytes are added to `pending`, because they are few.
    fn is_spilled(&self, bytes: &Bytes) -> bool {
        self.pending.len() + (bytes.len() as u64) < self.reload_at
    }

    /// Reads the box that is due, if one is.
    fn read_due(&mut self) -> Result<(), ScanError> {
        if self.scanner.spilled_len().is_some() {
            self.scanner.read_spilled(&self.large_box.read_and_clear()?)?;
        }
        Ok(())
    }

    /// Counts the memory of the scanner. If the budget does not cover it, stores its tables, or the whole
    /// scanner.
    ///
    /// A stored scanner is loaded once an equal number of bytes has arrived, so the total I/O is
    /// proportional to the source.
    pub(super) fn fit_memory(&mut self) -> Result<(), ScanError> {
        let len = self.scanner.memory_len();
        if len <= self.memory.uncounted_bytes() {
            self.memory.release();
            return Ok(());
        }
        let is_large_movie = self.scanner.has_sample_tables() && len > TABLES_IN_MEMORY_MAX;
        if !is_large_movie && self.memory.try_reserve(len) {
            return Ok(());
        }
        if self.spill_content != SpillContent::Nothing || !self.store_tables()? {
            self.store_scanner(RELOAD_BYTES_MIN)?;
        }
        self.memory.release();
        Ok(())
    }

    /// Stores the tables of a complete movie. Returns whether there were any.
    fn store_tables(&mut self) -> Result<bool, ScanError> {
        let tables = self.scanner.offload_tables(0);
        if let Some(tables) = &tables {
            self.spill.append(tables)?;
            self.spill_content = SpillContent::Tables;
        }
        Ok(tables.is_some())
    }

    fn reload_tables(&mut self) -> Result<(), ScanError> {
        if self.spill_content == SpillContent::Tables {
            self.spill_content = SpillContent::Nothing;
            let tables = self.spill.read_and_clear()?;
            self.scanner.restore_tables(&tables).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// The checkpoint. An inner error means that it could not be stored; the scanner continues.
    fn checkpoint(&mut self) -> Result<io::Result<Checkpoint>, ScanError> {
        let had_spilled_tables = self.spill_content == SpillContent::Tables;
        self.reload_tables()?;
        let (at, state) = (self.scanner.checkpoint_len(), self.scanner.to_checkpoint());
        // Stores the tables first: without a checkpoint the scanner can continue, without them it cannot.
        if had_spilled_tables {
            self.store_tables()?;
        }
        Ok(Checkpoint::new(at, state, &self.memory))
    }

    /// Stores the whole scanner until as many bytes have arrived as its size, and at least `bytes_min`. Does
    /// nothing if tables are stored already, or if a box is in progress and little else is in memory.
    fn store_scanner(&mut self, bytes_min: u64) -> Result<(), ScanError> {
        let is_little =
            self.large_box.len() > 0 && self.scanner.memory_len() <= self.memory.uncounted_bytes();
        if self.spill_content != SpillContent::Nothing || is_little {
            return Ok(());
        }
        self.spill.append(&self.scanner.to_checkpoint())?;
        self.scanner = Scanner::new(None);
        self.spill_content = SpillContent::Scanner;
        // The checkpoint is the state before the box in progress.
        std::mem::swap(&mut self.pending, &mut self.large_box);
        self.reload_at = self.pending.len() + bytes_min.max(self.spill.len() + self.pending.len());
        Ok(())
    }

    fn reload(&mut self) -> Result<(), ScanError> {
        if self.spill_content != SpillContent::Scanner {
            return Ok(());
        }
        self.spill_content = SpillContent::Nothing;
        self.reload_at = 0;
        self.scanner = Scanner::from_checkpoint(&self.spill.read_and_clear()?).map_err(io::Error::other)?;
        let mut pending = std::mem::replace(&mut self.pending, SpillFile::new(self.memory.folder()));
        pending.read_in_pieces(STEP_BYTES, |mut piece| {
            while !piece.is_empty() {
                let consumed = self.scanner.push_spilled(piece, &mut self.large_box)?;
                piece = &piece[consumed..];
                self.read_due()?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use kinora_testkit::fixture;

    use super::super::ScanLimits;
    use super::*;

    /// Number of pieces of a source.
    const PIECES: usize = 40;

    /// Scans a source piece by piece. Returns the result, and how often the scanner was stored.
    fn scan_pieces(source: &Bytes, uncounted_bytes: usize, memory_kib: u64) -> (Scanned, usize) {
        let folder = tempfile::tempdir().unwrap();
        let limits = ScanLimits::with_limits(folder.path().into(), uncounted_bytes, memory_kib);
        let (mut work, mut stored) = (ScanWorker::new(Scanner::new(None), limits.memory(None)), 0);
        for piece in source.chunks(source.len().div_ceil(PIECES)) {
            let mut commands = VecDeque::from([ScanCommand::Push(source.slice_ref(piece))]);
            while !commands.is_empty() {
                let was_loaded = work.spill_content != SpillContent::Scanner;
                (work, commands) = work.execute(commands).unwrap();
                stored += usize::from(was_loaded && work.spill_content == SpillContent::Scanner);
                let in_memory = work.scanner.memory_len();
                assert!(
                    in_memory <= uncounted_bytes.max((work.memory.kib() << 10) as usize),
                    "{in_memory} bytes"
                );
            }
        }
        let (scanned, memory) = work.finish().unwrap();
        drop(memory);
        assert_eq!(limits.memory_in_use_kib(), 0);
        (scanned, stored)
    }

    #[test]
    fn spilled_tables_give_the_same_index() {
        for source in
            [fixture::fragmented(), fixture::vp9_webm(), fixture::two_seconds(), fixture::moov_at_end()]
        {
            let (expected, spills) = scan_pieces(&source, 1 << 20, 0);
            assert_eq!(spills, 0);
            for (uncounted_bytes, memory_kib) in [(0, 0), (100, 0), (1000, 0), (100, 512)] {
                assert_eq!(
                    scan_pieces(&source, uncounted_bytes, memory_kib).0,
                    expected,
                    "{uncounted_bytes} bytes and {memory_kib} KiB"
                );
            }
        }
        assert!(scan_pieces(&fixture::fragmented(), 100, 0).1 > 0);
        assert!(scan_pieces(&fixture::vp9_webm(), 100, 0).1 > 0);
        assert_eq!(scan_pieces(&fixture::vp9_webm(), 100, 512).1, 0, "there is memory for it");
    }
}
