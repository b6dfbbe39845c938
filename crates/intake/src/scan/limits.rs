//! Limits the memory of scans, fairly between workspaces. One scan reads very large tables, at most four
//! read large ones of 16 MiB together. Tables that grow during the scan share a budget.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt as _;
use kinora_domain::WorkspaceId;
use kinora_fair::{Admission, Budget, Permit, UnitsPermit};

/// Box size in bytes from which reading needs the single permit for very large boxes: an hour of video
/// has 2 MB.
const VERY_LARGE_BYTES: u64 = 16 << 20;
/// KiB of the large boxes that are in memory at the same time: one of the largest, or four of two hours.
/// Parsing needs up to twice the box.
const LARGE_BUDGET_KIB: u64 = VERY_LARGE_BYTES >> 10;
/// Divisor for the share that a single workspace cannot take, and for the minimum cost of a box: four are
/// read at the same time.
const LARGE_SHARE: u64 = 4;
/// Scans that read very large boxes (at most 256 MiB) at the same time.
const VERY_LARGE_SCANS_MAX: usize = 1;

/// Concurrent scanning threads. In one step the tables of each may grow as much as a file declares: usually
/// by some KiB, by some 30 MiB in the worst case.
const THREADS_MAX: usize = 8;
/// Budget in KiB for tables that grow during the scan: those of 32 Matroska files of two hours.
const MEMORY_BUDGET_KIB: u64 = 64 << 10;
/// Divisor for the share that a single workspace cannot take.
const MEMORY_RESERVE: u64 = 4;
/// Memory of each scan outside the budget, in bytes of tables or of a box: those of ten minutes of video.
const UNCOUNTED_BYTES: usize = 64 << 10;
/// Step in KiB in which a scan requests more memory.
const MEMORY_STEP_KIB: u64 = 64;

/// The limits of all scans of a process. Clones share state.
#[derive(Debug, Clone)]
pub struct ScanLimits {
    /// Folder of the temporary files. It needs disk space for a large box of each scan.
    folder: Arc<Path>,
    large: Budget<Option<WorkspaceId>>,
    very_large: Admission<Option<WorkspaceId>>,
    threads: Admission<Option<WorkspaceId>>,
    uncounted_bytes: usize,
    memory: Budget<Option<WorkspaceId>>,
    memory_kib: u64,
}

/// Permits for tables in memory; empty for small ones.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "it is held")]
pub struct ScanPermit {
    very_large: Option<Permit<Option<WorkspaceId>>>,
    large: Option<UnitsPermit<Option<WorkspaceId>>>,
    /// The permit for tables that grew during the scan.
    memory: Option<ScanMemory>,
}

/// The memory of one scan.
#[derive(Debug)]
pub(super) struct ScanMemory {
    limits: ScanLimits,
    workspace: Option<WorkspaceId>,
    granted: Vec<UnitsPermit<Option<WorkspaceId>>>,
    granted_kib: u64,
}

impl ScanLimits {
    /// Scans write temporary files into `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self::with_limits(folder, UNCOUNTED_BYTES, MEMORY_BUDGET_KIB)
    }

    /// With other limits: each scan may have `uncounted_bytes` of tables in memory outside of the budget,
    /// and the budget of all scans is `memory_kib`.
    pub fn with_limits(folder: Arc<Path>, uncounted_bytes: usize, memory_kib: u64) -> Self {
        Self {
            folder,
            large: Budget::new(LARGE_BUDGET_KIB, LARGE_BUDGET_KIB / LARGE_SHARE),
            very_large: Admission::new(VERY_LARGE_SCANS_MAX),
            threads: Admission::new(THREADS_MAX),
            uncounted_bytes,
            memory: Budget::new(memory_kib, memory_kib / MEMORY_RESERVE),
            memory_kib,
        }
    }

    /// KiB granted to scans.
    #[cfg(test)]
    pub(super) fn memory_in_use_kib(&self) -> u64 {
        self.memory.in_use()
    }

    /// Waits for a permit to load a box of `len` bytes, or its tables.
    pub(super) async fn acquire_box(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanPermit {
        if len >= VERY_LARGE_BYTES {
            let very_large = Some(self.very_large.acquire(workspace).await);
            return ScanPermit { very_large, ..ScanPermit::default() };
        }
        let kib = len.div_ceil(1024).max(LARGE_BUDGET_KIB / LARGE_SHARE);
        ScanPermit { large: Some(self.large.acquire(workspace, kib).await), ..ScanPermit::default() }
    }

    /// Waits for a permit for data of `len` bytes in memory. Returns at once for small data.
    pub async fn acquire(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanPermit {
        if len <= self.uncounted_bytes as u64 {
            ScanPermit::default()
        } else {
            self.acquire_box(len, workspace).await
        }
    }

    /// Waits for a thread permit.
    pub(super) async fn acquire_thread(&self, workspace: Option<WorkspaceId>) -> Permit<Option<WorkspaceId>> {
        self.threads.acquire(workspace).await
    }

    /// Folder of the temporary files.
    pub(super) fn folder(&self) -> Arc<Path> {
        self.folder.clone()
    }

    /// The memory of a scan for this workspace: none yet.
    pub(super) fn memory(&self, workspace: Option<WorkspaceId>) -> ScanMemory {
        ScanMemory { limits: self.clone(), workspace, granted: Vec::new(), granted_kib: 0 }
    }
}

impl ScanPermit {
    /// Whether it occupies a permit that other scans may wait for.
    pub fn has_large_permit(&self) -> bool {
        self.very_large.is_some() || self.large.is_some()
    }

    pub(super) fn with_memory(self, memory: ScanMemory) -> Self {
        Self { memory: Some(memory), ..self }
    }
}

impl ScanMemory {
    /// The folder for data that exceeds the memory of its scan.
    pub(super) fn folder(&self) -> Arc<Path> {
        self.limits.folder.clone()
    }

    /// Memory of its scan outside the budget, in bytes.
    pub(super) fn uncounted_bytes(&self) -> usize {
        self.limits.uncounted_bytes
    }

    /// Whether `len` bytes may be in memory: requests the missing amount, without waiting for it.
    pub(super) fn try_reserve(&mut self, len: usize) -> bool {
        let missing = (len as u64).div_ceil(1024).saturating_sub(self.granted_kib);
        if missing == 0 {
            return true;
        }
        let kib = missing.next_multiple_of(MEMORY_STEP_KIB);
        let all = self.limits.memory_kib;
        if self.granted_kib + kib > all - all / MEMORY_RESERVE {
            return false;
        }
        let granted = self.limits.memory.acquire(self.workspace, kib).now_or_never();
        self.granted_kib += granted.as_ref().map_or(0, |_| kib);
        let is_granted = granted.is_some();
        self.granted.extend(granted);
        is_granted
    }

    /// KiB granted.
    #[cfg(test)]
    pub(super) fn kib(&self) -> u64 {
        self.granted_kib
    }

    pub(super) fn release(&mut self) {
        self.granted.clear();
        self.granted_kib = 0;
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
    fn large_boxes_share_16_mib_very_large_ones_run_alone() {
        let limits = ScanLimits::new(Path::new("unused").into());
        let take = |len, workspace| limits.acquire_box(len, workspace).now_or_never();
        let [loud, quiet] = [1, 2].map(workspace);
        let first = take(12 * MIB, loud).expect("it fits");
        let mut second = Box::pin(limits.acquire_box(12 * MIB, loud));
        assert!((&mut second).now_or_never().is_none(), "together they are too large");
        let small = take(2 * MIB, quiet).expect("another workspace has the rest");
        let very_large = take(16 * MIB, loud).expect("it is not counted with them");
        assert!(take(16 * MIB, quiet).is_none(), "there is one such turn");
        drop((first, small, very_large));
        assert!((&mut second).now_or_never().is_some());
        assert!(take(16 * MIB, quiet).is_some());
    }

    #[test]
    fn at_most_four_large_boxes_have_permits() {
        let limits = ScanLimits::new(Path::new("unused").into());
        let take = |number| limits.acquire_box(MIB, workspace(number)).now_or_never();
        let permits = [1, 1, 1, 2].map(|number| take(number).expect("it fits"));
        assert!(take(3).is_none(), "there are four such turns");
        drop(permits);
        assert!(take(3).is_some());
    }
}
