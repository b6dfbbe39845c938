//! Recordings of many hours: their tables are complete, their samples overlap in a small file.

use kinora_formats::Scanner;
use kinora_index::{Index, Track};
use kinora_isobmff::MOOV_LEN_MAX;

use crate::{
    fixture,
    patch_boxes::{boxed, changed, table, words},
    read,
};

const HOURS: u32 = 12;
/// Samples of one chunk: half a second of video.
const IN_CHUNK: u32 = 30;
const FRAMES: u32 = HOURS * 3600 * 60;
const PACKETS: u32 = HOURS * 3600 * 48_000 / 1024;
/// Bytes that all chunks share.
const DATA_LEN: usize = 300_000;

/// A file of 12 h at 60 frames per second with B-frames and a keyframe every 2 s, and of audio at 48 kHz.
fn twelve_hours() -> Vec<u8> {
    let file = fixture("moov_at_end.mp4");
    let ctts: Vec<u32> = (0..FRAMES).flat_map(|frame| [1, [256, 512, 0][frame as usize % 3]]).collect();
    let sizes = |count: u32| (0..count).map(|number| 1000 + number % 4000 * 7919 % 4000).collect::<Vec<_>>();
    let offsets = |count: u32, first: u64| {
        let chunks = count.div_ceil(IN_CHUNK);
        let all = (0..u64::from(chunks)).flat_map(|chunk| (first + chunk * 7919 % 100_000).to_be_bytes());
        [words(&[0, chunks]), all.collect()].concat()
    };
    let tables = |delta: u32, count: u32, first: u64, more: &[Vec<u8>]| {
        [
            boxed("stts", &words(&[0, 1, count, delta])),
            boxed("stsz", &words(&[&[0, 0, count][..], &sizes(count)].concat())),
            boxed("stsc", &words(&[0, 1, 1, IN_CHUNK, 1])),
            boxed("co64", &offsets(count, first)),
            more.concat(),
        ]
        .concat()
    };
    let syncs: Vec<u32> = (0..FRAMES.div_ceil(120)).map(|gop| gop * 120 + 1).collect();
    let video = [
        boxed("ctts", &words(&[&[0, FRAMES][..], &ctts].concat())),
        boxed("stss", &words(&[&[0, syncs.len() as u32][..], &syncs].concat())),
    ];
    let video = tables(256, FRAMES, 48, &video);
    let audio = tables(1024, PACKETS, 48, &[]);
    let described = |stbl: &[u8], tables: &[u8]| {
        let stsd = u32::from_be_bytes(stbl[..4].try_into().unwrap()) as usize;
        [&stbl[..stsd], tables].concat()
    };
    let stbl = &table("stts")[..5];
    let elst = ["moov", "trak", "edts", "elst"];
    let file = changed(&file, &elst, &|_| words(&[0, 0]));
    let file = changed(&file, stbl, &|stbl| described(stbl, &video));
    let file = changed(&file, &["moov"], &|moov| {
        // The second track: its boxes follow the first.
        let at = moov.windows(4).rposition(|window| window == b"trak").unwrap() - 4;
        let track = changed(&moov[at..], &stbl[1..], &|stbl| described(stbl, &audio));
        let track = changed(&track, &elst[1..], &|_| words(&[0, 0]));
        [&moov[..at], &track].concat()
    });
    let at = file.windows(4).position(|window| window == b"moov").unwrap() - 4;
    let moov = &file[at..];
    assert!((38 << 20..MOOV_LEN_MAX as usize).contains(&moov.len()), "{} bytes", moov.len());
    [&boxed("ftyp", b"isom\0\0\x02\0isom"), &boxed("mdat", &vec![0; DATA_LEN]), moov].concat()
}

fn seconds(track: &Track) -> i64 {
    track.end / i64::from(track.timescale)
}

#[test]
fn twelve_hours_are_read_and_planned() {
    let index = read(&twelve_hours()).unwrap();
    let counts: Vec<_> = index.tracks.iter().map(|track| track.samples.len()).collect();
    assert_eq!(counts, [FRAMES, PACKETS]);
    assert_eq!(index.tracks.iter().map(seconds).collect::<Vec<_>>(), [i64::from(HOURS) * 3600; 2]);
    assert_eq!(index.plan.video.len(), 1 + HOURS as usize * 900);
    assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
}

/// A second of 30 frames and of 47 packets, in one fragment.
fn second(number: u32) -> Vec<u8> {
    let frames: Vec<_> = (0..30).flat_map(|n| [10 + n % 7, [512, 1024, 0][n as usize % 3]]).collect();
    let packets: Vec<_> = (0..47).map(|n| 5 + n % 3).collect();
    let frames_len: u32 = frames.chunks(2).map(|row| row[0]).sum();
    let packets_len: u32 = packets.iter().sum();
    let traf = |tfhd: [u32; 4], time: u32, trun: [u32; 4], rows: &[u32]| {
        let times = boxed("tfdt", &words(&[0, time]));
        let rows = boxed("trun", &words(&[&trun[..], rows].concat()));
        boxed("traf", &[boxed("tfhd", &words(&tfhd)), times, rows].concat())
    };
    let moof = |data: u32| {
        let video = [0x2_0028, 1, 512, 0x0101_0000];
        let audio = [0x2_0028, 2, 1024, 0x0200_0000];
        let video = traf(video, number * 15_360, [0xa05, 30, data, 0x0200_0000], &frames);
        let audio = traf(audio, number * 48_128, [0x205, 47, data + frames_len, 0x0200_0000], &packets);
        boxed("moof", &[video, audio].concat())
    };
    let len = moof(0).len() as u32;
    [moof(len + 8), boxed("mdat", &vec![0; (frames_len + packets_len) as usize])].concat()
}

#[test]
fn two_hours_of_one_second_fragments_are_planned() {
    let file = fixture("fragmented.mp4");
    let init = file.windows(4).position(|window| window == b"moof").unwrap() - 4;
    let mut scanner = Scanner::new(None);
    scanner.push(&file[..init]).unwrap();
    for number in 0..7200 {
        scanner.push(&second(number)).unwrap();
        // A checkpoint every ten minutes: about two bytes per sample, independent of the number of
        // fragments.
        if number % 600 == 599 {
            let checkpoint = scanner.to_checkpoint();
            assert!(checkpoint.len() < 10_000 + 3 * 77 * number as usize, "{} bytes", checkpoint.len());
            scanner = Scanner::from_checkpoint(&checkpoint).unwrap();
        }
    }
    let index = scanner.finish().unwrap().into_index().unwrap();
    let counts: Vec<_> = index.tracks.iter().map(|track| track.samples.len()).collect();
    assert_eq!(counts, [7200 * 30, 7200 * 47]);
    // The packets last slightly longer than the video.
    assert_eq!(index.tracks.iter().map(seconds).collect::<Vec<_>>(), [7200, 7219]);
    assert_eq!(index.plan.video.len(), 1801);
    assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
}
