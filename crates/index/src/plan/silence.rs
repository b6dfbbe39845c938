//! Packets that decode to silence, for the time before a late track begins.
//!
//! A player waits for sound before it shows pictures, or skips ahead to where there is sound: a track that
//! begins late has to begin at 0 all the same.

use super::{packets, presented_at};
use crate::codec::opus;
use crate::index::{AudioTrack, Segment, Track};

/// Syntactic elements of a raw data block. ISO/IEC 14496-3, table 4.85.
#[derive(Debug, Clone, Copy)]
enum Element {
    /// One channel, `SCE`.
    Single = 0,
    /// Two channels, `CPE`.
    Pair = 1,
    /// The low frequencies, `LFE`.
    Low = 3,
}

/// Closes a raw data block. ISO/IEC 14496-3, table 4.85.
const END: u32 = 7;

/// The elements of the usual layout of so many channels. ISO/IEC 14496-3, table 1.19.
fn elements(channels: u32) -> Option<&'static [Element]> {
    use Element::{Low, Pair, Single};
    Some(match channels {
        1 => &[Single],
        2 => &[Pair],
        3 => &[Single, Pair],
        4 => &[Single, Pair, Single],
        5 => &[Single, Pair, Pair],
        6 => &[Single, Pair, Pair, Low],
        8 => &[Single, Pair, Pair, Pair, Low],
        _ => return None,
    })
}

/// A silent packet of the codec and layout of a track, and how many samples it has; `None` for a layout we do
/// not know.
pub fn silent_packet(audio: &AudioTrack) -> Option<(Vec<u8>, u32)> {
    if audio.codec == opus::CODEC {
        opus::silent_packet(audio.channels, audio.packet_samples)
    } else {
        silent_aac(audio.channels).map(|packet| (packet, audio.packet_samples))
    }
}

/// A packet of AAC-LC that is silent, in stereo.
pub fn silent_stereo() -> Vec<u8> {
    silent_aac(2).expect("stereo is a layout we know")
}

/// A packet of AAC-LC that is silent whatever its rate.
///
/// No band is coded (`max_sfb` 0), so there is nothing to scale and no spectrum. ISO/IEC 14496-3, 4.4.2.
fn silent_aac(channels: u32) -> Option<Vec<u8>> {
    const GLOBAL_GAIN: u32 = 8;
    const LONG_WINDOW_INFO: u32 = 1 + 2 + 1 + 6 + 1; // reserved, sequence, shape, max_sfb, predictor
    const TOOLS: u32 = 3; // no pulses, no noise shaping, no gain control

    let mut bits = Bits::default();
    let mut tags = [0; 4];
    for element in elements(channels)? {
        bits.put(*element as u32, 3);
        bits.put(tags[*element as usize], 4);
        tags[*element as usize] += 1;
        match element {
            Element::Single | Element::Low => bits.put(0, GLOBAL_GAIN + LONG_WINDOW_INFO + TOOLS),
            Element::Pair => {
                bits.put(1, 1); // one window for both
                bits.put(0, LONG_WINDOW_INFO + 2); // and no middle and side
                bits.put(0, GLOBAL_GAIN + TOOLS);
                bits.put(0, GLOBAL_GAIN + TOOLS);
            }
        }
    }
    bits.put(END, 3);
    Some(bits.bytes)
}

/// How many silent packets stand in front of a segment's own, and how many ticks one lasts.
///
/// None where the segment begins with a packet, and none where less than a packet is missing.
pub fn packets_before(track: &Track, audio: &AudioTrack, segment: &Segment) -> (u32, u32) {
    let Some((_, samples)) = silent_packet(audio) else { return (0, 1) };
    let ticks = packet_ticks(track, audio, samples);
    let first = packets(track, audio, segment.samples.clone()).next();
    let first = match first {
        Some((_, packet)) => presented_at(track, &packet),
        None if segment.samples.is_empty() => segment.end,
        None => return (0, ticks), // a damaged index: the packets are missing
    };
    let count = first.saturating_sub(segment.start).max(0) / i64::from(ticks);
    (u32::try_from(count).unwrap_or(u32::MAX), ticks)
}

/// How long one silent packet lasts in the track's ticks; `None` where we cannot make silence.
pub(super) fn silent_ticks(track: &Track, audio: &AudioTrack) -> Option<u32> {
    silent_packet(audio).map(|(_, samples)| packet_ticks(track, audio, samples))
}

/// How long a packet of so many samples lasts in the track's ticks, rounded down, at least 1.
fn packet_ticks(track: &Track, audio: &AudioTrack, samples: u32) -> u32 {
    let ticks = u64::from(samples) * u64::from(track.timescale) / u64::from(audio.sample_rate.max(1));
    u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
}

/// Bits from the highest to the lowest; what is left of the last byte is 0.
#[derive(Debug, Default)]
struct Bits {
    bytes: Vec<u8>,
    len: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for place in (0..count).rev() {
            if self.len.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::try_from(value >> place & 1).expect("one bit");
            *self.bytes.last_mut().expect("pushed above") |= bit << (7 - self.len % 8);
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_packets_are_these_bytes() {
        // One channel: three bits SCE, four of tag, 22 zeros, END.
        assert_eq!(silent_aac(1), Some(vec![0, 0, 0, 0b0000_0111]));
        // Two: CPE, tag, common window, 35 zeros, END.
        assert_eq!(silent_aac(2), Some(vec![0b0010_0001, 0, 0, 0, 0, 0b0001_1100]));
        for (channels, len) in [(3, 10), (4, 13), (5, 15), (6, 19), (8, 24)] {
            assert_eq!(silent_aac(channels).map(|packet| packet.len()), Some(len), "{channels} channels");
        }
        for channels in [0, 7, 9, u32::MAX] {
            assert_eq!(silent_aac(channels), None);
        }
    }
}
