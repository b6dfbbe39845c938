use super::*;

/// A track of AAC with these times of its packets, in ticks of 1/48,000 s.
fn steadied(packet_samples: u32, codec: &str, times: &[i64]) -> Vec<i64> {
    let audio = AudioTrack {
        sample_entry: kinora_index::SampleEntry::Iso(Vec::new()),
        not_copied: None,
        codec: codec.to_owned(),
        sample_rate: 48_000,
        channels: 1,
        packet_samples,
    };
    let mut steady = JitterFilter::new(&audio, 48_000);
    let row = |number: usize| RawSample {
        dts: times[number],
        delta: 0,
        composition_offset: 0,
        offset: number as u64,
        size: 1,
        is_sync: true,
    };
    let mut rows: Vec<_> = (0..times.len()).filter_map(|number| steady.push(row(number))).collect();
    rows.extend(std::iter::from_fn(|| steady.pop()));
    assert!(rows.iter().map(|row| row.offset).eq(0..times.len() as u64), "all of them, in order");
    rows.iter().map(|row| row.dts).collect()
}

/// Times of packets of 1024 ticks that are ahead of the grid by `drift`.
fn ahead(drift: &[i64]) -> Vec<i64> {
    (0..).zip(drift).map(|(number, drift)| 1_000_000 + number * 1024 + drift).collect()
}

#[track_caller]
fn check(written: &[i64], expected: &[i64]) {
    assert_eq!(steadied(1024, "mp4a.40.2", &ahead(written)), ahead(expected), "{written:?}");
}

#[test]
fn jittered_audio_times_return_to_grid() {
    const P: i64 = 1024;
    // In pairs, as ffmpeg writes them.
    check(&[0, P, 0, P, 0, 0, P, 0, 0, P, 0, P, 0], &[0; 13]);
    check(&[0, 0, P, P, 0, P, 0, 0, 0, P, P, 0], &[0; 12]);
    check(&[0, 4 * P, 3 * P, 2 * P, P, 0, 0, 0], &[0; 8]);
    // Late, and back on the grid.
    check(&[0, 0, 0, -P, 0, 0], &[0; 6]);
    check(&[0, 0, 0, -P, -2 * P, -P, 0, 0, 0, 0, 0], &[0; 11]);
    // After a first packet that lasts longer, and next to a real gap.
    let late = 6400 - P;
    check(&[0, late + P, late, late, late + P, late], &[0, late, late, late, late, late]);
    check(&[0, P, 0, 0, 9 * P, 10 * P, 9 * P, 9 * P], &[0, 0, 0, 0, 9 * P, 9 * P, 9 * P, 9 * P]);
    // At the very end, no packet returns to the grid.
    check(&[0, P, 0, 0, P], &[0, 0, 0, 0, P]);
}

#[test]
fn audio_gaps_and_overlaps_are_preserved() {
    const P: i64 = 1024;
    for steps in [[0, P, 5 * P], [0, -P, -2 * P], [0, 3 * P, 2 * P], [0, -P, 700], [0, 100_000 * P, 0]] {
        // Wider than jitter, and no step down in one packet is more than a packet: times never run back.
        let mut drift = steps.map(|step| [step; 9]).concat();
        for number in 1..drift.len() {
            drift[number] = drift[number].max(drift[number - 1] - P);
        }
        check(&drift, &drift);
    }
    // Less than half a packet does no harm.
    check(&[0, 511, 0, -3, 300, -200, 0, 1], &[0, 511, 0, -3, 300, -200, 0, 1]);
    for few in [&[][..], &[0], &[0, P], &[0, -P]] {
        check(few, few);
    }
}

#[test]
fn variable_packet_durations_are_not_changed() {
    let times = ahead(&[0, 1024, 0, 1024, 0, 0, 1024, 0]);
    assert_eq!(steadied(1024, opus::CODEC, &times), times);
    assert_eq!(steadied(0, "mp4a.40.2", &times), times);
    assert_eq!(steadied(1, "mp4a.40.2", &times), times);
}
