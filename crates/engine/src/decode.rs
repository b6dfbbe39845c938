//! Trying whether a piece of video decodes at all.

use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, read_from_stdin};
use crate::job::{Files, Job, Limits, push};
use crate::picture;
use crate::priority::Priority;

/// Largest input of [`Engine::probe_decode`]: that of a picture, for both read a GOP.
pub const DECODE_INPUT_MAX: u64 = picture::PICTURE_INPUT_MAX;

/// Bytes of the list of frames: 20 s at 960 frames a second at 100 bytes a line.
const LIST_MAX: u64 = 2 << 20;

/// What came out of a decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeReport {
    /// Frames that were decoded.
    pub frames: u64,
    /// When the last one begins, from the first shown one on, to the microsecond. `None` without frames.
    pub last_frame_at: Option<Duration>,
}

impl Engine {
    /// Decodes the video of `input` and throws it away.
    ///
    /// `input` is as for [`picture`](Engine::picture). A decoder conceals much, so compare `frames` with the
    /// number of samples that went in. Errors: [`Failed`](EngineError::Failed) when it cannot be read at all,
    /// and those of every run.
    pub async fn probe_decode(&self, input: Bytes) -> Result<DecodeReport, EngineError> {
        let limits = Limits { output_max: LIST_MAX, ..picture::limits(&input)? };
        let mut arguments = read_from_stdin(FeedContainer::of(&input), 1);
        push(&mut arguments, ["-map", "0:v:0", "-an", "-sn", "-dn", "-fps_mode", "passthrough"]);
        // The smallest picture that shows a frame was there: what is listed is its time, not its content.
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
            is_try: true,
        };
        let list = self.run(job).await?;
        Ok(read_list(&String::from_utf8_lossy(&list)))
    }
}

/// Reads the output of the framecrc muxer: `stream, dts, pts, duration, size, checksum`, after lines that
/// begin with `#`.
fn read_list(list: &str) -> DecodeReport {
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
        assert_eq!(read_list(list), expected);
        assert_eq!(read_list("#only a head\n"), DecodeReport { frames: 0, last_frame_at: None });
        assert_eq!(read_list("nonsense\n0,1\n"), DecodeReport { frames: 0, last_frame_at: None });
    }
}
