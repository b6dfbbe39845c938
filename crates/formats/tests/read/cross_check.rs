//! The same samples as another parser finds. It loads whole tables and repairs nothing; our tables must be
//! equal.

use kinora_index::{Sample, Track};
use mp4_atom::{Atom, Decode, Moov, Stbl, StszSamples, Trak};

use crate::{fixture, read};

#[test]
fn independent_parser_finds_the_same_samples() {
    for name in [
        "faststart.mp4",
        "moov_at_end.mp4",
        "late_audio.mp4",
        "rotated.mp4",
        "variable_rate.mp4",
        "surround.m4a",
        "hevc_open_gop.mp4",
        "hev1_hdr10.mp4",
        "av1_hlg.mp4",
        "opus.mp4",
        "several_audio.mp4",
    ] {
        let bytes = fixture(name);
        let moov = moov(&bytes);
        for track in read(&bytes).unwrap().tracks {
            let trak = moov.trak.iter().find(|trak| trak.tkhd.track_id == track.source_track).unwrap();
            assert_eq!(track.samples.iter().collect::<Vec<_>>(), samples(&trak.mdia.minf.stbl), "{name}");
            check_track(name, &track, trak, moov.mvhd.timescale);
        }
    }
}

fn moov(bytes: &[u8]) -> Moov {
    let at = bytes.windows(4).position(|window| window == Moov::KIND.as_ref()).unwrap() - 4;
    Moov::decode(&mut &bytes[at..]).unwrap()
}

fn check_track(name: &str, track: &Track, trak: &Trak, movie_timescale: u32) {
    assert_eq!(track.timescale, trak.mdia.mdhd.timescale, "{name}");
    assert_eq!(track.language, trak.mdia.mdhd.language, "{name}");
    let edits = trak.edts.as_ref().and_then(|edts| edts.elst.as_ref()).map_or(&[][..], |elst| &elst.entries);
    let mut shift = 0;
    for edit in edits {
        match edit.media_time {
            None => {
                shift +=
                    (edit.segment_duration * u64::from(track.timescale) / u64::from(movie_timescale)) as i64
            }
            Some(media_time) => shift -= media_time as i64,
        }
    }
    // In these files one track is presented from the start of the movie.
    assert_eq!(track.shift, shift, "{name}");
}

fn samples(stbl: &Stbl) -> Vec<Sample> {
    let sizes = match &stbl.stsz.samples {
        StszSamples::Identical { count, size } => vec![*size; *count as usize],
        StszSamples::Different { sizes } => sizes.clone(),
    };
    let deltas =
        stbl.stts.entries.iter().flat_map(|entry| vec![entry.sample_delta; entry.sample_count as usize]);
    let mut offsets: Vec<i64> = stbl
        .ctts
        .iter()
        .flat_map(|ctts| &ctts.entries)
        .flat_map(|entry| vec![entry.sample_offset; entry.sample_count as usize])
        .collect();
    offsets.resize(sizes.len(), 0);
    let chunks = &stbl.stco.as_ref().unwrap().entries;
    let in_chunk = |chunk: usize| {
        let runs = stbl.stsc.entries.iter().take_while(|run| run.first_chunk as usize <= chunk + 1);
        runs.last().unwrap().samples_per_chunk
    };
    let mut sizes_left = sizes.iter();
    let ranges = chunks.iter().enumerate().flat_map(|(chunk, &start)| {
        let mut at = u64::from(start);
        sizes_left
            .by_ref()
            .take(in_chunk(chunk) as usize)
            .map(|&size| {
                at += u64::from(size);
                (at - u64::from(size), size)
            })
            .collect::<Vec<_>>()
    });
    let mut dts = 0;
    ranges
        .zip(deltas)
        .zip(offsets)
        .enumerate()
        .map(|(n, (((offset, size), duration), composition))| {
            let sample = Sample {
                dts,
                pts: dts + composition,
                duration,
                object: 0,
                offset,
                size,
                is_sync: stbl.stss.as_ref().is_none_or(|stss| stss.entries.contains(&(n as u32 + 1))),
            };
            dts += i64::from(duration);
            sample
        })
        .collect()
}
