//! The packager on real files: a folder of objects, an index parsed from the bytes, and the ffmpeg of this
//! machine.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod audio;
mod clipped;
mod clips;
mod colours;
mod damaged;
mod encoded;
mod errors;
mod image_storage;
mod joined;
mod levelled;
mod long_frames;
mod outages;
mod prepare_start;
mod segments;
mod sprite_sheets;
mod thumbnails;
mod watermarks;
mod world;
