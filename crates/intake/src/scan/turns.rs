//! Who may hold large tables in memory: one scan with very large ones at a time, a few with large ones, each in its workspace's turn.

use std::path::Path;
use std::sync::Arc;

use kinora_domain::WorkspaceId;
use kinora_fair::{Admission, Permit};

/// Bytes of a box from which on reading it takes the one turn for very large ones: an hour of video has 2 MB.
const VERY_LARGE: u64 = 16 << 20;
/// Scans that read large boxes at once, of 16 MiB at most; reading takes somewhat more than the box.
const LARGE_AT_ONCE: usize = 3;
/// Scans that read very large boxes at once, of 256 MiB at most.
const VERY_LARGE_AT_ONCE: usize = 1;

/// What the scans of a process share; clones share it.
#[derive(Debug, Clone)]
pub struct ScanTurns {
    /// For what is laid aside. On a file system that has room for a large box of each scan.
    pub(super) folder: Arc<Path>,
    large: Admission<Option<WorkspaceId>>,
    very_large: Admission<Option<WorkspaceId>>,
}

/// Held while large tables are in memory.
#[derive(Debug)]
pub struct ScanTurn(#[expect(dead_code, reason = "it is held")] Permit<Option<WorkspaceId>>);

impl ScanTurns {
    /// Scans lay aside in `folder`.
    pub fn new(folder: Arc<Path>) -> Self {
        Self { folder, large: Admission::new(LARGE_AT_ONCE), very_large: Admission::new(VERY_LARGE_AT_ONCE) }
    }

    /// Waits until a box of so many bytes, or what was made of it, may be in memory.
    pub(super) async fn take(&self, len: u64, workspace: Option<WorkspaceId>) -> ScanTurn {
        let turns = if len < VERY_LARGE { &self.large } else { &self.very_large };
        ScanTurn(turns.acquire(workspace).await)
    }
}
