use proptest::prelude::*;

use super::*;

const MS: Units = Units { scale_ns: 1_000_000, base: 0 };

/// Timescale, and (decode time, presentation time) of each frame.
fn frames(rows: &FrameTable, units: Units, default_duration_ns: Option<u64>) -> (u32, Vec<(i64, i64)>) {
    let clock = FrameClock::of(rows, units, default_duration_ns);
    let mut times = Vec::new();
    let take = |row: RawSample| {
        times.push((row.dts, row.dts + i64::from(row.composition_offset)));
        Ok(())
    };
    clock.for_each_sample(rows, units, take).unwrap();
    (clock.timescale, times)
}

fn shown(rows: &FrameTable, default_duration_ns: Option<u64>) -> (u32, Vec<i64>) {
    let (timescale, times) = frames(rows, MS, default_duration_ns);
    (timescale, times.into_iter().map(|(_, pts)| pts).collect())
}

/// Frames at this rate, their times rounded to milliseconds.
fn steady(rate: (i64, i64), count: i64) -> FrameTable {
    FrameTable::of(
        (0..count).map(|n| (div_rounded((n * rate.1 * 1000).into(), rate.0.into()) as i64, false, 0)),
    )
}

#[test]
fn constant_frame_rate_gives_exact_times() {
    let check = |rate: (i64, i64), default_duration_ns, timescale: u32, step: i64| {
        let expected: Vec<_> = (0..5000).map(|n| n * step).collect();
        assert_eq!(shown(&steady(rate, 5000), default_duration_ns), (timescale, expected), "{rate:?}");
    };
    check((24_000, 1001), Some(41_708_333), 24_000, 1001);
    check((24_000, 1001), None, 24_000, 1001);
    check((30_000, 1001), Some(33_366_666), 30_000, 1001);
    check((60_000, 1001), Some(16_683_333), 60_000, 1001);
    check((60_000, 1001), None, 60_000, 1001);
    check((25, 1), Some(40_000_000), 90_000, 3600);
    check((60, 1), None, 90_000, 1500);
    check((240, 1), Some(4_166_667), 90_000, 375);
    check((30, 1), Some(33_366_666), 90_000, 3000); // the stated duration is wrong
    check((25, 1), Some(20_000_000), 90_000, 3600); // that of a field
    check((25, 2), None, 90_000, 7200);
}

#[test]
fn missing_frames_leave_gaps() {
    let rows = steady((30_000, 1001), 3000);
    let rows = FrameTable::of(rows.rows().filter(|row| row.time % 7 != 3).map(|row| (row.time, false, 0)));
    let (timescale, times) = shown(&rows, Some(33_366_667));
    assert_eq!(timescale, 30_000);
    assert!(times.iter().all(|time| time % 1001 == 0));
    assert!(times.is_sorted_by(|one, next| one < next));
}

#[test]
fn variable_frame_times_are_preserved() {
    let of = |times: &[i64]| FrameTable::of(times.iter().map(|&time| (time, false, 0)));
    assert_eq!(shown(&of(&[0, 40, 95, 120]), Some(40_000_000)), (90_000, vec![0, 3600, 8550, 10_800]));
    assert_eq!(shown(&of(&[7]), None), (90_000, vec![630]));
    assert_eq!(shown(&of(&[]), None), (90_000, vec![]));
    let fine = Units { scale_ns: 1000, base: 5 };
    let times = [(0, 0), (33_367, 33_367), (90_000, 90_000)];
    assert_eq!(frames(&of(&[5, 33_372, 90_005]), fine, None), (1_000_000, times.to_vec()));
    // One unit is a whole frame: every time would fit.
    assert_eq!(shown(&of(&[0, 1, 3, 4]), Some(1_000_000)), (90_000, vec![0, 90, 270, 360]));
}

#[test]
fn decode_times_are_the_presentation_times_in_order() {
    let rows = FrameTable::of([0, 160, 80, 40, 120, 320].map(|time| (time, false, 0)));
    let expected = [(0, 0), (3600, 14_400), (7200, 7200), (10_800, 3600), (14_400, 10_800), (28_800, 28_800)];
    assert_eq!(frames(&rows, MS, Some(40_000_000)), (90_000, expected.to_vec()));
}

#[test]
fn hidden_frames_get_unused_times() {
    let rows = [(0, false, 0), (33, false, 0), (34, true, 0), (67, false, 0), (100, true, 0)];
    assert_eq!(shown(&FrameTable::of(rows), Some(33_333_333)), (90_000, vec![0, 3000, 4500, 6000, 6001]));
    assert_eq!(shown(&FrameTable::of([(0, true, 0), (40, false, 0)]), None), (90_000, vec![3600, 3600]));
}

/// (begin, length) of each packet.
fn packets(rows: &[(i64, bool, u32)], rate: u32, has_lengths: bool) -> Vec<(i64, u32)> {
    let rows = FrameTable::of(rows.iter().copied());
    let clock = PacketClock { rate, has_lengths, default_duration_ns: None }.checked(&rows, MS);
    let mut packets = Vec::new();
    let take = |row: RawSample| {
        packets.push((row.dts, row.delta));
        Ok(())
    };
    clock.for_each_sample(&rows, MS, take).unwrap();
    packets
}

#[test]
fn packets_follow_one_another_exactly() {
    let rows: Vec<_> = (0..4000).map(|n| (div_rounded(n * 1_024_000, 44_100) as i64, false, 1024)).collect();
    let expected: Vec<_> = (0..4000).map(|n| (n * 1024, 1024)).collect();
    assert_eq!(packets(&rows, 44_100, true), expected);
    let truncated: Vec<_> = (0..4000).map(|n| (n * 1_024_000 / 44_100, false, 1024)).collect();
    assert_eq!(packets(&truncated, 44_100, true), expected);
}

#[test]
fn audio_gaps_under_one_packet_are_closed() {
    let at = |times: [i64; 8]| packets(&times.map(|time| (time, false, 960)), 48_000, true);
    let begins = |packets: Vec<(i64, u32)>| packets.into_iter().map(|(at, _)| at).collect::<Vec<_>>();
    let contiguous = [0, 960, 1920, 2880, 3840, 4800, 5760, 6720];
    assert_eq!(begins(at([0, 20, 40, 60, 80, 100, 120, 140])), contiguous);
    assert_eq!(
        begins(at([0, 20, 40, 80, 100, 120, 140, 160])),
        contiguous,
        "one packet late is believed to be none"
    );
    let gap = [0, 960, 1920, 48_000, 48_960, 49_920, 50_880, 51_840];
    assert_eq!(begins(at([0, 20, 40, 1000, 1020, 1040, 1060, 1080])), gap);
}

#[test]
fn packets_with_equal_times_are_contiguous() {
    let rows: Vec<_> = (0..100).map(|_| (0, false, 1024)).collect();
    let expected: Vec<_> = (0..100).map(|n| (n * 1024, 1024)).collect();
    assert_eq!(packets(&rows, 48_000, true), expected);
    // Clusters of 24 packets, each with the time of its first packet.
    let rows: Vec<_> = (0..96).map(|n| (n / 24 * 512, false, 1024)).collect();
    assert_eq!(packets(&rows, 48_000, true), expected[..96]);
}

#[test]
fn packet_duration_contradicting_times_is_ignored() {
    // Packets of 256 samples that should have 1536.
    let rows: Vec<_> = (0..100).map(|n| (n * 16 / 3, false, 1536)).collect();
    let begins: Vec<_> = packets(&rows, 48_000, true).into_iter().map(|(at, _)| at).collect();
    assert_eq!(begins, rows.iter().map(|(time, ..)| time * 48).collect::<Vec<_>>());
}

#[test]
fn packets_of_a_lace_share_its_time() {
    let lace = [(0, false, 0), (0, true, 0), (0, true, 0), (60, false, 0), (60, true, 0), (100, false, 0)];
    let expected = [(0, 960), (960, 960), (1920, 960), (2880, 960), (3840, 960), (4800, 960)];
    assert_eq!(packets(&lace, 48_000, false), expected);
    let with_durations = lace.map(|(time, follows, _)| (time, follows, 960));
    assert_eq!(packets(&with_durations, 48_000, true), expected);
}

proptest! {
    #[test]
    fn no_time_moves_by_more_than_two_units(
        times in prop::collection::vec(0..100_000i64, 1..200),
        default_duration_ns in prop::option::of(1..100_000_000u64),
    ) {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let rows = FrameTable::of(times.iter().map(|&time| (time, false, 0)));
        let (timescale, frame_times) = frames(&rows, MS, default_duration_ns);
        prop_assert_eq!(frame_times.len(), times.len());
        for (&time, (_, pts)) in times.iter().zip(frame_times) {
            let moved_ms = pts * 1000 / i64::from(timescale) - time;
            prop_assert!(moved_ms.abs() <= 2, "{} ms", moved_ms);
        }
    }

    #[test]
    fn arbitrary_times_never_panic(
        rows in prop::collection::vec((-1_000_000_000_000i64..1_000_000_000_000, any::<bool>(), any::<u32>()), 0..50),
        scale_ns in 1..1_000_000u64,
        rate in 1..768_000u32,
        default_duration_ns in prop::option::of(1..3_600_000_000_000u64),
    ) {
        let rows = FrameTable::of(rows);
        let units = Units { scale_ns, base: rows.times.0 };
        let _ = FrameClock::of(&rows, units, default_duration_ns).for_each_sample(&rows, units, |_| Ok(()));
        for has_lengths in [true, false] {
            let clock = PacketClock { rate, has_lengths, default_duration_ns }.checked(&rows, units);
            clock.for_each_sample(&rows, units, |_| Ok(())).unwrap();
        }
    }
}
