//! An ffmpeg with the ordered settings.

use std::{
    io::{Read as _, Write as _},
    ops::Range,
    process::{Command, Stdio},
};

use kinora_formats::encode::{EncodedSegment, Feed, FeedFormat, Segmenter, SegmenterError};
use kinora_index::{Index, Rung};

/// Runs ffmpeg with arguments without spaces in them, and writes these bytes to its input.
#[allow(clippy::disallowed_methods, reason = "the tests ask ffmpeg, the code under test does not")]
pub(crate) fn ffmpeg(arguments: &str, input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"])
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A process that has read enough closes the pipe early.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success(), "{arguments}");
    output
}

/// The input of an encoder for these segments.
pub(crate) fn fed(feed: &Feed, source: &[u8]) -> Vec<u8> {
    let mut fed = feed.header();
    for chunk in feed.chunks() {
        let bytes: Vec<u8> = chunk
            .ranges
            .iter()
            .flat_map(|range| &source[range.offset as usize..range.end() as usize])
            .copied()
            .collect();
        fed.extend(feed.wrap(&chunk, &bytes).unwrap());
    }
    fed
}

/// The output of ffmpeg for a feed: one file with a track for each rung.
pub(crate) fn encoded(feed: &Feed, source: &[u8], rungs: &[Rung]) -> Vec<u8> {
    let seconds = |us: i64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let window = feed.window_us();
    let splits: String = (0..rungs.len()).map(|n| format!("[s{n}]")).collect();
    let scales: Vec<String> = rungs
        .iter()
        .enumerate()
        .map(|(n, rung)| {
            let step = rung.frame_step;
            format!(
                "[s{n}]framestep={step},scale={}:{}:flags=bicubic,setsar=1,format=yuv420p[v{n}]",
                rung.width, rung.height
            )
        })
        .collect();
    let graph = format!(
        "[0:v:0]trim=start={}:end={},split={}{splits};{}",
        seconds(window.start),
        seconds(window.end),
        rungs.len(),
        scales.join(";"),
    );
    let maps: String = (0..rungs.len()).map(|n| format!(" -map [v{n}]")).collect();
    let settings: String = rungs
        .iter()
        .enumerate()
        .map(|(n, rung)| {
            let Rung { level, crf, maxrate, bufsize, bframes, .. } = rung;
            format!(
                " -level:v:{n} {level} -crf:v:{n} {crf} -maxrate:v:{n} {maxrate} -bufsize:v:{n} {bufsize} -bf:v:{n} {bframes}"
            )
        })
        .collect();
    let format = match feed.format() {
        FeedFormat::Mp4 => "mp4",
        FeedFormat::Matroska => "matroska",
    };
    let keyframes: Vec<String> = feed.keyframes_us().into_iter().map(seconds).collect();
    let keyframes = if keyframes.is_empty() {
        String::new()
    } else {
        format!("-force_key_frames {}", keyframes.join(","))
    };
    let arguments = format!(
        "-copyts -f {format} -i pipe:0 -filter_complex {graph}{maps} -an -sn -dn -map_metadata -1 -c:v libx264 \
         -preset veryfast -profile:v high{settings} -g 9999 -sc_threshold 0 -forced-idr 1 {keyframes} \
         -fps_mode passthrough -enc_time_base 1:90000 -video_track_timescale 90000 -avoid_negative_ts disabled \
         -muxdelay 0 -use_editlist 0 \
         -movflags +frag_keyframe+delay_moov+default_base_moof+frag_discont+skip_trailer -f mp4 pipe:1"
    );
    ffmpeg(&arguments, fed(feed, source))
}

/// The segments of a run, and the `avcC` of each rung.
pub(crate) struct Made {
    pub(crate) segments: Vec<EncodedSegment>,
    pub(crate) avcc: Vec<Vec<u8>>,
}

/// Collects the output of an encoder, pushed in pieces of this length.
pub(crate) fn collected(
    feed: &Feed,
    rungs: &[Rung],
    output: &[u8],
    piece_len: usize,
) -> Result<Made, SegmenterError> {
    let mut collector = Segmenter::new(feed, rungs);
    let mut segments = Vec::new();
    for piece in output.chunks(piece_len) {
        segments.extend(collector.push(piece)?);
    }
    segments.extend(collector.finish()?);
    let avcc = rungs.iter().map(|rung| collector.avcc(rung.name).unwrap().to_vec()).collect();
    Ok(Made { segments, avcc })
}

/// Feeds, encodes and collects.
pub(crate) fn made(index: &Index, source: &[u8], rungs: &[Rung], numbers: Range<u32>) -> Made {
    let feed = Feed::of_segments(index, numbers).unwrap();
    collected(&feed, rungs, &encoded(&feed, source, rungs), 10_007).unwrap()
}

/// Presentation times of the frames of a file, in microseconds, by ffmpeg.
pub(crate) fn shown_us(file: Vec<u8>) -> Vec<i64> {
    let text = ffmpeg(
        "-copyts -f mp4 -i pipe:0 -map 0:v:0 -fps_mode passthrough -enc_time_base 1:1000000 -f framecrc -",
        file,
    );
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(',').nth(2).unwrap().trim().parse().unwrap()).collect()
}
