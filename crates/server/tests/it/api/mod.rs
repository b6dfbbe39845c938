//! The JSON API and what players read, over real HTTP.

mod auth;
mod clients;
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
mod ranges;
mod read;
mod refusals;
mod signing_keys;
pub(crate) mod tracks;
mod unsupported;
mod update;
