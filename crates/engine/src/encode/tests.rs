//! Tests of the command line, and of specs that are rejected before anything starts.

use super::*;
use crate::overlay::OverlayRectangle;

fn rung() -> VideoRung {
    VideoRung {
        width: 640,
        height: 360,
        crf: 23,
        maxrate_bps: 960_000,
        bufsize_bits: 960_000,
        level: "3.0",
        bframes: 2,
        image: None,
        colour: None,
    }
}

fn spec() -> VideoEncode {
    VideoEncode {
        container: FeedContainer::Mp4,
        rungs: vec![rung()],
        deinterlace: false,
        tone_map: None,
        frame_step: 1,
        key_frames_us: Vec::new(),
        keep_us: 1_000_000..u64::MAX,
        is_black: false,
        overlay: None,
        tolerates_damage: false,
        threads: 2,
        priority: Priority::Viewer,
        limits: EncodeLimits {
            deadline: Duration::from_secs(20),
            cpu: Duration::from_secs(100),
            memory_bytes: 1 << 30,
            output_max: 1 << 30,
        },
    }
}

/// The command line after the list of decoders.
fn command_line(spec: &VideoEncode) -> String {
    spec.check().unwrap();
    let arguments = arguments::command_line(spec);
    let decoders = arguments.iter().position(|argument| argument == "-codec_whitelist").unwrap();
    let rest: Vec<_> = arguments[decoders + 2..].iter().map(|argument| argument.to_str().unwrap()).collect();
    rest.join(" ")
}

#[test]
fn command_line_is_constant_except_for_numbers() {
    assert_eq!(
        command_line(&spec()),
        "-enable_drefs 0 -f mov -i pipe:0 -copyts -filter_complex_threads 1 -filter_complex \
         [0:v:0]trim=start=1.000000:end=1000000.000000,split=1[s0];\
         [s0]scale=640:360:flags=bicubic:out_range=tv,setsar=1,format=yuv420p[v0] -map [v0] -an -sn -dn \
         -map_metadata -1 -map_chapters -1 -fflags +bitexact -flags:v +bitexact -c:v libx264 -preset veryfast \
         -profile:v high -threads:v 2 -crf:v:0 23 -maxrate:v:0 960000 -bufsize:v:0 960000 -bf:v:0 2 -level:v:0 3.0 \
         -fps_mode passthrough -enc_time_base 1:90000 -video_track_timescale 90000 -avoid_negative_ts disabled -muxdelay 0 \
         -g 9999 -sc_threshold 0 -forced-idr 1 -use_editlist 0 \
         -movflags +frag_keyframe+delay_moov+default_base_moof+frag_discont+skip_trailer -flush_packets 1 -f mp4 pipe:1"
    );
    let all = VideoEncode {
        container: FeedContainer::Matroska,
        rungs: vec![rung(), VideoRung { width: 320, height: 180, bframes: 0, ..rung() }],
        deinterlace: true,
        tone_map: Some(ToneMap::Hlg),
        frame_step: 2,
        key_frames_us: vec![0, 1_000_000, 2_500_000, 4_000_001, 9_000_000],
        keep_us: 1_000_000..9_000_000,
        ..spec()
    };
    let arguments = command_line(&all);
    let expected_graph = "-f matroska -i pipe:0 -copyts -filter_complex_threads 1 -filter_complex \
        [0:v:0]bwdif=mode=send_frame:deint=interlaced,trim=start=1.000000:end=9.000000,\
        select='st(2,0+(gte(t,2.500000)+gte(t,4.000001)));st(0,if(eq(n,0)+not(eq(ld(2),ld(1))),0,ld(0)+1));st(1,ld(2));\
        not(mod(ld(0),2))',scale=640:360:flags=bicubic,setsar=1,\
        setparams=range=tv:color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc,\
        zscale=transfer=linear:npl=100,format=gbrpf32le,zscale=primaries=bt709,tonemap=hable:desat=0,\
        zscale=transfer=bt709:matrix=bt709:range=tv,format=yuv420p,split=2[s0][s1];\
        [s0]scale=640:360:flags=bicubic:out_range=tv,setsar=1,format=yuv420p[v0];\
        [s1]scale=320:180:flags=bicubic:out_range=tv,setsar=1,format=yuv420p[v1] -map [v0] -map [v1] ";
    assert!(arguments.starts_with(expected_graph), "{arguments}");
    assert!(arguments.contains(" -bf:v:1 0 -level:v:1 3.0 "), "{arguments}");
    assert!(arguments.contains(" -force_key_frames:v 2.500000,4.000001 "), "{arguments}");
}

#[test]
fn frames_are_converted_to_the_rung_colour() {
    let bt709 = Colour { primaries: 1, transfer: 1, matrix: 1 };
    let open = Colour { primaries: 2, transfer: 2, matrix: 2 };
    let of = |colour| VideoRung { colour: Some(colour), ..rung() };
    let arguments = command_line(&VideoEncode { rungs: vec![of(bt709), of(open)], ..spec() });
    let expected = "-color_primaries 1 -color_trc 1 -colorspace 1 -f mov -i pipe:0 -copyts -filter_complex_threads 1 \
        -filter_complex [0:v:0]trim=start=1.000000:end=1000000.000000,split=2[s0][s1];\
        [s0]scale=640:360:flags=bicubic:out_range=tv:out_color_matrix=bt709,setsar=1,\
        setparams=range=tv:color_primaries=1:color_trc=1:colorspace=1,format=yuv420p[v0];\
        [s1]scale=640:360:flags=bicubic:out_range=tv:out_color_matrix=bt601,setsar=1,\
        setparams=range=tv:color_primaries=2:color_trc=2:colorspace=2,format=yuv420p[v1] -map [v0] ";
    let begin = arguments.find("-color_primaries").unwrap();
    assert!(arguments[begin..].starts_with(expected), "{arguments}");
}

#[test]
fn smaller_image_is_centred_in_black_bars() {
    let pillars = VideoRung { image: Some((480, 360)), ..rung() };
    let odd = VideoRung { image: Some((640, 354)), ..rung() };
    let arguments = command_line(&VideoEncode { rungs: vec![pillars, odd], ..spec() });
    let expected = "[s0]scale=480:360:flags=bicubic:out_range=tv,setsar=1,format=yuv420p,pad=640:360:80:0:black[v0];\
        [s1]scale=640:354:flags=bicubic:out_range=tv,setsar=1,format=yuv420p,pad=640:360:0:2:black[v1] ";
    assert!(arguments.contains(expected), "{arguments}");
}

#[test]
fn overlay_is_drawn_in_the_colours_and_over_the_bars_of_each_rung() {
    let bt709 = Colour { primaries: 1, transfer: 1, matrix: 1 };
    let barred = VideoRung { image: Some((480, 360)), colour: Some(bt709), ..rung() };
    let rectangle = |left, width| OverlayRectangle { left, top: 10, width, height: 20 };
    let overlay =
        VideoOverlay { file: "/tmp/a".into(), rectangles: vec![rectangle(4, 60), rectangle(3, 30)] };
    let spec = VideoEncode { rungs: vec![barred, rung()], overlay: Some(overlay), ..spec() };
    assert!(spec.check().is_ok());
    let arguments = command_line(&spec);
    let flags = "flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp";
    let image = |width| {
        format!(
            "setpts=PTS-100/TB,format=gbrap,premultiply=inplace=1,scale=w={width}:h=20:{flags},unpremultiply=inplace=1"
        )
    };
    let expected = format!(
        "-f mov -i pipe:0 -threads 1 -max_pixels 35389440 -protocol_whitelist file -format_whitelist png_pipe \
         -codec_whitelist DECODERS -f png_pipe -i file:/tmp/a -copyts -filter_complex_threads 1 \
         -filter_complex [0:v:0]trim=start=1.000000:end=1000000.000000,split=2[s0][s1];[1:v:0]split=2[w0][w1];\
         [s0]scale=480:360:flags=bicubic:out_range=tv:out_color_matrix=bt709,setsar=1,\
         setparams=range=tv:color_primaries=1:color_trc=1:colorspace=1,format=yuv420p,pad=640:360:80:0:black[f0];\
         [w0]{},scale={flags}:out_color_matrix=bt709:out_range=tv,format=yuva420p[image0];\
         [f0][image0]overlay=x=4:y=10:format=yuv420[v0];\
         [s1]scale=640:360:flags=bicubic:out_range=tv,setsar=1,format=yuv420p[f1];\
         [w1]{},pad=31:20:1:0:black@0,scale={flags}:out_color_matrix=bt601:out_range=tv,format=yuva420p[image1];\
         [f1][image1]overlay=x=2:y=10:format=yuv420[v1] -map [v0] -map [v1] ",
        image(60),
        image(30)
    );
    let begin = arguments.find("-f mov").unwrap();
    assert!(arguments[begin..].starts_with(&expected), "{arguments}");
    let too_few = VideoEncode { rungs: vec![rung(); 3], ..spec };
    assert!(too_few.check().is_err());
}

#[test]
fn unknown_colour_description_is_omitted() {
    let known = |primaries, transfer, matrix| {
        let Colour { primaries, transfer, matrix } =
            Colour { primaries, transfer, matrix }.without_unsupported();
        [primaries, transfer, matrix]
    };
    assert_eq!(known(9, 14, 9), [9, 14, 9]);
    assert_eq!(known(0, 0, 0), [2, 2, 2]);
    assert_eq!(known(3, 3, 3), [2, 2, 2]);
    assert_eq!(known(255, 19, 8), [2, 2, 2]);
}

#[test]
fn invalid_video_encode_is_rejected() {
    type Spoil = fn(&mut VideoEncode);
    let cases: [(Spoil, &str); 16] = [
        (|spec| spec.rungs[0].image = Some((642, 360)), "the size of the image in a rung"),
        (|spec| spec.rungs[0].image = Some((640, 359)), "the size of the image in a rung"),
        (|spec| spec.rungs.clear(), "the number of rungs"),
        (|spec| spec.rungs = vec![rung(); 7], "the number of rungs"),
        (|spec| spec.rungs[0].width = 641, "the size of a rung"),
        (|spec| spec.rungs[0].height = 0, "the size of a rung"),
        (|spec| spec.rungs[0].height = 8194, "the size of a rung"),
        (|spec| spec.rungs[0].crf = 52, "the quality or the B-frames of a rung"),
        (|spec| spec.rungs[0].maxrate_bps = 0, "the rate of a rung"),
        (|spec| spec.rungs[0].bufsize_bits = 0, "the rate of a rung"),
        (
            |spec| spec.rungs[0].colour = Some(Colour { primaries: 1, transfer: 1, matrix: 0 }),
            "the colour of a rung",
        ),
        (|spec| spec.key_frames_us = vec![2, 1], "the keyframes"),
        (|spec| spec.key_frames_us = vec![0; 513], "the keyframes"),
        (|spec| spec.keep_us = 5..5, "the range to keep"),
        (|spec| spec.threads = 0, "the number of threads"),
        (|spec| spec.threads = 17, "the number of threads"),
    ];
    for (spoil, expected) in cases {
        let mut spec = spec();
        spoil(&mut spec);
        assert!(
            matches!(spec.check(), Err(EngineError::InvalidSpec(what)) if what == expected),
            "{expected}"
        );
    }
}
