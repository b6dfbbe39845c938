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

/// Decoders of video a run may open. ffmpeg has hundreds; most exist for files nobody should send us.
///
/// Names are those of ffmpeg's decoders, not of formats: `msmpeg4` is version 3, `flv` the H.263 of Flash, `vp6f` and
/// `vp6a` the VP6 of Flash. Those that begin with `lib` are the decoders of AV1 and JPEG 2000 in Debian's build.
const VIDEO_DECODERS: &str = "h264,hevc,vp8,vp9,av1,libdav1d,libaom-av1,mpeg1video,mpeg2video,mpegvideo,mpeg4,msmpeg4v1,\
    msmpeg4v2,msmpeg4,h263,h263p,h263i,flv,mjpeg,mjpegb,prores,dnxhd,dvvideo,theora,wmv1,wmv2,wmv3,vc1,ffv1,huffyuv,ffvhuff,\
    utvideo,rawvideo,v210,cinepak,svq1,svq3,vp3,vp6,vp6a,vp6f,qtrle,cfhd,jpeg2000,libopenjpeg";

/// Decoders of sound a run may open.
const AUDIO_DECODERS: &str = "aac,aac_latm,ac3,eac3,dca,truehd,mlp,mp1,mp1float,mp2,mp2float,mp3,mp3float,opus,libopus,vorbis,\
    libvorbis,flac,alac,wavpack,wmav1,wmav2,wmapro,amrnb,amrwb,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,adpcm_swf,nellymoser,\
    pcm_alaw,pcm_mulaw,pcm_bluray,pcm_dvd,pcm_f32be,pcm_f32le,pcm_f64be,pcm_f64le,pcm_s16be,pcm_s16be_planar,pcm_s16le,\
    pcm_s16le_planar,pcm_s24be,pcm_s24le,pcm_s24le_planar,pcm_s32be,pcm_s32le,pcm_s32le_planar,pcm_s8,pcm_s8_planar,\
    pcm_u16be,pcm_u16le,pcm_u24be,pcm_u24le,pcm_u32be,pcm_u32le,pcm_u8,s302m";

/// Frames with more pixels are refused by the decoders: 8192x4320, the largest size of HEVC level 6.2's format list.
/// Together with the number of reference frames a level allows, this keeps a decoder under the memory limits here.
pub const FRAME_PIXELS_MAX: u32 = 8192 * 4320;

/// The command line so far for reading one MP4 from standard input on one thread.
///
/// One thread: a picture needs one frame, and frame threads would add latency and, with their stacks, on a machine of
/// many cores more memory than a job has.
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

/// Decoders show what they would leave out, and never mind checksums and syntax; without the rate ffmpeg fails where two thirds are
/// bad, after all was written.
const DAMAGED: [&str; 6] = ["-err_detect", "ignore_err", "-flags", "+output_corrupt", "-max_error_rate", "1"];

/// The command line so far for reading `from`, which is `pipe:0` or `file:` and a path we chose, with more `options` of
/// the demuxer.
///
/// The demuxer is forced and the only one allowed, so a playlist or a script is never taken for one; the only protocol
/// allowed is that of `from`, so nothing inside the input can name an address, nor a file where there is none; data references
/// to other files are off (`-enable_drefs` exists for the mov demuxer alone).
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
    let decoders = format!("{VIDEO_DECODERS},{AUDIO_DECODERS}");
    let (threads, pixels) = (threads.to_string(), FRAME_PIXELS_MAX.to_string());
    let protocol = from.split_once(':').map_or(from, |(protocol, _)| protocol);
    push(arguments, ["-threads", &threads, "-max_pixels", &pixels]);
    push(
        arguments,
        ["-protocol_whitelist", protocol, "-format_whitelist", demuxer, "-codec_whitelist", &decoders],
    );
    if demuxer == FeedContainer::Mp4.demuxer() {
        push(arguments, ["-enable_drefs", "0"]);
    }
    push(arguments, options.iter().copied());
    push(arguments, ["-f", demuxer, "-i", from]);
}
