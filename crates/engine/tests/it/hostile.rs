//! Input that names files and addresses: none is opened, and nothing of them appears in output or logs.
//!
//! Each attack is first tried on an ffmpeg without confinement that detects the format itself, to see that
//! it works.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{
    AudioEncode, AudioSpan, Downmix, EncodeLimits, Engine, EngineError, FeedContainer, Fit, ImageFormat,
    Priority, Remux, RemuxInput, RemuxOutput, RemuxTracks, ThumbnailSpec,
};
use tempfile::TempDir;

use crate::fixture::{Pixels, engine, ffmpeg, video};

/// The words in the canary's file, and its colour: neither may appear.
const WORDS: &str = "canary-5e0c4f";
const COLOUR: [u8; 3] = [0xe0, 0x10, 0x90];

/// A video that only this test may read.
struct Canary {
    folder: TempDir,
}

impl Canary {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("flat.mp4"), video("color=c=0xe01090:s=64x36:r=30:d=0.2", "")).unwrap();
        // The index at the end, so that its sample positions stay valid when it is used alone.
        let name = format!("-i flat.mp4 -c copy -metadata title={WORDS} canary.mp4");
        assert!(ffmpeg(folder.path(), &name).status.success());
        Self { folder }
    }

    fn path(&self) -> String {
        self.folder.path().join("canary.mp4").to_str().unwrap().to_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("canary.mp4")).unwrap()
    }

    /// Whether an ffmpeg without confinement shows the canary when it reads `attack` in this way.
    fn is_shown_by(&self, attack: &[u8], how: &str) -> bool {
        fs::write(self.folder.path().join("attack"), attack).unwrap();
        let shown =
            ffmpeg(self.folder.path(), &format!("{how} -i attack -frames:v 1 -c:v png -f image2pipe pipe:1"));
        !shown.stdout.is_empty() && looks_like_canary(&shown.stdout)
    }
}

fn looks_like_canary(image: &[u8]) -> bool {
    Pixels::of(image).middle().iter().zip(COLOUR).all(|(found, canary)| found.abs_diff(canary) < 24)
}

/// Log output of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || log.clone()).with_max_level(tracing::Level::TRACE);
        tracing::subscriber::set_default(subscriber.finish())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// Passes `attack` to every operation that takes bytes, and checks that each rejects it without a trace of
/// the canary.
async fn check_refused(engine: &Engine, canary: &Canary, attack: &[u8], what: &str) {
    let log = Log::default();
    let guard = log.capture();
    let mut errors = Vec::new();
    for format in [ImageFormat::Jpg, ImageFormat::Png, ImageFormat::Webp] {
        for at in [None, Some(Duration::ZERO)] {
            let spec = ThumbnailSpec { fit: Fit::Within { width: None, height: None }, format };
            match engine.thumbnail(Bytes::copy_from_slice(attack), at, spec).await {
                Ok(image) => {
                    panic!("{what} gave a picture, of the canary: {}", looks_like_canary(&image))
                }
                Err(error) => errors.push(error),
            }
        }
    }
    match engine.probe_decode(Bytes::copy_from_slice(attack)).await {
        Ok(report) => assert_eq!(report.frames, 0, "{what}"),
        Err(error) => errors.push(error),
    }
    errors.extend(check_streams(engine, canary, attack, what).await);
    drop(guard);
    for error in &errors {
        assert!(matches!(error, EngineError::Failed { .. } | EngineError::NoFrame), "{what}: {error:?}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains(WORDS) && !text.contains(&canary.path()), "{what}: {text}");
    }
    assert!(!log.text().is_empty(), "the failures are logged");
    assert!(!log.text().contains(WORDS), "{what}: {}", log.text());
}

/// As [`check_refused`], for the operations that stream their output.
async fn check_streams(engine: &Engine, canary: &Canary, attack: &[u8], what: &str) -> Vec<EngineError> {
    let file = canary.folder.path().join("attack");
    fs::write(&file, attack).unwrap();
    let feed = || stream::iter([Ok(Bytes::copy_from_slice(attack))]);
    let remux = Remux {
        tracks: RemuxTracks::All,
        input: RemuxInput::Mov,
        output: RemuxOutput::Mp4,
        scratch: canary.folder.path().to_owned(),
        priority: Priority::Viewer,
        limits: EncodeLimits {
            deadline: Duration::from_secs(600),
            cpu: Duration::from_secs(600),
            memory_bytes: 256 << 20,
            output_max: 1 << 20,
        },
    };
    let audio = AudioEncode {
        container: FeedContainer::Matroska,
        span: AudioSpan::Whole { start: 0, fragment: Duration::from_secs(1) },
        downmix: Downmix::Layout,
        level: None,
        priority: Priority::Viewer,
        limits: remux.limits,
    };
    let runs = [
        engine.remux_file(remux.clone(), &file),
        engine.remux(Remux { input: RemuxInput::MpegTs, ..remux }, feed()),
        engine.encode_audio(audio, feed()),
    ];
    let mut errors = Vec::new();
    for mut run in runs {
        let mut output = Vec::new();
        while let Some(chunk) = run.chunk().await {
            match chunk {
                Ok(bytes) => output.extend_from_slice(&bytes),
                Err(error) => errors.push(error),
            }
        }
        // An index whose samples are elsewhere gives an empty output at most.
        assert!(!output.windows(WORDS.len()).any(|words| words == WORDS.as_bytes()), "{what}");
        assert!(output.len() < 1500, "{what} gave {} bytes", output.len());
    }
    errors
}

#[tokio::test]
async fn ffconcat_concat_and_subfile_are_never_followed() {
    let (engine, canary) = (engine().await, Canary::new());
    let list = format!("ffconcat version 1.0\nfile {}\n", canary.path());
    assert!(canary.is_shown_by(list.as_bytes(), "-safe 0"));
    check_refused(&engine, &canary, list.as_bytes(), "ffconcat").await;
    check_refused(
        &engine,
        &canary,
        format!("concat:{}|{}", canary.path(), canary.path()).as_bytes(),
        "concat:",
    )
    .await;
    check_refused(
        &engine,
        &canary,
        format!("subfile,,start,0,end,0,,:{}", canary.path()).as_bytes(),
        "subfile",
    )
    .await;
}

#[tokio::test]
async fn hls_playlist_is_never_followed() {
    let (engine, canary) = (engine().await, Canary::new());
    let playlist = |address: &str| {
        format!("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{address}\n#EXT-X-ENDLIST\n").into_bytes()
    };
    let by_path = playlist(&format!("file://{}", canary.path()));
    assert!(canary.is_shown_by(&by_path, "-protocol_whitelist file,crypto,data -allowed_extensions ALL"));
    check_refused(&engine, &canary, &by_path, "an HLS playlist").await;
    check_refused(
        &engine,
        &canary,
        &playlist(&format!("concat:{}", canary.path())),
        "an HLS playlist of concat:",
    )
    .await;
    check_refused(
        &engine,
        &canary,
        &playlist(&format!("crypto+file://{}", canary.path())),
        "an HLS playlist of crypto",
    )
    .await;
}

#[tokio::test]
async fn data_in_another_file_is_never_fetched() {
    let (engine, canary) = (engine().await, Canary::new());
    let attack = with_data_elsewhere(&canary.bytes(), &canary.path());
    assert!(canary.is_shown_by(&attack, "-enable_drefs 1 -use_absolute_path 1 -f mov"));
    check_refused(&engine, &canary, &attack, "an index whose data is elsewhere").await;
}

#[tokio::test]
async fn network_addresses_are_never_contacted() {
    let (engine, canary) = (engine().await, Canary::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let media =
        format!("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nhttp://{address}/a.ts\n#EXT-X-ENDLIST\n");
    let port = address.port();
    let session =
        format!("v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} TCP 33\n");
    let attacks = [
        ("an HLS playlist", media),
        ("an HLS master", format!("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nhttp://{address}/a.m3u8\n")),
        ("an ffconcat list", format!("ffconcat version 1.0\nfile http://{address}/a.mp4\n")),
        ("a DASH manifest", format!("<MPD><BaseURL>http://{address}/</BaseURL></MPD>")),
        ("an SDP file", session),
        ("an RTSP redirect", format!("RTSPtextRTSP://{address}/a\n")),
    ];
    // An unconfined ffmpeg connects: otherwise the missing connection below would prove nothing.
    fs::write(canary.folder.path().join("attack"), &attacks[0].1).unwrap();
    let free = std::thread::scope(|scope| {
        let calls = "-protocol_whitelist file,http,tcp -rw_timeout 100000 -i attack -f null -";
        scope.spawn(|| ffmpeg(canary.folder.path(), calls)).join().unwrap()
    });
    assert!(!free.status.success());
    assert!(listener.accept().is_ok(), "a free ffmpeg calls");
    while listener.accept().is_ok() {}

    for (what, attack) in attacks {
        check_refused(&engine, &canary, attack.as_bytes(), what).await;
        let called = listener.accept();
        assert_eq!(called.unwrap_err().kind(), io::ErrorKind::WouldBlock, "{what} called");
    }
}

/// The index of `mp4` alone, with a reference to samples in the file at `path`.
///
/// QuickTime File Format, data reference atoms: an alias record that contains an absolute path.
fn with_data_elsewhere(mp4: &[u8], path: &str) -> Vec<u8> {
    let boxed = |kind: &[u8; 4], body: &[u8]| {
        let size = u32::try_from(body.len() + 8).unwrap().to_be_bytes();
        [&size[..], kind, body].concat()
    };
    // Version and flags, 146 ignored bytes, a record of kind 2 (the path), the end.
    let length = u16::try_from(path.len()).unwrap().to_be_bytes();
    let padding: &[u8] = if path.len() % 2 == 1 { b"\0" } else { b"" };
    let record =
        [&[0; 4 + 150][..], &2_u16.to_be_bytes(), &length, path.as_bytes(), padding, &[0xff, 0xff, 0, 0]]
            .concat();
    let alias = boxed(b"alis", &record);
    let references = boxed(b"dref", &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &alias].concat());

    let start = |kind: &[u8; 4]| mp4.windows(4).position(|name| name == kind).unwrap() - 4;
    let size = |at: usize| u32::from_be_bytes(mp4[at..at + 4].try_into().unwrap());
    let (dref, moov) = (start(b"dref"), start(b"moov"));
    let after = dref + usize::try_from(size(dref)).unwrap();
    let end = moov + usize::try_from(size(moov)).unwrap();
    let mut index = [&mp4[moov..dref], &references, &mp4[after..end]].concat();
    let grown = u32::try_from(references.len()).unwrap() - size(dref);
    for kind in [b"moov", b"trak", b"mdia", b"minf", b"dinf"] {
        let at = start(kind) - moov;
        index[at..at + 4].copy_from_slice(&(size(start(kind)) + grown).to_be_bytes());
    }
    [&mp4[..start(b"ftyp") + usize::try_from(size(start(b"ftyp"))).unwrap()], &index].concat()
}

#[test]
fn canary_is_visible_without_sandbox() {
    let canary = Canary::new();
    assert!(canary.bytes().windows(WORDS.len()).any(|words| words == WORDS.as_bytes()));
    assert!(Path::new(&canary.path()).is_absolute());
}
