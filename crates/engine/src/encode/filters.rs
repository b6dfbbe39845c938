//! The filter graph between the decoder and the encoders.

use super::arguments::{format_seconds, later_key_frames};
use super::{Colour, ToneMap, VideoEncode, VideoRung};
use crate::overlay::{self, OverlayColours};

/// Converts fields to frames.
pub(super) const DEINTERLACING: &str = "bwdif";

/// Convert a high dynamic range to a standard one.
pub(super) const TONE_MAPPING: [&str; 2] = ["zscale", "tonemap"];

/// Sets each pixel to one value.
pub(super) const BLACKENING: &str = "lutyuv";

/// Later than any real time: 11 days. Larger numbers overflow inside ffmpeg, which counts times in
/// nanoseconds.
const TIME_MAX_US: u64 = 1_000_000_000_000;

/// Terms of a sum: its square is more than [`ENCODE_KEY_FRAMES_MAX`](super::ENCODE_KEY_FRAMES_MAX).
const SUM_TERMS: usize = 24;

/// The name of a rung's frames in the graph.
pub(super) fn output_label(index: usize) -> String {
    format!("v{index}")
}

/// The first video track of the feed.
pub(super) const FEED_VIDEO: &str = "[0:v:0]";

/// The image of the overlay.
const OVERLAY_IMAGE: &str = "[1:v:0]";

/// The graph from `source` to all rungs.
pub(super) fn graph(source: &str, spec: &VideoEncode) -> String {
    let mut steps = Vec::new();
    if spec.deinterlace {
        // Before frames are dropped, because it reads the frames before and after. Progressive frames in a
        // mixed source, such as films made for television, stay unchanged.
        steps.push(format!("{DEINTERLACING}=mode=send_frame:deint=interlaced"));
    }
    let [start, end] =
        [spec.keep_us.start, spec.keep_us.end].map(|time| format_seconds(time.min(TIME_MAX_US)));
    steps.push(format!("trim=start={start}:end={end}"));
    if spec.frame_step > 1 {
        steps.push(frame_step_filter(spec));
    }
    if let Some(from) = spec.tone_map {
        steps.push(tone_map(spec, from));
    }
    let split: String = (0..spec.rungs.len()).map(|index| format!("[s{index}]")).collect();
    steps.push(format!("split={}{split}", spec.rungs.len()));
    let mut graph = format!("{source}{}", steps.join(","));
    // Black of the limited range: ITU-R BT.709, 4.6.
    let black = if spec.is_black { format!(",{BLACKENING}=y=16:u=128:v=128") } else { String::new() };
    if spec.overlay.is_some() {
        let images: String = (0..spec.rungs.len()).map(|index| format!("[w{index}]")).collect();
        graph += &format!(";{OVERLAY_IMAGE}split={}{images}", spec.rungs.len());
    }
    for (index, rung) in spec.rungs.iter().enumerate() {
        let ((width, height), output) = (rung.image_size(), output_label(index));
        let rectangle = spec.overlay.as_ref().and_then(|overlay| overlay.rectangles.get(index));
        let scaled = if rectangle.is_some() { format!("f{index}") } else { output.clone() };
        let (matrix, description) = rung.colour.map(Colour::filters).unwrap_or_default();
        graph += &format!(
            ";[s{index}]scale={width}:{height}:flags=bicubic:out_range=tv{matrix},\
             setsar=1{description},format=yuv420p{black}{bars}[{scaled}]",
            bars = bars(rung)
        );
        if let Some(rectangle) = rectangle {
            let matrix = rung.colour.map_or(DEFAULT_MATRIX, Colour::matrix_name_or_default);
            let colours = OverlayColours::Yuv { matrix, range: "tv" };
            let (frames, image) = (format!("[{scaled}]"), format!("[w{index}]"));
            let drawn = overlay::graph(&frames, &image, index, *rectangle, colours);
            graph += &format!(";{drawn}[{output}]");
        }
    }
    graph
}

/// Centres a smaller image in the frame. Both offsets are even, because chroma is subsampled.
fn bars(rung: &VideoRung) -> String {
    let VideoRung { width, height, .. } = *rung;
    let (image_width, image_height) = rung.image_size();
    if (image_width, image_height) == (width, height) {
        return String::new();
    }
    let left = width.saturating_sub(image_width) / 4 * 2;
    let top = height.saturating_sub(image_height) / 4 * 2;
    format!(",pad={width}:{height}:{left}:{top}:black")
}

/// Matrices by their name in ffmpeg's scaler.
const MATRICES: [(u8, &str); 7] = [
    (1, "bt709"),
    (UNSPECIFIED, "bt601"),
    (4, "fcc"),
    (5, "bt470bg"),
    (6, "smpte170m"),
    (7, "smpte240m"),
    (9, "bt2020"),
];

/// The matrix of frames without a description.
const DEFAULT_MATRIX: &str = "bt601";

/// The code point for unspecified.
const UNSPECIFIED: u8 = 2;

/// Primaries and transfer characteristics that ffmpeg 5.1 supports. ISO/IEC 23091-2, tables 2 and 3.
const PRIMARIES: [u8; 11] = [1, UNSPECIFIED, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const TRANSFERS_MAX: u8 = 18;
const RESERVED_TRANSFER: u8 = 3;

fn is_transfer(point: u8) -> bool {
    (1..=TRANSFERS_MAX).contains(&point) && point != RESERVED_TRANSFER
}

impl Colour {
    /// Whether ffmpeg can convert to it and describe it.
    pub(super) fn is_supported(self) -> bool {
        self == self.without_unsupported()
    }

    /// A copy in which all values that [`VideoEncode`] would reject are unspecified.
    pub fn without_unsupported(self) -> Self {
        let point_or_unspecified =
            |point: u8, is_supported: bool| if is_supported { point } else { UNSPECIFIED };
        Self {
            primaries: point_or_unspecified(self.primaries, PRIMARIES.contains(&self.primaries)),
            transfer: point_or_unspecified(self.transfer, is_transfer(self.transfer)),
            matrix: point_or_unspecified(self.matrix, self.matrix_name().is_some()),
        }
    }

    fn matrix_name(self) -> Option<&'static str> {
        MATRICES.iter().find(|(matrix, _)| *matrix == self.matrix).map(|(_, name)| *name)
    }

    /// The matrix to which frames are converted.
    fn matrix_name_or_default(self) -> &'static str {
        self.matrix_name().unwrap_or(DEFAULT_MATRIX)
    }

    /// The scaler option that converts to its matrix, and the filter that sets the description of the
    /// output.
    fn filters(self) -> (String, String) {
        let Self { primaries, transfer, matrix } = self;
        let name = self.matrix_name_or_default();
        let description = format!(
            ",setparams=range=tv:color_primaries={primaries}:color_trc={transfer}:colorspace={matrix}"
        );
        (format!(":out_color_matrix={name}"), description)
    }

    /// Options of a decoder: frames without a description have this one.
    pub(super) fn decoder_options(self) -> [(&'static str, u8); 3] {
        let Self { primaries, transfer, matrix } = self;
        [("-color_primaries", primaries), ("-color_trc", transfer), ("-colorspace", matrix)]
    }
}

/// Selects the first frame, the one a step later, and so on, and counts again from each keyframe.
///
/// Register 2 is the number of passed keyframe times, 1 its value at the frame before, 0 counts the frames
/// since.
fn frame_step_filter(spec: &VideoEncode) -> String {
    let times: Vec<_> =
        later_key_frames(spec).map(|time| format!("gte(t,{})", format_seconds(time))).collect();
    // Sums of sums: ffmpeg rejects an expression that is more than a hundred deep, as a sum of this many
    // terms is.
    let passed: String = times.chunks(SUM_TERMS).map(|terms| format!("+({})", terms.join("+"))).collect();
    format!(
        "select='st(2,0{passed});st(0,if(eq(n,0)+not(eq(ld(2),ld(1))),0,ld(0)+1));st(1,ld(2));not(mod(ld(0),{}))'",
        spec.frame_step
    )
}

/// Tone maps BT.2020 with a high range to BT.709, at the size of the largest rung, because it takes most of
/// the time of a run.
///
/// ffmpeg would reject sources without a colour description, so it is set for them.
fn tone_map(spec: &VideoEncode, from: ToneMap) -> String {
    let sizes = spec.rungs.iter().map(VideoRung::image_size);
    let largest = sizes.max_by_key(|(width, height)| u64::from(*width) * u64::from(*height));
    let (width, height) = largest.unwrap_or((2, 2));
    let transfer = match from {
        ToneMap::Pq => "smpte2084",
        ToneMap::Hlg => "arib-std-b67",
    };
    format!(
        "scale={width}:{height}:flags=bicubic,setsar=1,\
         setparams=range=tv:color_primaries=bt2020:color_trc={transfer}:colorspace=bt2020nc,\
         zscale=transfer=linear:npl=100,format=gbrpf32le,zscale=primaries=bt709,tonemap=hable:desat=0,\
         zscale=transfer=bt709:matrix=bt709:range=tv,format=yuv420p"
    )
}
