//! The items of a manual playlist: each media once, in an order.

use std::collections::{HashMap, HashSet};

use super::{Playlist, PlaylistContent};
use crate::{MediaId, Timestamp};

/// A media in a manual playlist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaylistItem {
    /// The media.
    pub media: MediaId,
    /// Its position. Positions increase along the list, with gaps.
    pub position: i64,
}

/// The reason why a change of a playlist's media is rejected. `index` is one in the list of the request,
/// from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaylistRejected {
    /// The playlist is a smart one, whose content follows from its rules.
    #[error("must be a manual playlist; the media of a smart playlist follow from its date rules")]
    NotManual,
    /// The playlist would exceed its limit.
    #[error("would make {count} media, but this playlist has at most {limit}; remove others first")]
    Full {
        /// Number of media after the change.
        count: usize,
        /// The limit.
        limit: u32,
    },
    /// A media is not in the playlist.
    #[error("is not in this playlist; leave it out")]
    NotAMember {
        /// Its index in the list of the request.
        index: usize,
    },
    /// A new order must name all media.
    #[error("must name each media of this playlist; {missing} is missing")]
    Incomplete {
        /// The first media that is missing.
        missing: MediaId,
    },
}

impl Playlist {
    /// The media of a manual playlist, in their order; none for a smart one.
    pub fn items(&self) -> &[PlaylistItem] {
        match &self.content {
            PlaylistContent::Manual(items) => items,
            PlaylistContent::Smart(_) => &[],
        }
    }

    /// Appends media in this order. Media that are already in the list keep their position: a client that
    /// repeats a request after a lost response gets the same result (D-0072).
    pub fn append(mut self, media: &[MediaId], now: Timestamp) -> Result<Self, PlaylistRejected> {
        let limit = self.limit;
        let items = self.manual_items_mut()?;
        let mut present: HashSet<MediaId> = items.iter().map(|item| item.media).collect();
        let before = items.len();
        let next = items.last().map_or(0, |last| last.position.saturating_add(1));
        let new = media.iter().filter(|media| present.insert(**media));
        items.extend((next..).zip(new).map(|(position, media)| PlaylistItem { media: *media, position }));
        let count = items.len();
        if usize::try_from(limit).is_ok_and(|limit| limit < count) {
            return Err(PlaylistRejected::Full { count, limit });
        }
        Ok(if count == before { self } else { self.with_updated_at(now) })
    }

    /// Reorders the media. The order must name each of them once.
    pub fn reorder(mut self, order: &[MediaId], now: Timestamp) -> Result<Self, PlaylistRejected> {
        let items = self.manual_items_mut()?;
        check_members(items, order)?;
        let named: HashSet<MediaId> = order.iter().copied().collect();
        if let Some(missing) = items.iter().find(|item| !named.contains(&item.media)) {
            return Err(PlaylistRejected::Incomplete { missing: missing.media });
        }
        let ranks: HashMap<MediaId, usize> = order.iter().copied().zip(0..).collect();
        let positions: Vec<i64> = items.iter().map(|item| item.position).collect();
        let before = items.clone();
        items.sort_by_key(|item| ranks.get(&item.media).copied());
        // The positions are reused: a row whose position is unchanged need not be written.
        items.iter_mut().zip(positions).for_each(|(item, position)| item.position = position);
        Ok(if *items == before { self } else { self.with_updated_at(now) })
    }

    /// Removes media. All of them must be in the list.
    pub fn remove(mut self, media: &[MediaId], now: Timestamp) -> Result<Self, PlaylistRejected> {
        let items = self.manual_items_mut()?;
        check_members(items, media)?;
        let gone: HashSet<MediaId> = media.iter().copied().collect();
        items.retain(|item| !gone.contains(&item.media));
        Ok(if gone.is_empty() { self } else { self.with_updated_at(now) })
    }

    fn manual_items_mut(&mut self) -> Result<&mut Vec<PlaylistItem>, PlaylistRejected> {
        match &mut self.content {
            PlaylistContent::Manual(items) => Ok(items),
            PlaylistContent::Smart(_) => Err(PlaylistRejected::NotManual),
        }
    }

    fn with_updated_at(self, now: Timestamp) -> Self {
        Self { updated_at: now, ..self }
    }
}

fn check_members(items: &[PlaylistItem], media: &[MediaId]) -> Result<(), PlaylistRejected> {
    let inside: HashSet<MediaId> = items.iter().map(|item| item.media).collect();
    match media.iter().position(|media| !inside.contains(media)) {
        Some(index) => Err(PlaylistRejected::NotAMember { index }),
        None => Ok(()),
    }
}
