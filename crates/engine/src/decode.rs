//! Probes whether a piece of video decodes at all.

use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, Limits, push};
use crate::priority::Priority;
use crate::thumbnail;

/// Largest input of [`Engine::probe_decode`]: that of a thumbnail, because both read a GOP.
pub const DECODE_INPUT_MAX: u64 = thumbnail::THUMBNAIL_INPUT_MAX;

/// Bytes of the list of frames: 20 s at 960 frames a second at 100 bytes a line.
const LIST_MAX: u64 = 2 << 20;

/// Output of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeReport {
    /// Frames that were decoded.
    pub frames: u64,
    /// Start of the last frame since the first shown one, to the microsecond. `None` without frames.
    pub last_frame_at: Option<Duration>,
}

impl Engine {
    /// Decodes the video of `input` and discards it.
    ///
    /// `input` is as for [`thumbnail`](Engine::thumbnail). A decoder conceals many errors, so compare
    /// `frames` with the number of samples in the input. Errors: [`Failed`](EngineError::Failed) if it
    /// cannot be read at all, and those of every run.
    pub async fn probe_decode(&self, input: Bytes) -> Result<DecodeReport, EngineError> {
        let limits = Limits { output_max: LIST_MAX, ..thumbnail::limits(&input)? };
        let mut arguments = stdin_arguments(FeedContainer::of(&input), 1);
        push(&mut arguments, ["-map", "0:v:0", "-an", "-sn", "-dn", "-fps_mode", "passthrough"]);
        // The smallest frame size, because only the times of frames are listed, not their content.
        push(&mut arguments, ["-vf", "scale=16:16,settb=1/1000000", "-enc_time_base", "1:1000000"]);
        push(&mut arguments, ["-c:v", "rawvideo", "-f", "framecrc", "pipe:1"]);
        let priority = Priority::Prepare;
        let job = Job {
            kind: "probe_decode",
            arguments,
            input,
            files: Files::default(),
            limits,
            priority,
            is_probe: true,
        };
        let list = self.run(job).await?;
        Ok(parse_frame_list(&String::from_utf8_lossy(&list)))
    }
}

/// Parses the output of the framecrc muxer: `stream, dts, pts, duration, size, checksum`, after lines that
/// begin with `#`.
fn parse_frame_list(list: &str) -> DecodeReport {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let times = lines.filter_map(|line| line.split(',').nth(2)?.trim().parse::<i64>().ok());
    let (mut frames, mut last) = (0, None);
    for time in times {
        frames += 1;
        last = last.max(Some(time));
    }
    let last_frame_at = last.map(|time| Duration::from_micros(u64::try_from(time).unwrap_or(0)));
    DecodeReport { frames, last_frame_at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_and_the_latest_is_the_last() {
        let list = "#format: frame checksums\n#tb 0: 1/1000000\n0,          0,          0,    33333,      384, 0x1\n\
                    0,      33333,      66666,    33333,      384, 0x2\n0,      66666,      33333,    33333,      384, 0x3\n";
        let expected = DecodeReport { frames: 3, last_frame_at: Some(Duration::from_micros(66_666)) };
        assert_eq!(parse_frame_list(list), expected);
        assert_eq!(parse_frame_list("#only a head\n"), DecodeReport { frames: 0, last_frame_at: None });
        assert_eq!(parse_frame_list("nonsense\n0,1\n"), DecodeReport { frames: 0, last_frame_at: None });
    }
}
