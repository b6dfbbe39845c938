//! The state of a scanner, until it is stored as an object.

use std::io;

use bytes::Bytes;
use kinora_domain::WorkspaceId;
use kinora_isobmff::BoxSpill as _;
use tokio::task::spawn_blocking;

use super::ScanError;
use super::limits::{ScanLimits, ScanMemory, ScanPermit};
use super::spill::SpillFile;

/// The state of a scanner. A large state, with the tables of hours of media, is in an unnamed temporary file
/// until it is loaded.
#[derive(Debug)]
pub struct Checkpoint {
    at: u64,
    len: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    InMemory(Bytes),
    InFile(SpillFile),
}

impl Checkpoint {
    pub(super) fn new(at: u64, state: Vec<u8>, memory: &ScanMemory) -> io::Result<Self> {
        let len = state.len() as u64;
        if state.len() <= memory.uncounted_bytes() {
            return Ok(Self { at, len, state: State::InMemory(state.into()) });
        }
        let mut file = SpillFile::new(memory.folder());
        file.append(&state)?;
        Ok(Self { at, len, state: State::InFile(file) })
    }

    /// Number of source bytes before it. While a large box is being received, fewer than were pushed.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Size of the state in bytes.
    pub fn state_len(&self) -> u64 {
        self.len
    }

    /// The state, for [`kinora_formats::Scanner::from_checkpoint`]. If it is large, waits for a scan permit
    /// of this workspace first. The caller must own the permit while the bytes are in memory.
    /// Errors: [`ScanError::SpillFile`].
    pub async fn load_limited(
        self,
        limits: &ScanLimits,
        workspace: Option<WorkspaceId>,
    ) -> Result<(Bytes, ScanPermit), ScanError> {
        let mut file = match self.state {
            State::InMemory(bytes) => return Ok((bytes, ScanPermit::default())),
            State::InFile(file) => file,
        };
        let permit = limits.acquire_box(self.len, workspace).await;
        let load = move || file.read_and_clear().map(Bytes::from);
        Ok((spawn_blocking(load).await.map_err(ScanError::Panicked)??, permit))
    }
}
