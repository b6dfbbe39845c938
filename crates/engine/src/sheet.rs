//! Many small pictures in one: what players show while somebody moves along the bar of time.

use std::io;

use bytes::Bytes;
use futures_util::Stream;

use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, read_from_stdin};
use crate::job::{Files, Job, push};
use crate::picture::{PICTURE_OUTPUT_MAX, PICTURE_SIDE_MAX, PictureSize};
use crate::priority::Priority;
use crate::run::Pace;

/// Which tiles, and how they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetSpec {
    /// What the feed is wrapped in. Only its first video track is read.
    pub container: FeedContainer,
    /// Of each tile; both sides even.
    pub tile: PictureSize,
    /// Tiles beside each other. The whole may have [`PICTURE_SIDE_MAX`] pixels on a side.
    pub columns: u32,
    /// Tiles above each other.
    pub rows: u32,
    /// How many tiles there are, 1 or more, as many as fit at most. What is left at the end stays black.
    pub count: u32,
    /// The second of the feed's timeline at which the picture of the first tile begins; that of the next
    /// begins a second later, and so on.
    pub start_s: u32,
    /// Who waits.
    pub priority: Priority,
    /// What it may use.
    pub limits: EncodeLimits,
}

impl Engine {
    /// A JPEG of tiles, row by row, each with the frame of `input` that is shown at its second: the last one
    /// that began by then.
    ///
    /// `input` is an MP4 in fragments or a Matroska whose samples can be decoded in the order they come. A
    /// tile whose frame does not decode shows the one before. The pictures are turned as the track says and
    /// drawn out to the size of a tile. The same arguments give the same bytes.
    ///
    /// Errors: [`NoPicture`](EngineError::NoPicture) or [`Failed`](EngineError::Failed) where nothing
    /// decodes, [`Impossible`](EngineError::Impossible) for a grid that cannot be,
    /// [`Input`](EngineError::Input), and those of every run.
    pub async fn sheet(
        &self,
        spec: SheetSpec,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<Bytes, EngineError> {
        self.require_encoder("mjpeg")?;
        check(&spec)?;
        let sheet = self.runner().start(job(&spec), input, Pace::Progress).whole().await?;
        if sheet.is_empty() { Err(EngineError::NoPicture) } else { Ok(sheet) }
    }
}

fn check(spec: &SheetSpec) -> Result<(), EngineError> {
    let SheetSpec { tile, columns, rows, count, .. } = spec;
    let side = |tile: u32, tiles: u32| {
        0 < tile
            && tile.is_multiple_of(2)
            && tiles.checked_mul(tile).is_some_and(|side| side <= PICTURE_SIDE_MAX)
    };
    if !side(tile.width, *columns) || !side(tile.height, *rows) {
        return Err(EngineError::Impossible("the size of a sheet"));
    }
    let fits = (1..=columns * rows).contains(count);
    if fits { Ok(()) } else { Err(EngineError::Impossible("the number of tiles")) }
}

fn job(spec: &SheetSpec) -> Job {
    // A source may change its size on its way: the graph, and with it the tiles so far, must not begin anew.
    let mut arguments = read_from_stdin(spec.container, 1);
    let input = arguments.len() - 2;
    arguments.splice(input..input, ["-reinit_filter", "0"].map(Into::into));
    push(&mut arguments, ["-copyts", "-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-vf", &filters(spec), "-frames:v", "1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact"]);
    // A tile is looked at for a moment.
    push(&mut arguments, ["-c:v", "mjpeg", "-q:v", "5", "-huffman", "optimal", "-f", "image2pipe", "pipe:1"]);
    let mut limits = spec.limits.of_job();
    limits.output_max = limits.output_max.min(PICTURE_OUTPUT_MAX);
    Job {
        kind: "sheet",
        arguments,
        input: Bytes::new(),
        files: Files::default(),
        limits,
        priority: spec.priority,
        is_try: false,
    }
}

/// A grid of whole seconds from the first tile on, on which a frame stands until the next one; where the last
/// ones do not decode, the one before them stands for them. What is left of the sheet is blackened at the end
/// of the frames alone: told their number, the filter would leave it as it found it in memory.
fn filters(spec: &SheetSpec) -> String {
    let SheetSpec { tile: PictureSize { width, height }, columns, rows, count, start_s, .. } = spec;
    format!(
        "fps=fps=1:round=up:start_time={start_s},scale=w={width}:h={height}:flags=bicubic:out_color_matrix=bt601:out_range=pc,\
         setsar=1,format=yuvj420p,tpad=stop={count}:stop_mode=clone,trim=end_frame={count},tile={columns}x{rows}:color=black"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn spec() -> SheetSpec {
        let limits = EncodeLimits {
            deadline: Duration::from_secs(1),
            cpu: Duration::from_secs(1),
            memory_bytes: 1,
            output_max: u64::MAX,
        };
        SheetSpec {
            container: FeedContainer::Mp4,
            tile: PictureSize { width: 160, height: 90 },
            columns: 10,
            rows: 6,
            count: 58,
            start_s: 10,
            priority: Priority::Prepare,
            limits,
        }
    }

    #[test]
    fn the_whole_command_line_is_constant_but_for_numbers() {
        let job = job(&spec());
        let mut line: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let decoders = line.iter().position(|argument| *argument == "-codec_whitelist").unwrap() + 1;
        line[decoders] = "DECODERS";
        assert_eq!(
            line.join(" "),
            "-hide_banner -nostdin -loglevel error -filter_threads 1 -threads 1 -max_pixels 35389440 -protocol_whitelist pipe \
             -format_whitelist mov -codec_whitelist DECODERS -enable_drefs 0 -f mov -reinit_filter 0 -i pipe:0 -copyts -map 0:v:0 -an -sn -dn \
             -map_metadata -1 -vf fps=fps=1:round=up:start_time=10,\
             scale=w=160:h=90:flags=bicubic:out_color_matrix=bt601:out_range=pc,setsar=1,format=yuvj420p,tpad=stop=58:stop_mode=clone,\
             trim=end_frame=58,tile=10x6:color=black -frames:v 1 -fps_mode passthrough -flags:v +bitexact -fflags +bitexact \
             -c:v mjpeg -q:v 5 -huffman optimal -f image2pipe pipe:1"
        );
        assert_eq!(job.limits.output_max, PICTURE_OUTPUT_MAX);
    }

    #[test]
    fn a_grid_that_cannot_be_is_refused() {
        let is_refused = |spec: SheetSpec| matches!(check(&spec), Err(EngineError::Impossible(_)));
        assert!(!is_refused(spec()));
        let tile = |width, height| SheetSpec { tile: PictureSize { width, height }, ..spec() };
        assert!(!is_refused(tile(2, 2)) && !is_refused(tile(408, 682)));
        for (width, height) in
            [(0, 90), (160, 0), (161, 90), (160, 91), (410, 90), (160, 684), (u32::MAX - 1, 2)]
        {
            assert!(is_refused(tile(width, height)), "{width}x{height}");
        }
        assert!(
            is_refused(SheetSpec { count: 0, ..spec() }) && is_refused(SheetSpec { count: 61, ..spec() })
        );
        assert!(
            is_refused(SheetSpec { columns: 0, ..spec() })
                && is_refused(SheetSpec { rows: u32::MAX, ..spec() })
        );
    }
}
