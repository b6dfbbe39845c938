//! Levelled audio has the loudness of the target and no peak above -1 dBTP, by an independent judge.

use std::fs;
use std::sync::Arc;

use bytes::Bytes;
use ebur128::{EbuR128, Mode};
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{AudioGain, Loudness, LoudnessTarget, PresentationId, Resolution, TrackLoudness};
use kinora_index::{Index, SourcePart};
use kinora_packager::{
    AddedTracks, EncodedAudio, Mp4File, Mp4FileLimits, Packaged, Rendition, RenditionFilter,
};
use kinora_testkit::fixture;

use crate::audio::{decoded, snr};
use crate::world::{TestServer, on_demand_client};

const RATE: u32 = 48_000;

/// Audio of the graph in an M4A file, coded with these options.
#[allow(clippy::disallowed_methods, reason = "makes the source")]
fn file(graph: &str, options: &str) -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audio.m4a");
    let output = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-f", "lavfi", "-i", graph])
        .args(options.split(' '))
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(path).unwrap().into()
}

const AAC: &str = "-c:a aac -b:a 256000";

/// Syllables of coloured noise and a voice with harmonics, with pauses.
fn speech(gain_db: i32) -> Bytes {
    let syllables = "(0.1+0.9*gt(sin(2*PI*3.7*t)\\,-0.2))*(0.6+0.4*sin(2*PI*0.31*t))*lt(mod(t\\,5)\\,4.2)";
    let voice = "0.12*(sin(2*PI*140*t)+0.6*sin(2*PI*280*t)+0.4*sin(2*PI*560*t)+0.2*sin(2*PI*1680*t))";
    file(
        &format!("aevalsrc={syllables}*({voice}+0.03*(random(0)*2-1)):s=48000:d=20,volume={gain_db}dB"),
        &format!("{AAC} -ac 1"),
    )
}

/// Chords, a bass and drums, as it comes from `channel_layout` speakers.
fn music_graph(gain_db: i32) -> String {
    let drums = "0.3*sin(2*PI*55*t)*exp(-8*mod(t\\,0.5))+0.2*(random(0)*2-1)*exp(-40*mod(t+0.25\\,0.5))";
    let chord = |a: u32, b: u32| {
        format!(
            "0.2*sin(2*PI*{a}*t)*(0.6+0.4*sin(2*PI*0.5*t))+0.15*sin(2*PI*{b}*t)*exp(-4*mod(t\\,0.5))+{drums}"
        )
    };
    format!(
        "aevalsrc={}|{}:s=48000:d=20,volume={gain_db}dB:precision=double",
        chord(220, 331),
        chord(277, 440)
    )
}

fn music(gain_db: i32) -> Bytes {
    file(&music_graph(gain_db), AAC)
}

/// Quiet speech with claps near full scale.
fn quiet_with_claps() -> Bytes {
    let speech = "0.012*(0.1+0.9*gt(sin(2*PI*3.7*t)\\,-0.2))*(sin(2*PI*140*t)+0.6*sin(2*PI*560*t))";
    let claps = "0.6*(random(0)*2-1)*exp(-200*mod(t+2\\,7.3))";
    file(&format!("aevalsrc={speech}+{claps}|{speech}+{claps}:s=48000:d=20"), AAC)
}

/// The samples of a file as stereo, interleaved.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn stereo(file: &[u8]) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audio.mp4");
    fs::write(&path, file).unwrap();
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-i"])
        .arg(&path)
        .args("-map 0:a:0 -ar 48000 -ac 2 -f f32le pipe:1".split(' '))
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    decoder.stdout.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Integrated loudness in LUFS and true peak in dBTP, by another implementation.
fn judged(file: &[u8]) -> (f64, f64) {
    let mut judge = EbuR128::new(2, RATE, Mode::I | Mode::TRUE_PEAK).unwrap();
    judge.add_frames_f32(&stereo(file)).unwrap();
    let peak = judge.true_peak(0).unwrap().max(judge.true_peak(1).unwrap());
    (judge.loudness_global().unwrap(), 20.0 * peak.log10())
}

/// The whole encoded rendition, segment by segment.
async fn encoded(world: &TestServer, packaged: &Arc<Packaged>, audio: EncodedAudio) -> Vec<u8> {
    world.packager.backfill_audio(packaged, audio, |_| {}).await.unwrap();
    let mut file = packaged.init(audio.rendition(), 0).unwrap().to_vec();
    let count = packaged.index().plan.encoded_audio[usize::from(audio.track)].len() - 1;
    for number in 0..u32::try_from(count).unwrap() {
        file.extend(segment(world, packaged, audio, number).await);
    }
    file
}

async fn segment(world: &TestServer, packaged: &Arc<Packaged>, audio: EncodedAudio, number: u32) -> Vec<u8> {
    let made = world.packager.encoded_audio_segment(packaged, audio, number, on_demand_client());
    let segment = made.await.unwrap();
    let len = segment.total_len();
    segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat()
}

/// Levels the first track, and has the result judged.
async fn check(source: Bytes, what: &str) -> TrackLoudness {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(source).await;
    let levelled = world.packager.level(&packaged, 0, LoudnessTarget::DEFAULT).await.unwrap();
    let audio = EncodedAudio { track: 0, gain: levelled.gain };
    let (loudness, peak) = judged(&encoded(&world, &packaged, audio).await);
    assert!((loudness + 16.0).abs() <= 0.5, "{what}: {loudness} LUFS, {levelled:?}");
    assert!(peak <= -1.0, "{what}: {peak} dBTP, {levelled:?}");
    let after = f64::from(levelled.after.integrated.unwrap()) / 100.0;
    assert!((loudness - after).abs() <= 0.3, "{what}: measured {after}, judged {loudness}");
    levelled
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_speech_is_raised() {
    let levelled = check(speech(-14), "speech").await;
    assert!(levelled.gain.unwrap().centibels > 500, "{levelled:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loud_and_clipped_music_is_lowered_without_a_limiter() {
    for gain_db in [4, 18] {
        // ALAC stores clipped samples as they are.
        let clipped = file(&format!("{},aformat=sample_fmts=s16p", music_graph(gain_db)), "-c:a alac");
        let gain = check(clipped, "clipped music").await.gain.unwrap();
        assert!(gain.centibels < -100 && !gain.is_limited, "{gain:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quiet_recording_with_claps_is_raised_with_a_limiter() {
    let levelled = check(quiet_with_claps(), "quiet with claps").await;
    let gain = levelled.gain.unwrap();
    assert!(gain.is_limited && gain.centibels > 1500, "{levelled:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mono_at_8_khz_is_levelled() {
    let source = file(
        "aevalsrc=0.03*(sin(2*PI*200*t)+sin(2*PI*1100*t))*(0.2+0.8*gt(sin(2*PI*3*t)\\,0)):s=8000:d=20",
        "-c:a aac -b:a 24000",
    );
    assert!(check(source, "8 kHz").await.gain.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn surround_of_8_channels_is_levelled_as_stereo() {
    let channels =
        (0..8).map(|n| format!("0.05*sin(2*PI*{}*t)*(0.5+0.5*sin(2*PI*0.{}*t))", 200 + 111 * n, n + 1));
    let graph = format!("aevalsrc={}:c=7.1:s=48000:d=20", channels.collect::<Vec<_>>().join("|"));
    assert!(check(file(&graph, "-c:a aac -b:a 512000"), "7.1").await.gain.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_and_audio_at_the_target_get_no_gain() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(file("anullsrc=r=48000:cl=stereo:d=8", AAC)).await;
    let silent = Loudness { integrated: None, range: 0, true_peak: Loudness::SILENT_PEAK };
    let unchanged = TrackLoudness { before: silent, gain: None, after: silent };
    assert_eq!(world.packager.level(&packaged, 0, LoudnessTarget::DEFAULT).await.unwrap(), unchanged);

    let music = world.store_of_media(music(-4)).await;
    let before = world.packager.measure_loudness(&music, 0, None).await.unwrap();
    let lufs = i8::try_from((before.integrated.unwrap() - 50).div_euclid(100) + 1).unwrap();
    let target = LoudnessTarget::new(lufs).unwrap();
    let kept = world.packager.level(&music, 0, target).await.unwrap();
    assert_eq!(kept, TrackLoudness { before, gain: None, after: before });
}

/// Segments that were made one by one, in any order, equal those of one run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limited_segments_join_without_clicks() {
    let gain = AudioGain { centibels: 1400, is_limited: true };
    let audio = EncodedAudio { track: 0, gain: Some(gain) };
    let source = music(0);
    let world = TestServer::new().await;
    let packaged = world.store_of_media(source.clone()).await;
    let whole = decoded(&encoded(&world, &packaged, audio).await);

    let other = TestServer::new().await;
    let again = other.store_of_media(source).await;
    let cuts = again.index().plan.encoded_audio[0].clone();
    let count = u32::try_from(cuts.len() - 1).unwrap();
    assert!(count >= 4);
    let mut segments = vec![Vec::new(); cuts.len() - 1];
    for number in (0..count).rev() {
        // Each is a run of its own.
        let packager = other.another_packager().await;
        let made = packager.encoded_audio_segment(&again, audio, number, on_demand_client()).await.unwrap();
        let len = made.total_len();
        segments[number as usize] =
            made.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat();
    }
    let file = [again.init(audio.rendition(), 0).unwrap().to_vec(), segments.concat()].concat();
    let joined = decoded(&file);
    assert_eq!(joined.len(), whole.len());
    for cut in &cuts[1..cuts.len() - 1] {
        let at = usize::try_from(cut * 1024).unwrap();
        let found = snr(&whole, &joined, at - 4800..at + 4800);
        assert!(found > 20.0, "{found} dB at {at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn levelled_rendition_replaces_copy_and_encode() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    let gain = AudioGain { centibels: 350, is_limited: true };
    let manifest = async |levels: &[Option<AudioGain>]| {
        let (filter, added) = (RenditionFilter::default(), AddedTracks::default());
        let made = world.packager.multivariant(&packaged, "", Resolution::P1080, filter, added, levels).await;
        made.unwrap().unwrap()
    };
    let plain = manifest(&[]).await;
    assert!(plain.contains("URI=\"audio/playlist.m3u8\""), "{plain}");
    assert_eq!(manifest(&[None]).await, plain);
    let levelled = manifest(&[Some(gain)]).await;
    assert!(levelled.contains("URI=\"aac-up350-limited/playlist.m3u8\""), "{levelled}");
    assert!(!levelled.contains("\"audio/") && !levelled.contains("\"aac/"), "{levelled}");
    let only = world.packager.audio_only(&packaged, "", AddedTracks::default(), &[Some(gain)]).await;
    let only = only.unwrap().unwrap();
    assert!(only.contains("aac-up350-limited/playlist.m3u8") && only.contains("mp4a.40.2"), "{only}");

    let limits = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    let rendition = Rendition::Levelled { audio: 0, gain };
    let levels = world.packager.playable_levels(&packaged, &[Some(gain)]).await.unwrap();
    assert_eq!(Mp4File::AudioOnly.renditions(&packaged, limits, &levels), Some(vec![rendition]));
    assert_eq!(
        Mp4File::Capped4k.renditions(&packaged, limits, &levels),
        Some(vec![Rendition::Video, rendition])
    );

    // A rendition that turned out to be broken is not offered.
    let audio = EncodedAudio { track: 0, gain: Some(gain) };
    world.packager.withdraw_audio(&packaged, audio).await.unwrap();
    assert_eq!(manifest(&[Some(gain)]).await, plain);
    assert_eq!(world.packager.playable_levels(&packaged, &[Some(gain)]).await.unwrap(), [None]);
}

/// Two parts of other loudness, with a joint inside a segment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joined_parts_are_measured_and_levelled_as_one() {
    let world = TestServer::new().await;
    let mut sources = Vec::new();
    for gain_db in [-20, -8] {
        let graph = format!("testsrc=size=64x64:rate=10:d=20[out0];{}[out1]", music_graph(gain_db));
        let source = world.source();
        let video = format!("-c:v libx264 -g 20 -pix_fmt yuv420p {AAC}");
        sources.push((source, world.store_as(source, file(&graph, &video)).await));
    }
    let parts = sources.iter().map(|(source, packaged)| SourcePart {
        source: *source.as_uuid().as_bytes(),
        index: packaged.index(),
        range_us: 3_700_000..13_300_000,
    });
    let index = Index::of_parts(&parts.collect::<Vec<_>>(), 0).unwrap();
    let presentation = world.source();
    world.media_of(presentation).await;
    let presentation = PresentationId::of(presentation);
    world.blob.put_once(ObjectKey::Index(presentation), index.to_bytes().into()).await.unwrap();
    let packaged = world.packager.packaged(presentation).await.unwrap();

    let before = world.packager.measure_loudness(&packaged, 0, None).await.unwrap();
    let (loudness, _) = judged(&encoded(&world, &packaged, 0.into()).await);
    assert!((loudness - f64::from(before.integrated.unwrap()) / 100.0).abs() <= 0.2, "{before:?} {loudness}");

    let gain = AudioGain { centibels: 1200, is_limited: true };
    let after = world.packager.measure_loudness(&packaged, 0, Some(gain)).await.unwrap();
    let file = encoded(&world, &packaged, EncodedAudio { track: 0, gain: Some(gain) }).await;
    let (loudness, peak) = judged(&file);
    assert!((loudness - f64::from(after.integrated.unwrap()) / 100.0).abs() <= 0.2, "{after:?} {loudness}");
    assert!(peak <= -1.0, "{peak}");
    assert_eq!(after.true_peak, AudioGain::LIMITED_PEAK);
}
