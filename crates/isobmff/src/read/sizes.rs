//! Pictures that change their size: parameter sets between the samples that say another one than the sample
//! entry.
//!
//! A transport stream that was joined from two repeats its parameter sets at each keyframe. In a copy of it
//! they lie in the samples, below one sample entry, which players believe. So the first bytes of the
//! keyframes are looked at while they pass.

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

/// Bytes of a keyframe that are looked at: parameter sets take some hundred, and lie in front.
const LOOKED_AT: u64 = 1024;
/// Keyframes that are waited for. Beyond that many in one fragment they are not looked at.
const WAITING_MAX: usize = 1 << 16;
/// Bytes of a sample entry in front of its child boxes: size, kind, and the fields of a visual one. ISO/IEC
/// 14496-12, 12.1.3.
const ENTRY_HEAD_LEN: usize = 8 + 78;

/// Bytes of the length in front of each unit, at most. ISO/IEC 14496-15, 5.3.3.1.
const LENGTH_SIZE_MAX: usize = 4;

/// Looks at the keyframes of one track.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sizes {
    codec: Codec,
    length_size: usize,
    /// What the sample entry says.
    size: (u32, u32),
    /// Where the beginnings of keyframes lie that have not passed yet, rising.
    waiting: VecDeque<Range<u64>>,
    /// What has passed of the first of them.
    #[serde(with = "byte_string")]
    begun: Vec<u8>,
    has_changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Codec {
    Avc,
    Hevc,
}

impl Sizes {
    /// For a track that may be copied, of a codec whose parameter sets may lie between samples.
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
        let (waiting, begun) = (VecDeque::new(), Vec::new());
        Some(Self { codec, length_size: length_size.into(), size, waiting, begun, has_changed: false })
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.waiting.capacity() * size_of::<Range<u64>>()
    }

    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        let is_place = |place: &Range<u64>| place.start <= place.end && place.end - place.start <= LOOKED_AT;
        let begun = self.waiting.front().map_or(0, |first| first.end.saturating_sub(first.start));
        (1..=LENGTH_SIZE_MAX).contains(&self.length_size)
            && self.waiting.len() <= WAITING_MAX
            && self.waiting.iter().all(is_place)
            && self.begun.len() as u64 <= begun
    }

    /// A keyframe lies there. Those that lie in front of one that is waited for already are not looked at.
    pub(super) fn expect(&mut self, offset: u64, size: u32) {
        let is_behind = self.waiting.back().is_none_or(|last| last.end <= offset);
        if !self.has_changed && is_behind && self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(offset..offset.saturating_add(LOOKED_AT.min(size.into())));
        }
    }

    /// Bytes of the file pass, of which the first lies at `at`.
    pub(super) fn pass(&mut self, at: u64, bytes: &[u8]) {
        let end = at.saturating_add(bytes.len() as u64);
        while let Some(next) = self.waiting.front().filter(|next| next.start < end) {
            let from = next.start + self.begun.len() as u64;
            let until = next.end.min(end);
            // What has passed before it was known of comes no more.
            let piece = from.checked_sub(at).and_then(|from| bytes.get(from as usize..(until - at) as usize));
            let Some(piece) = piece else {
                self.take();
                continue;
            };
            self.begun.extend_from_slice(piece);
            if until < next.end {
                return;
            }
            let sample = self.take();
            if self.says_another(&sample) {
                self.has_changed = true;
                self.waiting.clear();
            }
        }
    }

    fn take(&mut self) -> Vec<u8> {
        self.waiting.pop_front();
        std::mem::take(&mut self.begun)
    }

    /// Why the track is not copied, by what has passed so far.
    pub(super) fn not_copied(&self) -> Option<NotCopied> {
        self.has_changed.then(|| NotCopied::new(NotCopiedReason::FormatChanges, "the picture changes size"))
    }

    /// Whether a parameter set in front of the picture says another size. What makes no sense says nothing.
    fn says_another(&self, mut sample: &[u8]) -> bool {
        while let Some((len, rest)) = sample.split_at_checked(self.length_size) {
            let len = len.iter().fold(0usize, |len, &byte| len << 8 | usize::from(byte));
            let Some((nal, behind)) = rest.split_at_checked(len) else { return false };
            sample = behind;
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

    fn sizes() -> Sizes {
        Sizes {
            codec: Codec::Avc,
            length_size: 4,
            size: (640, 360),
            waiting: VecDeque::new(),
            begun: Vec::new(),
            has_changed: false,
        }
    }

    /// A parameter set of Baseline for pictures of so many macroblocks, without cropping.
    fn parameter_set(width_mbs: u32, height_mbs: u32) -> Vec<u8> {
        let mut bits = String::from("0100001011000000000111101"); // profile 66, level 30, set 0
        let mut ue = |number: u32| {
            let number = number + 1;
            let len = number.ilog2() as usize;
            bits += &format!("{}{number:b}", "0".repeat(len));
        };
        [0, 2, 1].into_iter().for_each(&mut ue); // frame numbers, order of pictures, references
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
        sizes.expect(100, first.len() as u32);
        sizes.expect(100 + first.len() as u64, second.len() as u32);
        for (n, piece) in file.chunks(step).enumerate() {
            sizes.pass((n * step) as u64, piece);
        }
        sizes.not_copied()
    }

    #[test]
    fn another_size_in_a_keyframe_is_found_however_its_bytes_come() {
        let other = h264::Sps::parse(&parameter_set(20, 12)).unwrap();
        assert_eq!((other.width, other.height), (320, 192));
        let why = NotCopied::new(NotCopiedReason::FormatChanges, "the picture changes size");
        for step in [1, 7, 64, 1000, 100_000] {
            assert_eq!(changes(&nal(&parameter_set(20, 12)), step), Some(why.clone()), "{step}");
            assert_eq!(changes(&nal(&[0x68, 1, 2, 3]), step), None, "{step}");
            assert_eq!(changes(&[0, 0, 0xff, 0xff, 0x67, 0x42], step), None, "damage, {step}");
        }
    }

    #[test]
    fn the_same_size_again_is_no_change() {
        let mut sizes = sizes();
        sizes.size = (320, 192);
        let sample = nal(&parameter_set(20, 12));
        sizes.expect(0, sample.len() as u32);
        sizes.pass(0, &sample);
        assert_eq!(sizes.not_copied(), None);
    }

    #[test]
    fn what_has_passed_already_is_not_waited_for() {
        let mut sizes = sizes();
        let sample = nal(&parameter_set(20, 12));
        sizes.expect(10, sample.len() as u32);
        sizes.expect(200, sample.len() as u32);
        sizes.pass(100, &[0; 100]);
        assert_eq!((sizes.not_copied(), sizes.waiting.len()), (None, 1));
        sizes.pass(200, &sample);
        assert!(sizes.not_copied().is_some());
    }
}
