use proptest::prelude::*;

use super::*;

fn cue(start_ms: u64, end_ms: u64, text: &str) -> Cue {
    Cue { start_ms, end_ms, id: None, settings: String::new(), text: text.to_owned() }
}

fn cues(file: &str) -> Vec<Cue> {
    Subtitles::read(file.as_bytes()).unwrap_or_else(|error| panic!("{error}: {file}")).cues
}

#[test]
fn lenient_srt_variants_are_read() {
    let one = || cue(1000, 2000, "one");
    let check = |file: &str, expected: &[Cue]| assert_eq!(cues(file), expected, "{file:?}");
    check(
        "1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\nlines\n",
        &[one(), cue(3000, 4000, "two\nlines")],
    );
    check("\r\n\r\n1\r\n00:00:01,000 --> 00:00:02,000\r\none\r\n", &[one()]);
    // Without numbers, without empty lines, with an empty line in the text.
    check(
        "00:00:01.000 --> 00:00:02.000\none\n00:00:03,000 --> 00:00:04,000\ntwo",
        &[one(), cue(3000, 4000, "two")],
    );
    check(
        "1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\na\n\nb\n\n",
        &[one(), cue(3000, 4000, "a\nb")],
    );
    // A number that is a text.
    check(
        "1\n00:00:01,000 --> 00:00:02,000\n42\n\n00:00:03,000 --> 00:00:04,000\n7\n",
        &[cue(1000, 2000, "42"), cue(3000, 4000, "7")],
    );
    check(
        "00:00:01,000 --> 00:00:02,000 X1:40 X2:600 Y1:20 Y2:50\n{\\an8}<i>one</i>",
        &[Cue { settings: "line:0".into(), ..cue(1000, 2000, "<i>one</i>") }],
    );
}

#[test]
fn alignment_tags_of_srt_and_webvtt_become_cue_settings() {
    let times = "00:00:01.000 --> 00:00:02.000";
    let aligned = |settings: &str, text: &str| {
        vec![Cue { settings: settings.into(), ..cue(1000, 2000, text) }, cue(3000, 4000, "two")]
    };
    let check = |head: &str, behind: &str, text: &str, expected: &[Cue]| {
        let file = format!("{head}{times}{behind}\n{text}\n\n00:00:03.000 --> 00:00:04.000\ntwo\n");
        let subtitles = Subtitles::read(file.as_bytes()).unwrap();
        assert_eq!(subtitles.cues, expected, "{file}");
        assert_eq!(Subtitles::read(subtitles.to_webvtt().as_bytes()), Ok(subtitles), "{file}");
    };
    for head in ["", "WEBVTT\n\n"] {
        check(head, "", "{\\an8}one", &aligned("line:0", "one"));
        check(head, "", "one\n{\\an1}more", &aligned("position:5% align:left", "one\nmore"));
        check(head, "", "{\\an7}\n{\\an3}one", &aligned("line:0 position:5% align:left", "one"));
        check(head, "", "{\\an2}one", &aligned("", "one"));
        check(head, "", "{\\an8}", &aligned("", "")[1..]);
    }
    // Other commands are invalid in SRT, and are text in WebVTT.
    check("", "", "{\\i1\\an8}one{\\i0}", &aligned("line:0", "one"));
    check("", "", "{<font>\\an8}one", &aligned("line:0", "one"));
    check("WEBVTT\n\n", "", "{\\i1}one{\\an8}", &aligned("line:0", "{\\i1}one"));
    check("WEBVTT\n\n", " line:90% size:50%", "{\\an8}one", &aligned("line:90% size:50%", "one"));
    check("WEBVTT\n\n", " size:50%", "{\\an8}one", &aligned("size:50% line:0", "one"));
}

#[test]
fn timestamp_map_with_a_local_time_moves_cues() {
    let check = |map: &str, expected: &[Cue]| {
        let body = "00:00:04.000 --> 00:00:06.000\none\n\n00:00:01.000 --> 00:00:05.000\ntwo\n";
        let file = format!("WEBVTT\n{map}\n\n{body}");
        assert_eq!(cues(&file), expected, "{map}");
    };
    let as_written = [cue(1000, 5000, "two"), cue(4000, 6000, "one")];
    check("X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000", &as_written);
    check("X-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:10.000", &as_written);
    check("X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:broken", &as_written);
    let later = [cue(11_000, 15_000, "two"), cue(14_000, 16_000, "one")];
    check("X-TIMESTAMP-MAP=LOCAL:00:00:10.000,MPEGTS:1800000", &later);
    // A cue that ends before the presentation begins is never shown; one that begins before it is shown from
    // 0 on.
    check("X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:03.000", &[cue(0, 2000, "two"), cue(1000, 3000, "one")]);
    check("Kind: captions\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:05.000", &[cue(0, 1000, "one")]);
}

#[test]
fn arrow_inside_cue_text_is_text() {
    let check = |file: &str, expected: &[Cue]| {
        assert_eq!(cues(file), expected, "{file:?}");
        let written = Subtitles::read(file.as_bytes()).unwrap().to_webvtt();
        assert_eq!(written.matches("-->").count(), expected.len(), "each is between two times: {written}");
        assert_eq!(cues(&written), expected, "{file:?}");
    };
    let file = |text: &str| {
        format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n")
    };
    let two = || cue(3000, 4000, "two");
    for (text, expected) in [
        ("Hello a --> b", "Hello a --&gt; b"),
        ("one\nHello a-->b\nthree", "one\nHello a--&gt;b\nthree"),
        ("one\n- Go --> there", "one\n- Go --&gt; there"),
        ("from 1 --> to 00:00:02,000", "from 1 --&gt; to 00:00:02,000"),
        ("<i>a</i> --<b>> --> c</b>", "<i>a</i> --<b>&gt; --&gt; c</b>"),
        ("--<font>> --{\\i1}>", "--&gt; --&gt;"),
    ] {
        check(&file(text), &[cue(1000, 2000, expected), two()]);
    }
    check("00:00:03,000 --> 00:00:04,000\ntwo\nlast --> line", &[cue(3000, 4000, "two\nlast --&gt; line")]);
    // Text before the first times belongs to no cue, and neither do broken times: an arrow alone does not
    // make them text.
    check("a --> b\n00:00:03,000 --> 00:00:04,000\ntwo\n", &[two()]);
    for broken in [
        "00:0x:01,000 --> 00:00:02,000",
        "-00:00:01,000 --> 00:00:02,000",
        "+1 --> 2",
        "1 --> b",
        "--> 00:00:02,000",
        "O0:00:01,000 --> 00:00:02,000",
        "\u{202b}0x:00 --> b",
    ] {
        let lost = format!("00:00:01,000 --> 00:00:02,000\none\n\n{broken}\nlost a --> b\n\n");
        let expected = [cue(1000, 2000, "one"), two()];
        check(&format!("{lost}00:00:03,000 --> 00:00:04,000\ntwo\n"), &expected);
    }
}

#[test]
fn direction_marks_before_times_are_ignored() {
    for mark in ["\u{200e}", "\u{200f}", "\u{202b}", "\u{feff}\u{202a}"] {
        let file = format!("{mark}1\n{mark}00:00:01,000 --> 00:00:02,000\n{mark}one\n");
        assert_eq!(cues(&file), [cue(1000, 2000, &format!("{mark}one"))], "{mark:?}");
    }
}

#[test]
fn broken_cues_are_dropped() {
    let check = |file: &str, expected: &[Cue]| assert_eq!(cues(file), expected, "{file:?}");
    // Invalid times drop their text too; so does an end before the beginning, and a text with only commands.
    check(
        "1\n00:00:05,000 --> 00:00:06,000\nlate\n\n2\n00:0x:01,000 --> 00:00:02,000\nlost\n\n\
         3\n00:00:02,000 --> 00:00:01,000\nlost\n\n4\n00:00:01,000 --> 00:00:09,000\nearly\n\n\
         5\n00:00:02,000 --> 00:00:03,000\n{\\fad(1,2)}\n\n6\n00:00:03,000 --> 00:00:04,000\n",
        &[cue(1000, 9000, "early"), cue(5000, 6000, "late")],
    );
    // The same start time: in the order of the file. They overlap.
    check(
        "00:00:01,000 --> 00:00:03,000\na\n00:00:01,000 --> 00:00:02,000\nb\n",
        &[cue(1000, 3000, "a"), cue(1000, 2000, "b")],
    );
    let long = "x".repeat(CUE_TEXT_BYTES_MAX);
    check(&format!("00:01,0 --> 00:02,0\n{long}\n"), &[cue(1000, 2000, &long)]);
    let longer = format!("00:01,0 --> 00:02,0\n{long}\nx\n\n00:03,0 --> 00:04,0\nkept");
    check(&longer, &[cue(3000, 4000, "kept")]);
    check(
        &format!("00:01,0 --> 00:02,0\n<{}\n\n00:03,0 --> 00:04,0\nkept", &long[1..]),
        &[cue(3000, 4000, "kept")],
    );
}

#[test]
fn webvtt_keeps_its_styles_settings_ids_and_tags() {
    let file = "WEBVTT - a title\nKind: captions\n\nSTYLE\n::cue(b) { color: red }\n\nREGION\nid:fred\nwidth:40%\n\nNOTE\nnot shown\n\n\
        an id\n00:01.000 --> 00:00:02.000 line:0 align:left  unknown:1 size:\n<v Anna>Hello <c.loud>there</c>\nyou &amp; me\n\n\
        STYLE\n::cue { too: late }\n\n00:03.000 --> 00:04.000 region:fred\nlast\n";
    let subtitles = Subtitles::read(file.as_bytes()).unwrap();
    let expected = Subtitles {
        style_and_region_blocks: vec![
            "STYLE\n::cue(b) { color: red }".into(),
            "REGION\nid:fred\nwidth:40%".into(),
        ],
        cues: vec![
            Cue {
                id: Some("an id".into()),
                settings: "line:0 align:left".into(),
                ..cue(1000, 2000, "<v Anna>Hello <c.loud>there</c>\nyou &amp; me")
            },
            Cue { settings: "region:fred".into(), ..cue(3000, 4000, "last") },
        ],
    };
    assert_eq!(subtitles, expected);
    assert_eq!(
        subtitles.to_webvtt(),
        "WEBVTT\n\nSTYLE\n::cue(b) { color: red }\n\nREGION\nid:fred\nwidth:40%\n\n\
         an id\n00:00:01.000 --> 00:00:02.000 line:0 align:left\n<v Anna>Hello <c.loud>there</c>\nyou &amp; me\n\n\
         00:00:03.000 --> 00:00:04.000 region:fred\nlast\n\n"
    );
    assert_eq!(Subtitles::read(subtitles.to_webvtt().as_bytes()), Ok(expected));
}

#[test]
fn malformed_webvtt_is_read_as_browsers_do() {
    let check = |file: &str, expected: &[Cue]| assert_eq!(cues(file), expected, "{file:?}");
    check("WEBVTT", &[]);
    check("WEBVTT\n00:01.000 --> 00:02.000\na", &[cue(1000, 2000, "a")]);
    check(
        "WEBVTT\n\n00:01.000 --> 00:02.000\na\n00:03.000 --> 00:04.000\nb",
        &[cue(1000, 2000, "a"), cue(3000, 4000, "b")],
    );
    check(
        "WEBVTT\n\n00:0x --> 00:02.000\nlost\n\nno cue\nat all\n00:03.000 --> 00:04.000\nb\n\n",
        &[cue(3000, 4000, "b")],
    );
    check("WEBVTT\n\n00:01.000 --> 00:02.000 --> 00:03.000 line:0\na", &[cue(1000, 2000, "a")]);
    check("WEBVTT\n\n00:01.000 --> 00:02.000\n\n00:03.000 --> 00:04.000\n \n", &[]);
    let id = "i".repeat(CUE_ID_CHARS_MAX + 1);
    check(&format!("WEBVTT\n\n{id}\n00:01.000 --> 00:02.000\na"), &[cue(1000, 2000, "a")]);
    let styles = format!("WEBVTT\n\nSTYLE\n{}\n\nSTYLE\nb\n\n", "a".repeat(BLOCKS_BYTES_MAX));
    assert_eq!(Subtitles::read(styles.as_bytes()).unwrap().style_and_region_blocks, ["STYLE\nb"]);
    let styles = format!("WEBVTT\n\nSTYLE\n{}\n\n", "a".repeat(BLOCKS_BYTES_MAX / 2)).repeat(3);
    assert_eq!(Subtitles::read(styles.as_bytes()).unwrap().style_and_region_blocks.len(), 1);
}

#[test]
fn non_subtitles_and_too_many_cues_are_rejected() {
    for other in [
        "",
        "\n\n",
        "hello",
        "1\n2\n3\n",
        "<html>-->",
        "{\"a\": 1}",
        "WEBVTTX\n\n",
        "00:00:01,000 --> 00:00:02,000\n",
    ] {
        assert_eq!(Subtitles::read(other.as_bytes()), Err(SubtitlesError::NotSubtitles), "{other:?}");
    }
    assert_eq!(Subtitles::read(&[0xff, 0xfe, 0x00]), Err(SubtitlesError::NotSubtitles));
    for head in ["", "WEBVTT\n\n"] {
        let many = |count| format!("{head}{}", "00:01.000 --> 00:02.000\na\n\n".repeat(count));
        assert_eq!(cues(&many(CUES_MAX)).len(), CUES_MAX);
        assert_eq!(Subtitles::read(many(CUES_MAX + 1).as_bytes()), Err(SubtitlesError::TooManyCues));
    }
}

#[test]
fn subtitle_segments_cover_media_duration() {
    let playlist = |seconds: f64| SubtitleSegments::of_duration((seconds * 1e6) as u64).playlist();
    assert_eq!(
        playlist(61.5),
        "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:30\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:30.000000,\n0.vtt\n\
         #EXTINF:30.000000,\n1.vtt\n#EXTINF:1.500000,\n2.vtt\n#EXT-X-ENDLIST\n"
    );
    let check = |seconds: f64, count| {
        assert_eq!(SubtitleSegments::of_duration((seconds * 1e6) as u64).count(), count)
    };
    check(0.0, 1);
    check(0.04, 1);
    check(30.0, 1);
    check(30.000_001, 2);
    check(43_200.0, 1440);
    check(86_400.0, 2880);
    check(86_401.0, 2788);
    assert!(SubtitleSegments::of_duration(u64::MAX).count() <= 2880);
    assert!(SubtitleSegments::of_duration(u64::MAX).segment(&Subtitles::default(), 2879).is_some());
}

#[test]
fn cue_across_a_segment_border_is_in_both_segments() {
    let subtitles = Subtitles {
        style_and_region_blocks: vec!["STYLE\n::cue { color: red }".into()],
        cues: vec![
            cue(0, 30_000, "first"),
            cue(29_000, 61_000, "all"),
            cue(30_000, 31_000, "second"),
            cue(90_000, 91_000, "never"),
        ],
    };
    let segments = SubtitleSegments::of_duration(62_000_000);
    let texts = |number| {
        let text = segments.segment(&subtitles, number).unwrap();
        let head = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n\nSTYLE\n::cue { color: red }\n\n";
        assert!(text.starts_with(head), "{text}");
        cues(&text).into_iter().map(|cue| cue.text).collect::<Vec<_>>()
    };
    assert_eq!(texts(0), ["first", "all"]);
    assert_eq!(texts(1), ["all", "second"]);
    assert_eq!(texts(2), ["all"]);
    assert_eq!(segments.segment(&subtitles, 3), None);
    assert_eq!(segments.segment(&subtitles, u32::MAX), None);
}

#[test]
fn subtitle_segment_size_is_limited() {
    let all = |text: &str| Subtitles {
        style_and_region_blocks: Vec::new(),
        cues: vec![cue(0, 60_000, text); CUES_MAX],
    };
    let segments = SubtitleSegments::of_duration(60_000_000);
    for text in ["a", &"a".repeat(1000)] {
        let segment = segments.segment(&all(text), 1).unwrap();
        let cue_count = cues(&segment).len();
        assert!(
            (250 << 10..280 << 10).contains(&segment.len()),
            "{} bytes of {cue_count} cues",
            segment.len()
        );
        assert!(cue_count > 200);
    }
}

/// Lines that a file may have, broken ones among them.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("WEBVTT".to_owned()),
        Just("STYLE".to_owned()),
        Just("NOTE".to_owned()),
        "[0-9]{1,3}",
        "[0-9]{1,2}:[0-5][0-9]:[0-5][0-9][.,][0-9]{3} --> [0-9]{1,2}:[0-5][0-9]:[0-5][0-9][.,][0-9]{3}( line:[0-9]{1,2})?",
        "[a-z<>&{}\\\\/ -]{0,12}",
        "[a-z1-]{0,3}(-->|--</b>>|--<font>>)[a-z0-9:]{0,3}",
        "\\PC{0,12}",
    ]
}

#[test]
fn cues_of_an_edited_timeline_are_shifted_and_cut() {
    let subtitles = Subtitles {
        style_and_region_blocks: vec!["STYLE\n::cue {}".to_owned()],
        cues: vec![
            cue(0, 900, "removed"),
            cue(500, 2500, "cut"),
            cue(2000, 9000, "twice"),
            cue(9500, 9900, "late"),
        ],
    };
    let edited = subtitles.edited(&[(1000..3000, 5000), (8000..10_000, 7000)]).unwrap();
    let expected =
        [cue(5000, 6500, "cut"), cue(6000, 7000, "twice"), cue(7000, 8000, "twice"), cue(8500, 8900, "late")];
    assert_eq!(edited.cues, expected);
    assert_eq!(edited.style_and_region_blocks, subtitles.style_and_region_blocks);
    assert_eq!(subtitles.edited(&[]).unwrap().cues, []);
    let many = Subtitles { cues: vec![cue(0, 1, "x"); CUES_MAX], ..Subtitles::default() };
    assert_eq!(many.edited(&[(0..1, 0), (0..1, 1)]), Err(SubtitlesError::TooManyCues));
}

proptest! {
    #[test]
    fn arbitrary_subtitles_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = Subtitles::read(&bytes);
    }

    #[test]
    fn subtitles_round_trip(lines in prop::collection::vec(line(), 0..40), is_webvtt: bool) {
        let head = if is_webvtt { "WEBVTT\n\n" } else { "" };
        if let Ok(subtitles) = Subtitles::read(format!("{head}{}", lines.join("\n")).as_bytes()) {
            prop_assert!(subtitles.cues.is_sorted_by_key(|cue| cue.start_ms));
            prop_assert!(subtitles.cues.iter().all(|cue| cue.start_ms < cue.end_ms && !cue.text.is_empty()));
            // WebVTT, 6.1: it would begin another cue.
            prop_assert!(subtitles.cues.iter().all(|cue| !cue.text.contains("-->")));
            let again = Subtitles::read(subtitles.to_webvtt().as_bytes());
            prop_assert_eq!(again, Ok(subtitles));
        }
    }

    #[test]
    fn segments_contain_every_cue_they_overlap(
        times in prop::collection::vec((0_u64..200_000, 1_u64..90_000), 0..40),
        duration_us in 1_u64..250_000_000,
    ) {
        let mut cues: Vec<Cue> = times.iter().map(|(start, len)| cue(*start, start + len, "x")).collect();
        cues.sort_by_key(|cue| cue.start_ms);
        let subtitles = Subtitles { style_and_region_blocks: Vec::new(), cues };
        let segments = SubtitleSegments::of_duration(duration_us);
        for number in 0..segments.count() {
            let (start, end) = (u64::from(number) * 30_000, (u64::from(number) + 1) * 30_000);
            let expected: Vec<_> =
                subtitles.cues.iter().filter(|cue| cue.start_ms < end && start < cue.end_ms).cloned().collect();
            let segment = segments.segment(&subtitles, number).expect("it is listed");
            prop_assert_eq!(Subtitles::read(segment.as_bytes()).expect("it is WebVTT").cues, expected);
        }
        prop_assert_eq!(segments.segment(&subtitles, segments.count()), None);
    }
}
