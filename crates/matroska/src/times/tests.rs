use proptest::prelude::*;

use super::*;

const MS: Units = Units { scale_ns: 1_000_000, base: 0 };

/// Timescale, and (decode time, presentation time) of each picture.
fn pictures(rows: &RowTable, units: Units, default_duration_ns: Option<u64>) -> (u32, Vec<(i64, i64)>) {
    let clock = PictureClock::of(rows, units, default_duration_ns);
    let mut times = Vec::new();
    let take = |row: RawSample| {
        times.push((row.dts, row.dts + i64::from(row.composition)));
        Ok(())
    };
    clock.each(rows, units, take).unwrap();
    (clock.timescale, times)
}

fn shown(rows: &RowTable, default_duration_ns: Option<u64>) -> (u32, Vec<i64>) {
    let (timescale, times) = pictures(rows, MS, default_duration_ns);
    (timescale, times.into_iter().map(|(_, pts)| pts).collect())
}

/// Pictures of a rate, their times rounded to milliseconds.
fn steady(rate: (i64, i64), count: i64) -> RowTable {
    RowTable::of((0..count).map(|n| (nearest((n * rate.1 * 1000).into(), rate.0.into()) as i64, false, 0)))
}

#[test]
fn steady_pictures_get_the_exact_times_of_their_rate() {
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
    check((30, 1), Some(33_366_666), 90_000, 3000); // what is said is not what is there
    check((25, 1), Some(20_000_000), 90_000, 3600); // that of a field
    check((25, 2), None, 90_000, 7200);
}

#[test]
fn pictures_that_lack_leave_their_places_empty() {
    let rows = steady((30_000, 1001), 3000);
    let rows = RowTable::of(rows.rows().filter(|row| row.time % 7 != 3).map(|row| (row.time, false, 0)));
    let (timescale, times) = shown(&rows, Some(33_366_667));
    assert_eq!(timescale, 30_000);
    assert!(times.iter().all(|time| time % 1001 == 0));
    assert!(times.is_sorted_by(|one, next| one < next));
}

#[test]
fn times_that_no_rate_explains_stay_as_written() {
    let of = |times: &[i64]| RowTable::of(times.iter().map(|&time| (time, false, 0)));
    assert_eq!(shown(&of(&[0, 40, 95, 120]), Some(40_000_000)), (90_000, vec![0, 3600, 8550, 10_800]));
    assert_eq!(shown(&of(&[7]), None), (90_000, vec![630]));
    assert_eq!(shown(&of(&[]), None), (90_000, vec![]));
    let fine = Units { scale_ns: 1000, base: 5 };
    let times = [(0, 0), (33_367, 33_367), (90_000, 90_000)];
    assert_eq!(pictures(&of(&[5, 33_372, 90_005]), fine, None), (1_000_000, times.to_vec()));
    // One unit is a whole picture: everything would fit.
    assert_eq!(shown(&of(&[0, 1, 3, 4]), Some(1_000_000)), (90_000, vec![0, 90, 270, 360]));
}

#[test]
fn decode_times_are_the_presentation_times_in_order() {
    let rows = RowTable::of([0, 160, 80, 40, 120, 320].map(|time| (time, false, 0)));
    let expected = [(0, 0), (3600, 14_400), (7200, 7200), (10_800, 3600), (14_400, 10_800), (28_800, 28_800)];
    assert_eq!(pictures(&rows, MS, Some(40_000_000)), (90_000, expected.to_vec()));
}

#[test]
fn pictures_that_are_not_shown_get_times_where_nothing_is() {
    let rows = [(0, false, 0), (33, false, 0), (34, true, 0), (67, false, 0), (100, true, 0)];
    assert_eq!(shown(&RowTable::of(rows), Some(33_333_333)), (90_000, vec![0, 3000, 4500, 6000, 6001]));
    assert_eq!(shown(&RowTable::of([(0, true, 0), (40, false, 0)]), None), (90_000, vec![3600, 3600]));
}

/// (begin, length) of each packet.
fn packets(rows: &[(i64, bool, u32)], rate: u32, has_lengths: bool) -> Vec<(i64, u32)> {
    let rows = RowTable::of(rows.iter().copied());
    let clock = PacketClock { rate, has_lengths, default_duration_ns: None }.checked(&rows, MS);
    let mut packets = Vec::new();
    let take = |row: RawSample| {
        packets.push((row.dts, row.delta));
        Ok(())
    };
    clock.each(&rows, MS, take).unwrap();
    packets
}

#[test]
fn packets_follow_one_another_exactly() {
    let rows: Vec<_> = (0..4000).map(|n| (nearest(n * 1_024_000, 44_100) as i64, false, 1024)).collect();
    let expected: Vec<_> = (0..4000).map(|n| (n * 1024, 1024)).collect();
    assert_eq!(packets(&rows, 44_100, true), expected);
    let truncated: Vec<_> = (0..4000).map(|n| (n * 1_024_000 / 44_100, false, 1024)).collect();
    assert_eq!(packets(&truncated, 44_100, true), expected);
}

#[test]
fn gaps_of_more_than_a_packet_stay_and_smaller_ones_do_not() {
    let at = |times: [i64; 8]| packets(&times.map(|time| (time, false, 960)), 48_000, true);
    let begins = |packets: Vec<(i64, u32)>| packets.into_iter().map(|(at, _)| at).collect::<Vec<_>>();
    let whole = [0, 960, 1920, 2880, 3840, 4800, 5760, 6720];
    assert_eq!(begins(at([0, 20, 40, 60, 80, 100, 120, 140])), whole);
    assert_eq!(
        begins(at([0, 20, 40, 80, 100, 120, 140, 160])),
        whole,
        "one packet late is believed to be none"
    );
    let gap = [0, 960, 1920, 48_000, 48_960, 49_920, 50_880, 51_840];
    assert_eq!(begins(at([0, 20, 40, 1000, 1020, 1040, 1060, 1080])), gap);
}

#[test]
fn packets_of_one_time_follow_one_another() {
    let rows: Vec<_> = (0..100).map(|_| (0, false, 1024)).collect();
    let expected: Vec<_> = (0..100).map(|n| (n * 1024, 1024)).collect();
    assert_eq!(packets(&rows, 48_000, true), expected);
    // Clusters of 24 packets, each with the time of its first.
    let rows: Vec<_> = (0..96).map(|n| (n / 24 * 512, false, 1024)).collect();
    assert_eq!(packets(&rows, 48_000, true), expected[..96]);
}

#[test]
fn lengths_that_times_contradict_are_not_believed() {
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
    let known = lace.map(|(time, follows, _)| (time, follows, 960));
    assert_eq!(packets(&known, 48_000, true), expected);
}

proptest! {
    #[test]
    fn no_time_moves_by_more_than_two_units(
        times in prop::collection::vec(0..100_000i64, 1..200),
        default_duration_ns in prop::option::of(1..100_000_000u64),
    ) {
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let rows = RowTable::of(times.iter().map(|&time| (time, false, 0)));
        let (timescale, pictures) = pictures(&rows, MS, default_duration_ns);
        prop_assert_eq!(pictures.len(), times.len());
        for (&time, (_, pts)) in times.iter().zip(pictures) {
            let moved_ms = pts * 1000 / i64::from(timescale) - time;
            prop_assert!(moved_ms.abs() <= 2, "{} ms", moved_ms);
        }
    }

    #[test]
    fn any_numbers_end_in_an_answer(
        rows in prop::collection::vec((-1_000_000_000_000i64..1_000_000_000_000, any::<bool>(), any::<u32>()), 0..50),
        scale_ns in 1..1_000_000u64,
        rate in 1..768_000u32,
        default_duration_ns in prop::option::of(1..3_600_000_000_000u64),
    ) {
        let rows = RowTable::of(rows);
        let units = Units { scale_ns, base: rows.times.0 };
        let _ = PictureClock::of(&rows, units, default_duration_ns).each(&rows, units, |_| Ok(()));
        for has_lengths in [true, false] {
            let clock = PacketClock { rate, has_lengths, default_duration_ns }.checked(&rows, units);
            clock.each(&rows, units, |_| Ok(())).unwrap();
        }
    }
}
