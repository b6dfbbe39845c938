//! Packages a source into a folder of playlists and segments; the server does the same for each request.
//!
//! `cargo run -p kinora-formats --example package -- clip.mp4 folder`, then play `folder/index.m3u8`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use kinora_formats::Scanner;
use kinora_hls::{MediaPlaylist, MultivariantPlaylist, MultivariantUris};
use kinora_index::{Index, Track};
use kinora_isobmff::write::{READ_GAP_MAX, SegmentHead, init_segment, read_plan, segment_head};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, folder] = arguments.as_slice() else { return Err("usage: package SOURCE FOLDER".into()) };
    let mut source = File::open(source)?;
    let folder = Path::new(folder);

    let index = scan(&mut source)?;
    fs::create_dir_all(folder)?;
    let names: Vec<String> =
        (1..=index.audio_tracks().count()).map(|number| format!("audio-{number}")).collect();
    let audio: Vec<String> = names.iter().map(|name| format!("{name}.m3u8")).collect();
    let uris = MultivariantUris { video: "video.m3u8", audio: &audio };
    fs::write(folder.join("index.m3u8"), MultivariantPlaylist::of(&index, uris).render())?;
    if let Some((track, _)) = index.video() {
        package(&index, track, "video", &mut source, folder)?;
    }
    for ((track, _), name) in index.audio_tracks().zip(&names) {
        package(&index, track, name, &mut source, folder)?;
    }
    Ok(())
}

/// Reads the source once, from its first byte to its last.
fn scan(source: &mut File) -> Result<Index, Box<dyn Error>> {
    let mut scanner = Scanner::new(Some(source.metadata()?.len()));
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = source.read(&mut buffer)?;
        if count == 0 {
            return Ok(scanner.finish()?.into_index()?);
        }
        scanner.push(&buffer[..count])?;
    }
}

fn package(
    index: &Index,
    track: &Track,
    name: &str,
    source: &mut File,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let segments = index.segments(track);
    let init_uri = format!("{name}-init.mp4");
    fs::write(folder.join(&init_uri), init_segment(index, track, 0)?)?;
    let playlist =
        MediaPlaylist { timescale: track.timescale, segments, init_uri: &init_uri, discontinuities: &[] };
    let text = playlist.render(|text, number| {
        let _ = write!(text, "{name}-{number}.m4s");
    });
    fs::write(folder.join(format!("{name}.m3u8")), text)?;
    for number in 0..u32::try_from(segments.len())? {
        let head = segment_head(index, track, number)?;
        fs::write(folder.join(format!("{name}-{number}.m4s")), segment(&head, source)?)?;
    }
    Ok(())
}

/// The head and its ranges of the source, concatenated.
fn segment(head: &SegmentHead, source: &mut File) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut segment = head.bytes.clone();
    for read in read_plan(&head.ranges, READ_GAP_MAX) {
        let mut bytes = vec![0; usize::try_from(read.range.len)?];
        source.seek(SeekFrom::Start(read.range.offset))?;
        source.read_exact(&mut bytes)?;
        for keep in read.needed_ranges {
            segment.extend_from_slice(&bytes[usize::try_from(keep.start)?..usize::try_from(keep.end)?]);
        }
    }
    Ok(segment)
}
