//! Video that changes its frame size: parameter sets between the samples differ from the sample entry.
//!
//! A transport stream joined from two repeats its parameter sets at each keyframe. A copy has them in the
//! samples, under one sample entry, which players apply. So this module parses the first bytes of the
//! keyframes as they pass.

use std::{collections::VecDeque, ops::Range};

use kinora_index::{
    NotCopied, NotCopiedReason, SampleEntry, VideoTrack,
    checkpoint::byte_string,
    codec::{
        h264::{self, AvcConfig},
        hevc::{self, HevcConfig},
    },
};
use serde::{Deserialize, Serialize};

use super::super::boxes::children;

/// Bytes of a keyframe that are parsed: parameter sets take a few hundred, and come first.
const PROBE_LEN: u64 = 1024;
/// Maximum number of pending keyframes. Further keyframes of a fragment are not parsed.
const PENDING_MAX: usize = 1 << 16;
/// Bytes of a sample entry before its child boxes: size, kind, and the fields of a visual one. ISO/IEC
/// 14496-12, 12.1.3.
const ENTRY_HEAD_LEN: usize = 8 + 78;

/// Maximum bytes of the length before each NAL unit. ISO/IEC 14496-15, 5.3.3.1.
const LENGTH_SIZE_MAX: usize = 4;

/// Checks the keyframes of one track.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SizeChanges {
    codec: Codec,
    length_size: usize,
    /// The frame size of the sample entry.
    size: (u32, u32),
    /// Start ranges of the keyframes that have not passed yet, rising.
    pending: VecDeque<Range<u64>>,
    /// The bytes of the first of them so far.
    #[serde(with = "byte_string")]
    partial: Vec<u8>,
    has_changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Codec {
    Avc,
    Hevc,
}

impl SizeChanges {
    /// For a track that may be copied, of a codec that allows parameter sets between samples.
    pub(super) fn of(video: &VideoTrack) -> Option<Self> {
        let SampleEntry::Iso(entry) = &video.sample_entry else { return None };
        if video.not_copied.is_some() {
            return None;
        }
        let config = |kind: &[u8; 4]| {
            children(entry.get(ENTRY_HEAD_LEN..)?).find(|child| &child.kind.0 == kind).map(|child| child.body)
        };
        let (codec, length_size, size) = match entry.get(4..8)? {
            b"avc1" => {
                let config = AvcConfig::parse(config(b"avcC")?)?;
                let sps = config.parameter_sets.first()?;
                (Codec::Avc, config.length_size, (sps.width, sps.height))
            }
            b"hvc1" => {
                let config = HevcConfig::parse(config(b"hvcC")?)?;
                let sps = config.parameter_sets.first()?;
                (Codec::Hevc, config.length_size, (sps.width, sps.height))
            }
            _ => return None,
        };
        let (pending, partial) = (VecDeque::new(), Vec::new());
        Some(Self { codec, length_size: length_size.into(), size, pending, partial, has_changed: false })
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.pending.capacity() * size_of::<Range<u64>>()
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        let is_probe = |range: &Range<u64>| range.start <= range.end && range.end - range.start <= PROBE_LEN;
        let first_len = self.pending.front().map_or(0, |first| first.end.saturating_sub(first.start));
        (1..=LENGTH_SIZE_MAX).contains(&self.length_size)
            && self.pending.len() <= PENDING_MAX
            && self.pending.iter().all(is_probe)
            && self.partial.len() as u64 <= first_len
    }

    /// Registers a keyframe. Keyframes before the last registered one are not parsed.
    pub(super) fn add_keyframe(&mut self, offset: u64, size: u32) {
        let is_later = self.pending.back().is_none_or(|last| last.end <= offset);
        if !self.has_changed && is_later && self.pending.len() < PENDING_MAX {
            self.pending.push_back(offset..offset.saturating_add(PROBE_LEN.min(size.into())));
        }
    }

    /// Searches bytes of the file for the registered keyframes; the first byte is at `at`.
    pub(super) fn push(&mut self, at: u64, bytes: &[u8]) {
        let end = at.saturating_add(bytes.len() as u64);
        while let Some(next) = self.pending.front().filter(|next| next.start < end) {
            let from = next.start + self.partial.len() as u64;
            let until = next.end.min(end);
            // Bytes that passed before the keyframe was registered do not come again.
            let piece = from.checked_sub(at).and_then(|from| bytes.get(from as usize..(until - at) as usize));
            let Some(piece) = piece else {
                self.pop_first();
                continue;
            };
            self.partial.extend_from_slice(piece);
            if until < next.end {
                return;
            }
            let sample = self.pop_first();
            if self.has_other_size(&sample) {
                self.has_changed = true;
                self.pending.clear();
            }
        }
    }

    fn pop_first(&mut self) -> Vec<u8> {
        self.pending.pop_front();
        std::mem::take(&mut self.partial)
    }

    /// Why the track is not copied, according to the bytes so far.
    pub(super) fn not_copied(&self) -> Option<NotCopied> {
        self.has_changed
            .then(|| NotCopied::new(NotCopiedReason::FormatChanges, "the video changes its frame size"))
    }

    /// Whether a parameter set before the coded frame has another size. Invalid ones are ignored.
    fn has_other_size(&self, mut sample: &[u8]) -> bool {
        while let Some((len, rest)) = sample.split_at_checked(self.length_size) {
            let len = len.iter().fold(0usize, |len, &byte| len << 8 | usize::from(byte));
            let Some((nal, after)) = rest.split_at_checked(len) else { return false };
            sample = after;
            let size = match self.codec {
                Codec::Avc => h264::Sps::parse(nal).map(|sps| (sps.width, sps.height)),
                Codec::Hevc => hevc::Sps::parse(nal).map(|sps| (sps.width, sps.height)),
            };
            if size.is_some_and(|size| size != self.size) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> SizeChanges {
        SizeChanges {
            codec: Codec::Avc,
            length_size: 4,
            size: (640, 360),
            pending: VecDeque::new(),
            partial: Vec::new(),
            has_changed: false,
        }
    }

    /// A parameter set of Baseline for frames of this many macroblocks, without cropping.
    fn parameter_set(width_mbs: u32, height_mbs: u32) -> Vec<u8> {
        let mut bits = String::from("0100001011000000000111101"); // profile 66, level 30, set 0
        let mut ue = |number: u32| {
            let number = number + 1;
            let len = number.ilog2() as usize;
            bits += &format!("{}{number:b}", "0".repeat(len));
        };
        [0, 2, 1].into_iter().for_each(&mut ue); // frame numbers, picture order counts, references
        bits.push('0');
        let mut ue = |number: u32| {
            let number = number + 1;
            let len = number.ilog2() as usize;
            bits += &format!("{}{number:b}", "0".repeat(len));
        };
        [width_mbs - 1, height_mbs - 1].into_iter().for_each(&mut ue);
        bits += "11001"; // frames only, direct inference, no cropping, no usability, end
        bits += &"0".repeat((8 - bits.len() % 8) % 8);
        let bytes =
            bits.as_bytes().chunks(8).map(|byte| byte.iter().fold(0u8, |byte, bit| byte << 1 | (bit - b'0')));
        [0x67].into_iter().chain(bytes).collect()
    }

    fn nal(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32).to_be_bytes()[..], body].concat()
    }

    /// A file of 100 bytes and two keyframes, the second of this size, pushed in pieces of `step`.
    fn changes(second: &[u8], step: usize) -> Option<NotCopied> {
        let delimiter = nal(&[0x09, 0xf0]);
        let slice = nal(&[0x65; 3000]);
        let first = [delimiter.clone(), slice.clone()].concat();
        let second = [&delimiter[..], second, &slice].concat();
        let file = [&[0xff; 100][..], &first, &second].concat();
        let mut sizes = sizes();
        sizes.add_keyframe(100, first.len() as u32);
        sizes.add_keyframe(100 + first.len() as u64, second.len() as u32);
        for (n, piece) in file.chunks(step).enumerate() {
            sizes.push((n * step) as u64, piece);
        }
        sizes.not_copied()
    }

    #[test]
    fn size_change_is_found_across_chunks() {
        let other = h264::Sps::parse(&parameter_set(20, 12)).unwrap();
        assert_eq!((other.width, other.height), (320, 192));
        let why = NotCopied::new(NotCopiedReason::FormatChanges, "the video changes its frame size");
        for step in [1, 7, 64, 1000, 100_000] {
            assert_eq!(changes(&nal(&parameter_set(20, 12)), step), Some(why.clone()), "{step}");
            assert_eq!(changes(&nal(&[0x68, 1, 2, 3]), step), None, "{step}");
            assert_eq!(changes(&[0, 0, 0xff, 0xff, 0x67, 0x42], step), None, "damage, {step}");
        }
    }

    #[test]
    fn repeated_sps_is_no_size_change() {
        let mut sizes = sizes();
        sizes.size = (320, 192);
        let sample = nal(&parameter_set(20, 12));
        sizes.add_keyframe(0, sample.len() as u32);
        sizes.push(0, &sample);
        assert_eq!(sizes.not_copied(), None);
    }

    #[test]
    fn keyframes_already_read_are_ignored() {
        let mut sizes = sizes();
        let sample = nal(&parameter_set(20, 12));
        sizes.add_keyframe(10, sample.len() as u32);
        sizes.add_keyframe(200, sample.len() as u32);
        sizes.push(100, &[0; 100]);
        assert_eq!((sizes.not_copied(), sizes.pending.len()), (None, 1));
        sizes.push(200, &sample);
        assert!(sizes.not_copied().is_some());
    }
}
