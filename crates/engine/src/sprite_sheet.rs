//! Sprite sheets: many small images in one, which players show while the viewer seeks.

use std::io;

use bytes::Bytes;
use futures_util::Stream;

use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, push};
use crate::priority::Priority;
use crate::run::TimeoutKind;
use crate::thumbnail::{IMAGE_SIDE_MAX, ImageSize, THUMBNAIL_OUTPUT_MAX};

/// The tiles of a sheet and their layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpriteSheetSpec {
    /// Container of the feed. Only its first video track is read.
    pub container: FeedContainer,
    /// Size of each tile; both sides even.
    pub tile: ImageSize,
    /// Tiles in a row. The sheet may have [`IMAGE_SIDE_MAX`] pixels on a side.
    pub columns: u32,
    /// Rows of tiles.
    pub rows: u32,
    /// Number of tiles, 1 or more, at most as many as fit. The rest at the end stays black.
    pub count: u32,
    /// The second of the feed's timeline at which the frame of the first tile begins; that of the next
    /// begins a second later, and so on.
    pub start_s: u32,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

impl Engine {
    /// A JPEG of tiles, row by row, each with the frame of `input` that is shown at its second: the last one
    /// that began by then.
    ///
    /// `input` is a fragmented MP4 or a Matroska whose samples can be decoded in the order they come. A tile
    /// whose frame does not decode shows the one before. The frames are rotated as the track states and
    /// stretched to the size of a tile. The same arguments give the same bytes.
    ///
    /// Errors: [`NoFrame`](EngineError::NoFrame) or [`Failed`](EngineError::Failed) if nothing decodes,
    /// [`InvalidSpec`](EngineError::InvalidSpec) for an invalid grid, [`Input`](EngineError::Input), and
    /// those of every run.
    pub async fn sprite_sheet(
        &self,
        spec: SpriteSheetSpec,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<Bytes, EngineError> {
        self.require_encoder("mjpeg")?;
        check(&spec)?;
        let sheet = self.runner().start(job(&spec), input, TimeoutKind::Idle).collect().await?;
        if sheet.is_empty() { Err(EngineError::NoFrame) } else { Ok(sheet) }
    }
}

fn check(spec: &SpriteSheetSpec) -> Result<(), EngineError> {
    let SpriteSheetSpec { tile, columns, rows, count, .. } = spec;
    let is_valid_side = |tile: u32, tiles: u32| {
        0 < tile
            && tile.is_multiple_of(2)
            && tiles.checked_mul(tile).is_some_and(|side| side <= IMAGE_SIDE_MAX)
    };
    if !is_valid_side(tile.width, *columns) || !is_valid_side(tile.height, *rows) {
        return Err(EngineError::InvalidSpec("the size of a sheet"));
    }
    let fits = (1..=columns * rows).contains(count);
    if fits { Ok(()) } else { Err(EngineError::InvalidSpec("the number of tiles")) }
}

fn job(spec: &SpriteSheetSpec) -> Job {
    // A source may change its size: the graph, and with it the tiles so far, must not be reset.
    let mut arguments = stdin_arguments(spec.container, 1);
    let input_position = arguments.len() - 2;
    arguments.splice(input_position..input_position, ["-reinit_filter", "0"].map(Into::into));
    push(&mut arguments, ["-copyts", "-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-vf", &filters(spec), "-frames:v", "1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact"]);
    // A tile is shown only briefly, so the quality is low.
    push(&mut arguments, ["-c:v", "mjpeg", "-q:v", "5", "-huffman", "optimal", "-f", "image2pipe", "pipe:1"]);
    let mut limits = spec.limits.to_job_limits();
    limits.output_max = limits.output_max.min(THUMBNAIL_OUTPUT_MAX);
    Job {
        kind: "sheet",
        arguments,
        input: Bytes::new(),
        files: Files::default(),
        limits,
        priority: spec.priority,
        is_probe: false,
    }
}

/// A grid of whole seconds from the first tile on, in which a frame is repeated until the next one. If the
/// last frames do not decode, the one before is repeated for them. The rest of the sheet becomes black only
/// at the end of the frames: with a fixed number of tiles the filter would leave uninitialized memory.
fn filters(spec: &SpriteSheetSpec) -> String {
    let SpriteSheetSpec { tile: ImageSize { width, height }, columns, rows, count, start_s, .. } = spec;
    format!(
        "fps=fps=1:round=up:start_time={start_s},scale=w={width}:h={height}:flags=bicubic:out_color_matrix=bt601:out_range=pc,\
         setsar=1,format=yuvj420p,tpad=stop={count}:stop_mode=clone,trim=end_frame={count},tile={columns}x{rows}:color=black"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn spec() -> SpriteSheetSpec {
        let limits = EncodeLimits {
            deadline: Duration::from_secs(1),
            cpu: Duration::from_secs(1),
            memory_bytes: 1,
            output_max: u64::MAX,
        };
        SpriteSheetSpec {
            container: FeedContainer::Mp4,
            tile: ImageSize { width: 160, height: 90 },
            columns: 10,
            rows: 6,
            count: 58,
            start_s: 10,
            priority: Priority::Prepare,
            limits,
        }
    }

    #[test]
    fn command_line_is_constant_except_for_numbers() {
        let job = job(&spec());
        let mut arguments: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let decoders = arguments.iter().position(|argument| *argument == "-codec_whitelist").unwrap() + 1;
        arguments[decoders] = "DECODERS";
        assert_eq!(
            arguments.join(" "),
            "-hide_banner -nostdin -loglevel error -filter_threads 1 -threads 1 -max_pixels 35389440 -protocol_whitelist pipe \
             -format_whitelist mov -codec_whitelist DECODERS -enable_drefs 0 -f mov -reinit_filter 0 -i pipe:0 -copyts -map 0:v:0 -an -sn -dn \
             -map_metadata -1 -vf fps=fps=1:round=up:start_time=10,\
             scale=w=160:h=90:flags=bicubic:out_color_matrix=bt601:out_range=pc,setsar=1,format=yuvj420p,tpad=stop=58:stop_mode=clone,\
             trim=end_frame=58,tile=10x6:color=black -frames:v 1 -fps_mode passthrough -flags:v +bitexact -fflags +bitexact \
             -c:v mjpeg -q:v 5 -huffman optimal -f image2pipe pipe:1"
        );
        assert_eq!(job.limits.output_max, THUMBNAIL_OUTPUT_MAX);
    }

    #[test]
    fn invalid_sprite_sheet_grid_is_rejected() {
        let is_rejected = |spec: SpriteSheetSpec| matches!(check(&spec), Err(EngineError::InvalidSpec(_)));
        assert!(!is_rejected(spec()));
        let tile = |width, height| SpriteSheetSpec { tile: ImageSize { width, height }, ..spec() };
        assert!(!is_rejected(tile(2, 2)) && !is_rejected(tile(408, 682)));
        for (width, height) in
            [(0, 90), (160, 0), (161, 90), (160, 91), (410, 90), (160, 684), (u32::MAX - 1, 2)]
        {
            assert!(is_rejected(tile(width, height)), "{width}x{height}");
        }
        assert!(
            is_rejected(SpriteSheetSpec { count: 0, ..spec() })
                && is_rejected(SpriteSheetSpec { count: 61, ..spec() })
        );
        assert!(
            is_rejected(SpriteSheetSpec { columns: 0, ..spec() })
                && is_rejected(SpriteSheetSpec { rows: u32::MAX, ..spec() })
        );
    }
}
