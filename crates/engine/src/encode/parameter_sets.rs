//! The parameter sets of a rung without its source: for H.264 they depend on the rung and the encoder only.

use std::time::Duration;

use bytes::Bytes;

use super::{VideoEncode, VideoRung, arguments};
use crate::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::FeedContainer;
use crate::job::{Files, Job, push, quiet_arguments};
use crate::priority::Priority;

/// One black frame in the smallest size of the filter: the graph scales it to the size of the rung.
const BLACK_FRAME_GRAPH: &str = "color=c=black:s=16x16:r=25:d=0.04,";

/// The filter that draws it.
const COLOR_FILTER: &str = "color";

/// Processor time of one frame of the largest size, on a machine that is ten times too slow.
const CPU: Duration = Duration::from_secs(30);

/// Time without output after which the process counts as hung.
const DEADLINE: Duration = Duration::from_secs(120);

/// One black keyframe, and its head.
const OUTPUT_MAX: u64 = 4 << 20;

impl Engine {
    /// A fragmented MP4 with one black frame of `rung`. Its parameter sets equal those of every run of this
    /// rung with the same [`VideoRung::colour`].
    ///
    /// Has a separate permit and waits only for other calls of this function. Takes a tenth of a second.
    /// `memory_bytes` is its memory limit. May be repeated: the same rung gives the same bytes.
    ///
    /// Errors: as for [`encode_video`](Engine::encode_video).
    pub async fn encode_black_frame(
        &self,
        rung: &VideoRung,
        memory_bytes: u64,
    ) -> Result<Bytes, EngineError> {
        let spec = spec(rung, memory_bytes);
        spec.check()?;
        self.require_encoder("libx264")?;
        self.require_filter(COLOR_FILTER)?;
        let mut arguments = quiet_arguments();
        push(&mut arguments, ["-filter_complex_threads", "1"]);
        arguments::push_encoder(&mut arguments, BLACK_FRAME_GRAPH, &spec);
        self.run_quick(Job {
            kind: "encode_blank",
            arguments,
            input: Bytes::new(),
            files: Files::default(),
            limits: spec.limits.to_job_limits(),
            priority: spec.priority,
            is_probe: false,
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
        overlay: None,
        tolerates_damage: false,
        threads: 1,
        priority: Priority::Viewer,
        limits: EncodeLimits { deadline: DEADLINE, cpu: CPU, memory_bytes, output_max: OUTPUT_MAX },
    }
}
