//! First bytes of every kind of file.

use proptest::prelude::*;

use super::*;

#[test]
fn sniff_detects_file_kind_from_first_bytes() {
    let mut ts = vec![0; 188 * 4];
    ts.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
    let mut m2ts = vec![0; 192 * 4];
    m2ts.iter_mut().skip(4).step_by(192).for_each(|byte| *byte = 0x47);
    let cases: &[(FileKind, &[u8])] = &[
        (FileKind::Empty, b""),
        (FileKind::Media(Container::Mp4), b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41"),
        (FileKind::Media(Container::Mp4), b"\0\0\0\x20ftypM4A \0\0\x02\0"),
        (FileKind::Media(Container::Mov), b"\0\0\0\x14ftypqt  \0\0\x02\0qt  "),
        (FileKind::Heif, b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"),
        (FileKind::Heif, b"\0\0\0\x18ftypavif\0\0\0\0"),
        (FileKind::Media(Container::Mp4), b"\0\0\0\x18stypmsdh\0\0\0\0"),
        (FileKind::Media(Container::Mov), b"\0\0\x30\0moov\0\0\0\x6cmvhd"),
        (FileKind::Media(Container::Mov), b"\0\0\0\x01mdat\0\0\0\0\x10\0\0\0"),
        (FileKind::Media(Container::Mov), b"\0\0\0\x08wide\0\0\x30\0mdat"),
        (FileKind::Media(Container::Mov), b"\0\0\0\x08free\0\0\x30\0mdat"),
        (FileKind::Media(Container::Mov), b"\0\0\0\x08skip\0\0\x30\0mdat"),
        (FileKind::Media(Container::Matroska), b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01"),
        (
            FileKind::Media(Container::Matroska),
            b"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska\x42\x87\x81\x04\x42\x85\x81\x02",
        ),
        (FileKind::Media(Container::WebM), b"\x1a\x45\xdf\xa3\x8f\x42\x86\x81\x01\x42\x82\x85webm\0\x42\x87"),
        (FileKind::Unknown, b"\x1a\x45\xdf\xa3\x87\x42\x82\x84mine"),
        (FileKind::Media(Container::MpegTs), &ts),
        (FileKind::Media(Container::MpegTs), &m2ts),
        (FileKind::Media(Container::MpegPs), b"\0\0\x01\xba\x44\0\x04\0"),
        (FileKind::Media(Container::Avi), b"RIFF\x24\x10\0\0AVI LIST"),
        (FileKind::Media(Container::Wav), b"RIFF\x24\x10\0\0WAVEfmt "),
        (FileKind::Media(Container::Wav), b"RF64\xff\xff\xff\xffWAVEds64"),
        (FileKind::Webp, b"RIFF\x24\x10\0\0WEBPVP8 "),
        (FileKind::Media(Container::Flv), b"FLV\x01\x05\0\0\0\x09"),
        (FileKind::Media(Container::Asf), b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c"),
        (FileKind::Media(Container::Mxf), b"\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01"),
        (FileKind::Media(Container::Ogg), b"OggS\0\x02\0\0"),
        (FileKind::Media(Container::Mp3), b"ID3\x04\0\0\0\0\0\x23TSSE"),
        (FileKind::Media(Container::Mp3), b"\xff\xfb\x90\x64\0\0\0\0"),
        (FileKind::Media(Container::Flac), b"fLaC\0\0\0\x22"),
        (FileKind::Media(Container::Flac), b"ID3\x04\0\0\0\0\0\x02..fLaC\0\0\0\x22"),
        (FileKind::Media(Container::Adts), b"ID3\x04\0\0\0\0\0\x02..\xff\xf1\x50\x80\x1f\xbf\xfc"),
        (FileKind::Media(Container::Mp3), b"ID3\x04\0\0\0\0\0\x02..\xff\xfb\x90\x64\0\0\0\0"),
        (FileKind::Media(Container::Mp3), b"ID3\x04\0\0\0\0\0\x02.........."),
        (FileKind::Media(Container::Mp3), b"ID3\x04\0"),
        (FileKind::Media(Container::Aiff), b"FORM\0\0\x10\0AIFFCOMM"),
        (FileKind::Media(Container::Aiff), b"FORM\0\0\x10\0AIFCFVER"),
        (FileKind::Unknown, b"FORM\0\0\x10\0ILBM\0\xff"),
        (FileKind::Media(Container::Caf), b"caff\0\x01\0\0desc"),
        (FileKind::Media(Container::Amr), b"#!AMR\n\x3c"),
        (FileKind::Media(Container::Amr), b"#!AMR-WB\n\x44"),
        (FileKind::Media(Container::Au), b".snd\0\0\0\x18\xff\xff\xff\xff\0\0\0\x01"),
        (FileKind::Media(Container::W64), b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0\0"),
        (FileKind::Media(Container::WavPack), b"wvpk\x18\0\0\0\x10\x04"),
        (FileKind::Media(Container::Ape), b"MAC \x96\x0f"),
        (FileKind::Media(Container::Ivf), b"DKIF\0\0\x20\0VP80"),
        (FileKind::Media(Container::Dts), b"\x7f\xfe\x80\x01\xfc\x3c"),
        (FileKind::Text, b"MAC address table of the switch"),
        (FileKind::Text, b"MP+ is a format"),
        (FileKind::Text, b".sndrc of a user, with settings"),
        (FileKind::Text, b"#!AMR script\n"),
        (FileKind::Unknown, b"\xff\xfd\x18\xff\xfd\x20\xff\xfd\x23"),
        (FileKind::Media(Container::MpegVideo), b"\0\0\x01\xb3\x14\0\xf0"),
        (FileKind::H264, b"\0\0\0\x01\x67\x64\0\x1f"),
        (FileKind::H264, b"\0\0\0\x01\x27\x4d\0\x1f"),
        (FileKind::H264, b"\0\0\x01\x09\xf0\0\0"),
        (FileKind::Hevc, b"\0\0\0\x01\x40\x01\x0c\x01"),
        (FileKind::Mpeg4Visual, b"\0\0\x01\xb0\x01\0\0"),
        (FileKind::Unknown, b"\0\0\0\x01\x93\xff\0\0"),
        (FileKind::RealMedia, b".RMF\0\0\0\x12"),
        (FileKind::RealAudio, b".ra\xfd\0\x04\0\0"),
        (FileKind::Musepack, b"MPCKSH"),
        (FileKind::TrueAudio, b"TTA1\x01\0"),
        (FileKind::Dsf, b"DSD \x1c\0\0\0"),
        (FileKind::Media(Container::Adts), b"\xff\xf1\x50\x80\x1f\xbf\xfc"),
        (FileKind::HlsPlaylist, b"#EXTM3U\n#EXT-X-VERSION:3\n"),
        (FileKind::HlsPlaylist, b"\xef\xbb\xbf#EXTM3U\r\n"),
        (FileKind::HlsPlaylist, b" \r\n\t#extm3u"),
        (FileKind::HlsPlaylist, b"#EXTM3U\n\0\0\0\0\0\x20ftyp\xff\xfe"),
        (FileKind::Ffconcat, b"ffconcat version 1.0\nfile 'secret'\n"),
        (FileKind::Ffconcat, b"\n\nffconcat version 1.0\n"),
        (FileKind::Sdp, b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=No Name\r\n"),
        (FileKind::Dash, b"<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\">"),
        (FileKind::Dash, b"<MPD>"),
        (FileKind::Svg, b"<svg xmlns=\"http://www.w3.org/2000/svg\">"),
        (FileKind::Svg, b"<?xml version=\"1.0\"?><svg>"),
        (FileKind::Html, b"<!DOCTYPE html><html>"),
        (FileKind::Html, b"\n  <HTML lang=en>"),
        (FileKind::Html, b"<head><title>404</title>"),
        (FileKind::Xml, b"<?xml version=\"1.0\"?><rss>"),
        (FileKind::Json, b"{\"error\":\"not found\"}"),
        (FileKind::Json, b"\xef\xbb\xbf [1, 2]"),
        (FileKind::Subtitles, b"WEBVTT\n\n00:00.000 --> 00:01.000\nhello"),
        (FileKind::Subtitles, b"1\n00:00:00,000 --> 00:00:01,000\nhello\n"),
        (FileKind::Jpeg, b"\xff\xd8\xff\xe0\0\x10JFIF"),
        (FileKind::Png, b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"),
        (FileKind::Gif, b"GIF89a\x01\0\x01\0"),
        (FileKind::Pdf, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"),
        (FileKind::Zip, b"PK\x03\x04\x14\0\0\0"),
        (FileKind::Gzip, b"\x1f\x8b\x08\0\0\0"),
        (FileKind::Text, b"file not found"),
        (FileKind::Text, "Übergröße".as_bytes()),
        (FileKind::Text, &"Übergröße".as_bytes()[..8]),
        (FileKind::Unknown, b"\x7fELF\x02\x01\x01\0"),
        (FileKind::Unknown, b"\0\0\0\x04moov"),
        (FileKind::Unknown, b"\xff\xff\xff\xff"),
        (FileKind::Unknown, &[0; 5000]),
    ];
    for (expected, head) in cases {
        let start = String::from_utf8_lossy(&head[..head.len().min(20)]);
        assert_eq!(sniff(head), *expected, "{start:?}");
    }
}

#[test]
fn iso_brands_without_samples_are_not_media() {
    assert_eq!(FileKind::Media(Container::Mp4).family(), Family::Media(Container::Mp4));
    assert_eq!(FileKind::Media(Container::WebM).family(), Family::Media(Container::WebM));
    assert_eq!(FileKind::RealMedia.family(), Family::Unsupported);
    for kind in [FileKind::HlsPlaylist, FileKind::Ffconcat, FileKind::Sdp, FileKind::Jpeg, FileKind::Unknown]
    {
        assert_eq!(kind.family(), Family::NotMedia, "{kind:?}");
    }
}

proptest! {
    #[test]
    fn sniff_ignores_bytes_after_head(mut bytes in prop::collection::vec(any::<u8>(), HEAD_LEN..HEAD_LEN + 100)) {
        let kind = sniff(&bytes);
        bytes.truncate(HEAD_LEN);
        prop_assert_eq!(sniff(&bytes), kind);
    }

    #[test]
    fn playlist_is_detected_after_bom_and_white_space(space in "[ \t\r\n]{0,50}", mark: bool, rest: Vec<u8>) {
        let mark: &[u8] = if mark { b"\xef\xbb\xbf" } else { b"" };
        let bytes = [mark, space.as_bytes(), b"#EXTM3U", &rest].concat();
        prop_assert_eq!(sniff(&bytes), FileKind::HlsPlaylist);
    }
}

#[test]
fn raw_audio_is_detected_by_a_complete_frame() {
    for (expected, frame, len) in [
        (FileKind::Media(Container::Ac3), &b"\x0b\x77\x12\x34\x14\x40\x43"[..], 768),
        (FileKind::Media(Container::Eac3), b"\x0b\x77\x01\x7f\x34\x87", 768),
        (FileKind::Media(Container::Mp2), b"\xff\xfd\xa4\x04\0\0\0", 576),
    ] {
        let mut file = frame.to_vec();
        file.resize(len, 0xaa);
        assert_eq!(sniff(&file), expected);
        assert_ne!(sniff(&file[..len - 1]), expected);
    }
}

#[test]
fn raw_audio_needs_a_second_frame_header() {
    let with = |len: usize, next: &[u8]| {
        let mut file = b"\x0b\x77\x12\x34\x14\x40\x43".to_vec();
        file.resize(len, 0xaa);
        [&file, next].concat()
    };
    // 192 kbit/s at 48 kHz: 768 bytes.
    assert_eq!(sniff(&with(768, b"\x0b\x77\x12\x34\x14\x40\x43")), FileKind::Media(Container::Ac3));
    assert_eq!(sniff(&with(768, &[0xaa; 9])), FileKind::Unknown);
}

#[test]
fn mpeg_ts_starting_mid_packet_is_detected() {
    let mut ts = vec![0x10; 188 * 12];
    ts.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
    assert_eq!(sniff(&ts[100..]), FileKind::Media(Container::MpegTs));
    ts[188 * 4] = 0;
    assert_eq!(sniff(&ts[100..]), FileKind::Unknown);
    assert_eq!(sniff(&[[b'H'; 60].as_slice(), &[0x47; 6000]].concat()), FileKind::Text);
    assert_eq!(sniff(&[[0xff; 60].as_slice(), &[0x47; 6000]].concat()), FileKind::Unknown, "a grey picture");

    let pack = [&b"\0\0\x01\xba\x44\0\x04\0\x04\x01\x01\x89\xc3\xf8\0\0\x01\xe0"[..], &[0xaa; 2000]].concat();
    let stream = [&pack[..], &pack].concat();
    assert_eq!(sniff(&stream[1000..]), FileKind::Media(Container::MpegPs));
    assert_eq!(sniff(&[&[0xaa; 50][..], b"\0\0\x01\xba", &[0xaa; 50]].concat()), FileKind::Unknown);

    // Writers may omit packs for a while.
    let packet = [&b"\0\0\x01\xe0\x07\xd0"[..], &[0xaa; 2000]].concat();
    let stream = [&packet[..], &packet].concat();
    assert_eq!(sniff(&stream[1000..]), FileKind::Unknown, "its packet has no end here");
    assert_eq!(sniff(&stream[1..]), FileKind::Unknown);
    assert_eq!(sniff(&[&[0xaa; 90][..], &stream].concat()), FileKind::Media(Container::MpegPs));
}
