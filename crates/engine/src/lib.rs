//! The media engine: ffmpeg as a confined child process, and the few things we ask of it.
//!
//! What comes from outside is decoded only here, in a process without network, without files but the ones of
//! its job, without privileges, with limits on memory and time, and ended with its whole group. Callers name
//! an operation ([`Engine::picture`], [`Engine::encode_video`], [`Engine::probe_decode`], ...); no caller
//! writes a command line or sees what ffmpeg prints.
//!
//! Knows no media, no store, no route. It takes bytes and gives bytes.
//!
//! Begin with [`Engine`]; `run.rs` is what every operation has in common, `confine/` is the cage.

mod admission;
mod capabilities;
mod child;
mod clip;
mod confine;
mod decode;
mod demo;
mod encode;
mod encode_audio;
mod encoding;
mod engine;
mod error;
mod input;
mod job;
mod memory;
mod mix;
mod picture;
mod priority;
mod remux;
mod run;
mod sheet;
mod small;
mod stdio;
mod stopwatch;
mod version;

pub use admission::Load;
pub use clip::{CLIP_DURATION_MAX, CLIP_FPS_MAX, CLIP_WIDTH_MAX, ClipFormat, ClipSpec};
pub use confine::report::{Confinement, Guard};
pub use decode::{DECODE_INPUT_MAX, DecodeReport};
pub use demo::{DEMO_OUTPUT_MAX, DEMO_SECONDS_MAX};
pub use encode::{
    Colour, ENCODE_KEY_FRAMES_MAX, ENCODE_RUNGS_MAX, EncodeLimits, FRAME_STEP_MAX, ToneMap, VideoEncode,
    VideoRung,
};
pub use encode_audio::{
    AUDIO_BITRATE_BPS, AUDIO_FRAME_SAMPLES, AUDIO_SAMPLE_RATE, AudioEncode, AudioSpan, Downmix,
};
pub use encoding::Encoding;
pub use engine::{Engine, Settings};
pub use error::EngineError;
pub use input::{FRAME_PIXELS_MAX, FeedContainer};
pub use mix::{MIX_PARTS_MAX, MIX_START, Mix, MixPart};
pub use picture::{
    CropWindow, Fit, PICTURE_INPUT_MAX, PICTURE_OUTPUT_MAX, PICTURE_SIDE_MAX, PictureFormat, PictureSize,
    PictureSpec,
};
pub use priority::Priority;
pub use remux::{Remux, RemuxInput, RemuxOutput, RemuxTracks};
pub use sheet::SheetSpec;
pub use small::{SMALL_SIDE_MAX, SmallPicture};
pub use version::Version;
