//! Video encoded while it is fed: one decode, several sizes, frames and their times untouched.

use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;

use crate::encoding::Encoding;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::FeedContainer;
use crate::job::{Files, Job, Limits};
use crate::priority::Priority;
use crate::run::Pace;

mod arguments;
mod blank;
mod filters;

/// Sizes one run may make.
pub const ENCODE_RUNGS_MAX: usize = 6;

/// Forced keyframes one run may have: over half an hour of segments of 4 s, on a command line of some
/// kilobytes.
pub const ENCODE_KEY_FRAMES_MAX: usize = 512;

/// Frames of which one is kept, at most: of 4000 a second some 60 are left.
pub const FRAME_STEP_MAX: u32 = 64;

/// Largest side of an encoded picture in pixels.
const SIDE_MAX: u32 = 8192;

/// Threads an encoder and a decoder may have: more do not help at the sizes here and take memory.
const THREADS_MAX: u8 = 16;

/// One encoded rung of a run: H.264 High, 8 bit, 4:2:0, of the preset `veryfast`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoRung {
    /// Pixels, even, after rotation. The picture is scaled to exactly this size, and its pixels are called
    /// square.
    pub width: u32,
    /// Pixels, even, after rotation.
    pub height: u32,
    /// Constant rate factor of x264, 0 to 51; 23 is usual.
    pub crf: u8,
    /// Bits a second that the buffer fills with.
    pub maxrate_bps: u64,
    /// Size of the buffer.
    pub bufsize_bits: u64,
    /// H.264 level as it is written into the stream, such as `3.1`.
    pub level: &'static str,
    /// Most B-frames in a row, 0 to 16.
    pub bframes: u8,
    /// Description of colours of every picture. Pictures with another description are converted to its
    /// matrix; pictures without one are taken to have it. `None`: the description of the first picture, and
    /// nothing is converted.
    pub colour: Option<Colour>,
}

/// Code points of ISO/IEC 23091-2. The range is always that of studio video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Colour {
    /// Colour primaries, table 2; 2 is unspecified.
    pub primaries: u8,
    /// Transfer characteristics, table 3; 2 is unspecified.
    pub transfer: u8,
    /// Matrix coefficients, table 4; 2 is unspecified, and taken for BT.601.
    pub matrix: u8,
}

/// Which high dynamic range the source has, to be turned into BT.709.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToneMap {
    /// SMPTE ST 2084, as in HDR10.
    Pq,
    /// ARIB STD-B67.
    Hlg,
}

/// What one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeLimits {
    /// Longest time without a byte going in or out while it was the run's turn: while it had something to
    /// read, somebody took what it wrote, and it was not stopped for a more urgent run.
    pub deadline: Duration,
    /// Processor time of the whole run, over all threads. Counted in whole seconds, rounded up.
    pub cpu: Duration,
    /// Private memory. The run waits until so much is free.
    pub memory_bytes: u64,
    /// Bytes of output.
    pub output_max: u64,
}

/// One run of the video encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoEncode {
    /// What the feed is wrapped in. Only its first video track is read.
    pub container: FeedContainer,
    /// 1 to [`ENCODE_RUNGS_MAX`], each a track of the output, in this order.
    pub rungs: Vec<VideoRung>,
    /// Makes one frame of each two fields, and leaves frames alone that the decoder says are whole. For
    /// sources that may be interlaced.
    pub deinterlace: bool,
    /// Needs [`Engine::can_tone_map`].
    pub tone_map: Option<ToneMap>,
    /// Of so many frames one is kept, 1 to [`FRAME_STEP_MAX`]: the first at or after the begin of `keep_us`,
    /// the one a step later, and so on, and from each of `key_frames_us` on anew. So what a segment holds
    /// does not depend on where the run began.
    pub frame_step: u32,
    /// Times on the feed's timeline in microseconds, ascending, [`ENCODE_KEY_FRAMES_MAX`] at most: the first
    /// frame at or after each is an IDR picture in every rung. The first frame of all always is one. Times
    /// are rounded on their way, so pass the wanted frame's time less half a frame.
    pub key_frames_us: Vec<u64>,
    /// Frames that begin in this range of the feed's timeline are encoded; the others are decoded only, for
    /// those that refer to them. Both ends are rounded like `key_frames_us`. The run ends at the first frame
    /// past the range.
    pub keep_us: Range<u64>,
    /// Shows black in place of each picture.
    pub is_black: bool,
    /// Takes of damaged pictures what a decoder makes of them, however many there are. Slower to give up, and
    /// what comes may look broken.
    pub is_tolerant: bool,
    /// Threads of the decoder and of each encoder, 1 to 16. The same number gives the same bytes.
    pub threads: u8,
    /// Who waits for it.
    pub priority: Priority,
    /// What it may use.
    pub limits: EncodeLimits,
}

impl Engine {
    /// Decodes the video of `input` once and encodes it as `spec` says, while it comes.
    ///
    /// The feed is read when the run has room for it: a caller that wants to pause it lets `input` wait, at
    /// no cost but memory. Its timeline begins at a second or later, so that decoding times do not fall below
    /// zero. The display matrix of the feed is applied: the sizes of the rungs are those of the turned
    /// picture.
    ///
    /// The output is one fragmented MP4: an initial `moov`, then `moof` and `mdat` once a keyframe is
    /// followed by the next, with the frames of all rungs so far. Track `n + 1` is rung `n`, at 90 000 ticks
    /// a second. There is no edit list: `tfdt` plus composition offset is the time of the frame in the feed,
    /// exact where that is a whole number of ticks. Durations mean nothing. What comes out is a frame for
    /// each one that was decoded; a decoder drops or conceals what is broken, so count them.
    ///
    /// Errors, as the last item: [`Busy`](EngineError::Busy), [`Impossible`](EngineError::Impossible),
    /// [`MissingEncoder`](EngineError::MissingEncoder) without libx264,
    /// [`MissingFilter`](EngineError::MissingFilter), [`Input`](EngineError::Input) with the error of
    /// `input`, and those of every run.
    pub fn encode_video(
        &self,
        spec: VideoEncode,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Encoding {
        match self.video_job(&spec) {
            Ok(job) => self.runner().start(job, input, Pace::Progress),
            Err(error) => Encoding::refused(error),
        }
    }

    /// Whether this build of ffmpeg can turn a high dynamic range into BT.709.
    pub fn can_tone_map(&self) -> bool {
        filters::TONE_MAPPING.iter().all(|filter| self.require_filter(filter).is_ok())
    }

    fn video_job(&self, spec: &VideoEncode) -> Result<Job, EngineError> {
        spec.check()?;
        self.require_encoder("libx264")?;
        for filter in spec.filters() {
            self.require_filter(filter)?;
        }
        let arguments = arguments::of(spec);
        let limits = spec.limits.of_job();
        let (input, files) = (Bytes::new(), Files::default());
        Ok(Job {
            kind: "encode_video",
            arguments,
            input,
            files,
            limits,
            priority: spec.priority,
            is_try: false,
        })
    }
}

impl EncodeLimits {
    pub(crate) fn of_job(self) -> Limits {
        let Self { deadline, cpu, memory_bytes, output_max } = self;
        Limits { deadline, cpu, memory_bytes, output_max, file_max: 0 }
    }
}

impl VideoEncode {
    /// The filters it needs that a build may lack.
    fn filters(&self) -> impl Iterator<Item = &'static str> {
        let deinterlace = self.deinterlace.then_some(filters::DEINTERLACING);
        let tone_map = self.tone_map.map(|_| filters::TONE_MAPPING);
        let black = self.is_black.then_some(filters::BLACKENING);
        deinterlace.into_iter().chain(black).chain(tone_map.into_iter().flatten())
    }

    fn check(&self) -> Result<(), EngineError> {
        let side = |side: u32| (2..=SIDE_MAX).contains(&side) && side.is_multiple_of(2);
        let wrong = if !(1..=ENCODE_RUNGS_MAX).contains(&self.rungs.len()) {
            "the number of rungs"
        } else if !self.rungs.iter().all(|rung| side(rung.width) && side(rung.height)) {
            "the size of a rung"
        } else if self.rungs.iter().any(|rung| rung.colour.is_some_and(|colour| !colour.is_known())) {
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
        } else {
            return Ok(());
        };
        Err(EngineError::Impossible(wrong))
    }
}

#[cfg(test)]
mod tests;
