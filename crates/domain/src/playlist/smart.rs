//! Rules by which a smart playlist chooses its media.

use crate::{Day, Timestamp};

/// Which media a smart playlist holds: the ready ones of its workspace whose dates lie within both ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmartRules {
    /// Which end comes first, and which media are in it where there are more than its limit.
    pub order: PlayOrder,
    /// When they were made.
    pub created: DayRange,
    /// When they last changed.
    pub updated: DayRange,
}

/// The order of a smart playlist, by creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayOrder {
    /// The oldest first.
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

/// Whole days, first and last included; without an end on the side that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayRange {
    /// The first.
    pub first: Option<Day>,
    /// The last.
    pub last: Option<Day>,
}

impl PlayOrder {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::OldestFirst, Self::NewestFirst];

    /// The order as clients and rows see it (C-171).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OldestFirst => "createdDate ASC",
            Self::NewestFirst => "createdDate DESC",
        }
    }

    /// The order that is written so.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == text)
    }
}

impl DayRange {
    /// Whether it leaves nothing out.
    pub fn is_everything(self) -> bool {
        self == Self::default()
    }

    /// The first instant within, and the first one behind.
    pub fn instants(self) -> (Timestamp, Timestamp) {
        (
            self.first.map_or(Timestamp::from_micros(i64::MIN), Day::start),
            self.last.map_or(Timestamp::from_micros(i64::MAX), Day::end),
        )
    }
}
