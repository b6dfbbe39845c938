//! Tables packed and unpacked, look-ups, damaged bytes.

use proptest::prelude::*;

use super::*;

fn any_sample() -> impl Strategy<Value = Sample> {
    (any::<i64>(), any::<i64>(), any::<u32>(), any::<u64>(), any::<u32>(), any::<bool>()).prop_map(
        |(dts, pts, duration, offset, size, is_sync)| Sample {
            dts,
            pts,
            duration,
            object: 0,
            offset,
            size,
            is_sync,
        },
    )
}

/// A track as cameras write it: fixed frame rate, B-frames, a keyframe every 30 frames, interleaved audio.
fn usual(count: u32) -> Vec<Sample> {
    let mut offset = 48;
    (0..count)
        .map(|n| {
            let dts = i64::from(n) * 512;
            let size = if n % 30 == 0 { 40_000 } else { 900 + (n * 7919) % 3000 };
            let sample = Sample {
                dts,
                pts: dts + [1024, 2560, 1024, 0, 512][n as usize % 5],
                duration: 512,
                object: 0,
                offset,
                size,
                is_sync: n % 30 == 0,
            };
            offset += u64::from(size) + 350 + u64::from(n * 31 % 300);
            sample
        })
        .collect()
}

fn written(table: &SampleTable) -> Vec<u8> {
    let mut writer = Writer::default();
    table.write(&mut writer);
    writer.bytes
}

#[test]
fn typical_track_packs_under_six_bytes_per_sample() {
    let table: SampleTable = usual(30 * 600).into_iter().collect();
    let bytes = written(&table).len();
    assert!(bytes <= 18_000 * 4, "{bytes}");
}

#[test]
fn look_ups_find_the_sample_in_any_block() {
    let samples = usual(1000);
    let table: SampleTable = samples.iter().copied().collect();
    for number in [0, 1, 127, 128, 129, 255, 256, 998, 999] {
        assert_eq!(table.get(number), Some(samples[number as usize]));
        let pts = samples[number as usize].pts;
        let first = samples.iter().position(|sample| sample.pts >= pts).map(|n| n as u32);
        assert_eq!(table.first_at_or_after_pts(pts), first, "pts of sample {number}");
        assert_eq!(table.sync_at_or_before(number), Some(number / 30 * 30));
    }
    assert_eq!(table.get(1000), None);
    assert_eq!(table.first_at_or_after_pts(i64::MIN), Some(0));
    assert_eq!(table.first_at_or_after_pts(i64::MAX), None);
    assert_eq!(table.sync_at_or_before(u32::MAX), Some(990));
}

#[test]
fn empty_table_has_no_samples() {
    let table: SampleTable = [].into_iter().collect();
    assert!(table.is_empty());
    assert_eq!(
        (table.get(0), table.first_at_or_after_pts(0), table.sync_at_or_before(0)),
        (None, None, None)
    );
    assert_eq!(SampleTable::read(&mut Reader::new(&written(&table)), 0), Some(table));
}

#[test]
fn sample_after_source_end_is_rejected() {
    let samples = usual(200);
    let last = samples[199];
    let end = last.offset + u64::from(last.size);
    let bytes = written(&samples.into_iter().collect());
    assert!(SampleTable::read(&mut Reader::new(&bytes), end).is_some());
    assert!(SampleTable::read(&mut Reader::new(&bytes), end - 1).is_none());
}

proptest! {
    #[test]
    fn sample_table_round_trips(samples in prop::collection::vec(any_sample(), 0..400), start in 0..400u32, len in 0..400u32) {
        let table: SampleTable = samples.iter().copied().collect();
        prop_assert_eq!(table.len() as usize, samples.len());
        prop_assert_eq!(table.iter().collect::<Vec<_>>(), samples.clone());
        let range = start..start.saturating_add(len);
        let expected: Vec<_> = samples.iter().copied().skip(start as usize).take(len as usize).collect();
        prop_assert_eq!(table.range(range).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Some(table) = SampleTable::read(&mut Reader::new(&bytes), u64::MAX) {
            table.iter().for_each(drop);
        }
    }

    #[test]
    fn damaged_bytes_never_panic(at in 0..2000usize, value: u8, source_len: u64) {
        let mut bytes = written(&usual(300).into_iter().collect());
        let at = at % bytes.len();
        bytes[at] = value;
        if let Some(table) = SampleTable::read(&mut Reader::new(&bytes), source_len) {
            table.iter().for_each(drop);
            table.sync_at_or_before(299);
        }
    }
}
