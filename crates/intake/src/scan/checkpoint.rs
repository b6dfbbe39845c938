//! The state of a scanner, until it is stored as an object.

use std::io;

use bytes::Bytes;
use kinora_domain::WorkspaceId;
use kinora_isobmff::Aside as _;
use tokio::task::spawn_blocking;

use super::ScanError;
use super::aside::AsideFile;
use super::turns::{Memory, ScanTurn, ScanTurns};

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
    InFile(AsideFile),
}

impl Checkpoint {
    pub(super) fn new(at: u64, state: Vec<u8>, memory: &Memory) -> io::Result<Self> {
        let len = state.len() as u64;
        if state.len() <= memory.unasked() {
            return Ok(Self { at, len, state: State::InMemory(state.into()) });
        }
        let mut file = AsideFile::new(memory.folder());
        file.lay(&state)?;
        Ok(Self { at, len, state: State::InFile(file) })
    }

    /// Bytes of the source in front of it. While a large box comes these are fewer than were pushed.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the state.
    pub fn state_len(&self) -> u64 {
        self.len
    }

    /// The state, for [`kinora_formats::Scanner::from_checkpoint`]. Waits for the turn of this workspace
    /// first if it is large. Hold the turn while the bytes are in memory.
    ///
    /// Errors: [`ScanError::Aside`].
    pub async fn load_in_turn(
        self,
        turns: &ScanTurns,
        workspace: Option<WorkspaceId>,
    ) -> Result<(Bytes, ScanTurn), ScanError> {
        let mut file = match self.state {
            State::InMemory(bytes) => return Ok((bytes, ScanTurn::default())),
            State::InFile(file) => file,
        };
        let turn = turns.take(self.len, workspace).await;
        let load = move || file.take().map(Bytes::from);
        Ok((spawn_blocking(load).await.map_err(ScanError::Panicked)??, turn))
    }
}
