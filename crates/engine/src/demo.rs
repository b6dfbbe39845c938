//! The demonstration clip, made here so that nothing must be downloaded.

use std::ffi::OsString;
use std::time::Duration;

use bytes::Bytes;
use tempfile::NamedTempFile;
use tokio::io::AsyncReadExt;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::job::{Files, Job, Limits, push, quiet_arguments};
use crate::priority::Priority;

/// Longest clip in seconds.
pub const DEMO_SECONDS_MAX: u32 = 60;

/// Largest clip in bytes. 20 s take about 1.6 MB.
pub const DEMO_OUTPUT_MAX: u64 = 10 << 20;

/// Drawing and encoding at 720p, with the reference frames of one encoder.
const MEMORY_BYTES: u64 = 1 << 30;

/// Threads for drawing and for encoding: one for each core would exceed that memory on a machine of many
/// cores.
const THREADS: &str = "4";

/// A second of the clip takes 0.25 s of processor time here; ten times that and more on a busy machine.
const DEADLINE_BASE: Duration = Duration::from_secs(20);
const DEADLINE_PER_SECOND: Duration = Duration::from_secs(3);

/// Three soft lights: colour, diameter in pixels of a 640x360 frame, strength of 255, and the position of
/// the centre at `t`.
const LIGHTS: [(&str, u32, u32, &str, &str); 3] = [
    ("0xffd27d", 260, 225, "215*sin(t*0.55)", "95*cos(t*0.8)"),
    ("0x7de8ff", 210, 205, "230*cos(t*0.42+1)", "105*sin(t*0.66)"),
    ("0xff8fc8", 170, 215, "190*sin(t*0.9+2)", "85*cos(t*0.5+4)"),
];

/// A chord of A major with its ninth: strength, frequency in Hz, and how fast the tone swells and fades.
const CHORD: [(&str, &str, &str); 5] = [
    ("0.10", "110.00", "0.50"),
    ("0.07", "220.00", "0.31"),
    ("0.05", "277.18", "0.43"),
    ("0.05", "329.63", "0.37"),
    ("0.03", "493.88", "0.29"),
];

impl Engine {
    /// A clip of `seconds` (1 to [`DEMO_SECONDS_MAX`], others are clamped): 1280x720 at 30 frames a second
    /// in H.264 High with closed GOPs of 2 s, AAC-LC stereo at 48 kHz, MP4 with its index in front.
    ///
    /// Lights drift over a sunset while a bar shows the playback position. It has no text, so it needs no
    /// font. Takes a few seconds of processor time. Errors: [`MissingEncoder`](EngineError::MissingEncoder)
    /// without libx264, and those of every run.
    pub async fn demo_clip(&self, seconds: u32) -> Result<Bytes, EngineError> {
        self.require_encoder("libx264")?;
        self.require_encoder("aac")?;
        let seconds = seconds.clamp(1, DEMO_SECONDS_MAX);
        // The muxer must seek back to put the index in front. So it needs a file, and gets one that exists
        // already.
        let file = NamedTempFile::new().map_err(EngineError::Spawn)?;
        self.run(job(seconds, &file)).await?;
        read(&file).await
    }
}

async fn read(file: &NamedTempFile) -> Result<Bytes, EngineError> {
    let file = file.reopen().map_err(EngineError::Spawn)?;
    let mut clip = Vec::new();
    // The file size limit of the process ensures this bound.
    tokio::fs::File::from_std(file)
        .take(DEMO_OUTPUT_MAX)
        .read_to_end(&mut clip)
        .await
        .map_err(EngineError::Spawn)?;
    Ok(clip.into())
}

fn job(seconds: u32, file: &NamedTempFile) -> Job {
    let deadline = DEADLINE_BASE + DEADLINE_PER_SECOND * seconds;
    Job {
        kind: "demo_clip",
        arguments: arguments(seconds, file),
        input: Bytes::new(),
        files: Files { read: Vec::new(), write: Some(file.path().to_owned()) },
        limits: Limits {
            deadline,
            cpu: deadline,
            memory_bytes: MEMORY_BYTES,
            output_max: 0,
            file_max: DEMO_OUTPUT_MAX,
        },
        priority: Priority::Viewer,
        is_probe: false,
    }
}

fn arguments(seconds: u32, file: &NamedTempFile) -> Vec<OsString> {
    let mut arguments = quiet_arguments();
    push(&mut arguments, ["-y", "-protocol_whitelist", "file", "-filter_complex_threads", THREADS]);
    push(&mut arguments, ["-filter_complex", &format!("{};{}", video_graph(seconds), audio_graph(seconds))]);
    push(&mut arguments, ["-map", "[picture]", "-map", "[sound]", "-t", &seconds.to_string()]);
    // The fastest preset, with the options restored that make the profile High and halve the size.
    push(
        &mut arguments,
        ["-threads", THREADS, "-c:v", "libx264", "-preset", "ultrafast", "-profile:v", "high", "-crf", "20"],
    );
    push(&mut arguments, ["-x264-params", "cabac=1:8x8dct=1:bframes=2:deblock=1,1:open-gop=0"]);
    push(&mut arguments, ["-g", "60", "-keyint_min", "60", "-sc_threshold", "0"]);
    push(&mut arguments, ["-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709"]);
    push(&mut arguments, ["-c:a", "aac", "-b:a", "128k", "-ac", "2", "-ar", "48000"]);
    push(&mut arguments, ["-fflags", "+bitexact", "-movflags", "+faststart", "-f", "mp4"]);
    let mut url = OsString::from("file:");
    url.push(file.path());
    arguments.push(url);
    arguments
}

/// The filter graph of the video. Soft parts are drawn small and enlarged, which saves nine tenths of the
/// time.
fn video_graph(seconds: u32) -> String {
    let mut graph = format!(
        "gradients=s=320x180:r=30:d={seconds}:nb_colors=5:c0=0x10183c:c1=0x5b2a86:c2=0xe8604c:c3=0xf2a65a:c4=0x1b98a6\
         :x0=60:y0=30:x1=260:y1=150:speed=0.012:seed=7,crop=264:148,\
         scale=640:360:flags=bilinear:out_color_matrix=bt709,format=yuv444p[scene0]"
    );
    for (n, (colour, size, strength, x, y)) in LIGHTS.into_iter().enumerate() {
        let next = n + 1;
        // One frame is drawn, with a transparency that grows towards the edge, and repeated.
        graph += &format!(
            ";color=c={colour}:s={size}x{size}:r=30:d=0.03,format=rgba,\
             geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='{strength}*pow(max(0,1-hypot(X-W/2,Y-H/2)/(W/2)),1.3)',\
             scale=out_color_matrix=bt709,format=yuva444p,loop=loop=-1:size=1,setpts=N/30/TB[light{n}];\
             [scene{n}][light{n}]overlay=format=yuv444:x='(W-w)/2+{x}':y='(H-h)/2+{y}'[scene{next}]"
        );
    }
    // The bar is a strip that moves into a window of its own size.
    let strip = |name: &str, alpha: &str| {
        format!(";color=c=white@{alpha}:s=1120x6:r=30:d={seconds},format=yuva420p[{name}]")
    };
    graph += &strip("groove", "0.25");
    graph += &strip("window", "0");
    graph += &strip("strip", "0.95");
    graph += &format!(
        ";[window][strip]overlay=x='-w+w*t/{seconds}'[bar];[scene{}]scale=1280:720:flags=bilinear,format=yuv420p[scene];\
         [scene][groove]overlay=x=80:y=654[grooved];[grooved][bar]overlay=x=80:y=654,\
         setsar=1,setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709[picture]",
        LIGHTS.len()
    );
    graph
}

/// The expression of the audio: the chord, swelling differently left and right, and a plucked note twice a
/// second.
fn audio_graph(seconds: u32) -> String {
    let channel_expression = |phase: &str| {
        let chord = CHORD.map(|(strength, hertz, rate)| {
            format!("{strength}*sin(2*PI*{hertz}*t)*(0.6+0.4*sin(2*PI*{rate}*t+{phase}))")
        });
        // Steps 0, 7, 2, 9, 4 of the scale: its five notes that never clash with the chord.
        let pluck = "0.12*min(1,100*mod(t,0.5))*exp(-5*mod(t,0.5))*sin(2*PI*t*440*pow(2,floor(2.4*mod(3*floor(2*t),5))/12))";
        format!("{}+{pluck}", chord.join("+"))
    };
    let end = f64::from(seconds) - 0.5;
    format!(
        "aevalsrc=exprs='{}|{}':s=48000:d={seconds},afade=d=0.5,afade=t=out:st={end}:d=0.5[sound]",
        channel_expression("0"),
        channel_expression("1.6")
    )
}
