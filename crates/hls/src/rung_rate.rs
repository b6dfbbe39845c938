//! What an encoded rendition takes of a viewer's line, known before anything is encoded.

use kinora_index::{Index, Rung, Segment};
use kinora_isobmff::write::{HEAD_FIXED_MAX, HEAD_SAMPLE_MAX};

use crate::rate::Rate;

/// Tenths of the decoder's buffer that an encode finds full when it begins: that of x264.
const BUFFER_TENTHS: u64 = 9;
/// Parts of the buffer by which an encoder may miss: it corrects itself a picture late.
const MISSED_PARTS: u64 = 10;

/// A rung with its rate. The rate looks at every segment once: keep the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatedRung {
    /// What is encoded.
    pub rung: Rung,
    /// As [`rate_of_rung`].
    pub rate: Rate,
}

impl RatedRung {
    /// A rung of `index` with its rate.
    pub fn new(index: &Index, rung: Rung) -> Self {
        Self { rate: rate_of_rung(index, &rung), rung }
    }
}

/// Bits a second of a rung, container included: no segment has more than the peak. The average is what busy
/// pictures take.
///
/// By arithmetic: each segment is encoded on its own, so it may empty a full buffer once. M-28.
pub fn rate_of_rung(index: &Index, rung: &Rung) -> Rate {
    let timescale = u128::from(index.video().map_or(1, |(track, _)| track.timescale).max(1));
    let (maxrate, bufsize) = (u128::from(rung.maxrate), u64::from(rung.bufsize));
    let burst = u128::from(bufsize * BUFFER_TENTHS / 10 + bufsize / MISSED_PARTS);
    let mut peak = 0;
    let (mut heads, mut ticks_all) = (0, 0);
    for segment in &index.plan.encoded_video {
        let ticks = u128::from(segment.duration().max(1));
        let head = head_bits(segment);
        // Bits in a second: those that flow, and once in the segment those that were there.
        peak = peak.max(maxrate + ((burst + head) * timescale).div_ceil(ticks));
        heads += head;
        ticks_all += ticks;
    }
    let average = maxrate + (heads * timescale).div_ceil(ticks_all.max(1));
    let narrow = |bits: u128| u64::try_from(bits).unwrap_or(u64::MAX);
    Rate { peak: narrow(peak), average: narrow(average) }
}

/// Bits of the head of a segment, at most: no more pictures come out than go in.
fn head_bits(segment: &Segment) -> u128 {
    8 * u128::from(HEAD_FIXED_MAX + HEAD_SAMPLE_MAX * segment.samples.len() as u64)
}
