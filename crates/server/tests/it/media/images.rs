//! Every parameter of every image, measured by ffprobe: size and duration of the output are as requested.

use kinora_testkit::fixture;
use serde_json::Value;

use super::probe::measured;
use crate::support::{Answer, TestApp, text};

const STILLS: [&str; 3] = ["thumbnail.jpg", "thumbnail.png", "thumbnail.webp"];

/// Parameters of a thumbnail of 480x270 for 12 s.
const OF_STILLS: [&str; 21] = [
    "",
    "?time=0",
    "?time=7.3",
    "?time=11.96&height=135",
    "?time=100000",
    "?width=101",
    "?height=101",
    "?width=200&height=50",
    "?width=50&height=200",
    "?width=1",
    "?width=4096&height=4096",
    "?width=100&height=100&fit_mode=preserve",
    "?width=100&height=100&fit_mode=stretch",
    "?width=33&height=77&fit_mode=crop",
    "?width=33&height=77&fit_mode=smartcrop&time=3",
    "?width=33&height=77&fit_mode=pad",
    "?width=601&fit_mode=pad",
    "?height=601&fit_mode=crop",
    "?width=1000&height=601&fit_mode=stretch",
    "?width=1&height=1&fit_mode=smartcrop",
    "?fit_mode=pad",
];

/// Parameters of a preview clip.
const OF_CLIPS: [&str; 9] = [
    "",
    "?start=1&end=3",
    "?start=11",
    "?start=11.9&end=20",
    "?start=2.5&end=3.1&fps=10&width=101",
    "?end=1&fps=30&width=640",
    "?end=10&fps=1",
    "?end=0.5&width=1",
    "?end=0.01",
];

/// The body of a response as ffprobe reads it.
async fn probed(answer: &Answer) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &answer.body).unwrap();
    let found = measured(file.path().as_os_str()).await;
    format!("{} {}x{}, {} frames", found.codec, found.width, found.height, found.frames)
        + &found.seconds.map(|seconds| format!(", {seconds:.2} s")).unwrap_or_default()
}

/// An animated WebP (RFC 9649, 2.7), which ffprobe could not read when this test was written.
fn webp(bytes: &[u8]) -> String {
    let number =
        |at: usize, len: usize| (0..len).rev().fold(0, |sum, n| sum << 8 | usize::from(bytes[at + n]));
    assert_eq!(number(4, 4) + 8, bytes.len(), "it is whole");
    let (width, height) = (number(24, 3) + 1, number(27, 3) + 1);
    let (mut at, mut frames, mut ms) = (12, 0, 0);
    while at < bytes.len() {
        let len = number(at + 4, 4);
        if &bytes[at..at + 4] == b"ANMF" {
            let [left, top] = [8, 11].map(|from| number(at + from, 3) * 2);
            let [wide, high] = [14, 17].map(|from| number(at + from, 3) + 1);
            assert!(left + wide <= width && top + high <= height, "a frame lies on the canvas");
            (frames, ms) = (frames + 1, ms + number(at + 20, 3));
        }
        at += 8 + len + len % 2;
    }
    format!("webp {width}x{height}, {frames} frames, {}.{:02} s", ms / 1000, ms % 1000 / 10)
}

/// The sprite sheet of a JSON text: the number and size of its tiles, and the corner that they reach.
fn sheet_text(sheet: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}"));
    let (width, height) = (number(&sheet["tile_width"]), number(&sheet["tile_height"]));
    let tiles = sheet["tiles"].as_array().expect("a list");
    let reach = |side: &str, of: u64| tiles.iter().map(|tile| number(&tile[side]) + of).max().unwrap();
    let steps: std::collections::BTreeSet<_> =
        tiles.windows(2).map(|two| number(&two[1]["start"]) - number(&two[0]["start"])).collect();
    format!(
        "{} tiles of {width}x{height} to {}x{}, {steps:?} s apart, of {} s",
        tiles.len(),
        reach("x", width),
        reach("y", height),
        sheet["duration"],
    )
}

/// The same from WebVTT.
fn cues(text: &str) -> String {
    let cues: Vec<_> = text.split("\n\n").skip(1).collect();
    let corner = |cue: &&str| {
        let (_, rect) = cue.trim().rsplit_once("#xywh=").expect("it names a place");
        let place: Vec<u32> = rect.split(',').map(|number| number.parse().unwrap()).collect();
        (place[0] + place[2], place[1] + place[3])
    };
    let (x, y) = (cues.iter().map(|cue| corner(cue).0).max(), cues.iter().map(|cue| corner(cue).1).max());
    let end = cues.last().and_then(|cue| cue.split(" --> ").nth(1)?.lines().next()).expect("it ends");
    format!("{} cues to {}x{}, until {end}", cues.len(), x.unwrap(), y.unwrap())
}

#[tokio::test]
async fn images_have_requested_size_and_duration() {
    let app = TestApp::options().without_webhook().start().await;
    let wide = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let rotated = app.ready("/b.mp4", fixture::rotated()).await;
    let [wide, turned] = [&wide, &rotated].map(|media| text(&media["playbackIds"][0]["id"]));
    let get = async |playback: &str, file: &str| {
        let answer = app.fetch(&format!("/{playback}/{file}")).await;
        assert_eq!(answer.status, 200, "{file}: {answer:?}");
        answer
    };
    let mut table = String::new();
    for (number, query) in OF_STILLS.into_iter().enumerate() {
        // All formats for the first parameters, one format for the others: parameters do not depend on the
        // format.
        for file in
            STILLS.iter().enumerate().filter(|(n, _)| number == 0 || number % 3 == *n).map(|(_, file)| file)
        {
            table +=
                &format!("{file}{query}: {}\n", probed(&get(wide, &format!("{file}{query}")).await).await);
        }
    }
    for query in ["", "?width=45", "?height=80&time=1", "?width=50&height=50&fit_mode=crop"] {
        let file = format!("thumbnail.jpg{query}");
        table += &format!("turned {file}: {}\n", probed(&get(turned, &file).await).await);
    }
    for query in OF_CLIPS {
        let gif = get(wide, &format!("clip.gif{query}")).await;
        table += &format!("clip.gif{query}: {}\n", probed(&gif).await);
        let moving = get(wide, &format!("clip.webp{query}")).await;
        // A clip of a single frame is a still image.
        let is_moving = moving.body[8..].starts_with(b"WEBPVP8X");
        let found = if is_moving { webp(&moving.body) } else { probed(&moving).await };
        table += &format!("clip.webp{query}: {found}\n");
    }
    table += &format!("turned clip.gif: {}\n", probed(&get(turned, "clip.gif?width=40").await).await);
    for (name, playback) in [("", wide), ("turned ", turned)] {
        for (sheet, query) in [
            ("spritesheet", ""),
            ("advanced-spritesheet", ""),
            ("advanced-spritesheet", "?interval=1"),
            ("advanced-spritesheet", "?interval=7"),
        ] {
            let image = probed(&get(playback, &format!("{sheet}.jpg{query}")).await).await;
            let tiles = sheet_text(&get(playback, &format!("{sheet}.json{query}")).await.json());
            table += &format!("{name}{sheet}{query}: {image}; {tiles}\n");
        }
        for query in ["", "?interval=1"] {
            let cues = cues(&get(playback, &format!("storyboard.vtt{query}")).await.text());
            table += &format!("{name}storyboard.vtt{query}: {cues}\n");
        }
    }
    insta::assert_snapshot!(table);
}
