//! The times of frames do not change, independent of the source and of the cuts.

use kinora_formats::encode::{Feed, FeedFormat, init_of_rung, ladder, ladder_without_copy};
use kinora_index::{Rung, SampleEntry, Segment, TrackMedia, plan::presented_at};

use crate::{
    Clip,
    boxes::{find, fragment, media_time},
    encoder::{made, shown_us},
};

/// Presentation times of the frames of the source, in its ticks, rising.
fn times(clip: &Clip) -> Vec<i64> {
    let (track, _) = clip.index.video().unwrap();
    let mut times: Vec<i64> = track.samples.iter().map(|sample| presented_at(track, &sample)).collect();
    times.sort_unstable();
    times.retain(|time| (0..track.end).contains(time));
    times
}

fn smallest(clip: &Clip) -> Vec<Rung> {
    let rungs = ladder_without_copy(&clip.index, 240);
    assert_eq!(rungs.len(), 1);
    rungs
}

/// Encodes runs of `run` segments, and checks them as one file.
fn check(name: &str, clip: &Clip, run: u32) {
    let (track, video) = clip.index.video().unwrap();
    let plan = &clip.index.plan.encoded_video;
    let count = plan.len() as u32;
    assert!(2 <= count, "{name}: {count} segments");
    let rungs = smallest(clip);
    let mut file = Vec::new();
    for start in (0..count).step_by(run as usize) {
        let made = made(&clip.index, &clip.bytes, &rungs, start..(start + run).min(count));
        let init = init_of_rung(&clip.index, &rungs[0], &made.avcc[0]).unwrap();
        if file.is_empty() {
            assert_eq!(media_time(&init), video.composition_shift, "{name}");
            file = init;
        }
        for (number, segment) in (start..).zip(made.segments) {
            assert_eq!(segment.number, number, "{name}");
            let bytes = segment.outcome.unwrap();
            let Segment { start, end, .. } = plan[number as usize];
            let fragment = fragment(&bytes);
            assert_eq!(fragment.decode_time as i64, start, "{name}: segment {number}");
            assert_eq!(fragment.duration() as i64, end - start, "{name}: segment {number}");
            let mut shown = fragment.presentation();
            shown.sort_unstable();
            let expected: Vec<i64> =
                times(clip).into_iter().filter(|time| (start..end).contains(time)).collect();
            let shown: Vec<i64> = shown.into_iter().map(|time| time - video.composition_shift).collect();
            assert_eq!(shown, expected, "{name}: segment {number}");
            file.extend(bytes);
        }
    }

    let timescale = i64::from(track.timescale);
    let expected: Vec<i64> = times(clip).iter().map(|time| time * 1_000_000 / timescale).collect();
    let shown = shown_us(file);
    assert_eq!(shown.len(), expected.len(), "{name}: frames");
    for (shown, expected) in shown.iter().zip(&expected) {
        assert!((shown - expected).abs() <= 1000, "{name}: {shown} us, not {expected}");
    }
}

const X264: &str = "-c:v libx264 -preset ultrafast -bf 3 -pix_fmt yuv420p";

#[test]
fn b_frames_keep_presentation_times() {
    let clip = Clip::made_by(&format!(
        "-f lavfi -i testsrc2=s=320x180:r=24000/1001:d=9 {X264} -g 48 -keyint_min 48"
    ));
    check("one run", &clip, 9);
    check("a run each", &clip, 1);
}

#[test]
fn segments_starting_inside_a_gop_have_the_same_frames() {
    let mut clip = Clip::made_by(&format!(
        "-f lavfi -i testsrc2=s=320x180:r=30000/1001:d=13 {X264} -g 390 -keyint_min 390 -sc_threshold 0"
    ));
    let (track, _) = clip.index.video().unwrap();
    let (end, second) = (track.end, i64::from(track.timescale));
    let times = times(&clip);
    let len = track.samples.len();
    // At the first frame of every fourth second. The decoder needs all samples from the keyframe on.
    let at = |seconds: i64| times[times.partition_point(|time| *time < seconds * second)];
    let cuts: Vec<i64> = [0, 4, 8, 11].map(at).into_iter().chain([end]).collect();
    clip.index.plan.encoded_video =
        cuts.windows(2).map(|cut| Segment { samples: 0..len, start: cut[0], end: cut[1] }).collect();
    check("one run", &clip, 9);
    check("a run each", &clip, 1);

    // The third one is more than 10 s after the keyframe: it needs a longer lead.
    let feed = Feed::of_segments(&clip.index, 3..4).unwrap();
    assert_eq!(feed.time_us(cuts[3]), 12_000_000);
}

#[test]
fn variable_frame_rate_keeps_presentation_times() {
    let clip = Clip::made_by(&format!(
        "-f lavfi -i testsrc2=s=320x180:r=60:d=8 -vf select=not(between(mod(n\\,7)\\,2\\,3))*not(between(n\\,300\\,330)) \
         -fps_mode vfr {X264} -g 60"
    ));
    check("one run", &clip, 9);
    check("two runs", &clip, 2);
}

#[test]
fn open_gops_keep_presentation_times() {
    let clip = Clip::made_by(
        "-f lavfi -i testsrc2=s=320x180:r=25:d=9 -c:v libx265 -preset ultrafast -tag:v hvc1 -pix_fmt yuv420p10le \
         -x265-params log-level=none:keyint=50:min-keyint=50:open-gop=1:bframes=3:scenecut=0",
    );
    let has_open = |segment: &Segment| {
        let (track, _) = clip.index.video().unwrap();
        let keyframe = track.samples.get(segment.samples.start).unwrap();
        segment.start < presented_at(track, &keyframe)
    };
    assert!(clip.index.plan.video.iter().skip(1).any(has_open), "no group is open");
    check("one run", &clip, 9);
}

#[test]
fn rotated_anamorphic_video_is_encoded_at_display_size() {
    let mut clip =
        Clip::made_by(&format!("-f lavfi -i testsrc2=s=320x180:r=30:d=5 -vf setsar=4/3 {X264} -g 60"));
    let TrackMedia::Video(video) = &mut clip.index.tracks[0].media else { unreachable!() };
    assert_eq!(video.pixel_aspect, (4, 3));
    video.matrix = [0, 0x1_0000, 0, -0x1_0000, 0, 0, 180 << 16, 0, 0x4000_0000];
    video.rotation = 90;
    assert_eq!(ladder(&clip.index, 1080).len(), 0, "it is as small as the smallest rung");
    let rungs = smallest(&clip);
    assert_eq!((rungs[0].width, rungs[0].height), (180, 426));
    check("turned", &clip, 9);
}

/// An element of Matroska that is shorter than 2^14 bytes.
fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    [id, &(0x4000 | body.len() as u16).to_be_bytes(), body].concat()
}

#[test]
fn matroska_feed_keeps_presentation_times() {
    let mut clip = Clip::made_by(&format!(
        "-f lavfi -i testsrc2=s=320x180:r=24000/1001:d=5 {X264} -g 48 -keyint_min 48"
    ));
    let track = &mut clip.index.tracks[0];
    let TrackMedia::Video(video) = &mut track.media else { unreachable!("it is video") };
    let SampleEntry::Iso(entry) = &video.sample_entry else { unreachable!("it is of an MP4") };
    let avcc = find(&entry[86..], "avcC").body;
    let size = [element(&[0xb0], &320_u16.to_be_bytes()), element(&[0xba], &180_u16.to_be_bytes())].concat();
    let body = [
        element(&[0xd7], &[7]),
        element(&[0x83], &[1]),
        element(&[0x86], b"V_MPEG4/ISO/AVC"),
        element(&[0x63, 0xa2], avcc),
        element(&[0xe0], &size),
    ];
    video.sample_entry = SampleEntry::Matroska(element(&[0xae], &body.concat()));
    assert_eq!(Feed::of_segments(&clip.index, 0..1).unwrap().format(), FeedFormat::Matroska);
    check("one run", &clip, 9);
    check("a run each", &clip, 1);
}

#[test]
fn frame_rate_halving_keeps_presentation_times() {
    let clip = Clip::made_by(&format!("-f lavfi -i testsrc2=s=160x90:r=120:d=5 {X264} -g 240"));
    let (track, video) = clip.index.video().unwrap();
    let rungs = smallest(&clip);
    assert_eq!(video.frame_rate, Some((120, 1)));
    assert_eq!((rungs[0].frame_step, rungs[0].frame_rate), (2, Some((60, 1))));
    let made = made(&clip.index, &clip.bytes, &rungs, 0..clip.index.plan.encoded_video.len() as u32);
    let mut shown = Vec::new();
    for (segment, planned) in made.segments.into_iter().zip(&clip.index.plan.encoded_video) {
        let fragment = fragment(&segment.outcome.unwrap());
        assert_eq!(fragment.decode_time as i64, planned.start);
        shown.extend(fragment.presentation().into_iter().map(|time| time - video.composition_shift));
    }
    shown.sort_unstable();
    let expected: Vec<i64> = times(&clip).into_iter().step_by(2).collect();
    assert_eq!(shown, expected, "of {} ticks a second", track.timescale);
}
