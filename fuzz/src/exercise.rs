//! What is promised of any bytes.
//!
//! The fuzzer runs it, and so do the tests of `kinora-formats` on the seeds
//! (`crates/formats/tests/read/seeds.rs`). Only the fuzzer's `memory` counts.

use kinora_formats::Scanner;
use kinora_hls::{
    MediaPlaylist, MultivariantPlaylist, MultivariantUris,
    subtitles::{SubtitleSegments, Subtitles},
};
use kinora_index::{Index, Segment, Track, plan::FEED_SAMPLES_MAX};
use kinora_isobmff::write::{init_segment, segment_head, segment_len_max};
use sha2::{Digest, Sha256};

use super::memory;

/// How a stored index begins, and how the checkpoint of a scanner does: magic, version, checksum.
const INDEX_MAGIC: &[u8] = b"KINORAIX";
const CHECKPOINT_MAGIC: &[u8] = b"KINORASC";
const HEAD_LEN: usize = 8 + 4 + 8;
/// Segments that are packaged of one input: the first ones, the others are made the same way.
const PACKAGED_MAX: usize = 16;

/// Reads a source, a stored index or a checkpoint, and makes of it all that is ever made. Panics when a
/// promise is broken.
pub(crate) fn exercise(data: &[u8]) {
    if data.starts_with(INDEX_MAGIC) {
        // Only we write such bytes, and the checksum keeps them as they were: no more is promised than to
        // read them.
        if let Ok(index) = Index::from_bytes(&with_checksum(data)) {
            let _ = index.facts();
        }
        return;
    }
    if data.starts_with(CHECKPOINT_MAGIC) {
        go_on_from(&with_checksum(data));
        return;
    }
    subtitles(data);
    let Ok(index) = read(data) else { return };
    assert_eq!(index.source_len, data.len() as u64);
    for track in &index.tracks {
        for stretch in track.edit_spans() {
            let mut dts_before = i64::MIN;
            for sample in track.samples.range(stretch.samples) {
                assert!(
                    sample.offset + u64::from(sample.size) <= index.source_len,
                    "{sample:?} lies outside"
                );
                assert!(dts_before < sample.dts, "decode times do not rise at {sample:?}");
                dts_before = sample.dts;
            }
        }
    }
    assert_eq!(Index::from_bytes(&index.to_bytes()).expect("an index reads its own bytes"), index);
    package(&index).expect("what is accepted can be packaged");
}

/// Reads a file of subtitles: what is written of it is read back the same, and segments of it are read, too.
fn subtitles(data: &[u8]) {
    let Ok(subtitles) = Subtitles::read(data) else { return };
    assert!(subtitles.cues.is_sorted_by_key(|cue| cue.start_ms));
    let segments = SubtitleSegments::of_duration(subtitles.cues.last().map_or(0, |cue| cue.end_ms * 1000));
    for number in [0, segments.count() - 1] {
        let segment = segments.segment(&subtitles, number).expect("it is listed");
        Subtitles::read(segment.as_bytes()).expect("a segment is WebVTT");
    }
    let written = subtitles.to_webvtt();
    assert_eq!(Subtitles::read(written.as_bytes()).expect("it is WebVTT"), subtitles);
}

/// The index of a source, if it is one that plays.
pub(crate) fn read(data: &[u8]) -> Result<Index, kinora_isobmff::ReadError> {
    // In two pieces, with a scanner that moves in between: how the bytes arrive, and where, changes nothing.
    let (head, rest) = data.split_at(data.len() / 2);
    let mut scanner = Scanner::new(Some(data.len() as u64));
    scanner.push(head)?;
    let mut scanner = moved(&mut scanner);
    scanner.push(rest)?;
    moved(&mut scanner).finish()?.into_index()
}

fn moved(scanner: &mut Scanner) -> Scanner {
    Scanner::from_checkpoint(&scanner.to_checkpoint()).expect("a scanner reads its own bytes")
}

/// The checkpoint of a scanner that has taken a source up to its last half, third or other part.
pub(crate) fn checkpoint(data: &[u8], part: usize) -> Vec<u8> {
    let mut scanner = Scanner::new(Some(data.len() as u64));
    let _ = scanner.push(&data[..data.len() - data.len() / part]);
    scanner.to_checkpoint()
}

/// Continues from any checkpoint: it takes little memory, and the scan reaches its end.
fn go_on_from(bytes: &[u8]) {
    let scanner = memory::within(memory::CHECKPOINT, bytes.len(), || Scanner::from_checkpoint(bytes));
    let Ok(mut scanner) = scanner else { return };
    assert_eq!(scanner.to_checkpoint().get(..HEAD_LEN - 8), bytes.get(..HEAD_LEN - 8));
    // Something to end a box or an element with, and then a file: of boxes, as the other half of none is at
    // hand.
    for more in [&[0; 300][..], b"\0\0\0\x18moof\0\0\0\x10traf\0\0\0\x08tfhd", &[0xff; 100], bytes] {
        let _ = scanner.push(more);
    }
    let _ = moved(&mut scanner).finish();
}

/// Makes init segments, the heads of segments and playlists.
fn package(index: &Index) -> Result<(), String> {
    let _ = index.facts();
    let audio: Vec<String> =
        index.audio_tracks().map(|(track, _)| format!("a{}", track.source_track)).collect();
    let uris = MultivariantUris { video: "v", audio: &audio };
    let _ = MultivariantPlaylist::of(index, uris).render();
    for track in &index.tracks {
        if track.media.sample_entry().iso().is_some() {
            init_segment(index, track, 0).map_err(|error| error.to_string())?;
        }
        if track.media.not_copied().is_some() {
            continue;
        }
        let segments = index.segments(track);
        let playlist =
            MediaPlaylist { timescale: track.timescale, segments, init_uri: "i", discontinuities: &[] };
        let _ = playlist.render(|_, _| {});
        follow_one_another(track, segments)?;
        for (number, segment) in (0..).zip(segments).take(PACKAGED_MAX) {
            let head = segment_head(index, track, number).map_err(|error| format!("{error}: {error:?}"))?;
            if head.total_len > segment_len_max(track, segment) {
                return Err(format!("segment {number} is longer than its bound"));
            }
        }
    }
    encode(index)
}

/// Checks the input of encoders: each video segment has the samples that it needs, and audio is cut on one
/// grid.
fn encode(index: &Index) -> Result<(), String> {
    if let Some((track, video)) = index.video() {
        let segments = &index.plan.encoded_video;
        if video.not_copied.is_some() && segments.is_empty() {
            return Err("video that is neither copied nor encoded".into());
        }
        if !segments.is_empty() {
            follow_one_another(track, segments)?;
        }
        let has_keys = track.samples.iter().any(|sample| sample.is_sync);
        for segment in segments {
            let mut fed = track.samples.range(segment.samples.clone());
            let first = fed.next().ok_or_else(|| format!("{segment:?} shows nothing"))?;
            if segment.samples.end > track.samples.len() || (has_keys && !first.is_sync) {
                return Err(format!("{segment:?} cannot be decoded"));
            }
            if segment.samples.end - segment.samples.start > FEED_SAMPLES_MAX {
                return Err(format!("{segment:?} is too much"));
            }
        }
    }
    for (cuts, (track, audio)) in index.plan.encoded_audio.iter().zip(index.audio_tracks()) {
        let rises = cuts.windows(2).all(|pair| pair[0] < pair[1]);
        let is_whole = cuts.first() == Some(&0) && 1 < cuts.len();
        if !rises || !is_whole && (audio.not_copied.is_some() || !cuts.is_empty()) {
            return Err(format!("the sound of track {} is cut at {cuts:?}", track.source_track));
        }
    }
    Ok(())
}

/// Segments begin at 0, leave no gap, and end with their track.
fn follow_one_another(track: &Track, segments: &[Segment]) -> Result<(), String> {
    let mut end = 0;
    for segment in segments {
        if segment.start != end || segment.end <= segment.start {
            return Err(format!("{segment:?} behind {end}"));
        }
        end = segment.end;
    }
    if end == track.end {
        Ok(())
    } else {
        Err(format!("the last segment ends at {end}, not at {}", track.end))
    }
}

/// Stored bytes with the checksum that belongs to them: nothing random would ever have it.
fn with_checksum(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    if let Some((head, body)) = bytes.split_at_mut_checked(HEAD_LEN) {
        head[12..].copy_from_slice(&Sha256::digest(&*body)[..8]);
    }
    bytes
}
