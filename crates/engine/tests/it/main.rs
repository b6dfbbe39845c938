//! The engine from outside: real ffmpeg, on fixtures it makes itself.

#![allow(clippy::unwrap_used, reason = "all of this is tests, and one that cannot go on shall fail")]

mod clips;
mod confinement;
mod demo;
mod encode;
mod encode_audio;
mod find;
mod fixture;
mod fragments;
mod hostile;
mod images;
mod loudness;
mod mix;
mod remux;
mod sprite_sheets;
mod thumbnails;
