//! The media engine: ffmpeg as a confined child process, and its few operations.
//!
//! Uploaded content is decoded only here. The process has no network, no privileges, and only the files of
//! its job; its memory and time are limited, and it is ended with its whole group. Callers use an operation
//! ([`Engine::thumbnail`], [`Engine::encode_video`], [`Engine::probe_decode`], ...); no caller writes a
//! command line or reads ffmpeg's output.
//!
//! Independent of media, store and routes. Its input and output are bytes.
//!
//! Start reading at [`Engine`]; `run.rs` is common to every operation, `confine/` is the confinement.

mod admission;
mod audio_level;
mod capabilities;
mod child;
mod clip;
mod confine;
mod decode;
mod demo;
mod encode;
mod encode_audio;
mod engine;
mod error;
mod image;
mod input;
mod job;
mod loudness;
mod memory;
mod mix;
mod output_stream;
mod overlay;
mod priority;
mod remux;
mod rgb_frame;
mod run;
mod sprite_sheet;
mod stdio;
mod stopwatch;
mod thumbnail;
mod version;

pub use admission::Load;
pub use audio_level::{AudioLevel, LIMITER_LEAD_SAMPLES};
pub use clip::{CLIP_DURATION_MAX, CLIP_FPS_MAX, CLIP_WIDTH_MAX, ClipFormat, ClipSpec, clip_size};
pub use confine::report::{Confinement, Protection};
pub use decode::{DECODE_INPUT_MAX, DecodeReport};
pub use demo::{DEMO_OUTPUT_MAX, DEMO_SECONDS_MAX};
pub use encode::{
    Colour, ENCODE_KEY_FRAMES_MAX, ENCODE_RUNGS_MAX, EncodeLimits, FRAME_STEP_MAX, ToneMap, VideoEncode,
    VideoRung,
};
pub use encode_audio::{
    AUDIO_BITRATE_BPS, AUDIO_FRAME_SAMPLES, AUDIO_SAMPLE_RATE, AudioEncode, AudioSpan, Downmix,
};
pub use engine::{Engine, Settings};
pub use error::EngineError;
pub use image::{
    IMAGE_FILE_BYTES_MAX, IMAGE_FILE_PIXELS_MAX, ImageFileFormat, PNG_HEAD_LEN, PngImage, png_size,
};
pub use input::{FRAME_PIXELS_MAX, FeedContainer};
pub use loudness::{LOUDNESS_WINDOW_BYTES, LOUDNESS_WINDOW_SAMPLES, LoudnessMeasure, MeasuredLoudness};
pub use mix::{MIX_PARTS_MAX, MIX_START_OFFSET_SAMPLES, Mix, MixPart};
pub use output_stream::OutputStream;
pub use overlay::{FrameOverlay, OverlayRectangle, StillOverlay, VideoOverlay};
pub use priority::Priority;
pub use remux::{Remux, RemuxInput, RemuxOutput, RemuxTracks};
pub use rgb_frame::{RGB_FRAME_SIDE_MAX, RgbFrame};
pub use sprite_sheet::{SHEET_PARTS_MAX, SpriteSheetPart, SpriteSheetSpec};
pub use thumbnail::{
    CropWindow, Fit, IMAGE_SIDE_MAX, ImageFormat, ImageSize, THUMBNAIL_INPUT_MAX, THUMBNAIL_OUTPUT_MAX,
    ThumbnailSpec,
};
pub use version::Version;
