//! ffprobe for independent checks, on a file or the URL of a manifest.

use std::ffi::OsStr;

use serde_json::Value;

use crate::support::Program;

/// The description of a stream by ffprobe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stream {
    /// Decoded frames.
    pub(crate) frames: u64,
    /// Codec with profile and level, in the form of RFC 6381.
    pub(crate) codec: String,
    /// Width and height, or channels and sample rate.
    pub(crate) shape: (u64, u64),
    /// Rotation by the player, in degrees counter-clockwise.
    pub(crate) rotation: i64,
}

/// Timestamps of a packet, in ticks of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Packet {
    pub(super) pts: i64,
    pub(super) dts: i64,
}

async fn ffprobe(input: &OsStr, options: &[&str]) -> Value {
    let run =
        Program::new("ffprobe").args(["-v", "error", "-of", "json"]).args(options).args([input]).run().await;
    assert_eq!(run.stderr, "", "ffprobe has nothing to complain of");
    run.json()
}

/// Decodes a whole stream, `v:0` the first video, `a:0` the first audio; `None` when there is none.
pub(crate) async fn decoded(input: &OsStr, kind: &str) -> Option<Stream> {
    let entries = "stream=codec_name,profile,level,width,height,channels,sample_rate,nb_read_frames:stream_side_data=rotation";
    let found = ffprobe(input, &["-count_frames", "-select_streams", kind, "-show_entries", entries]).await;
    let stream = found["streams"].as_array()?.first()?;
    let number = |value: &Value| {
        let text = value.as_str().and_then(|text| text.parse().ok());
        text.or(value.as_u64()).unwrap_or_else(|| panic!("no number: {stream}"))
    };
    let rotation = stream["side_data_list"]
        .as_array()
        .and_then(|list| list.iter().find_map(|data| data["rotation"].as_i64()));
    let shape = if kind.starts_with('v') { ["width", "height"] } else { ["channels", "sample_rate"] };
    Some(Stream {
        frames: number(&stream["nb_read_frames"]),
        codec: rfc6381(stream),
        shape: (number(&stream[shape[0]]), number(&stream[shape[1]])),
        rotation: rotation.unwrap_or(0),
    })
}

/// Seconds of decoded audio of a whole stream.
pub(super) async fn decoded_seconds(input: &OsStr) -> f64 {
    let entries = "frame=nb_samples:stream=sample_rate";
    let found = ffprobe(input, &["-select_streams", "a:0", "-show_entries", entries]).await;
    let rate = found["streams"][0]["sample_rate"].as_str().and_then(|rate| rate.parse::<f64>().ok());
    let samples =
        found["frames"].as_array().expect("a list").iter().filter_map(|frame| frame["nb_samples"].as_u64());
    samples.sum::<u64>() as f64 / rate.expect("a rate")
}

/// Codec, profile and level (RFC 6381, 3.3; ISO/IEC 14496-15, Annex E; ISO/IEC 14496-3, 1.5.1.1).
fn rfc6381(stream: &Value) -> String {
    match (stream["codec_name"].as_str(), stream["profile"].as_str()) {
        (Some("h264"), Some(profile)) => {
            let profile = match profile {
                "Constrained Baseline" => "42c0",
                "Main" => "4d40",
                "High" => "6400",
                other => panic!("a profile no fixture has: {other}"),
            };
            format!("avc1.{profile}{:02x}", stream["level"].as_u64().expect("a level"))
        }
        // The flags of x265: compatible with itself and the profiles it extends, progressive, not packed,
        // frames only.
        (Some("hevc"), Some("Main")) => {
            format!("hvc1.1.6.L{}.90", stream["level"].as_u64().expect("a level"))
        }
        (Some("hevc"), Some("Main 10")) => {
            format!("hvc1.2.4.L{}.90", stream["level"].as_u64().expect("a level"))
        }
        (Some("av1"), Some("Main")) => {
            format!("av01.0.{:02}M.08", stream["level"].as_u64().expect("a level"))
        }
        (Some("aac"), Some("LC")) => "mp4a.40.2".to_owned(),
        (Some("opus"), _) => "Opus".to_owned(),
        other => panic!("a codec no fixture has: {other:?}"),
    }
}

/// A hash of the bytes of each packet of a stream, `a:0` for the first audio, in order.
pub(super) async fn hashes(input: &OsStr, stream: &str) -> Vec<String> {
    let entries = "packet=data_hash";
    let options =
        ["-select_streams", stream, "-show_packets", "-show_data_hash", "md5", "-show_entries", entries];
    let found = ffprobe(input, &options).await;
    let packets = found["packets"].as_array().expect("a list");
    packets.iter().map(|packet| packet["data_hash"].as_str().expect("a hash").to_owned()).collect()
}

/// The packets of a stream in decode order, and its ticks per second.
pub(super) async fn packets(input: &OsStr, kind: &str) -> (Vec<Packet>, i64) {
    let entries = "packet=pts,dts:stream=time_base";
    let found = ffprobe(input, &["-select_streams", kind, "-show_entries", entries]).await;
    let time_base = found["streams"][0]["time_base"].as_str().expect("a stream has one");
    let timescale =
        time_base.strip_prefix("1/").and_then(|ticks| ticks.parse().ok()).expect("one over ticks a second");
    let packets = found["packets"].as_array().expect("a list");
    let tick = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("no time: {value}"));
    let packets =
        packets.iter().map(|packet| Packet { pts: tick(&packet["pts"]), dts: tick(&packet["dts"]) });
    (packets.collect(), timescale)
}

/// The description of an image by ffprobe.
pub(super) struct ProbedFrame {
    pub(super) codec: String,
    pub(super) width: u64,
    pub(super) height: u64,
    /// Decoded frames.
    pub(super) frames: u64,
    /// Duration of all frames in seconds, for formats that may have several.
    pub(super) seconds: Option<f64>,
}

/// Decodes an image, still or animated.
pub(super) async fn measured(input: &OsStr) -> ProbedFrame {
    let entries = "stream=codec_name,width,height,nb_read_frames:packet=duration_time";
    let found = ffprobe(input, &["-count_frames", "-show_entries", entries]).await;
    let stream = &found["streams"][0];
    let codec = stream["codec_name"].as_str().expect("it has a name").to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {found}"));
    let length = |packet: &Value| packet["duration_time"].as_str().and_then(|text| text.parse::<f64>().ok());
    let packets = found["packets"].as_array().expect("a list");
    // ffprobe gives a still image the duration of a video frame.
    let seconds = (codec == "gif").then(|| packets.iter().filter_map(length).sum());
    let frames =
        stream["nb_read_frames"].as_str().and_then(|text| text.parse().ok()).expect("they are counted");
    ProbedFrame { codec, width: number(&stream["width"]), height: number(&stream["height"]), frames, seconds }
}
