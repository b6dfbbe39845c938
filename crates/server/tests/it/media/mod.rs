//! Whole media, from the bytes of a source to the frames of a player, judged by readers that are not ours:
//! ffmpeg, ffprobe, m3u8-rs, Chromium, and a walker of boxes that shares no code with the packager.
//!
//! Begin with [`fixtures`]: what must come out of each file.

mod added_sound;
pub(crate) mod blur_hash;
pub(crate) mod boxes;
pub(crate) mod browser;
mod bytes;
mod damaged;
mod edits;
mod files;
mod first;
mod fixtures;
mod foreign;
mod odd;
mod other_sound;
mod pictures;
mod playlist;
pub(crate) mod probe;
mod rungs;
mod several_audio;
mod sound;
mod stream;
mod subtitles;
