//! Silent packets for the time before a late audio track begins.
//!
//! A player waits for audio before it shows video, or skips ahead to the first audio. So a track that begins
//! late must still begin at 0.

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
    Lfe = 3,
}

/// Closes a raw data block. ISO/IEC 14496-3, table 4.85.
const ID_END: u32 = 7;

/// The elements of the usual layout for this number of channels. ISO/IEC 14496-3, table 1.19.
fn elements(channels: u32) -> Option<&'static [Element]> {
    use Element::{Lfe, Pair, Single};
    Some(match channels {
        1 => &[Single],
        2 => &[Pair],
        3 => &[Single, Pair],
        4 => &[Single, Pair, Single],
        5 => &[Single, Pair, Pair],
        6 => &[Single, Pair, Pair, Lfe],
        8 => &[Single, Pair, Pair, Pair, Lfe],
        _ => return None,
    })
}

/// A silent packet of the codec and layout of a track, and its number of samples; `None` for an unknown
/// layout.
pub fn silent_packet(audio: &AudioTrack) -> Option<(Vec<u8>, u32)> {
    if audio.codec == opus::CODEC {
        opus::silent_packet(audio.channels, audio.packet_samples)
    } else {
        silent_aac_packet(audio.channels).map(|packet| (packet, audio.packet_samples))
    }
}

/// A silent packet of AAC-LC in stereo.
pub fn silent_stereo_aac_packet() -> Vec<u8> {
    silent_aac_packet(2).expect("stereo is a layout we know")
}

/// A silent packet of AAC-LC for any sample rate.
///
/// No band is coded (`max_sfb` 0), so there is nothing to scale and no spectrum. ISO/IEC 14496-3, 4.4.2.
fn silent_aac_packet(channels: u32) -> Option<Vec<u8>> {
    const GLOBAL_GAIN: u32 = 8;
    const LONG_WINDOW_INFO: u32 = 1 + 2 + 1 + 6 + 1; // reserved, sequence, shape, max_sfb, predictor
    const TOOLS: u32 = 3; // no pulses, no noise shaping, no gain control

    let mut bits = BitWriter::default();
    let mut tags = [0; 4];
    for element in elements(channels)? {
        bits.write(*element as u32, 3);
        bits.write(tags[*element as usize], 4);
        tags[*element as usize] += 1;
        match element {
            Element::Single | Element::Lfe => bits.write(0, GLOBAL_GAIN + LONG_WINDOW_INFO + TOOLS),
            Element::Pair => {
                bits.write(1, 1); // one window for both
                bits.write(0, LONG_WINDOW_INFO + 2); // and no middle and side
                bits.write(0, GLOBAL_GAIN + TOOLS);
                bits.write(0, GLOBAL_GAIN + TOOLS);
            }
        }
    }
    bits.write(ID_END, 3);
    Some(bits.bytes)
}

/// Number of silent packets before the packets of a segment, and the ticks of one.
///
/// Zero where the segment begins with a packet, and where less than a packet is missing.
pub fn leading_silent_packets(track: &Track, audio: &AudioTrack, segment: &Segment) -> (u32, u32) {
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

/// Duration of one silent packet in the track's ticks; `None` if silence is not possible for the codec.
pub(super) fn silent_packet_ticks(track: &Track, audio: &AudioTrack) -> Option<u32> {
    silent_packet(audio).map(|(_, samples)| packet_ticks(track, audio, samples))
}

/// Duration of a packet with this number of samples in the track's ticks, rounded down, at least 1.
fn packet_ticks(track: &Track, audio: &AudioTrack, samples: u32) -> u32 {
    let ticks = u64::from(samples) * u64::from(track.timescale) / u64::from(audio.sample_rate.max(1));
    u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
}

/// Writes bits from the highest to the lowest; the unused bits of the last byte are 0.
#[derive(Debug, Default)]
struct BitWriter {
    bytes: Vec<u8>,
    len: u32,
}

impl BitWriter {
    fn write(&mut self, value: u32, count: u32) {
        for shift in (0..count).rev() {
            if self.len.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = u8::try_from(value >> shift & 1).expect("one bit");
            *self.bytes.last_mut().expect("pushed above") |= bit << (7 - self.len % 8);
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_packets_match_known_bytes() {
        // One channel: three bits SCE, four of tag, 22 zeros, END.
        assert_eq!(silent_aac_packet(1), Some(vec![0, 0, 0, 0b0000_0111]));
        // Two: CPE, tag, common window, 35 zeros, END.
        assert_eq!(silent_aac_packet(2), Some(vec![0b0010_0001, 0, 0, 0, 0, 0b0001_1100]));
        for (channels, len) in [(3, 10), (4, 13), (5, 15), (6, 19), (8, 24)] {
            assert_eq!(
                silent_aac_packet(channels).map(|packet| packet.len()),
                Some(len),
                "{channels} channels"
            );
        }
        for channels in [0, 7, 9, u32::MAX] {
            assert_eq!(silent_aac_packet(channels), None);
        }
    }
}
