//! What a manual playlist holds: each media once, in an order.

use std::collections::{HashMap, HashSet};

use super::{Playlist, PlaylistContent};
use crate::{MediaId, Timestamp};

/// A media in a manual playlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaylistItem {
    /// Which.
    pub media: MediaId,
    /// Rises along the list, with gaps.
    pub position: i64,
}

/// Why the media of a playlist stay as they are. `at` counts from 0 in the list that was asked with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaylistProblem {
    /// What a smart playlist holds follows from its rules.
    #[error("must be a manual playlist; what a smart one holds follows from its dates")]
    Smart,
    /// There is no room.
    #[error("would make {count} media, and this playlist has at most {limit}; take others out first")]
    Full {
        /// How many there would be.
        count: usize,
        /// How many there can be.
        limit: u32,
    },
    /// This one is not in the playlist.
    #[error("is not in this playlist; leave it out")]
    NotInside {
        /// Which of the list.
        at: usize,
    },
    /// An order of all must name all.
    #[error("must name each media of this playlist; {missing} is missing")]
    Incomplete {
        /// The first that is not named.
        missing: MediaId,
    },
}

impl Playlist {
    /// The media of a manual playlist, in their order; none of a smart one.
    pub fn items(&self) -> &[PlaylistItem] {
        match &self.content {
            PlaylistContent::Manual(items) => items,
            PlaylistContent::Smart(_) => &[],
        }
    }

    /// Adds media behind the last one, in this order. One that is in it already stays where it is: whoever
    /// asks twice, because an answer was lost, gets what asking once gives (D-0072).
    pub fn append(mut self, media: &[MediaId], now: Timestamp) -> Result<Self, PlaylistProblem> {
        let limit = self.limit;
        let items = self.manual()?;
        let mut known: HashSet<MediaId> = items.iter().map(|item| item.media).collect();
        let before = items.len();
        let next = items.last().map_or(0, |last| last.position.saturating_add(1));
        let new = media.iter().filter(|media| known.insert(**media));
        items.extend((next..).zip(new).map(|(position, media)| PlaylistItem { media: *media, position }));
        let count = items.len();
        if usize::try_from(limit).is_ok_and(|limit| limit < count) {
            return Err(PlaylistProblem::Full { count, limit });
        }
        Ok(if count == before { self } else { self.changed(now) })
    }

    /// Puts all media in this order, which names each of them once.
    pub fn reorder(mut self, order: &[MediaId], now: Timestamp) -> Result<Self, PlaylistProblem> {
        let items = self.manual()?;
        check_inside(items, order)?;
        let named: HashSet<MediaId> = order.iter().copied().collect();
        if let Some(missing) = items.iter().find(|item| !named.contains(&item.media)) {
            return Err(PlaylistProblem::Incomplete { missing: missing.media });
        }
        let places: HashMap<MediaId, usize> = order.iter().copied().zip(0..).collect();
        let positions: Vec<i64> = items.iter().map(|item| item.position).collect();
        let before = items.clone();
        items.sort_by_key(|item| places.get(&item.media).copied());
        // The positions stay: a row whose place is the same need not be written.
        items.iter_mut().zip(positions).for_each(|(item, position)| item.position = position);
        Ok(if *items == before { self } else { self.changed(now) })
    }

    /// Takes media out; all of them are in it.
    pub fn remove(mut self, media: &[MediaId], now: Timestamp) -> Result<Self, PlaylistProblem> {
        let items = self.manual()?;
        check_inside(items, media)?;
        let gone: HashSet<MediaId> = media.iter().copied().collect();
        items.retain(|item| !gone.contains(&item.media));
        Ok(if gone.is_empty() { self } else { self.changed(now) })
    }

    fn manual(&mut self) -> Result<&mut Vec<PlaylistItem>, PlaylistProblem> {
        match &mut self.content {
            PlaylistContent::Manual(items) => Ok(items),
            PlaylistContent::Smart(_) => Err(PlaylistProblem::Smart),
        }
    }

    fn changed(self, now: Timestamp) -> Self {
        Self { updated_at: now, ..self }
    }
}

fn check_inside(items: &[PlaylistItem], media: &[MediaId]) -> Result<(), PlaylistProblem> {
    let inside: HashSet<MediaId> = items.iter().map(|item| item.media).collect();
    match media.iter().position(|media| !inside.contains(media)) {
        Some(at) => Err(PlaylistProblem::NotInside { at }),
        None => Ok(()),
    }
}
