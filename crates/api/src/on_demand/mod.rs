//! `/on-demand`: media made from addresses and from direct uploads.

mod access_restrictions;
mod audio_input;
mod clips;
mod create;
mod create_request;
mod delete;
mod doc;
mod drm;
mod filter;
mod input_info;
mod list;
mod media_settings_request;
mod mp4_support;
mod playback_ids;
mod playlists;
mod read;
mod source_access;
mod tracks;
mod update;
mod update_request;
mod upload;

pub(super) use clips::{live_clips, media_clips};
pub(super) use create::create;
pub(super) use delete::delete;
pub(super) use doc::operations;
pub(super) use drm::{drm_configuration, drm_configurations};
pub(super) use input_info::input_info;
pub(super) use list::list;
pub(super) use mp4_support::mp4_support;
pub(super) use playback_ids::routes as playback_id_routes;
pub(super) use playlists::routes as playlist_routes;
pub(super) use read::read;
pub(super) use source_access::source_access;
pub(super) use tracks::routes as track_routes;
pub(super) use update::update;
pub(super) use upload::{announce_deprecated, is_deprecated, routes as upload_routes};
