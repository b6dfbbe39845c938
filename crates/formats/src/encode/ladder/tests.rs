use kinora_index::{
    Container, EditPoint, NotCopied, NotCopiedReason, Sample, SampleEntry, SampleObject, SegmentPlan,
    TrackLabel, TrackMedia,
};

use super::*;

/// A source with frames of this size; `change` sets other properties.
pub(crate) fn source((width, height): (u32, u32), change: impl FnOnce(&mut VideoTrack)) -> Index {
    let mut video = VideoTrack {
        sample_entry: SampleEntry::Iso(Vec::new()),
        codec: "avc1.640028".to_owned(),
        not_copied: None,
        is_interlaced: false,
        width,
        height,
        pixel_aspect: (1, 1),
        matrix: [0; 9],
        rotation: 0,
        transfer: None,
        frame_rate: Some((30, 1)),
        composition_shift: 1536,
    };
    change(&mut video);
    let samples = [Sample { dts: 0, pts: 0, duration: 512, object: 0, offset: 0, size: 1, is_sync: true }];
    let track = Track {
        source_track: 1,
        timescale: 15_360,
        language: "und".to_owned(),
        label: TrackLabel::default(),
        media: TrackMedia::Video(video),
        samples: samples.into_iter().collect(),
        configurations: Vec::new(),
        edit_points: Vec::new(),
        shift: 0,
        end: 512,
        bitrate_average: 0,
        bitrate_peak: 0,
    };
    Index {
        source_len: 1,
        source_sha256: [0; 32],
        container: Container::Mp4,
        objects: vec![SampleObject::source(1)],
        parts: Vec::new(),
        is_truncated: false,
        left_out: Vec::new(),
        overlay: None,
        tracks: vec![track],
        plan: SegmentPlan::default(),
    }
}

fn not_copied(video: &mut VideoTrack) {
    video.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "VP9"));
}

fn sizes(rungs: &[Rung]) -> Vec<String> {
    rungs.iter().map(|rung| format!("{} {}x{}", rung.name, rung.width, rung.height)).collect()
}

fn check(index: &Index, max_p: u32, expected: &[&str]) {
    assert_eq!(sizes(&ladder(index, max_p)), expected, "{:?} up to {max_p}", index.facts().video);
}

#[test]
fn oversized_frames_have_no_rungs() {
    check(&source((8192, 4321), |_| {}), 1080, &[]);
    check(&source((65535, 65535), not_copied), 1080, &[]);
}

#[test]
fn rungs_are_below_a_universal_copy() {
    check(
        &source((1920, 1080), |_| {}),
        1080,
        &["720p 1280x720", "480p 854x480", "360p 640x360", "240p 426x240"],
    );
    check(&source((1280, 720), |_| {}), 1080, &["480p 854x480", "360p 640x360", "240p 426x240"]);
    check(&source((426, 240), |_| {}), 1080, &[]);
    check(&source((320, 180), |_| {}), 1080, &[]);
    check(
        &source((3840, 2160), |_| {}),
        2160,
        &["1080p 1920x1080", "720p 1280x720", "480p 854x480", "360p 640x360", "240p 426x240"],
    );
}

#[test]
fn top_rung_matches_size_of_hevc_or_av1_copy() {
    let index = source((1920, 1080), |video| video.codec = "hvc1.1.6.L120.B0".to_owned());
    assert_eq!(sizes(&ladder(&index, 1080))[..2], ["1080p 1920x1080", "720p 1280x720"]);
    let index = source((3840, 2160), |video| video.codec = "av01.0.12M.08".to_owned());
    assert_eq!(sizes(&ladder(&index, 2160))[..2], ["1080p 1920x1080", "720p 1280x720"]);
}

#[test]
fn top_rung_without_copy_is_limited_by_source_and_cap() {
    check(
        &source((1066, 600), not_copied),
        1080,
        &["720p 1066x600", "480p 852x480", "360p 640x360", "240p 426x240"],
    );
    check(&source((1920, 1080), not_copied), 480, &["480p 854x480", "360p 640x360", "240p 426x240"]);
    check(&source((161, 91), not_copied), 1080, &["240p 160x90"]);
    check(&source((1, 1), not_copied), 1080, &["240p 2x2"]);
    check(
        &source((3840, 2160), not_copied),
        2160,
        &[
            "2160p 3840x2160",
            "1440p 2560x1440",
            "1080p 1920x1080",
            "720p 1280x720",
            "480p 854x480",
            "360p 640x360",
            "240p 426x240",
        ],
    );
    // A copy above the limit is not offered.
    check(&source((1920, 1080), |_| {}), 360, &["360p 640x360", "240p 426x240"]);
    // Larger than every name.
    assert_eq!(sizes(&ladder(&source((7680, 4320), not_copied), 2160))[0], "2160p 3840x2160");
    // A copy that does not decode.
    assert_eq!(
        sizes(&ladder_without_copy(&source((640, 360), |_| {}), 1080)),
        ["360p 640x360", "240p 426x240"]
    );
}

#[test]
fn rung_size_uses_rotation_and_pixel_aspect() {
    let turned = source((1920, 1080), |video| video.rotation = 90);
    check(&turned, 1080, &["720p 720x1280", "480p 480x854", "360p 360x640", "240p 240x426"]);
    let wide = source((1440, 1080), |video| video.pixel_aspect = (4, 3));
    check(&wide, 1080, &["720p 1280x720", "480p 854x480", "360p 640x360", "240p 426x240"]);
    let cinema = source((1920, 800), |_| {});
    check(&cinema, 1080, &["720p 1280x534", "480p 854x356", "360p 640x266", "240p 426x178"]);
    let padded = source((1920, 1088), not_copied);
    assert_eq!(sizes(&ladder(&padded, 1080))[0], "1080p 1920x1088");
}

#[test]
fn rung_has_all_encoder_settings() {
    let index = source((1280, 720), |video| {
        video.frame_rate = Some((60_000, 1001));
        video.is_interlaced = true;
        not_copied(video);
    });
    let expected = Rung {
        name: RungName::P720,
        width: 1280,
        height: 720,
        bitrate: 2_800_000,
        maxrate: 3_360_000,
        bufsize: 3_360_000,
        crf: 23,
        level: "3.2".to_owned(),
        bframes: 3,
        frame_step: 1,
        frame_rate: Some((60_000, 1001)),
        codec: "avc1.640020".to_owned(),
        colour: None,
        tone_map: None,
        deinterlace: true,
    };
    assert_eq!(ladder(&index, 1080)[0], expected);
}

#[test]
fn hdr_is_tone_mapped_in_small_rungs() {
    for (transfer, expected) in [(16, ToneMap::Pq), (18, ToneMap::Hlg)] {
        let index = source((1920, 1080), |video| {
            video.transfer = Some(transfer);
            video.codec = "hvc1.2.4.L120.B0".to_owned();
        });
        let rungs = ladder(&index, 1080);
        assert_eq!(sizes(&rungs), ["480p 854x480", "360p 640x360", "240p 426x240"]);
        let is_right = |rung: &Rung| rung.tone_map == Some(expected) && rung.colour == Some(Colour::BT709);
        assert!(rungs.iter().all(is_right));
    }
}

#[test]
fn frame_rate_above_60_is_halved() {
    let check = |rate, expected| assert_eq!((frame_step(rate), divided(rate, frame_step(rate))), expected);
    check((60, 1), (1, (60, 1)));
    check((60_050, 1000), (1, (60_050, 1000)));
    check((61, 1), (2, (61, 2)));
    check((120_000, 1001), (2, (60_000, 1001)));
    check((240, 1), (4, (60, 1)));
    check((u32::MAX, u32::MAX), (1, (u32::MAX, u32::MAX)));
    let (step, rate) = (frame_step((u32::MAX, 1)), divided((u32::MAX, 1), frame_step((u32::MAX, 1))));
    assert!(rate.0 / rate.1.max(1) <= 60, "{step}");
}

#[test]
fn level_allows_the_fastest_part() {
    let mut index = source((1280, 720), |video| video.frame_rate = Some((24, 1)));
    let level = |index: &Index| ladder(index, 480)[0].level.clone();
    assert_eq!(level(&index), "3.0");
    let mut fast = index.tracks[0].media.clone();
    let TrackMedia::Video(video) = &mut fast else { unreachable!("it is one") };
    video.frame_rate = Some((50, 1));
    index.tracks[0].configurations.push(fast);
    assert_eq!(level(&index), "3.1");
    assert_eq!(ladder(&index, 480)[0].frame_rate, Some((24, 1)), "players read the rate of the base");
}

#[test]
fn copy_of_several_parts_has_rung_of_its_size() {
    let mut index = source((1280, 720), |_| {});
    assert_eq!(ladder(&index, 1080)[0].name, RungName::P480);
    index.tracks[0].edit_points.push(EditPoint { sample: 0, pts: 1, configuration: 0 });
    assert_eq!(ladder(&index, 1080)[0].name, RungName::P720);
}

#[test]
fn coarse_timescale_disables_b_frames() {
    for (shift, expected) in [(0, 0), (1, 0), (2, 3), (1536, 3)] {
        let index = source((1280, 720), |video| video.composition_shift = shift);
        assert!(ladder(&index, 1080).iter().all(|rung| rung.bframes == expected), "{shift}");
    }
}

#[test]
fn audio_only_source_has_no_rungs() {
    let mut index = source((1280, 720), |_| {});
    index.tracks.clear();
    check(&index, 1080, &[]);
}

#[test]
fn rung_bandwidth_stays_below_universal_copy() {
    let bitrates = |copy: u64, codec: &str| -> Vec<u32> {
        let mut index = source((1920, 1080), |video| video.codec = codec.to_owned());
        index.tracks[0].bitrate_average = copy;
        ladder(&index, 1080).iter().map(|rung| rung.bitrate).collect()
    };
    let usual = [2_800_000, 1_400_000, 800_000, 400_000];
    assert_eq!(bitrates(0, "avc1.640028"), usual, "unknown");
    assert_eq!(bitrates(12_000_000, "avc1.640028"), usual);
    // A screen recording.
    assert_eq!(bitrates(1_000_000, "avc1.640028"), [500_000, 250_000, 142_857, 71_428]);
    assert_eq!(bitrates(100_000, "avc1.640028"), [64_000; 4]);
    // Only some players decode the copy, so the others get a rung of its size.
    assert_eq!(bitrates(1_000_000, "hvc1.1.6.L93.B0")[1..], usual);
}
