//! Files that are made of pieces, each with its length in front: whether the last one is whole.

use kinora_index::checkpoint::byte_string;
use serde::{Deserialize, Serialize};

/// Longest header that is kept: an Ogg page with all its lacing values. RFC 3533, 6.
const HEADER_LEN_MAX: usize = 27 + 255;

/// How the pieces of a kind of file begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Steps {
    /// RIFF and RF64: AVI, WAVE. EBU Tech 3306.
    Riff,
    /// Tags of Flash video. Adobe Flash Video File Format 10.1, annex E.
    Flv,
    /// Key, length, value. SMPTE ST 336.
    Mxf,
    /// Pages. RFC 3533.
    Ogg,
    /// Objects at top level. Advanced Systems Format 1.20.03, 2.2.
    Asf,
    /// Frames. ISO/IEC 13818-7, 6.2.
    Adts,
    /// The first block of metadata; the frames behind have no length. RFC 9639, 8.
    Flac,
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// More of it is needed: so many bytes in all.
    Needs(usize),
    /// So many bytes follow it before the next header.
    Follow(u64),
    /// It is none, or says nothing of its length.
    Unknown,
}

/// A walk from piece to piece.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Lengths {
    steps: Steps,
    /// Nothing has been passed yet.
    is_first: bool,
    /// What has come of a header.
    #[serde(with = "byte_string")]
    header: Vec<u8>,
    /// Bytes to come before the next header.
    left: u64,
    /// Nothing more can be told.
    is_lost: bool,
    duration_us: Option<u64>,
}

impl Lengths {
    pub(super) fn new(steps: Steps) -> Self {
        Self { steps, is_first: true, header: Vec::new(), left: 0, is_lost: false, duration_us: None }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_lost {
            if 0 < self.left {
                let passed = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            match self.steps.read(&self.header, self.is_first) {
                Step::Needs(len) if len <= HEADER_LEN_MAX && self.header.len() < len => {
                    let missing = (len - self.header.len()).min(bytes.len());
                    self.header.extend_from_slice(&bytes[..missing]);
                    bytes = &bytes[missing..];
                    self.end_header();
                }
                _ => self.is_lost = true,
            }
        }
    }

    /// Goes on behind the header, if it is whole.
    fn end_header(&mut self) {
        match self.steps.read(&self.header, self.is_first) {
            Step::Needs(_) => {}
            Step::Follow(left) => {
                if self.steps == Steps::Flac {
                    self.duration_us = flac_duration_us(&self.header);
                }
                self.left = left;
                self.header.clear();
                self.is_first = false;
            }
            Step::Unknown => self.is_lost = true,
        }
    }

    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        self.header.len() <= HEADER_LEN_MAX
    }

    /// Whether the file ended inside a piece.
    pub(super) fn is_cut_off(&self) -> bool {
        // Behind the last RIFF may lie anything.
        let begins = !self.header.is_empty() && (self.is_first || self.steps != Steps::Riff);
        !self.is_lost && (begins || self.steps.may_lack() < self.left)
    }

    pub(super) fn duration_us(&self) -> Option<u64> {
        self.duration_us
    }
}

impl Steps {
    /// Bytes that writers leave out at the end of a file: a byte of padding, the length of the last tag.
    fn may_lack(self) -> u64 {
        match self {
            Self::Riff => 1,
            Self::Flv => 4,
            _ => 0,
        }
    }

    /// What the bytes of a header say, as far as they have come.
    fn read(self, header: &[u8], is_first: bool) -> Step {
        match self {
            Self::Riff => riff(header),
            Self::Flv if is_first => flv_head(header),
            Self::Flv => flv_tag(header),
            Self::Mxf => mxf(header),
            Self::Ogg => ogg(header),
            Self::Asf => asf(header),
            Self::Adts => adts(header),
            Self::Flac if is_first => flac(header),
            Self::Flac => Step::Unknown,
        }
    }
}

fn big(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Writers that did not know it leave 0 or all ones for a length.
fn riff(header: &[u8]) -> Step {
    /// Kind, length and form.
    const LEN: usize = 12;
    /// The same, the header of the `ds64` chunk, and the first number in it.
    const WIDE_LEN: usize = LEN + 8 + 8;
    let Some((kind, rest)) = header.split_at_checked(4).filter(|_| LEN <= header.len()) else {
        return Step::Needs(LEN);
    };
    let len = match kind {
        b"RIFF" => little(&rest[..4]),
        b"RF64" if header.len() < WIDE_LEN => return Step::Needs(WIDE_LEN),
        b"RF64" if &header[LEN..LEN + 4] == b"ds64" => little(&header[LEN + 8..WIDE_LEN]),
        _ => return Step::Unknown,
    };
    if len == 0 || (kind == b"RIFF" && len == u64::from(u32::MAX)) {
        return Step::Unknown;
    }
    let whole = len.saturating_add(8).saturating_add(len & 1);
    whole.checked_sub(header.len() as u64).map_or(Step::Unknown, Step::Follow)
}

fn flv_head(header: &[u8]) -> Step {
    /// The header, and the length of no tag.
    const LEN: usize = 9 + 4;
    if header.len() < LEN {
        return Step::Needs(LEN);
    }
    big(&header[5..9]).checked_sub(9).map_or(Step::Unknown, Step::Follow)
}

fn flv_tag(header: &[u8]) -> Step {
    const LEN: usize = 11;
    /// Sound, pictures, data.
    const KINDS: [u8; 3] = [8, 9, 18];
    match header.first() {
        Some(kind) if !KINDS.contains(&(kind & 0x1f)) => Step::Unknown,
        _ if header.len() < LEN => Step::Needs(LEN),
        _ => Step::Follow(big(&header[1..4]) + 4),
    }
}

fn mxf(header: &[u8]) -> Step {
    const KEY_LEN: usize = 16;
    /// What all keys begin with. SMPTE ST 298.
    const KEY_BEGIN: [u8; 4] = [0x06, 0x0e, 0x2b, 0x34];
    /// Bytes of the longest length.
    const LENGTH_MAX: usize = 8;
    let Some(&first) = header.get(KEY_LEN) else { return Step::Needs(KEY_LEN + 1) };
    if !header.starts_with(&KEY_BEGIN) {
        return Step::Unknown;
    }
    let long = usize::from(first & 0x7f);
    match first {
        0..0x80 => Step::Follow(first.into()),
        _ if long == 0 || LENGTH_MAX < long => Step::Unknown,
        _ if header.len() <= KEY_LEN + long => Step::Needs(KEY_LEN + 1 + long),
        _ => Step::Follow(big(&header[KEY_LEN + 1..])),
    }
}

fn ogg(header: &[u8]) -> Step {
    const LEN: usize = 27;
    let Some(&count) = header.get(LEN - 1) else { return Step::Needs(LEN) };
    if !header.starts_with(b"OggS") {
        return Step::Unknown;
    }
    let len = LEN + usize::from(count);
    match header.get(LEN..len) {
        Some(lacing) => Step::Follow(lacing.iter().map(|&part| u64::from(part)).sum()),
        None => Step::Needs(len),
    }
}

/// A recording under way says 0 for its data.
fn asf(header: &[u8]) -> Step {
    /// Name and length.
    const LEN: usize = 24;
    if header.len() < LEN {
        return Step::Needs(LEN);
    }
    little(&header[16..LEN]).checked_sub(LEN as u64).map_or(Step::Unknown, Step::Follow)
}

fn adts(header: &[u8]) -> Step {
    const LEN: usize = 7;
    if header.len() < LEN {
        return Step::Needs(LEN);
    }
    if header[0] != 0xff || header[1] & 0xf6 != 0xf0 {
        return Step::Unknown;
    }
    let len = (u64::from(header[3] & 3) << 11) | (u64::from(header[4]) << 3) | u64::from(header[5] >> 5);
    len.checked_sub(LEN as u64).map_or(Step::Unknown, Step::Follow)
}

fn flac(header: &[u8]) -> Step {
    /// The magic, the header of a block, and `STREAMINFO`, which is the first. RFC 9639, 8.2.
    const LEN: usize = 4 + 4 + 34;
    match header.len() {
        // A tag in front of it.
        4.. if !header.starts_with(b"fLaC") => Step::Unknown,
        LEN.. => Step::Follow(0),
        _ => Step::Needs(LEN),
    }
}

/// `None` where it is not known.
fn flac_duration_us(header: &[u8]) -> Option<u64> {
    // 20 bits of rate, 8 of other things, 36 of length. RFC 9639, 8.2.
    let fields = header.get(8 + 10..8 + 18).filter(|_| header.starts_with(b"fLaC")).map(big)?;
    let (rate, samples) = (fields >> 44, fields & 0xf_ffff_ffff);
    (samples * 1_000_000).checked_div(rate).filter(|duration| 0 < *duration)
}
