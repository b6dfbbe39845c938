//! Private means private: who may watch, at every address below a playback ID, over real HTTP.
//!
//! Begin with [`matrix`].

mod browser;
mod cap;
mod command;
mod creation;
mod embed;
mod encrypted;
mod keys;
mod matrix;
pub(crate) mod revocation;
mod rules;
mod shared;
pub(crate) mod signer;
pub(crate) mod watched;
