//! What a run reads: one stream of a known kind on standard input, and nothing it may name itself.

use std::ffi::OsString;

use crate::job::{push, quiet};

/// What a feed is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeedContainer {
    /// MP4 that can be read from front to back: `moov` first, or fragments.
    Mp4,
    /// Matroska or WebM.
    Matroska,
}

/// What every Matroska begins with. RFC 8794, 11.2.1.
const EBML_MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];

impl FeedContainer {
    /// Of an input that was made for a run: one of the two.
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

/// Placeholder on a command line for the decoders that a run may open; [`Runner`](crate::run::Runner) fills
/// them in.
pub(crate) const DECODERS: &str = "DECODERS";

/// Decoders of other projects that a run may open beside those of ffmpeg itself: those of AV1, Opus, Vorbis
/// and JPEG 2000 in Debian's build. All others work on hardware, or do what ffmpeg's own do.
const OTHERS: [&str; 5] = ["libdav1d", "libaom-av1", "libopus", "libvorbis", "libopenjpeg"];

/// Suffixes of decoders that use hardware.
const HARDWARE: [&str; 11] = [
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
const DENIED: [(&str, &str); 10] = [
    ("wrapped_avframe", "takes a pointer of the process for its input"),
    ("ansi", "draws text, and nothing uploads it as a video"),
    ("bintext", "draws text"),
    ("xbin", "draws text"),
    ("idf", "draws text"),
    ("pictor", "a picture, whose containers are not taken in"),
    ("photocd", "a picture of up to 300 megapixels"),
    ("g2m", "a session of a meeting, inflated without a bound"),
    ("comfortnoise", "makes sound of nothing"),
    ("wavesynth", "makes sound of nothing"),
];

/// The decoders that a run may open of those that `ffmpeg -decoders` lists, sorted, with a comma between: all
/// of video and sound that are ffmpeg's own and not experimental, less those that are denied.
pub(crate) fn decoders<'a>(listed: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let is_open = |(flags, name): &(&str, &str)| {
        let is_other = name.starts_with("lib") && !OTHERS.contains(name);
        let is_hardware = HARDWARE.iter().any(|end| name.ends_with(end));
        let is_denied = DENIED.iter().any(|(denied, _)| denied == name);
        let is_played = flags.starts_with('V') || flags.starts_with('A');
        is_played && flags.as_bytes().get(3) == Some(&b'.') && !(is_other || is_hardware || is_denied)
    };
    let mut names: Vec<_> = listed.filter(is_open).map(|(_, name)| name).collect();
    names.sort_unstable();
    names.join(",")
}

/// Frames with more pixels are refused by the decoders: 8192x4320, the largest size of HEVC level 6.2's
/// format list. Together with the number of reference frames a level allows, this keeps a decoder under the
/// memory limits here.
pub const FRAME_PIXELS_MAX: u32 = 8192 * 4320;

/// The command line so far for reading one MP4 from standard input on one thread.
///
/// One thread: a picture needs one frame, and frame threads would add latency and, with their stacks, on a
/// machine of many cores more memory than a job has.
pub(crate) fn read_mp4_from_stdin() -> Vec<OsString> {
    read_from_stdin(FeedContainer::Mp4, 1)
}

/// The command line so far for reading one `container` from standard input, decoding on `threads` threads.
pub(crate) fn read_from_stdin(container: FeedContainer, threads: u8) -> Vec<OsString> {
    read_from_stdin_with(container, threads, &[])
}

/// The same with more `options` of the decoder.
pub(crate) fn read_from_stdin_with(container: FeedContainer, threads: u8, options: &[&str]) -> Vec<OsString> {
    read("pipe:0", container.demuxer(), threads, options)
}

/// The same of pictures that are damaged: decoders take what they can, and nothing ends because most is bad.
pub(crate) fn read_damaged_from_stdin(
    container: FeedContainer,
    threads: u8,
    options: &[&str],
) -> Vec<OsString> {
    read("pipe:0", container.demuxer(), threads, &[&DAMAGED, options].concat())
}

/// Decoders show what they would leave out, and never mind checksums and syntax; without the rate ffmpeg
/// fails where two thirds are bad, after all was written.
const DAMAGED: [&str; 6] = ["-err_detect", "ignore_err", "-flags", "+output_corrupt", "-max_error_rate", "1"];

/// The command line so far for reading `from`, which is `pipe:0` or `file:` and a path we chose, with more
/// `options` of the demuxer.
///
/// The demuxer is forced and the only one allowed, so a playlist or a script is never taken for one; the only
/// protocol allowed is that of `from`, so nothing inside the input can name an address, nor a file where
/// there is none; data references to other files are off (`-enable_drefs` exists for the mov demuxer alone).
pub(crate) fn read(from: &str, demuxer: &str, threads: u8, options: &[&str]) -> Vec<OsString> {
    let mut arguments = quiet();
    push(&mut arguments, ["-filter_threads", "1"]);
    read_also(&mut arguments, from, demuxer, threads, options);
    arguments
}

/// One more input of the same run, read in the same way.
pub(crate) fn read_also(
    arguments: &mut Vec<OsString>,
    from: &str,
    demuxer: &str,
    threads: u8,
    options: &[&str],
) {
    let (threads, pixels) = (threads.to_string(), FRAME_PIXELS_MAX.to_string());
    let protocol = from.split_once(':').map_or(from, |(protocol, _)| protocol);
    push(arguments, ["-threads", &threads, "-max_pixels", &pixels]);
    push(
        arguments,
        ["-protocol_whitelist", protocol, "-format_whitelist", demuxer, "-codec_whitelist", DECODERS],
    );
    if demuxer == FeedContainer::Mp4.demuxer() {
        push(arguments, ["-enable_drefs", "0"]);
    }
    push(arguments, options.iter().copied());
    push(arguments, ["-f", demuxer, "-i", from]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_follow_from_what_the_build_has() {
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
        assert_eq!(decoders(listed.into_iter()), "gsm,h264,libdav1d");
    }
}
