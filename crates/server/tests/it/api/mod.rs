//! The JSON API and the playback URLs, over real HTTP.

mod access_change;
mod added_audio;
mod auth;
mod clients;
mod compression;
mod conditional_requests;
mod create;
mod delete;
mod document;
mod empty_lists;
mod errors;
mod health;
mod idempotency;
pub(crate) mod images;
mod list;
mod mounts;
pub(crate) mod mp4_support;
mod not_implemented;
mod oembed;
mod permission;
mod playback;
mod playback_ids;
pub(crate) mod player_page;
mod playlists;
mod proxies;
mod ranges;
mod rate_limits;
mod read;
mod signing_keys;
mod source_access;
pub(crate) mod tracks;
mod update;
mod usage;

pub(crate) use playback::listed;
pub(crate) use playback_ids::Ids;
pub(crate) use tracks::Tracks;
