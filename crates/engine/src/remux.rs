//! Remuxes containers that our own readers do not parse into those that they do, without decoding.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use tempfile::NamedTempFile;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::input_arguments;
use crate::job::{Files, Job, Limits, push};
use crate::output_stream::{CHUNKS_AHEAD, OutputChunk, OutputStream};
use crate::priority::Priority;
use crate::run::TimeoutKind;

/// Bytes of a finished file that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Options for reading a source: missing presentation times are generated (AVI), and tracks are searched for
/// in its first 32 MB or 30 s, because those of transport streams begin anywhere.
const PROBE_OPTIONS: [&str; 6] =
    ["-fflags", "+genpts", "-probesize", "33554432", "-analyzeduration", "30000000"];

/// Filter that corrects the time of the first frame of MPEG-1 video without a container.
///
/// ffmpeg 5.1 shows each frame one frame after its decoding time, because B-frames may need that, but not
/// the first one, which would last two frames.
const FIRST_FRAME_FILTER: &str =
    r"setts=pts=if(eq(N\,0)*eq(PTS\,DTS)*gt(NEXT_PTS\,NEXT_DTS)\,DTS+DURATION\,PTS)";

/// Container of a source. The demuxer is forced: a file of another format fails.
///
/// Nearly all can be read from a stream. Exceptions need [`Engine::remux_file`]:
///
/// - MP4 of more than a few megabytes with `moov` at the end, which as a stream gives an empty output
///   without an error;
/// - AVI without interleaved tracks, because one track would be buffered in memory;
/// - MXF that wraps whole clips, which is read with its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemuxInput {
    /// MPEG transport stream.
    MpegTs,
    /// MPEG program stream, VOB.
    MpegPs,
    /// AVI, OpenDML too.
    Avi,
    /// Flash video.
    Flv,
    /// ASF, WMV, WMA.
    Asf,
    /// MXF.
    Mxf,
    /// Ogg of any codec.
    Ogg,
    /// RIFF WAVE, RF64.
    Wav,
    /// MPEG audio, with or without ID3.
    Mp3,
    /// Native FLAC.
    Flac,
    /// AAC in ADTS.
    Aac,
    /// Matroska, WebM.
    Matroska,
    /// MP4, QuickTime, 3GP.
    Mov,
    /// AIFF and AIFF-C.
    Aiff,
    /// Core Audio.
    Caf,
    /// AMR, narrow and wide band.
    Amr,
    /// Sun and NeXT audio.
    Au,
    /// Wave64.
    W64,
    /// AC-3 without a container.
    Ac3,
    /// E-AC-3 without a container.
    Eac3,
    /// DTS without a container.
    Dts,
    /// WavPack.
    WavPack,
    /// Monkey's Audio.
    Ape,
    /// DV without a container.
    Dv,
    /// MPEG-1 and MPEG-2 video without a container.
    MpegVideo,
    /// IVF.
    Ivf,
}

impl RemuxInput {
    /// The name of its demuxer.
    fn demuxer(self) -> &'static str {
        match self {
            Self::MpegTs => "mpegts",
            Self::MpegPs => "mpeg",
            Self::Avi => "avi",
            Self::Flv => "flv",
            Self::Asf => "asf",
            Self::Mxf => "mxf",
            Self::Ogg => "ogg",
            Self::Wav => "wav",
            Self::Mp3 => "mp3",
            Self::Flac => "flac",
            Self::Aac => "aac",
            Self::Matroska => "matroska",
            Self::Mov => "mov",
            Self::Aiff => "aiff",
            Self::Caf => "caf",
            Self::Amr => "amr",
            Self::Au => "au",
            Self::W64 => "w64",
            Self::Ac3 => "ac3",
            Self::Eac3 => "eac3",
            Self::Dts => "dts",
            Self::WavPack => "wv",
            Self::Ape => "ape",
            Self::Dv => "dv",
            Self::MpegVideo => "mpegvideo",
            Self::Ivf => "ivf",
        }
    }
}

/// Container of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemuxOutput {
    /// Fragmented MP4, streamed while the source is read. Times have the source's resolution. Can contain
    /// H.264, HEVC, AV1, VP9, MPEG-1, -2 and -4 video, AAC, MP1 to MP3, AC-3, E-AC-3, Opus, Vorbis, FLAC,
    /// ALAC; for others, such as PCM, it fails at once.
    Mp4,
    /// As [`Mp4`](Self::Mp4), for a source whose audio is all AAC in ADTS, as in transport streams. With
    /// other audio it fails at once, as does `Mp4` with ADTS.
    Mp4FromAdts,
    /// AVI, streamed while the source is read. Packets of MPEG-4 Visual with two frames are split into two.
    /// Fails with any other video.
    ///
    /// It has no presentation times: ffmpeg derives them from the frame types when it reads this file.
    UnpackedAvi,
    /// Matroska, after the whole source was read. Times are whole milliseconds. Can contain every codec,
    /// also a mixture of AAC and other audio.
    Matroska,
    /// Matroska with the audio decoded to PCM of 32-bit floats, for audio that neither container supports:
    /// PCM of 8 bits or of the other byte order, old ADPCM.
    Pcm,
}

/// The tracks of the source to copy. A track without packets fails a copy of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemuxTracks {
    /// The first video track (no cover art) and all audio tracks.
    All,
    /// The first video track, and the audio track of this number, from 0.
    VideoAnd(u8),
    /// The first video track.
    Video,
    /// The audio track of this number, from 0.
    Audio(u8),
}

impl RemuxTracks {
    /// Options that select them.
    fn options(self) -> Vec<String> {
        let audio = |number: u8| format!("0:a:{number}");
        // `V` is video without cover art.
        let maps = match self {
            Self::All => vec!["0:V:0?".to_owned(), "0:a?".to_owned()],
            Self::VideoAnd(number) => vec!["0:V:0".to_owned(), audio(number)],
            Self::Video => vec!["0:V:0".to_owned()],
            Self::Audio(number) => vec![audio(number)],
        };
        maps.into_iter().flat_map(|map| ["-map".to_owned(), map]).collect()
    }
}

/// One remux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remux {
    /// Container of the source.
    pub input: RemuxInput,
    /// Container of the output.
    pub output: RemuxOutput,
    /// The tracks to copy.
    pub tracks: RemuxTracks,
    /// A folder with disk space for the whole output: Matroska is finished there before it is read. It
    /// leaves no file there.
    pub scratch: PathBuf,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run. Copying takes about a second of processor time for 200 MB.
    pub limits: EncodeLimits,
}

impl Engine {
    /// Copies tracks of the source that `input` streams into another container.
    ///
    /// Nothing is decoded. Missing presentation times are derived from the order of decoding. Times begin at
    /// zero or a little later, the same for all tracks; in MP4 also by the edit lists. A source without such
    /// tracks may give an output without samples, and no error.
    ///
    /// Errors, as the last item: [`Failed`](EngineError::Failed) if the source is not of the stated format,
    /// or the output does not support its codecs; [`Busy`](EngineError::Busy),
    /// [`Input`](EngineError::Input), and those of every run.
    pub fn remux(
        &self,
        spec: Remux,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> OutputStream {
        self.start_remux(spec, "pipe:0", None, input)
    }

    /// As [`remux`](Self::remux), from the file at `path`, which is absolute: for sources that cannot be read
    /// from front to back. The process can read this file and no other.
    pub fn remux_file(&self, spec: Remux, path: &Path) -> OutputStream {
        let Some(text) = path.to_str().filter(|_| path.is_absolute()) else {
            return OutputStream::failed(EngineError::InvalidSpec("the path of the source"));
        };
        self.start_remux(spec, &format!("file:{text}"), Some(path.to_owned()), stream::empty())
    }

    fn start_remux(
        &self,
        spec: Remux,
        url: &str,
        file: Option<PathBuf>,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> OutputStream {
        let mut arguments = copy_arguments(&spec, url);
        if spec.output == RemuxOutput::Pcm {
            push(&mut arguments, ["-c:a", "pcm_f32le"]);
        }
        let mut job = Job {
            kind: "remux",
            arguments,
            input: Bytes::new(),
            files: Files { read: file.into_iter().collect(), write: None },
            limits: spec.limits.to_job_limits(),
            priority: spec.priority,
            is_probe: true,
        };
        match spec.output {
            RemuxOutput::Mp4 | RemuxOutput::Mp4FromAdts => {
                push(&mut job.arguments, fragment_options(spec.output));
                self.runner().start(job, input, TimeoutKind::Idle)
            }
            RemuxOutput::UnpackedAvi => {
                push(&mut job.arguments, ["-bsf:v", "mpeg4_unpack_bframes", "-f", "avi", "pipe:1"]);
                self.runner().start(job, input, TimeoutKind::Idle)
            }
            RemuxOutput::Matroska | RemuxOutput::Pcm => match NamedTempFile::new_in(&spec.scratch) {
                Ok(temporary) => self.remux_via_file(job, temporary, input),
                Err(error) => OutputStream::failed(EngineError::Spawn(error)),
            },
        }
    }

    /// Makes `job` write Matroska into `temporary`, and then streams the file.
    fn remux_via_file(
        &self,
        mut job: Job,
        temporary: NamedTempFile,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> OutputStream {
        let path = temporary.path().to_string_lossy().into_owned();
        // Its progress output prevents a timeout while it reads a file and moves no other byte.
        push(&mut job.arguments, ["-progress", "pipe:1", "-stats_period", "1", "-f", "matroska"]);
        push(&mut job.arguments, [&*format!("file:{path}")]);
        job.files.write = Some(path.into());
        job.limits = Limits { file_max: job.limits.output_max, ..job.limits };
        let mut run = self.runner().start(job, input, TimeoutKind::Idle);
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        let forward = async move {
            let end = async {
                while let Some(progress) = run.chunk().await {
                    progress?;
                }
                stream_file(&temporary, &sender).await.map_err(EngineError::Spawn)
            };
            let end = end.await;
            // A caller that left needs no result.
            let _ = sender.send(end.map(|()| None)).await;
        };
        OutputStream::new(chunks, tokio::spawn(forward.in_current_span()).abort_handle())
    }
}

/// Sends the content of `file`.
async fn stream_file(file: &NamedTempFile, sender: &mpsc::Sender<OutputChunk>) -> io::Result<()> {
    let mut file = tokio::fs::File::from_std(file.reopen()?);
    loop {
        let mut bytes = BytesMut::with_capacity(READ_BYTES);
        if file.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
        if sender.send(Ok(Some(bytes.freeze()))).await.is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
    }
}

/// The command line up to the output: copies the selected tracks of the source at `url`.
fn copy_arguments(spec: &Remux, url: &str) -> Vec<OsString> {
    let mut arguments = input_arguments(url, spec.input.demuxer(), 1, &PROBE_OPTIONS);
    push(&mut arguments, spec.tracks.options().iter().map(String::as_str));
    push(&mut arguments, ["-dn", "-sn", "-c", "copy"]);
    if spec.input == RemuxInput::MpegVideo {
        push(&mut arguments, ["-bsf:v", FIRST_FRAME_FILTER]);
    }
    // A player needs no titles and the like, but it needs languages, which belong to tracks.
    push(&mut arguments, ["-map_metadata:g", "-1", "-map_chapters", "-1", "-fflags", "+bitexact", "-y"]);
    arguments
}

fn fragment_options(output: RemuxOutput) -> impl Iterator<Item = &'static str> {
    // With edit lists: without them every track would begin at zero, and its first packet would last for the
    // delay of the track. And from zero on, because `tfdt` is unsigned (ffmpeg 5.1.9).
    const FRAGMENTS: [&str; 11] = [
        "-avoid_negative_ts",
        "make_zero",
        "-frag_duration",
        "2000000",
        "-movflags",
        "+frag_keyframe+delay_moov+default_base_moof+frag_discont+skip_trailer",
        // ffmpeg calls FLAC in MP4, among others, experimental.
        "-strict",
        "experimental",
        "-f",
        "mp4",
        "pipe:1",
    ];
    let from_adts: &[&str] =
        if output == RemuxOutput::Mp4FromAdts { &["-bsf:a", "aac_adtstoasc"] } else { &[] };
    from_adts.iter().copied().chain(FRAGMENTS)
}
