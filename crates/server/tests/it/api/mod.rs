//! The JSON API and what players read, over real HTTP.

mod added_sound;
mod auth;
mod clients;
mod compression;
mod conditions;
mod create;
mod delete;
mod document;
mod empty_lists;
mod limited;
mod list;
mod mounts;
pub(crate) mod mp4_support;
mod oembed;
mod once;
mod operate;
pub(crate) mod page;
mod permission;
mod picture;
mod playback;
mod playback_ids;
mod playlists;
mod proxies;
mod ranges;
mod rate_limits;
mod read;
mod refusals;
mod signing_keys;
mod source_access;
pub(crate) mod tracks;
mod unsupported;
mod update;
mod usage;

pub(crate) use playback::listed;
pub(crate) use playback_ids::Ids;
pub(crate) use tracks::Tracks;
