//! Facts about small generated files, complete and cut off, pushed in pieces of any size.

use super::*;

/// The facts about a file that comes in pieces of any size.
fn facts(container: Container, file: &[u8]) -> RemuxFacts {
    let of_steps = |step: usize| {
        let mut observer = RemuxFactsParser::new(container);
        file.chunks(step).for_each(|piece| observer.push(piece));
        observer.finish(file.len() as u64)
    };
    let facts = of_steps(1);
    for step in [2, 13, 100, 4096] {
        assert_eq!(of_steps(step), facts, "{container:?} in pieces of {step}");
    }
    facts
}

/// The whole file is complete; without its last bytes it is not, down to half of it.
fn check(container: Container, file: &[u8], may_lack: usize) {
    let is_truncated = |len: usize| facts(container, &file[..len]).is_truncated;
    for lacking in 0..=may_lack {
        assert!(!is_truncated(file.len() - lacking), "{container:?} lacks {lacking}");
    }
    for lacking in [may_lack + 1, may_lack + 2, file.len() / 3] {
        assert!(is_truncated(file.len() - lacking), "{container:?} lacks {lacking}");
    }
}

fn riff(kind: &[u8; 4], form: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32 + 4).to_le_bytes();
    [&kind[..], &len, form, body].concat()
}

#[test]
fn riff_length_detects_truncation() {
    check(Container::Wav, &riff(b"RIFF", b"WAVE", &[7; 500]), 1);
    let two = [riff(b"RIFF", b"AVI ", &[7; 500]), riff(b"RIFF", b"AVIX", &[7; 1000])].concat();
    check(Container::Avi, &two, 1);
    let mut odd = riff(b"RIFF", b"WAVE", &[7; 501]);
    odd.push(0);
    check(Container::Wav, &odd, 1);
    let behind = [riff(b"RIFF", b"WAVE", &[7; 500]), b"some notes".to_vec()].concat();
    assert!(!facts(Container::Wav, &behind).is_truncated);
    let wide =
        [b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0".as_slice(), &1020u64.to_le_bytes(), &[7; 1000]].concat();
    check(Container::Wav, &wide, 1);
    for unknown in [0, u32::MAX] {
        let streamed = [b"RIFF".as_slice(), &unknown.to_le_bytes(), b"WAVE", &[7; 100]].concat();
        assert!(!facts(Container::Wav, &streamed).is_truncated, "{unknown}");
    }
}

#[test]
fn flv_tag_length_detects_truncation() {
    let tag = |kind: u8, len: u8| {
        [&[kind, 0, 0, len, 0, 0, 0, 0, 0, 0, 0][..], &vec![9; usize::from(len)], &[0, 0, 0, len + 11]]
            .concat()
    };
    let head = b"FLV\x01\x05\0\0\0\x09\0\0\0\0".to_vec();
    check(Container::Flv, &[head.clone(), tag(18, 40), tag(9, 200), tag(8, 100)].concat(), 4);
    assert!(!facts(Container::Flv, &[head, tag(9, 200), b"what is this".to_vec()].concat()).is_truncated);
}

#[test]
fn mxf_ogg_asf_adts_lengths_detect_truncation() {
    let key = [0x06, 0x0e, 0x2b, 0x34, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let short = [&key[..], &[100], &[1; 100]].concat();
    let long = [&key[..], &[0x83, 0, 1, 0x2c], &[1; 300]].concat();
    check(Container::Mxf, &[short, long].concat(), 0);

    let page = |lacing: &[u8]| {
        let len = lacing.iter().map(|&part| usize::from(part)).sum();
        [b"OggS".as_slice(), &[0; 22], &[lacing.len() as u8], lacing, &vec![5; len]].concat()
    };
    check(Container::Ogg, &[page(&[30]), page(&[255, 255, 3])].concat(), 0);

    let object = |len: u64| [&[0x30; 16][..], &(24 + len).to_le_bytes(), &vec![3; len as usize]].concat();
    check(Container::Asf, &[object(100), object(700)].concat(), 0);
    let endless = [object(100), [&[0x30; 16][..], &[0; 8], &[3; 50]].concat()].concat();
    assert!(!facts(Container::Asf, &endless).is_truncated, "a recording under way");

    let frame = |len: usize| {
        let head =
            [0xff, 0xf1, 0x50, 0x80 | (len >> 11) as u8, (len >> 3) as u8, (len << 5) as u8 | 0x1f, 0xfc];
        [&head[..], &vec![1; len - 7]].concat()
    };
    check(Container::Adts, &[frame(300), frame(20), frame(500)].concat(), 0);
}

#[test]
fn mpeg_ts_partial_packet_is_truncated() {
    let packets = |lead: usize| [&vec![0; lead][..], &[0x47], &[1; 187]].concat().repeat(20);
    check(Container::MpegTs, &packets(0), 0);
    check(Container::MpegTs, &packets(4), 0);
    let torn = [packets(0), vec![1; 50], packets(0)].concat();
    assert!(
        !facts(Container::MpegTs, &torn[..torn.len() - 138]).is_truncated,
        "bytes are missing in between, too"
    );
}

#[test]
fn flac_stream_info_gives_duration() {
    let info = |rate: u64, samples: u64| {
        let fields = rate << 44 | 1 << 41 | 15 << 36 | samples;
        let body = [&[0; 10][..], &fields.to_be_bytes(), &[0; 16], &[9; 500]].concat();
        [b"fLaC\0\0\0\x22".as_slice(), &body].concat()
    };
    let declared = |rate, samples| facts(Container::Flac, &info(rate, samples));
    assert_eq!(
        declared(44_100, 66_150),
        RemuxFacts { duration_us: Some(1_500_000), ..RemuxFacts::default() }
    );
    assert_eq!(declared(44_100, 0), RemuxFacts::default());
    assert_eq!(declared(0, 5), RemuxFacts::default());
}

/// The first frame of an MP3 of 44.1 kHz stereo: 417 bytes.
fn first_frame(frames: u32, bytes: u32, delay: u32, padding: u32) -> Vec<u8> {
    let mut frame = [&[0xff, 0xfb, 0x90, 0x44][..], &[0; 32], b"Info", &15u32.to_be_bytes()].concat();
    frame.extend([frames.to_be_bytes(), bytes.to_be_bytes()].concat());
    frame.extend([0; 100]);
    frame.extend([0, 0, 0, 50]);
    frame.extend(b"LAME3.100\x04\xc3\0\0\0\0\0\0\0\0\0\x80");
    frame.extend(&(delay << 12 | padding).to_be_bytes()[1..]);
    frame.resize(417, 0);
    frame
}

#[test]
fn mp3_lame_tag_gives_audible_range() {
    let audible = AudibleRange { rate: 44_100, skipped: 1105 + 529, len: 10 * 1152 - 1105 - 600 };
    let payload = [0xff, 0xfb, 0x90, 0x44, 1, 1, 1, 1].repeat(500);
    let file = [first_frame(10, 417 + 4000, 1105, 600), payload.clone()].concat();
    let expected = RemuxFacts { audible: Some(audible), ..RemuxFacts::default() };
    assert_eq!(facts(Container::Mp3, &file), expected);

    let tag = |len: u32| {
        [b"ID3\x04\0\0\0\0".as_slice(), &[(len >> 7) as u8, (len & 0x7f) as u8], &vec![0xff; len as usize]]
            .concat()
    };
    assert_eq!(facts(Container::Mp3, &[tag(300), file.clone()].concat()), expected);
    assert_eq!(facts(Container::Mp3, &[tag(0), tag(5), file].concat()), expected);

    let cut = [first_frame(1000, 417 + 400_000, 1105, 600), payload.clone()].concat();
    assert!(facts(Container::Mp3, &cut).is_truncated);
    for (frames, delay, padding, what) in [(10, 0, 0, "nothing"), (1, 1105, 600, "less than nothing")] {
        let file = [first_frame(frames, 4417, delay, padding), payload.clone()].concat();
        assert_eq!(facts(Container::Mp3, &file), RemuxFacts::default(), "{what} is heard");
    }
    assert_eq!(facts(Container::Mp3, &payload), RemuxFacts::default(), "no first frame");
    assert_eq!(facts(Container::Mp3, &payload[..30]), RemuxFacts::default(), "hardly a frame");
}

#[test]
fn unknown_container_has_no_facts() {
    for container in [Container::MpegPs, Container::Mp4, Container::Matroska] {
        assert_eq!(facts(container, &[0xff; 5000]), RemuxFacts::default());
    }
}
