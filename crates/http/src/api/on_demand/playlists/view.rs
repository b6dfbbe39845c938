//! How a playlist looks in answers (contract 2.9).

use kinora_domain::{DayRange, Media, MediaDuration, MediaState, Playlist, PlaylistContent, SmartRules};
use kinora_store::ListedPlaylist;
use serde::Serialize;

use crate::api::view::thumbnail;
use crate::app::Addresses;

/// A playlist with its media.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlaylistView {
    id: String,
    name: String,
    reference_id: String,
    r#type: &'static str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    play_order: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RulesView>,
    media_list: Vec<ItemView>,
    workspace_id: String,
    created_at: String,
    updated_at: String,
    media_count: usize,
}

impl PlaylistView {
    /// `media` are those that are in it, in their order.
    pub(super) fn new(playlist: &Playlist, media: &[Media], addresses: &Addresses) -> Self {
        let rules = match &playlist.content {
            PlaylistContent::Manual(_) => None,
            PlaylistContent::Smart(rules) => Some(rules),
        };
        Self {
            id: playlist.id.to_string(),
            name: playlist.name.clone(),
            reference_id: playlist.reference_id.clone(),
            r#type: playlist.content.kind(),
            description: playlist.description.clone(),
            play_order: rules.map(|rules| rules.order.as_str()),
            metadata: rules.map(RulesView::from),
            media_list: media.iter().map(|media| ItemView::new(media, addresses)).collect(),
            workspace_id: playlist.workspace.to_string(),
            created_at: playlist.created_at.to_string(),
            updated_at: playlist.updated_at.to_string(),
            media_count: media.len(),
        }
    }
}

/// Those dates that were given.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RulesView {
    #[serde(skip_serializing_if = "Option::is_none")]
    created_date: Option<DaysView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_date: Option<DaysView>,
}

impl From<&SmartRules> for RulesView {
    fn from(rules: &SmartRules) -> Self {
        let days = |range: DayRange| (!range.is_everything()).then(|| DaysView::from(range));
        Self { created_date: days(rules.created), updated_date: days(rules.updated) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DaysView {
    #[serde(skip_serializing_if = "Option::is_none")]
    start_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_date: Option<String>,
}

impl From<DayRange> for DaysView {
    fn from(range: DayRange) -> Self {
        Self {
            start_date: range.first.map(|day| day.to_string()),
            end_date: range.last.map(|day| day.to_string()),
        }
    }
}

/// A media as a playlist shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemView {
    id: String,
    title: Option<String>,
    creator_id: Option<String>,
    duration: String,
    status: &'static str,
    source_resolution: Option<&'static str>,
    thumbnail: Option<String>,
    created_at: String,
}

impl ItemView {
    fn new(media: &Media, addresses: &Addresses) -> Self {
        let facts = match &media.state {
            MediaState::Ready { facts, .. } => Some(facts),
            _ => None,
        };
        Self {
            id: media.id.to_string(),
            title: media.settings.title.clone(),
            creator_id: media.settings.creator_id.clone(),
            duration: facts.map_or(MediaDuration::UNKNOWN, |facts| facts.duration).to_string(),
            status: media.state.name(),
            source_resolution: facts.and_then(|facts| facts.source_resolution).map(|name| name.as_str()),
            thumbnail: thumbnail(media, addresses),
            created_at: media.created_at.to_string(),
        }
    }
}

/// A playlist in a list of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedPlaylistView {
    id: String,
    name: String,
    r#type: &'static str,
    reference_id: String,
    created_at: String,
    media_count: u64,
}

impl From<&ListedPlaylist> for ListedPlaylistView {
    fn from(listed: &ListedPlaylist) -> Self {
        let ListedPlaylist { playlist, media_count } = listed;
        Self {
            id: playlist.id.to_string(),
            name: playlist.name.clone(),
            r#type: playlist.content.kind(),
            reference_id: playlist.reference_id.clone(),
            created_at: playlist.created_at.to_string(),
            media_count: *media_count,
        }
    }
}
