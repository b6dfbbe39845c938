//! Priorities of runs.

/// The urgency of a run, the most urgent first.
///
/// A waiting run gets the next permit before every one of a lower priority. The server itself always has the
/// highest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A viewer waits with nothing to show on a page or player.
    Viewer,
    /// A viewer needs it in a few seconds: the segments after the watched one, and thumbnails, without which
    /// a page still works.
    Prefetch,
    /// A viewer may need it soon: first segments, sheets and clips, checks of a new source.
    Prepare,
    /// No request waits: backfill of a ladder. Such runs get half of the cores at most, and are paused, not
    /// ended, while another run needs their permit.
    Background,
}

impl Priority {
    /// Niceness of the process; the server's own is 0.
    pub(crate) fn nice(self) -> i32 {
        match self {
            Self::Viewer => 5,
            Self::Prefetch => 9,
            Self::Prepare => 14,
            Self::Background => 19,
        }
    }

    pub(crate) fn is_background(self) -> bool {
        self == Self::Background
    }
}
