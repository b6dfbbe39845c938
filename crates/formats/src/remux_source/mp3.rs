//! Reads the header before the audio of an MP3 file: its audible part, and the length of the file.
//!
//! Encoders begin with some silence and end with a whole frame. They write its length into a first frame
//! without audio: the Xing header, and that of LAME after it. It has no specification; this follows ffmpeg
//! and LAME.

use kinora_index::{Container, checkpoint::byte_string};
use serde::{Deserialize, Serialize};

use super::{AudibleRange, RemuxFacts};
use crate::sniff::{Family, sniff};

/// Maximum length of an ID3 tag that is skipped: covers and lyrics. A longer one is damage.
const ID3_LEN_MAX: u64 = 256 << 20;
/// Bytes of a frame up to the end of the needed fields: header, side information, Xing header with its
/// table, LAME's.
const FRAME_LEN: usize = 4 + 32 + 4 + 4 + 4 + 4 + 100 + 4 + 24;
/// A file may be shorter than declared by this many bytes: tags that were removed from its end.
const SLACK_BYTES: u64 = 64 << 10;
/// Delay of a decoder in samples, in addition to the encoder's declared delay.
const DECODER_DELAY: u32 = 528 + 1;

/// Formats of audio frames without a container: they still play after an ID3 tag. Other formats contain
/// offsets, which the tag makes wrong.
const TAGGED: [Container; 7] = [
    Container::Flac,
    Container::Adts,
    Container::Mp2,
    Container::Ac3,
    Container::Eac3,
    Container::Dts,
    Container::WavPack,
];

/// Reads the bytes of a file until the first frame is complete.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mp3 {
    at: u64,
    /// The header of a tag, or the first frame.
    #[serde(with = "byte_string")]
    head: Vec<u8>,
    /// Remaining bytes of a tag.
    tag_left: u64,
    is_done: bool,
    first_frame: Option<FirstFrame>,
    /// The format after a tag, if it is another one.
    after_id3: Option<Container>,
}

/// The fields of the first frame.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct FirstFrame {
    /// Position in the file.
    at: u64,
    /// The bytes of the file from this frame on.
    bytes: Option<u64>,
    audible: Option<AudibleRange>,
}

impl Mp3 {
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_done {
            let consumed = if 0 < self.tag_left {
                let skipped_len =
                    usize::try_from(self.tag_left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.tag_left -= skipped_len as u64;
                skipped_len
            } else {
                let missing = (self.needed_len() - self.head.len()).min(bytes.len());
                self.head.extend_from_slice(&bytes[..missing]);
                missing
            };
            self.at += consumed as u64;
            bytes = &bytes[consumed..];
            if self.head.len() == self.needed_len() {
                self.end_head();
            }
        }
    }

    /// Bytes needed for the next step.
    fn needed_len(&self) -> usize {
        if self.head.len() < 3 || self.head.starts_with(b"ID3") { ID3_HEADER_LEN } else { FRAME_LEN }
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub(super) fn is_valid(&self, len: u64) -> bool {
        self.head.len() <= self.needed_len() && self.head.len() as u64 <= self.at && self.at <= len
    }

    fn end_head(&mut self) {
        let head = std::mem::take(&mut self.head);
        match id3_len(&head) {
            Some(len) if len <= ID3_LEN_MAX => self.tag_left = len,
            Some(_) => self.is_done = true,
            None => {
                self.first_frame = FirstFrame::parse(self.at - head.len() as u64, &head);
                self.after_id3 = match sniff(&head).family() {
                    Family::Media(container) if TAGGED.contains(&container) => Some(container),
                    _ => None,
                };
                self.is_done = true;
            }
        }
    }

    /// The format of the file, if it is not MP3; available after the first frame.
    pub(super) fn container_after_id3(&self) -> Option<Container> {
        self.after_id3
    }

    pub(super) fn finish(self, len: u64) -> RemuxFacts {
        let Some(first) = self.first_frame else { return RemuxFacts::default() };
        let end = first.bytes.and_then(|bytes| first.at.checked_add(bytes));
        let is_truncated = end.is_some_and(|end| len.saturating_add(SLACK_BYTES) < end);
        RemuxFacts { is_truncated, duration_us: None, audible: first.audible }
    }
}

/// Bytes of the header of an ID3 tag. ID3v2.4, 3.1.
const ID3_HEADER_LEN: usize = 10;

/// The bytes of a tag after its header; `None` if this is no tag.
fn id3_len(head: &[u8]) -> Option<u64> {
    let head = head.strip_prefix(b"ID3")?;
    let &[_, _, flags, ref size @ ..] = head.first_chunk::<7>()?;
    // Four times 7 bits; a footer of the same length as the header if a flag is set.
    let len = size.iter().fold(0, |len, &byte| len << 7 | u64::from(byte & 0x7f));
    Some(if flags & 0x10 == 0 { len } else { len + ID3_HEADER_LEN as u64 })
}

impl FirstFrame {
    /// Parses a frame without audio. `None` for an ordinary one.
    fn parse(at: u64, frame: &[u8]) -> Option<Self> {
        let header = Mp3Header::parse(frame)?;
        let xing = frame.get(4 + header.side_len..)?;
        let rest = xing.strip_prefix(b"Xing").or_else(|| xing.strip_prefix(b"Info"))?;
        let mut fields = WordReader(rest);
        let flags = fields.word()?;
        let mut field = |bit: u32| if flags & bit == 0 { Some(None) } else { fields.word().map(Some) };
        let (frames, bytes) = (field(1)?, field(2)?);
        let after_toc = fields.0.get(if flags & 4 == 0 { 0 } else { 100 }..)?;
        let lame = after_toc.get(if flags & 8 == 0 { 0 } else { 4 }..)?;
        // Twelve bits each, after a name and eleven other fields. Programs without such fields leave zeroes.
        let &[high, both, low] = lame.get(21..24)?.first_chunk::<3>()?;
        let delay = u32::from(high) << 4 | u32::from(both) >> 4;
        let padding = u32::from(both & 0xf) << 8 | u32::from(low);
        let declared = frames.filter(|_| lame[0] != 0 && (0, 0) != (delay, padding));
        let audible = declared.and_then(|frames| {
            let len = u64::from(frames) * u64::from(header.samples);
            let len = len.checked_sub(u64::from(delay) + u64::from(padding)).filter(|len| 0 < *len)?;
            Some(AudibleRange { rate: header.rate, skipped: delay + DECODER_DELAY, len })
        });
        Some(Self { at, bytes: bytes.map(u64::from), audible })
    }
}

/// Consecutive words of 32 bits.
struct WordReader<'a>(&'a [u8]);

impl WordReader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }
}

/// The fields of a layer III frame header. ISO/IEC 11172-3, 2.4.1.3; ISO/IEC 13818-3, 2.4.2.3.
struct Mp3Header {
    /// Samples per second.
    rate: u32,
    /// Samples of a frame.
    samples: u32,
    /// Bytes between the header and the audio data.
    side_len: usize,
}

impl Mp3Header {
    fn parse(frame: &[u8]) -> Option<Self> {
        let &[first, second, third, fourth] = frame.first_chunk::<4>()?;
        if first != 0xff || second & 0xe6 != 0xe2 {
            return None;
        }
        // Version 2.5, 2 and 1 of MPEG audio; 1 is reserved.
        let version = second >> 3 & 3;
        let rates = [44_100, 48_000, 32_000];
        let rate = rates.get(usize::from(third >> 2 & 3))? >> [2, 0, 1, 0][usize::from(version)];
        let (is_first, is_mono) = (version == 3, fourth >> 6 == 3);
        let side_len = match (is_first, is_mono) {
            (true, false) => 32,
            (true, true) | (false, false) => 17,
            (false, true) => 9,
        };
        (version != 1).then_some(Self { rate, samples: if is_first { 1152 } else { 576 }, side_len })
    }
}
