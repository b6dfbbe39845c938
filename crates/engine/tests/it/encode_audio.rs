//! Audio encoded piece by piece: the joined pieces have no audible cuts.

use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use kinora_engine::{
    AUDIO_FRAME_SAMPLES, AudioEncode, AudioSpan, Downmix, EncodeLimits, Engine, EngineError, FeedContainer,
    OutputStream, Priority,
};
use tempfile::TempDir;

use crate::fixture::{engine, ffmpeg, ffprobe};
use crate::fragments::samples;

/// Start of the audio of every feed here on its timeline: second 10.
const START: u64 = 480_000;

/// Frames of the whole track that is cut: 8 s.
const FRAMES: u64 = 375;

/// A sweep, a steady tone and some noise, from second 10 on.
const AUDIO: &str =
    "aevalsrc=0.3*sin(2*PI*(220+20*t)*t)+0.2*sin(2*PI*1234*t)+0.05*random(0):s=48000:d=8:c=stereo";

const FRAGMENTED: &str = "-avoid_negative_ts disabled -use_editlist 0 -frag_duration 500000 \
    -movflags +delay_moov+default_base_moof+frag_discont";

/// A feed made by ffmpeg: `options` select its codec and rate, `container` its format.
fn feed(options: &str, container: &str) -> Bytes {
    let folder = TempDir::new().unwrap();
    let graph = "-af asetpts=PTS+10/TB";
    let output = ffmpeg(folder.path(), &format!("-f lavfi -i {AUDIO} {graph} {options} {container} feed"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.path().join("feed")).unwrap().into()
}

/// The packets of an MP4 feed from about `from_s` after its start on, with unchanged times.
fn from(feed: &Bytes, from_s: f64) -> Bytes {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("whole"), feed).unwrap();
    // Each supports some codecs that the other does not.
    let format = if feed.windows(4).any(|bytes| bytes == b"sowt") { "mov" } else { "mp4" };
    let cut = format!("-copyts -ss {from_s} -i whole -c copy -strict -2 {FRAGMENTED} -f {format} part");
    let output = ffmpeg(folder.path(), &cut);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.path().join("part")).unwrap().into()
}

fn spec(container: FeedContainer, span: AudioSpan) -> AudioEncode {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 8 << 20,
    };
    AudioEncode { container, span, downmix: Downmix::Layout, level: None, priority: Priority::Viewer, limits }
}

async fn all(mut run: OutputStream) -> Result<Vec<u8>, EngineError> {
    let mut output = Vec::new();
    while let Some(chunk) = run.next().await {
        output.extend_from_slice(&chunk?);
    }
    Ok(output)
}

async fn encode(engine: &Engine, spec: AudioEncode, feed: &Bytes) -> Vec<u8> {
    let pieces: Vec<io::Result<Bytes>> = feed.chunks(10_000).map(Bytes::copy_from_slice).map(Ok).collect();
    all(engine.encode_audio(spec, stream::iter(pieces))).await.unwrap()
}

fn whole() -> AudioSpan {
    AudioSpan::Whole { start: START, fragment: Duration::from_secs(2) }
}

fn frames(range: &Range<u64>) -> Range<u64> {
    START + range.start * AUDIO_FRAME_SAMPLES..START + range.end * AUDIO_FRAME_SAMPLES
}

/// The packets of `mp4` with times in `range`, in order; checks the times against the grid.
fn packets<'a>(mp4: &'a [u8], range: &Range<u64>) -> Vec<&'a [u8]> {
    let samples = samples(mp4, 1);
    let inside = samples.iter().filter(|sample| range.contains(&u64::try_from(sample.pts).unwrap()));
    let (times, packets): (Vec<_>, Vec<_>) =
        inside.map(|sample| (sample.pts, &mp4[sample.bytes.clone()])).unzip();
    let expected: Vec<_> = range.clone().step_by(1024).map(|time| i64::try_from(time).unwrap()).collect();
    assert_eq!(times, expected);
    packets
}

/// Decodes consecutive packets to 16-bit stereo at 48 kHz, with interleaved channels.
fn decode(packets: &[&[u8]]) -> Vec<i16> {
    let folder = TempDir::new().unwrap();
    let mut adts = Vec::new();
    for packet in packets {
        // ISO/IEC 13818-7, 6.2: AAC-LC, 48 kHz, two channels, no checksum.
        let size = u32::try_from(packet.len() + 7).unwrap();
        let [_, high, middle, low] = (size << 5).to_be_bytes();
        adts.extend_from_slice(&[0xff, 0xf1, 0x4c, 0x80 | high, middle, low | 0x1f, 0xfc]);
        adts.extend_from_slice(packet);
    }
    std::fs::write(folder.path().join("sound.aac"), adts).unwrap();
    raw(&folder, "-i sound.aac")
}

fn raw(folder: &TempDir, input: &str) -> Vec<i16> {
    let output = ffmpeg(folder.path(), &format!("{input} -ar 48000 -ac 2 -f s16le pipe:1"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.chunks_exact(2).map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]])).collect()
}

/// Signal-to-noise ratio of `found` against `expected`, in dB.
fn snr(found: &[i16], expected: &[i16]) -> f64 {
    let square = |value: f64| value * value;
    let signal: f64 = expected.iter().map(|value| square(f64::from(*value))).sum();
    let noise: f64 = found.iter().zip(expected).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    10.0 * (signal / noise.max(1.0)).log10()
}

/// Positions of the cuts, in frames.
const CUTS: [u64; 6] = [0, 94, 187, 188, 281, FRAMES];

/// Encodes `feed` as a whole and in pieces, each from a feed of its own made by `part`, and compares the
/// audio at every cut with that of the feed.
async fn check(name: &str, container: FeedContainer, feed: &Bytes, part: impl Fn(f64) -> Bytes) {
    let engine = engine().await;
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("feed"), feed).unwrap();
    let source = raw(&folder, "-copyts -i feed -af atrim=start=10");
    let encoded = encode(&engine, spec(container, whole()), feed).await;
    let priming = START - AUDIO_FRAME_SAMPLES..START;
    let of_whole = packets(&encoded, &(priming.start..frames(&(0..FRAMES)).end));

    let mut pieces = Vec::new();
    for cut in CUTS.windows(2) {
        let samples = frames(&(cut[0]..cut[1]));
        let from_s = ((samples.start - START) as f64 / 48_000.0 - 0.3).max(0.0);
        let piece = encode(&engine, spec(container, AudioSpan::Piece(samples.clone())), &part(from_s)).await;
        pieces.push((piece, samples));
    }
    let mut joined = packets(&pieces[0].0, &priming);
    joined.extend(pieces.iter().flat_map(|(piece, samples)| packets(piece, samples)));

    // Both decode to the priming, which is silent, and then the audio.
    let [whole, joined] = [of_whole, joined].map(|packets| decode(&packets).split_off(2 * 1024));
    for cut in &CUTS[1..CUTS.len() - 1] {
        let at = usize::try_from(cut * AUDIO_FRAME_SAMPLES).unwrap();
        let window = 2 * (at - 1024)..2 * (at + 1024);
        let snr = [&joined, &whole].map(|audio| snr(&audio[window.clone()], &source[window.clone()]));
        // Without lead frames it is 16 dB, a click.
        assert!(24.0 < snr[0] && snr[1] - 3.5 < snr[0], "{name} at {cut}: {snr:?}");
    }
}

#[tokio::test]
async fn unresampled_pieces_join_without_clicks() {
    let feed = feed("-ar 48000 -c:a pcm_s16le", &format!("{FRAGMENTED} -f mov"));
    check("48 kHz", FeedContainer::Mp4, &feed, |from_s| from(&feed, from_s)).await;
}

#[tokio::test]
async fn resampled_pieces_join_without_clicks() {
    for rate in [44_100, 32_000] {
        let feed = feed(&format!("-ar {rate} -c:a pcm_s16le"), &format!("{FRAGMENTED} -f mov"));
        check(&rate.to_string(), FeedContainer::Mp4, &feed, |from_s| from(&feed, from_s)).await;
    }
}

#[tokio::test]
async fn pieces_of_other_codecs_join_without_a_click() {
    for codec in ["libopus -b:a 256k", "flac -strict -2", "aac -b:a 320k -ar 44100"] {
        let feed = feed(&format!("-c:a {codec}"), &format!("{FRAGMENTED} -f mp4"));
        check(codec, FeedContainer::Mp4, &feed, |from_s| from(&feed, from_s)).await;
    }
}

#[tokio::test]
async fn audio_gaps_are_encoded_as_silence() {
    let engine = engine().await;
    // A second late, and half a second is missing from second 13 on.
    let options = "-af atrim=1,aselect='not(between(t,3,3.5))',asetpts=PTS+10/TB -c:a pcm_s16le";
    let feed = feed(options, &format!("{FRAGMENTED} -f mov"));
    let encoded = encode(&engine, spec(FeedContainer::Mp4, whole()), &feed).await;
    let decoded =
        decode(&packets(&encoded, &(START - 1024..START + 48_000 * 4 / 1024 * 1024))).split_off(2 * 1024);
    let loudest = |from_ms: usize, to_ms: usize| {
        decoded[from_ms * 96..to_ms * 96].iter().map(|value| value.unsigned_abs()).max().unwrap()
    };
    assert!(loudest(0, 970) < 100 && 5000 < loudest(1030, 2970));
    assert!(loudest(3050, 3450) < 100 && 5000 < loudest(3550, 3900));

    // A second beyond the end.
    let piece = START + 1024 * 340..START + 1024 * 440;
    let encoded = encode(&engine, spec(FeedContainer::Mp4, AudioSpan::Piece(piece.clone())), &feed).await;
    assert_eq!(packets(&encoded, &piece).len(), 100);
}

#[tokio::test]
async fn surround_and_mono_become_stereo() {
    let engine = engine().await;
    for layout in ["mono", "5.1"] {
        let options = format!("-af asetpts=PTS+10/TB,aformat=channel_layouts={layout} -c:a flac");
        let feed = feed(&options, "-f matroska -live 1");
        let encoded = encode(&engine, spec(FeedContainer::Matroska, whole()), &feed).await;
        let stream = ffprobe(&encoded, "stream=codec_name,profile,sample_rate,channels");
        assert_eq!(stream, "aac,LC,48000,2\n", "{layout}");
        assert!(375 <= samples(&encoded, 1).len(), "{layout}");
    }
}

#[tokio::test]
async fn fragments_are_emitted_while_the_feed_is_open() {
    let feed = feed("-c:a pcm_s16le", &format!("{FRAGMENTED} -f mov"));
    let open = stream::iter([Ok(feed)]).chain(stream::pending());
    let mut run = engine().await.encode_audio(spec(FeedContainer::Mp4, whole()), open);
    let mut output = Vec::new();
    let fragments = |output: &[u8]| output.windows(4).filter(|name| *name == b"mdat").count();
    while fragments(&output) < 2 {
        output.extend_from_slice(&run.chunk().await.unwrap().unwrap());
    }
}

#[tokio::test]
async fn invalid_span_or_missing_audio_is_rejected() {
    let engine = engine().await;
    let odd = spec(FeedContainer::Mp4, AudioSpan::Piece(0..1000));
    let end = all(engine.encode_audio(odd, stream::pending())).await;
    assert!(matches!(end, Err(EngineError::InvalidSpec("the samples to encode"))), "{end:?}");
    let garbage = stream::iter([Ok(Bytes::from(vec![7; 50_000]))]);
    let end = all(engine.encode_audio(spec(FeedContainer::Mp4, whole()), garbage)).await;
    assert!(matches!(end, Err(EngineError::Failed { .. })), "{end:?}");
}
