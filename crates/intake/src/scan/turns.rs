//! Limits how many scans hold large tables in memory: one with very large ones and three with large ones,
//! fair between workspaces.

use std::path::Path;
use std::sync::Arc;

use kinora_domain::WorkspaceId;
use kinora_fair::{Admission, Permit};

/// Bytes of a box from which on reading it takes the one turn for very large ones: an hour of video has 2 MB.
const VERY_LARGE: u64 = 16 << 20;
/// Scans that read large boxes (at most 16 MiB) at the same time. Parsing needs somewhat more than the box.
const LARGE_AT_ONCE: usize = 3;
/// Scans that read very large boxes (at most 256 MiB) at the same time.
const VERY_LARGE_AT_ONCE: usize = 1;

/// The limits of all scans of a process. Clones share state.
#[derive(Debug, Clone)]
pub struct ScanTurns {
    /// Folder of the temporary files. It needs disk space for a large box of each scan.
    pub(super) folder: Arc<Path>,
    large: Admission<Option<WorkspaceId>>,
    very_large: Admission<Option<WorkspaceId>>,
}

/// Held while large tables are in memory.
#[derive(Debug)]
pub struct ScanTurn(#[expect(dead_code, reason = "it is held")] Permit<Option<WorkspaceId>>);

impl ScanTurns {
    /// Scans write temporary files into `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self { folder, large: Admission::new(LARGE_AT_ONCE), very_large: Admission::new(VERY_LARGE_AT_ONCE) }
    }

    /// Waits until a box of `len` bytes, or its tables, may be in memory.
    pub(super) async fn take(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanTurn {
        let turns = if len < VERY_LARGE { &self.large } else { &self.very_large };
        ScanTurn(turns.acquire(workspace).await)
    }
}
