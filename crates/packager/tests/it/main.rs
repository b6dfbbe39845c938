//! The packager on real files: a folder of objects, an index that was read from the bytes, and the ffmpeg of
//! this machine.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod audio;
mod away;
mod clips;
mod colours;
mod damaged;
mod encoded;
mod errors;
mod joined;
mod kept;
mod lasting;
mod pictures;
mod segments;
mod sheets;
mod start;
mod world;
