//! Private media: who may watch, at every URL below a playback ID, over real HTTP.
//!
//! Begin with [`matrix`].

mod browser;
mod command;
mod creation;
mod embedding;
mod encrypted;
mod keys;
mod matrix;
mod resolution_cap;
pub(crate) mod revocation;
mod rules;
mod shared_cache;
pub(crate) mod signer;
pub(crate) mod watched;
