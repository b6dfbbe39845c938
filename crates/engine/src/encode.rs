//! Video encoded while it is fed: one decode, several sizes, frames and their times unchanged.

use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::FeedContainer;
use crate::job::{Files, Job, Limits};
use crate::output_stream::OutputStream;
use crate::overlay::{self, VideoOverlay};
use crate::priority::Priority;
use crate::run::TimeoutKind;

mod arguments;
mod filters;
mod parameter_sets;

/// Rungs of one run at most.
pub const ENCODE_RUNGS_MAX: usize = 6;

/// Forced keyframes of one run at most: over half an hour of segments of 4 s, on a command line of some
/// kilobytes.
pub const ENCODE_KEY_FRAMES_MAX: usize = 512;

/// Largest frame step: of 4000 frames a second some 60 remain.
pub const FRAME_STEP_MAX: u32 = 64;

/// Largest side of an encoded frame in pixels.
const SIDE_MAX: u32 = 8192;

/// Threads an encoder and a decoder may have: more do not help at the sizes here and take memory.
const THREADS_MAX: u8 = 16;

/// One encoded rung of a run: H.264 High, 8 bit, 4:2:0, of the preset `veryfast`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoRung {
    /// Pixels, even, after rotation. Frames are scaled to exactly this size, with square pixels; with
    /// `image`, to that size.
    pub width: u32,
    /// Pixels, even, after rotation.
    pub height: u32,
    /// Constant rate factor of x264, 0 to 51; 23 is usual.
    pub crf: u8,
    /// Rate in bits a second at which the decoder's buffer fills.
    pub maxrate_bps: u64,
    /// Size of the decoder's buffer in bits.
    pub bufsize_bits: u64,
    /// H.264 level as in the stream, such as `3.1`.
    pub level: &'static str,
    /// Most B-frames in a row, 0 to 16.
    pub bframes: u8,
    /// The size to which frames are scaled, both sides even, with black bars around it. `None`: the whole
    /// frame.
    pub image: Option<(u32, u32)>,
    /// Colour description of every frame. Frames with another description are converted to its matrix;
    /// frames without one are assumed to have it. `None`: the description of the first frame, without
    /// conversion.
    pub colour: Option<Colour>,
}

/// Code points of ISO/IEC 23091-2. The range is always limited (studio).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour {
    /// Colour primaries, table 2; 2 is unspecified.
    pub primaries: u8,
    /// Transfer characteristics, table 3; 2 is unspecified.
    pub transfer: u8,
    /// Matrix coefficients, table 4; 2 is unspecified, and treated as BT.601.
    pub matrix: u8,
}

/// Transfer of a high dynamic range source that is tone mapped to BT.709.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToneMap {
    /// SMPTE ST 2084, as in HDR10.
    Pq,
    /// ARIB STD-B67.
    Hlg,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeLimits {
    /// Longest time without a byte of input or output. It counts only while the run has input, its output is
    /// taken, and it is not paused for a higher priority.
    pub deadline: Duration,
    /// Processor time of the whole run, over all threads. Rounded up to whole seconds.
    pub cpu: Duration,
    /// Private memory. The run waits until this much is free.
    pub memory_bytes: u64,
    /// Bytes of output.
    pub output_max: u64,
}

/// One run of the video encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoEncode {
    /// Container of the feed. Only its first video track is read.
    pub container: FeedContainer,
    /// 1 to [`ENCODE_RUNGS_MAX`], each a track of the output, in this order.
    pub rungs: Vec<VideoRung>,
    /// Makes one frame of each two fields, and leaves progressive frames unchanged. For sources that may be
    /// interlaced.
    pub deinterlace: bool,
    /// Needs [`Engine::can_tone_map`].
    pub tone_map: Option<ToneMap>,
    /// Encodes one of this many frames, 1 to [`FRAME_STEP_MAX`]. Counting starts at the first frame at or
    /// after the start of `keep_us`, and again at each of `key_frames_us`. So a segment does not depend on
    /// the start of its run.
    pub frame_step: u32,
    /// Times on the feed's timeline in microseconds, ascending, [`ENCODE_KEY_FRAMES_MAX`] at most. The first
    /// frame at or after each is an IDR frame in every rung. The first frame of all always is one. Times are
    /// rounded on their way, so pass the wanted frame's time minus half a frame.
    pub key_frames_us: Vec<u64>,
    /// Range of the feed's timeline whose frames are encoded, by their start. Others are decoded only, as
    /// references. Both ends are rounded like `key_frames_us`. The run ends at the first frame past the
    /// range.
    pub keep_us: Range<u64>,
    /// Replaces each frame by black.
    pub is_black: bool,
    /// An image over every frame, black ones included. It is drawn at the size of the rung, over its bars.
    pub overlay: Option<VideoOverlay>,
    /// Shows all damaged frames as decoded, however many there are. It gives up later, and the output may
    /// look broken.
    pub tolerates_damage: bool,
    /// Threads of the decoder and of each encoder, 1 to 16. The same number gives the same bytes.
    pub threads: u8,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

impl Engine {
    /// Decodes the video of `input` once and encodes it as `spec` states, while it streams.
    ///
    /// The run reads the feed at its own pace. A caller pauses it with a pending `input`, at the cost of
    /// memory only. The timeline begins at a second or later, so that decoding times do not fall below zero.
    /// The display matrix of the feed is applied: the sizes of the rungs are those of the rotated frame.
    ///
    /// The output is one fragmented MP4: an initial `moov`, then a `moof` and `mdat` when the next keyframe
    /// is encoded, with the frames of all rungs so far. Track `n + 1` is rung `n`, at 90 000 ticks a second.
    /// There is no edit list: `tfdt` plus composition offset is the time of the frame in the feed, exact if
    /// that is a whole number of ticks. Durations are undefined. The output has one frame for each decoded
    /// one; a decoder drops or conceals broken ones, so count them.
    ///
    /// Errors, as the last item: [`Busy`](EngineError::Busy), [`InvalidSpec`](EngineError::InvalidSpec),
    /// [`MissingEncoder`](EngineError::MissingEncoder) without libx264,
    /// [`MissingFilter`](EngineError::MissingFilter), [`Input`](EngineError::Input) with the error of
    /// `input`, and those of every run.
    pub fn encode_video(
        &self,
        spec: VideoEncode,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> OutputStream {
        match self.video_job(&spec) {
            Ok(job) => self.runner().start(job, input, TimeoutKind::Idle),
            Err(error) => OutputStream::failed(error),
        }
    }

    /// Whether this build of ffmpeg can tone map a high dynamic range to BT.709.
    pub fn can_tone_map(&self) -> bool {
        filters::TONE_MAPPING.iter().all(|filter| self.require_filter(filter).is_ok())
    }

    fn video_job(&self, spec: &VideoEncode) -> Result<Job, EngineError> {
        spec.check()?;
        self.require_encoder("libx264")?;
        for filter in spec.filters() {
            self.require_filter(filter)?;
        }
        if spec.overlay.is_some() {
            self.require_overlay()?;
        }
        let arguments = arguments::command_line(spec);
        let limits = spec.limits.to_job_limits();
        let read = spec.overlay.iter().map(|overlay| overlay.file.clone()).collect();
        let (input, files) = (Bytes::new(), Files { read, write: None });
        Ok(Job {
            kind: "encode_video",
            arguments,
            input,
            files,
            limits,
            priority: spec.priority,
            is_probe: false,
        })
    }
}

impl VideoRung {
    /// The size to which frames are scaled.
    fn image_size(&self) -> (u32, u32) {
        self.image.unwrap_or((self.width, self.height))
    }
}

impl EncodeLimits {
    pub(crate) fn to_job_limits(self) -> Limits {
        let Self { deadline, cpu, memory_bytes, output_max } = self;
        Limits { deadline, cpu, memory_bytes, output_max, file_max: 0 }
    }
}

impl VideoEncode {
    /// The needed filters that a build may lack.
    fn filters(&self) -> impl Iterator<Item = &'static str> {
        let deinterlace = self.deinterlace.then_some(filters::DEINTERLACING);
        let tone_map = self.tone_map.map(|_| filters::TONE_MAPPING);
        let black = self.is_black.then_some(filters::BLACKENING);
        deinterlace.into_iter().chain(black).chain(tone_map.into_iter().flatten())
    }

    fn check(&self) -> Result<(), EngineError> {
        let is_valid_side = |side: u32| (2..=SIDE_MAX).contains(&side) && side.is_multiple_of(2);
        let wrong = if !(1..=ENCODE_RUNGS_MAX).contains(&self.rungs.len()) {
            "the number of rungs"
        } else if !self.rungs.iter().all(|rung| is_valid_side(rung.width) && is_valid_side(rung.height)) {
            "the size of a rung"
        } else if self.rungs.iter().any(|rung| {
            let (width, height) = rung.image_size();
            !is_valid_side(width) || !is_valid_side(height) || rung.width < width || rung.height < height
        }) {
            "the size of the image in a rung"
        } else if self.rungs.iter().any(|rung| rung.colour.is_some_and(|colour| !colour.is_supported())) {
            "the colour of a rung"
        } else if !self.rungs.iter().all(|rung| rung.crf <= 51 && rung.bframes <= 16) {
            "the quality or the B-frames of a rung"
        } else if !self.rungs.iter().all(|rung| 0 < rung.maxrate_bps && 0 < rung.bufsize_bits) {
            "the rate of a rung"
        } else if ENCODE_KEY_FRAMES_MAX < self.key_frames_us.len() || !self.key_frames_us.is_sorted() {
            "the keyframes"
        } else if self.keep_us.is_empty() {
            "the range to keep"
        } else if !(1..=FRAME_STEP_MAX).contains(&self.frame_step) {
            "the step between frames"
        } else if !(1..=THREADS_MAX).contains(&self.threads) {
            "the number of threads"
        } else if self.overlay.as_ref().is_some_and(|overlay| overlay.rectangles.len() != self.rungs.len()) {
            "the number of places of an image"
        } else {
            return match &self.overlay {
                Some(VideoOverlay { file, rectangles }) => overlay::check(file, rectangles),
                None => Ok(()),
            };
        };
        Err(EngineError::InvalidSpec(wrong))
    }
}

#[cfg(test)]
mod tests;
