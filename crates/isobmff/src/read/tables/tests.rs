//! Handwritten tables, valid and broken.

use super::*;
use crate::read::testing::{full_box, plain_box, words};

fn stbl(children: &[Vec<u8>]) -> Vec<u8> {
    children.concat()
}

fn parse(bytes: &[u8]) -> Result<Vec<RawSample>, ReadError> {
    Tables::parse(&BoxRef { kind: crate::boxes::FourCc(*b"stbl"), body: bytes }, None)?.samples().collect()
}

fn usual() -> [Vec<u8>; 6] {
    [
        full_box(b"stts", 0, &words(&[2, 2, 10, 3, 20])),
        full_box(b"ctts", 1, &words(&[2, 1, 5, 4, -5i32 as u32])),
        full_box(b"stss", 0, &words(&[2, 1, 4])),
        full_box(b"stsz", 0, &words(&[0, 5, 100, 0, 102, 103, 104])),
        full_box(b"stsc", 0, &words(&[2, 1, 2, 1, 3, 1, 1])),
        full_box(b"stco", 0, &words(&[3, 1000, 2000, 3000])),
    ]
}

fn row(dts: i64, delta: u32, composition: i32, offset: u64, size: u32, is_sync: bool) -> RawSample {
    RawSample { dts, delta, composition_offset: composition, offset, size, is_sync }
}

#[test]
fn rows_of_all_tables_are_joined() {
    assert_eq!(
        parse(&stbl(&usual())).unwrap(),
        [
            row(0, 10, 5, 1000, 100, true),
            row(10, 10, -5, 1100, 0, false),
            row(20, 20, -5, 2000, 102, false),
            row(40, 20, -5, 2102, 103, true),
            row(60, 20, -5, 3000, 104, false),
        ]
    );
}

#[test]
fn compact_sizes_and_wide_offsets_are_read() {
    for (width, sizes) in [(4, vec![0x12, 0x30]), (8, vec![1, 2, 3]), (16, vec![0, 1, 0, 2, 0, 3])] {
        let tables = stbl(&[
            full_box(b"stz2", 0, &[words(&[width, 3]), sizes].concat()),
            full_box(b"stts", 0, &words(&[1, 3, 1])),
            full_box(b"stsc", 0, &words(&[1, 1, 3, 1])),
            full_box(b"co64", 0, &words(&[1, 5, 0])),
        ]);
        let at = 5 << 32;
        assert_eq!(
            parse(&tables).unwrap(),
            [row(0, 1, 0, at, 1, true), row(1, 1, 0, at + 1, 2, true), row(2, 1, 0, at + 3, 3, true)],
            "{width} bits"
        );
    }
}

#[test]
fn short_stts_repeats_the_last_delta() {
    let mut tables = usual();
    tables[0] = full_box(b"stts", 0, &words(&[1, 2, 10]));
    let times: Vec<_> = parse(&stbl(&tables)).unwrap().iter().map(|sample| sample.dts).collect();
    assert_eq!(times, [0, 10, 20, 30, 40]);
}

#[test]
fn missing_sample_tables_give_no_samples() {
    assert_eq!(parse(&[]).unwrap(), []);
}

#[test]
fn table_counts_are_limited_by_box_bytes() {
    fn check(name: &str, replaced: usize, table: Vec<u8>, expected: &str) {
        let mut tables = usual();
        tables[replaced] = table;
        assert_eq!(parse(&stbl(&tables)).unwrap_err().to_string(), expected, "{name}");
    }
    let many = 4_000_000_000;
    for (at, kind) in [(0, b"stts"), (1, b"ctts"), (2, b"stss"), (4, b"stsc"), (5, b"stco")] {
        check(
            "a count without entries",
            at,
            full_box(kind, 0, &words(&[many, 1, 1, 1])),
            &format!(
                "the file is damaged: its {} table has fewer entries than it says",
                String::from_utf8_lossy(kind)
            ),
        );
    }
    let sizes = "the file is damaged: its table of sample sizes is shorter than it says";
    check("sizes without entries", 3, full_box(b"stsz", 0, &words(&[0, many, 1])), sizes);
    check("compact sizes without entries", 3, full_box(b"stz2", 0, &words(&[4, many, 1])), sizes);
    check("no count", 3, plain_box(b"stsz", &[0; 6]), sizes);
    let mut tables = usual();
    tables[3] = full_box(b"stsz", 0, &words(&[1, many]));
    tables[4] = full_box(b"stsc", 0, &words(&[1, 1, many, 1]));
    assert_eq!(
        parse(&stbl(&tables)).unwrap_err().to_string(),
        "a track has 4000000000 samples; at most 5184000 are supported"
    );
    check(
        "odd widths",
        3,
        full_box(b"stz2", 0, &words(&[5, 1, 1])),
        "the file is damaged: sample sizes of 5 bits",
    );
    check(
        "empty chunks",
        4,
        full_box(b"stsc", 0, &words(&[1, 1, 0, 1])),
        "the file is damaged: its chunks hold 0 of 5 samples",
    );
    check(
        "an offset at the end of all numbers",
        5,
        full_box(b"co64", 0, &words(&[3, u32::MAX, u32::MAX, 0, 0, 0, 0])),
        "the file is damaged: a sample lies beyond 2^64 bytes",
    );
}

#[test]
fn samples_without_a_chunk_are_dropped() {
    let check = |name: &str, replaced: usize, table: Vec<u8>, offsets: &[u64]| {
        let mut tables = usual();
        tables[replaced] = table;
        let tables = stbl(&tables);
        let found: Vec<_> = parse(&tables).unwrap().iter().map(|sample| sample.offset).collect();
        assert_eq!(found, offsets, "{name}");
        let stbl = BoxRef { kind: crate::boxes::FourCc(*b"stbl"), body: &tables };
        assert_eq!(Tables::parse(&stbl, None).unwrap().count() as usize, offsets.len(), "{name}");
    };
    let stsc = |runs: &[u32]| full_box(b"stsc", 0, &words(runs));
    check("a chunk too few", 5, full_box(b"stco", 0, &words(&[1, 1000])), &[1000, 1100]);
    check("a run that says too few", 4, stsc(&[1, 1, 1, 1]), &[1000, 2000, 3000]);
    check("a last run that begins behind all", 4, stsc(&[2, 1, 1, 1, 9, 5, 1]), &[1000, 2000, 3000]);
    check("runs out of order", 4, stsc(&[3, 2, 1, 1, 1, 2, 1, 9, 9, 1]), &[2000, 2100, 3000, 3102]);
    check("chunks before the first run", 4, stsc(&[1, 3, 2, 1]), &[3000, 3100]);
    check("enough", 4, stsc(&[1, 1, 9, 1]), &[1000, 1100, 1100, 1202, 1305]);
}

#[test]
fn huge_stts_count_costs_no_memory() {
    let mut tables = usual();
    tables[0] = full_box(b"stts", 0, &words(&[1, u32::MAX, 7]));
    assert_eq!(parse(&stbl(&tables)).unwrap().len(), 5);
}

#[test]
fn descriptions_in_use_are_listed() {
    let descriptions = |runs: &[u32]| {
        let mut tables = usual();
        tables[4] = full_box(b"stsc", 0, &words(runs));
        let bytes = stbl(&tables);
        let stbl = BoxRef { kind: crate::boxes::FourCc(*b"stbl"), body: &bytes };
        Tables::parse(&stbl, None).unwrap().description_indexes().collect::<Vec<_>>()
    };
    assert_eq!(descriptions(&[1, 1, 2, 2]), [2]);
    assert_eq!(descriptions(&[2, 1, 2, 1, 2, 1, 2]), [1, 2]);
    assert_eq!(descriptions(&[2, 1, 2, 1, 9, 1, 2]), [1], "a run behind the last chunk");
    assert_eq!(descriptions(&[0]), []);
}
