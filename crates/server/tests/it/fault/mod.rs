//! Faults: a process that crashes at any write, writes that fail, two workers on one job, sources that lie.
//!
//! Begin with [`crash_scenario`]: the requests of a client from the creation of a media to its deletion,
//! with any fault in between.

mod added_audio_crash;
mod attempts;
mod audio_edit_crash;
mod backfill;
mod binary;
mod blur_hash_crash;
mod clip_crash;
mod clock;
mod crash;
mod crash_scenario;
mod deleted_meanwhile;
mod disk_full;
pub(crate) mod drain;
mod duplicate_jobs;
mod each_write;
mod encode_crash;
mod encodes;
pub(crate) mod events;
mod fairness;
mod fetching;
mod ffmpeg_missing;
mod hostile;
mod idempotency_crash;
mod images;
mod kill;
mod loudness_crash;
mod not_media;
mod playlist_crash;
pub(crate) mod stop;
mod tracks_crash;
mod update_crash;
mod upload_crash;
mod watched;
mod watermark_crash;
mod write_failure;

pub(crate) use clock::TestClock;
