//! One run of the program: what it is told, what it may touch, how much it may use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

/// One run. Made by the operations of this crate only: every argument is a constant, a number we formatted,
/// or a path we chose. Nothing a client sent is ever an argument.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Name of the operation, for the log.
    pub kind: &'static str,
    pub arguments: Vec<OsString>,
    /// Written to standard input, which is closed after it.
    pub input: Bytes,
    pub files: Files,
    pub limits: Limits,
    pub priority: Priority,
}

/// The files one run may touch beside the program's own libraries. Both must exist when the run starts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    pub read: Option<PathBuf>,
    pub write: Option<PathBuf>,
}

/// What one run may use. Passing any of them ends the run, not the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Wall time from the start of the process.
    pub deadline: Duration,
    /// Processor time of all its threads together.
    pub cpu: Duration,
    /// Private memory. Admission counts with it, too.
    pub memory_bytes: u64,
    /// Bytes on standard output.
    pub output_max: u64,
    /// Size of the file it may write; 0 where it writes none.
    pub file_max: u64,
}

/// Who waits for the result. The server itself always goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Somebody looks at a page.
    Viewer,
    /// Nobody waits.
    Background,
}

impl Priority {
    /// Niceness of the process; the server's own is 0.
    pub(crate) fn nice(self) -> i32 {
        match self {
            Self::Viewer => 5,
            Self::Background => 19,
        }
    }
}

/// What every run begins with: quiet, and never reading commands from standard input.
const QUIET: [&str; 4] = ["-hide_banner", "-nostdin", "-loglevel", "error"];

/// Decoders a run may open. ffmpeg has hundreds; most exist for files nobody should send us.
/// The second names of AV1 are those of its decoders in Debian's build.
const DECODERS: &str =
    "h264,hevc,vp8,vp9,av1,libdav1d,libaom-av1,mpeg2video,mpeg4,mjpeg,prores,aac,opus,libopus,mp3";

/// Frames with more pixels are refused by the decoders: 8192x4320, the largest size of HEVC level 6.2's format list.
/// Together with the number of reference frames a level allows, this keeps a decoder under the memory limits here.
const FRAME_PIXELS_MAX: u32 = 8192 * 4320;

/// The command line so far for reading one MP4 from standard input.
///
/// The demuxer is forced and the only one allowed, so a playlist or a script is never taken for one; the only protocol
/// allowed is the pipe, so nothing inside the input can name a file or an address; data references to other files are
/// off (`-enable_drefs` exists for the mov demuxer alone). One thread: a picture needs one frame, and frame threads
/// would add latency and, with their stacks, on a machine of many cores more memory than a job has.
pub(crate) fn read_mp4_from_stdin() -> Vec<OsString> {
    let mut arguments = quiet();
    push(
        &mut arguments,
        ["-filter_threads", "1", "-threads", "1", "-max_pixels", &FRAME_PIXELS_MAX.to_string()],
    );
    push(
        &mut arguments,
        ["-protocol_whitelist", "pipe", "-format_whitelist", "mov", "-codec_whitelist", DECODERS],
    );
    push(&mut arguments, ["-enable_drefs", "0", "-f", "mov", "-i", "pipe:0"]);
    arguments
}

/// The command line so far for a run that reads nothing from outside.
pub(crate) fn quiet() -> Vec<OsString> {
    QUIET.iter().map(OsString::from).collect()
}

/// Appends arguments.
pub(crate) fn push<'a>(arguments: &mut Vec<OsString>, more: impl IntoIterator<Item = &'a str>) {
    arguments.extend(more.into_iter().map(OsString::from));
}
