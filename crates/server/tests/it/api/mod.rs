//! The JSON API and what players read, over real HTTP.

mod auth;
mod clients;
mod conditions;
mod create;
mod delete;
mod document;
mod empty_lists;
mod limited;
mod list;
mod once;
mod operate;
mod page;
mod picture;
mod playback;
mod playback_ids;
mod playlists;
mod ranges;
mod read;
mod refusals;
mod signing_keys;
mod unsupported;
mod update;
