//! Bit rate of an encoded rendition, computed before anything is encoded.

use kinora_index::{Index, Rung, Segment};
use kinora_isobmff::write::{HEAD_FIXED_MAX, HEAD_SAMPLE_MAX};

use crate::rate::Bandwidth;

/// Fill level of the decoder's buffer at the start of an encode, in tenths: that of x264.
const BUFFER_FILL_TENTHS: u64 = 9;
/// Divisor of the buffer for the error of the encoder, which corrects itself one frame late.
const OVERSHOOT_DIVISOR: u64 = 10;

/// A rung with its rate. The rate reads every segment once: store the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RungBandwidth {
    /// The settings of the encode.
    pub rung: Rung,
    /// As [`bandwidth_of_rung`].
    pub rate: Bandwidth,
}

impl RungBandwidth {
    /// A rung of `index` with its rate.
    pub fn new(index: &Index, rung: Rung) -> Self {
        Self { rate: bandwidth_of_rung(index, &rung), rung }
    }
}

/// Bits a second of a rung, container included: no segment exceeds the peak. The average is that of busy
/// content.
///
/// Computed: each segment is encoded on its own, so it may empty a full buffer once. M-28.
pub fn bandwidth_of_rung(index: &Index, rung: &Rung) -> Bandwidth {
    let timescale = u128::from(index.video().map_or(1, |(track, _)| track.timescale).max(1));
    let (maxrate, bufsize) = (u128::from(rung.maxrate), u64::from(rung.bufsize));
    let burst = u128::from(bufsize * BUFFER_FILL_TENTHS / 10 + bufsize / OVERSHOOT_DIVISOR);
    let mut peak = 0;
    let (mut head_bits_sum, mut ticks_all) = (0, 0);
    for segment in &index.plan.encoded_video {
        let ticks = u128::from(segment.duration().max(1));
        let head = head_bits(segment);
        // Bits in a second: those of the rate, and once in the segment those of the buffer.
        peak = peak.max(maxrate + ((burst + head) * timescale).div_ceil(ticks));
        head_bits_sum += head;
        ticks_all += ticks;
    }
    let average = maxrate + (head_bits_sum * timescale).div_ceil(ticks_all.max(1));
    let narrow = |bits: u128| u64::try_from(bits).unwrap_or(u64::MAX);
    Bandwidth { peak: narrow(peak), average: narrow(average) }
}

/// Largest number of bits of the head of a segment: no more frames come out than go in.
fn head_bits(segment: &Segment) -> u128 {
    8 * u128::from(HEAD_FIXED_MAX + HEAD_SAMPLE_MAX * segment.samples.len() as u64)
}
