//! Files of chunks that begin with their length: checks whether the last one is complete.

use kinora_index::checkpoint::byte_string;
use serde::{Deserialize, Serialize};

/// Maximum length of a header: an Ogg page with all its lacing values. RFC 3533, 6.
const HEADER_LEN_MAX: usize = 27 + 255;

/// The chunk headers of a kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Framing {
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
    /// The first block of metadata; the frames after it have no length. RFC 9639, 8.
    Flac,
}

/// The result of parsing a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderLen {
    /// More bytes are needed: this many in all.
    Needs(usize),
    /// This many bytes follow before the next header.
    Payload(u64),
    /// The bytes are no header, or have no length.
    Unknown,
}

/// Parses a file chunk by chunk.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FramingParser {
    framing: Framing,
    /// No chunk has passed yet.
    is_first: bool,
    /// The bytes of a header so far.
    #[serde(with = "byte_string")]
    header: Vec<u8>,
    /// Remaining bytes before the next header.
    left: u64,
    /// The end of the file can no longer be checked.
    is_unverifiable: bool,
    duration_us: Option<u64>,
}

impl FramingParser {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            is_first: true,
            header: Vec::new(),
            left: 0,
            is_unverifiable: false,
            duration_us: None,
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_unverifiable {
            if 0 < self.left {
                let skipped_len =
                    usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= skipped_len as u64;
                bytes = &bytes[skipped_len..];
                continue;
            }
            match self.framing.read(&self.header, self.is_first) {
                HeaderLen::Needs(len) if len <= HEADER_LEN_MAX && self.header.len() < len => {
                    let missing = (len - self.header.len()).min(bytes.len());
                    self.header.extend_from_slice(&bytes[..missing]);
                    bytes = &bytes[missing..];
                    self.end_header();
                }
                _ => self.is_unverifiable = true,
            }
        }
    }

    /// Continues after the header, if it is complete.
    fn end_header(&mut self) {
        match self.framing.read(&self.header, self.is_first) {
            HeaderLen::Needs(_) => {}
            HeaderLen::Payload(left) => {
                if self.framing == Framing::Flac {
                    self.duration_us = flac_duration_us(&self.header);
                }
                self.left = left;
                self.header.clear();
                self.is_first = false;
            }
            HeaderLen::Unknown => self.is_unverifiable = true,
        }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        self.header.len() <= HEADER_LEN_MAX
    }

    /// Whether the file ended inside a chunk.
    pub(super) fn is_truncated(&self) -> bool {
        // Other data may follow the last RIFF.
        let has_partial_header = !self.header.is_empty() && (self.is_first || self.framing != Framing::Riff);
        !self.is_unverifiable && (has_partial_header || self.framing.padding_max() < self.left)
    }

    pub(super) fn duration_us(&self) -> Option<u64> {
        self.duration_us
    }
}

impl Framing {
    /// Bytes that writers may omit at the end of a file: a byte of padding, the length of the last tag.
    fn padding_max(self) -> u64 {
        match self {
            Self::Riff => 1,
            Self::Flv => 4,
            _ => 0,
        }
    }

    /// Parses the bytes of a header so far.
    fn read(self, header: &[u8], is_first: bool) -> HeaderLen {
        match self {
            Self::Riff => riff(header),
            Self::Flv if is_first => flv_head(header),
            Self::Flv => flv_tag(header),
            Self::Mxf => mxf(header),
            Self::Ogg => ogg(header),
            Self::Asf => asf(header),
            Self::Adts => adts(header),
            Self::Flac if is_first => flac(header),
            Self::Flac => HeaderLen::Unknown,
        }
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Writers that did not know the length leave 0 or all ones.
fn riff(header: &[u8]) -> HeaderLen {
    /// Kind, length and form.
    const LEN: usize = 12;
    /// The same, the header of the `ds64` chunk, and its first number.
    const WIDE_LEN: usize = LEN + 8 + 8;
    let Some((kind, rest)) = header.split_at_checked(4).filter(|_| LEN <= header.len()) else {
        return HeaderLen::Needs(LEN);
    };
    let len = match kind {
        b"RIFF" => little_endian(&rest[..4]),
        b"RF64" if header.len() < WIDE_LEN => return HeaderLen::Needs(WIDE_LEN),
        b"RF64" if &header[LEN..LEN + 4] == b"ds64" => little_endian(&header[LEN + 8..WIDE_LEN]),
        _ => return HeaderLen::Unknown,
    };
    if len == 0 || (kind == b"RIFF" && len == u64::from(u32::MAX)) {
        return HeaderLen::Unknown;
    }
    let padded_len = len.saturating_add(8).saturating_add(len & 1);
    padded_len.checked_sub(header.len() as u64).map_or(HeaderLen::Unknown, HeaderLen::Payload)
}

fn flv_head(header: &[u8]) -> HeaderLen {
    /// The header, and the length of the previous tag, which does not exist.
    const LEN: usize = 9 + 4;
    if header.len() < LEN {
        return HeaderLen::Needs(LEN);
    }
    big_endian(&header[5..9]).checked_sub(9).map_or(HeaderLen::Unknown, HeaderLen::Payload)
}

fn flv_tag(header: &[u8]) -> HeaderLen {
    const LEN: usize = 11;
    /// Audio, video, data.
    const KINDS: [u8; 3] = [8, 9, 18];
    match header.first() {
        Some(kind) if !KINDS.contains(&(kind & 0x1f)) => HeaderLen::Unknown,
        _ if header.len() < LEN => HeaderLen::Needs(LEN),
        _ => HeaderLen::Payload(big_endian(&header[1..4]) + 4),
    }
}

fn mxf(header: &[u8]) -> HeaderLen {
    const KEY_LEN: usize = 16;
    /// The prefix of all keys. SMPTE ST 298.
    const KEY_BEGIN: [u8; 4] = [0x06, 0x0e, 0x2b, 0x34];
    /// Maximum bytes of a length.
    const LENGTH_MAX: usize = 8;
    let Some(&first) = header.get(KEY_LEN) else { return HeaderLen::Needs(KEY_LEN + 1) };
    if !header.starts_with(&KEY_BEGIN) {
        return HeaderLen::Unknown;
    }
    let long = usize::from(first & 0x7f);
    match first {
        0..0x80 => HeaderLen::Payload(first.into()),
        _ if long == 0 || LENGTH_MAX < long => HeaderLen::Unknown,
        _ if header.len() <= KEY_LEN + long => HeaderLen::Needs(KEY_LEN + 1 + long),
        _ => HeaderLen::Payload(big_endian(&header[KEY_LEN + 1..])),
    }
}

fn ogg(header: &[u8]) -> HeaderLen {
    const LEN: usize = 27;
    let Some(&count) = header.get(LEN - 1) else { return HeaderLen::Needs(LEN) };
    if !header.starts_with(b"OggS") {
        return HeaderLen::Unknown;
    }
    let len = LEN + usize::from(count);
    match header.get(LEN..len) {
        Some(lacing) => HeaderLen::Payload(lacing.iter().map(|&part| u64::from(part)).sum()),
        None => HeaderLen::Needs(len),
    }
}

/// An unfinished recording has the length 0 for its data.
fn asf(header: &[u8]) -> HeaderLen {
    /// Name and length.
    const LEN: usize = 24;
    if header.len() < LEN {
        return HeaderLen::Needs(LEN);
    }
    little_endian(&header[16..LEN]).checked_sub(LEN as u64).map_or(HeaderLen::Unknown, HeaderLen::Payload)
}

fn adts(header: &[u8]) -> HeaderLen {
    const LEN: usize = 7;
    if header.len() < LEN {
        return HeaderLen::Needs(LEN);
    }
    if header[0] != 0xff || header[1] & 0xf6 != 0xf0 {
        return HeaderLen::Unknown;
    }
    let len = (u64::from(header[3] & 3) << 11) | (u64::from(header[4]) << 3) | u64::from(header[5] >> 5);
    len.checked_sub(LEN as u64).map_or(HeaderLen::Unknown, HeaderLen::Payload)
}

fn flac(header: &[u8]) -> HeaderLen {
    /// The magic, the header of a block, and `STREAMINFO`, which is the first block. RFC 9639, 8.2.
    const LEN: usize = 4 + 4 + 34;
    match header.len() {
        // A tag precedes it.
        4.. if !header.starts_with(b"fLaC") => HeaderLen::Unknown,
        LEN.. => HeaderLen::Payload(0),
        _ => HeaderLen::Needs(LEN),
    }
}

/// `None` if it is unknown.
fn flac_duration_us(header: &[u8]) -> Option<u64> {
    // 20 bits of rate, 8 other bits, 36 of length. RFC 9639, 8.2.
    let fields = header.get(8 + 10..8 + 18).filter(|_| header.starts_with(b"fLaC")).map(big_endian)?;
    let (rate, samples) = (fields >> 44, fields & 0xf_ffff_ffff);
    (samples * 1_000_000).checked_div(rate).filter(|duration| 0 < *duration)
}
