//! Media segments: their order, their byte positions, their presentation times.

use std::fmt::Write as _;

use kinora_formats::{Scanned, Scanner};
use kinora_index::{Sample, Segment, Timeline, Track, TrackMedia};
use kinora_isobmff::write::{
    ByteRange, SegmentHead, WriteError, init_segment, segment_head, segment_len_max,
};

use crate::assert_golden;
use crate::boxes::{Fragment, find, fragment, media_time, timescale, tree};
use crate::source::{
    AUDIO_TIMESCALE, DELAY, FRAME_TICKS, PACKET, Source, VIDEO_TIMESCALE, audio_only, audio_track, clip,
    laid_out, packets, table, video_only, video_samples, video_track,
};

fn planned<'a>(source: &'a Source, track: &Track) -> &'a [Segment] {
    match track.media {
        TrackMedia::Video(_) => &source.index.plan.video,
        TrackMedia::Audio(_) => source.index.segments(track),
    }
}

/// All fragments of a track, each checked against its head, its bytes and the previous one.
fn fragments(source: &Source, track: &Track) -> Vec<Fragment> {
    let mut fragments: Vec<Fragment> = Vec::new();
    for (number, segment) in (0..).zip(planned(source, track)) {
        let head = segment_head(&source.index, track, number).unwrap();
        let bytes = source.segment(&head);
        let fragment = fragment(&bytes);
        assert_eq!(bytes.len() as u64, head.total_len);
        assert!(head.total_len <= segment_len_max(track, segment));
        assert_eq!(&bytes[fragment.data_offset as usize - 4..][..4], b"mdat");
        assert_eq!(fragment.size(), find(&bytes, "mdat").body.len() as u64);
        assert_eq!((fragment.sequence, fragment.track), (number + 1, 1));
        if let Some(before) = fragments.last() {
            assert_eq!(fragment.decode_time, before.decode_time + before.duration(), "segment {number}");
        }
        fragments.push(fragment);
    }
    fragments
}

/// One line per segment and one per sample, for the golden texts.
fn table_of(fragments: &[Fragment]) -> String {
    let mut text = String::new();
    for fragment in fragments {
        let _ = writeln!(text, "segment {} at {}", fragment.sequence, fragment.decode_time);
        for sample in &fragment.samples {
            let _ = writeln!(
                text,
                "  {:5} ticks, {:4} bytes, flags {:08x}, offset {:+}",
                sample.duration, sample.size, sample.flags, sample.composition_offset
            );
        }
    }
    text
}

#[test]
fn segments_of_a_clip_follow_one_another_without_gap() {
    let clip = clip();
    let video = fragments(&clip, clip.video());
    let audio = fragments(&clip, clip.audio());
    assert_eq!(video.iter().map(|fragment| fragment.samples.len()).sum::<usize>(), 331);
    assert_eq!(audio.iter().map(|fragment| fragment.samples.len()).sum::<usize>(), 513);
    assert_golden("fragments_video", &table_of(&video));
    assert_golden("fragments_audio", &table_of(&audio));
}

#[test]
fn segment_head_matches_golden_box_tree() {
    let clip = clip();
    let head = |track, number| segment_head(&clip.index, track, number).unwrap();
    let last = clip.index.plan.video.len() as u32 - 1;
    assert_golden("head_video_one_gop", &tree(&head(clip.video(), 0).bytes));
    assert_golden("head_video_two_gops", &tree(&head(clip.video(), last - 1).bytes));
    assert_golden("head_audio", &tree(&head(clip.audio(), 0).bytes));
}

#[test]
fn frames_keep_source_presentation_times() {
    let clip = clip();
    let shown: Vec<i64> = fragments(&clip, clip.video()).iter().flat_map(Fragment::presentation).collect();
    // The source delays by the same time that the edit list removes.
    let expected: Vec<i64> = video_samples(331).iter().map(|sample| sample.pts).collect();
    assert_eq!(shown, expected);
}

#[test]
fn segment_payload_is_its_samples_in_order() {
    let clip = clip();
    for track in [clip.video(), clip.audio()] {
        for (number, segment) in (0..).zip(planned(&clip, track)) {
            let head = segment_head(&clip.index, track, number).unwrap();
            let expected: Vec<u8> = track
                .samples
                .range(segment.samples.clone())
                .flat_map(|sample| clip.bytes[sample.offset as usize..][..sample.size as usize].to_vec())
                .collect();
            assert_eq!(clip.segment(&head)[head.bytes.len()..], expected);
            for pair in head.ranges.windows(2) {
                assert_ne!(pair[0].end(), pair[1].offset, "adjacent ranges are one");
            }
        }
    }
}

#[test]
fn any_byte_range_of_segment_matches_the_whole() {
    let clip = clip();
    let head = segment_head(&clip.index, clip.video(), 1).unwrap();
    let segment = clip.segment(&head);
    let len = segment.len() as u64;
    let start = head.bytes.len() as u64;
    for (from, to) in
        [(0, len), (0, 1), (3, start), (start - 1, start + 1), (start, len), (start + 777, start + 1500)]
    {
        let (from_head, ranges) = head.byte_range(from..to);
        let part = SegmentHead { bytes: head.bytes[from_head].to_vec(), ranges, total_len: to - from };
        assert_eq!(clip.segment(&part), segment[from as usize..to as usize], "{from}..{to}");
    }
    assert_eq!(head.byte_range(len..len + 5), (start as usize..start as usize, Vec::new()));
}

#[test]
fn edit_inside_gop_hides_earlier_frames_in_first_tick() {
    // The edit begins 10 frames into the second GOP.
    let skipped = 70 * FRAME_TICKS;
    let edited = video_only(|track, _| {
        track.shift -= skipped;
        track.end -= skipped;
    });
    let init = init_segment(&edited.index, edited.video(), 0).unwrap();
    let fragments = fragments(&edited, edited.video());
    let (media_time, factor) = (media_time(&init), 6);
    assert_eq!(timescale(&init), 6 * VIDEO_TIMESCALE);
    assert_eq!(media_time, DELAY * factor);
    assert_eq!(fragments[0].decode_time, 0);
    assert_eq!(fragments[0].samples[0].flags, 0x0200_0000);

    let mut shown: Vec<i64> =
        fragments.iter().flat_map(Fragment::presentation).map(|at| at - media_time).collect();
    shown.sort_unstable();
    // Ten frames of one tick, then the frame of the edit at once, then all others at their own times.
    assert_eq!(shown[..11], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let expected: Vec<i64> = (1..331 - 70).map(|number| number * FRAME_TICKS * factor).collect();
    assert_eq!(shown[11..], expected);
}

#[test]
fn trailing_edit_keeps_reference_frames_and_end_time() {
    // Ends after two frames of a GOP: the P shown after them was decoded before.
    let end = 62 * FRAME_TICKS;
    let trimmed = video_only(|track, _| track.end = end);
    let fragments = fragments(&trimmed, trimmed.video());
    let last = fragments.last().unwrap();
    assert_eq!(last.decode_time + last.duration(), end as u64);
    assert!(last.presentation().iter().all(|at| *at < end + DELAY));
}

#[test]
fn late_video_shows_first_frame_from_zero() {
    let late = video_only(|track, _| {
        track.shift += 3 * FRAME_TICKS;
        track.end += 3 * FRAME_TICKS;
    });
    let first = &fragments(&late, late.video())[0];
    assert_eq!((first.decode_time, first.samples[0].duration), (0, 4 * FRAME_TICKS as u32));
    assert_eq!(first.presentation()[0], DELAY);
}

fn with_audio(mut samples: Vec<Sample>, change: impl FnOnce(&mut Track)) -> Source {
    let bytes = laid_out(std::slice::from_mut(&mut samples), &[AUDIO_TIMESCALE]);
    let mut track = audio_track(&samples);
    change(&mut track);
    Source::new(vec![track], bytes)
}

#[test]
fn late_audio_is_silent_until_it_begins() {
    let mut samples = [video_samples(331), packets(300)];
    let bytes = laid_out(&mut samples, &[VIDEO_TIMESCALE, AUDIO_TIMESCALE]);
    let mut late = audio_track(&samples[1]);
    late.shift = 5 * 48_000;
    late.end = late.shift + 300 * PACKET;
    let late = Source::new(vec![video_track(&samples[0]), late], bytes);
    assert_eq!(media_time(&init_segment(&late.index, late.audio(), 0).unwrap()), 0);

    let fragments = fragments(&late, late.audio());
    let counts: Vec<_> = fragments.iter().map(|fragment| fragment.samples.len()).collect();
    // 2 s contain 93 packets and a part, by which the last one lasts longer; 1 s of silence before the first
    // packet contains 46.
    assert_eq!(counts, [93, 93, 46 + 141, 159]);
    assert_eq!(fragments[0].decode_time, 0);
    assert_eq!(
        fragments[0].samples[91..].iter().map(|sample| sample.duration).collect::<Vec<_>>(),
        [1024, 1792]
    );
    let head = segment_head(&late.index, late.audio(), 2).unwrap();
    let silence = [0x21, 0, 0, 0, 0, 0x1c].repeat(46);
    assert!(head.bytes.ends_with(&silence));
    assert_eq!(fragment(&head.bytes).data_offset as usize, head.bytes.len() - silence.len());
}

#[test]
fn short_video_leaves_no_empty_audio_segment() {
    let mut samples = [video_samples(1), packets(300)];
    let bytes = laid_out(&mut samples, &[VIDEO_TIMESCALE, AUDIO_TIMESCALE]);
    let mut short = video_track(&samples[0]);
    short.end = 100;
    let mut late = audio_track(&samples[1]);
    late.shift = 5 * 48_000;
    late.end = late.shift + 300 * PACKET;
    let source = Source::new(vec![short, late], bytes);
    assert!(fragments(&source, source.audio()).iter().all(|fragment| !fragment.samples.is_empty()));
}

#[test]
fn late_audio_of_unknown_layout_starts_without_silence() {
    let late = with_audio(packets(200), |track| {
        let TrackMedia::Audio(audio) = &mut track.media else { unreachable!("made so") };
        audio.channels = 7;
        track.shift = 12_345;
        track.end = 12_345 + 200 * PACKET;
    });
    let fragments = fragments(&late, late.audio());
    assert_eq!(fragments[0].decode_time, 12_345);
}

#[test]
fn trimmed_audio_starts_with_its_decoder_preroll_packets() {
    let cut = with_audio(packets(200), |track| {
        track.shift = -50 * PACKET - 500;
        track.end += track.shift;
    });
    let fragments = fragments(&cut, cut.audio());
    assert_eq!(fragments[0].decode_time, 0);
    // The packet that is audible at 0 began 500 ticks before; two more precede it.
    assert_eq!(media_time(&init_segment(&cut.index, cut.audio(), 0).unwrap()), 2 * PACKET + 500);
}

#[test]
fn overlapping_audio_packet_is_dropped() {
    let mut samples = packets(100);
    samples[40].duration = 1;
    for packet in &mut samples[41..] {
        packet.dts -= PACKET - 1;
        packet.pts -= PACKET - 1;
    }
    let source = with_audio(samples, |_| {});
    let fragments = fragments(&source, source.audio());
    let durations: Vec<u32> =
        fragments.iter().flat_map(|fragment| &fragment.samples).map(|sample| sample.duration).collect();
    assert_eq!(durations.len(), 99);
    assert_eq!(
        durations.iter().enumerate().filter(|(_, ticks)| **ticks != 1024).collect::<Vec<_>>(),
        [(39, &1025)]
    );
}

#[test]
fn mdat_over_4_gib_uses_64_bit_size() {
    let samples: Vec<Sample> = video_samples(60)
        .into_iter()
        .enumerate()
        .map(|(number, sample)| Sample { offset: number as u64 * 0x1_0000_0000, size: 0x0800_0000, ..sample })
        .collect();
    let source = Source::new(vec![video_track(&samples)], Vec::new());
    let head = segment_head(&source.index, source.video(), 0).unwrap();
    let payload = 60 * 0x0800_0000_u64;
    assert_eq!(head.total_len, head.bytes.len() as u64 + payload);
    let mdat = &head.bytes[head.bytes.len() - 16..];
    assert_eq!(mdat[..8], [0, 0, 0, 1, b'm', b'd', b'a', b't']);
    assert_eq!(mdat[8..], (payload + 16).to_be_bytes());
    assert_eq!(fragment(&head.bytes).data_offset as usize, head.bytes.len());
    assert_eq!(head.ranges[59], ByteRange { object: 0, offset: 59 * 0x1_0000_0000, len: 0x0800_0000 });
}

#[test]
fn unknown_segment_number_is_rejected() {
    let audio = audio_only();
    let beyond = audio.index.plan.audio[0].len() as u32;
    assert_eq!(
        segment_head(&audio.index, audio.audio(), beyond),
        Err(WriteError::NoSuchSegment { number: beyond })
    );
    let mut damaged = audio_only().index;
    damaged.tracks[0].samples = table(&[]);
    assert_eq!(segment_head(&damaged, &damaged.tracks[0], 0), Err(WriteError::NoSamples { number: 0 }));
}

#[test]
fn too_small_composition_shift_is_a_timing_error() {
    let source = video_only(|_, video| video.composition_shift = -1);
    let result = segment_head(&source.index, source.video(), 0);
    assert!(matches!(result, Err(WriteError::Timing { number: 0, .. })), "{result:?}");
}

#[test]
fn source_timescale_is_preserved_without_edits() {
    let clip = clip();
    assert_eq!(
        Timeline::of(&clip.index, clip.video()),
        Timeline { timescale: VIDEO_TIMESCALE, factor: 1, media_time: DELAY }
    );
    assert_eq!(
        Timeline::of(&clip.index, clip.audio()),
        Timeline { timescale: AUDIO_TIMESCALE, factor: 1, media_time: PACKET }
    );
}

fn fixture(name: &str) -> Source {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes).unwrap();
    Source { index: scanner.finish().and_then(Scanned::into_index).unwrap(), bytes }
}

/// Real files, as ffmpeg muxes them, through the reader.
#[test]
fn segments_of_real_files_are_contiguous_and_complete() {
    for name in [
        "audio_only.m4a",
        "cmaf.mp4",
        "dash.mp4",
        "every_frame.mp4",
        "every_packet.mp4",
        "faststart.mp4",
        "fragmented.mp4",
        "hybrid.mp4",
        "late_audio.mp4",
        "moov_at_end.mp4",
        "one_fragment.mp4",
        "quicktime.mov",
        "rotated.mp4",
        "separate_moof.mp4",
        "smooth.mp4",
        "surround.m4a",
        "variable_rate.mp4",
        "video_only.mp4",
    ] {
        let source = fixture(name);
        for track in &source.index.tracks {
            let timeline = Timeline::of(&source.index, track);
            let fragments = fragments(&source, track);
            let last = fragments.last().unwrap();
            // Decode times of video begin at 0, those of audio at its priming.
            let delay = if matches!(track.media, TrackMedia::Video(_)) { 0 } else { timeline.media_time };
            let end = track.end * i64::from(timeline.factor) + delay;
            assert_eq!((last.decode_time + last.duration()) as i64, end, "{name}");
            let shown: usize = track.samples.iter().filter(|sample| 0 <= sample.pts + track.shift).count();
            let sent: usize = fragments.iter().map(|fragment| fragment.samples.len()).sum();
            assert!(shown <= sent, "{name}: {sent} of {shown}");
        }
    }
}

/// The bytes of each sample in the segments of a track.
fn sent(source: &Source, track: &Track) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    for (number, fragment) in (0..).zip(fragments(source, track)) {
        let segment = source.segment(&segment_head(&source.index, track, number).unwrap());
        let mut rest = &segment[fragment.data_offset as usize..];
        for sample in &fragment.samples {
            let (bytes, behind) = rest.split_at(sample.size as usize);
            sent.push(bytes.to_vec());
            rest = behind;
        }
        assert!(rest.is_empty());
    }
    sent
}

#[test]
fn fragmented_sources_lose_no_samples() {
    let original = fixture("faststart.mp4");
    let made_of = |track: &Track| -> Vec<Vec<u8>> {
        let bytes =
            |sample: Sample| original.bytes[sample.offset as usize..][..sample.size as usize].to_vec();
        track.samples.iter().map(bytes).collect()
    };
    let expected = [made_of(original.video()), made_of(original.audio())];
    assert_eq!(expected.each_ref().map(Vec::len), [45, 142]);
    for name in [
        "cmaf.mp4",
        "dash.mp4",
        "every_frame.mp4",
        "every_packet.mp4",
        "faststart.mp4",
        "fragmented.mp4",
        "hybrid.mp4",
        "one_fragment.mp4",
        "separate_moof.mp4",
        "smooth.mp4",
    ] {
        let source = fixture(name);
        for (track, expected) in source.index.tracks.iter().zip(&expected) {
            assert!(sent(&source, track) == *expected, "{name}: track {}", track.source_track);
        }
        assert_eq!(source.index.tracks.len(), if name == "every_frame.mp4" { 1 } else { 2 });
    }
}

#[test]
fn one_packet_fragments_keep_packet_durations() {
    let source = fixture("every_packet.mp4");
    let durations: Vec<u32> = fragments(&source, source.audio())
        .iter()
        .flat_map(|fragment| &fragment.samples)
        .map(|sample| sample.duration)
        .collect();
    // ffmpeg extends the first packet to the start of the video, and cuts the last one short.
    assert_eq!((durations[0], durations[141]), (6400, 640));
    assert_eq!(durations[1..141], [1024; 140]);
}
