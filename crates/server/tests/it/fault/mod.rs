//! Bad days: a process that dies at any write, writes that fail, two workers on one job, sources that lie.
//!
//! Begin with [`life`]: what a client does with a media from its first request to its last, whatever happens
//! meanwhile.

mod attempts;
mod audio_life;
mod binary;
mod blur_life;
mod changed_life;
mod clock;
mod crash;
mod deleted_meanwhile;
mod disk_full;
pub(crate) mod drain;
mod each_write;
mod encoded_life;
mod encodes;
mod engine_away;
pub(crate) mod events;
mod failing;
mod fair;
mod fetching;
mod fills;
mod hostile;
mod kill;
mod life;
mod not_media;
mod once_life;
mod pictures;
mod playlist_life;
mod sound_edit_life;
pub(crate) mod stop;
mod tracks_life;
mod twice;
mod upload_life;
mod watched;

pub(crate) use clock::TestClock;
