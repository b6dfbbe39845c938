//! Walks the elements: buffers and parses some of them, skips the others, and checks the end of the file.
//!
//! Indexes are not trusted: neither `SeekHead` nor `Cues` is read. Masters of unknown size, as in live
//! recordings, end at an element that they cannot contain. RFC 9559, 5.1; RFC 8794, 6.2.

use kinora_index::checkpoint::byte_string;
use kinora_isobmff::ReadError;
use serde::{Deserialize, Serialize};

use crate::{
    block::{BlockHead, FRAMES_MAX, HEAD_LEN_MAX, Lacing},
    collect::{BlockInfo, Collector, FRAME_HEAD_LEN, Frame, TIME_MAX},
    ebml::{self, Element, ID_LEN_MAX, ParsedHeader, SIZE_LEN_MAX, id},
    selected_tracks::{SelectedTracks, Unreadable},
};

/// Maximum length of the list of tracks. Configurations take a few KiB per track.
pub const TRACKS_LEN_MAX: u64 = 8 << 20;
/// Maximum length of `Info`: a few hundred bytes, and a title of any length.
const INFO_LEN_MAX: u64 = 1 << 20;
/// Maximum length of a block with several frames: these are audio packets, at most 256.
pub const LACED_BLOCK_LEN_MAX: u64 = 1 << 20;
/// Initial allocation for a buffered element: its size is a claim until the bytes have arrived.
const RESERVE_MAX: u64 = 64 << 10;
/// Bytes that are buffered of a block with one frame.
const BLOCK_FRONT_LEN: u64 = (HEAD_LEN_MAX + FRAME_HEAD_LEN) as u64;
/// Nanoseconds per unit of time: the default, and the maximum of a second. RFC 9559, 5.1.2.9.
const TIMESTAMP_SCALE_DEFAULT: u64 = 1_000_000;
const TIMESTAMP_SCALE_MAX: u64 = 1_000_000_000;

/// Masters that are walked through are nested: segment, cluster, group.
const DEPTH_MAX: usize = 3;

/// Reads a file from its bytes in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ElementWalker {
    state: WalkState,
    /// Position of the next byte in the file.
    at: u64,
    /// The masters that contain the next element.
    open: Vec<OpenElement>,
    /// Nanoseconds per unit of time.
    scale_ns: u64,
    chosen: Option<SelectedTracks>,
    collector: Collector,
    /// Of the current cluster.
    cluster_time: Option<i64>,
    /// Of the current block or group.
    pending: Pending,
    /// The segment has ended: the following bytes are ignored.
    is_over: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct OpenElement {
    id: u32,
    /// First byte after it; `None` while it is unknown.
    end: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
enum WalkState {
    /// In a header: its bytes so far.
    Header([u8; ID_LEN_MAX + SIZE_LEN_MAX], usize),
    /// In a skipped element, with its remaining bytes.
    Skipping(u64),
    /// In an element whose front is buffered: the total length of that front, then the bytes to skip after
    /// it.
    Buffering {
        id: u32,
        start: u64,
        #[serde(with = "byte_string")]
        body: Vec<u8>,
        front_len: u64,
        behind: u64,
    },
    /// After an invalid header.
    Lost,
    /// After the segment.
    Over,
}

/// A block, or its group, before it is complete.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pending {
    head: Option<BlockHead>,
    frames: Vec<Frame>,
    /// Duration in units.
    duration: Option<u64>,
    /// Nanoseconds at its end that are not presented.
    discarded_ns: u64,
    /// It refers to another block.
    has_reference: bool,
}

/// The result of a walk.
pub(crate) struct WalkResult {
    pub(crate) chosen: Option<SelectedTracks>,
    pub(crate) collector: Collector,
    pub(crate) scale_ns: u64,
    /// The file ends inside an element.
    pub(crate) is_cut_off: bool,
    /// Some elements are invalid: a reader that repairs may find more.
    pub(crate) has_invalid_elements: bool,
}

impl ElementWalker {
    pub(crate) fn new() -> Self {
        ElementWalker {
            state: WalkState::header(),
            at: 0,
            open: Vec::new(),
            scale_ns: TIMESTAMP_SCALE_DEFAULT,
            chosen: None,
            collector: Collector::default(),
            cluster_time: None,
            pending: Pending::default(),
            is_over: false,
        }
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        let buffered_len = if let WalkState::Buffering { body, .. } = &self.state { body.len() } else { 0 };
        let chosen = self.chosen.as_ref().map_or(0, SelectedTracks::memory_len);
        buffered_len + size_of_val(&self.pending.frames[..]) + chosen + self.collector.memory_len()
    }

    /// Whether a state that was read from a checkpoint at `len` bytes is valid.
    pub(crate) fn is_valid(&self, len: u64) -> bool {
        let is_in_place = match &self.state {
            WalkState::Header(header, len) => *len < header.len(),
            WalkState::Buffering { start, body, front_len, behind, .. } => {
                *start <= self.at
                    && body.len() as u64 <= *front_len
                    && *front_len <= TRACKS_LEN_MAX
                    && front_len.checked_add(*behind).is_some()
            }
            WalkState::Skipping(_) | WalkState::Lost | WalkState::Over => true,
        };
        self.at == len
            && is_in_place
            && self.open.len() <= DEPTH_MAX
            && (1..=TIMESTAMP_SCALE_MAX).contains(&self.scale_ns)
            && self.chosen.as_ref().is_none_or(SelectedTracks::is_valid)
            && self.collector.is_valid()
            && self.cluster_time.is_none_or(|time| (0..=TIME_MAX).contains(&time))
            && self.pending.frames.len() <= FRAMES_MAX
            && self.pending.frames.iter().all(Frame::is_valid)
    }

    /// Takes the next bytes.
    ///
    /// Errors: `NeedsRemux` if another reader can read the file, and final ones.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            let consumed = match &mut self.state {
                WalkState::Header(header, len) => {
                    header[*len] = bytes[0];
                    *len += 1;
                    self.at += 1;
                    let header = &header[..*len];
                    match ebml::Header::parse(header) {
                        ParsedHeader::Whole(header) => self.enter(header)?,
                        ParsedHeader::Incomplete => {}
                        ParsedHeader::Invalid => self.state = WalkState::Lost,
                    }
                    1
                }
                WalkState::Skipping(left) => {
                    let taken = consume(left, bytes.len());
                    self.at += taken as u64;
                    if *left == 0 {
                        self.leave()?;
                    }
                    taken
                }
                WalkState::Buffering { body, front_len, .. } => {
                    let missing = *front_len - body.len() as u64;
                    let taken =
                        usize::try_from(missing).map_or(bytes.len(), |missing| missing.min(bytes.len()));
                    body.extend_from_slice(&bytes[..taken]);
                    self.at += taken as u64;
                    if body.len() as u64 == *front_len {
                        self.read_buffered()?;
                    }
                    taken
                }
                WalkState::Lost | WalkState::Over => {
                    self.at += bytes.len() as u64;
                    bytes.len()
                }
            };
            bytes = &bytes[consumed..];
        }
        Ok(())
    }

    /// Begins the element whose header has just come.
    fn enter(&mut self, header: ebml::Header) -> Result<(), Unreadable> {
        self.close_unknown(header.id);
        if self.is_over {
            self.state = WalkState::Over;
            return Ok(());
        }
        let end = header.size.and_then(|size| self.at.checked_add(size));
        let limit = self.open.iter().rev().find_map(|open| open.end);
        let parent = self.open.last().map(|open| open.id);
        let is_master = match (parent, header.id) {
            (None, id::SEGMENT) | (Some(id::SEGMENT), id::CLUSTER) => true,
            (Some(id::CLUSTER), id::BLOCK_GROUP) => end.is_some(),
            _ => false,
        };
        let is_misplaced = parent.is_some_and(|parent| parent != id::SEGMENT && is_segment_child(header.id));
        let is_too_long = end.zip(limit).is_some_and(|(end, limit)| end > limit);
        if is_misplaced || (is_too_long && !is_master) || (end.is_none() && !is_master) {
            self.state = WalkState::Lost;
            return Ok(());
        }
        if is_master {
            // A cluster may claim to be longer than its segment: then the recorder did not finish the
            // segment.
            return self.open_master(header.id, end);
        }
        let size = header.size.unwrap_or(0);
        let buffered = match (parent, header.id) {
            (Some(id::SEGMENT), id::INFO) => Some(checked_len(size, INFO_LEN_MAX, "description")?),
            (Some(id::SEGMENT), id::TRACKS) if self.chosen.is_none() => {
                Some(checked_len(size, TRACKS_LEN_MAX, "list of tracks")?)
            }
            (Some(id::CLUSTER), id::TIMESTAMP)
            | (Some(id::BLOCK_GROUP), id::BLOCK_DURATION | id::DISCARD_PADDING)
                if size <= 8 =>
            {
                Some(size)
            }
            (Some(id::CLUSTER), id::SIMPLE_BLOCK) | (Some(id::BLOCK_GROUP), id::BLOCK) => {
                self.pending.frames.clear();
                self.pending.head = None;
                Some(size.min(BLOCK_FRONT_LEN))
            }
            (Some(id::BLOCK_GROUP), id::REFERENCE_BLOCK) => {
                self.pending.has_reference = true;
                None
            }
            _ => None,
        };
        self.state = match buffered {
            Some(front_len) => WalkState::Buffering {
                id: header.id,
                start: self.at,
                body: Vec::with_capacity(front_len.min(RESERVE_MAX) as usize),
                front_len,
                behind: size - front_len,
            },
            None => WalkState::Skipping(size),
        };
        match &self.state {
            WalkState::Buffering { front_len: 0, .. } => self.read_buffered(),
            WalkState::Skipping(0) => self.leave(),
            _ => Ok(()),
        }
    }

    /// Begins a master that is walked through.
    fn open_master(&mut self, id: u32, end: Option<u64>) -> Result<(), Unreadable> {
        match id {
            id::CLUSTER if self.chosen.is_none() => return Err(Unreadable::NeedsRemux),
            id::CLUSTER => self.cluster_time = None,
            id::BLOCK_GROUP => self.pending = Pending::default(),
            _ => {}
        }
        self.open.push(OpenElement { id, end });
        self.state = WalkState::header();
        self.close_ended()
    }

    /// Parses the element whose front is complete.
    fn read_buffered(&mut self) -> Result<(), Unreadable> {
        let WalkState::Buffering { id, start, body, front_len, behind } =
            std::mem::replace(&mut self.state, WalkState::header())
        else {
            return Ok(());
        };
        let element = Element { id, body: &body, whole: &body };
        match id {
            id::INFO => {
                let scale = element.uint(id::TIMESTAMP_SCALE).unwrap_or(TIMESTAMP_SCALE_DEFAULT);
                if !(1..=TIMESTAMP_SCALE_MAX).contains(&scale) {
                    return Err(ReadError::Damaged(format!("units of time of {scale} ns")).into());
                }
                self.scale_ns = scale;
            }
            id::TRACKS => {
                let chosen = SelectedTracks::of(&element)?;
                self.collector = Collector::new(&chosen);
                self.chosen = Some(chosen);
            }
            id::TIMESTAMP => {
                let time = element.as_uint().and_then(|time| i64::try_from(time).ok());
                self.cluster_time = time.filter(|&time| time <= TIME_MAX);
            }
            id::DISCARD_PADDING => self.pending.discarded_ns = discarded_ns(&element),
            id::BLOCK_DURATION => self.pending.duration = element.as_uint(),
            _ => match self.parse_block(start, &body, front_len + behind) {
                // A block of several frames must be buffered completely.
                ParsedHeader::Incomplete if behind > 0 && front_len + behind <= LACED_BLOCK_LEN_MAX => {
                    self.state =
                        WalkState::Buffering { id, start, body, front_len: front_len + behind, behind: 0 };
                    return Ok(());
                }
                ParsedHeader::Whole(_) => {}
                _ => {
                    self.state = WalkState::Lost;
                    return Ok(());
                }
            },
        }
        if behind > 0 {
            self.state = WalkState::Skipping(behind);
            return Ok(());
        }
        self.leave()
    }

    /// Finds the frames of a block of `size` bytes, from its front. `Incomplete` if more bytes are needed.
    fn parse_block(&mut self, start: u64, front: &[u8], size: u64) -> ParsedHeader {
        const DONE: ParsedHeader = ParsedHeader::Whole(ebml::Header { id: id::BLOCK, size: None, len: 0 });
        let Some(head) = BlockHead::parse(front) else { return ParsedHeader::Invalid };
        if !self.collector.has_track(head.track) {
            return DONE;
        }
        let mut push_frame = |at: usize, len: u64| {
            let Ok(size) = u32::try_from(len) else { return false };
            self.pending.frames.push(Frame::new(
                start + at as u64,
                size,
                front.get(at..).unwrap_or_default(),
            ));
            true
        };
        if head.lacing() == Lacing::None {
            if !push_frame(head.len, size.saturating_sub(head.len as u64)) {
                return ParsedHeader::Invalid;
            }
        } else if size > front.len() as u64 {
            return ParsedHeader::Incomplete;
        } else {
            let Some(frames) = head.frames(front) else { return ParsedHeader::Invalid };
            for (at, len) in frames {
                push_frame(at, len as u64);
            }
        }
        self.pending.head = Some(head);
        DONE
    }

    /// Ends the element whose last byte has arrived, and the masters that end with it.
    fn leave(&mut self) -> Result<(), Unreadable> {
        self.state = WalkState::header();
        if self.open.last().is_some_and(|open| open.id == id::CLUSTER) && self.pending.head.is_some() {
            let is_key = self.pending.head.is_some_and(|head| head.is_key());
            self.commit(is_key)?;
        }
        self.close_ended()
    }

    /// Closes the masters that end here, and those of unknown size inside them.
    fn close_ended(&mut self) -> Result<(), Unreadable> {
        while self.open.iter().any(|open| open.end.is_some_and(|end| end <= self.at)) {
            match self.open.pop().map(|open| open.id) {
                Some(id::BLOCK_GROUP) => self.commit(!self.pending.has_reference)?,
                Some(id::SEGMENT) => {
                    self.is_over = true;
                    self.state = WalkState::Over;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Closes masters of unknown size that cannot contain the next element.
    fn close_unknown(&mut self, next: u32) {
        while let Some(OpenElement { id, end: None }) = self.open.last() {
            match *id {
                id::CLUSTER if is_segment_child(next) || is_top_level(next) => {}
                id::SEGMENT if is_top_level(next) => self.is_over = true,
                _ => return,
            }
            self.open.pop();
        }
    }

    /// Passes the frames of a complete block to its track.
    fn commit(&mut self, is_key: bool) -> Result<(), Unreadable> {
        let pending = std::mem::take(&mut self.pending);
        let Some(head) = pending.head else { return Ok(()) };
        let time = self.cluster_time.and_then(|time| time.checked_add(head.time.into()));
        // The time comes first in a cluster. RFC 9559, 5.1.3.1.
        let Some(time) = time else { return Err(Unreadable::NeedsRemux) };
        let info = BlockInfo { is_key, duration: pending.duration, discarded_ns: pending.discarded_ns };
        self.collector.push(&head, time, info, &pending.frames)?;
        self.pending.frames = pending.frames; // its memory is used again
        self.pending.frames.clear();
        Ok(())
    }

    /// The result, after the last byte.
    pub(crate) fn finish(self) -> WalkResult {
        let ends_inside = match &self.state {
            WalkState::Header(_, len) => *len > 0,
            WalkState::Skipping(_) | WalkState::Buffering { .. } => true,
            WalkState::Lost | WalkState::Over => false,
        };
        let is_open = self.open.iter().any(|open| open.end.is_some_and(|end| end > self.at));
        WalkResult {
            chosen: self.chosen,
            collector: self.collector,
            scale_ns: self.scale_ns,
            is_cut_off: (ends_inside || is_open) && !self.is_over,
            has_invalid_elements: matches!(self.state, WalkState::Lost),
        }
    }
}

impl WalkState {
    fn header() -> Self {
        WalkState::Header([0; ID_LEN_MAX + SIZE_LEN_MAX], 0)
    }
}

/// A `DiscardPadding`, which is signed: a negative one applies to the front, which no writer uses. RFC 9559,
/// 5.1.3.5.7.
fn discarded_ns(element: &Element<'_>) -> u64 {
    let is_negative = element.body.first().is_some_and(|byte| byte & 0x80 != 0);
    element.as_uint().filter(|_| !is_negative).unwrap_or(0)
}

/// Whether an element belongs directly to a segment.
fn is_segment_child(id: u32) -> bool {
    matches!(
        id,
        id::SEEK_HEAD
            | id::INFO
            | id::TRACKS
            | id::CLUSTER
            | id::CUES
            | id::ATTACHMENTS
            | id::CHAPTERS
            | id::TAGS
    )
}

/// Whether an element is at the top level of a file.
fn is_top_level(id: u32) -> bool {
    matches!(id, id::EBML | id::SEGMENT)
}

fn checked_len(size: u64, max: u64, name: &str) -> Result<u64, Unreadable> {
    match size <= max {
        true => Ok(size),
        false => Err(ReadError::Unsupported(format!("its {name} is longer than {} MiB", max >> 20)).into()),
    }
}

/// Takes up to `available` of the remaining bytes, and returns how many.
fn consume(left: &mut u64, available: usize) -> usize {
    let consumed = usize::try_from(*left).map_or(available, |left| left.min(available));
    *left -= consumed as u64;
    consumed
}
