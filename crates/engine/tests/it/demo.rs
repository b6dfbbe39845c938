//! The demonstration clip, parsed by ffprobe.

use std::process::Command;

use kinora_engine::DEMO_OUTPUT_MAX;

use crate::fixture::engine;

#[tokio::test]
async fn demo_clip_is_h264_and_aac_mp4() {
    let clip = engine().await.demo_clip(4).await.unwrap();
    assert!((clip.len() as u64) < DEMO_OUTPUT_MAX / 5);
    let position = |name: &[u8]| clip.windows(4).position(|word| word == name).unwrap();
    assert!(position(b"moov") < position(b"mdat"), "the index is in front");

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &clip).unwrap();
    let video = "codec_name,profile,width,height,pix_fmt,r_frame_rate,nb_frames,duration";
    let audio = "codec_name,profile,sample_rate,channels,duration";
    assert_eq!(
        probe(&file, &format!("v -show_entries stream={video}")),
        ["h264,High,1280,720,yuv420p,30/1,4.000000,120"]
    );
    assert_eq!(probe(&file, &format!("a -show_entries stream={audio}")), ["aac,LC,48000,2,4.000000"]);
    // A sync sample every 2 s, and no leading frames after it: closed GOPs.
    let packets = probe(&file, "v -show_entries packet=pts_time,flags");
    let time = |line: &String| line.split_once(',').unwrap().0.parse::<f64>().unwrap();
    let sync = packets.iter().enumerate().filter(|(_, line)| line.contains('K'));
    assert_eq!(sync.map(|(n, line)| (n, time(line))).collect::<Vec<_>>(), [(0, 0.0), (60, 2.0)]);
    assert!(
        packets[..60].iter().all(|line| time(line) < 2.0)
            && packets[60..].iter().all(|line| 2.0 <= time(line))
    );
}

/// Output lines of ffprobe, for `arguments` that begin with a stream specifier.
fn probe(file: &tempfile::NamedTempFile, arguments: &str) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "an independent reader of the clip")]
    let mut command = Command::new("ffprobe");
    command
        .args(["-v", "error", "-of", "csv=p=0", "-select_streams"])
        .args(arguments.split(' '))
        .arg(file.path());
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
