//! What happens to the frames between the decoder and the encoders.

use super::arguments::{later_key_frames, seconds};
use super::{ToneMap, VideoEncode};

/// Turns fields into frames.
pub(super) const DEINTERLACING: &str = "bwdif";

/// Turn a high dynamic range into a standard one.
pub(super) const TONE_MAPPING: [&str; 2] = ["zscale", "tonemap"];

/// Sets each pixel to one value.
pub(super) const BLACKENING: &str = "lutyuv";

/// Past any real time: 11 days. Larger numbers overflow inside ffmpeg, where times are counted in nanoseconds.
const TIME_MAX_US: u64 = 1_000_000_000_000;

/// Terms of a sum: the square is more than [`ENCODE_KEY_FRAMES_MAX`](super::ENCODE_KEY_FRAMES_MAX).
const SUM_TERMS: usize = 24;

/// The name of a rung's frames in the graph.
pub(super) fn output(index: usize) -> String {
    format!("v{index}")
}

/// The graph from the first video track to all rungs.
pub(super) fn graph(spec: &VideoEncode) -> String {
    let mut steps = Vec::new();
    if spec.deinterlace {
        // Before frames are dropped: it looks at the one before and the one after. Of a source whose pictures are partly whole ones, as
        // of films made for television, these are left as they are.
        steps.push(format!("{DEINTERLACING}=mode=send_frame:deint=interlaced"));
    }
    let [start, end] = [spec.keep_us.start, spec.keep_us.end].map(|time| seconds(time.min(TIME_MAX_US)));
    steps.push(format!("trim=start={start}:end={end}"));
    if spec.frame_step > 1 {
        steps.push(one_of_some_frames(spec));
    }
    if let Some(from) = spec.tone_map {
        steps.push(tone_map(spec, from));
    }
    let split: String = (0..spec.rungs.len()).map(|index| format!("[s{index}]")).collect();
    steps.push(format!("split={}{split}", spec.rungs.len()));
    let mut graph = format!("[0:v:0]{}", steps.join(","));
    // Black of the narrow range: ITU-R BT.709, 4.6.
    let black = if spec.is_black { format!(",{BLACKENING}=y=16:u=128:v=128") } else { String::new() };
    for (index, rung) in spec.rungs.iter().enumerate() {
        let (width, height, output) = (rung.width, rung.height, output(index));
        graph += &format!(
            ";[s{index}]scale={width}:{height}:flags=bicubic:out_range=tv,setsar=1,format=yuv420p{black}[{output}]"
        );
    }
    graph
}

/// Keeps the first frame, the one a step later, and so on, from each keyframe on anew.
///
/// Register 2 is how many keyframe times have passed, 1 what it was at the frame before, 0 counts the frames since.
fn one_of_some_frames(spec: &VideoEncode) -> String {
    let times: Vec<_> = later_key_frames(spec).map(|time| format!("gte(t,{})", seconds(time))).collect();
    // Sums of sums: ffmpeg refuses an expression that is more than a hundred deep, as a sum of so many terms is.
    let passed: String = times.chunks(SUM_TERMS).map(|terms| format!("+({})", terms.join("+"))).collect();
    format!(
        "select='st(2,0{passed});st(0,if(eq(n,0)+not(eq(ld(2),ld(1))),0,ld(0)+1));st(1,ld(2));not(mod(ld(0),{}))'",
        spec.frame_step
    )
}

/// BT.2020 with a high range to BT.709. At the size of the largest rung, for it takes most of the time of a run.
///
/// Sources that do not say what they are would be refused, so it is said for them.
fn tone_map(spec: &VideoEncode, from: ToneMap) -> String {
    let largest = spec.rungs.iter().max_by_key(|rung| u64::from(rung.width) * u64::from(rung.height));
    let (width, height) = largest.map_or((2, 2), |rung| (rung.width, rung.height));
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
