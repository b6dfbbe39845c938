//! The command line of a run of the video encoder.

use std::ffi::OsString;

use super::{VideoEncode, VideoRung, filters};
use crate::input::{damaged_stdin_arguments, stdin_arguments_with};
use crate::job::push;
use crate::overlay::push_image;

/// Options for equal bytes on each run: no metadata of the source, no date, no version.
const DETERMINISTIC: [&str; 7] =
    ["-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact", "-flags:v"];

/// Options that output every frame once, at its exact time; keyframes only at the given times.
const TIMING: [&str; 16] = [
    "-fps_mode",
    "passthrough",
    "-enc_time_base",
    "1:90000",
    "-video_track_timescale",
    "90000",
    "-avoid_negative_ts",
    "disabled",
    "-muxdelay",
    "0",
    "-g",
    "9999",
    "-sc_threshold",
    "0",
    "-forced-idr",
    "1",
];

/// One fragment for each keyframe: it comes out when the next one is encoded. `frag_every_frame` would be
/// sooner, but with several tracks it writes wrong composition offsets (ffmpeg 5.1.9). `frag_discont`
/// preserves the first time; without the edit list, times need no correction.
const FRAGMENTS: [&str; 8] = [
    "-use_editlist",
    "0",
    "-movflags",
    "+frag_keyframe+delay_moov+default_base_moof+frag_discont+skip_trailer",
    "-flush_packets",
    "1",
    "-f",
    "mp4",
];

/// The whole command line. `spec` has been checked.
pub(super) fn command_line(spec: &VideoEncode) -> Vec<OsString> {
    let mut options: Vec<String> = Vec::new();
    // Frames without a description are assumed to have the colours of the first rung. Rungs differ only if
    // an older Kinora began them.
    if let Some(colour) = spec.rungs.first().and_then(|rung| rung.colour) {
        for (name, point) in colour.decoder_options() {
            options.extend([name.to_owned(), point.to_string()]);
        }
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut arguments = if spec.tolerates_damage {
        damaged_stdin_arguments(spec.container, spec.threads, &options)
    } else {
        stdin_arguments_with(spec.container, spec.threads, &options)
    };
    if let Some(overlay) = &spec.overlay {
        push_image(&mut arguments, &overlay.file);
    }
    push(&mut arguments, ["-copyts", "-filter_complex_threads", "1"]);
    push_encoder(&mut arguments, filters::FEED_VIDEO, spec);
    arguments
}

/// Appends the arguments that encode the rungs of `spec` from the frames of `source`, the start of a filter
/// graph.
pub(super) fn push_encoder(arguments: &mut Vec<OsString>, source: &str, spec: &VideoEncode) {
    push(arguments, ["-filter_complex", &filters::graph(source, spec)]);
    for index in 0..spec.rungs.len() {
        push(arguments, ["-map", &format!("[{}]", filters::output_label(index))]);
    }
    push(arguments, ["-an", "-sn", "-dn"]);
    push(arguments, DETERMINISTIC);
    push(arguments, ["+bitexact", "-c:v", "libx264", "-preset", "veryfast", "-profile:v", "high"]);
    push(arguments, ["-threads:v", &spec.threads.to_string()]);
    for (index, rung) in spec.rungs.iter().enumerate() {
        push_rung(arguments, index, rung);
    }
    push(arguments, TIMING);
    let key_frames: Vec<_> = later_key_frames(spec).map(format_seconds).collect();
    if !key_frames.is_empty() {
        push(arguments, ["-force_key_frames:v", &key_frames.join(",")]);
    }
    push(arguments, FRAGMENTS);
    push(arguments, ["pipe:1"]);
}

fn push_rung(arguments: &mut Vec<OsString>, index: usize, rung: &VideoRung) {
    let numbers = [
        ("crf", u64::from(rung.crf)),
        ("maxrate", rung.maxrate_bps),
        ("bufsize", rung.bufsize_bits),
        ("bf", u64::from(rung.bframes)),
    ];
    for (name, value) in numbers {
        push(arguments, [&*format!("-{name}:v:{index}"), &*value.to_string()]);
    }
    push(arguments, [&*format!("-level:v:{index}"), rung.level]);
}

/// Keyframe times after the first frame. ffmpeg uses at most one time of its list for each frame, so a time
/// before the first frame would make the second one a keyframe.
pub(super) fn later_key_frames(spec: &VideoEncode) -> impl Iterator<Item = u64> {
    spec.key_frames_us.iter().copied().filter(|time| spec.keep_us.start < *time && *time < spec.keep_us.end)
}

/// Microseconds in ffmpeg's notation.
pub(super) fn format_seconds(time_us: u64) -> String {
    format!("{}.{:06}", time_us / 1_000_000, time_us % 1_000_000)
}
