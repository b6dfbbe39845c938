//! Encoded audio: AAC-LC on one grid of frames, for every source.
//!
//! Frame `n` of the grid decodes to the samples `n * 1024..(n + 1) * 1024` at 48 kHz on the common timeline.
//! A segment is a range of frames ([`encoded_audio`](kinora_index::SegmentPlan::encoded_audio)). It has no
//! audible difference whether its track was encoded whole or the segment alone. M-39.
//!
//! Each part of a presentation has a feed of its own. A segment next to a joint is encoded from the feeds of
//! several parts.
//!
//! [`AudioFeed`] builds the input of an encoder, [`AudioSegmenter`] builds segments from its output, and
//! [`encoded_audio_init`] builds their init segment.

use kinora_index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Index, Segment, plan::silent_stereo_aac_packet};
use kinora_isobmff::write::{FLAGS_SYNC, TrunEntry, write_head};

mod feed;
mod init;
mod segmenter;

pub use feed::AudioFeed;
pub use init::encoded_audio_init;
pub(crate) use init::sample_entry as encoded_sample_entry;
pub use segmenter::{AudioSegmenter, EncodedAudioSegment};

/// Start of the common timeline in a feed, in samples at 48 kHz: times before 0 must not become negative.
pub(super) const LEAD_SAMPLES: u64 = 10 * ENCODED_AUDIO_RATE as u64;
/// The same in seconds.
pub(super) const LEAD_S: i64 = 10;

/// An encoder of some segments reads this many samples at 48 kHz before and after them: two frames.
pub const MARGIN_SAMPLES: u64 = 2 * ENCODED_AUDIO_FRAME as u64;

/// The cuts of an audio track, counted from 0 in the order of the source; `None` if it has no encoded
/// rendition.
fn cuts(index: &Index, audio_number: usize) -> Option<&[u64]> {
    index.plan.encoded_audio.get(audio_number).map(Vec::as_slice).filter(|cuts| 2 <= cuts.len())
}

/// The number of segments of the encoded rendition of an audio track; 0 if it has none.
pub fn encoded_audio_segment_count(index: &Index, audio_number: usize) -> u32 {
    cuts(index, audio_number).map_or(0, |cuts| u32::try_from(cuts.len() - 1).unwrap_or(u32::MAX))
}

/// Start and end of the segments of the encoded rendition of an audio track, in ticks of
/// [`ENCODED_AUDIO_RATE`]; none if it has none.
///
/// They list no samples of the source.
pub fn encoded_audio_times(index: &Index, audio_number: usize) -> Vec<Segment> {
    let at = |frame: u64| i64::try_from(frame.saturating_mul(ENCODED_AUDIO_FRAME.into())).unwrap_or(i64::MAX);
    let times = |ends: &[u64]| Segment { samples: 0..0, start: at(ends[0]), end: at(ends[1]) };
    cuts(index, audio_number).unwrap_or_default().windows(2).map(times).collect()
}

/// The length of one segment, in samples; `None` if the plan does not list it.
pub fn encoded_audio_segment_samples(index: &Index, audio_number: usize, number: usize) -> Option<u64> {
    let &[from, to] = cuts(index, audio_number)?.get(number..number + 2)? else { return None };
    Some((to - from).saturating_mul(ENCODED_AUDIO_FRAME.into()))
}

/// A segment of these packets, which begins with frame `first`: the frame before 0 is the priming of the
/// encoder.
pub(crate) fn segment(number: u32, first: i64, packets: &[Vec<u8>]) -> Vec<u8> {
    let entries: Vec<_> = packets
        .iter()
        .map(|packet| TrunEntry {
            duration: ENCODED_AUDIO_FRAME,
            size: u32::try_from(packet.len()).expect("the reader caps a fragment far below 4 GiB"),
            flags: FLAGS_SYNC,
            composition_offset: 0,
        })
        .collect();
    // The edit list removes the priming again: it is one frame.
    let decode_time = u64::try_from(first + 1).unwrap_or(0) * u64::from(ENCODED_AUDIO_FRAME);
    let bytes = packets.concat();
    let mut segment = write_head(number, decode_time, &entries, bytes.len() as u64);
    segment.extend_from_slice(&bytes);
    segment
}

/// Segment `number` of an audio track without audio at that time. `None` if the plan does not list it.
pub fn silent_segment(index: &Index, audio_number: usize, number: u32) -> Option<Vec<u8>> {
    let cuts = cuts(index, audio_number)?;
    let &[from, to] = cuts.get(number as usize..number as usize + 2)? else { return None };
    let priming = u64::from(number == 0);
    let count = usize::try_from((to - from) + priming).ok()?;
    let first = i64::try_from(from).ok()? - i64::from(number == 0);
    Some(segment(number, first, &vec![silent_stereo_aac_packet(); count]))
}
