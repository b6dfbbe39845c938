//! Video encoded while it is fed: exact times, sizes, rotation, colours, and each limit.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use kinora_engine::{
    EncodeLimits, Engine, EngineError, FeedContainer, OutputStream, Priority, ToneMap, VideoEncode, VideoRung,
};
use tempfile::TempDir;

use crate::fixture::{Pixels, engine, ffmpeg, ffprobe};
use crate::fragments::{has_box, samples};

/// A second in ticks of the output: the start of the feeds here.
const BEGIN: i64 = 90_000;

/// Makes a feed in `folder`: `arguments` are ffmpeg's from the inputs to the encoder.
fn feed(container: FeedContainer, arguments: &str) -> Bytes {
    let folder = TempDir::new().unwrap();
    let (options, name) = match container {
        FeedContainer::Mp4 => {
            ("-use_editlist 0 -movflags +frag_keyframe+delay_moov+default_base_moof+frag_discont", "feed.mp4")
        }
        FeedContainer::Matroska => ("-f matroska -live 1", "feed.mkv"),
    };
    let output = ffmpeg(folder.path(), &format!("{arguments} -avoid_negative_ts disabled {options} {name}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.path().join(name)).unwrap().into()
}

/// 4 s of 30 frames a second from second 1 on, with B-frames, in GOPs of 2 s.
fn ordinary() -> Bytes {
    feed(
        FeedContainer::Mp4,
        "-f lavfi -i testsrc2=s=320x180:r=30:d=4 -vf setpts=PTS+1/TB -c:v libx264 -preset ultrafast -bf 2 -g 60 \
         -pix_fmt yuv420p -video_track_timescale 30000",
    )
}

fn rung(width: u32, height: u32) -> VideoRung {
    VideoRung {
        width,
        height,
        crf: 23,
        maxrate_bps: 800_000,
        bufsize_bits: 800_000,
        level: "3.0",
        bframes: 3,
        image: None,
        colour: None,
    }
}

fn spec(container: FeedContainer) -> VideoEncode {
    VideoEncode {
        container,
        rungs: vec![rung(160, 90)],
        deinterlace: false,
        tone_map: None,
        frame_step: 1,
        key_frames_us: Vec::new(),
        keep_us: 0..u64::MAX,
        is_black: false,
        overlay: None,
        tolerates_damage: false,
        threads: 2,
        priority: Priority::Viewer,
        limits: EncodeLimits {
            deadline: Duration::from_secs(600),
            cpu: Duration::from_secs(600),
            memory_bytes: 1 << 30,
            output_max: 64 << 20,
        },
    }
}

fn in_pieces(feed: &Bytes) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let pieces: Vec<_> = feed.chunks(10_000).map(Bytes::copy_from_slice).map(Ok).collect();
    stream::iter(pieces)
}

async fn all(mut run: OutputStream) -> Result<Vec<u8>, EngineError> {
    let mut output = Vec::new();
    while let Some(chunk) = run.next().await {
        output.extend_from_slice(&chunk?);
    }
    Ok(output)
}

async fn encode(engine: &Engine, spec: VideoEncode, feed: &Bytes) -> Vec<u8> {
    all(engine.encode_video(spec, in_pieces(feed))).await.unwrap()
}

/// Times of all frames of a track in order, in ticks.
fn times(mp4: &[u8], track: u32) -> Vec<i64> {
    let mut times: Vec<_> = samples(mp4, track).iter().map(|sample| sample.pts).collect();
    times.sort_unstable();
    times
}

/// Times of its sync samples.
fn keyframes(mp4: &[u8], track: u32) -> Vec<i64> {
    samples(mp4, track).iter().filter(|sample| sample.is_sync).map(|sample| sample.pts).collect()
}

/// The times of frames `range` of a feed of 30 frames a second that begins at second 1.
fn frames(range: std::ops::Range<i64>) -> Vec<i64> {
    range.map(|n| BEGIN + n * 3000).collect()
}

#[tokio::test]
async fn frames_keep_their_times_in_every_rung() {
    let (engine, feed) = (engine().await, ordinary());
    let half_a_frame = 16_667;
    let spec = VideoEncode {
        rungs: vec![rung(320, 180), VideoRung { bframes: 0, level: "2.1", ..rung(160, 90) }],
        // Frame 45, a boundary long before it, two in the range, one after it.
        keep_us: 2_500_000 - half_a_frame..4_000_000 - half_a_frame,
        key_frames_us: [1_000_000, 2_500_000, 3_000_000, 3_500_000, 4_000_000]
            .map(|time| time - half_a_frame)
            .to_vec(),
        ..spec(FeedContainer::Mp4)
    };
    let output = encode(&engine, spec.clone(), &feed).await;
    for track in [1, 2] {
        assert_eq!(times(&output, track), frames(45..90), "track {track}");
        assert_eq!(keyframes(&output, track), [225_000, 270_000, 315_000], "track {track}");
    }
    assert!(!has_box(&output, b"elst"), "times need no correction");
    let streams =
        ffprobe(&output, "stream=width,height,profile,level,pix_fmt,sample_aspect_ratio,has_b_frames");
    assert_eq!(streams, "High,320,180,2,1:1,yuv420p,30\nHigh,160,90,0,1:1,yuv420p,21\n");
    // On several threads x264 spends the bits in its buffer at that time: the same frames, with a few bytes
    // more or less each time.
    let second = encode(&engine, spec.clone(), &feed).await;
    for track in [1, 2] {
        assert_eq!(
            (times(&second, track), keyframes(&second, track)),
            (times(&output, track), keyframes(&output, track))
        );
    }
    let single_threaded = VideoEncode { threads: 1, ..spec };
    let first = encode(&engine, single_threaded.clone(), &feed).await;
    assert_eq!(
        encode(&engine, single_threaded, &feed).await,
        first,
        "on one thread the same again gives the same bytes"
    );
}

#[tokio::test]
async fn variable_frame_rate_is_preserved() {
    let feed = feed(
        FeedContainer::Mp4,
        "-f lavfi -i testsrc2=s=160x90:r=60:d=3 -vf select='not(between(mod(n,7),2,3))*not(between(n,60,90))',setpts=PTS+1/TB \
         -fps_mode passthrough -enc_time_base 1/90000 -video_track_timescale 90000 -c:v libx264 -preset ultrafast -bf 2 -g 30",
    );
    let output = encode(&engine().await, spec(FeedContainer::Mp4), &feed).await;
    let expected: Vec<_> = (0..180)
        .filter(|n| !(2..=3).contains(&(n % 7)) && !(60..=90).contains(n))
        .map(|n| BEGIN + n * 1500)
        .collect();
    assert_eq!(times(&output, 1), expected);
    assert_eq!(times(&output, 1), times(&feed, 1));
}

#[tokio::test]
async fn halved_frame_rate_is_independent_of_the_run_start() {
    let (engine, feed) = (engine().await, ordinary());
    let run = async |keep_us| {
        let key_frames_us = vec![2_083_333, 3_083_333];
        let spec = VideoEncode { frame_step: 2, key_frames_us, keep_us, ..spec(FeedContainer::Mp4) };
        times(&encode(&engine, spec, &feed).await, 1)
    };
    // Frames begin at 2.1 s (33) and 3.1 s (63): each begins a segment of 30 frames. 33 before that are an
    // odd number.
    let every_second = |range| frames(range).into_iter().step_by(2).collect::<Vec<_>>();
    let all_times = run(0..u64::MAX).await;
    assert_eq!(all_times, [every_second(0..33), every_second(33..63), every_second(63..120)].concat());
    assert_eq!(run(2_083_333..u64::MAX).await, all_times[17..]);
    assert_eq!(run(3_083_333..u64::MAX).await, all_times[32..]);
}

#[tokio::test]
async fn five_hundred_keyframes_are_not_too_many() {
    let feed = feed(
        FeedContainer::Mp4,
        "-f lavfi -i color=s=64x36:r=60:d=12 -vf setpts=PTS+1/TB -c:v libx264 -preset ultrafast",
    );
    let key_frames_us: Vec<_> = (0..512).map(|n| 1_010_000 + n * 20_000).collect();
    let full_rate = VideoEncode { rungs: vec![rung(64, 36)], key_frames_us, ..spec(FeedContainer::Mp4) };
    let halved = VideoEncode { frame_step: 2, ..full_rate.clone() };
    let engine = engine().await;
    assert_eq!(keyframes(&encode(&engine, full_rate, &feed).await, 1).len(), 513);
    encode(&engine, halved, &feed).await;
}

#[tokio::test]
async fn other_formats_and_containers_are_read_too() {
    let engine = engine().await;
    let cases = [
        (FeedContainer::Matroska, "libvpx -deadline realtime -cpu-used 8"),
        (FeedContainer::Matroska, "libvpx-vp9 -deadline realtime -cpu-used 8"),
        (FeedContainer::Matroska, "mpeg2video -bf 2"),
        (FeedContainer::Matroska, "ffv1 -pix_fmt gbrp"),
        (FeedContainer::Matroska, "msmpeg4"),
        (FeedContainer::Mp4, "mpeg4 -bf 2"),
        (FeedContainer::Mp4, "mjpeg -pix_fmt yuvj422p"),
        (FeedContainer::Matroska, "prores_ks"),
        (FeedContainer::Mp4, "libx264 -preset ultrafast -pix_fmt yuv444p10le"),
        (FeedContainer::Mp4, "libx265 -preset ultrafast -x265-params log-level=none"),
    ];
    for (container, encoder) in cases {
        let feed = feed(
            container,
            &format!("-f lavfi -i testsrc2=s=128x72:r=25:d=1 -vf setpts=PTS+1/TB -strict -2 -c:v {encoder}"),
        );
        let output = encode(&engine, spec(container), &feed).await;
        // Matroska has milliseconds: a frame of 40 ms is exact.
        assert_eq!(times(&output, 1), (0..25).map(|n| BEGIN + n * 3600).collect::<Vec<_>>(), "{encoder}");
        assert_eq!(ffprobe(&output, "stream=width,height,pix_fmt"), "160,90,yuv420p\n", "{encoder}");
    }
}

#[tokio::test]
async fn interlaced_video_is_deinterlaced_at_frame_times() {
    let feed = feed(
        FeedContainer::Mp4,
        "-f lavfi -i testsrc2=s=160x96:r=50:d=2 -vf tinterlace=interleave_top,setpts=PTS+1/TB -c:v libx264 -preset ultrafast \
         -flags +ildct+ilme -bf 0 -g 25",
    );
    let spec = VideoEncode { deinterlace: true, keep_us: 1_500_000..2_500_000, ..spec(FeedContainer::Mp4) };
    let output = encode(&engine().await, spec, &feed).await;
    let expected: Vec<_> = times(&feed, 1)
        .into_iter()
        .filter(|time| (135_000..225_000).contains(&rescaled(*time, &feed)))
        .collect();
    assert_eq!(times(&output, 1), expected.iter().map(|time| rescaled(*time, &feed)).collect::<Vec<_>>());
    assert_eq!(expected.len(), 25);
}

/// The decoder's flag of each frame decides: an interlaced codec may have progressive frames in between, or
/// only such.
#[tokio::test]
async fn deinterlacing_leaves_progressive_frames_unchanged() {
    let engine = engine().await;
    let is_changed = async |rate: u32, graph: &str, options: &str| {
        let feed = feed(
            FeedContainer::Mp4,
            &format!(
                "-f lavfi -i testsrc2=s=160x96:r={rate}:d=1 -vf {graph}setpts=PTS+1/TB -c:v mpeg2video -q:v 2 {options}"
            ),
        );
        let encoded = async |deinterlace| {
            let spec = VideoEncode { deinterlace, ..spec(FeedContainer::Mp4) };
            encode(&engine, spec, &feed).await
        };
        let (with, without) = (encoded(true).await, encoded(false).await);
        assert_eq!(times(&with, 1), times(&without, 1));
        with != without
    };
    assert!(!is_changed(25, "", "").await, "whole frames");
    assert!(is_changed(50, "tinterlace=interleave_top,", "-flags +ildct+ilme").await, "fields");
}

/// Converts a time of the feed to ticks of the output.
fn rescaled(time: i64, feed: &[u8]) -> i64 {
    let timescale: i64 =
        ffprobe(feed, "stream=time_base").trim().strip_prefix("1/").unwrap().parse().unwrap();
    time * 90_000 / timescale
}

/// The first frame of an output.
fn first_frame(mp4: &[u8]) -> Pixels {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("output.mp4"), mp4).unwrap();
    let output = ffmpeg(folder.path(), "-i output.mp4 -frames:v 1 first.png");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Pixels::of(&std::fs::read(folder.path().join("first.png")).unwrap())
}

#[tokio::test]
async fn rotated_video_is_upright() {
    let folder = TempDir::new().unwrap();
    let graph = "color=red:s=80x90:r=10:d=1[a];color=blue:s=80x90:r=10:d=1[b];[a][b]hstack,setpts=PTS+1/TB";
    let flat = ffmpeg(folder.path(), &format!("-f lavfi -i {graph} -c:v libx264 -pix_fmt yuv420p flat.mp4"));
    assert!(flat.status.success());
    let movflags = "-movflags +frag_keyframe+empty_moov+default_base_moof";
    let turned = ffmpeg(
        folder.path(),
        &format!("-i flat.mp4 -c copy -metadata:s:v:0 rotate=90 {movflags} turned.mp4"),
    );
    assert!(turned.status.success(), "{}", String::from_utf8_lossy(&turned.stderr));
    let feed = Bytes::from(std::fs::read(folder.path().join("turned.mp4")).unwrap());
    let upright = VideoEncode { rungs: vec![rung(90, 160)], ..spec(FeedContainer::Mp4) };
    let pixels = first_frame(&encode(&engine().await, upright, &feed).await);
    assert_eq!((pixels.width, pixels.height), (90, 160));
    let (top, bottom) = (pixels.at(45, 20), pixels.at(45, 140));
    assert!(200 < top[2] && top[0] < 60, "the right side is above: {top:?}");
    assert!(200 < bottom[0] && bottom[2] < 60, "the left side is below: {bottom:?}");
}

#[tokio::test]
async fn hdr_is_tone_mapped_to_bt709() {
    let engine = engine().await;
    assert!(engine.can_tone_map(), "Debian's build can");
    // Reference white: 58 % of PQ, 75 % of HLG (ITU-R BT.2408, table 1).
    for (tone_map, transfer, signal) in
        [(ToneMap::Pq, "smpte2084", 0.58), (ToneMap::Hlg, "arib-std-b67", 0.75)]
    {
        let feed = feed(
            FeedContainer::Mp4,
            &format!(
                "-f lavfi -i color=s=64x36:r=10:d=1,format=yuv420p10le,geq=lum=64+876*{signal}:cb=512:cr=512,setpts=PTS+1/TB \
                 -c:v libx265 -preset ultrafast \
                 -x265-params log-level=none:colorprim=bt2020:transfer={transfer}:colormatrix=bt2020nc"
            ),
        );
        let spec = VideoEncode { tone_map: Some(tone_map), ..spec(FeedContainer::Mp4) };
        let output = encode(&engine, spec, &feed).await;
        let colours = ffprobe(&output, "stream=color_range,color_space,color_transfer,color_primaries");
        assert_eq!(colours, "tv,bt709,bt709,bt709\n");
        let [red, green, blue] = first_frame(&output).middle();
        assert!(
            red.abs_diff(green) < 4 && green.abs_diff(blue) < 4,
            "white stays white: {red} {green} {blue}"
        );
        assert!((150..250).contains(&green), "bright, but not cut off: {green}");
    }
}

#[tokio::test]
async fn segment_is_emitted_while_the_feed_is_open() {
    // The whole feed, but not its end.
    let open = stream::iter([Ok(ordinary())]).chain(stream::pending());
    let spec = VideoEncode { key_frames_us: vec![1_983_333], ..spec(FeedContainer::Mp4) };
    let mut run = engine().await.encode_video(spec, open);
    let mut output = Vec::new();
    let is_whole = |output: &[u8]| output.windows(4).any(|name| name == b"mdat");
    while !is_whole(&output) {
        output.extend_from_slice(&run.chunk().await.unwrap().unwrap());
    }
}

#[tokio::test]
async fn invalid_or_truncated_feed_fails_its_run_only() {
    let (engine, feed) = (engine().await, ordinary());
    let run = async |input: Vec<u8>| {
        all(engine.encode_video(spec(FeedContainer::Mp4), in_pieces(&input.into()))).await
    };
    for garbage in [Vec::new(), vec![0; 100_000], b"ffconcat version 1.0\nfile /etc/passwd\n".to_vec()] {
        let end = run(garbage).await;
        assert!(matches!(end, Err(EngineError::Failed { .. })), "{end:?}");
    }
    // A part of a fragment contains a part of its frames.
    let half = run(feed[..feed.len() * 3 / 4].to_vec()).await.unwrap();
    assert!((30..120).contains(&times(&half, 1).len()));
    assert_eq!(times(&run(feed.to_vec()).await.unwrap(), 1), frames(0..120));
}

#[tokio::test]
async fn each_exceeded_limit_has_its_own_error() {
    let engine = engine().await;
    let long = feed(
        FeedContainer::Mp4,
        "-f lavfi -i testsrc2=s=640x360:r=30:d=10,noise=alls=20:allf=t -vf setpts=PTS+1/TB -c:v libx264 -preset ultrafast -g 60",
    );
    let run = async |change: fn(&mut EncodeLimits)| {
        let mut spec = VideoEncode { rungs: vec![rung(1280, 720); 2], ..spec(FeedContainer::Mp4) };
        change(&mut spec.limits);
        all(engine.encode_video(spec, in_pieces(&long))).await.unwrap_err()
    };
    let cpu = run(|limits| limits.cpu = Duration::from_secs(1)).await;
    assert!(matches!(cpu, EngineError::CpuExhausted(limit) if limit.as_secs() == 1), "{cpu:?}");
    // The exact end depends on the processor, and an encoder that gets no thread does not report why. One of
    // several ends is reported as out of memory.
    let memory = [
        run(|limits| limits.memory_bytes = 100 << 20).await,
        run(|limits| limits.memory_bytes = 120 << 20).await,
        run(|limits| limits.memory_bytes = 140 << 20).await,
        run(|limits| limits.memory_bytes = 160 << 20).await,
    ];
    let is_memory_error = |end: &EngineError| matches!(end, EngineError::MemoryExhausted { .. });
    assert!(memory.iter().any(is_memory_error), "{memory:?}");
    let is_expected = |end: &EngineError| is_memory_error(end) || matches!(end, EngineError::Failed { .. });
    assert!(memory.iter().all(is_expected), "{memory:?}");
    let output = run(|limits| limits.output_max = 10_000).await;
    assert!(matches!(output, EngineError::OutputTooLarge { max_bytes: 10_000 }), "{output:?}");
    let time = run(|limits| limits.deadline = Duration::ZERO).await;
    assert!(matches!(time, EngineError::TimedOut(_)), "{time:?}");
}

#[tokio::test]
async fn invalid_spec_is_rejected_before_start() {
    let spec = VideoEncode { rungs: Vec::new(), ..spec(FeedContainer::Mp4) };
    let end = all(engine().await.encode_video(spec, stream::pending())).await;
    assert!(matches!(end, Err(EngineError::InvalidSpec("the number of rungs"))), "{end:?}");
}
