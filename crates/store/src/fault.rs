//! Fault injection for crash tests.

/// Decides which faults happen. Called on the writer's thread, once at each point of a commit that changes
/// rows. A commit is one closure while only one caller writes at a time.
pub trait Faults: Send + Sync {
    /// The action at this point.
    fn at(&self, point: FaultPoint) -> FaultAction;
}

/// A point at which a fault can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPoint {
    /// All statements ran; nothing is committed.
    BeforeCommit,
    /// The commit is done; no caller has the result.
    AfterCommit,
}

/// The fault to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// No fault.
    Continue,
    /// The caller gets [`Error::Full`](crate::Error::Full), as for a full disk. Before the commit nothing
    /// is stored; after it everything is, as when a response is lost.
    Fail,
    /// A kill of the process at this point: nothing runs after it, and every later operation returns
    /// [`Error::Stopped`](crate::Error::Stopped).
    Stop,
}
