//! Tracks that players do not get unchanged: their reason, and the sample entry for a decoder.

use kinora_index::{Index, NotCopied, NotCopiedReason, Track};

use crate::{
    fixture,
    patch_boxes::{boxed, changed, replaced, table, words},
    read,
};

/// Reads a file whose first track is not copied, and checks the track in its index.
#[track_caller]
fn check(bytes: &[u8], codec: &str, reason: NotCopiedReason, detail: &str) -> Index {
    let index = read(bytes).unwrap();
    let track = &index.tracks[0];
    assert_eq!(track.media.not_copied(), Some(&NotCopied::new(reason, detail)));
    let facts = index.facts();
    let named = facts.video.map(|video| video.codec).or(facts.audio.first().map(|audio| audio.codec.clone()));
    assert_eq!(named.as_deref(), Some(codec));
    assert_eq!(index.segments(track), [], "no copy");
    let entry = track.media.sample_entry().iso().unwrap();
    assert_eq!(entry[..4], (entry.len() as u32).to_be_bytes(), "one whole box");
    assert_eq!(entry[14..16], [0, 1], "of this file");
    assert_eq!(Index::from_bytes(&index.to_bytes()).unwrap(), index);
    index
}

/// An audio file with another AAC configuration.
pub(crate) fn with_aac_config(config: [u8; 5]) -> Vec<u8> {
    // AudioSpecificConfig after its tag and length, as ffmpeg writes it: 48 kHz mono AAC-LC, no SBR.
    let lc = [0x05, 0x80, 0x80, 0x80, 0x05, 0x11, 0x88, 0x56, 0xe5, 0x00];
    let mut to = lc;
    to[5..].copy_from_slice(&config);
    replaced(&fixture("audio_only.m4a"), &lc, &to)
}

#[test]
fn other_audio_codecs_keep_their_sample_entry() {
    for (name, codec, detail) in [
        ("mp3.mp4", "mp4a.6B", "MPEG audio"),
        ("ac3.mp4", "ac-3", "AC-3"),
        ("eac3.mp4", "ec-3", "E-AC-3"),
        ("alac.m4a", "alac", "ALAC"),
        ("pcm.mov", "sowt", "PCM"),
    ] {
        let file = fixture(name);
        let index = check(&file, codec, NotCopiedReason::Codec, detail);
        let entry = index.tracks[0].media.sample_entry().iso().unwrap();
        assert!(file.windows(entry.len()).any(|window| window == entry), "{name}: as the source has it");
        assert_eq!(index.plan.encoded_video, []);
        let frames =
            (index.tracks[0].end as u64 * 48_000).div_ceil(u64::from(index.tracks[0].timescale) * 1024);
        assert_eq!(index.plan.encoded_audio, [[0, frames]], "{name}");
    }
}

#[test]
fn pcm_samples_become_packets() {
    let index = read(&fixture("pcm.mov")).unwrap();
    let Track { samples, end, .. } = &index.tracks[0];
    // Half a second of 8 kHz, 16 bits, mono.
    assert_eq!(*end, 4000);
    let rows: Vec<_> = samples.iter().collect();
    assert!(rows.len() < 16, "{}", rows.len());
    assert_eq!(rows.iter().map(|row| i64::from(row.duration)).sum::<i64>(), 4000);
    for row in &rows {
        assert_eq!(row.size, row.duration * 2);
        assert!(row.duration <= 1024);
    }
    for pair in rows.windows(2) {
        assert_eq!(pair[1].pts, pair[0].pts + i64::from(pair[0].duration));
    }
    // An hour of 48 kHz: more rows than a track may have packets.
    let hour = 48_000 * 3600u32;
    let file = changed(&fixture("pcm.mov"), &["moov", "trak", "mdia", "minf", "stbl", "stts"], &|_| {
        words(&[0, 1, hour, 1])
    });
    let file =
        changed(&file, &["moov", "trak", "mdia", "minf", "stbl", "stsc"], &|_| words(&[0, 1, 1, hour, 1]));
    let file = changed(&file, &["moov", "trak", "mdia", "minf", "stbl", "stsz"], &|_| words(&[0, 2, hour]));
    // The file is shorter: the available part plays.
    assert_eq!(
        read(&file).unwrap_err().to_string(),
        "the file ends too early: less than a second of it can be played"
    );
}

#[test]
fn aac_object_types_are_named() {
    for (config, codec, detail) in [
        ([0x2b, 0x8a, 0x08, 0x00, 0x00], "mp4a.40.2", "HE-AAC"),
        ([0xeb, 0x8a, 0x08, 0x00, 0x00], "mp4a.40.2", "HE-AAC v2"),
        ([0x13, 0x88, 0x56, 0xe5, 0xa0], "mp4a.40.2", "HE-AAC"),
        ([0x09, 0x88, 0x00, 0x00, 0x00], "mp4a.40.1", "AAC Main"),
        ([0xb9, 0x88, 0x00, 0x00, 0x00], "mp4a.40.23", "AAC-LD"),
        ([0x11, 0xc8, 0x00, 0x00, 0x00], "mp4a.40.2", "AAC-LC of an unknown channel layout"),
    ] {
        check(&with_aac_config(config), codec, NotCopiedReason::Codec, detail);
    }
}

#[test]
fn video_not_copied_has_a_reason() {
    use NotCopiedReason::{Codec, Interlaced, LongGop, OpenGop, PixelFormat};
    check(&fixture("hevc_422.mp4"), "hvc1.4.10.L30.9D.8", PixelFormat, "HEVC 4:2:2");
    check(&fixture("ten_bit.mp4"), "avc1.6e000a", PixelFormat, "H.264 High 10 (10-bit)");
    check(&fixture("open_gop.mp4"), "avc1.64000a", OpenGop, "open GOP");
    let long =
        check(&fixture("long_gop.mp4"), "avc1.64000a", LongGop, "25 s without a keyframe, from second 0 on");
    let starts: Vec<_> = long
        .plan
        .encoded_video
        .iter()
        .map(|segment| segment.start / i64::from(long.tracks[0].timescale))
        .collect();
    assert_eq!(starts, [0, 2, 4, 8, 12, 16, 20, 24]);

    let interlaced = check(&fixture("interlaced.mp4"), "avc1.640015", Interlaced, "interlaced H.264");
    assert!(interlaced.video().unwrap().1.is_interlaced);
    let file = fixture("moov_at_end.mp4");
    let lacks_keyframe = changed(&file, &table("stss"), &|_| words(&[0, 1, 2]));
    let late = check(&lacks_keyframe, "avc1.64000a", LongGop, "does not begin with a keyframe");
    assert_eq!(late.plan.encoded_video[0].samples.start, 1);
    let no_keyframe = changed(&file, &table("stss"), &|_| words(&[0, 0]));
    let none = check(&no_keyframe, "avc1.64000a", LongGop, "does not begin with a keyframe");
    assert_eq!(none.plan.encoded_video[0].samples.start, 0);

    let kind = |to: &[u8; 4]| {
        replaced(
            &fixture("video_only.mp4"),
            b"avc1\0\0\0\0\0\0\0\x01",
            &[&to[..], b"\0\0\0\0\0\0\0\x01"].concat(),
        )
    };
    for (to, detail) in [
        (b"apcn", "ProRes 422"),
        (b"ap4h", "ProRes 4444"),
        (b"AVdh", "DNxHR"),
        (b"dvcp", "DV"),
        (b"hdv3", "HDV"),
        (b"xdvc", "XDCAM"),
        (b"mx5p", "IMX"),
        (b"SVQ3", "Sorenson Video"),
        (b"rle ", "Animation"),
        (b"raw ", "uncompressed video"),
        (b"vp09", "VP9"),
        (b"avc3", "H.264"),
    ] {
        let index = check(&kind(to), std::str::from_utf8(to).unwrap(), Codec, detail);
        let video = index.facts().video.unwrap();
        assert_eq!((video.width, video.height), (96, 54));
    }
}

#[test]
fn interlaced_is_detected_by_entry_or_bitstream() {
    let file = fixture("video_only.mp4");
    let with = |codec: &str, fiel: &[u8]| {
        let boxes = boxed("fiel", fiel);
        let fields = [codec.as_bytes(), b"\0\0\0\0\0\0\0\x01"].concat();
        let other = replaced(&file, b"avc1\0\0\0\0\0\0\0\x01", &fields);
        changed(&other, &table("stsd"), &|stsd| {
            [&stsd[..8], &boxed(codec, &[&stsd[16..], &boxes].concat())].concat()
        })
    };
    let check = |codec: &str, fiel: &[u8], is_interlaced: bool| {
        let index = read(&with(codec, fiel)).unwrap();
        assert_eq!(index.video().unwrap().1.is_interlaced, is_interlaced, "{codec} {fiel:?}");
    };
    check("v210", &[1, 0], false);
    check("v210", &[2, 9], true);
    check("v210", &[2, 14], true);
    check("v210", &[], false);
    for codec in ["apcn", "mp2v", "AVdn", "dvcp", "xdvb"] {
        check(codec, &[1, 0], true);
    }
    for codec in ["vp09", "rle ", "cvid"] {
        check(codec, &[], false);
    }
}

#[test]
fn mp4v_object_types_are_named() {
    let file = fixture("video_only.mp4");
    let check = |children: &[u8], codec: &str, detail: &str| {
        let fields = [&[0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 16], &[0, 96, 0, 54], &[0; 50]].concat();
        let entry = boxed("mp4v", &[&fields[..], children].concat());
        let stsd = [&words(&[0, 1])[..], &entry].concat();
        check(&changed(&file, &table("stsd"), &|_| stsd.clone()), codec, NotCopiedReason::Codec, detail);
    };
    let esds = |indication: u8| {
        boxed("esds", &[&words(&[0])[..], &[3, 19, 0, 0, 0, 4, 14, indication, 0x11], &[0; 14]].concat())
    };
    check(&[], "mp4v", "MPEG-4 Visual");
    check(&esds(0x20), "mp4v.20", "MPEG-4 Visual");
    check(&esds(0x60), "mp4v.60", "MPEG-2 video");
    check(&esds(0x65), "mp4v.65", "MPEG-2 video");
    check(&esds(0x6a), "mp4v.6A", "MPEG-1 video");
    check(&esds(0x6c), "mp4v.6C", "JPEG");
    check(&esds(0x6d), "mp4v.6D", "PNG");
    check(&esds(0x6e), "mp4v.6E", "JPEG 2000");
}
