//! Sprite sheets: many small images in one, which players show while the viewer seeks.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use futures_util::{Stream, stream};

use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, input_arguments, push_input, stdin_arguments};
use crate::job::{Files, Job, push};
use crate::overlay::{self, FrameOverlay, OverlayColours};
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
    /// An image over every tile.
    pub overlay: Option<FrameOverlay>,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

/// Most parts of one sheet: a process may open 64 files, some of them libraries.
pub const SHEET_PARTS_MAX: usize = 40;

/// Consecutive tiles whose frames have a decoder of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpriteSheetPart {
    /// An absolute path to a file. Its content is as the input of [`Engine::sprite_sheet`], with the frame of
    /// the first tile of the part at [`start_s`](SpriteSheetSpec::start_s).
    pub file: PathBuf,
    /// Container of the file.
    pub container: FeedContainer,
    /// Number of its tiles, 1 or more.
    pub count: u32,
    /// The size of its frames inside a tile, both sides even, with black bars around it. `None`: the whole
    /// tile.
    pub image: Option<(u32, u32)>,
}

impl Engine {
    /// As [`sprite_sheet`](Self::sprite_sheet), from several files. The sum of their tiles is
    /// [`count`](SpriteSheetSpec::count), and [`container`](SpriteSheetSpec::container) has no effect. The
    /// process can read the files of the parts and no other. A part has no tiles if nothing in it decodes.
    pub async fn sprite_sheet_of_parts(
        &self,
        spec: SpriteSheetSpec,
        parts: &[SpriteSheetPart],
    ) -> Result<Bytes, EngineError> {
        self.check_sheet(&spec)?;
        let SpriteSheetSpec { tile, count, .. } = &spec;
        let is_valid = |part: &SpriteSheetPart| {
            let (width, height) = part.image.unwrap_or((tile.width, tile.height));
            let is_side = |side: u32, most: u32| (2..=most).contains(&side) && side.is_multiple_of(2);
            let is_path = part.file.is_absolute() && part.file.to_str().is_some();
            0 < part.count && is_side(width, tile.width) && is_side(height, tile.height) && is_path
        };
        let sum = parts.iter().map(|part| u64::from(part.count)).sum::<u64>();
        let fits = (1..=SHEET_PARTS_MAX).contains(&parts.len()) && sum == u64::from(*count);
        if !fits || !parts.iter().all(is_valid) {
            return Err(EngineError::InvalidSpec("the parts of a sheet"));
        }
        let job = parts_job(&spec, parts);
        let sheet = self.runner().start(job, stream::empty(), TimeoutKind::Idle).collect().await?;
        if sheet.is_empty() { Err(EngineError::NoFrame) } else { Ok(sheet) }
    }

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
        self.check_sheet(&spec)?;
        let sheet = self.runner().start(job(&spec), input, TimeoutKind::Idle).collect().await?;
        if sheet.is_empty() { Err(EngineError::NoFrame) } else { Ok(sheet) }
    }

    fn check_sheet(&self, spec: &SpriteSheetSpec) -> Result<(), EngineError> {
        self.require_encoder("mjpeg")?;
        if let Some(overlay) = &spec.overlay {
            self.require_overlay()?;
            overlay.check()?;
        }
        check(spec)
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
    if let Some(overlay) = &spec.overlay {
        overlay::push_image(&mut arguments, &overlay.file);
        let graph = format!("[0:v:0]{}[sheet]", filters(spec));
        push(&mut arguments, ["-copyts", "-filter_complex", &graph, "-map", "[sheet]"]);
        push(&mut arguments, ["-an", "-sn", "-dn", "-map_metadata", "-1"]);
    } else {
        push(&mut arguments, ["-copyts", "-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1"]);
        push(&mut arguments, ["-vf", &filters(spec)]);
    }
    push(&mut arguments, ["-frames:v", "1", "-fps_mode", "passthrough"]);
    push_output(&mut arguments);
    job_of(arguments, Vec::new(), spec)
}

/// As [`job`], from the files of these parts, with a graph that joins their tiles.
fn parts_job(spec: &SpriteSheetSpec, parts: &[SpriteSheetPart]) -> Job {
    let mut arguments = Vec::new();
    for part in parts {
        let (url, demuxer) = (format!("file:{}", part.file.display()), part.container.demuxer());
        let options = ["-reinit_filter", "0"];
        if arguments.is_empty() {
            arguments = input_arguments(&url, demuxer, 1, &options);
        } else {
            push_input(&mut arguments, &url, demuxer, 1, &options);
        }
    }
    if let Some(overlay) = &spec.overlay {
        overlay::push_image(&mut arguments, &overlay.file);
    }
    push(&mut arguments, ["-copyts", "-filter_complex", &parts_graph(spec, parts), "-map", "[sheet]"]);
    push(&mut arguments, ["-an", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-frames:v", "1", "-fps_mode", "passthrough"]);
    push_output(&mut arguments);
    job_of(arguments, parts.iter().map(|part| part.file.clone()).collect(), spec)
}

fn push_output(arguments: &mut Vec<OsString>) {
    push(arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact"]);
    // A tile is shown only briefly, so the quality is low.
    push(arguments, ["-c:v", "mjpeg", "-q:v", "5", "-huffman", "optimal", "-f", "image2pipe", "pipe:1"]);
}

/// The job that reads these files and the image of the overlay.
fn job_of(arguments: Vec<OsString>, mut files: Vec<PathBuf>, spec: &SpriteSheetSpec) -> Job {
    files.extend(spec.overlay.iter().map(|overlay| overlay.file.clone()));
    let mut limits = spec.limits.to_job_limits();
    limits.output_max = limits.output_max.min(THUMBNAIL_OUTPUT_MAX);
    Job {
        kind: "sheet",
        arguments,
        input: Bytes::new(),
        files: Files { read: files, write: None },
        limits,
        priority: spec.priority,
        is_probe: false,
    }
}

/// The tiles of each part as in [`filters`], centred in their bars, then those of the next part.
fn parts_graph(spec: &SpriteSheetSpec, parts: &[SpriteSheetPart]) -> String {
    let SpriteSheetSpec { tile, columns, rows, start_s, .. } = spec;
    let (mut graph, mut labels) = (String::new(), String::new());
    for (number, SpriteSheetPart { count, image, .. }) in parts.iter().enumerate() {
        let (width, height) = image.unwrap_or((tile.width, tile.height));
        let grid = tile_grid(*start_s, width, height);
        let _ = write!(graph, "[{number}:v:0]{grid}");
        if image.is_some() {
            // Both offsets are even, because chroma is subsampled.
            let (left, top) = ((tile.width - width) / 4 * 2, (tile.height - height) / 4 * 2);
            let _ = write!(graph, ",pad={}:{}:{left}:{top}:black", tile.width, tile.height);
        }
        let _ = write!(
            graph,
            ",tpad=stop={count}:stop_mode=clone,trim=end_frame={count},setpts=PTS-STARTPTS[p{number}];"
        );
        let _ = write!(labels, "[p{number}]");
    }
    let overlay = drawn_overlay(spec, parts.len());
    let _ = write!(
        graph,
        "{labels}concat=n={}:v=1:a=0{overlay},tile={columns}x{rows}:color=black[sheet]",
        parts.len()
    );
    graph
}

/// A grid of whole seconds from the first tile on, in which a frame is repeated until the next one. If the
/// last frames do not decode, the one before is repeated for them. The rest of the sheet becomes black only
/// at the end of the frames: with a fixed number of tiles the filter would leave uninitialized memory.
fn filters(spec: &SpriteSheetSpec) -> String {
    let SpriteSheetSpec { tile: ImageSize { width, height }, columns, rows, count, start_s, .. } = spec;
    let grid = tile_grid(*start_s, *width, *height);
    let overlay = drawn_overlay(spec, 1);
    format!(
        "{grid},tpad=stop={count}:stop_mode=clone,trim=end_frame={count}{overlay},tile={columns}x{rows}:color=black"
    )
}

/// Draws the image of input `image` over the tiles; empty without an overlay.
fn drawn_overlay(spec: &SpriteSheetSpec, image: usize) -> String {
    let Some(overlay) = &spec.overlay else { return String::new() };
    let colours = OverlayColours::Yuv { matrix: "bt601", range: "pc" };
    let drawn = overlay::graph("[tiles]", &format!("[{image}:v:0]"), 0, overlay.rectangle, colours);
    format!("[tiles];{drawn}")
}

/// One frame a second from second `start_s` on, of this size.
fn tile_grid(start_s: u32, width: u32, height: u32) -> String {
    format!(
        "fps=fps=1:round=up:start_time={start_s},scale=w={width}:h={height}:flags=bicubic:out_color_matrix=bt601:out_range=pc,\
         setsar=1,format=yuvj420p"
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
            overlay: None,
            priority: Priority::Prepare,
            limits,
        }
    }

    #[test]
    fn parts_of_a_sheet_follow_one_another() {
        let part = |count, image| SpriteSheetPart {
            file: "/tmp/a".into(),
            container: FeedContainer::Mp4,
            count,
            image,
        };
        let size = |side| (spec().tile.width - side, spec().tile.height);
        let graph = parts_graph(&spec(), &[part(2, None), part(1, Some(size(8)))]);
        let grid = |(width, height)| tile_grid(spec().start_s, width, height);
        let (width, height) = size(0);
        assert_eq!(
            graph,
            format!(
                "[0:v:0]{},tpad=stop=2:stop_mode=clone,trim=end_frame=2,setpts=PTS-STARTPTS[p0];\
                 [1:v:0]{},pad={width}:{height}:4:0:black,tpad=stop=1:stop_mode=clone,trim=end_frame=1,setpts=PTS-STARTPTS[p1];\
                 [p0][p1]concat=n=2:v=1:a=0,tile={}x{}:color=black[sheet]",
                grid(size(0)),
                grid(size(8)),
                spec().columns,
                spec().rows
            )
        );
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
