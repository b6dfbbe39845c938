//! Faults on purpose, for tests of crashes.

/// Decides what goes wrong. Called on the writer's thread, once at each point of a commit that changes
/// something; a commit is one closure as long as only one caller writes at a time.
pub trait Faults: Send + Sync {
    /// What happens at this point.
    fn at(&self, point: FaultPoint) -> FaultAction;
}

/// Where something can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPoint {
    /// All was done, nothing is kept yet.
    BeforeCommit,
    /// All is kept, nobody knows yet.
    AfterCommit,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// Nothing.
    Continue,
    /// The caller is told [`Error::Full`](crate::Error::Full), as if the disk had refused. Before the commit
    /// nothing is kept; after it all is, as when an answer is lost.
    Fail,
    /// As if the process had been killed here: nothing after it happens, and every later operation answers
    /// [`Error::Stopped`](crate::Error::Stopped).
    Stop,
}
