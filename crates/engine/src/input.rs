//! Input of a run: one stream of a fixed format on standard input, which can name no other input.

use std::ffi::OsString;

use crate::job::{push, quiet_arguments};

/// Container of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeedContainer {
    /// MP4 that can be read from front to back: `moov` first, or fragments.
    Mp4,
    /// Matroska or WebM.
    Matroska,
}

/// First bytes of every Matroska file. RFC 8794, 11.2.1.
const EBML_MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

impl FeedContainer {
    /// Detects the container of an input that was made for a run.
    pub(crate) fn of(input: &[u8]) -> Self {
        if input.starts_with(&EBML_MAGIC) { Self::Matroska } else { Self::Mp4 }
    }

    /// The name of its demuxer.
    pub(crate) fn demuxer(self) -> &'static str {
        match self {
            Self::Mp4 => "mov",
            Self::Matroska => "matroska",
        }
    }
}

/// Placeholder on a command line for the decoders that a run may open; [`Runner`](crate::run::Runner)
/// replaces it.
pub(crate) const DECODERS_PLACEHOLDER: &str = "DECODERS";

/// External decoders that a run may open in addition to those of ffmpeg itself: those of AV1, Opus, Vorbis
/// and JPEG 2000 in Debian's build. All others use hardware, or do the same as ffmpeg's own.
const EXTERNAL_DECODERS: [&str; 5] = ["libdav1d", "libaom-av1", "libopus", "libvorbis", "libopenjpeg"];

/// Suffixes of decoders that use hardware.
const HARDWARE_SUFFIXES: [&str; 11] = [
    "_rkmpp",
    "_nvmpi",
    "_oh",
    "_cuvid",
    "_qsv",
    "_v4l2m2m",
    "_mediacodec",
    "_mmal",
    "_crystalhd",
    "_amf",
    "_vaapi",
];

/// Decoders that no run may open, with the reason.
const DENIED_DECODERS: [(&str, &str); 10] = [
    ("wrapped_avframe", "takes a pointer of the process for its input"),
    ("ansi", "draws text, and nothing uploads it as a video"),
    ("bintext", "draws text"),
    ("xbin", "draws text"),
    ("idf", "draws text"),
    ("pictor", "an image, whose containers are not supported"),
    ("photocd", "an image of up to 300 megapixels"),
    ("g2m", "a session of a meeting, inflated without a bound"),
    ("comfortnoise", "generates audio without input"),
    ("wavesynth", "generates audio without input"),
];

/// The decoders that a run may open, from the list of `ffmpeg -decoders`, sorted, separated by commas: all
/// of video and audio that are ffmpeg's own and not experimental, without the denied ones.
pub(crate) fn allowed_decoders<'a>(listed: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let is_allowed = |(flags, name): &(&str, &str)| {
        let is_external = name.starts_with("lib") && !EXTERNAL_DECODERS.contains(name);
        let is_hardware = HARDWARE_SUFFIXES.iter().any(|end| name.ends_with(end));
        let is_denied = DENIED_DECODERS.iter().any(|(denied, _)| denied == name);
        let is_video_or_audio = flags.starts_with('V') || flags.starts_with('A');
        is_video_or_audio
            && flags.as_bytes().get(3) == Some(&b'.')
            && !(is_external || is_hardware || is_denied)
    };
    let mut names: Vec<_> = listed.filter(is_allowed).map(|(_, name)| name).collect();
    names.sort_unstable();
    names.join(",")
}

/// Pixel limit of a frame, above which decoders reject it: 8192x4320, the largest size of HEVC level 6.2's
/// format list. Together with the number of reference frames that a level allows, it keeps a decoder under
/// the memory limits here.
pub const FRAME_PIXELS_MAX: u32 = 8192 * 4320;

/// Start of a command line that reads one MP4 from standard input on one thread.
///
/// One thread: a thumbnail needs one frame. Frame threads would add latency and, with their stacks on a
/// machine of many cores, more memory than a job has.
pub(crate) fn mp4_stdin_arguments() -> Vec<OsString> {
    stdin_arguments(FeedContainer::Mp4, 1)
}

/// Start of a command line that reads one `container` from standard input, decoding on `threads` threads.
pub(crate) fn stdin_arguments(container: FeedContainer, threads: u8) -> Vec<OsString> {
    stdin_arguments_with(container, threads, &[])
}

/// As [`stdin_arguments`], with more `options` of the decoder.
pub(crate) fn stdin_arguments_with(container: FeedContainer, threads: u8, options: &[&str]) -> Vec<OsString> {
    input_arguments("pipe:0", container.demuxer(), threads, options)
}

/// As [`stdin_arguments`], for damaged frames: decoders show all they can, and a high error rate does not
/// end the run.
pub(crate) fn damaged_stdin_arguments(
    container: FeedContainer,
    threads: u8,
    options: &[&str],
) -> Vec<OsString> {
    input_arguments("pipe:0", container.demuxer(), threads, &[&TOLERATE_DAMAGE_OPTIONS, options].concat())
}

/// Makes decoders show frames they would drop, and ignore checksums and syntax. Without the rate ffmpeg
/// fails at the end if two thirds are bad.
const TOLERATE_DAMAGE_OPTIONS: [&str; 6] =
    ["-err_detect", "ignore_err", "-flags", "+output_corrupt", "-max_error_rate", "1"];

/// Start of a command line that reads `url`, which is `pipe:0` or `file:` and a path we chose, with more
/// `options` of the demuxer.
///
/// The demuxer is forced and the only one allowed, so a playlist or a script is never parsed as one. The
/// only protocol allowed is that of `url`, so nothing inside the input can name an address, nor a file if
/// `url` is a pipe. Data references to other files are off (`-enable_drefs` exists for the mov demuxer
/// alone).
pub(crate) fn input_arguments(url: &str, demuxer: &str, threads: u8, options: &[&str]) -> Vec<OsString> {
    let mut arguments = quiet_arguments();
    push(&mut arguments, ["-filter_threads", "1"]);
    push_input(&mut arguments, url, demuxer, threads, options);
    arguments
}

/// Adds one more input of the same run, with the same restrictions.
pub(crate) fn push_input(
    arguments: &mut Vec<OsString>,
    url: &str,
    demuxer: &str,
    threads: u8,
    options: &[&str],
) {
    push_limits(arguments, url, demuxer, DECODERS_PLACEHOLDER, threads, FRAME_PIXELS_MAX);
    if demuxer == FeedContainer::Mp4.demuxer() {
        push(arguments, ["-enable_drefs", "0"]);
    }
    push(arguments, options.iter().copied());
    push(arguments, ["-f", demuxer, "-i", url]);
}

/// Adds the input of a run that reads one image from standard input, with these decoders and this pixel
/// limit.
pub(crate) fn push_image_input(
    arguments: &mut Vec<OsString>,
    demuxer: &str,
    decoders: &str,
    pixels_max: u32,
) {
    push_limits(arguments, "pipe:0", demuxer, decoders, 1, pixels_max);
    push(arguments, ["-f", demuxer, "-i", "pipe:0"]);
}

fn push_limits(
    arguments: &mut Vec<OsString>,
    url: &str,
    demuxer: &str,
    decoders: &str,
    threads: u8,
    pixels_max: u32,
) {
    let (threads, pixels) = (threads.to_string(), pixels_max.to_string());
    let protocol = url.split_once(':').map_or(url, |(protocol, _)| protocol);
    push(arguments, ["-threads", &threads, "-max_pixels", &pixels]);
    push(arguments, ["-protocol_whitelist", protocol, "-format_whitelist", demuxer]);
    push(arguments, ["-codec_whitelist", decoders]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoder_whitelist_follows_the_ffmpeg_build() {
        let listed = [
            ("VFS..D", "h264"),
            ("V....D", "h264_cuvid"),
            ("V....D", "libdav1d"),
            ("V....D", "libvpx"),
            ("V....D", "wrapped_avframe"),
            ("A....D", "gsm"),
            ("A....D", "libgsm"),
            ("A..X.D", "sonic"),
            ("S.....", "srt"),
        ];
        assert_eq!(allowed_decoders(listed.into_iter()), "gsm,h264,libdav1d");
    }
}
