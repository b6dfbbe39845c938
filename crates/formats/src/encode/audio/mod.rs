//! Encoded sound: AAC-LC on one grid of frames, whatever the source has.
//!
//! Frame `n` of the grid decodes to the samples `n * 1024..(n + 1) * 1024` at 48 kHz on the common timeline.
//! A segment is a range of frames ([`encoded_audio`](kinora_index::SegmentPlan::encoded_audio)), and comes
//! out the same to the ear whether its track was encoded whole or the segment alone. M-39.
//!
//! [`AudioFeed`] makes the bytes an encoder reads, [`AudioCollector`] takes those it writes and makes
//! segments, [`encoded_audio_init`] their init segment.

use kinora_index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Index, Segment, plan::silent_stereo};
use kinora_isobmff::write::{Entry, FLAGS_SYNC, write_head};

mod collect;
mod feed;
mod init;

pub use collect::{AudioCollector, EncodedAudio};
pub use feed::AudioFeed;
pub use init::encoded_audio_init;
pub(crate) use init::sample_entry as encoded_sample_entry;

/// Where the common timeline begins in a feed, in samples at 48 kHz: what was fed before 0 must not fall
/// below 0.
pub(super) const LEAD_SAMPLES: u64 = 10 * ENCODED_AUDIO_RATE as u64;
/// Seconds of that.
pub(super) const LEAD_S: i64 = 10;

/// The cuts of an audio track, counted from 0 in the order of the source; `None` where it has no encoded
/// rendition.
fn cuts(index: &Index, audio: usize) -> Option<&[u64]> {
    index.plan.encoded_audio.get(audio).map(Vec::as_slice).filter(|cuts| 2 <= cuts.len())
}

/// How many segments the encoded rendition of an audio track has; 0 where it has none.
pub fn encoded_audio_segments(index: &Index, audio: usize) -> u32 {
    cuts(index, audio).map_or(0, |cuts| u32::try_from(cuts.len() - 1).unwrap_or(u32::MAX))
}

/// When the segments of the encoded rendition of an audio track begin and end, in ticks of
/// [`ENCODED_AUDIO_RATE`]; none where it has none.
///
/// They name no samples of the source.
pub fn encoded_audio_times(index: &Index, audio: usize) -> Vec<Segment> {
    let at = |frame: u64| i64::try_from(frame.saturating_mul(ENCODED_AUDIO_FRAME.into())).unwrap_or(i64::MAX);
    let times = |ends: &[u64]| Segment { samples: 0..0, start: at(ends[0]), end: at(ends[1]) };
    cuts(index, audio).unwrap_or_default().windows(2).map(times).collect()
}

/// How long one of them is, in samples; `None` where the plan lists none.
pub fn encoded_audio_len(index: &Index, audio: usize, number: usize) -> Option<u64> {
    let &[from, to] = cuts(index, audio)?.get(number..number + 2)? else { return None };
    Some((to - from).saturating_mul(ENCODED_AUDIO_FRAME.into()))
}

/// A segment of these packets, which begins with frame `first`: that before 0 is the priming of the encoder.
pub(crate) fn segment(number: u32, first: i64, packets: &[Vec<u8>]) -> Vec<u8> {
    let entries: Vec<_> = packets
        .iter()
        .map(|packet| Entry {
            duration: ENCODED_AUDIO_FRAME,
            size: u32::try_from(packet.len()).expect("the reader caps a fragment far below 4 GiB"),
            flags: FLAGS_SYNC,
            composition_offset: 0,
        })
        .collect();
    // The edit list takes the priming off again: it is one frame.
    let begun = u64::try_from(first + 1).unwrap_or(0) * u64::from(ENCODED_AUDIO_FRAME);
    let bytes = packets.concat();
    let mut segment = write_head(number, begun, &entries, bytes.len() as u64);
    segment.extend_from_slice(&bytes);
    segment
}

/// Segment `number` of an audio track that has no sound there. `None` where the plan lists none.
pub fn silent_segment(index: &Index, audio: usize, number: u32) -> Option<Vec<u8>> {
    let cuts = cuts(index, audio)?;
    let &[from, to] = cuts.get(number as usize..number as usize + 2)? else { return None };
    let priming = u64::from(number == 0);
    let count = usize::try_from((to - from) + priming).ok()?;
    let first = i64::try_from(from).ok()? - i64::from(number == 0);
    Some(segment(number, first, &vec![silent_stereo(); count]))
}
