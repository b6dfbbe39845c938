//! Rules that select the media of a smart playlist.

use crate::{Day, Timestamp};

/// The rules of a smart playlist: it has the ready media of its workspace whose dates are within both
/// ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartRules {
    /// The order, which also selects the media if there are more than the limit.
    pub order: PlayOrder,
    /// The range of their creation.
    pub created: DayRange,
    /// The range of their last change.
    pub updated: DayRange,
}

/// The order of a smart playlist, by creation time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayOrder {
    /// Oldest first.
    OldestFirst,
    /// Newest first.
    NewestFirst,
}

/// A range of whole days, both ends included; `None` is an open end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayRange {
    /// The first day.
    pub first: Option<Day>,
    /// The last day.
    pub last: Option<Day>,
}

impl PlayOrder {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::OldestFirst, Self::NewestFirst];

    /// The name in requests, responses and rows (C-171).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OldestFirst => "createdDate ASC",
            Self::NewestFirst => "createdDate DESC",
        }
    }

    /// The order with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == text)
    }
}

impl DayRange {
    /// Whether it has no end on either side, so that it contains all days.
    pub fn is_unbounded(self) -> bool {
        self == Self::default()
    }

    /// The first instant in the range, and the first one after it.
    pub fn instants(self) -> (Timestamp, Timestamp) {
        (
            self.first.map_or(Timestamp::from_micros(i64::MIN), Day::start),
            self.last.map_or(Timestamp::from_micros(i64::MAX), Day::end),
        )
    }
}
