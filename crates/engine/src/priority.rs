//! Who waits for a result, and so who goes first.

/// Who waits for the result of a run, the most urgent first.
///
/// A waiting run gets the next place before every one of a lower priority. The server itself always goes
/// before all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Somebody looks at a page or a player that has nothing to show.
    Viewer,
    /// Somebody will need it in a few seconds: what follows the segment being watched; and thumbnails,
    /// without which a page stays a page.
    Prefetch,
    /// Somebody may need it soon: first segments, sheets and clips, checks of a new source.
    Prepare,
    /// Nobody waits: filling a ladder. Such runs get half of the cores at most, and are stopped, not ended,
    /// while anybody else needs their place.
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
