use std::process::Command;

use super::*;
use crate::engine::Settings;
use crate::job::Limits;

#[test]
fn filter_graph_is_constant_except_for_numbers() {
    let piece = AudioSpan::Piece(480_000 + 100 * 1024..480_000 + 294 * 1024);
    // 2 frames before 582 400 is 580 352; minus 4800 that is 299.77 steps of 40 ms.
    assert_eq!(
        filters(&piece, Downmix::Layout, None),
        "atrim=start=11.960000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=574080,\
         aformat=sample_fmts=fltp:channel_layouts=stereo,apad,atrim=start_pts=580352:end_pts=783104"
    );
    let whole = AudioSpan::Whole { start: 480_000, fragment: Duration::from_secs(4) };
    assert_eq!(
        filters(&whole, Downmix::Layout, None),
        "atrim=start=10.000000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=480000,\
         aformat=sample_fmts=fltp:channel_layouts=stereo,atrim=start_pts=480000"
    );
}

#[test]
fn gain_and_limiter_precede_the_cut() {
    let piece = AudioSpan::Piece(480_000 + 100 * 1024..480_000 + 294 * 1024);
    let level = AudioLevel { gain_centibels: -1205, is_limited: false };
    assert_eq!(
        filters(&piece, Downmix::Layout, Some(level)),
        "atrim=start=11.960000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=574080,\
         aformat=sample_fmts=fltp:channel_layouts=stereo,volume=volume=-12.05dB:precision=float,\
         apad,atrim=start_pts=580352:end_pts=783104"
    );
    // A second before, on the same grid.
    let level = AudioLevel { gain_centibels: 350, is_limited: true };
    assert_eq!(
        filters(&piece, Downmix::Layout, Some(level)),
        "atrim=start=10.960000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=526080,\
         aformat=sample_fmts=fltp:channel_layouts=stereo,volume=volume=3.50dB:precision=float,\
         aresample=192000,alimiter=limit=0.7:attack=5:release=100:level=disabled:latency=1,\
         aresample=48000,aformat=sample_fmts=fltp:channel_layouts=stereo,\
         apad,atrim=start_pts=580352:end_pts=783104"
    );
}

#[test]
fn invalid_audio_span_is_rejected() {
    let whole = |start, millis| AudioSpan::Whole { start, fragment: Duration::from_millis(millis) };
    let cases = [
        (whole(0, 4000), true),
        (whole(0, 99), false),
        (whole(0, 60_001), false),
        (whole(SAMPLES_MAX + 1, 4000), false),
        (AudioSpan::Piece(5..5 + 1024), true),
        (AudioSpan::Piece(5..5), false),
        (AudioSpan::Piece(0..1025), false),
        (AudioSpan::Piece(SAMPLES_MAX..SAMPLES_MAX + 1024), false),
    ];
    for (span, is_possible) in cases {
        assert_eq!(span.check().is_ok(), is_possible, "{span:?}");
    }
}

/// The samples in front of the encoder.
async fn pcm(engine: &Engine, input: &Bytes, span: &AudioSpan, level: Option<AudioLevel>) -> Vec<f32> {
    let mut arguments = stdin_arguments(FeedContainer::Mp4, 1);
    push(&mut arguments, ["-copyts", "-map", "0:a:0", "-af", &filters(span, Downmix::Layout, level)]);
    push(&mut arguments, ["-c:a", "pcm_f32le", "-f", "f32le", "pipe:1"]);
    let limits = Limits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 64 << 20,
        file_max: 0,
    };
    let (input, files, priority) = (input.clone(), Files::default(), Priority::Viewer);
    let job = Job { kind: "pcm", arguments, input, files, limits, priority, is_probe: false };
    let bytes = engine.run(job).await.unwrap();
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// A track with loud and quiet passages, from second 10 on.
#[allow(clippy::disallowed_methods, reason = "makes the input")]
fn varied_track() -> Bytes {
    let channel = |frequency: u32| {
        format!(
            "0.3*sin(2*PI*{frequency}*t)*(0.55+0.45*sin(2*PI*0.37*t))\
             +0.3*sin(2*PI*55*t)*exp(-8*mod(t\\,0.5))+0.2*(random(0)*2-1)*exp(-40*mod(t+0.25\\,0.71))"
        )
    };
    let source = format!("aevalsrc={}|{}:s=48000:d=16", channel(220), channel(333));
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-f", "lavfi", "-i", &source, "-af", "asetpts=PTS+10/TB", "-c:a", "pcm_f32le"])
        // Its times are exact, unlike those of Matroska in milliseconds.
        .args(["-avoid_negative_ts", "disabled", "-use_editlist", "0", "-frag_duration", "500000"])
        .args(["-movflags", "+delay_moov+default_base_moof+frag_discont", "-f", "mov", "pipe:1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.into()
}

/// The largest difference, in decibels of full scale.
fn difference_db(found: &[f32], expected: &[f32]) -> f32 {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    20.0 * differences.fold(0.0_f32, f32::max).log10()
}

#[tokio::test]
async fn limited_pieces_equal_one_run_within_80_db() {
    let engine = Engine::find(Settings::default()).await.unwrap();
    let track = varied_track();
    let whole = AudioSpan::Whole { start: 480_000, fragment: Duration::from_secs(4) };
    let level = |is_limited| Some(AudioLevel { gain_centibels: 1450, is_limited });
    let expected = pcm(&engine, &track, &whole, level(true)).await;
    let plain = pcm(&engine, &track, &whole, level(false)).await;
    assert!(difference_db(&expected, &plain) > -3.0, "the limiter works");
    let mut worst = f32::MIN;
    for frame in [0, 94, 95, 187, 300, 402, 511] {
        let piece = 480_000 + frame * 1024..480_000 + (frame + 188) * 1024;
        // With the margin in front of the piece.
        let margin = if frame == 0 { 2048 } else { 0 };
        let found = pcm(&engine, &track, &AudioSpan::Piece(piece.clone()), level(true)).await;
        let at = |position: u64| usize::try_from(2 * (position - 480_000)).unwrap();
        let expected_piece = &expected[at(piece.start - 2048 + margin)..];
        let found: &[f32] = &found[usize::try_from(2 * margin).unwrap()..];
        assert!(found.len() >= 2 * 188 * 1024);
        let compared = found.len().min(expected_piece.len());
        assert!(compared > 2 * 120 * 1024);
        worst = worst.max(difference_db(&found[..compared], &expected_piece[..compared]));
    }
    assert!(worst < -80.0, "{worst} dB");
}

#[tokio::test]
async fn gain_is_exact() {
    let engine = Engine::find(Settings::default()).await.unwrap();
    let track = varied_track();
    let piece = AudioSpan::Piece(480_000..480_000 + 188 * 1024);
    let plain = pcm(&engine, &track, &piece, None).await;
    for gain_centibels in [-1205, 350, 3000] {
        let levelled =
            pcm(&engine, &track, &piece, Some(AudioLevel { gain_centibels, is_limited: false })).await;
        let factor = 10_f32.powf(f32::from(gain_centibels) / 2000.0);
        let expected: Vec<f32> = plain.iter().map(|sample| sample * factor).collect();
        assert_eq!(levelled.len(), expected.len());
        assert!(difference_db(&levelled, &expected) < -100.0, "{gain_centibels}");
    }
}
