//! Whole media, from the bytes of a source to decoded frames, checked by independent readers: ffmpeg,
//! ffprobe, m3u8-rs, Chromium, and a box parser that shares no code with the packager.
//!
//! Begin with [`fixtures`]: the expected output of each file.

mod added_audio;
mod audio;
mod audio_edit;
pub(crate) mod blur_hash;
pub(crate) mod boxes;
pub(crate) mod browser;
mod clip_subtitles;
mod clips;
mod containers;
mod copy_or_encode;
mod damaged;
mod edge_cases;
mod edit_lists;
mod every_field;
mod files;
mod fixtures;
mod images;
pub(crate) mod loudness;
mod playlist;
pub(crate) mod probe;
mod rungs;
mod segment_parts;
mod several_audio;
mod stream;
mod subtitles;
mod timeline_edits;
mod watermark;
