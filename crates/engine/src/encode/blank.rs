//! The parameter sets of a rung, without its source: those of H.264 depend on the rung and the encoder only.

use std::time::Duration;

use bytes::Bytes;

use super::{VideoEncode, VideoRung, arguments};
use crate::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::FeedContainer;
use crate::job::{Files, Job, push, quiet};
use crate::priority::Priority;

/// One black picture, as small as the filter draws it: the graph scales it to the size of the rung.
const BLACK: &str = "color=c=black:s=16x16:r=25:d=0.04,";

/// What draws it.
const DRAWING: &str = "color";

/// Processor time of one picture of the largest size, on a machine that is ten times too slow.
const CPU: Duration = Duration::from_secs(30);

/// No output for this long is a hang.
const DEADLINE: Duration = Duration::from_secs(120);

/// One keyframe of black, and its head.
const OUTPUT_MAX: u64 = 4 << 20;

impl Engine {
    /// A fragmented MP4 with one black picture of `rung`, whose parameter sets are those of every run that
    /// makes this rung with the same [`VideoRung::colour`].
    ///
    /// Has a place of its own and waits for no other run but those of this function. Takes a tenth of a
    /// second. `memory_bytes` is what it may use. May be repeated: the same rung gives the same bytes.
    ///
    /// Errors: as for [`encode_video`](Engine::encode_video).
    pub async fn encode_blank(&self, rung: &VideoRung, memory_bytes: u64) -> Result<Bytes, EngineError> {
        let spec = spec(rung, memory_bytes);
        spec.check()?;
        self.require_encoder("libx264")?;
        self.require_filter(DRAWING)?;
        let mut arguments = quiet();
        push(&mut arguments, ["-filter_complex_threads", "1"]);
        arguments::write(&mut arguments, BLACK, &spec);
        self.run_aside(Job {
            kind: "encode_blank",
            arguments,
            input: Bytes::new(),
            files: Files::default(),
            limits: spec.limits.of_job(),
            priority: spec.priority,
            is_try: false,
        })
        .await
    }
}

fn spec(rung: &VideoRung, memory_bytes: u64) -> VideoEncode {
    VideoEncode {
        container: FeedContainer::Mp4,
        rungs: vec![rung.clone()],
        deinterlace: false,
        tone_map: None,
        frame_step: 1,
        key_frames_us: Vec::new(),
        keep_us: 0..u64::MAX,
        is_black: false,
        is_tolerant: false,
        threads: 1,
        priority: Priority::Viewer,
        limits: EncodeLimits { deadline: DEADLINE, cpu: CPU, memory_bytes, output_max: OUTPUT_MAX },
    }
}
