//! Fault injection for tests: fails or stops at a chosen write.
//!
//! A store without [`Faults`] checks one empty `Option` per write, and nothing per byte.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, ObjectKey, Result};

/// One step that changes the store, before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOp {
    /// The step.
    pub kind: WriteKind,
    /// The object of the step.
    pub key: ObjectKey,
}

/// The steps that change the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// A whole object is written and named (`put_once`).
    Put,
    /// A streamed object begins: its temporary file is made.
    Create,
    /// A batch of a streamed object goes to its temporary file.
    Append,
    /// A streamed object is synced and named.
    Finish,
    /// An object is removed.
    Delete,
}

/// The fault to inject at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// The write continues.
    Proceed,
    /// This write fails with [`Error::Internal`]; `decide` is called again for later ones.
    Fail,
    /// This write fails with [`Error::Full`]; `decide` is called again for later ones.
    Full,
    /// The process dies before this write. It and every later operation, reads too, fail with
    /// [`Error::Stopped`], and temporary files stay as after a crash.
    Stop,
}

type Decide = dyn Fn(WriteOp) -> FaultAction + Send + Sync;

/// Decides the fault of every write, for [`crate::Blob::with_faults`].
pub struct Faults {
    decide: Box<Decide>,
    stopped: AtomicBool,
}

impl Faults {
    /// Calls `decide` before every write, in the order in which the writes begin.
    pub fn new(decide: impl Fn(WriteOp) -> FaultAction + Send + Sync + 'static) -> Self {
        Self { decide: Box::new(decide), stopped: AtomicBool::new(false) }
    }

    /// Stops the store now, outside of a write: for a crash elsewhere, such as in the database.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Whether the simulated crash has happened.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn inject_read_fault(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    pub(crate) fn inject_write_fault(&self, kind: WriteKind, key: ObjectKey) -> Result<()> {
        self.inject_read_fault()?;
        match (self.decide)(WriteOp { kind, key }) {
            FaultAction::Proceed => Ok(()),
            FaultAction::Fail => {
                let source = io::Error::other("a fault was asked for");
                Err(Error::Internal { action: "write", source })
            }
            FaultAction::Full => Err(Error::Full),
            FaultAction::Stop => {
                self.stop();
                Err(Error::Stopped)
            }
        }
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("stopped", &self.is_stopped()).finish_non_exhaustive()
    }
}
