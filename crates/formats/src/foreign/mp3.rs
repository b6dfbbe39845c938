//! What stands in front of the sound of an MP3 file: which part of it is meant to be heard, and how long the
//! file is.
//!
//! Encoders begin with some silence and end with a whole frame. They write how much of it there is into a
//! first frame without sound: the Xing header, and that of LAME behind it. It has no specification; this is
//! what ffmpeg and LAME write and read.

use kinora_index::{Container, checkpoint::byte_string};
use serde::{Deserialize, Serialize};

use super::{ForeignFacts, Heard};
use crate::sniff::{Family, sniff};

/// Bytes of an ID3 tag that are passed by, at most: covers and lyrics. A longer one is damage.
const ID3_LEN_MAX: u64 = 256 << 20;
/// Bytes of a frame up to the end of what is read: header, side information, Xing header with its table,
/// LAME's.
const FRAME_LEN: usize = 4 + 32 + 4 + 4 + 4 + 4 + 100 + 4 + 24;
/// By so many bytes a file may be shorter than it says: tags that were taken off its end.
const SLACK_BYTES: u64 = 64 << 10;
/// Samples by which a decoder is late, beside what the encoder says.
const DECODER_DELAY: u32 = 528 + 1;

/// Formats of audio frames without a container: with an ID3 tag in front they still play. Other formats
/// contain offsets, which the tag makes wrong.
const TAGGED: [Container; 7] = [
    Container::Flac,
    Container::Adts,
    Container::Mp2,
    Container::Ac3,
    Container::Eac3,
    Container::Dts,
    Container::WavPack,
];

/// Takes the bytes of a file until the first frame has come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Mp3 {
    at: u64,
    /// The header of a tag, or the first frame.
    #[serde(with = "byte_string")]
    head: Vec<u8>,
    /// Bytes of a tag that are to come.
    tag_left: u64,
    is_done: bool,
    found: Option<FirstFrame>,
    /// What lies behind a tag, if that is another kind of sound.
    behind: Option<Container>,
}

/// What the first frame says.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct FirstFrame {
    /// Where it begins in the file.
    at: u64,
    /// The bytes of the file from it on.
    bytes: Option<u64>,
    heard: Option<Heard>,
}

impl Mp3 {
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_done {
            let taken = if 0 < self.tag_left {
                let passed = usize::try_from(self.tag_left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.tag_left -= passed as u64;
                passed
            } else {
                let missing = (self.wanted() - self.head.len()).min(bytes.len());
                self.head.extend_from_slice(&bytes[..missing]);
                missing
            };
            self.at += taken as u64;
            bytes = &bytes[taken..];
            if self.head.len() == self.wanted() {
                self.end_head();
            }
        }
    }

    /// How much is needed of what comes next.
    fn wanted(&self) -> usize {
        if self.head.len() < 3 || self.head.starts_with(b"ID3") { ID3_HEADER_LEN } else { FRAME_LEN }
    }

    /// Whether what came back from a checkpoint behind `len` bytes can go on.
    pub(super) fn is_sound(&self, len: u64) -> bool {
        self.head.len() <= self.wanted() && self.head.len() as u64 <= self.at && self.at <= len
    }

    fn end_head(&mut self) {
        let head = std::mem::take(&mut self.head);
        match id3_len(&head) {
            Some(len) if len <= ID3_LEN_MAX => self.tag_left = len,
            Some(_) => self.is_done = true,
            None => {
                self.found = FirstFrame::parse(self.at - head.len() as u64, &head);
                self.behind = match sniff(&head).family() {
                    Family::Media(container) if TAGGED.contains(&container) => Some(container),
                    _ => None,
                };
                self.is_done = true;
            }
        }
    }

    /// What the file is, once its first frame has come, if that is not MP3.
    pub(super) fn behind(&self) -> Option<Container> {
        self.behind
    }

    pub(super) fn finish(self, len: u64) -> ForeignFacts {
        let Some(first) = self.found else { return ForeignFacts::default() };
        let end = first.bytes.and_then(|bytes| first.at.checked_add(bytes));
        let is_cut_off = end.is_some_and(|end| len.saturating_add(SLACK_BYTES) < end);
        ForeignFacts { is_cut_off, duration_us: None, heard: first.heard }
    }
}

/// Bytes of the header of an ID3 tag. ID3v2.4, 3.1.
const ID3_HEADER_LEN: usize = 10;

/// The bytes of a tag behind its header; `None` where this is none.
fn id3_len(head: &[u8]) -> Option<u64> {
    let head = head.strip_prefix(b"ID3")?;
    let &[_, _, flags, ref size @ ..] = head.first_chunk::<7>()?;
    // Four times 7 bits; a footer of the length of the header where a flag says so.
    let len = size.iter().fold(0, |len, &byte| len << 7 | u64::from(byte & 0x7f));
    Some(if flags & 0x10 == 0 { len } else { len + ID3_HEADER_LEN as u64 })
}

impl FirstFrame {
    /// Reads a frame without sound. `None` where this is an ordinary one.
    fn parse(at: u64, frame: &[u8]) -> Option<Self> {
        let header = Header::parse(frame)?;
        let xing = frame.get(4 + header.side_len..)?;
        let rest = xing.strip_prefix(b"Xing").or_else(|| xing.strip_prefix(b"Info"))?;
        let mut fields = Words(rest);
        let flags = fields.word()?;
        let mut field = |bit: u32| if flags & bit == 0 { Some(None) } else { fields.word().map(Some) };
        let (frames, bytes) = (field(1)?, field(2)?);
        let behind = fields.0.get(if flags & 4 == 0 { 0 } else { 100 }..)?;
        let lame = behind.get(if flags & 8 == 0 { 0 } else { 4 }..)?;
        // Twelve bits each, behind a name and eleven other fields. Programs without such fields leave zeroes.
        let &[high, both, low] = lame.get(21..24)?.first_chunk::<3>()?;
        let delay = u32::from(high) << 4 | u32::from(both) >> 4;
        let padding = u32::from(both & 0xf) << 8 | u32::from(low);
        let said = frames.filter(|_| lame[0] != 0 && (0, 0) != (delay, padding));
        let heard = said.and_then(|frames| {
            let len = u64::from(frames) * u64::from(header.samples);
            let len = len.checked_sub(u64::from(delay) + u64::from(padding)).filter(|len| 0 < *len)?;
            Some(Heard { rate: header.rate, skipped: delay + DECODER_DELAY, len })
        });
        Some(Self { at, bytes: bytes.map(u64::from), heard })
    }
}

/// Words of 32 bits, one behind the other.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*word))
    }
}

/// What the header of a frame of layer III says. ISO/IEC 11172-3, 2.4.1.3; ISO/IEC 13818-3, 2.4.2.3.
struct Header {
    /// Samples a second.
    rate: u32,
    /// Samples of a frame.
    samples: u32,
    /// Bytes between the header and the sound.
    side_len: usize,
}

impl Header {
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
