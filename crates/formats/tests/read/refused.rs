//! Files that are refused: with which code, and in which words.

use kinora_formats::{Scanner, mp4::ReadFailureCode};

use crate::{
    fixture, read,
    surgery::{boxed, changed, replaced, table, words},
};

#[track_caller]
fn check(bytes: &[u8], code: ReadFailureCode, sentence: &str) {
    let error = read(bytes).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), (code, sentence));
}

#[track_caller]
fn unsupported(bytes: &[u8], sentence: &str) {
    check(bytes, ReadFailureCode::CodecUnsupported, sentence);
}

#[track_caller]
fn not_media(bytes: &[u8], sentence: &str) {
    check(bytes, ReadFailureCode::NotMedia, sentence);
}

#[test]
fn codecs_that_are_not_copied_are_named() {
    let only = "only progressive 8-bit 4:2:0 H.264 up to High 5.1 is supported so far";
    for (name, found) in [
        ("mp3.mp4", "MP3 (mp4a.6B)"),
        ("ac3.mp4", "AC-3 (ac-3)"),
        ("eac3.mp4", "E-AC-3 (ec-3)"),
        ("alac.m4a", "ALAC (alac)"),
        ("pcm.mov", "PCM (sowt)"),
    ] {
        let sentence = format!("the audio codec is {found}; only AAC-LC and Opus are supported so far");
        unsupported(&fixture(name), &sentence);
    }
    unsupported(
        &fixture("hevc_422.mp4"),
        "the video is HEVC 4:2:2; only progressive 4:2:0 HEVC of 8 or 10 bits is supported so far",
    );
    unsupported(
        &replaced(&fixture("video_only.mp4"), b"avc1\0\0\0\0\0\0\0\x01", b"apch\0\0\0\0\0\0\0\x01"),
        "the video codec is ProRes (apch); only H.264, HEVC and AV1 are supported so far",
    );
    unsupported(&fixture("ten_bit.mp4"), &format!("the video is H.264 High 10; {only}"));
    unsupported(&fixture("interlaced.mp4"), &format!("the video is interlaced H.264; {only}"));
    unsupported(&fixture("open_gop.mp4"), "the video has open GOPs; only closed GOPs are supported so far");
    unsupported(
        &fixture("long_gop.mp4"),
        "the video has 25 s without a keyframe, from second 0 on; at most 20 s are supported so far",
    );

    let file = fixture("moov_at_end.mp4");
    unsupported(
        &replaced(&file, b"avc1\0\0\0\0\0\0\0\x01", b"encv\0\0\0\0\0\0\0\x01"),
        "the video is encrypted",
    );
    unsupported(&replaced(&file, b"mp4a\0", b"enca\0"), "the audio is encrypted");
    unsupported(
        &replaced(&file, b"avc1\0\0\0\0\0\0\0\x01", b"avc3\0\0\0\0\0\0\0\x01"),
        "the video is H.264 with parameter sets between the frames (avc3); only avc1 is supported so far",
    );
    unsupported(
        &replaced(&file, b"mp4a\0", b"\x01\xff\nZ\0"),
        "the audio codec is unknown (???Z); only AAC-LC and Opus are supported so far",
    );
}

#[test]
fn kinds_of_mp4v_are_named() {
    let file = fixture("video_only.mp4");
    let check = |children: &[u8], found: &str| {
        let entry = boxed("mp4v", &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 70], children].concat());
        let stsd = [&words(&[0, 1])[..], &entry].concat();
        let sentence = format!("the video codec is {found}; only H.264, HEVC and AV1 are supported so far");
        unsupported(&changed(&file, &table("stsd"), &|_| stsd.clone()), &sentence);
    };
    let esds = |indication: u8| {
        boxed("esds", &[&words(&[0])[..], &[3, 19, 0, 0, 0, 4, 14, indication, 0x11], &[0; 14]].concat())
    };
    check(&[], "MPEG-4 Visual (mp4v)");
    check(&esds(0x20), "MPEG-4 Visual (mp4v.20)");
    check(&esds(0x60), "MPEG-2 video (mp4v.60)");
    check(&esds(0x65), "MPEG-2 video (mp4v.65)");
    check(&esds(0x6a), "MPEG-1 video (mp4v.6A)");
    check(&esds(0x6c), "JPEG (mp4v.6C)");
    check(&esds(0x6d), "PNG (mp4v.6D)");
    check(&esds(0x6e), "JPEG 2000 (mp4v.6E)");
    check(&esds(0xff), "unknown (mp4v.FF)");
}

#[test]
fn kinds_of_aac_are_named() {
    // AudioSpecificConfig behind its tag and length, as ffmpeg writes it: 48 kHz mono AAC-LC, no SBR.
    let lc = [0x05, 0x80, 0x80, 0x80, 0x05, 0x11, 0x88, 0x56, 0xe5, 0x00];
    let with = |config: [u8; 5]| {
        let mut to = lc;
        to[5..].copy_from_slice(&config);
        replaced(&fixture("audio_only.m4a"), &lc, &to)
    };
    for (config, found) in [
        ([0x2b, 0x8a, 0x08, 0x00, 0x00], "HE-AAC (mp4a.40.5)"),
        ([0xeb, 0x8a, 0x08, 0x00, 0x00], "HE-AAC v2 (mp4a.40.29)"),
        ([0x13, 0x88, 0x56, 0xe5, 0xa0], "HE-AAC (mp4a.40.5)"),
        ([0x09, 0x88, 0x00, 0x00, 0x00], "AAC Main (mp4a.40.1)"),
        ([0xb9, 0x88, 0x00, 0x00, 0x00], "AAC-LD (mp4a.40.23)"),
        ([0xf9, 0x46, 0x20, 0x00, 0x00], "xHE-AAC (mp4a.40.42)"),
    ] {
        let sentence = format!("the audio codec is {found}; only AAC-LC and Opus are supported so far");
        unsupported(&with(config), &sentence);
    }
    unsupported(&with([0x11, 0xc8, 0x00, 0x00, 0x00]), "the audio has an unknown channel layout");
    not_media(
        &with([0x17, 0x00, 0x00, 0x00, 0x00]),
        "the file is damaged: its AAC configuration cannot be read",
    );
}

#[test]
fn movies_that_cannot_be_cut_are_refused() {
    let file = fixture("moov_at_end.mp4");
    let edited = |list: &[u32]| changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(list));
    unsupported(
        &edited(&[0, 2, 1000, 2048, 0x0001_0000, 1000, 30_000, 0x0001_0000]),
        "the video is cut between keyframes, 1 s after its beginning; only cuts at keyframes are supported so far",
    );
    unsupported(
        &edited(&[0, 3, 1000, 2048, 0x0001_0000, 500, u32::MAX, 0x0001_0000, 1000, 32_768, 0x0001_0000]),
        "a track pauses between two edits; only edits without a pause are supported so far",
    );
    unsupported(
        &edited(&[0, 2, 1000, 2048, 0x0001_0000, 500, 17_408, 0]),
        "the edit list of a track holds a moment still; only normal speed is supported so far",
    );
    unsupported(
        &edited(&[0, 1, 1000, 2048, 0x0002_0000]),
        "the edit list of a track changes its speed; only normal speed is supported so far",
    );
    unsupported(
        &changed(&file, &table("stsc"), &|_| words(&[0, 2, 1, 1, 1, 2, 1, 2])),
        "the video changes its codec or format; only one is supported so far",
    );
    unsupported(
        &changed(&file, &table("stss"), &|_| words(&[0, 1, 2])),
        "the video does not begin with a keyframe",
    );
    // The second keyframe a second too early.
    unsupported(
        &changed(&file, &table("ctts"), &|ctts| {
            let mut rows = words(&[0, 45]);
            let offsets = ctts[8..].chunks(8).flat_map(|row| vec![row[4..].to_vec(); row[3].into()]);
            for (n, offset) in offsets.enumerate() {
                rows.extend(words(&[1]));
                let offset =
                    i32::from_be_bytes(offset.try_into().unwrap()) - if n >= 15 { 15_360 } else { 0 };
                rows.extend(offset.to_be_bytes());
            }
            rows
        }),
        "the video jumps back in time at a keyframe, 0 s after its beginning",
    );
    unsupported(
        &changed(&file, &["moov"], &|moov| [moov, &boxed("cmov", &[])].concat()),
        "its movie header is compressed, which is not supported",
    );
    let external = boxed("url ", b"\0\0\0\0http://example.com/other.mp4");
    let dref = [words(&[0, 1]), external].concat();
    not_media(
        &changed(&file, &["moov", "trak", "mdia", "minf", "dinf", "dref"], &|_| dref.clone()),
        "the samples of the movie lie in other files",
    );
    not_media(
        &changed(&file, &["moov"], &|moov| [moov, &boxed("rmra", &[])].concat()),
        "the movie only names other movies",
    );
}

#[test]
fn movies_without_anything_to_play_are_no_media() {
    let nothing = "the movie has no video or audio track";
    let file = fixture("moov_at_end.mp4");
    not_media(&replaced(&replaced(&file, b"vide\0", b"text\0"), b"soun\0", b"text\0"), nothing);
    not_media(&changed(&fixture("video_only.mp4"), &table("stsz"), &|_| words(&[0, 0, 0])), nothing);
    not_media(
        &changed(&fixture("video_only.mp4"), &table("stsz"), &|_| words(&[0, 0, 45])[..12].to_vec()),
        "the file is damaged: its table of sample sizes is shorter than it says",
    );
    not_media(
        &changed(&fixture("video_only.mp4"), &["moov", "trak", "edts", "elst"], &|_| {
            words(&[0, 1, 0, 900_000, 0x0001_0000])
        }),
        "the file is damaged: video track presents no sample",
    );
    let header = boxed("ftyp", b"isom\0\0\x02\0isom");
    let missing = "the file has no movie header (moov)";
    not_media(&header, missing);
    not_media(&[&header[..], &boxed("mdat", &[0; 9000])].concat(), missing);
    not_media(&[&header[..], &boxed("moov", &[])].concat(), "the file is damaged: it lacks its movie header");
    not_media(
        &[&header[..], &boxed("moov", &[0; 50])].concat(),
        "the file is damaged: it lacks its movie header",
    );
}

#[test]
fn other_files_are_named() {
    not_media(b"", "the source is an empty file, not a video or audio file");
    not_media(b"#EXTM3U\n", "the source is an HLS playlist, not a video or audio file");
    not_media(
        b"ffconcat version 1.0\nfile '/etc/passwd'\n",
        "the source is an ffconcat script, not a video or audio file",
    );
    not_media(
        b"v=0\r\no=- 0 0 IN IP4 10.0.0.1\r\n",
        "the source is an SDP session description, not a video or audio file",
    );
    not_media(b"<!DOCTYPE html>", "the source is a web page, not a video or audio file");
    not_media(&[b'7'; 5000], "the source is a text file, not a video or audio file");
    not_media(&[7; 5000], "the source is a file of unknown kind, not a video or audio file");
    not_media(b"\x1a\x45\xdf\xa3\x80", "the file has no list of tracks");
}

#[test]
fn a_hopeless_file_is_refused_before_its_last_byte() {
    let playlist = [b"#EXTM3U\n", &[b'#'; 10_000][..]].concat();
    let mut scanner = Scanner::new(Some(1 << 40));
    assert_eq!(scanner.push(&playlist[..4095]), Ok(()));
    let error = scanner.push(&playlist[4095..4096]).unwrap_err();
    assert_eq!(error.code(), ReadFailureCode::NotMedia);
    assert_eq!(scanner.push(&[0]), Err(error.clone()), "it stays refused");
    assert_eq!(scanner.finish().unwrap_err(), error);

    // The moov of a faststart file: 4 KiB of samples follow it.
    let mp3 = fixture("mp3.mp4");
    let mdat = mp3.windows(4).position(|window| window == b"mdat").unwrap() - 4;
    let moov = mp3.windows(4).position(|window| window == b"moov").unwrap() - 4;
    let fast = [&mp3[..mdat], &mp3[moov..], &mp3[mdat..moov]].concat();
    let mut scanner = Scanner::new(None);
    let refused_at = fast.chunks(16).position(|chunk| scanner.push(chunk).is_err()).unwrap() * 16;
    assert!(refused_at < 4096 + 16, "{refused_at}");
}
