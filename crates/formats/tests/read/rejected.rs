//! Files that are rejected: their error code and message.

use kinora_formats::Scanner;
use kinora_isobmff::{ReadError, ReadFailureCode};

use crate::{
    fixture,
    patch_boxes::{boxed, changed, replaced, table, words},
    read,
};

#[track_caller]
fn check(bytes: &[u8], code: ReadFailureCode, sentence: &str) {
    match read(bytes) {
        Err(error) => assert_eq!((error.code(), error.to_string().as_str()), (code, sentence)),
        // Another track can be played.
        Ok(index) => assert_eq!(index.left_out.first().map(|track| &*track.detail), Some(sentence)),
    }
}

#[track_caller]
fn unsupported(bytes: &[u8], sentence: &str) {
    check(bytes, ReadFailureCode::CodecUnsupported, sentence);
}

#[track_caller]
fn not_media(bytes: &[u8], sentence: &str) {
    check(bytes, ReadFailureCode::NotMedia, sentence);
}

#[track_caller]
fn needs_remux(bytes: &[u8], sentence: &str) {
    let error = read(bytes).unwrap_err();
    assert_eq!(error, ReadError::NeedsRemux(sentence.into()));
    assert_eq!(error.code(), ReadFailureCode::CodecUnsupported);
}

#[test]
fn undecodable_codecs_are_rejected() {
    let file = fixture("moov_at_end.mp4");
    let video = |kind: &[u8; 4]| {
        replaced(&file, b"avc1\0\0\0\0\0\0\0\x01", &[&kind[..], b"\0\0\0\0\0\0\0\x01"].concat())
    };
    unsupported(&video(b"encv"), "the video is encrypted");
    unsupported(&video(b"vvc1"), "the video codec is VVC (vvc1), which cannot be decoded");
    unsupported(&video(b"XxXx"), "the video codec is unknown (XxXx), which cannot be decoded");
    let audio = |kind: &[u8; 4]| replaced(&file, b"mp4a\0", &[&kind[..], b"\0"].concat());
    unsupported(&audio(b"enca"), "the audio is encrypted");
    unsupported(&audio(b"apac"), "the audio codec is Apple Positional Audio (apac), which cannot be decoded");
    unsupported(&audio(b"\x01\xff\nZ"), "the audio codec is unknown (???Z), which cannot be decoded");

    let video_only = fixture("video_only.mp4");
    let esds = boxed("esds", &[&words(&[0])[..], &[3, 19, 0, 0, 0, 4, 14, 0xff, 0x11], &[0; 14]].concat());
    let entry = boxed("mp4v", &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 70], &esds].concat());
    let stsd = [&words(&[0, 1])[..], &entry].concat();
    unsupported(
        &changed(&video_only, &table("stsd"), &|_| stsd.clone()),
        "the video codec is unknown (mp4v.FF), which cannot be decoded",
    );
}

#[test]
fn undecodable_aac_object_types_are_rejected() {
    let config = |config: [u8; 5]| crate::not_copied::with_aac_config(config);
    unsupported(
        &config([0xf9, 0x46, 0x20, 0x00, 0x00]),
        "the audio codec is xHE-AAC (mp4a.40.42), which cannot be decoded",
    );
    not_media(
        &config([0x17, 0x00, 0x00, 0x00, 0x00]),
        "the file is damaged: its AAC configuration cannot be read",
    );
}

#[test]
fn edit_list_pause_is_unsupported_not_remuxed() {
    let file = fixture("moov_at_end.mp4");
    let edited = |list: &[u32]| changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(list));
    unsupported(
        &edited(&[0, 3, 1000, 2048, 0x0001_0000, 500, u32::MAX, 0x0001_0000, 1000, 32_768, 0x0001_0000]),
        "a track pauses between two edits; only edits without a pause are supported",
    );
}

#[test]
fn unreadable_movies_need_a_remux() {
    let file = fixture("moov_at_end.mp4");
    let edited = |list: &[u32]| changed(&file, &["moov", "trak", "edts", "elst"], &|_| words(list));
    needs_remux(
        &edited(&[0, 2, 1000, 2048, 0x0001_0000, 500, 17_408, 0]),
        "the edit list of a track freezes a frame; only normal speed is supported",
    );
    needs_remux(
        &edited(&[0, 1, 1000, 2048, 0x0002_0000]),
        "the edit list of a track changes its speed; only normal speed is supported",
    );
    needs_remux(
        &changed(&file, &table("stsc"), &|_| words(&[0, 2, 1, 1, 1, 2, 1, 2])),
        "the video changes its codec or format, which is not supported",
    );
    // The second keyframe is a second too early.
    needs_remux(
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
    needs_remux(
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
        "the movie only references other files",
    );
}

#[test]
fn movie_without_playable_track_is_not_media() {
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
        "the file is damaged: its edit list presents no sample",
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
fn file_kind_is_named_in_the_error() {
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
fn invalid_source_is_rejected_before_its_last_byte() {
    let playlist = [b"#EXTM3U\n", &[b'#'; 10_000][..]].concat();
    let mut scanner = Scanner::new(Some(1 << 40));
    assert_eq!(scanner.push(&playlist[..4095]), Ok(()));
    let error = scanner.push(&playlist[4095..4096]).unwrap_err();
    assert_eq!(error.code(), ReadFailureCode::NotMedia);
    assert_eq!(scanner.push(&[0]), Err(error.clone()), "it stays refused");
    assert_eq!(scanner.finish().unwrap_err(), error);

    // The moov of a faststart file: 4 KiB of samples follow it.
    let file = replaced(&fixture("faststart.mp4"), b"mp4a\0", b"enca\0");
    let fast = replaced(&file, b"avc1\0\0\0\0\0\0\0\x01", b"encv\0\0\0\0\0\0\0\x01");
    let moov_end = fast.windows(4).position(|window| window == b"mdat").unwrap();
    let mut scanner = Scanner::new(None);
    let refused_at = fast.chunks(16).position(|chunk| scanner.push(chunk).is_err()).unwrap() * 16;
    assert!(refused_at < moov_end.max(4096) + 16, "{refused_at}");
}
