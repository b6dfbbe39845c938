//! Bytes and text of media formats, as pure functions.
//!
//! Knows no workspace, does no I/O, reads no clock, draws no randomness. Bytes come in, plain data goes out.
//!
//! Begin with [`index`]: the sample index is what everything else is made from.
//! Reading builds one ([`sniff`], [`Scanner`]); packaging ([`plan`], [`mp4::write`], [`hls`]) is a pure function of it.
//! What an encoder is given, and what becomes of its answer, is in [`encode`].

mod checkpoint;
pub mod codec;
pub mod encode;
mod filler;
pub mod foreign;
pub mod hls;
pub mod index;
pub mod matroska;
pub mod mp4;
pub mod plan;
mod presentation;
mod scan;
mod silence;
pub mod sniff;
pub mod subtitles;
pub mod timing;

pub use checkpoint::CheckpointError;
pub use filler::{BLACK_CODEC, FILLER_FRAME_END_MAX, FILLER_FRAMES_MAX, Filler};
pub use mp4::walk::{Aside, PushError};
pub use scan::{Scanned, Scanner};
