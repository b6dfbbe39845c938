//! The JSON views of a playlist (C-172).

use kinora_domain::{DayRange, Media, MediaDuration, MediaState, Playlist, PlaylistContent, SmartRules};
use kinora_store::ListedPlaylist;
use kinora_web::base_urls::BaseUrls;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::view::thumbnail_url;

/// A playlist with its media.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Playlist")]
pub(super) struct PlaylistView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Text")]
    name: String,
    #[schemars(with = "schema::Text")]
    reference_id: String,
    #[schemars(with = "schema::PlaylistKind")]
    r#type: &'static str,
    #[schemars(with = "schema::Text")]
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::PlaylistOrder>")]
    play_order: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RulesView>,
    media_list: Vec<ItemView>,
    #[schemars(with = "schema::Id")]
    workspace_id: String,
    #[schemars(with = "schema::Instant")]
    created_at: String,
    #[schemars(with = "schema::Instant")]
    updated_at: String,
    media_count: usize,
}

impl PlaylistView {
    /// `media` are the media of the playlist, in its order.
    pub(super) fn new(playlist: &Playlist, media: &[Media], base_urls: &BaseUrls) -> Self {
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
            media_list: media.iter().map(|media| ItemView::new(media, base_urls)).collect(),
            workspace_id: playlist.workspace.to_string(),
            created_at: playlist.created_at.to_string(),
            updated_at: playlist.updated_at.to_string(),
            media_count: media.len(),
        }
    }
}

/// The date rules of a smart playlist.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlaylistRules")]
struct RulesView {
    #[serde(skip_serializing_if = "Option::is_none")]
    created_date: Option<DaysView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_date: Option<DaysView>,
}

impl From<&SmartRules> for RulesView {
    fn from(rules: &SmartRules) -> Self {
        let days = |range: DayRange| (!range.is_unbounded()).then(|| DaysView::from(range));
        Self { created_date: days(rules.created), updated_date: days(rules.updated) }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DayRange")]
struct DaysView {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::CalendarDay>")]
    start_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::CalendarDay>")]
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

/// A media in a playlist.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PlaylistMedia")]
struct ItemView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "Option<schema::Text>")]
    title: Option<String>,
    #[schemars(with = "Option<schema::Text>")]
    creator_id: Option<String>,
    #[schemars(with = "schema::Duration")]
    duration: String,
    #[schemars(with = "schema::MediaStatus")]
    status: &'static str,
    #[schemars(with = "Option<schema::Size>")]
    source_resolution: Option<&'static str>,
    #[schemars(with = "Option<schema::Address>")]
    thumbnail: Option<String>,
    #[schemars(with = "schema::Instant")]
    created_at: String,
}

impl ItemView {
    fn new(media: &Media, base_urls: &BaseUrls) -> Self {
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
            thumbnail: thumbnail_url(media, base_urls),
            created_at: media.created_at.to_string(),
        }
    }
}

/// A playlist in a list of playlists.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedPlaylist")]
pub(super) struct ListedPlaylistView {
    #[schemars(with = "schema::Id")]
    id: String,
    #[schemars(with = "schema::Text")]
    name: String,
    #[schemars(with = "schema::PlaylistKind")]
    r#type: &'static str,
    #[schemars(with = "schema::Text")]
    reference_id: String,
    #[schemars(with = "schema::Instant")]
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
