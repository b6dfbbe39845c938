//! Limits what scans have in memory, fair between workspaces: one reads very large tables, at most four read
//! large ones, of 16 MiB together, and those that grow while the bytes come share a budget.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use kinora_domain::WorkspaceId;
use kinora_fair::{Admission, Budget, Permit, Units};

/// Bytes of a box from which on reading it takes the one turn for very large ones: an hour of video has 2 MB.
const VERY_LARGE: u64 = 16 << 20;
/// KiB of the large boxes that are in memory at the same time: one of the largest, or four of two hours.
/// Parsing needs up to twice the box.
const LARGE_KIB: u64 = VERY_LARGE >> 10;
/// The part of it that a single workspace cannot take, and what a smaller box counts as: four are read at the
/// same time.
const LARGE_SHARE: u64 = 4;
/// Scans that read very large boxes (at most 256 MiB) at the same time.
const VERY_LARGE_AT_ONCE: usize = 1;

/// Scans that use a thread at the same time. In one step the tables of each may grow as much as a file may
/// claim: usually by some KiB, by some 30 MiB in the worst case.
const THREADS: usize = 8;
/// KiB of tables that grow while the bytes come: those of 32 Matroska files of two hours.
const MEMORY_KIB: u64 = 64 << 10;
/// The part of it that a single workspace cannot take.
const MEMORY_RESERVE: u64 = 4;
/// Bytes of tables, or of a box, that each scan has in memory without asking: those of ten minutes of video.
const UNASKED: usize = 64 << 10;
/// More is asked for in such amounts.
const MEMORY_STEP_KIB: u64 = 64;

/// The limits of all scans of a process. Clones share state.
#[derive(Debug, Clone)]
pub struct ScanTurns {
    /// Folder of the temporary files. It needs disk space for a large box of each scan.
    folder: Arc<Path>,
    large: Budget<Option<WorkspaceId>>,
    very_large: Admission<Option<WorkspaceId>>,
    threads: Admission<Option<WorkspaceId>>,
    unasked: usize,
    memory: Budget<Option<WorkspaceId>>,
    memory_kib: u64,
}

/// Held while tables are in memory; holds nothing for small ones.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "it is held")]
pub struct ScanTurn {
    very_large: Option<Permit<Option<WorkspaceId>>>,
    large: Option<Units<Option<WorkspaceId>>>,
    /// Of tables that grew while the bytes came.
    memory: Option<Memory>,
}

/// The memory of one scan.
#[derive(Debug)]
pub(super) struct Memory {
    turns: ScanTurns,
    workspace: Option<WorkspaceId>,
    granted: Vec<Units<Option<WorkspaceId>>>,
    kib: u64,
}

impl ScanTurns {
    /// Scans write temporary files into `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self::limited(folder, UNASKED, MEMORY_KIB)
    }

    /// With other limits: each scan may have `unasked` bytes of tables in memory outside of the budget, and
    /// the budget of all scans is `memory_kib`.
    pub fn limited(folder: Arc<Path>, unasked: usize, memory_kib: u64) -> Self {
        Self {
            folder,
            large: Budget::new(LARGE_KIB, LARGE_KIB / LARGE_SHARE),
            very_large: Admission::new(VERY_LARGE_AT_ONCE),
            threads: Admission::new(THREADS),
            unasked,
            memory: Budget::new(memory_kib, memory_kib / MEMORY_RESERVE),
            memory_kib,
        }
    }

    /// KiB that scans were granted.
    #[cfg(test)]
    pub(super) fn memory_held_kib(&self) -> u64 {
        self.memory.held()
    }

    /// Waits until a box of `len` bytes, or its tables, may be in memory.
    pub(super) async fn take(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanTurn {
        if len >= VERY_LARGE {
            let very_large = Some(self.very_large.acquire(workspace).await);
            return ScanTurn { very_large, ..ScanTurn::default() };
        }
        let kib = len.div_ceil(1024).max(LARGE_KIB / LARGE_SHARE);
        ScanTurn { large: Some(self.large.acquire(workspace, kib).await), ..ScanTurn::default() }
    }

    /// The same of what is `len` bytes in memory. Small ones wait for nothing.
    pub async fn turn(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanTurn {
        if len <= self.unasked as u64 { ScanTurn::default() } else { self.take(len, workspace).await }
    }

    /// Waits until a thread may scan.
    pub(super) async fn thread(&self, workspace: Option<WorkspaceId>) -> Permit<Option<WorkspaceId>> {
        self.threads.acquire(workspace).await
    }

    /// Folder of the temporary files.
    pub(super) fn folder(&self) -> Arc<Path> {
        self.folder.clone()
    }

    /// Memory of a scan for this workspace: none yet.
    pub(super) fn memory(&self, workspace: Option<WorkspaceId>) -> Memory {
        Memory { turns: self.clone(), workspace, granted: Vec::new(), kib: 0 }
    }
}

impl ScanTurn {
    /// Whether it holds a place that other scans may wait for.
    pub fn holds_place(&self) -> bool {
        self.very_large.is_some() || self.large.is_some()
    }

    pub(super) fn with(self, memory: Memory) -> Self {
        Self { memory: Some(memory), ..self }
    }
}

impl Memory {
    /// Where its scan stores what it has no memory for.
    pub(super) fn folder(&self) -> Arc<Path> {
        self.turns.folder.clone()
    }

    /// Bytes that its scan has in memory without asking.
    pub(super) fn unasked(&self) -> usize {
        self.turns.unasked
    }

    /// Whether `len` bytes may be in memory: asks for what is missing, and does not wait for it.
    pub(super) fn covers(&mut self, len: usize) -> bool {
        let missing = (len as u64).div_ceil(1024).saturating_sub(self.kib);
        if missing == 0 {
            return true;
        }
        let kib = missing.next_multiple_of(MEMORY_STEP_KIB);
        let all = self.turns.memory_kib;
        if self.kib + kib > all - all / MEMORY_RESERVE {
            return false;
        }
        let granted = self.turns.memory.acquire(self.workspace, kib).now_or_never();
        self.kib += granted.as_ref().map_or(0, |_| kib);
        let is_granted = granted.is_some();
        self.granted.extend(granted);
        is_granted
    }

    /// KiB that were granted.
    #[cfg(test)]
    pub(super) fn kib(&self) -> u64 {
        self.kib
    }

    pub(super) fn give_back(&mut self) {
        self.granted.clear();
        self.kib = 0;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn workspace(number: u8) -> Option<WorkspaceId> {
        Some(format!("00000000-0000-0000-0000-0000000000{number:02}").parse().unwrap())
    }

    #[test]
    fn large_boxes_have_16_mib_together_and_a_very_large_one_has_its_own_turn() {
        let turns = ScanTurns::new(Path::new("unused").into());
        let take = |len, workspace| turns.take(len, workspace).now_or_never();
        let [loud, quiet] = [1, 2].map(workspace);
        let first = take(12 * MIB, loud).expect("it fits");
        let mut second = Box::pin(turns.take(12 * MIB, loud));
        assert!((&mut second).now_or_never().is_none(), "together they are too large");
        let small = take(2 * MIB, quiet).expect("another workspace has the rest");
        let very_large = take(16 * MIB, loud).expect("it is not counted with them");
        assert!(take(16 * MIB, quiet).is_none(), "there is one such turn");
        drop((first, small, very_large));
        assert!((&mut second).now_or_never().is_some());
        assert!(take(16 * MIB, quiet).is_some());
    }

    #[test]
    fn four_large_boxes_are_read_at_the_same_time() {
        let turns = ScanTurns::new(Path::new("unused").into());
        let take = |number| turns.take(MIB, workspace(number)).now_or_never();
        let held = [1, 1, 1, 2].map(|number| take(number).expect("it fits"));
        assert!(take(3).is_none(), "there are four such turns");
        drop(held);
        assert!(take(3).is_some());
    }
}
